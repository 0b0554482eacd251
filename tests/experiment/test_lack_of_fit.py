"""The test of lack of fit: an e-process under the model, and power against interactions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

import fairbai as fb
from fairbai.experiment.lack_of_fit import KAPPAS, MAX_COLUMNS, WITHIN, is_time_to_look, log_evidence

DESIGN = fb.factorial({"a": ["x", "y", "z"], "b": ["p", "q"]})


def log_martingale(theta: np.ndarray, counts: np.ndarray, sums: np.ndarray, variance: float) -> float:
    """The average of the supermartingales at these parameters."""
    rest, found = sums - counts * (DESIGN.features @ theta), []
    for kappa in KAPPAS:
        cost = 0.5 * np.log1p(counts / kappa).sum()
        found.append(0.5 * (rest**2 / (counts + kappa)).sum() / variance - cost)
    return float(np.logaddexp.reduce(found) - math.log(len(KAPPAS)))


def test_it_is_below_the_martingale_of_every_parameter() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        theta, counts = rng.normal(size=4), rng.integers(0, 9, 6).astype(float)
        sums = counts * (DESIGN.features @ theta) + np.sqrt(2.0 * counts) * rng.normal(size=6)
        assert log_evidence(DESIGN.features, 2.0, counts, sums) <= log_martingale(theta, counts, sums, 2.0) + 1e-9


def test_the_martingale_has_mean_one() -> None:
    """One reward, by quadrature: so it does after any number of rewards, of whichever arms."""
    rewards = np.linspace(-12.0, 12.0, 801)
    density = np.exp(-0.5 * rewards**2) / math.sqrt(2 * math.pi)
    counts, theta = np.array([1.0, 0, 0, 0, 0, 0]), np.zeros(4)
    values = [math.exp(log_martingale(theta, counts, np.append(reward, np.zeros(5)), 1.0)) for reward in rewards]
    assert abs(float(np.sum(np.array(values) * density) * (rewards[1] - rewards[0])) - 1.0) < 1e-6


def least_over_parameters(design: fb.Factorial, counts: np.ndarray, sums: np.ndarray, variance: float) -> float:
    """The whole e-value by the definition: likelihood ratios of the means, minimised over θ numerically."""
    seen = counts > 0.0
    rows, means, noise = design.features[seen], sums[seen] / counts[seen], variance * np.diag(1.0 / counts[seen])

    def least(deviations: np.ndarray) -> float:
        """Of the ratio to means that deviate by so much, a covariance."""
        declared, other = multivariate_normal(cov=noise), multivariate_normal(cov=noise + deviations)

        def ratio(theta: np.ndarray) -> float:
            rest = means - rows @ theta
            return float(other.logpdf(rest) - declared.logpdf(rest))

        return float(minimize(ratio, np.zeros(rows.shape[1]), method="BFGS", options={"gtol": 1e-9}).fun)

    general = [least(variance / kappa * np.eye(len(rows))) for kappa in KAPPAS]
    some = []
    for more in design.missing(MAX_COLUMNS):
        inside, beyond = rows @ rows.T / WITHIN, more[seen] @ more[seen].T
        some += [least(variance / (kappa * len(counts)) * (inside + beyond)) for kappa in KAPPAS]
    logarithms = np.logaddexp.reduce(general) - math.log(len(general)), np.logaddexp.reduce(some) - math.log(len(some))
    return float(np.logaddexp(*logarithms) - math.log(2.0))


@pytest.mark.parametrize("unseen", [0, 2])
def test_it_is_the_least_value_over_the_parameters(unseen: int) -> None:
    rng = np.random.default_rng(unseen)
    design = fb.factorial({"a": ["x", "y", "z"], "b": ["p", "q"], "c": ["s", "t"]}, [("a", "b")])
    counts = np.append(np.zeros(unseen), rng.integers(1, 60, 12 - unseen)).astype(float)
    sums = counts * rng.normal(size=12) + np.sqrt(counts) * rng.normal(size=12)
    found = log_evidence(design.features, 2.0, counts, sums, design.missing(MAX_COLUMNS))
    assert abs(found - least_over_parameters(design, counts, sums, 2.0)) < 1e-6


def test_it_is_least_with_a_rank_that_counts_hide() -> None:
    """One reward of some arms and a million of others: no direction of θ is lost, whatever κ is."""
    counts = np.array([1e6, 1e6, 1e6, 1.0, 1.0, 1.0])
    theta = np.array([30.0, 20.0, -40.0, 10.0])
    sums = counts * (DESIGN.features @ theta)
    assert log_evidence(DESIGN.features, 1.0, counts, sums, DESIGN.missing(MAX_COLUMNS)) < 0.0


def alarms(interaction: float, runs: int, trials: int, level: float) -> int:
    """In how many experiments the test ever fires; they often try the combination that looks best."""
    rng, fired, missing = np.random.default_rng(5), 0, DESIGN.missing(MAX_COLUMNS)
    means = DESIGN.features @ np.array([0.3, 0.2, -0.4, 0.1]) + interaction * np.array([1.0, -1, 0, 0, -1, 1])
    for _ in range(runs):
        counts, sums = np.zeros(6), np.zeros(6)
        for trial in range(trials):
            arm = int(np.argmax(sums / np.maximum(counts, 1.0))) if trial % 2 else int(rng.integers(6))
            counts[arm] += 1
            sums[arm] += rng.normal(means[arm])
            look = trial > 6 and trial % 10 == 0
            if look and log_evidence(DESIGN.features, 1.0, counts, sums, missing) >= math.log(1.0 / level):
                fired += 1
                break
    return fired


def test_false_alarms_are_rarer_than_the_level() -> None:
    assert alarms(0.0, runs=100, trials=120, level=0.2) <= 0.2 * 100


def test_an_interaction_is_noticed() -> None:
    assert alarms(1.0, runs=20, trials=400, level=5e-4) >= 18


def test_so_few_arms_fit_perfectly() -> None:
    counts = np.array([5.0, 5, 5, 5, 0, 0])
    assert log_evidence(DESIGN.features, 1.0, counts, np.array([90.0, 1, 1, 1, 0, 0])) == -math.inf


def test_looks_become_rare() -> None:
    assert all(is_time_to_look(rewards) for rewards in range(1, 101))
    assert 50 < sum(is_time_to_look(rewards) for rewards in range(101, 1001)) < 130


def test_a_misfit_beyond_all_numbers_is_evidence() -> None:
    counts, sums = np.full(6, 2.0), np.array([5e80, 0.0, 0.0, 0.0, 0.0, 0.0])
    with np.errstate(over="ignore"):
        assert log_evidence(DESIGN.features, 1e-150, counts, sums) == math.inf
