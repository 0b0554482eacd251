"""Work for later, done in order by one thread, so that a page need not wait for it."""

import atexit
import logging
import threading
from collections import deque
from collections.abc import Callable

MAX_WAITING = 10_000  # pieces of work; further ones are refused
LAST_SECONDS = 5.0  # for what still waits when the program ends

log = logging.getLogger("fairbai.client")


class Outbox:
    """Does what it is given in a thread that starts with the first piece."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[Callable[[], None]] = deque()
        self._busy = self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, work: Callable[[], None]) -> bool:
        """Do this after all before it; False if it is closed, or too much waits already."""
        with self._changed:
            if self._closed or len(self._waiting) >= MAX_WAITING:
                return False
            self._waiting.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="fairbai-outbox", daemon=True)
                self._thread.start()
                atexit.register(self.close)
            self._changed.notify_all()
            return True

    def flush(self, seconds: float) -> bool:
        """Wait until nothing waits any more; False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._busy, seconds)

    def close(self, seconds: float = LAST_SECONDS) -> None:
        """Take no further work, and give up what is not done in time."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self.flush(seconds)
        atexit.unregister(self.close)
        with self._changed:
            if self._waiting:
                log.warning("%d rewards were not sent", len(self._waiting))
            self._waiting.clear()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if not self._waiting:
                    return
                work, self._busy = self._waiting.popleft(), True
            try:
                work()
            except Exception:
                log.exception("a reward was not sent")
            finally:
                with self._changed:
                    self._busy = False
                    self._changed.notify_all()
