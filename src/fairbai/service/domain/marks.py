"""How the log knows units: by marks that say nothing about a unit once it is erased.

The mark of a unit is a hash of its stored hash and its ticket, with a random salt that is stored beside the unit. While
the unit is stored, everybody with the database can check that it has the ticket that the log gave it; when it is
erased, the salt goes with it, and nobody can tell whose the mark was. The sum of all marks says the same of all units
at once, whatever their number.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

SIZE = 16  # bytes of a mark
WHOLE = 1 << 8 * SIZE


def mark_of(unit: str, number: int, salt: int) -> str:
    """The mark of a unit, by its hash, the number of its ticket, and its salt."""
    digest = blake2b(f"{number}:{unit}".encode(), key=salt.to_bytes(8), digest_size=SIZE).digest()
    return urlsafe_b64encode(digest)[:22].decode()


@dataclass
class Marks:
    """The marks of the units that are stored.

    Attributes:
        count: How many.
        total: Their sum.
        any: Whether there ever was a unit.
    """

    count: int = 0
    total: int = 0
    any: bool = False

    def add(self, mark: str) -> None:
        """Another unit."""
        self.count, self.any = self.count + 1, True
        self.total = (self.total + _number(mark)) % WHOLE

    def remove(self, others: Self) -> None:
        """Units are erased."""
        self.count -= others.count
        self.total = (self.total - others.total) % WHOLE

    def to_list(self) -> list[int | str]:
        """The JSON form."""
        return [self.count, f"{self.total:032x}"]

    @classmethod
    def read(cls, form: list[int | str] | None) -> Self:
        """Of its JSON form; None if there never was a unit."""
        return cls() if form is None else cls(int(form[0]), int(str(form[1]), 16), True)


def _number(mark: str) -> int:
    return int.from_bytes(urlsafe_b64decode(f"{mark}=="))
