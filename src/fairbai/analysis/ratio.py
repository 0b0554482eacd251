"""The sample ratio of a log: were arms assigned as often as was declared, assumed or logged?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairbai.analysis.columns import Codes
from fairbai.analysis.log import Log, Totals
from fairbai.experiment.sample_ratio import DeclaredShares, DrawnShares, SampleRatio
from fairbai.problems.checks import Array
from fairbai.problems.labels import some

ANY = "any"  # shares that nobody declares, such as those of a rule that adapts

Source = Literal["declared", "assumed", "logged"]


@dataclass(frozen=True, eq=False)
class RatioCheck:
    """What was found about the sample ratio.

    Attributes:
        source: Whether shares were declared, assumed to be equal, or follow from the logged probabilities.
        shares: The declared or assumed share of every arm; None if probabilities were logged.
        ratios: How often every arm was assigned, over how often it should have been.
        log_e_value: The logarithm of the e-value at the end.
        p_value: One that holds at all times.
        found: After how many trials the mismatch was first evident; None if it never was.
        level: The probability of a false alarm, ever.
        path: The logarithm of the e-value at every look.
        assumed: The least probability in the log, if the test had to take it for one that was fixed beforehand.
    """

    source: Source
    shares: Array | None
    ratios: Array
    log_e_value: float
    p_value: float
    found: int | None
    level: float
    path: tuple[float, ...]
    assumed: float | None = None

    @property
    def mismatch(self) -> bool:
        """Whether arms were not assigned as they should have been."""
        return self.found is not None


def declared_shares(shares: Any, labels: Sequence[str | int]) -> Array | None:
    """The share of every arm: as declared, by label or in order, or equal ones; None for shares that are not tested."""
    count = len(labels)
    if isinstance(shares, str) and shares == ANY:
        return None
    if shares is None:
        return np.full(count, 1.0 / count)
    if isinstance(shares, Mapping):
        by_label = {str(label): share for label, share in shares.items()}
        names = [str(label) for label in labels]
        for label in by_label:
            if label not in names:
                raise ValueError(f"shares must be for the arms {some(labels)}, got one for {label!r}")
        for name in names:
            if name not in by_label:
                raise ValueError(f"shares must have one for every arm, got none for {name!r}")
        shares = [by_label[name] for name in names]
    if np.size(shares) != count:
        raise ValueError(f"shares must be one per arm ({count}), or by label, got {np.size(shares)}")
    return DeclaredShares(shares).shares


def check_ratio(
    log: Log | Totals, shares: Array | None, least: Array | None, source: Source, level: float, looks: Sequence[int]
) -> RatioCheck | None:
    """Test the sample ratio: against shares, or else, with ``least``, against the logged probabilities."""
    if least is not None and isinstance(log, Log):
        drawn = DrawnShares(least, level)
        path = _count(drawn, log.arms, log.probabilities, looks)
        return _found(drawn, "logged", None, drawn.ratios, path)
    if shares is None:
        return None
    declared = DeclaredShares(shares, level)
    if isinstance(log, Totals):
        declared.count_totals(log.trials)
        path = (declared.log_evidence,)
    else:
        path = _count(declared, log.arms, None, looks)
    ratios = declared.counts[:-1] / (declared.counts[-1] * declared.shares)
    return _found(declared, source, declared.shares, ratios, path)


def _count(test: SampleRatio, arms: Codes, probabilities: Array | None, looks: Sequence[int]) -> tuple[float, ...]:
    path, start = [], 0
    for end in looks:
        test.count_rows(arms[start:end], None if probabilities is None else probabilities[start:end])
        path.append(test.log_evidence)
        start = end
    return tuple(path)


def _found(
    test: SampleRatio, source: Source, shares: Array | None, ratios: Array, path: tuple[float, ...]
) -> RatioCheck:
    return RatioCheck(source, shares, ratios, path[-1], test.p_value, test.found, test.level, path)
