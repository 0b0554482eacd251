"""Real A/B/n tests: an extract of the Upworthy Research Archive, whose licence is in ``data/NOTICE.md``."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from fairbai.problems import Bernoulli, Instance
from fairbai.problems.checks import Array, frozen
from fairbai.problems.question import Tolerance

SOURCE = (
    "Data: the Upworthy Research Archive (CC BY 4.0), of which this is a random half of the exploratory set: Matias, "
    "Munger, Aubin Le Quere and Ebersole, “The Upworthy Research Archive, a time series of 32,487 experiments in U.S. "
    "media”, Scientific Data 8, 195 (2021), https://doi.org/10.1038/s41597-021-00934-7."
)
NO_CLICKS = 0.5  # what an arm without clicks counts: its true rate is not 0


@dataclass(frozen=True, eq=False)
class RealTest:
    """A test of the archive.

    Attributes:
        name: Its id in the archive.
        week: Year and week in which it began.
        impressions: Of every arm.
        clicks: Of every arm.
    """

    name: str
    week: int
    impressions: Array
    clicks: Array

    @property
    def arms(self) -> int:
        """Their number."""
        return self.clicks.size

    @property
    def traffic(self) -> int:
        """The impressions of all arms together."""
        return int(self.impressions.sum())

    def instance(self, tolerance: Tolerance = None) -> Instance:
        """The test as a question, with the observed rates as the true ones and floors of half an equal share."""
        rates = np.maximum(self.clicks, NO_CLICKS) / self.impressions
        return Instance(rates, Bernoulli(), 0.5 / self.arms, tolerance)


@cache
def archive_tests() -> tuple[RealTest, ...]:
    """All tests, in the order in which the file begins them."""
    text = files("fairbai.reproduction").joinpath("data", "upworthy.csv").read_text(encoding="utf-8")
    arms: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(text.splitlines()):
        arms.setdefault(row["test"], []).append(row)  # some tests are in two places of the file
    return tuple(_test(name, rows) for name, rows in arms.items())


def _test(name: str, arms: Sequence[dict[str, str]]) -> RealTest:
    impressions, clicks = (frozen(np.array([float(arm[key]) for arm in arms])) for key in ("impressions", "clicks"))
    return RealTest(name, int(arms[0]["week"]), impressions, clicks)


@cache
def usual_rate() -> float:
    """The clicks of all tests over their impressions: what the site could have known before every test."""
    tests = archive_tests()
    return float(sum(test.clicks.sum() for test in tests) / sum(test.traffic for test in tests))
