"""The allocation of linear arms: against a cone program, against unstructured arms, and its certificate."""

import itertools

import numpy as np
import pytest

import fairbai as fb
from tests.oracle.linear import linear_characteristic_time

SHAPES = ((4, 2), (6, 3), (9, 4), (12, 6), (18, 6))


def random_question(seed):
    """Features, means and floors; some have columns that depend on each other, 0/1 features or no floors."""
    rng = np.random.default_rng([7, seed])
    arms, size = SHAPES[seed % len(SHAPES)]
    features = rng.standard_normal((arms, size))
    if seed % 4 == 1:  # a factorial design with dummy variables, which are linearly dependent
        levels = itertools.product(range(2), range(3))
        features = np.array([[1, a == 0, a == 1, b == 0, b == 1] for a, b in levels], dtype=float)
    means = features @ rng.standard_normal(features.shape[1])
    floors = rng.dirichlet(np.ones(len(means))) * (0.0, 0.3, 0.9)[seed % 3]
    return features, means, floors


def check_against_the_oracle(seed):
    """Returns the relative difference of T*, and the certified gap."""
    features, means, floors = random_question(seed)
    family = fb.Linear(features, variance=0.5)
    rates, groups = fb.rates.Constant(floors), None
    if seed % 5 == 2:  # two groups that overlap
        members = np.zeros((2, len(means)))
        members[0, : len(means) // 2 + 1], members[1, ::2] = 1.0, 1.0
        floors, groups = 0.3 * floors, (members, np.array([0.6, 0.5]))
        sets = [fb.rates.Group(np.flatnonzero(row), floor=low) for row, low in zip(*groups, strict=True)]
        rates = fb.rates.Overlapping(floors, sets)
    found = fb.solve(fb.Instance(means, family, rates))
    time, _ = linear_characteristic_time(family.coordinates.T, means, floors, variance=0.5, groups=groups)
    assert found.duality_gap <= 1e-6
    assert found.characteristic_time == pytest.approx(time, rel=2e-6)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-9)
    assert (found.weights >= floors - 2e-9).all()
    assert groups is None or (groups[0] @ found.weights >= groups[1] - 2e-9).all()
    return abs(found.characteristic_time / time - 1.0), found.duality_gap


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 237])  # the last has many optima, and no strict complementarity
def test_it_agrees_with_a_cone_program(seed):
    check_against_the_oracle(seed)


@pytest.mark.long
@pytest.mark.slow_without_jit
def test_it_agrees_with_a_cone_program_on_500_instances():
    differences, gaps = np.array([check_against_the_oracle(seed) for seed in range(500)]).T
    print(f"largest difference {differences.max():.1e}, median {np.median(differences):.1e}; gap {gaps.max():.1e}")


def test_without_structure_it_is_the_allocation_of_unrelated_arms():
    for floors in (0.0, 0.1, [0.3, 0.0, 0.0, 0.2]):
        means = [1.0, 0.7, 0.6, -0.2]
        plain = fb.solve(fb.Instance(means, fb.Gaussian(2.0), floors))
        for features in (np.eye(4), [[1, 1, 0, 0], [1, -1, 0, 0], [0, 1, 3, 0], [0, 0, 1, 1]]):
            found = fb.solve(fb.Instance(means, fb.Linear(features, 2.0), floors))
            assert found.characteristic_time == pytest.approx(plain.characteristic_time, rel=1e-8)
            np.testing.assert_allclose(found.weights, plain.weights, atol=1e-6)


def test_the_unit_and_the_basis_of_the_features_do_not_matter():
    features, means, floors = random_question(3)
    one = fb.solve(fb.Instance(means, fb.Linear(features), floors))
    rng = np.random.default_rng(1)
    other = features @ rng.standard_normal((features.shape[1], features.shape[1] + 2)) * 1e6
    two = fb.solve(fb.Instance(means, fb.Linear(other), floors))
    assert two.characteristic_time == pytest.approx(one.characteristic_time, rel=1e-8)


def test_the_least_mean_is_found_by_mirroring():
    features, means, floors = random_question(2)
    one = fb.solve(fb.Instance(means, fb.Linear(features), floors))
    two = fb.solve(fb.Instance(-means, fb.Linear(features), floors, goal="min"))
    assert (two.best_arm, two.characteristic_time) == (one.best_arm, one.characteristic_time)


def test_a_tolerance_enlarges_the_gaps():
    features, means, floors = random_question(0)
    found = fb.solve(fb.Instance(means, fb.Linear(features), floors, tolerance=0.05))
    time, _ = linear_characteristic_time(features, means, floors, tolerance=0.05)
    assert found.characteristic_time == pytest.approx(time, rel=2e-6)


def test_arms_with_the_same_features_are_no_rivals():
    features = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    found = fb.solve(fb.Instance([1.0, 1.0, 0.5], fb.Linear(features)))
    assert found.characteristic_time == pytest.approx(32.0, rel=1e-7)


def test_arms_that_tie_cannot_be_told_apart():
    found = fb.solve(fb.Instance([1.0, 1.0, 0.5], fb.Linear(np.eye(3))))
    assert found.characteristic_time == np.inf
    np.testing.assert_allclose(found.weights, [0.5, 0.5, 0.0], atol=1e-6)


def test_floors_that_leave_nothing_are_the_allocation():
    found = fb.solve(fb.Instance([1.0, 0.0], fb.Linear(np.eye(2)), [0.4, 0.6]))
    assert found.weights.tolist() == [0.4, 0.6]
    assert found.characteristic_time == pytest.approx(2.0 * (1.0 / 0.4 + 1.0 / 0.6))
    starved = fb.solve(fb.Instance([1.0, 0.0], fb.Linear(np.eye(2)), [0.0, 1.0]))
    assert starved.characteristic_time == np.inf


def test_groups_that_starve_an_arm_have_an_infinite_time():
    rates = fb.rates.Overlapping(groups=[fb.rates.Group([0, 1], floor=1.0)])
    found = fb.solve(fb.Instance([1.0, 0.5, 0.0], fb.Linear(np.eye(3)), rates))
    assert found.characteristic_time > 1e8


@pytest.mark.slow_without_jit
def test_many_arms_are_certified():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((150, 5))
    found = fb.solve(fb.Instance(features @ rng.standard_normal(5), fb.Linear(features), 0.001))
    assert found.duality_gap <= 1e-6
    assert (found.weights > 0.0011).sum() <= 15


def test_a_batch_is_solved_one_by_one():
    features, means, floors = random_question(0)
    both = fb.solve_batch([means, -means], floors, fb.Linear(features))
    assert both.characteristic_time[0] == fb.solve(fb.Instance(means, fb.Linear(features), floors)).characteristic_time
    assert both.weights.shape == (2, means.size)


def test_the_price_of_fairness_counts_groups():
    features, means, _ = random_question(0)
    rates = fb.rates.Overlapping(groups=[fb.rates.Group([0, 1], floor=0.6), fb.rates.Group([1, 2], floor=0.7)])
    price = fb.price_of_fairness(fb.Instance(means, fb.Linear(features), rates))
    assert 1.0 <= price.ratio <= price.upper_bound


@pytest.mark.parametrize(
    ("rates", "message"),
    [
        (fb.rates.InverseGap(0.5), "linear arms need limits that are known beforehand"),
    ],
)
def test_other_rates_are_refused(rates, message):
    with pytest.raises(ValueError, match=message):
        fb.solve(fb.Instance([1.0, 0.0], fb.Linear(np.eye(2)), rates))


def random_limits(seed):
    """A design with floors and ceilings of levels and combinations, some of which leave no room."""
    rng = np.random.default_rng([9, seed])
    sizes = [int(size) for size in rng.integers(2, 4, int(rng.integers(2, 4)))]
    design = fb.factorial({chr(97 + one): list(range(size)) for one, size in enumerate(sizes)})
    floors, ceilings = {}, {}
    for name, levels in design.factors.items():
        if rng.random() < 0.7:
            floors[name] = float(rng.choice([0.3, 0.7, 1.0])) / len(levels)
        if rng.random() < 0.7:
            ceilings[name] = min(1.0, max(1.01 * floors.get(name, 0.0), float(rng.choice([1.05, 1.3])) / len(levels)))
    most = 1.0 if rng.random() < 0.5 else min(1.0, 2.5 / len(design.arms))
    return (
        design,
        design.rates(floors, ceilings=ceilings, ceiling=most),
        design.features @ rng.standard_normal(design.dimension),
    )


@pytest.mark.parametrize("seed", range(8))
def test_ceilings_agree_with_a_cone_program(seed):
    """One floor is the negative of a ceiling, which the oracle takes as a floor, too."""
    design, rates, means = random_limits(seed)
    limits = rates.polytope(len(means))
    found = fb.solve(fb.Instance(means, design, rates))
    groups = (limits.members, limits.group_floors) if rates.groups else None
    time, _ = linear_characteristic_time(design.features, means, limits.floors, groups=groups)
    assert found.duality_gap <= 1e-6
    assert found.characteristic_time == pytest.approx(time, rel=3e-6)
    assert (limits.members @ found.weights >= limits.group_floors - 1e-6).all()
    assert (found.weights <= found.ceilings + 1e-6).all()


def test_a_ceiling_of_a_level_is_kept_where_it_costs():
    design = fb.factorial({"h": ["a", "b", "c"], "p": ["x", "y", "z"], "b": ["u", "v"]})
    means = design.means({"h": {"a": 0.4, "c": -0.4}, "p": {"x": 0.4, "z": -0.4}, "b": {"u": 0.2, "v": -0.2}})
    free = fb.solve(fb.Instance(means, design))
    rates = design.rates({}, ceilings={"h": {"a": 0.35}})
    found = fb.solve(fb.Instance(means, design, rates))
    assert free.weights[design.group("h", "a")].sum() > 0.4
    assert found.weights[design.group("h", "a")].sum() == pytest.approx(0.35, abs=1e-6)
    assert (free.characteristic_time, found.characteristic_time) == (
        pytest.approx(53.57, abs=0.01),
        pytest.approx(57.08, abs=0.01),
    )


def test_limits_without_room_for_one_step_keep_their_certificate():
    """Redundant limits and many optima: at the end rounding spoils the steps."""
    design = fb.factorial({"h": ["a", "b", "c"], "p": ["x", "y", "z"], "b": ["u", "v"]})
    means = design.means({"h": {"a": 0.4, "c": -0.4}, "p": {"x": 0.4, "z": -0.4}, "b": {"u": 0.2, "v": -0.2}})
    rates = design.rates({"h": 0.2}, ceilings={"h": 0.5}, ceiling=0.3)
    found = fb.solve(fb.Instance(means, design, rates))
    assert found.characteristic_time == pytest.approx(62.5, rel=1e-6)
    assert found.duality_gap <= 1e-6


FULL = (
    {"h": 1 / 3, "p": 1 / 3, "b": 0.5},
    {"h": 1 / 3 - 1e-7, "p": 1 / 3 - 1e-7, "b": 0.5 - 1e-7},
    {"h": 1 / 3},
    {"h": 0.3, "b": 0.5},
)


@pytest.mark.parametrize("floors", FULL, ids=str)
def test_floors_of_levels_that_leave_no_room(floors):
    design = fb.factorial({"h": ["a", "b", "c"], "p": ["x", "y", "z"], "b": ["u", "v"]})
    rates = design.rates(floors)
    limits = rates.polytope(18)
    groups = (limits.members, limits.group_floors)
    rng = np.random.default_rng(3)
    for _ in range(2):
        means = design.features @ rng.standard_normal(6)
        one = fb.Instance(means, design, rates)
        found = fb.solve(one)
        time, _ = linear_characteristic_time(design.features, means, limits.floors, groups=groups)
        assert found.duality_gap <= 1e-6
        assert found.characteristic_time == pytest.approx(time, rel=1e-6)
        assert (groups[0] @ found.weights >= groups[1] - 1e-6).all()
        unlike = fb.lower_bound(one, 0.05) / (0.9 * np.log(19.0))
        assert unlike <= time * (1.0 + 1e-6)
