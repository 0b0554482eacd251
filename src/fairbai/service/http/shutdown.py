"""An end in bounded time: a server that was told to stop does so, whatever hangs."""

import logging
import os
import threading
import time

from fairbai.service.http.streams import told_to_stop

LIMIT = 25.0  # seconds: requests have 12 of them, and the writer 12
POLL = 0.5  # seconds between two looks

log = logging.getLogger("fairbai.service")


class BoundedShutdown:
    """A thread that ends the process if it is still there long after it was told to stop."""

    def __init__(self) -> None:
        self._stopped = threading.Event()
        threading.Thread(target=self._watch, name="fairbai-shutdown", daemon=True).start()

    def stopped(self) -> None:
        """The application has stopped; if the process was not told to, it may go on without it."""
        self._stopped.set()

    def _watch(self) -> None:
        while not told_to_stop():
            if self._stopped.wait(POLL) and not told_to_stop():
                return
        time.sleep(LIMIT)
        log.error("the server did not stop within %d seconds, and is ended", LIMIT)
        os._exit(1)  # nothing acknowledged is lost: it is on disk
