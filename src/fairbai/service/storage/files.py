"""The SQLite file of a running server: whether it is still the one that was opened."""

import os


class OpenedFile:
    """A SQLite file, and the log beside it, as they were when they were first looked at. Any thread may use it.

    Args:
        path: Of the file.

    Attributes:
        path: Of the file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = _identity(os.stat(path))
        self._log: tuple[int, int] | None = None
        self._size = 0  # bytes; a file of ours never shrinks
        self._shrunk = ""

    def trouble(self) -> str | None:
        """Why the next server would not find what is committed; None if it would."""
        least = self._size  # before the file is looked at: another thread may see it grow meanwhile
        try:
            found, log = os.stat(self.path), _identity(os.stat(f"{self.path}-wal"))
        except OSError as error:
            return f"{error.filename} was deleted while the server was running ({error.strerror})"
        if _identity(found) != self._file:
            return "the file was replaced by another while the server was running"
        self._log = self._log or log
        if log != self._log:
            return f"{self.path}-wal was replaced by another while the server was running"
        if found.st_size < least:
            self._shrunk = f"it had {least:,} bytes, and now {found.st_size:,}"
        self._size = max(least, found.st_size)
        if self._shrunk:  # for good: what is in memory and what is on disk are of two histories
            return f"the file was overwritten while the server was running ({self._shrunk})"
        return None


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
