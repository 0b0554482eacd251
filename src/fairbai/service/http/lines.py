"""The log of a server: one line of ``name=value`` pairs per event, with the time, the level and the request's id."""

import json
import logging
import re
from datetime import UTC, datetime
from typing import Any

from fairbai.service.http.tracing import request_id

PLAIN = re.compile(r"[^\s\"=\\\x00-\x1f\x7f]+")
KEY = re.compile(r"(fb_[0-9A-Za-z]{1,16}_)[\w-]+")
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


def _shown(value: Any) -> str:
    text = PASSWORD.sub(r"\1***@", KEY.sub(r"\1***", str(value)))
    return text if PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def configuration() -> dict[str, Any]:
    """What ``logging.config.dictConfig`` takes: everything goes to the standard error, in one form."""
    ours = {"handlers": ["lines"], "level": "INFO", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": "fairbai.service.http.lines.Lines"}},
        "handlers": {"lines": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "loggers": {"uvicorn": ours, "fairbai": ours},
    }
