"""The history of an experiment."""

import numpy as np
from sqlalchemy import select

from fairbai.service.domain import status_answers
from fairbai.service.domain.encoding import decode, iso
from fairbai.service.reading.reader import row_of
from fairbai.service.storage.database import Database
from fairbai.service.storage.schema import history


def points(database: Database, experiment: str, most: int) -> status_answers.History:
    """At most this many points, about evenly spaced in the logarithm of the trials."""
    labels: list[str] = decode(row_of(database, experiment).config)["arms"]
    statement = select(history).where(history.c.experiment == experiment).order_by(history.c.trials)
    with database.reader.connect() as connection:
        rows = connection.execute(statement).all()
    if len(rows) > most:
        rows = [rows[index] for index in np.linspace(0, len(rows) - 1, most).round().astype(int).tolist()]
    found = [status_answers.Point(trials=row.trials, at=iso(row.at), **decode(row.data)) for row in rows]  # type: ignore[typeddict-item]
    return {"arms": labels, "points": found}
