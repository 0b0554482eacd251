"""The replay of one log as lines of JSON: its progress, then what differs.

As a program (``python -m fairbai.service.reading.replay``) it reads the database's URL and the experiment from stdin.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import TypedDict

from sqlalchemy import select

from fairbai.service.domain.audit_answers import Replayed
from fairbai.service.domain.encoding import iso
from fairbai.service.reading.verify import is_earlier, verify_experiment
from fairbai.service.storage.database import Database, open_database
from fairbai.service.storage.schema import experiments

EVERY = 0.5  # seconds between two lines
NICENESS = 10
MAX_DIFFERENCE = 300  # characters: one may hold two whole states


class Progress(TypedDict):
    """How many events are checked."""

    checked: int
    of: int


def replayed(database: Database, experiment: str, say: Callable[[Progress], None] = lambda _: None) -> Replayed:
    """Replay a log; ``say`` is told the progress now and then."""
    began = shown = time.monotonic()
    with database.snapshot() as connection:
        row = connection.execute(select(experiments).where(experiments.c.id == experiment)).one()
        total = row.version

        def progress(checked: int) -> None:
            nonlocal shown
            if time.monotonic() >= shown + EVERY:
                shown = time.monotonic()
                say({"checked": checked, "of": total})

        differences = [shortened(difference) for difference in verify_experiment(connection, experiment, progress)]
    seconds = time.monotonic() - began
    return {
        "checked": total,
        "of": total,
        "differences": differences,
        "earlier": is_earlier(row),
        "seconds": seconds,
        "at": iso(time.time()),
    }


def shortened(difference: str) -> str:
    """The beginning of a difference; ``fairbai verify`` prints it in full."""
    return difference if len(difference) <= MAX_DIFFERENCE else f"{difference[: MAX_DIFFERENCE - 2]} …"


def main() -> None:
    """Replay a log, and print lines of JSON; the last one says that it is done."""
    os.nice(NICENESS)
    url, experiment = json.load(sys.stdin)
    database = open_database(url, create=False)
    found = replayed(database, experiment, lambda progress: print(json.dumps(progress), flush=True))
    database.close()
    print(json.dumps({"done": True, **found}), flush=True)


if __name__ == "__main__":
    main()
