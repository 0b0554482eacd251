"""The units that were assigned last, so that one that a reader has just missed need not be looked for again.

They are kept with the book in memory, and go with it: a book that another process has overtaken is read again. If they
were wrong all the same, because the database went back to an earlier history meanwhile, then the primary key of the
units refuses a second row, and the transaction fails.
"""

from typing import NamedTuple

MOST = 1_000  # units of a generation, of which two are kept


class StoredUnit(NamedTuple):
    """A unit that has its trial, such as a visitor."""

    number: int  # of its ticket
    salt: int  # of its mark in the log


class Newcomers:
    """Units by their hashes, with the version of the book from which on all are known.

    Args:
        since: The version.
    """

    def __init__(self, since: int = 0) -> None:
        self._since, self._older = since, dict[str, StoredUnit]()
        self._middle, self._newer = since, dict[str, StoredUnit]()

    def cover(self, version: int | None) -> bool:
        """Whether every unit that was assigned after this version is known."""
        return version is not None and version >= self._since

    def get(self, unit: str) -> StoredUnit | None:
        """A unit, if it is one of them."""
        return self._newer.get(unit) or self._older.get(unit)

    def add(self, unit: str, stored: StoredUnit, version: int) -> None:
        """A unit that is assigned at this version."""
        if len(self._newer) >= MOST:
            self._since, self._older = self._middle, self._newer
            self._middle, self._newer = version, {}
        self._newer[unit] = stored

    def forget(self, unit: str) -> None:
        """A unit is erased."""
        self._newer.pop(unit, None)
        self._older.pop(unit, None)
