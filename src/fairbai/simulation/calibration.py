"""How often guesses are right, by the confidence with which they are made."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fairbai.problems.checks import Array, array, whole
from fairbai.simulation.summary import clopper_pearson
from fairbai.simulation.tables import aligned

ROUNDING = 1e-12  # of a confidence


@dataclass(frozen=True)
class Bin:
    """The runs that stated a confidence from ``low`` to ``high``.

    Attributes:
        low: The least confidence of the bin.
        high: The confidence below which they are; the last bin contains its end.
        runs: How many there are.
        stated: The mean of their confidences; nan without runs.
        right: The share of them whose guess was right, with its 95 % interval (Clopper and Pearson) from ``right_low``
            to ``right_high``; nan without runs.
        wrong: Of all runs, the share that stated at least ``low`` and were wrong, with its interval from ``wrong_low``
            to ``wrong_high``. This is what is proved to be at most 1 - ``low``.
    """

    low: float
    high: float
    runs: int
    stated: float
    right: float
    right_low: float
    right_high: float
    wrong: float
    wrong_low: float
    wrong_high: float

    @property
    def overconfident(self) -> bool:
        """Whether the runs show that more than 1 - ``low`` of all runs state at least ``low`` and are wrong."""
        return self.wrong_low > 1.0 - self.low + ROUNDING

    @property
    def below_diagonal(self) -> bool:
        """Whether the runs show that fewer than ``low`` of this bin are right.

        That may happen though nothing is wrong: where two arms are all but equal, half of the runs are wrong, those
        that were unlucky enough to be sure among them. It is rare then that runs are sure.
        """
        return self.right_high < self.low

    def cells(self) -> list[str]:
        """The bin as text."""
        right = "-"
        if self.runs:
            right = f"{self.right:.1%} [{self.right_low:.1%}, {self.right_high:.1%}]"
        return [
            f"{self.low:.0%} to {self.high:.0%}",
            f"{self.runs:,}",
            f"{self.stated:.1%}" if self.runs else "-",
            right,
            f"{self.wrong:.2%} [{self.wrong_low:.2%}, {self.wrong_high:.2%}]",
            f"{1.0 - self.low:.0%}",
            "yes" if self.overconfident else "no",
        ]


HEADER = ["confidence", "runs", "stated", "right [95 %]", "this sure and wrong", "allowed", "overconfident"]


@dataclass(frozen=True)
class Calibration:
    """One row per bin of the stated confidence; prints as a table."""

    rows: tuple[Bin, ...]

    @property
    def overconfident(self) -> bool:
        """Whether any bin is."""
        return any(row.overconfident for row in self.rows)

    def __str__(self) -> str:
        return aligned(HEADER, [row.cells() for row in self.rows])

    def to_dicts(self) -> list[dict[str, Any]]:
        """The bins as dictionaries."""
        return [asdict(row) for row in self.rows]


def calibrate(stated: Array, right: npt.NDArray[np.bool_], bins: int | Sequence[float]) -> Calibration:
    """The table of these confidences, one entry per run."""
    edges = _edges(bins)
    places = np.clip(np.searchsorted(edges, stated + ROUNDING, side="right") - 1, 0, edges.size - 2)
    rows = []
    for place in range(edges.size - 1):
        inside, low, high = places == place, float(edges[place]), float(edges[place + 1])
        count, good = int(inside.sum()), int(right[inside].sum())
        bad = int((~right & (stated >= low - ROUNDING)).sum())
        nothing = (math.nan, math.nan)
        rows.append(
            Bin(
                low,
                high,
                count,
                float(stated[inside].mean()) if count else math.nan,
                good / count if count else math.nan,
                *(clopper_pearson(good, count) if count else nothing),
                bad / stated.size,
                *clopper_pearson(bad, stated.size),
            )
        )
    return Calibration(tuple(rows))


def _edges(bins: int | Sequence[float]) -> Array:
    if isinstance(bins, (int, np.integer)):
        return np.linspace(0.0, 1.0, whole("bins", bins, 1, 1000) + 1)
    edges = array("bins", bins)
    if edges.size < 2 or edges[0] != 0.0 or edges[-1] != 1.0 or (np.diff(edges) <= 0.0).any():
        raise ValueError(f"bins must be a number or edges that rise from 0 to 1, got {bins!r}")
    return edges
