"""Rewards by inversion: the quantiles of SciPy, the laws of the families, and streams that are independent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

import fairbai as fb
from fairbai.kernels.families import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON
from fairbai.kernels.special import normal_quantile
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.kernels.streams.rewards import reward
from fairbai.simulation.scenario import MAX_POISSON_MEAN, truth_of
from tests.simulation.cases import rewards_of

LEAST, MOST = 2.0**-53, 1.0 - 2.0**-53  # the extremes of the stream


def truth(*means: float, family: fb.problems.Family | None = None) -> np.ndarray:
    return truth_of(fb.Instance(list(means), family))


# The normal quantile


def relative_error(uniforms: np.ndarray) -> float:
    found = np.array([normal_quantile(float(uniform)) for uniform in uniforms])
    return float(np.max(np.abs(found / ndtri(uniforms) - 1.0)))


def test_normal_quantile() -> None:
    """Against SciPy, over the middle, both tails and both sides of where the approximations meet."""
    rng = np.random.default_rng(1)
    assert relative_error(rng.random(5000)) < 1e-14
    assert relative_error(np.geomspace(LEAST, 0.1, 1000)) < 1e-14
    assert relative_error(1.0 - np.geomspace(LEAST, 0.1, 1000)) < 1e-14
    seams = np.array([0.075, 0.925, math.exp(-25.0)])
    assert relative_error(np.concatenate([np.nextafter(seams, 0.0), seams, np.nextafter(seams, 1.0)])) < 1e-14


@pytest.mark.parametrize("uniform", [LEAST, 1e-12, 0.01, 0.25, 0.5 - 2.0**-50])
def test_normal_quantile_is_odd(uniform: float) -> None:
    uniform = round(uniform * 2**53) / 2**53  # so that 1 - uniform is exact
    assert normal_quantile(1.0 - uniform) == -normal_quantile(uniform)


def test_normal_quantile_at_its_ends() -> None:
    assert normal_quantile(0.5) == 0.0
    assert normal_quantile(LEAST) == pytest.approx(-8.209536151601387, rel=1e-14)
    assert normal_quantile(MOST) == pytest.approx(8.209536151601387, rel=1e-14)
    assert normal_quantile(1e-300) == pytest.approx(ndtri(1e-300), rel=1e-14)


def test_normal_quantile_rises() -> None:
    uniforms = np.sort(np.random.default_rng(2).random(3000))
    found = [normal_quantile(float(uniform)) for uniform in uniforms]
    assert (np.diff(found) > 0.0).all()


# The other quantiles


def test_gaussian_reward_is_shifted_and_scaled() -> None:
    arms = truth(2.0, -1.0, family=fb.Gaussian([9.0, 0.25]))
    assert reward(GAUSSIAN, arms, 0, 0.3) == 2.0 + 3.0 * normal_quantile(0.3)
    assert reward(GAUSSIAN, arms, 1, 0.3) == -1.0 + 0.5 * normal_quantile(0.3)


def test_bernoulli_reward() -> None:
    arms = truth(0.25, 1e-9, family=fb.Bernoulli())
    uniforms = [LEAST, 0.2, np.nextafter(0.25, 0.0), 0.25, 0.9, MOST]
    assert [reward(BERNOULLI, arms, 0, uniform) for uniform in uniforms] == [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    assert [reward(BERNOULLI, arms, 1, uniform) for uniform in uniforms[:2]] == [1.0, 0.0]


def test_exponential_reward() -> None:
    """Positive at both extremes, as an exponential reward must be."""
    arms = truth(2.5, 1.0, family=fb.Exponential())
    for uniform in (LEAST, 0.1, 0.5, 0.999, MOST):
        expected = stats.expon.isf(uniform, scale=2.5)
        assert reward(EXPONENTIAL, arms, 0, uniform) == pytest.approx(expected, rel=1e-12)
        assert reward(EXPONENTIAL, arms, 0, uniform) > 0.0


@pytest.mark.parametrize("mean", [1e-9, 1e-3, 0.03, 0.5, 0.999, 1.0, 2.3, 7.0, 19.5, 100.0, 1234.5, 1e4])
def test_poisson_quantile(mean: float) -> None:
    """Against SciPy, but where a uniform is within 1e-12 of the chance of so many or fewer."""
    rng = np.random.default_rng(3)
    uniforms = np.concatenate([rng.random(200), np.geomspace(1e-11, 0.1, 20), 1.0 - np.geomspace(1e-11, 0.1, 20)])
    expected = stats.poisson.ppf(uniforms, mean)
    from_tie = np.minimum(
        stats.poisson.cdf(expected, mean) - uniforms, uniforms - stats.poisson.cdf(expected - 1, mean)
    )
    clear = from_tie > 1e-12
    assert clear.mean() > 0.9
    arms = truth(mean, 1.0, family=fb.Poisson())
    found = [reward(POISSON, arms, 0, float(uniform)) for uniform in uniforms[clear]]
    assert found == expected[clear].tolist()


@pytest.mark.parametrize("mean", [1e-3, 7.0, 283.524, 1e4, 35071.75783828857, 203841.31666391095, 1e6])
def test_poisson_quantile_at_the_extremes(mean: float) -> None:
    """Where rounding is as large as what is left of the law, it is off by a standard deviation (of 8) at most."""
    arms = truth(mean, 1.0, family=fb.Poisson())
    for uniform in (LEAST, MOST):
        found = reward(POISSON, arms, 0, uniform)
        assert abs(found - stats.poisson.ppf(uniform, mean)) <= 3.0 + math.sqrt(mean)
        assert found >= 0.0


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("mean", [1e8, 1e10, MAX_POISSON_MEAN])
def test_poisson_quantile_of_large_means(mean: float) -> None:
    """At that size a Poisson law is normal up to some ten thousandths of a standard deviation."""
    arms = truth(mean, 1.0, family=fb.Poisson())
    for uniform in (1e-6, 0.3, 0.5, 0.8, 1.0 - 1e-6):
        found = (reward(POISSON, arms, 0, uniform) - mean) / math.sqrt(mean)
        assert found == pytest.approx(ndtri(uniform), abs=1e-3)


# The laws


RUNS, ROUNDS = 10, 400
LAWS = {
    "gaussian": (fb.Gaussian([4.0, 1.0]), [0.7, 0.0], stats.norm(0.7, 2.0)),
    "bernoulli": (fb.Bernoulli(), [0.3, 0.5], stats.bernoulli(0.3)),
    "poisson": (fb.Poisson(), [3.6, 1.0], stats.poisson(3.6)),
    "rare poisson": (fb.Poisson(), [0.2, 0.1], stats.poisson(0.2)),
    "exponential": (fb.Exponential(), [2.5, 1.0], stats.expon(scale=2.5)),
}
laws = pytest.mark.parametrize("name", LAWS)


def sample(name: str, seed: int = 5) -> np.ndarray:
    """Rewards of arm 0: a row a run, a column a round."""
    family, means, _ = LAWS[name]
    streams = [rewards_of(fb.Instance(means, family), seed, run) for run in range(RUNS)]
    return np.array([[stream(number, 0) for number in range(ROUNDS)] for stream in streams])


@laws
def test_moments(name: str) -> None:
    """Mean and variance of 4,000 rewards, within 4 standard errors."""
    values, law = sample(name).ravel(), LAWS[name][2]
    mean, variance, kurtosis = (float(moment) for moment in law.stats("mvk"))
    assert abs(values.mean() - mean) < 4.0 * math.sqrt(variance / values.size)
    error = variance * math.sqrt((kurtosis + 2.0) / values.size)
    assert abs(np.mean((values - mean) ** 2) - variance) < 4.0 * error


@pytest.mark.parametrize("name", ["gaussian", "exponential"])
def test_continuous_laws(name: str) -> None:
    """Kolmogorov-Smirnov, at a level of one in ten thousand."""
    assert stats.kstest(sample(name).ravel(), LAWS[name][2].cdf).pvalue > 1e-4


@pytest.mark.parametrize("name", ["bernoulli", "poisson", "rare poisson"])
def test_discrete_laws(name: str) -> None:
    """Chi-square over all counts that are expected at least five times, at a level of one in ten thousand."""
    values, law = sample(name).ravel(), LAWS[name][2]
    counts = np.arange(60)
    likely = counts[law.pmf(counts) * values.size >= 5.0]
    expected = law.pmf(likely) * values.size
    found = np.array([np.sum(values == count) for count in likely], dtype=np.float64)
    if expected.sum() < values.size - 1e-6:  # and all others together
        expected, found = np.append(expected, values.size - expected.sum()), np.append(found, values.size - found.sum())
    assert stats.chisquare(found, expected).pvalue > 1e-4


# Independence


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """In standard errors."""
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1] * math.sqrt(one.size))


@laws
def test_runs_rounds_and_seeds_are_independent(name: str) -> None:
    """Correlations with the next run, the next round and the next seed: within 4 standard errors."""
    values = sample(name)
    assert abs(correlation(values[1:], values[:-1])) < 4.0
    assert abs(correlation(values[:, 1:], values[:, :-1])) < 4.0
    assert abs(correlation(values, sample(name, seed=6))) < 4.0


@laws
def test_reward_does_not_depend_on_what_the_rule_draws(name: str) -> None:
    """Nor on what it draws in the next round: correlations within 4 standard errors."""
    values = sample(name)
    uniforms = np.array([[two_uniforms(5, run, number)[0] for number in range(ROUNDS)] for run in range(RUNS)])
    assert abs(correlation(values, uniforms)) < 4.0
    assert abs(correlation(values[:, :-1], uniforms[:, 1:])) < 4.0
    assert abs(correlation(np.abs(values - values.mean()), np.abs(uniforms - 0.5))) < 4.0


@laws
def test_rewards_are_those_of_the_second_uniform(name: str) -> None:
    family, means, _ = LAWS[name]
    arms, stream = truth(*means, family=family), rewards_of(fb.Instance(means, family), seed=7, run=2)
    for number, arm in [(0, 0), (0, 1), (3, 1), (10**10, 0)]:
        assert stream(number, arm) == reward(family.code, arms, arm, two_uniforms(7, 2, number)[1])
