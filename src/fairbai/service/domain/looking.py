"""What is computed now and then, as it takes too long to do at every reward: progress and points of the history."""

import math
from typing import Any

from fairbai.identifier import Identifier, Status

GROWTH = 1.05  # factor between the trials of two points of the history
EVERY = 200  # trials and rewards up to which every one is looked at: what is known changes quickly at first


class Looks:
    """When to look at an experiment, and what was seen last.

    Attributes:
        next_point: Trials at which the history gets its next point.
        progress: Evidence over threshold, as of the last look.
    """

    def __init__(self) -> None:
        self.next_point = 1
        self.progress: float | None = None
        self._confidence: float | None = None
        self._named: Any = None  # the recommendation that this confidence is about
        self._next_look = 0  # trials plus rewards at which the progress is computed again

    def look(self, identifier: Identifier, observed: int) -> Status:
        """Compute the progress, and when to do it again; ``observed`` is the number of rewards so far."""
        status, seen = identifier.status(), identifier.trials + observed
        self._next_look = seen + 1 if seen < EVERY else math.ceil(seen * GROWTH)
        self.progress, self._confidence, self._named = progress_of(status), status.confidence, status.recommendation
        return status

    def confidence(self, identifier: Identifier, observed: int) -> float | None:
        """How sure it was at the last look, or now if another arm is recommended since; None if nothing is proved."""
        if self._named != identifier.recommendation:
            self.look(identifier, observed)
        return self._confidence if identifier.procedure.proved else None

    def due_within(self, trials: int, observed: int, more: int) -> bool:
        """Whether the progress may be computed again within so many trials or rewards more."""
        return trials + more >= self.next_point or trials + observed + more >= self._next_look

    def point(self, identifier: Identifier, observed: int, milestone: bool) -> tuple[int, dict[str, Any]] | None:
        """The trials so far and a point of the history; None unless one is due or this is a milestone."""
        trials = identifier.trials
        due = milestone or trials >= self.next_point
        if not due and trials + observed < self._next_look:
            return None
        status = self.look(identifier, observed)
        if not due:
            return None
        self.next_point = max(trials + 1, math.ceil(trials * GROWTH))
        return trials, {
            "observed": int(status.observed.sum()),
            "shares": status.shares.tolist(),
            "means": means(status),
            "glr": finite(status.glr),
            "threshold": finite(status.threshold),
            "confidence": status.confidence,
            **_averages(identifier),
        }


def _averages(identifier: Identifier) -> dict[str, Any]:
    """The running averages at a point of the history, with their bands, where the stop survives drift."""
    if not identifier.stopping.drift_proof:
        return {}
    found = identifier.averages()
    averages = [finite(estimate) for estimate in found.estimates.tolist()]
    return {"averages": averages, "bands": found.intervals.tolist()}


def progress_of(status: Status) -> float | None:
    """Evidence over threshold, from 0 to 1; None until every arm has a reward."""
    if status.recommendation is None or not math.isfinite(status.glr) or not status.threshold > 0.0:
        return None
    return min(1.0, max(0.0, status.glr / status.threshold))


def means(status: Status) -> list[float | None]:
    """The means, with None for an arm without rewards."""
    return [finite(mean) for mean in status.means.tolist()]


def finite(value: float) -> float | None:
    """The value, or None for infinity and nan, which JSON lacks."""
    return float(value) if math.isfinite(value) else None
