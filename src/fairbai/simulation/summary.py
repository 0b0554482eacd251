"""What many runs say: means with their intervals, errors against delta, and the share of the lower bound."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from fairbai.problems.checks import Array
from fairbai.simulation.tables import aligned

NORMAL = 1.959963984540054  # 97.5 % quantile: all intervals here hold 95 %


@dataclass(frozen=True)
class Row:
    """One rule on one instance at one delta.

    Attributes:
        delta: The probability of a wrong answer that was asked for.
        proved: Whether the stopping rule is proved to keep it; else it is a heuristic.
        runs: How many runs there are.
        stopping_time: Mean trials until the stop, with half the width of its 95 % interval in ``stopping_time_ci95``.
        regret: Mean regret of the trials until the stop, with ``regret_ci95``; nan where means change.
        fair_regret: The same beyond what the best fair policy forgoes.
        error_rate: The share of wrong answers among the runs that gave one, with its 95 % interval (Clopper and
            Pearson) from ``error_low`` to ``error_high``.
        violation: Mean violation of the true floors at the stop, with ``violation_ci95``.
        lower_bound: What every fair rule needs on average.
        efficiency: The lower bound over the mean stopping time; nan where no run gave an answer, because the mean is
            then no more than the rounds that the runs were given.
        censored: Runs that gave no answer within their rounds. They count in the means as they stood when they were
            given up, so that the true mean stopping time is larger.
    """

    delta: float
    proved: bool
    runs: int
    stopping_time: float
    stopping_time_ci95: float
    regret: float
    regret_ci95: float
    fair_regret: float
    error_rate: float
    error_low: float
    error_high: float
    violation: float
    violation_ci95: float
    lower_bound: float
    efficiency: float
    censored: int

    def cells(self) -> list[str]:
        """The row as text."""
        more = "> " if self.censored else ""
        errors = "-"
        if self.censored < self.runs:
            errors = f"{self.error_rate:.3%} [{self.error_low:.3%}, {self.error_high:.3%}]"
        return [
            f"{self.delta:g}",
            f"{self.runs:,}",
            "proved" if self.proved else "heuristic",
            f"{more}{self.stopping_time:,.1f} ± {self.stopping_time_ci95:,.1f}",
            "-" if math.isnan(self.regret) else f"{more}{plus_minus(self.regret, self.regret_ci95)}",
            errors,
            f"{self.violation:.3%} ± {self.violation_ci95:.3%}",
            f"{self.lower_bound:,.1f}",
            self._efficiency(),
            f"{self.censored}",
        ]

    def _efficiency(self) -> str:
        if self.censored == self.runs:
            return "no answers"
        most = "< " if self.censored else ""  # the true mean stopping time is larger
        return f"{most}{self.efficiency:.1%}" if math.isfinite(self.efficiency) else "-"


HEADER = [
    "delta",
    "runs",
    "stop is",
    "stopping time",
    "regret",
    "errors [95 %]",
    "violation",
    "lower bound",
    "efficiency",
    "censored",
]


@dataclass(frozen=True)
class Summary:
    """One row per delta; prints as a table."""

    rows: tuple[Row, ...]

    def __str__(self) -> str:
        return aligned(HEADER, [row.cells() for row in self.rows])

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [asdict(row) for row in self.rows]


def summarise(
    delta: float,
    stopping_time: npt.NDArray[np.int64],
    correct: npt.NDArray[np.bool_],
    violation: Array,
    censored: npt.NDArray[np.bool_],
    lower_bound: float,
    proved: bool,
    regret: tuple[Array, Array] | None = None,
) -> Row:
    """The row of these runs, with one entry per run; ``regret`` is that until the stop, in all and beyond fairness."""
    forgone, beyond = regret or (np.full(1, np.nan), np.full(1, np.nan))
    forgone_mean, forgone_ci95 = mean_and_ci95(forgone)
    time, time_ci95 = mean_and_ci95(stopping_time)
    broken, broken_ci95 = mean_and_ci95(violation)
    answered = int(np.sum(~censored))
    wrong = int(np.sum(~correct & ~censored))
    low, high = clopper_pearson(wrong, answered)
    return Row(
        delta=delta,
        proved=proved,
        runs=len(stopping_time),
        stopping_time=time,
        stopping_time_ci95=time_ci95,
        regret=forgone_mean,
        regret_ci95=forgone_ci95,
        fair_regret=float(beyond.mean()),
        error_rate=wrong / answered if answered else math.nan,
        error_low=low,
        error_high=high,
        violation=broken,
        violation_ci95=broken_ci95,
        lower_bound=lower_bound,
        efficiency=lower_bound / time if answered else math.nan,
        censored=len(stopping_time) - answered,
    )


def clopper_pearson(count: int, total: int) -> tuple[float, float]:
    """The exact 95 % interval of the probability of what happened ``count`` times of ``total``.

    Example:
        >>> low, high = clopper_pearson(1, 20)
        >>> round(low, 4), round(high, 4)
        (0.0013, 0.2487)
    """
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, 0.025))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 0.975))
    return low, high


def mean_and_ci95(values: Sequence[float] | npt.NDArray[Any]) -> tuple[float, float]:
    """The mean, and half the width of its 95 % interval by the normal law; nan where one value says nothing of it.

    Example:
        >>> mean, ci95 = mean_and_ci95([1.0, 2.0, 3.0])
        >>> mean, round(ci95, 3)
        (2.0, 1.132)
    """
    numbers = np.asarray(values, dtype=np.float64)
    width = math.nan if numbers.size < 2 else float(NORMAL * numbers.std(ddof=1) / math.sqrt(numbers.size))
    return float(numbers.mean()), width


def plus_minus(mean: float, ci95: float) -> str:
    """A mean in the unit of the rewards and half the width of its interval, with as many digits as that has.

    Example:
        >>> plus_minus(12345.6, 210.0), plus_minus(98.123, 7.04), plus_minus(0.0123456, 0.0012), plus_minus(0.5, 0.0)
        ('12,346 ± 210', '98.1 ± 7.0', '0.0123 ± 0.0012', '0.5 ± 0')
    """
    if not (ci95 > 0.0 and math.isfinite(ci95)):
        return f"{mean:,.4g} ± {ci95:g}"
    digits = max(0, 1 - math.floor(math.log10(ci95)))
    return f"{mean:,.{digits}f} ± {ci95:,.{digits}f}"
