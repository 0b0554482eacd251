"""The reward family of a log: declared, or guessed from its rewards, which is then said."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbai.analysis.log import Log, Totals
from fairbai.kernels.doubts import MIN_ZEROS
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.problems import Bernoulli, Bounded, Gaussian, Poisson
from fairbai.problems.checks import Array
from fairbai.problems.families import Family
from fairbai.problems.short_forms import FamilyForm, family_of

FITS = 0.2  # by how much the variance of counts may be off from their mean, beside chance
CHANCE = 3.0  # standard errors
MAX_CHANCE = 5.0  # standard errors, where a proof is at stake
SKEWED = 0.5  # a skewness that is not that of normal rewards
OBSERVED = "so what follows is observed, not proved"


@dataclass(frozen=True, eq=False)
class Moments:
    """Number, mean and squared distances from it of the rewards of every arm.

    Attributes:
        counts: The rewards of every arm.
        means: Their mean; 0 for an arm without any.
        squares: The sum of the squared distances from the mean; None if only sums are known.
        binary: Whether all rewards are 0 or 1, as far as one can tell.
        whole: Whether all of them are whole numbers from 0.
        zeros: The largest share that zeros have among the rewards of an arm; 0 if only sums are known.
        skewness: The largest skewness of the rewards of an arm, on either side, beyond what chance gives normal
            rewards; 0 if only sums are known.
    """

    counts: Array
    means: Array
    squares: Array | None
    binary: bool
    whole: bool
    zeros: float = 0.0
    skewness: float = 0.0

    @property
    def variance(self) -> float:
        """The variance within the arms; nan if it is not known."""
        if self.squares is None:
            return math.nan
        return float(self.squares.sum() / max(1.0, self.counts.sum() - (self.counts > 0.0).sum()))

    @property
    def variances(self) -> Array:
        """The variance of the rewards of every arm; that within all arms where an arm has too few."""
        if self.squares is None:
            return np.full(self.counts.size, math.nan)
        own = self.squares / np.maximum(1.0, self.counts - 1.0)
        return np.where((self.counts > 1.0) & (own > 0.0), own, self.variance)


@dataclass(frozen=True)
class Choice:
    """A family, and why it is this one.

    Attributes:
        family: The family.
        guessed: Whether it was guessed from the rewards.
        reason: Why, as the end of a sentence.
        proved: Whether the stopping rule is proved with it; if not, what is said of it is only observed.
    """

    family: Family
    guessed: bool
    reason: str
    proved: bool = True


def moments(log: Log | Totals) -> Moments:
    """The moments of a log."""
    arms = len(log.labels)
    if isinstance(log, Totals):
        return _of_totals(log)
    counts = np.bincount(log.arms, minlength=arms).astype(np.float64)
    means = np.bincount(log.arms, log.rewards, arms) / np.maximum(1.0, counts)
    with np.errstate(over="ignore"):  # rewards that are too large are refused later, with their place
        squares: Array = np.bincount(log.arms, (log.rewards - means[log.arms]) ** 2, arms).astype(np.float64)
    binary = bool(((log.rewards == 0.0) | (log.rewards == 1.0)).all())
    whole = bool(((log.rewards >= 0.0) & (log.rewards == np.floor(log.rewards))).all())
    zeros = float((np.bincount(log.arms, log.rewards == 0.0, arms) / np.maximum(1.0, counts)).max())
    return Moments(counts, means, squares, binary, whole, zeros, _skewness(log, counts, means, squares))


def _skewness(log: Log, counts: Array, means: Array, squares: Array) -> float:
    """How skewed the rewards of an arm are, less ``MAX_CHANCE`` standard errors of the skewness of normal rewards."""
    several = squares > 0.0
    spread = np.sqrt(np.where(several, squares, 1.0) / np.maximum(1.0, counts))
    cubes = np.bincount(log.arms, ((log.rewards - means[log.arms]) / spread[log.arms]) ** 3, counts.size)
    beyond = np.abs(cubes) / np.maximum(1.0, counts) - MAX_CHANCE * np.sqrt(6.0 / np.maximum(1.0, counts))
    return float(max(0.0, *np.where(several, beyond, 0.0)))


def _of_totals(totals: Totals) -> Moments:
    counts, sums, raw = totals.trials, totals.sums, totals.squares
    means = sums / np.maximum(1.0, counts)
    whole = bool(((sums >= 0.0) & (sums == np.floor(sums))).all())
    binary = whole and bool((sums <= counts).all()) and (raw is None or bool((raw == sums).all()))
    if raw is None:
        return Moments(counts, means, None, binary, whole)
    squares = raw - counts * means**2
    if (squares < -1e-9 * np.maximum(1.0, raw)).any():
        arm = int(np.argmin(squares))
        least = counts[arm] * means[arm] ** 2
        label = totals.labels[arm]
        raise ValueError(f"squares must be at least sum**2 / trials, {least:g} for {label!r}, got {raw[arm]:g}")
    whole = whole and bool((raw == np.floor(raw)).all())
    return Moments(counts, means, np.maximum(0.0, squares), binary, whole)


def chosen(found: Moments, family: FamilyForm, low: Any = None, high: Any = None) -> Choice:
    """The family that is declared, or else guessed; ``low`` and ``high`` declare bounded rewards."""
    if low is not None or high is not None:
        if family is not None and family != "bounded":
            raise ValueError(f"low and high are for bounded rewards, got family {family!r} beside them")
        if low is None or high is None:
            raise ValueError("low and high must be given together: the least and the largest possible reward")
        return Choice(Bounded(low, high), False, "as declared")
    if family is None:
        return guess(found)
    nobody_knows = family in ("gaussian", {"kind": "gaussian"})
    declared = Gaussian(variance=None) if nobody_knows else family_of(family)
    if declared.code == GAUSSIAN_UNKNOWN:
        return unknown_variance(found, False, "as declared, without a variance", declared)
    return Choice(declared, False, "as declared")


def guess(found: Moments) -> Choice:
    """The family that the rewards look like."""
    if found.squares is None:
        clicks = ", such as 'bernoulli' if every reward is 0 or 1" if found.binary else ""
        raise ValueError(
            "family must be given if only trials and sums are known: they do not show what a reward is; "
            f"name the column of the sums of squares, declare low and high, or a family{clicks}"
        )
    if found.binary:
        return Choice(Bernoulli(), True, "because all rewards are 0 or 1")
    if not found.variance > 0.0:
        raise ValueError(f"rewards must differ: all those of an arm are the same, such as {found.means[0]:g}")
    if not found.whole:
        return unknown_variance(found, True, "because some rewards are neither 0 nor 1 nor counts")
    ratio = found.variance / float((found.counts * found.means).sum() / found.counts.sum())
    chance = CHANCE * math.sqrt(2.0 / found.counts.sum())
    counts = "because all rewards are whole numbers from 0, with a variance of"
    if abs(ratio - 1.0) <= FITS + chance:
        reason = f"{counts} {ratio:.2f} times their mean, as counts have; that they are Poisson is only assumed"
        return Choice(Poisson(), True, f"{reason}, {OBSERVED}", proved=False)
    return unknown_variance(found, True, f"{counts} {ratio:.3g} times their mean, unlike Poisson counts")


def unknown_variance(found: Moments, guessed: bool, reason: str, family: Family | None = None) -> Choice:
    """Gaussian rewards of unknown variances: proved if somebody says that they are normal, and they look like it."""
    family = Gaussian(variance=None) if family is None else family
    if found.squares is None:
        raise ValueError("squares must be given if the variances are unknown: name the column of the sums of squares")
    if not found.variance > 0.0:
        raise ValueError("variance must be given if all rewards of every arm are equal")
    if found.zeros >= MIN_ZEROS:
        reason = f"{reason}; up to {100 * found.zeros:.0f} % in an arm are 0, unlike normal rewards, {OBSERVED}"
    elif found.skewness > SKEWED:
        reason = f"{reason}; those of an arm are skewed, unlike normal rewards, {OBSERVED}"
    elif guessed:
        reason = f"{reason}; that they are normal is only assumed, {OBSERVED}"
    else:
        return Choice(family, guessed, reason)
    return Choice(family, guessed, reason, proved=False)
