"""``solve`` with ceilings and groups: against cones and cutting planes, with a certificate, and at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

import fairbai as fb
from fairbai.problems.rates import Bounded, Group
from tests.allocation.questions import FAMILIES, costs, near, slopes
from tests.oracle.conic import conic_characteristic_time
from tests.oracle.cuts import cutting_plane_characteristic_time
from tests.oracle.instances import OracleInstance
from tests.oracle.limits import EDGES, KINDS, Bounds, random_bounds, random_points

Floats = NDArray[np.float64]

families = pytest.mark.parametrize("family", FAMILIES)
kinds = pytest.mark.parametrize("kind", KINDS + EDGES)


def rates_of(bounds: Bounds) -> Bounded:
    return Bounded(bounds.floors, bounds.ceilings, [Group(*group) for group in bounds.groups])


def random_means(family: str, arms: int, rng: np.random.Generator) -> Floats:
    if family == "gaussian":
        return rng.normal(size=arms)
    return rng.uniform(0.05, 0.95, arms) if family == "bernoulli" else np.asarray(rng.lognormal(0.0, 0.8, arms))


def questions(
    family: str, kind: str, count: int, seed: int, close: bool = False
) -> list[tuple[OracleInstance, Bounds]]:
    rng = np.random.default_rng([seed, *map(ord, family + kind)])
    found = []
    for _ in range(count):
        means = random_means(family, int(rng.integers(2, 8)), rng)
        if close:
            means = means.mean() + 1e-4 * (means - means.mean())
        bounds = random_bounds(kind, means.tolist(), rng)
        variance = tuple(rng.lognormal(0.0, 0.7, means.size)) if family == "gaussian" else 1.0
        found.append((OracleInstance(tuple(means), tuple(bounds.floors), family, variance), bounds))
    return found


def solved(question: OracleInstance, bounds: Bounds) -> fb.Allocation:
    """The solution, after checks of everything that can be checked without another solver."""
    family = fb.Gaussian(question.variance) if question.family == "gaussian" else FAMILIES[question.family]()
    found = fb.solve(fb.Instance(question.means, family, rates_of(bounds)))
    assert np.all(np.isfinite(found.weights)), bounds
    assert bounds.excess(found.weights.tolist()) <= 1e-12, bounds
    assert 0.0 <= found.duality_gap <= 1e-9, bounds
    assert found.best_arm == question.best
    assert 1.0 / found.characteristic_time == near(costs(question, found.weights).min(), rel=1e-10)
    assert np.array_equal(found.ceilings, bounds.ceilings)
    return found


# Against other solvers


@pytest.mark.slow_without_jit
@families
@kinds
def test_agrees_with_the_conic_oracle(family: str, kind: str) -> None:
    for question, bounds in questions(family, kind, 4, seed=1):
        expected, _ = conic_characteristic_time(
            question.means, question.floors, family, question.variance, bounds=bounds
        )
        assert solved(question, bounds).characteristic_time == near(expected, rel=1e-6), (question, bounds)


@families
@kinds
def test_agrees_with_cutting_planes(family: str, kind: str) -> None:
    for close in (False, True):
        for question, bounds in questions(family, kind, 1, seed=2, close=close):
            expected, _ = cutting_plane_characteristic_time(
                question.means, question.floors, family, question.variance, bounds=bounds
            )
            assert solved(question, bounds).characteristic_time == near(expected, rel=1e-7), (question, bounds)


def test_limits_bind_in_every_way() -> None:
    """The sweeps above mean something only if their solutions are at limits of all kinds, and off them."""
    seen = set()
    for kind in KINDS:
        for question, bounds in questions("gaussian", kind, 6, seed=1):
            found, best = solved(question, bounds), question.best
            others = np.delete(found.at_ceiling, best)
            seen |= {"best arm full"} if found.at_ceiling[best] else {"best arm not full"}
            seen |= {"other arm full"} if others.any() else set()
            for arms, floor, ceiling in bounds.groups:
                share, where = found.weights[list(arms)].sum(), "with" if best in arms else "without"
                at_floor, at_ceiling = share <= floor * (1.0 + 1e-9), ceiling < 1.0 and share >= ceiling * (1.0 - 1e-9)
                seen.add(f"group {where} the best arm at its floor" if at_floor else "group above its floor")
                seen.add(f"group {where} the best arm at its ceiling" if at_ceiling else "group below its ceiling")
            free = fb.solve(fb.Instance(question.means, fb.Gaussian(question.variance)))
            seen |= {"nothing binds"} if found.characteristic_time < free.characteristic_time * (1 + 1e-9) else set()
    assert seen == {
        "best arm full",
        "best arm not full",
        "other arm full",
        "group with the best arm at its floor",
        "group without the best arm at its floor",
        "group above its floor",
        "group with the best arm at its ceiling",
        "group without the best arm at its ceiling",
        "group below its ceiling",
        "nothing binds",
    }


# The certificate


def linear_bound(question: OracleInstance, bounds: Bounds, weights: Floats) -> float:
    """An upper bound on 1/T from nothing but the definition: for fixed points m_a the cost of every pair is linear.

    The largest value that the least of these linear functions takes within the limits, by a linear program (whose
    multipliers are the weights of the alternatives). With the points of an optimal allocation it is 1/T*.
    """
    size, best = weights.size, question.best
    unit = costs(question, weights).min()
    to_best, to_other = (slope / unit for slope in slopes(question, weights))
    rows, others = np.zeros((size - 1, size + 1)), np.delete(np.arange(size), best)
    rows[:, best], rows[np.arange(size - 1), others], rows[:, -1] = -to_best, -to_other, 1.0
    groups, most = bounds.rows()
    found = linprog(
        np.append(np.zeros(size), -1.0),
        A_ub=np.vstack([rows, np.pad(groups, ((0, 0), (0, 1)))]),
        b_ub=np.concatenate([np.zeros(size - 1), most]),
        A_eq=np.append(np.ones(size), 0.0)[None, :],
        b_eq=[1.0],
        bounds=[*zip(bounds.floors, bounds.ceilings, strict=True), (0.0, None)],
    )
    assert found.status == 0
    return float(found.x[-1] * unit)


@families
@kinds
def test_a_linear_program_proves_the_solution(family: str, kind: str) -> None:
    """Where the least cost is smooth the weights, and so the bound, are exact to the root of what the cost is."""
    for question, bounds in questions(family, kind, 3, seed=3):
        found = solved(question, bounds)
        bound = linear_bound(question, bounds, found.weights)
        assert 1.0 / found.characteristic_time == near(bound, rel=2e-5), (question, bounds)
        assert bound >= (1.0 - 1e-6) / found.characteristic_time, (question, bounds)


@families
@kinds
def test_nothing_within_the_limits_beats_the_certificate(family: str, kind: str) -> None:
    rng = np.random.default_rng(5)
    for question, bounds in questions(family, kind, 2, seed=4):
        found = solved(question, bounds)
        least = (1.0 - found.duality_gap) * found.characteristic_time
        for other in random_points(bounds, 10, rng):
            for far in (1.0, 1e-3, 1e-6):
                weights = (1.0 - far) * found.weights + far * other
                value = costs(question, weights).min() if weights[question.best] > 0.0 else 0.0
                assert value <= (1.0 + 1e-12) / least, (question, bounds, far)


# The plain solver


@families
def test_limits_that_do_not_bind_change_nothing(family: str) -> None:
    rng = np.random.default_rng(6)
    for arms in (2, 3, 5, 10):
        means, floors = random_means(family, arms, rng), 0.6 * rng.dirichlet(np.ones(arms))
        plain = fb.solve(fb.Instance(means, FAMILIES[family](), fb.rates.Constant(floors)))
        members = rng.permutation(arms)[: max(1, arms // 2)]
        group = Group(members, 0.999 * float(plain.weights[members].sum()))
        for rates in (
            Bounded(floors),
            Bounded(floors, np.minimum(1.0, 1.001 * plain.weights)),
            Bounded(floors, 1.0, [group]),
            Bounded(floors, np.minimum(1.0, 1.001 * plain.weights), [group]),
        ):
            found = fb.solve(fb.Instance(means, FAMILIES[family](), rates))
            assert found.characteristic_time == near(plain.characteristic_time, rel=1e-9)
            assert found.weights == pytest.approx(plain.weights, abs=1e-6)


def test_floors_in_groups_of_one_are_floors() -> None:
    means, floors = [1.0, 0.6, 0.3, 0.0], [0.1, 0.1, 0.2, 0.3]
    plain = fb.solve(fb.Instance(means, rates=fb.rates.Constant(floors)))
    alone = [Group([arm], floor) for arm, floor in enumerate(floors)]
    found = fb.solve(fb.Instance(means, rates=Bounded(groups=alone)))
    assert found.weights == pytest.approx(plain.weights, abs=1e-7)
    assert found.characteristic_time == near(plain.characteristic_time, rel=1e-10)


def test_no_choice_at_all() -> None:
    """Floors, ceilings or groups that fix every share: T is that of the shares, and the certificate is exact."""
    shares = [0.5, 0.25, 0.125, 0.125]
    means = [1.0, 0.6, 0.3, 0.0]
    expected = fb.solve(fb.Instance(means, rates=fb.rates.Constant(shares))).characteristic_time
    alone = [Group([arm], share) for arm, share in enumerate(shares)]
    for rates in (Bounded(shares), Bounded(0.0, shares), Bounded(shares, shares), Bounded(groups=alone)):
        found = fb.solve(fb.Instance(means, rates=rates))
        assert found.weights.tolist() == shares
        assert found.characteristic_time == near(expected, rel=1e-14)
        assert found.duality_gap <= 1e-14


# By hand


@pytest.mark.parametrize("ceiling", [0.5, 0.3, 0.1, 0.01])
def test_two_arms(ceiling: float) -> None:
    """The best arm is held at its ceiling u: T = 2 (1/u + 1/(1 - u)) for a gap of 1."""
    for order in ([1.0, 0.0], [0.0, 1.0]):
        found = fb.solve(fb.Instance(order, rates=Bounded(0.0, np.where(np.array(order) == 1.0, ceiling, 1.0))))
        assert found.weights[found.best_arm] == pytest.approx(ceiling, rel=1e-12)
        assert found.characteristic_time == near(2.0 / ceiling + 2.0 / (1.0 - ceiling), rel=1e-12)
        assert found.at_ceiling[found.best_arm]


def test_a_group_of_the_losers() -> None:
    """Equal gaps of 1, arms 1 and 2 guaranteed g together: beyond w* each gets g / 2, the other two share the rest."""
    found = fb.solve(fb.Instance([1.0, 0.0, 0.0, 0.0], rates=Bounded(groups=[Group([1, 2], 0.8)])))
    assert found.weights[1:3] == pytest.approx([0.4, 0.4], abs=1e-9)
    assert found.weights[[0, 3]] == pytest.approx([0.1, 0.1], abs=1e-6)
    assert found.characteristic_time == near(2.0 * (1 / 0.1 + 1 / 0.1), rel=1e-10)


@pytest.mark.parametrize("ceiling", [0.6, 0.4, 0.2, 0.01])
def test_a_ceiling_for_the_best_arm_and_its_rival(ceiling: float) -> None:
    """The third arm is so bad that it needs next to nothing, and gets all that the others may not have."""
    rates = Bounded(groups=[Group([0, 1], ceiling=ceiling)])
    found = fb.solve(fb.Instance([1.0, 0.0, -1e6], rates=rates))
    assert found.weights == pytest.approx([0.5 * ceiling, 0.5 * ceiling, 1.0 - ceiling], abs=1e-6)
    assert found.characteristic_time == near(8.0 / ceiling, rel=1e-9)


def test_a_ceiling_for_the_losers() -> None:
    """Equal gaps of 1: arms 1 and 2 have 0.1 each at most, which more of the best arm compensates in part."""
    found = fb.solve(fb.Instance([1.0, 0.0, 0.0], rates=Bounded(groups=[Group([1, 2], ceiling=0.2)])))
    assert found.weights == pytest.approx([0.8, 0.1, 0.1], abs=1e-9)
    assert found.characteristic_time == near(2.0 / 0.8 + 2.0 / 0.1, rel=1e-10)


def test_a_ceiling_is_a_floor_for_all_others() -> None:
    """Two arms of five in a group with a ceiling, or three in one with a floor: the same question."""
    rng = np.random.default_rng(10)
    for _ in range(10):
        means, share = rng.normal(size=5), float(rng.uniform(0.05, 0.95))
        one = fb.solve(fb.Instance(means, rates=Bounded(0.01, groups=[Group([0, 3], ceiling=max(share, 0.02))])))
        other = fb.solve(fb.Instance(means, rates=Bounded(0.01, groups=[Group([1, 2, 4], 1.0 - max(share, 0.02))])))
        assert one.characteristic_time == near(other.characteristic_time, rel=1e-9)


def test_a_group_full_of_floors_gets_no_more() -> None:
    """A ceiling equal to the sum of its floors is a fixed share for every arm of the group."""
    found = fb.solve(fb.Instance([1.0, 0.5, 0.0, -0.5], rates=Bounded(0.2, groups=[Group([0, 2], ceiling=0.4)])))
    assert found.weights[[0, 2]].tolist() == pytest.approx([0.2, 0.2], abs=1e-12)
    assert found.duality_gap <= 1e-9
    starved = fb.solve(fb.Instance([1.0, 0.5, 0.0], rates=Bounded([0.2, 0.0, 0.0], groups=[Group([0, 1], 0.2, 0.2)])))
    assert starved.characteristic_time == np.inf  # arm 1 gets nothing
    assert starved.weights == pytest.approx([0.2, 0.0, 0.8], abs=1e-12)


def test_where_shares_are_free_every_arm_takes_the_same_part_of_its_room() -> None:
    """The best arm full at 0.1: what is left is more than the others need, and goes to them evenly."""
    rates = Bounded(0.0, [0.1, 0.5, 0.9, 0.9])
    found = fb.solve(fb.Instance([1.0, 0.0, -9.0, -9.0], rates=rates))
    assert found.weights[0] == pytest.approx(0.1, rel=1e-12)
    assert found.characteristic_time == near(2.0 / 0.1 + 2.0 / 0.5, rel=1e-9)
    assert found.weights[2] == pytest.approx(found.weights[3], rel=1e-9)


# Edges


@families
def test_ties_have_an_infinite_time_and_legal_shares(family: str) -> None:
    bounds = Bounds(np.array([0.1, 0.0, 0.1, 0.0]), np.array([0.3, 0.4, 0.9, 0.9]), (((0, 3), 0.5, 1.0),))
    found = fb.solve(fb.Instance([0.7, 0.7, 0.2, 0.1], FAMILIES[family](), rates_of(bounds)))
    assert found.characteristic_time == np.inf
    assert found.duality_gap == 0.0
    assert bounds.excess(found.weights.tolist()) <= 1e-12


@families
@pytest.mark.parametrize("gap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_means_that_are_hard_to_tell_apart(family: str, gap: float) -> None:
    bounds = Bounds(np.zeros(4), np.array([0.3, 0.2, 0.9, 0.9]), (((2, 3), 0.5, 1.0),))
    found = fb.solve(fb.Instance([0.5, 0.5 - gap, 0.2, 0.1], FAMILIES[family](), rates_of(bounds)))
    assert np.isfinite(found.characteristic_time)
    assert found.duality_gap <= 1e-9
    assert found.weights[:2] == pytest.approx([0.3, 0.2], rel=1e-9)
    assert bounds.excess(found.weights.tolist()) <= 1e-12


@pytest.mark.parametrize("ceiling", [1e-12, 1e-9, 1e-6])
def test_ceilings_close_to_nothing(ceiling: float) -> None:
    """The time is that of an arm that is hardly ever tried, and no number overflows on the way."""
    for arm in range(3):
        ceilings = np.ones(3)
        ceilings[arm] = ceiling
        found = fb.solve(fb.Instance([1.0, 0.5, 0.0], rates=Bounded(0.0, ceilings)))
        assert np.all(np.isfinite(found.weights))
        assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
        assert found.characteristic_time == near([8.0, 8.0, 2.0][arm] / ceiling, rel=1e-4)


@pytest.mark.slow_without_jit
def test_a_hundred_thousand_arms() -> None:
    rng = np.random.default_rng(7)
    arms = 100_000
    means, groups = (
        rng.normal(size=arms),
        [Group(range(start, start + 50), 4e-4, 6e-4) for start in range(0, arms, 100)],
    )
    ceilings = rng.uniform(1.0, 30.0, arms) / arms
    instance = fb.Instance(means, rates=Bounded(0.2 / arms, ceilings, groups))
    found = fb.solve(instance)
    assert found.duality_gap <= 1e-9
    limits = Bounds(instance.floors, ceilings, tuple((g.arms, g.floor, g.ceiling) for g in groups))
    assert limits.excess(found.weights) <= 1e-12


def test_batch_is_one_after_the_other() -> None:
    rates: Any = Bounded(0.05, 0.45, [Group([0, 2], 0.5)])
    means = np.random.default_rng(8).normal(size=(5, 4))
    batch = fb.solve_batch(means, rates)
    for row, one in enumerate(fb.solve(fb.Instance(means[row], rates=rates)) for row in range(5)):
        assert np.array_equal(batch.weights[row], one.weights)
        assert batch.characteristic_time[row] == one.characteristic_time
        assert batch.duality_gap[row] == one.duality_gap
    with pytest.raises(
        ValueError, match=r": 4 ceilings of 22.5 % add up to 90 %: that leaves 10 % of the trials for nobody$"
    ):
        fb.solve_batch(means, Bounded(0.0, 0.225))


@pytest.mark.parametrize("kind", KINDS)
def test_price_of_limits_is_below_its_bound(kind: str) -> None:
    for question, bounds in questions("bernoulli", kind, 3, seed=9):
        instance = fb.Instance(question.means, fb.Bernoulli(), rates_of(bounds))
        price = fb.price_of_fairness(instance)
        assert price.ratio == near(fb.solve(instance).characteristic_time / price.unconstrained, rel=1e-9)
        assert 1.0 <= price.ratio <= price.upper_bound
