"""A study: a grid of scenarios by name, its results, and the folder that keeps them."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairbai.compiling.cache import CACHE_DIRECTORY
from fairbai.experiment import Settling
from fairbai.experiment.settling import checked_settling, settling_form
from fairbai.simulation.extras import needs
from fairbai.simulation.runs import Runs
from fairbai.simulation.scenario import Scenario
from fairbai.simulation.summary import HEADER, Row
from fairbai.simulation.tables import aligned

if TYPE_CHECKING:
    import pandas as pd

DESCRIPTION = "study.json"
CHUNK_NAME = re.compile(r"runs-(\d+)-(\d+)\.parquet")


@dataclass(frozen=True, order=True)
class Cell:
    """The names of a place in the grid."""

    instance: str
    sampling: str
    stopping: str
    settle: bool | Settling

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return vars(self) | {"settle": settling_form(self.settle)}

    @classmethod
    def from_dict(cls, form: dict[str, Any]) -> "Cell":
        """The cell of a JSON form."""
        return cls(**form | {"settle": checked_settling(form["settle"])})

    @property
    def settled(self) -> str:
        """In a word, for tables."""
        if isinstance(self.settle, Settling):
            return f"margin {self.settle.margin:g}" + ("" if self.settle.learn else ", frozen")
        return "yes" if self.settle else "no"


@dataclass(frozen=True, eq=False)
class Study:
    """The results of a sweep; prints as a table.

    Attributes:
        results: The runs of every cell of the grid.
    """

    results: dict[Cell, Runs]

    def runs(self, instance: str, sampling: str, stopping: str, settle: bool | Settling | None = None) -> Runs:
        """The runs of one cell; without ``settle`` the only ones of these names, or those that did not settle."""
        names = (instance, sampling, stopping)
        alike = [cell for cell in self.results if (cell.instance, cell.sampling, cell.stopping) == names]
        cell = alike[0] if settle is None and len(alike) == 1 else Cell(*names, settle or False)
        if cell not in self.results:
            known = "; ".join(str(other) for other in self.results)
            raise ValueError(f"the study has no {cell}: it has {known}")
        return self.results[cell]

    def rows(self) -> Iterator[tuple[Cell, Row]]:
        """A row for every cell and delta."""
        for cell, runs in self.results.items():
            for row in runs.summary().rows:
                yield cell, row

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [cell.to_dict() | vars(row) for cell, row in self.rows()]

    def to_pandas(self) -> "pd.DataFrame":
        """A frame with one row per cell, run and delta: the names of the cell, and the columns of the runs.

        Cells with fewer arms than others have no pulls of the arms that they lack.
        """
        frames = []
        for cell, runs in self.results.items():
            names = {"instance": cell.instance, "sampling": cell.sampling, "stopping": cell.stopping}
            frames.append(runs.to_pandas().assign(**names, settled=cell.settled))
        frame = needs("pandas").concat(frames, ignore_index=True)
        first = ["instance", "sampling", "stopping", "settled"]
        return frame[[*first, *(name for name in frame.columns if name not in first)]]

    def __str__(self) -> str:
        lines = [[cell.instance, cell.sampling, cell.stopping, cell.settled, *row.cells()] for cell, row in self.rows()]
        return aligned(["instance", "rule", "threshold", "settled", *HEADER], lines, words=4)

    @classmethod
    def open(cls, folder: str | Path, limit: int | None = None) -> "Study":
        """What a folder holds of a study, also of one that is not finished.

        Args:
            folder: The output of ``sweep``.
            limit: With it only the chunks of runs that begin below this number.
        """
        description = read_description(Path(folder))
        if description is None:
            raise ValueError(f"{folder} does not hold a study: there is no {DESCRIPTION} in it")
        found = {}
        for index, names in enumerate(description["cells"]):
            runs = ChunkFolder(Path(folder), index).load(limit)
            if runs is not None:
                found[Cell.from_dict(names)] = runs
        if not found:
            raise ValueError(f"{folder} holds a study that has no runs yet")
        return cls(found)


@dataclass(frozen=True)
class ChunkFolder:
    """The files of one cell: each holds runs from a first to a last number, and is whole if it is there."""

    root: Path
    index: int

    @property
    def path(self) -> Path:
        """The folder."""
        return self.root / f"cell-{self.index:03d}"

    def files(self) -> dict[tuple[int, int], Path]:
        """The files by their first and last run."""
        found = {}
        for path in self.path.glob("runs-*.parquet"):
            if match := CHUNK_NAME.fullmatch(path.name):
                found[int(match[1]), int(match[2])] = path
        return dict(sorted(found.items()))

    def missing(self, runs: int) -> list[tuple[int, int]]:
        """The gaps among the first ``runs`` runs, as (first, count)."""
        gaps, reached = [], 0
        for first, last in self.files():
            if min(first, runs) > reached:
                gaps.append((reached, min(first, runs) - reached))
            reached = max(reached, last + 1)
        return [*gaps, (reached, runs - reached)] if reached < runs else gaps

    def save(self, runs: Runs) -> None:
        """Add a file."""
        self.path.mkdir(parents=True, exist_ok=True)
        runs.save(self.path / f"runs-{runs.number[0]:09d}-{runs.number[-1]:09d}.parquet")

    def load(self, limit: int | None = None) -> Runs | None:
        """All runs, if there are any; with a limit, those of the files that begin below it."""
        files = {span: path for span, path in self.files().items() if limit is None or span[0] < limit}
        for (_, last), (first, _) in itertools.pairwise(files):
            if first <= last:
                raise ValueError(f"{self.path} has run {first} in two files: two commands wrote to it at the same time")
        return Runs.join([Runs.load(path) for path in files.values()]) if files else None


def describe(cells: dict[Cell, Scenario]) -> dict[str, Any]:
    """What the runs of a study depend on, as JSON."""
    return {
        "version": 1,
        "kernels": CACHE_DIRECTORY.name,  # other code gives other runs, in the last digits at least
        "cells": [cell.to_dict() for cell in cells],
        "settings": [_form(one) for one in cells.values()],
    }


def _form(scenario: Scenario) -> dict[str, Any]:
    instance = scenario.instance
    return {
        "means": instance.means.tolist(),
        "family": _or_name(instance.family),
        "rates": _or_name(instance.rates),
        **({} if instance.question.plain else {"question": asdict(instance.question)}),
        "floors": instance.floors.tolist(),
        "sampling": _or_name(scenario.sampling),
        "stopping": _or_name(scenario.stopping),
        "deltas": list(scenario.deltas),
        "seed": scenario.seed,
        "maximum_rounds": scenario.maximum_rounds,
        "histogram": scenario.histogram,
    }


def _or_name(part: Any) -> Any:
    """The JSON form; of something that is Python code only its name, which cannot tell whether the code changed."""
    try:
        return part.to_dict()
    except ValueError:
        return {"kind": part.kind, "function": getattr(part.function, "__name__", "?")}


def read_description(folder: Path) -> dict[str, Any] | None:
    """The description in a folder; None if there is none."""
    try:
        text = (folder / DESCRIPTION).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        found = json.loads(text)
        [Cell.from_dict(names) for names in found["cells"]]
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"{folder / DESCRIPTION} is not the description of a study") from None
    return dict(found)


def claim(folder: Path, description: dict[str, Any]) -> None:
    """Make the folder that of this study; an error if it is that of another."""
    there = read_description(folder)
    if there is None:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{DESCRIPTION}.part"
        part.write_text(json.dumps(description, indent=1), encoding="utf-8")
        part.replace(folder / DESCRIPTION)  # a description that is there is whole
    elif there != json.loads(json.dumps(description)):
        raise ValueError(
            f"output {folder} holds another study, or one of another version of fairbai: give another folder, or "
            "remove this one"
        )
