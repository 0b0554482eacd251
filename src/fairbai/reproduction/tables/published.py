"""The numbers that the paper prints.

``published_tables.csv`` has one row per cell of the two results tables of Russo and Vannella, "Fair Best Arm
Identification with Fixed Confidence": means of 100 runs, each with half the width of its 95 % interval.
"""

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class PublishedCell:
    """One number of the paper's results tables.

    Attributes:
        table: "synthetic" or "scheduling", as in ``PaperScenario``.
        delta: The probability of a wrong answer.
        algorithm: "F-TaS", "TaS" or "Uniform Fair".
        constraints: "prespecified" or "theta_dependent".
        setting: "agonistic" or "antagonistic", the paper's word for ``PaperScenario.side``.
        quantity: "sample_complexity", in trials, or "violation_percent", at the stop.
        mean: The mean of the runs.
        ci95: Half the width of its 95 % interval.
    """

    table: str
    delta: float
    algorithm: str
    constraints: str
    setting: str
    quantity: str
    mean: float
    ci95: float


@cache
def _read() -> tuple[PublishedCell, ...]:
    text = resources.files("fairbai.reproduction.tables").joinpath("published_tables.csv").read_text(encoding="utf-8")
    return tuple(
        PublishedCell(
            table=row["table"],
            delta=float(row["delta"]),
            algorithm=row["algorithm"],
            constraints=row["constraints"],
            setting=row["setting"],
            quantity=row["quantity"],
            mean=float(row["mean"]),
            ci95=float(row["ci95"]),
        )
        for row in csv.DictReader(text.splitlines())
    )


def published() -> list[PublishedCell]:
    """All 144 cells of both tables."""
    return list(_read())
