"""The SQLite file of a running server: whether it is still the one that was opened."""

import os

from fairbai.service.storage.failures import FileGoneError


class OpenedFile:
    """A SQLite file, and the log beside it, as they were when they were first looked at. Any thread may use it.

    Once something was wrong with them it stays so: meanwhile others may have written into files of the same names, and
    the log in memory and the one on disk may be of two histories.

    Args:
        path: Of the file.

    Attributes:
        path: Of the file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file = _identity(os.stat(path))
        log = f"{path}-wal"
        self._log = _identity(os.stat(log)) if os.path.exists(log) else None  # None: it is never written
        self._size = 0  # bytes; a file of ours never shrinks
        self._trouble = ""

    def check(self) -> None:
        """Raise FileGoneError if the next server would not find what is committed."""
        least = self._size  # before the file is looked at: another thread may see it grow meanwhile
        try:
            found = os.stat(self.path)
            log = None if self._log is None else _identity(os.stat(f"{self.path}-wal"))
        except FileNotFoundError as error:
            self._trouble = self._trouble or f"{error.filename} was deleted"
        except OSError as error:  # such as of a file system that is away for a moment
            raise FileGoneError(f"{error.filename} cannot be found: {error.strerror}") from None
        else:
            self._size = max(least, found.st_size)
            self._trouble = self._trouble or self._changed(found, log, least)
        if self._trouble:
            raise FileGoneError(f"{self._trouble} while the server was running")

    def _changed(self, found: os.stat_result, log: tuple[int, int] | None, least: int) -> str:
        if _identity(found) != self._file:
            return "the file was replaced by another"
        if log != self._log:
            return f"{self.path}-wal was replaced by another"
        if found.st_size < least:
            return f"the file was overwritten (it had {least:,} bytes, and then {found.st_size:,})"
        return ""


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
