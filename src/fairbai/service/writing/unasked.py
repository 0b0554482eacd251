"""What the server does unasked must go on, whatever goes wrong once."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import TROUBLE, explained

log = logging.getLogger("fairbai.service")


@contextmanager
def logged(what: str, database: Database) -> Iterator[None]:
    """Log what goes wrong; ``what`` begins the line."""
    try:
        yield
    except Refusal as refusal:
        log.warning("%s: %s", what, refusal.detail)
    except TROUBLE as error:
        log.warning("%s: %s", what, explained(database.url, error))
    except Exception:  # whatever it is, the next time may be fine
        log.exception(what)
