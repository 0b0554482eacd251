"""Plausible means: sets of true means that fit a log.

A log gives estimates of the means and their standard errors. With three arms or more, estimates are shrunk towards each
other as far as their spread can be chance (the hierarchical normal model, with a uniform prior on the spread of the
true means): the arm that leads a log is more often than not one that was lucky, and a plan at the raw estimates would
be too short. With two arms nothing is known about the spread of the means but their difference, and nothing is shrunk.

Means are drawn on the scale on which their errors are nearly normal: log odds for 0/1 and bounded rewards, logarithms
for counts and times.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, logit

from fairbai.kernels.families import moved_inside
from fairbai.problems import Bernoulli, Bounded, Exponential, Poisson
from fairbai.problems.checks import Array
from fairbai.problems.families import Family

if TYPE_CHECKING:
    from fairbai.analysis.analysis import Analysis

GRID = 400  # spreads of the true means that are weighed
MIN_SHRUNK = 3  # arms, from which on estimates are shrunk


def plausible_means(found: "Analysis", draws: int, rng: np.random.Generator) -> Array:
    """Means that the log makes plausible, one row per draw."""
    center, error = _estimates(found)
    noise = rng.standard_normal((draws, center.size))
    if center.size < MIN_SHRUNK:
        return _from_scale(found.choice.family, center + error * noise)
    spread = _spreads(center, error, draws, rng)[:, None]  # of the true means, one per draw
    weights = 1.0 / (error**2 + spread**2)
    total = weights.sum(axis=1, keepdims=True)
    common = (weights * center).sum(axis=1, keepdims=True) / total
    common = common + rng.standard_normal((draws, 1)) / np.sqrt(total)
    kept = spread**2 * weights  # how much of an estimate is believed; the rest is the common mean
    return _from_scale(found.choice.family, common + kept * (center - common) + np.sqrt(kept) * error * noise)


def _spreads(center: Array, error: Array, draws: int, rng: np.random.Generator) -> Array:
    """Draws from what the estimates say about the spread of the true means, with a uniform prior."""
    most = 4.0 * float(np.abs(center - center.mean()).max()) + 4.0 * float(error.max())
    grid = np.linspace(0.0, most, GRID)
    weights = 1.0 / (error**2 + grid[:, None] ** 2)
    total = weights.sum(axis=1)
    common = (weights * center).sum(axis=1) / total
    logs = 0.5 * np.log(weights).sum(axis=1) - 0.5 * np.log(total)
    logs -= 0.5 * (weights * (center - common[:, None]) ** 2).sum(axis=1)
    chances = np.exp(logs - logs.max())
    return rng.choice(grid, draws, p=chances / chances.sum())


def _estimates(found: "Analysis") -> tuple[Array, Array]:
    """The estimates and their standard errors, on the scale on which they are drawn."""
    family, counts = found.choice.family, found.arms.trials
    sums = counts * found.arms.means
    if isinstance(family, Bernoulli):
        hits, misses = sums + 0.5, counts - sums + 0.5
        return logit(hits / (hits + misses)), np.sqrt(1.0 / hits + 1.0 / misses)
    if isinstance(family, Poisson):
        return np.log((sums + 0.5) / counts), 1.0 / np.sqrt(sums + 0.5)
    if isinstance(family, Exponential):
        return np.log(found.arms.means), 1.0 / np.sqrt(counts)
    errors = np.sqrt(observed_variances(found) / counts)
    if isinstance(family, Bounded):
        means = inside(found)
        return logit(means), errors / family.width / (means * (1.0 - means))
    return found.arms.means, errors


def _from_scale(family: Family, values: Array) -> Array:
    if isinstance(family, Bernoulli):
        return expit(values)
    if isinstance(family, Poisson | Exponential):
        return np.exp(values)
    return family.in_units(expit(values)) if isinstance(family, Bounded) else values


def inside(found: "Analysis") -> Array:
    """The means as the kernels have them, moved inside the domain of the family."""
    family = found.choice.family
    pairs = zip(family.out_of_units(found.arms.means).tolist(), found.arms.trials.tolist(), strict=True)
    return np.array([moved_inside(family.code, mean, trials) for mean, trials in pairs])


def observed_variances(found: "Analysis") -> Array:
    """The variances of the arms: as observed, or else the largest that there are."""
    observed = found.arms.variances
    if np.isfinite(observed).all() and (observed > 0.0).all():
        return observed
    family = found.choice.family
    return family.variances(found.arms.means) if isinstance(family, Bounded) else family.scales(observed.size)
