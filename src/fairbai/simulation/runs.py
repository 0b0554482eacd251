"""The outcome of many runs."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairbai.problems.checks import Array
from fairbai.problems.question import Question
from fairbai.simulation.calibration import Calibration, calibrate
from fairbai.simulation.extras import needs
from fairbai.simulation.regret import Regret, RegretPath, regret_over, regret_path, regret_until_stop
from fairbai.simulation.summary import Summary, summarise

if TYPE_CHECKING:
    import pandas as pd

Integers = npt.NDArray[np.int64]
ROUNDING = 1e-12  # of the average of an arm
GUESSES = ("guess", "confidence", "behind")  # which earlier versions did not keep
ABOUT = ("best_arms", "deltas", "floors", "lower_bounds", "proved", "means", "fair_gap")


@dataclass(frozen=True, eq=False)
class Runs:
    """What ``simulate`` returns: arrays with one row per run and one column per delta.

    Attributes:
        deltas: In the order that they were given.
        best_arms: The right answers: the best arm, all of them if there is a tie, or those that a tolerance allows.
        lower_bounds: What every fair rule needs on average, for each delta.
        proved: Whether an error probability of at most delta is proved for the stopping rule and the family, and for
            means that change if they do.
        number: The number of every run, which is that of its random stream.
        decision_time: Trials until the answer; for a run that gave none, all its rounds.
        stopping_time: Trials until the stop: the same, and those of settling.
        recommendation: The answer; -1 for a run that gave none.
        violation: max (p_a - N_a / t) at the stop, or 0, against the floors at the true means.
        pulls: Trials of every arm at the stop (a third axis).
        histogram: For each delta, over all runs and all rounds until the decision: in how many rounds there was no
            violation, and in how many it was in the n-th of 1,000 equal steps from 0 to 1. Empty unless asked for.
        trace_rounds: The rounds that were traced.
        shares: The share of every arm (last axis) at these rounds (second axis) of every run; nan after its end.
        glr: The generalised likelihood ratio at these rounds, before every arm has a reward 0.
        floors: The floors at the true means; empty where they are not known.
        averages: With a drift, the true average of every arm (a third axis) until the decision; else None.
        question: What the answer must be.
        guess: The answer or, for a run that gave none, the arm that it would have named at its end; -1 if an arm had no
            reward then. None in files of earlier versions.
        confidence: How sure the run was of its guess, at the decision or at its end; nan where nothing is proved. None
            in files of earlier versions.
        means: The true means; empty in files of earlier versions.
        fair_gap: The mean gap per trial of the best policy that keeps all floors and limits; nan where it is not known.
        behind: The most trials by which an arm was behind its floor, or outside another limit, in any round until the
            decision; nan unless there is a histogram.
    """

    deltas: tuple[float, ...]
    best_arms: tuple[int, ...]
    lower_bounds: tuple[float, ...]
    proved: bool
    number: Integers
    decision_time: Integers
    stopping_time: Integers
    recommendation: Integers
    violation: Array
    pulls: Integers
    histogram: Integers
    trace_rounds: tuple[int, ...]
    shares: Array
    glr: Array
    floors: tuple[float, ...] = ()
    averages: Array | None = None
    question: Question = field(default_factory=Question)
    guess: Integers | None = None
    confidence: Array | None = None
    means: tuple[float, ...] = ()
    fair_gap: float = math.nan
    behind: Array | None = None

    def __len__(self) -> int:
        return len(self.decision_time)

    def __repr__(self) -> str:
        return f"Runs({len(self)} runs, deltas={list(self.deltas)}, arms={self.pulls.shape[2]})"

    @property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Whether the answer is a best arm; with a drift, one that was the best on average until the decision."""
        return self._is_best(self.recommendation)

    @property
    def guess_correct(self) -> npt.NDArray[np.bool_]:
        """Whether the guess is a best arm; with a drift, one that was the best on average until the decision or end."""
        return self._is_best(self._known("guess", self.guess))

    def _is_best(self, named: Integers) -> npt.NDArray[np.bool_]:
        """Whether the arms that were named are right; -1 is not."""
        if self.averages is None:
            return np.isin(named, self.best_arms)
        return self.question.right(self.averages, np.maximum(named, 0), ROUNDING) & (named >= 0)

    def _known(self, name: str, kept: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
        if kept is None:
            raise ValueError(f"these runs were simulated by an earlier version, which kept no {name}")
        return kept

    @property
    def censored(self) -> npt.NDArray[np.bool_]:
        """Whether the run was given up without an answer."""
        return self.recommendation < 0

    def summary(self) -> Summary:
        """Mean stopping time, regret, errors, violation and efficiency, one row per delta; prints as a table."""
        correct, censored = self.correct, self.censored
        regret = regret_until_stop(self) if self.means and self.averages is None else None
        return Summary(
            tuple(
                summarise(
                    delta,
                    self.stopping_time[:, column],
                    correct[:, column],
                    self.violation[:, column],
                    censored[:, column],
                    self.lower_bounds[column],
                    self.proved,
                    None if regret is None else (regret.values[:, column], regret.fair[:, column]),
                )
                for column, delta in enumerate(self.deltas)
            )
        )

    def regret(self, horizon: int | None = None) -> Regret:
        """What trials of other arms than the best forwent, from their numbers and the true gaps; prints as a table.

        Args:
            horizon: Count so many trials of every run. After the stop they serve the answer; before it, learning goes
                on, and the horizon must be among the rounds of ``trace`` or be ``maximum_rounds``. By default, the
                trials until the stop are counted, those of settling included.

        Example:
            >>> import fairbai as fb
            >>> instance = fb.Instance([1.0, 0.5, 0.0], floors=0.1)
            >>> runs = fb.simulate(instance, deltas=0.05, runs=100, seed=1, trace=[100, 1000])
            >>> at_stop, later = runs.regret().mean, runs.regret(horizon=1000).mean
            >>> bool(at_stop <= later), runs.regret_path().mean.shape
            (True, (1, 2))
        """
        return regret_until_stop(self) if horizon is None else regret_over(self, horizon)

    def regret_path(self) -> RegretPath:
        """How regret grows, at the rounds of ``trace``; after its stop, a run serves its answer."""
        return regret_path(self)

    def calibration(self, bins: int | Sequence[float] = 10, delta: float | None = None) -> Calibration:
        """How often guesses were right, by the confidence with which they were made; prints as a table.

        Args:
            bins: The number of equal bins from 0 to 1, or their edges, rising.
            delta: Which of the deltas; the smallest by default, at which the fewest runs decided.

        Example:
            >>> import fairbai as fb
            >>> runs = fb.simulate(fb.Instance([0.4, 0.0]), 1e-9, runs=200, seed=1, maximum_rounds=100)
            >>> table = runs.calibration(bins=[0.0, 0.5, 0.9, 1.0])
            >>> [row.runs for row in table.rows], table.overconfident
            ([51, 70, 79], False)
        """
        column = int(np.argmin(self.deltas)) if delta is None else self.deltas.index(delta)
        stated = self._known("confidence", self.confidence)[:, column]
        if np.isnan(stated).any():
            raise ValueError("calibration needs runs whose stopping rule is proved: others state no confidence")
        return calibrate(stated, self.guess_correct[:, column], bins)

    def to_columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of ``to_pandas``, each an array with one entry per run and delta."""
        count, arms = len(self), self.pulls.shape[2]
        columns: dict[str, npt.NDArray[Any]] = {
            "run": np.repeat(self.number, len(self.deltas)),
            "delta": np.tile(np.array(self.deltas), count),
        }
        for name in ("decision_time", "stopping_time", "recommendation", "correct", "violation", "censored"):
            columns[name] = getattr(self, name).ravel()
        columns |= {name: getattr(self, name).ravel() for name in GUESSES if getattr(self, name) is not None}
        columns |= {f"pulls_{arm}": self.pulls[:, :, arm].ravel() for arm in range(arms)}
        if self.averages is not None:
            columns |= {f"average_{arm}": self.averages[:, :, arm].ravel() for arm in range(arms)}
        return columns

    def to_pandas(self) -> "pd.DataFrame":
        """A frame with one row per run and delta."""
        return needs("pandas").DataFrame(self.to_columns())

    def save(self, path: str | Path) -> None:
        """Write the frame as Parquet, with the histogram; ``Runs.load`` reads it back. A trace is not kept."""
        about = {name: getattr(self, name) for name in ABOUT}
        about["histogram"] = self.histogram.tolist()
        about["question"] = asdict(self.question)
        table = needs("pyarrow").table(self.to_columns()).replace_schema_metadata({"fairbai": json.dumps(about)})
        part = Path(f"{path}.part")
        needs("pyarrow.parquet").write_table(table, part)
        part.replace(path)  # a file that is there is whole

    @classmethod
    def load(cls, path: str | Path) -> "Runs":
        """The runs of a file that ``save`` wrote."""
        try:
            table = needs("pyarrow.parquet").read_table(path)
        except needs("pyarrow").ArrowInvalid as error:
            raise ValueError(f"{path} is not a Parquet file: {error}") from None
        if b"fairbai" not in (table.schema.metadata or {}):
            raise ValueError(f"{path} does not hold runs of fairbai")
        about = json.loads(table.schema.metadata[b"fairbai"])
        columns = {name: table.column(name).to_numpy() for name in table.column_names}
        pulls, averages = ([name for name in columns if name.startswith(kind)] for kind in ("pulls_", "average_"))
        square = {name: column.reshape(-1, len(about["deltas"])) for name, column in columns.items()}
        count = len(square["run"])
        return cls(
            deltas=tuple(about["deltas"]),
            best_arms=tuple(about["best_arms"]),
            lower_bounds=tuple(about["lower_bounds"]),
            proved=about["proved"],
            floors=tuple(about.get("floors", ())),
            means=tuple(about.get("means", ())),
            fair_gap=about.get("fair_gap", math.nan),
            question=Question(**about.get("question", {})),
            number=square["run"][:, 0],
            pulls=np.stack([square[name] for name in pulls], axis=2),
            histogram=np.array(about["histogram"], dtype=np.int64).reshape(len(about["deltas"]), -1),
            trace_rounds=(),
            shares=np.zeros((count, 0, len(pulls))),
            glr=np.zeros((count, 0)),
            averages=np.stack([square[name] for name in averages], axis=2) if averages else None,
            guess=square.get("guess"),
            confidence=square.get("confidence"),
            behind=square.get("behind"),
            **{name: square[name] for name in ("decision_time", "stopping_time", "recommendation", "violation")},
        )

    @classmethod
    def join(cls, parts: Sequence["Runs"]) -> "Runs":
        """All runs of the parts, in the order of their numbers."""
        order = np.argsort(np.concatenate([part.number for part in parts]))
        names = ("number", "decision_time", "stopping_time", "recommendation", "violation", "pulls", "shares", "glr")
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])[order] for name in names
        }
        for name in ("averages", *GUESSES):
            kept = [getattr(part, name) for part in parts]
            joined[name] = None if any(one is None for one in kept) else np.concatenate(kept)[order]
        return replace(parts[0], histogram=np.sum([part.histogram for part in parts], axis=0), **joined)
