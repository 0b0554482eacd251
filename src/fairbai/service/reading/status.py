"""Where an experiment stands. Everything is read from the database, so only committed data is shown."""

from typing import Any, cast

import numpy as np
from sqlalchemy import Row

from fairbai.identifier import Status
from fairbai.service.domain import status_answers
from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import iso
from fairbai.service.domain.looking import finite, means, progress_of
from fairbai.service.reading import standing
from fairbai.service.reading.listing import state_of
from fairbai.stopping import DesignBased, Mixture
from fairbai.stopping.intervals import intervals

MAX_FACTOR = 20  # of the trials so far: an estimate beyond that only says that it is too early for one


def described(row: Row[Any], book: Book, now: Status, waits: status_answers.Wait | None) -> status_answers.Status:
    """The status of an experiment as clients see it.

    Args:
        row: Its row.
        book: What the row holds.
        now: The status of the book's identifier.
        waits: The ticket that held rewards wait for.
    """
    pending = now.assigned - now.observed - np.array(book.expired) - np.array(book.voided)
    candidates = standing.candidates_of(book, now)
    found: status_answers.Status = {
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
        "waits": waits,
        "voided": sum(one["tickets"] for one in book.voids),
        "voids": cast(list[status_answers.VoidedThen], book.voids),
        "switched_off": [
            cast(status_answers.SwitchedOffThen, {**one, "arm": book.labels[one["arm"]]}) for one in book.off
        ],
        "paused": book.paused,
        "arms": _arms(book, now, pending, candidates),
        "glr": finite(now.glr),
        "threshold": finite(now.threshold),
        "progress": _progress(book, now),
        "proved": now.proved and not book.undecided_for_good,
        "doubts": book.doubts(),
        "sample_ratio": standing.sample_ratio(book),
        "hints": list(now.hints),
        "closed": row.closed,
        "state": state_of(book.decided, book.stopped, row.closed),
        "sentence": standing.standing_sentence(book, now),
        "question": standing.question_sentence(book.identifier.question, book.labels),
        "decided": book.decided,
        "stopped": book.stopped,
        "recommendation": book.recommendation,
        "ended_by": book.ended_by,
        "confidence": standing.confidence_of(book, now),
        "target_confidence": 1.0 - book.config["delta"],
        "candidates": candidates,
        "goal": book.identifier.question.goal,
        "tolerance": book.identifier.question.tolerance,
        "control": book.config.get("control"),
        "max_trials": book.config.get("max_trials"),
        "deadline": book.config.get("deadline"),
        "expected_trials_to_go": _to_go(book, now),
    }
    if book.cycles is not None:
        at = book.decides_at
        found["decides_at"] = None if at is None else iso(at)
        found["enough"] = _enough(book, now)
    if book.marks.any:
        found["units"] = book.marks.count
    if book.drawn:
        found["estimand"] = DesignBased.estimand
    if book.queue.next_at is not None:
        waiting = book.queue.waiting
        found["waiting"] = {
            "policies": len(waiting),
            "trials": book.queue.trials,
            "counted_at": iso(book.queue.next_at),
        }
    if now.effects:
        found["effects"] = _effects(now)
    return found


def _effects(now: Status) -> list[status_answers.Effect]:
    total = max(1, int(now.assigned.sum()))
    return [
        {
            "factor": one.factor,
            "level": one.level,
            "effect": finite(one.effect),
            "interval": [finite(one.low), finite(one.high)],
            "share": one.assigned / total,
            "floor": one.floor,
        }
        for one in now.effects
    ]


def _progress(book: Book, now: Status) -> float | None:
    """Evidence over threshold. After the end there is no way to go, and late rewards must not seem to complete it."""
    if book.undecided_for_good:
        return None
    return 1.0 if book.decided else progress_of(now)


def _enough(book: Book, now: Status) -> bool:
    """Whether the evidence is enough, though it may be too early to decide."""
    reached = now.recommendation is not None and now.glr >= now.threshold and not book.stopped
    return book.decided or (reached and book.identifier.procedure.untested == 0)


def _to_go(book: Book, now: Status) -> float | None:
    if book.stopped:
        return 0.0
    if not book.decided and _enough(book, now):
        return 0.0  # but for those until the end of the cycle
    early = not book.decided and now.expected_remaining > MAX_FACTOR * book.identifier.trials
    return None if early else finite(now.expected_remaining)


def _arms(book: Book, now: Status, pending: Any, candidates: list[str] | None) -> list[status_answers.Arm]:
    averages = book.identifier.averages() if book.drawn else None
    ends, left = _intervals(book, now), None if candidates is None else set(candidates)
    found: list[status_answers.Arm] = [
        {
            "arm": label,
            "assigned": int(now.assigned[arm]),
            "observed": int(now.observed[arm]),
            "pending": int(pending[arm]),
            "mean": mean,
            "interval": [None, None] if ends is None else [finite(ends[arm, 0]), finite(ends[arm, 1])],
            "candidate": None if left is None else label in left,
            "share": float(now.shares[arm]),
            "floor": float(now.floors[arm]),
            "ceiling": float(now.ceilings[arm]),
        }
        for arm, (label, mean) in enumerate(zip(book.labels, means(now), strict=True))
    ]
    if any(book.skipped):
        for one, skipped in zip(found, book.skipped, strict=True):
            one["available"] = book.identifier.trials - skipped
    if averages is not None:
        for number, one in enumerate(found):
            one["average"] = finite(averages.estimates[number])
            one["behind_leader"] = averages.differences[number].tolist()
    return found


def _intervals(book: Book, now: Status) -> Any:
    """An interval for every arm; None if the rewards contradict the declared family.

    A stopping rule that is not proved has none of its own, but those of a mixture hold whatever the rule.
    """
    one = book.identifier
    if now.intervals is not None or now.doubts or book.drawn or not Mixture().proved(one.family):
        return now.intervals
    return intervals(one.family, now.observed.astype(float), np.nan_to_num(now.means), one.delta, Mixture())
