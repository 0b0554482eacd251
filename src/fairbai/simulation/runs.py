"""The outcome of many runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fairbai.problems.checks import Array
from fairbai.simulation.extras import needs
from fairbai.simulation.summary import Summary, summarise

if TYPE_CHECKING:
    import pandas as pd

Integers = npt.NDArray[np.int64]
ROUNDING = 1e-12  # of the average of an arm


@dataclass(frozen=True, eq=False)
class Runs:
    """What ``simulate`` returns: arrays with one row per run and one column per delta.

    Attributes:
        deltas: In the order that they were given.
        best_arms: The true one, or all of them if there is a tie.
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

    def __len__(self) -> int:
        return len(self.decision_time)

    def __repr__(self) -> str:
        return f"Runs({len(self)} runs, deltas={list(self.deltas)}, arms={self.pulls.shape[2]})"

    @property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Whether the answer is a best arm; with a drift, one that was the best on average until the decision."""
        if self.averages is None:
            return np.isin(self.recommendation, self.best_arms)
        named = np.take_along_axis(self.averages, np.maximum(self.recommendation, 0)[..., None], axis=2)[..., 0]
        right: npt.NDArray[np.bool_] = named >= self.averages.max(axis=2) - ROUNDING
        return right & ~self.censored

    @property
    def censored(self) -> npt.NDArray[np.bool_]:
        """Whether the run was given up without an answer."""
        return self.recommendation < 0

    def summary(self) -> Summary:
        """Mean stopping time, errors, violation and share of the lower bound, one row per delta; prints as a table."""
        correct, censored = self.correct, self.censored
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
                )
                for column, delta in enumerate(self.deltas)
            )
        )

    def to_columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns of ``to_pandas``, each an array with one entry per run and delta."""
        count, arms = len(self), self.pulls.shape[2]
        columns: dict[str, npt.NDArray[Any]] = {
            "run": np.repeat(self.number, len(self.deltas)),
            "delta": np.tile(np.array(self.deltas), count),
        }
        for name in ("decision_time", "stopping_time", "recommendation", "correct", "violation", "censored"):
            columns[name] = getattr(self, name).ravel()
        columns |= {f"pulls_{arm}": self.pulls[:, :, arm].ravel() for arm in range(arms)}
        if self.averages is not None:
            columns |= {f"average_{arm}": self.averages[:, :, arm].ravel() for arm in range(arms)}
        return columns

    def to_pandas(self) -> "pd.DataFrame":
        """A frame with one row per run and delta."""
        return needs("pandas").DataFrame(self.to_columns())

    def save(self, path: str | Path) -> None:
        """Write the frame as Parquet, with the histogram; ``Runs.load`` reads it back. A trace is not kept."""
        about = {name: getattr(self, name) for name in ("best_arms", "deltas", "floors", "lower_bounds", "proved")}
        about["histogram"] = self.histogram.tolist()
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
            number=square["run"][:, 0],
            pulls=np.stack([square[name] for name in pulls], axis=2),
            histogram=np.array(about["histogram"], dtype=np.int64).reshape(len(about["deltas"]), -1),
            trace_rounds=(),
            shares=np.zeros((count, 0, len(pulls))),
            glr=np.zeros((count, 0)),
            averages=np.stack([square[name] for name in averages], axis=2) if averages else None,
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
        if parts[0].averages is not None:
            joined["averages"] = np.concatenate([part.averages for part in parts if part.averages is not None])[order]
        return replace(parts[0], histogram=np.sum([part.histogram for part in parts], axis=0), **joined)
