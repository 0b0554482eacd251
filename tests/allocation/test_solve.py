"""``solve`` and ``solve_batch``: closed forms, the counterexamples to the paper, extreme instances, ties, bad input."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from tests.allocation.questions import FAMILIES, as_instance, near
from tests.oracle.instances import OracleInstance
from tests.oracle.precise import certify

families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)


def solve(means: Any, floors: Any = 0.0, family: Any = None) -> fb.Allocation:
    return fb.solve(fb.Instance(means, family, fb.rates.Constant(floors)))


def unconstrained_equal_gaps(arms: int) -> np.ndarray:
    """w* of arms with equal gaps, the best first."""
    others = 1.0 / (math.sqrt(arms - 1) + arms - 1)
    return np.array([math.sqrt(arms - 1) * others] + [others] * (arms - 1))


# Closed forms


@pytest.mark.parametrize("share", [0.5, 0.500001, 0.6, 0.9, 0.999999])
@pytest.mark.parametrize("arm", [0, 1])
def test_two_arms_with_a_floor_above_one_half(share: float, arm: int) -> None:
    floors = [0.0, 0.0]
    floors[arm] = share
    found = solve([0.3, 0.0], floors, fb.Gaussian(1.7))
    assert found.weights[arm] == near(share, rel=1e-9)
    assert found.characteristic_time == near(2 * 1.7 / (share * (1 - share)) / 0.3**2, rel=1e-10)
    assert found.best_arm == 0


@pytest.mark.parametrize("variances", [(1.0, 1.0), (1.0, 9.0), (1e-3, 1e3)])
def test_two_arms_share_by_their_standard_deviations(variances: tuple[float, float]) -> None:
    deviations = np.sqrt(variances)
    found = solve([0.0, 2.0], family=fb.Gaussian(variances))
    assert found.weights == near(deviations / deviations.sum(), rel=1e-6)
    assert found.characteristic_time == near(2 * deviations.sum() ** 2 / 4, rel=1e-10)


@pytest.mark.parametrize("arms", [2, 3, 10, 1000])
def test_equal_gaps_without_floors(arms: int) -> None:
    found = solve([0.25] + [0.0] * (arms - 1), family=fb.Gaussian(0.5))
    assert found.weights == near(unconstrained_equal_gaps(arms), rel=1e-6)
    assert found.characteristic_time == near(2 * 0.5 * (1 + math.sqrt(arms - 1)) ** 2 / 0.25**2, rel=1e-10)


@pytest.mark.parametrize("own_floor", [0.45, 0.6, 0.9])
@pytest.mark.parametrize("arms", [3, 5, 12])
def test_equal_gaps_with_the_best_arm_at_its_floor(arms: int, own_floor: float) -> None:
    """Case 5 of the paper's examples, which holds as printed."""
    rest = (1 - own_floor) / (arms - 1)
    found = solve([1.0] + [0.0] * (arms - 1), [own_floor, *np.linspace(0.0, rest, arms - 1)])
    ratio = (own_floor * (arms - 2) + 1) / (own_floor * (1 - own_floor) * (1 + math.sqrt(arms - 1)) ** 2)
    assert found.characteristic_time == near(ratio * 2 * (1 + math.sqrt(arms - 1)) ** 2, rel=1e-10)
    assert found.weights == near([own_floor] + [rest] * (arms - 1), rel=1e-9)


@pytest.mark.parametrize(
    ("least", "at_least", "larger"),
    [(0.31, 2, ()), (0.12, 4, (0.2, 0.25)), (0.1, 9, ())],
    ids=["two arms", "four of six arms", "nine arms"],
)
def test_equal_gaps_with_the_other_arms_at_their_floors(least: float, at_least: int, larger: tuple[float, ...]) -> None:
    """Case 4 of the paper's examples, which holds where 1 - psum <= sqrt(m) p_min, m arms being at the minimum."""
    floors = [0.0] + [least] * at_least + list(larger)
    spare = 1 - sum(floors)
    assert np.all(np.array(floors[1:]) >= unconstrained_equal_gaps(len(floors))[1:])
    assert spare <= math.sqrt(at_least) * least
    found = solve([1.0] + [0.0] * (len(floors) - 1), floors)
    assert found.characteristic_time == near(2 * (1 / spare + 1 / least), rel=1e-10)
    assert found.weights == near([spare, *floors[1:]], rel=1e-9)


@families
def test_full_floors_are_the_allocation(family: Any) -> None:
    floors = [0.25, 0.5, 0.125, 0.125]
    found = solve([0.3, 0.7, 0.6, 0.2], floors, family())
    assert found.weights.tolist() == floors
    assert found.duality_gap == 0.0
    assert found.at_floor.all()


def test_full_floors_cost_what_the_definition_says() -> None:
    means, floors = np.array([0.0, 2.0, 1.0]), np.array([0.5, 0.25, 0.25])
    expected = 2 * max((1 / 0.5 + 1 / 0.25) / 2.0**2, (1 / 0.25 + 1 / 0.25) / 1.0**2)
    assert solve(means, floors).characteristic_time == near(expected, rel=1e-15)


# Where the paper is wrong (docs/errata.md)


def test_characteristic_time_has_one_factor_two() -> None:
    """T* = 2 σ² min max (1/w_a + 1/w_b) / Δ_a²; with one more factor 2 two arms at distance 1 would have 16."""
    assert solve([1.0, 0.0]).characteristic_time == near(8.0, rel=1e-10)


def test_kink_without_a_stationary_point() -> None:
    found = solve([1.0, 0.0, 0.0], [0.0, 0.0, 0.3])
    assert found.weights == near([0.4, 0.3, 0.3], rel=1e-9)
    assert found.weights[1] ** 2 < found.weights[0] ** 2 < found.weights[1] ** 2 + found.weights[2] ** 2


def test_an_arm_can_be_above_a_floor_that_is_above_its_unconstrained_weight() -> None:
    floors = [0.0, 0.295, 0.4]
    found = solve([1.0, 0.0, 0.0], floors)
    assert np.all(np.array(floors[1:]) > unconstrained_equal_gaps(3)[1:])
    assert found.weights == near([0.3, 0.3, 0.4], rel=1e-9)
    assert found.at_floor.tolist() == [False, False, True]


def test_equal_gaps_case_4_fails_without_its_condition() -> None:
    """The floors of the last test again: the printed time is that of w_b = 1 - psum, which is not optimal."""
    printed = 2 * (1 / 0.305 + 1 / 0.295)
    found = solve([1.0, 0.0, 0.0], [0.0, 0.295, 0.4])
    assert found.characteristic_time == near(2 * (1 / 0.3 + 1 / 0.3), rel=1e-10)
    assert found.characteristic_time < 0.9999 * printed


@pytest.mark.parametrize("share", [0.5, 0.9, 0.999999])
def test_floors_below_the_optimum_cost_nothing(share: float) -> None:
    """The paper has T* < T*_p for every p but 0."""
    means = [1.0, 0.8, 0.3, -0.5]
    free = solve(means)
    fair = solve(means, share * free.weights)
    assert fair.characteristic_time == near(free.characteristic_time, rel=1e-10)
    assert fair.weights == near(free.weights, rel=1e-6)
    assert not fair.at_floor.any()


def test_full_floors_exceed_the_printed_bound() -> None:
    """T*_p <= 2 / (p_min Δ_max²) is false, T*_p <= 4 / (p_min Δ_min²) is true and sharp."""
    time = solve([1.0, 0.0], [0.5, 0.5]).characteristic_time
    assert time > 2 / (0.5 * 1.0**2)
    assert time == near(4 / (0.5 * 1.0**2), rel=1e-14)


# Extreme instances


@pytest.mark.parametrize("floors", [(0.0,) * 5, (0.1, 0.2, 0.0, 0.3, 0.05), (0.6, 0.0, 0.0, 0.1, 0.0)])
def test_gaps_of_1e_minus_8_and_1e8_together(floors: tuple[float, ...]) -> None:
    question = OracleInstance((0.0, -1e-8, -1e8, -1.0, -3e-8), floors)
    _agrees_with_oracle(question)


@pytest.mark.parametrize("floors", [(0.0,) * 4, (0.1, 0.2, 0.0, 0.3), (0.0, 0.0, 0.9, 0.05)])
@pytest.mark.parametrize("variances", [(1e-3, 1e3, 1.0, 30.0), (1e3, 1e-3, 1e-3, 1.0)])
def test_variances_over_six_orders(variances: tuple[float, ...], floors: tuple[float, ...]) -> None:
    _agrees_with_oracle(OracleInstance((1.0, 0.5, 0.9, -2.0), floors, variance=variances))


@pytest.mark.parametrize(
    ("family", "means"),
    [
        ("bernoulli", (1e-8, 2e-8)),
        ("bernoulli", (1 - 1e-8, 1 - 2e-8)),
        ("bernoulli", (0.9999999870926343, 0.9999999870387076)),
        ("bernoulli", (1e-8, 0.5, 1 - 1e-8)),
        ("poisson", (1e8, 1.0)),
        ("poisson", (1.0, 1e-8)),
        ("poisson", (1e8, 1e-4)),
        ("poisson", (1e8, 1e-8, 1e8 - 1e-6)),
        ("exponential", (1e4, 1.0)),
        ("exponential", (1e8, 1.0)),
        ("exponential", (76412038.0, 0.2937)),
        ("exponential", (1e8, 1e-8, 1e8 - 1e-6)),
    ],
    ids=str,
)
@pytest.mark.parametrize("floor", [0.0, 0.3])
def test_means_at_the_ends_of_their_domain(family: str, means: tuple[float, ...], floor: float) -> None:
    _agrees_with_oracle(OracleInstance(means, (floor,) * len(means), family))


@pytest.mark.parametrize(
    "question",
    [
        OracleInstance(
            (0.0024717590185383696, 0.0005075308863155858, 0.0012707413154080225, 1244.0651202945642),
            (0.36938082707238407, 0.4248624074890812, 0.18054997181937107, 0.02520679261916354),
            "exponential",
        ),
        OracleInstance(
            (8118.58530387377, 0.0011193156207638054, 0.0001094395345182689, 0.0012820434431059407),
            (0.09705281189623423, 0.10587258596662678, 0.1551070479758302, 0.0),
            "exponential",
        ),
        OracleInstance((147514.72878852105, 0.0005594007452586652), (0.0, 0.0), "exponential"),
        OracleInstance((5.449379308554107e-12, 54053978.52694826), (0.0, 0.9487381705824177), "exponential"),
        OracleInstance((7.608340999944633e-08, 4410.15370234409), (0.4221130542827436, 0.5778869447172563), "poisson"),
        OracleInstance((0.00047248804297557673, 8.246112815472492e-07, 1068782920.0), (0.0, 0.25, 0.0), "poisson"),
    ],
    ids=lambda question: f"{question.family} {len(question.means)} arms",
)
def test_means_far_apart(question: OracleInstance) -> None:
    _agrees_with_oracle(question)


@pytest.mark.parametrize("short", [1e-6, 1e-12, 1e-15])
@families
def test_a_sum_just_below_one_is_spent_on_the_arm_that_has_no_floor(family: Any, short: float) -> None:
    floors = [0.0, 1.0 - short]
    found = solve([0.6, 0.5], floors, family())
    assert found.weights == near([1.0 - floors[1], floors[1]], rel=1e-9)
    assert math.isfinite(found.characteristic_time)
    assert found.duality_gap <= 1e-9


@pytest.mark.parametrize("arms", [10, 1000, pytest.param(10**5, marks=pytest.mark.slow_without_jit)])
def test_a_sum_just_below_one_is_spent_whatever_the_number_of_arms(arms: int) -> None:
    floors = np.full(arms, (1.0 - 2e-11) / (arms - 1))
    floors[0] = 0.0
    spare = float(1 - sum(map(Fraction, floors.tolist()), Fraction(0)))
    found = solve([1.0] + [0.0] * (arms - 1), floors)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert found.characteristic_time == near(2 * (1 / spare + 1 / floors[1]), rel=1e-10)


@pytest.mark.parametrize(
    ("means", "floors", "variances"),
    [
        (
            (-2023.5313112136294, -0.0005027053194447237),
            (0.9999838241496073, 1.6174850392713548e-05),
            (24.434305526939713, 162.55487557504833),
        ),
        (
            (1.2679917918977058e-05, -2456037.328950046),
            (3.9696529228518524e-09, 0.9999999960293472),
            (0.31332857243155854, 18.450154191794738),
        ),
        (
            (-0.2961398179165832, 5.527916307028752, 0.09720383512088875, 42.48643533720757, 1.0508234712221751),
            (
                0.009131795710287178,
                0.6060260452356948,
                0.06391624954325506,
                1.9417624384164538e-07,
                0.32092571533351905,
            ),
            (0.055718574893192985, 77.8036551039804, 1.330454417978091, 497.7370849789361, 0.36728230049808464),
        ),
    ],
    ids=["two arms", "a far arm", "five arms"],
)
def test_weights_sum_to_one_however_little_is_left(means: Any, floors: Any, variances: Any) -> None:
    found = solve(means, floors, fb.Gaussian(variances))
    assert math.fsum(found.weights) == pytest.approx(1.0, abs=1e-12)
    assert np.all(found.weights >= floors)
    assert found.characteristic_time == near(certify(OracleInstance(means, floors, variance=variances)).time, rel=1e-10)


@pytest.mark.parametrize("past", [1e-15, 1e-12, 9e-10])
def test_a_sum_just_past_one_is_scaled_to_it(past: float) -> None:
    given = np.array([0.2, 0.3, 0.5]) * (1.0 + past)
    found = solve([1.0, 0.5, 0.0], given)
    assert found.weights == near([0.2, 0.3, 0.5], rel=1e-15)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("floors", [(0.0, 0.5, 0.5), (0.5, 0.5, 0.0)], ids=["best arm", "other arm"])
@families
def test_full_floors_without_an_arm_never_decide(family: Any, floors: Sequence[float]) -> None:
    found = solve([0.9, 0.5, 0.1], floors, family())
    assert found.characteristic_time == math.inf
    assert found.weights.tolist() == list(floors)
    assert found.duality_gap == 0.0


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("total", [0.5, *(pytest.param(one, marks=pytest.mark.long) for one in (0.0, 0.999, 1.0))])
def test_a_million_arms(total: float) -> None:
    rng = np.random.default_rng(5)
    floors = total * rng.dirichlet(np.ones(10**6))
    instance = fb.Instance(rng.normal(size=10**6), rates=fb.rates.Constant(floors))
    found = fb.solve(instance)
    assert found.duality_gap <= 1e-9
    assert np.all(found.weights >= instance.floors)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    gaps = instance.means[found.best_arm] - np.delete(instance.means, found.best_arm)
    others = np.delete(found.weights, found.best_arm)
    time = np.max(2 * (1 / others + 1 / found.weights[found.best_arm]) / gaps**2)
    assert found.characteristic_time == near(time, rel=1e-10)


def _agrees_with_oracle(question: OracleInstance) -> None:
    exact = certify(question)
    found = fb.solve(as_instance(question))
    assert found.characteristic_time == near(exact.time, rel=1e-10)
    assert found.weights == pytest.approx(exact.weights, rel=1e-5, abs=1e-300)
    assert found.duality_gap <= 1e-9


# Ties


TIES = {
    "two best of three": ([0.5, 0.2, 0.5], [0.0, 0.0, 0.0]),
    "two best with floors": ([0.5, 0.2, 0.5, 0.4], [0.1, 0.3, 0.0, 0.2]),
    "two best, one with a large floor": ([0.2, 0.5, 0.5], [0.1, 0.0, 0.7]),
    "two best, full floors": ([0.2, 0.5, 0.5], [0.25, 0.5, 0.25]),
    "all equal": ([0.5, 0.5, 0.5, 0.5], [0.0, 0.1, 0.4, 0.0]),
    "two arms": ([0.5, 0.5], [0.0, 0.0]),
}


@pytest.mark.parametrize(("means", "floors"), TIES.values(), ids=TIES)
@families
def test_ties_have_a_defined_allocation(family: Any, means: list[float], floors: list[float]) -> None:
    found = solve(means, floors, family())
    tied = np.array(means) == max(means)
    assert found.characteristic_time == math.inf
    assert found.best_arm == int(np.argmax(means))
    assert np.all(found.weights >= floors)
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert found.weights[~tied] == pytest.approx(np.array(floors)[~tied], abs=1e-100)
    assert np.all(found.weights[tied] > 0.0)


@families
def test_ties_are_the_limit_of_a_vanishing_gap(family: Any) -> None:
    floors = [0.1, 0.2, 0.05, 0.0]
    tied = solve([0.5, 0.3, 0.5, 0.5], floors, family())
    close = solve([0.5, 0.3, 0.5 - 1e-9, 0.5 - 1e-9], floors, family())
    assert math.isfinite(close.characteristic_time)
    assert tied.weights == pytest.approx(close.weights, abs=1e-7)


def test_ties_of_arms_with_different_variances_share_by_them() -> None:
    found = solve([1.0, 1.0], family=fb.Gaussian([1.0, 9.0]))
    assert found.weights == near([0.25, 0.75], rel=1e-6)


# The interface


def test_allocation_cannot_be_changed() -> None:
    found = solve([1.0, 0.0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.best_arm = 1  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        found.weights[0] = 1.0


def test_allocation_holds_plain_numbers() -> None:
    found = solve([0.0, 1.0, 0.5], 0.1)
    assert type(found.best_arm) is int
    assert type(found.characteristic_time) is float
    assert type(found.duality_gap) is float
    assert found.at_floor.dtype == bool


MEANS = np.array([[1.0, 0.5, 0.0], [0.2, 0.9, 0.8]])


@pytest.mark.parametrize(
    "rates",
    [
        0.1,
        [0.1, 0.2, 0.3],
        [[0.1, 0.2, 0.3], [0.0, 0.0, 0.4]],
        fb.rates.Constant(0.1),
        fb.rates.Softmax(0.9, temperature=0.5),
        fb.rates.InverseGap(0.9),
        fb.rates.Custom(lambda means: 0.3 * means / means.sum()),
    ],
    ids=["one floor", "one per arm", "a matrix", "Constant", "Softmax", "InverseGap", "Custom"],
)
def test_batch_takes_rates_in_every_form(rates: Any) -> None:
    batch = fb.solve_batch(MEANS, rates)
    for row, means in enumerate(MEANS):
        floors = rates if isinstance(rates, float) else np.asarray(rates)[row] if np.ndim(rates) == 2 else rates
        rate = floors if isinstance(floors, fb.problems.rates.Rate) else fb.rates.Constant(floors)
        alone = fb.solve(fb.Instance(means, rates=rate))
        assert batch.weights[row].tolist() == alone.weights.tolist()
        assert batch.characteristic_time[row] == alone.characteristic_time


def test_batch_mixes_ties_and_full_floors_with_others() -> None:
    batch = fb.solve_batch([[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert batch.characteristic_time == pytest.approx([math.inf, math.inf, 8.0])
    assert batch.best_arm.tolist() == [0, 0, 0]


def test_batch_may_be_empty() -> None:
    batch = fb.solve_batch(np.empty((0, 3)))
    assert batch.weights.shape == (0, 3)
    assert batch.characteristic_time.shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"means": [1.0, 0.0]}, r"means must be a matrix .*, got \(2,\)"),
        ({"means": [[1.0], [0.0]]}, r"means must be a matrix .* at least two arms, got \(2, 1\)"),
        ({"means": [["a", "b"]]}, "means must be numbers, got "),
        ({"means": [[1.0, 0.0], [math.nan, 0.0]]}, "means must be finite, got nan for arm 0 of row 1"),
        ({"means": [[0.5, 0.2], [0.5, 1.2]], "family": fb.Bernoulli()}, r"means must be in \(0, 1\) .* row 1"),
        ({"means": MEANS, "rates": [[0.1, 0.2, 0.3]]}, r"floors must have the shape of means \(2, 3\), got \(1, 3\)"),
        ({"means": MEANS, "rates": [[0.1, 0.2]] * 2}, r"floors must have the shape of means \(2, 3\), got \(2, 2\)"),
        ({"means": MEANS, "rates": [["a", "b", "c"]] * 2}, "floors must be numbers, got "),
        ({"means": MEANS, "rates": [[0.1, 0.2, math.nan]] * 2}, "floors must be finite, got nan for arm 2 of row 0"),
        ({"means": MEANS, "rates": [0.1, 0.2]}, r"floors must have one entry per arm \(3\), got 2"),
        ({"means": MEANS, "rates": [[0.1, 0.2, 0.3], [0.1, 0.2, -0.3]]}, "floors .* -0.3 for arm 2 of row 1"),
        ({"means": MEANS, "rates": [[0.1, 0.2, 0.3], [0.5, 0.5, 0.3]]}, "in row 1 the floors add up to 130 %"),
        ({"means": MEANS, "rates": -0.1}, "floors must not be negative, got -0.1"),
        ({"means": MEANS, "rates": 0.4}, "3 floors of 40 % add up to 120 %"),
        ({"means": MEANS, "family": "normal"}, "family must be one of .*, got 'normal'"),
        ({"means": MEANS, "family": 3}, "family must be a Family, its kind or its JSON form, got 3"),
        ({"means": MEANS, "rates": {"a": 0.1}}, "a floor by label needs the labels of the arms"),
        ({"means": MEANS, "family": fb.Gaussian([1.0, 2.0])}, r"variance must have one entry per arm \(3\), got 2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_batch_refuses_bad_input(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fb.solve_batch(**arguments)


@pytest.mark.parametrize("mean", [1e150, 1.7e308, -1e160])
def test_means_whose_squares_overflow_are_refused(mean: float) -> None:
    with pytest.raises(ValueError, match=r"means must be (less|greater) than -?1e\+150 for gaussian arms"):
        fb.Instance([mean, 0.0])
    with pytest.raises(ValueError, match=r"means must be (less|greater) than -?1e\+150 for gaussian arms"):
        fb.solve_batch([[mean, 0.0]])
    assert math.isfinite(solve([0.9e150, -0.9e150]).duality_gap)
