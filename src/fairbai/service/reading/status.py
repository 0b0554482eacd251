"""Where an experiment stands. Everything is read from the database, so only committed data is shown."""

from typing import Any

import numpy as np
from sqlalchemy import Row

from fairbai.identifier import Status
from fairbai.service.domain import answers
from fairbai.service.domain.book import Book, finite, means, progress_of
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.operations import stopped
from fairbai.stopping import DesignBased, Mixture, TwoSidedMixture
from fairbai.stopping.intervals import intervals

MAX_FACTOR = 20  # of the trials so far: an estimate beyond that only says that it is too early for one


def described(row: Row[Any], book: Book, now: Status) -> answers.Status:
    """The status of an experiment as clients see it.

    Args:
        row: Its row.
        book: What the row holds.
        now: The status of the book's identifier.
    """
    pending = now.assigned - now.observed - np.array(book.expired)
    found: answers.Status = {
        "id": row.id,
        "name": row.name,
        "created_at": iso(row.created_at),
        "version": row.version,
        "config": {name: value for name, value in book.config.items() if name not in ("name", "arms")},
        "trials": book.identifier.trials,
        "observed": int(now.observed.sum()),
        "pending": int(pending.sum()),
        "expired": sum(book.expired),
        "late": book.late,
        "held": book.held,
        "arms": _arms(book, now, pending),
        "glr": finite(now.glr),
        "threshold": finite(now.threshold),
        "progress": _progress(book, now),
        "proved": now.proved and not book.closed_undecided,
        "doubts": book.doubts(),
        "hints": list(now.hints),
        "closed": row.closed,
        "decided": book.decided,
        "stopped": book.stopped,
        "recommendation": book.recommendation,
        "expected_trials_to_go": _to_go(book, now),
    }
    if book.cycles is not None:
        at = book.decides_at
        found["decides_at"] = None if at is None else iso(at)
        found["enough"] = _enough(book, now)
    if book.drawn:
        found["estimand"] = DesignBased.estimand
    return found


def _progress(book: Book, now: Status) -> float | None:
    """Evidence over threshold. After a close there is no way to go, and late rewards must not seem to complete it."""
    if book.closed_undecided:
        return None
    return 1.0 if book.decided else progress_of(now)


def _enough(book: Book, now: Status) -> bool:
    """Whether the evidence is enough, though it may be too early to decide."""
    return book.decided or (now.recommendation is not None and now.glr >= now.threshold and not book.stopped)


def _to_go(book: Book, now: Status) -> float | None:
    if book.stopped:
        return 0.0
    if not book.decided and _enough(book, now):
        return 0.0  # but for those until the end of the cycle
    early = not book.decided and now.expected_remaining > MAX_FACTOR * book.identifier.trials
    return None if early else finite(now.expected_remaining)


def _arms(book: Book, now: Status, pending: Any) -> list[answers.Arm]:
    identifier = book.identifier
    rule = identifier.stopping if isinstance(identifier.stopping, (Mixture, TwoSidedMixture)) else Mixture()
    known = np.nan_to_num(now.means)
    averages = identifier.averages() if book.drawn else None
    if averages is None:
        ends = intervals(identifier.family, now.observed.astype(float), known, identifier.delta, rule)
    else:
        ends = averages.intervals
    found: list[answers.Arm] = [
        {
            "arm": label,
            "assigned": int(now.assigned[arm]),
            "observed": int(now.observed[arm]),
            "pending": int(pending[arm]),
            "mean": mean,
            "interval": [finite(ends[arm, 0]), finite(ends[arm, 1])],
            "share": float(now.shares[arm]),
            "floor": float(now.floors[arm]),
            "ceiling": float(now.ceilings[arm]),
        }
        for arm, (label, mean) in enumerate(zip(book.labels, means(now), strict=True))
    ]
    if averages is not None:
        for number, one in enumerate(found):
            one["average"] = finite(averages.estimates[number])
            one["behind_leader"] = averages.differences[number].tolist()
    return found


def policy(book: Book, trials: int, seconds: float) -> tuple[str, answers.Policy]:
    """The share of every arm in the next trials, for nodes that choose arms themselves, and its ETag."""
    if book.stopped:
        raise stopped(book)
    shares = book.identifier.policy(trials).tolist()
    return f'"{book.version}-{trials}"', {
        "version": book.version,
        "trials": trials,
        "seconds": seconds,
        "probabilities": dict(zip(book.labels, shares, strict=True)),
    }
