"""Intervals for the means: closed forms, edges of the domains, and how often they all hold at all times."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems.families import Family
from fairbai.stopping.intervals import intervals
from tests.cases import proved_families

FAMILIES = proved_families(2.0)
GRID = 20_000
by_kind = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)


@by_kind
def test_ends_are_where_the_mixture_says(family: Family) -> None:
    """The mixtures are integrated here by brute force over their priors."""
    count, mean, delta = 50.0, 0.4, 0.1
    ((low, high),) = intervals(family, np.array([count]), np.array([mean]), delta)
    for end in (low, high):
        assert log_mixture_ratio(family, count, mean, end) == pytest.approx(math.log(1 / delta), rel=2e-3)
    assert low < mean < high


def log_mixture_ratio(family: Family, count: float, mean: float, true: float) -> float:
    """The logarithm of the mixture of likelihoods over the likelihood at the mean ``true``."""
    if family.kind == "gaussian":
        return _log_gaussian(count, mean, true)
    if family.kind in ("bernoulli", "bounded"):
        angles = (np.arange(GRID) + 0.5) / GRID * math.pi / 2
        means, weights = np.sin(angles) ** 2, np.full(GRID, 1.0 / GRID)  # Beta(1/2, 1/2)
    else:
        means, weights = _scales(family)
    own = np.array([family.divergence(mean, float(value)) for value in means])
    return count * family.divergence(mean, true) + math.log(float(np.exp(-count * own) @ weights))


def _log_gaussian(count: float, mean: float, true: float) -> float:
    offsets = np.linspace(-20, 20, 400_001)
    prior = np.exp(-0.5 * offsets**2 * 5.0 / 2.0)
    gap = mean - true
    return float(np.log(np.sum(prior * np.exp(count * (offsets * gap - 0.5 * offsets**2) / 2.0)) / prior.sum()))


def _scales(family: Family) -> tuple[np.ndarray, np.ndarray]:
    """The means of the prior of many scales, on a grid of their logarithms."""
    means = np.exp(np.linspace(math.log(1e-6), math.log(1e4), GRID))
    weights = np.zeros_like(means)
    for j in range(-25, 26):
        size, share = 4.0**j, 2.0 / (3.0 * (abs(j) + 1) * (abs(j) + 2))
        if family.kind == "poisson":  # Gamma(1/2, 1/(2 size)) on the mean; its density times the mean, for the grid
            rate = 0.5 / size
            density = np.sqrt(rate * means / math.pi) * np.exp(-rate * means)
        else:  # Gamma(1, size) on 1 / mean
            density = size / means * np.exp(-size / means)
        weights += share * density
    return means, weights * math.log(means[1] / means[0])


@by_kind
def test_intervals_shrink_with_trials_and_grow_with_confidence(family: Family) -> None:
    means = np.array([0.3, 0.6])
    widths = [np.diff(intervals(family, np.full(2, count), means, 0.1)) for count in (10.0, 100.0, 1e4, 1e8)]
    assert all((after < before).all() for before, after in pairwise(widths))
    assert (np.diff(intervals(family, np.full(2, 100.0), means, 0.01)) > widths[1]).all()


def test_edges_of_the_domains() -> None:
    counts = np.array([5.0, 5.0, 0.0])
    bernoulli = intervals(fb.Bernoulli(), counts, np.array([0.0, 1.0, 0.0]), 0.1)
    assert bernoulli[0, 0] == 0.0 < bernoulli[0, 1] < 1.0
    assert 0.0 < bernoulli[1, 0] < bernoulli[1, 1] == 1.0
    assert bernoulli[2].tolist() == [0.0, 1.0]
    poisson = intervals(fb.Poisson(), counts, np.array([0.0, 3.0, 0.0]), 0.1)
    assert poisson[0, 0] == 0.0 < poisson[0, 1] < 10.0
    assert poisson[2].tolist() == [0.0, math.inf]
    assert intervals(fb.Gaussian(), counts, np.zeros(3), 0.1)[2].tolist() == [-math.inf, math.inf]


@by_kind
def test_ends_are_found_to_the_last_digits(family: Family) -> None:
    """Both ends of an interval are as far from the mean, by the divergence."""
    mean = 0.4
    for count in (3.0, 1e3, 1e9):
        (low, high), _ = intervals(family, np.array([count, 0.0]), np.array([mean, 0.0]), 0.1)
        assert family.divergence(mean, low) == pytest.approx(family.divergence(mean, high), rel=1e-6)


@by_kind
def test_all_hold_at_all_times_often_enough(family: Family) -> None:
    """200 runs at delta = 0.3: at most 30 % may fail at any time; three standard errors are 10 %."""
    rng, delta, true = np.random.default_rng(5), 0.3, np.array([0.3, 0.6])
    looks = np.unique(np.geomspace(1, 300, 15).astype(int))
    failed = 0
    for _ in range(200):
        sums = np.cumsum(family.sample(true, rng, 300), axis=0)
        for n in looks:
            ends = intervals(family, np.full(2, float(n)), sums[n - 1] / n, delta)
            if ((ends[:, 0] > true) | (ends[:, 1] < true)).any():
                failed += 1
                break
    assert failed / 200 < delta + 0.1
