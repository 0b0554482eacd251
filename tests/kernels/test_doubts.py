"""The tests of the declared family: e-values by their definition, how often they err, and how soon they notice."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
from scipy import integrate, stats

from fairbai.kernels import doubts
from fairbai.kernels.families import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON

Array = np.ndarray[Any, np.dtype[np.float64]]
Draw = Callable[[np.random.Generator, tuple[int, int]], Array]


def run(family: int, rewards: Array, scale: float = 1.0) -> Array:
    """The log e-values of one arm after every reward."""
    tests, scales = np.zeros((doubts.rows_of_tests(family), 2)), np.array([scale])
    return np.array([doubts.update_test(family, tests, scales, 0, float(reward)) for reward in rewards])[:, 0]


@numba.njit  # type: ignore[untyped-decorator]
def _follow(family: int, rewards: Array, scales: Array, tests: Array, evidence: Array) -> None:
    for row in range(rewards.shape[0]):
        for number in range(rewards.shape[1]):
            evidence[row, number] = doubts.update_test(family, tests, scales, row, rewards[row, number])[0]


def follow(family: int, rewards: Array, scale: float) -> Array:
    """The log e-values of many arms after every reward; one arm per row."""
    runs, evidence = rewards.shape[0], np.empty(rewards.shape)
    tests = np.zeros((doubts.rows_of_tests(family), runs + 1))
    _follow(family, rewards, np.full(runs, scale), tests, evidence)
    return evidence


# --- the e-values, by their definition ----------------------------------------------------------------------------


def test_gaussian_evidence_is_the_least_over_all_means() -> None:
    rewards = np.random.default_rng(0).normal(3.0, 2.0, 30)
    for count in (1, 2, 10, 30):
        some = rewards[:count]

        def evidence(mean: float, values: Array = some) -> float:
            each = [np.prod(math.sqrt(1.0 - s) * np.exp(s * (values - mean) ** 2 / 8.0)) for s in doubts.TILTS]
            return float(np.mean(each))

        means = np.linspace(0.0, 6.0, 3001)
        lowest = min(evidence(mean) for mean in [*means, some.mean()])
        assert run(GAUSSIAN, some, 4.0)[-1] == pytest.approx(math.log(lowest), abs=1e-9)


def likelihood_ratio(family: int, rewards: Array) -> float:
    """The e-value of an arm by its definition: alternatives with estimated means, over the best member in hindsight."""
    tested = rewards[doubts.FIRST :]
    before = [rewards[:number] for number in range(doubts.FIRST, rewards.size)]
    if family == POISSON:
        means = np.array([(some.sum() + 0.5) / (some.size + 1.0) for some in before])
        laws = [stats.nbinom(means / (factor - 1.0), 1.0 / factor) for factor in doubts.FACTORS]
        likelihoods = [law.logpmf(tested).sum() for law in laws]
        best = stats.poisson(tested.mean()).logpmf(tested).sum()
    else:
        means = np.array([some.mean() for some in before])
        laws = [stats.gamma(shape, scale=means / shape) for shape in doubts.SHAPES]
        laws += [stats.lomax(tail, scale=means * (tail - 1.0)) for tail in doubts.TAILS]
        likelihoods = [law.logpdf(tested).sum() for law in laws]
        best = stats.expon(scale=tested.mean()).logpdf(tested).sum()
    return float(np.logaddexp.reduce(likelihoods) - math.log(len(laws)) - best)


@pytest.mark.parametrize("family", [POISSON, EXPONENTIAL])
@pytest.mark.parametrize("mean", [0.3, 4.0, 5e3])
def test_evidence_of_an_arm_is_the_likelihood_ratio(family: int, mean: float) -> None:
    rng = np.random.default_rng(1)
    rewards = rng.poisson(rng.gamma(2.0, mean / 2.0, 200)).astype(float)
    rewards = rewards if family == POISSON else rng.gamma(0.6, mean, 200)
    found = run(family, rewards)
    assert (found[: doubts.FIRST] == 0.0).all()
    for count in (6, 7, 20, 200):
        assert found[count - 1] == pytest.approx(likelihood_ratio(family, rewards[:count]), abs=1e-7)


def test_all_arms_together_multiply() -> None:
    rng = np.random.default_rng(2)
    for family, draw in ((GAUSSIAN, rng.normal), (POISSON, rng.poisson), (EXPONENTIAL, rng.exponential)):
        rows = doubts.rows_of_tests(family)
        both, alone = np.zeros((rows, 3)), [np.zeros((rows, 2)), np.zeros((rows, 2))]
        scales = np.array([1.0, 4.0])
        for _ in range(50):
            arm, reward = int(rng.integers(2)), float(draw(3.0))
            doubts.update_test(family, both, scales, arm, reward)
            doubts.update_test(family, alone[arm], scales[arm:], 0, reward)
        together = both[doubts.LOGS :, 2]
        if family == GAUSSIAN:
            assert both[doubts.COUNT, 2] == 50
            assert both[doubts.SQUARES, 2] == pytest.approx((both[doubts.SQUARES, :2] / scales).sum())
        else:
            assert together == pytest.approx(alone[0][doubts.LOGS :, 0] + alone[1][doubts.LOGS :, 0])


def test_other_families_have_no_test() -> None:
    assert doubts.rows_of_tests(BERNOULLI) == doubts.rows_of_tests(99) == 0
    assert np.isnan(doubts.update_test(99, np.zeros((0, 2)), np.ones(1), 0, 1.0)).all()


def test_extreme_rewards_give_numbers() -> None:
    for family, rewards in (
        (GAUSSIAN, [1e149, -1e149, 0.0]),
        (POISSON, [0.0] * 9 + [1e149, 0.0, 1e149]),
        (POISSON, [1e13 + number for number in range(20)]),
        (EXPONENTIAL, [1e-300] * 9 + [1e149, 1e-300, 1.0]),
        (EXPONENTIAL, [1e149] * 9 + [1e-300]),
    ):
        assert np.isfinite(run(family, np.array(rewards), 1e-300)).all()


# --- at most 1 on average: for the family, and for all rewards that the proofs cover ------------------------------

COVERED: dict[str, Any] = {  # waiting times of mean 1 that are less spread than exponential ones
    "exponential": stats.expon(),
    "gamma": stats.gamma(2.0, scale=0.5),
    "uniform": stats.uniform(0.0, 2.0),
    "weibull": stats.weibull_min(1.5, scale=1.0 / math.gamma(1.0 + 1.0 / 1.5)),
    "constant": stats.uniform(1.0 - 1e-9, 2e-9),
}


@pytest.mark.parametrize("law", COVERED.values(), ids=list(COVERED))
@pytest.mark.parametrize("estimate", [0.3, 1.0, 4.0])
def test_a_waiting_time_is_worth_at_most_1_on_average(law: Any, estimate: float) -> None:
    """Whatever the estimate of the mean; the best member in hindsight is at least as likely as the true one."""
    for which in range(len(doubts.SHAPES) + len(doubts.TAILS)):

        def value(x: float, which: int = which) -> float:
            against = doubts.log_alternative(EXPONENTIAL, which, estimate, x) - math.log(x) - 1.0
            return float(math.exp(against + x) * law.pdf(x))

        low, high = law.support()
        mean = sum(integrate.quad(value, max(low, a), min(high, b), limit=200)[0] for a, b in ((1e-12, 1), (1, 600)))
        assert mean <= 1.0 + 1e-6
        if law.dist.name == "expon":
            assert mean == pytest.approx(1.0, abs=2e-3)  # but for the ends


COUNTS: dict[str, Any] = {  # of mean 1.5, no more spread than Poisson counts
    "poisson": stats.poisson(1.5),
    "binomial": stats.binom(3, 0.5),
    "few": stats.binom(2, 0.75),
    "1 or 2": stats.randint(1, 3),
}


@pytest.mark.parametrize("estimate", [0.1, 1.5, 6.0])
@pytest.mark.parametrize("law", COUNTS.values(), ids=list(COUNTS))
def test_a_count_is_worth_at_most_1_on_average(law: Any, estimate: float) -> None:
    counts = np.arange(0.0, 100.0)
    for which in range(len(doubts.FACTORS)):
        logs = [doubts.log_alternative(POISSON, which, estimate, x) for x in counts.tolist()]
        own = np.where(counts > 0, counts * np.log(np.maximum(counts, 1.0)), 0.0) - counts  # of the mean x, but for x!
        true = counts * math.log(1.5) - 1.5
        mean = float((np.exp(np.array(logs) + own - true) * law.pmf(counts)).sum())
        assert mean <= 1.0 + 1e-9
        if law.dist.name == "poisson":
            assert mean == pytest.approx(1.0, abs=1e-7)  # but for counts from 100 on


@pytest.mark.parametrize("s", doubts.TILTS)
def test_a_gaussian_reward_is_worth_at_most_1_on_average(s: float) -> None:
    """Rewards in [0, 1] are sub-Gaussian with variance 1/4, 0 and 1 with probability p among them."""

    def worth(values: Array, chances: Array, variance: float) -> float:
        distance = values - (values * chances).sum()
        return float(math.sqrt(1.0 - s) * (np.exp(s * distance**2 / (2.0 * variance)) * chances).sum())

    grid = np.linspace(-12.0, 12.0, 20_001)
    assert worth(grid, stats.norm.pdf(grid) * (grid[1] - grid[0]), 1.0) == pytest.approx(1.0, abs=1e-3)
    for p in np.linspace(0.01, 0.99, 99):
        assert worth(np.array([0.0, 1.0]), np.array([1.0 - p, p]), 0.25) <= 1.0
    even = np.linspace(0.0, 1.0, 1001)
    assert worth(even, np.full(even.size, 1.0 / even.size), 0.25) <= 1.0


# --- false alarms -------------------------------------------------------------------------------------------------

RIGHT: dict[str, tuple[int, float, Draw]] = {
    "gaussian": (GAUSSIAN, 4.0, lambda rng, size: rng.normal(7.0, 2.0, size)),
    "0 and 1 as gaussian": (GAUSSIAN, 0.25, lambda rng, size: (rng.random(size) < 0.5).astype(float)),
    "clicks as gaussian": (GAUSSIAN, 0.25, lambda rng, size: (rng.random(size) < 0.03).astype(float)),
    "uniform as gaussian": (GAUSSIAN, 1.0 / 12.0, lambda rng, size: rng.random(size)),
    "poisson": (POISSON, 1.0, lambda rng, size: rng.poisson(3.0, size).astype(float)),
    "rare counts": (POISSON, 1.0, lambda rng, size: rng.poisson(0.05, size).astype(float)),
    "large counts": (POISSON, 1.0, lambda rng, size: rng.poisson(4e5, size).astype(float)),
    "binomial counts": (POISSON, 1.0, lambda rng, size: rng.binomial(4, 0.5, size).astype(float)),
    "0 and 1 as counts": (POISSON, 1.0, lambda rng, size: rng.binomial(1, 0.3, size).astype(float)),
    "exponential": (EXPONENTIAL, 1.0, lambda rng, size: rng.exponential(2e-3, size)),
    "gamma times": (EXPONENTIAL, 1.0, lambda rng, size: rng.gamma(1.3, 5.0, size)),
    "uniform times": (EXPONENTIAL, 1.0, lambda rng, size: rng.random(size)),
    "weibull times": (EXPONENTIAL, 1.0, lambda rng, size: rng.weibull(1.5, size)),
    "two times": (EXPONENTIAL, 1.0, lambda rng, size: np.where(rng.random(size) < 0.5, 0.2, 1.8)),
}


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("case", RIGHT.values(), ids=list(RIGHT))
def test_false_alarms_are_rarer_than_the_level(case: tuple[int, float, Draw]) -> None:
    """At a level of 0.05, so that 5,000 runs can tell; and at that of an experiment."""
    family, scale, draw = case
    highest = follow(family, draw(np.random.default_rng(3), (5000, 300)), scale).max(axis=1)
    for level in (0.05, 1e-3):
        error = math.sqrt(level * (1.0 - level) / highest.size)
        assert (highest >= math.log(1.0 / level)).mean() <= level + 3.0 * error


# --- how soon it is noticed ---------------------------------------------------------------------------------------


def lognormal(cv2: float) -> Draw:
    return lambda rng, size: rng.lognormal(0.0, math.sqrt(math.log(1.0 + cv2)), size)


def overdispersed(mean: float, factor: float) -> Draw:
    shape = mean / (factor - 1.0)
    return lambda rng, size: rng.negative_binomial(shape, 1.0 / factor, size).astype(float)


WRONG: dict[str, tuple[int, float, Draw, int]] = {  # and the median by which it must be noticed
    "variance 2": (GAUSSIAN, 1.0, lambda rng, size: rng.normal(0.0, math.sqrt(2.0), size), 80),
    "variance 4": (GAUSSIAN, 1.0, lambda rng, size: rng.normal(0.0, 2.0, size), 20),
    "counts x 2, mean 0.1": (POISSON, 1.0, overdispersed(0.1, 2.0), 350),
    "counts x 4, mean 0.1": (POISSON, 1.0, overdispersed(0.1, 4.0), 160),
    "counts x 2, mean 10": (POISSON, 1.0, overdispersed(10.0, 2.0), 120),
    "counts x 4, mean 10": (POISSON, 1.0, overdispersed(10.0, 4.0), 35),
    "gamma x 2": (EXPONENTIAL, 1.0, lambda rng, size: rng.gamma(0.5, 1.0, size), 80),
    "gamma x 4": (EXPONENTIAL, 1.0, lambda rng, size: rng.gamma(0.25, 1.0, size), 25),
    "lognormal x 2": (EXPONENTIAL, 1.0, lognormal(2.0), 700),
    "lognormal x 4": (EXPONENTIAL, 1.0, lognormal(4.0), 160),
    "lomax x 2": (EXPONENTIAL, 1.0, lambda rng, size: rng.pareto(4.0, size), 500),
    "lomax x 4": (EXPONENTIAL, 1.0, lambda rng, size: rng.pareto(8.0 / 3.0, size), 240),
}


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("case", WRONG.values(), ids=list(WRONG))
def test_a_factor_of_two_is_noticed(case: tuple[int, float, Draw, int]) -> None:
    family, scale, draw, latest = case
    evidence = follow(family, draw(np.random.default_rng(4), (200, 1500)), scale)
    assert np.median((evidence >= math.log(4000.0)).argmax(axis=1)) <= latest
    assert (evidence[:, -1] >= math.log(4000.0)).mean() > 0.9
