"""The log of a server: one line of ``name=value`` pairs per event, with the time, the level and the request's id."""

import json
import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from fairbai.service.http.tracing import request_id

PLAIN = re.compile(r"[^\s\"=\\]+")
KEY = re.compile(r"(fb_[0-9A-Za-z]{1,16}_)[\w-]+")
MAX_WARNINGS, PERIOD = 5, 1.0  # of the same text, and the seconds in which they may be written
MAX_TEXTS = 1000  # whose warnings are counted
PASSWORD = re.compile(r"(://[^\s:/@]*:)[^\s@]+@")


class Lines(logging.Formatter):
    """Formats an event as one line; secrets that got into its text are left out."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        fields: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "request": request_id.get() or "-",
            "message": record.getMessage().strip(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return " ".join(f"{name}={_shown(value)}" for name, value in fields.items())


class RepeatLimit(logging.Filter):
    """Lets a few warnings of the same text through per second, as any client can cause some of them.

    The next one that passes says how many were left out. Threads do not wait for each other here: a few more may pass.

    Args:
        clock: Seconds that never run backwards.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[float, int, int]] = {}  # since when, how many passed, and did not

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether an event is written."""
        if record.levelno != logging.WARNING:
            return True
        text, now = (record.name, record.getMessage()), self._clock()
        since, passed, left_out = self._known.get(text, (now, 0, 0))
        if now - since >= PERIOD:
            since, passed = now, 0
        passes = passed < MAX_WARNINGS
        if passes and left_out:
            record.fields = {**getattr(record, "fields", {}), "left_out": left_out}
        if len(self._known) >= MAX_TEXTS:
            self._known.clear()
        self._known[text] = (since, passed + 1, 0) if passes else (since, passed, left_out + 1)
        return passes


def _shown(value: Any) -> str:
    text = PASSWORD.sub(r"\1***@", KEY.sub(r"\1***", str(value)))
    readable = text.isprintable()  # what is not might end a line, or be a command to a terminal
    if readable and PLAIN.fullmatch(text):
        return text
    return json.dumps(text, ensure_ascii=not readable).replace("\x7f", "\\u007f")


def configuration() -> dict[str, Any]:
    """What ``logging.config.dictConfig`` takes: everything goes to the standard error, in one form."""
    ours = {"handlers": ["lines"], "level": "INFO", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "fairbai.service.http.lines.Lines"}},
        "filters": {"repeats": {"()": "fairbai.service.http.lines.RepeatLimit"}},
        "handlers": {
            "lines": {
                "class": "logging.StreamHandler",
                "formatter": "lines",
                "filters": ["repeats"],
                "stream": "ext://sys.stderr",
            }
        },
        "loggers": {"uvicorn": ours, "fairbai": ours},
    }
