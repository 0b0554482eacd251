"""Regret: what trials of other arms than the best forgo, from the trials of every arm and the true gaps.

This is pseudo-regret, Σ N_a Δ_a: expected rewards, so that it has no noise of the rewards themselves.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbai.problems.checks import Array, whole
from fairbai.problems.gaps import gaps_of
from fairbai.simulation.summary import mean_and_ci95, plus_minus
from fairbai.simulation.tables import aligned

if TYPE_CHECKING:
    from fairbai.simulation.runs import Runs


@dataclass(frozen=True, eq=False)
class Regret:
    """What the runs forwent; prints as a table with one row per delta.

    Attributes:
        deltas: Those of the runs.
        horizon: The trials that are counted; None for those until the stop.
        values: One row per run and one column per delta: what trials of other arms than the best forwent.
        fair: The same beyond what the best fair policy forgoes until the stop: other arms at their floors and the rest
            for the best arm (with ceilings or groups, the best policy within them). It is negative for a run that did
            not keep the floors and earned more.
    """

    deltas: tuple[float, ...]
    horizon: int | None
    values: Array
    fair: Array

    @property
    def mean(self) -> Array:
        """The mean over the runs, for each delta."""
        return np.array(self.values.mean(axis=0))

    @property
    def ci95(self) -> Array:
        """Half the width of the 95 % interval of the mean."""
        return np.array([mean_and_ci95(column)[1] for column in self.values.T])

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary per delta."""
        rows = []
        for delta, values, fair in zip(self.deltas, self.values.T, self.fair.T, strict=True):
            mean, ci95 = mean_and_ci95(values)
            beyond, beyond_ci95 = mean_and_ci95(fair)
            rows.append(
                {
                    "delta": delta,
                    "horizon": self.horizon,
                    "regret": mean,
                    "regret_ci95": ci95,
                    "fair_regret": beyond,
                    "fair_regret_ci95": beyond_ci95,
                }
            )
        return rows

    def __str__(self) -> str:
        until = "regret until the stop" if self.horizon is None else f"regret in {self.horizon:,} trials"
        rows = [
            [
                f"{row['delta']:g}",
                plus_minus(row["regret"], row["regret_ci95"]),
                plus_minus(row["fair_regret"], row["fair_regret_ci95"]),
            ]
            for row in self.to_dicts()
        ]
        return aligned(["delta", until, "beyond the best fair policy"], rows)


@dataclass(frozen=True, eq=False)
class RegretPath:
    """How regret grows with the trials: while a run learns, then while its answer is served.

    Attributes:
        deltas: Those of the runs.
        rounds: The trials, rising.
        values: The regret of every run (first axis) for every delta (second axis) after so many trials (third axis).
    """

    deltas: tuple[float, ...]
    rounds: tuple[int, ...]
    values: Array

    @property
    def mean(self) -> Array:
        """The mean over the runs: one row per delta."""
        return np.array(self.values.mean(axis=0))

    @property
    def ci95(self) -> Array:
        """Half the width of the 95 % interval of the mean: one row per delta."""
        rows, columns = self.values.shape[1:]
        flat = [mean_and_ci95(values)[1] for values in self.values.reshape(len(self.values), -1).T]
        return np.array(flat).reshape(rows, columns)


def true_gaps(runs: "Runs") -> Array:
    """The gaps of the arms; an error where there are none to speak of."""
    if not runs.means:
        raise ValueError("these runs were simulated by an earlier version, which kept no means: simulate them again")
    if runs.averages is not None:
        raise ValueError(
            "regret needs means that do not change: with a drift, the best arm may be another one in every trial"
        )
    return gaps_of(np.array(runs.means), runs.question.goal)


def regret_until_stop(runs: "Runs") -> Regret:
    """Of the trials until the stop, those of settling included."""
    values: Array = runs.pulls @ true_gaps(runs)
    return Regret(runs.deltas, None, values, values - runs.fair_gap * runs.stopping_time)


def regret_over(runs: "Runs", horizon: int) -> Regret:
    """Of the first ``horizon`` trials; after the stop they serve the answer."""
    count = whole("horizon", horizon, 1)
    values = _after(runs, true_gaps(runs), count)
    return Regret(runs.deltas, count, values, values - runs.fair_gap * np.minimum(runs.stopping_time, count))


def regret_path(runs: "Runs") -> RegretPath:
    """At all traced rounds."""
    if not runs.trace_rounds:
        raise ValueError("the path of regret needs traced rounds: simulate with trace=True, or a list of rounds")
    gaps = true_gaps(runs)
    values = np.stack([_after(runs, gaps, number) for number in runs.trace_rounds], axis=2)
    return RegretPath(runs.deltas, runs.trace_rounds, values)


def _after(runs: "Runs", gaps: Array, horizon: int) -> Array:
    """The regret of every run and delta after so many trials."""
    stopped, decided = runs.stopping_time, runs.decision_time
    if missing := int(((stopped < horizon) & runs.censored).any(axis=1).sum()):
        raise ValueError(
            f"horizon must be at most the trials of runs without an answer, got {horizon:,}: {missing:,} runs were "
            f"given up before; simulate with maximum_rounds={horizon} or more"
        )
    until: Array = runs.pulls @ gaps
    served = gaps[np.maximum(runs.recommendation, 0)]
    values = until + np.maximum(horizon - stopped, 0) * served
    settling = (decided <= horizon) & (stopped > horizon)  # their trials are counted in proportion
    values = np.where(settling, until * (horizon / np.maximum(stopped, 1)), values)
    learning = decided > horizon
    if learning.any():
        values = np.where(learning, _traced(runs, gaps, horizon)[:, None], values)
    return np.array(values)


def _traced(runs: "Runs", gaps: Array, horizon: int) -> Array:
    """The regret of every run at a traced round; nan for runs that ended before."""
    if horizon not in runs.trace_rounds:
        raise ValueError(
            f"horizon must be a traced round where runs decide later, got {horizon:,}: simulate with "
            f"trace=[{horizon}], or with maximum_rounds={horizon} to end them there"
        )
    found: Array = float(horizon) * (runs.shares[:, runs.trace_rounds.index(horizon)] @ gaps)
    return found
