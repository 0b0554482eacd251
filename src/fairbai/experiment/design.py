"""What the design-based stop needs of an experiment, and what it knows of the averages of the arms."""

import math
from dataclasses import dataclass

import numpy as np

from fairbai.kernels import state as rows
from fairbai.kernels.stopping import design as kernels
from fairbai.problems.checks import Array
from fairbai.problems.families import Family
from fairbai.problems.rates import Constant, Rate
from fairbai.sampling.rule import SamplingRule
from fairbai.stopping import DesignBased

INSTEAD = "use Mixture() if nothing drifts"
SHORT = 1.0 - 1e-9  # a probability that is below its guarantee by rounding only


def checked_guarantees(sampling: SamplingRule, rates: Rate, arms: int) -> Array:
    """The least probability of every arm in any trial; a ValueError says why there is none."""
    if not isinstance(rates, Constant):
        raise ValueError(
            f"stopping rule design_based needs floors that are known beforehand, got {rates.kind} rates: give constant "
            f"ones, such as floors=0.1, or {INSTEAD}"
        )
    floors = rates.floors(np.zeros(arms))
    if (floors <= 0.0).any():
        arm = int(np.argmin(floors))
        raise ValueError(
            f"stopping rule design_based needs a positive floor for every arm, got {floors[arm]:g} for arm {arm}: give "
            f"one, such as floors={_round_floor(arms):g}, or {INSTEAD}"
        )
    least = sampling.guarantees(rates, arms)
    if least is None:
        drawn = 'UniformFair(start="policy") or FairTrackAndStop(tracking="sampled", start="policy")'
        raise ValueError(
            f"stopping rule design_based needs a sampling rule that draws every arm with a known probability, from the "
            f"first trial on, got {sampling!r}: leave it out, use {drawn}, or {INSTEAD}"
        )
    return least


def _round_floor(arms: int) -> float:
    """Half of an equal share, with one digit."""
    return float(f"{0.5 / arms:.1g}")


def prepared(stopping: DesignBased, least: Array, state: Array, scalars: Array) -> tuple[Array, Array]:
    """State and scalars with the rows and the grid of ``kernels.stopping.design``."""
    bets, weights = stopping.grid(least)
    more = np.zeros((kernels.BETS - rows.STATE_ROWS + 4 * bets.size, least.size))
    grid = np.concatenate([bets, np.log(weights), np.log(np.cumsum(weights))])
    larger, longer = np.concatenate([state, more]), np.concatenate([scalars, [0.0, 0.5, 1.0], grid])
    most = least * np.minimum(1.0, state[rows.STRETCH]) * kernels.EDGE  # as a rival, an arm is bet on 1 / stretch times
    larger[kernels.REACH] = (bets[:, None] <= most * (1.0 + 1e-12)).sum(axis=0)
    larger[kernels.BETS + 2 * bets.size :] = 1.0
    return larger, longer


@dataclass(frozen=True, eq=False)
class Averages:
    """What is known of the average of every arm over the trials so far, whatever the drift.

    With probability at least 1 - delta all intervals for the arms contain the true averages, at all times at once. With
    probability at least ``together`` all those for the differences do, and the answer of the experiment is right: that
    is 1 - delta, or 1 - 2 delta with a tolerance in percent, whose differences follow from the intervals for the arms.

    Attributes:
        trials: How many trials are counted; others wait for their own reward or that of an earlier trial.
        estimates: The estimate of the average of every arm, without bias. It may lie outside the interval of possible
            rewards early on.
        intervals: An interval for the average of every arm, one row per arm.
        leader: The arm with the largest estimate.
        differences: An interval for the average of the leader less that of every arm, one row per arm; 0 for itself.
        together: The probability, at least, with which all of these and the answer are right.
        confidence: How sure it is that the leader is the best on average so far: 1 - K (K - 1) exp(-score), or 0. It
            holds whenever one decides to look, and may fall again.
    """

    trials: int
    estimates: Array
    intervals: Array
    leader: int
    differences: Array
    together: float
    confidence: float


def averages(state: Array, scalars: Array, family: Family, delta: float, control: int = -1) -> Averages:
    """The averages of an experiment with the design-based stop, whose control is this arm (-1 for none)."""
    arms, trials = state.shape[1], float(scalars[kernels.COUNTED])
    best = int(kernels.leader(state))
    pair, differences = math.log(arms * (arms - 1.0) / delta), np.zeros((arms, 2))
    intervals = average_intervals(state, scalars, family, delta)
    width = float(family.in_units(1.0) - family.in_units(0.0))
    percent = (state[rows.STRETCH] != 1.0).any()  # of a tolerance: bets on pairs are then not on their difference
    for arm in range(arms):
        if arm != best and not percent:
            low = kernels.lower_end(state, scalars, best, arm, pair)
            high = -kernels.lower_end(state, scalars, arm, best, pair)
            differences[arm] = sorted((low * width, high * width))
        elif arm != best:
            differences[arm] = intervals[best] - intervals[arm, ::-1]
    estimates = np.array([kernels.estimated(state, arm) for arm in range(arms)]) / max(1.0, trials)
    score = float(kernels.design_evidence(control, state, scalars, -math.inf)[0])
    return Averages(
        trials=int(trials),
        estimates=family.in_units(estimates) if trials > 0.0 else np.full(arms, math.nan),
        intervals=intervals,
        leader=best,
        differences=differences,
        together=1.0 - (2.0 if percent else 1.0) * delta,
        confidence=1.0 - DesignBased().risk(score, arms),
    )


def average_intervals(state: Array, scalars: Array, family: Family, delta: float) -> Array:
    """An interval for the average of every arm so far, one row per arm."""
    arms = state.shape[1]
    ends, level = np.empty((arms, 2)), math.log(2.0 * arms / delta)
    for arm in range(arms):
        ends[arm, 0] = kernels.lower_end(state, scalars, arm, -1, level)
        ends[arm, 1] = -kernels.lower_end(state, scalars, -1, arm, level)
    found: Array = np.sort(family.in_units(ends), axis=1)
    return found
