"""What the dashboard shows about one experiment, each from a single reading of its row."""

from fairbai.charts import live
from fairbai.service.domain.audit_answers import Audit, Replayed
from fairbai.service.domain.status_answers import Figures, Summary
from fairbai.service.http.report import written
from fairbai.service.reading.audit import audited
from fairbai.service.reading.history import points
from fairbai.service.reading.reader import Reader
from fairbai.service.reading.summary import summarised

MAX_POINTS = 300  # in a chart


def figures(reader: Reader, experiment: str) -> Figures:
    """The charts."""
    status = reader.read(experiment).status
    history = points(reader.database, experiment, MAX_POINTS)
    return {"version": status["version"], "figures": live.figures(status, history)}


def summary(reader: Reader, experiment: str) -> Summary:
    """The sentence."""
    return summarised(reader.read(experiment))


def audit(reader: Reader, experiment: str, replay: Replayed | None) -> Audit:
    """The audit."""
    return audited(reader.read(experiment), replay)


def report(reader: Reader, experiment: str, replay: Replayed | None) -> str:
    """All of it as one file."""
    reading = reader.read(experiment)
    charts = live.figures(reading.status, points(reader.database, experiment, MAX_POINTS))
    return written(reading.status, summarised(reading), audited(reading, replay), charts)
