"""What the pages show of one experiment, each from a single reading of its row."""

from typing import Any

from fairbai.charts import live
from fairbai.service.http.report import written
from fairbai.service.reading.audit import audited
from fairbai.service.reading.status import described, opened, points
from fairbai.service.reading.summary import summarised
from fairbai.service.storage.database import Database

POINTS = 300  # of a chart


def figures(database: Database, experiment: str) -> dict[str, Any]:
    """The charts."""
    status = described(*opened(database, experiment))
    return {"version": status["version"], "figures": live.figures(status, points(database, experiment, POINTS))}


def summary(database: Database, experiment: str) -> dict[str, Any]:
    """The sentence."""
    row, book = opened(database, experiment)
    return summarised(described(row, book), book)


def audit(database: Database, experiment: str, replay: dict[str, Any] | None) -> dict[str, Any]:
    """The audit."""
    row, book = opened(database, experiment)
    return audited(described(row, book), book, row.floors_kept, replay)


def report(database: Database, experiment: str, replay: dict[str, Any] | None) -> str:
    """All of it as one file."""
    row, book = opened(database, experiment)
    status = described(row, book)
    charts = {"figures": live.figures(status, points(database, experiment, POINTS))}
    return written(status, summarised(status, book), audited(status, book, row.floors_kept, replay), charts)
