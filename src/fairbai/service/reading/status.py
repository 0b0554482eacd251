"""What can be seen of experiments. All of it is read from the database, so that only what is on disk is shown."""

from typing import Any

import numpy as np
from sqlalchemy import Row, select

from fairbai.identifier import Status
from fairbai.service.domain.book import Book, finite, means, progress_of
from fairbai.service.domain.encoding import decode, iso
from fairbai.service.domain.operations import stopped
from fairbai.service.domain.refusals import no_such_experiment
from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import experiments, history
from fairbai.stopping import Mixture, TwoSidedMixture
from fairbai.stopping.intervals import intervals

FAR = 20  # times the trials so far: an estimate beyond that says only that it is too early for one


def row_of(database: Database, experiment: str) -> Row[Any]:
    """The row of an experiment."""
    with database.reader.connect() as connection:
        row = connection.execute(select(experiments).where(experiments.c.id == experiment)).one_or_none()
    if row is None:
        raise no_such_experiment(experiment)
    return row


def status(database: Database, experiment: str) -> dict[str, Any]:
    """The whole status of an experiment."""
    return described(*opened(database, experiment))


def opened(database: Database, experiment: str) -> tuple[Row[Any], Book]:
    """The row of an experiment, and its book."""
    row = row_of(database, experiment)
    return row, Book.read(row.config, row.state)


def described(row: Row[Any], book: Book) -> dict[str, Any]:
    """The status of an experiment as clients see it."""
    now = book.identifier.status()
    pending = now.assigned - now.observed - np.array(book.expired)
    return {
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
        "arms": _arms(book, now, pending),
        "glr": finite(now.glr),
        "threshold": finite(now.threshold),
        "progress": 1.0 if book.decided else progress_of(now),
        "proved": now.proved,
        "closed": row.closed,
        **book.answer(),
        "expected_trials_to_go": _to_go(book, now),
    }


def _to_go(book: Book, now: Status) -> float | None:
    if book.stopped:
        return 0.0
    early = not book.decided and now.expected_remaining > FAR * book.identifier.trials
    return None if early else finite(now.expected_remaining)


def _arms(book: Book, now: Status, pending: Any) -> list[dict[str, Any]]:
    identifier = book.identifier
    rule = identifier.stopping if isinstance(identifier.stopping, (Mixture, TwoSidedMixture)) else Mixture()
    known = np.nan_to_num(now.means)
    ends = intervals(identifier.family, now.observed.astype(float), known, identifier.delta, rule)
    return [
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


def points(database: Database, experiment: str, most: int) -> dict[str, Any]:
    """The history of an experiment: at most so many points, about evenly spaced in the logarithm of the trials."""
    labels = decode(row_of(database, experiment).config)["arms"]
    statement = select(history).where(history.c.experiment == experiment).order_by(history.c.trials)
    with database.reader.connect() as connection:
        rows = connection.execute(statement).all()
    if len(rows) > most:
        rows = [rows[index] for index in np.linspace(0, len(rows) - 1, most).round().astype(int).tolist()]
    shown = [{"trials": row.trials, "at": iso(row.at), **decode(row.data)} for row in rows]
    return {"arms": labels, "points": shown}


def policy(database: Database, experiment: str, trials: int, seconds: float) -> tuple[str, dict[str, Any]]:
    """The share of every arm in the next trials, for nodes that choose by themselves, and its ETag."""
    row, book = opened(database, experiment)
    if book.stopped:
        raise stopped(book)
    shares = book.identifier.policy(trials).tolist()
    return f'"{row.version}-{trials}"', {
        "version": row.version,
        "trials": trials,
        "seconds": seconds,
        "probabilities": dict(zip(book.labels, shares, strict=True)),
    }
