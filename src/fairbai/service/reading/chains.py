"""Following the hashes of a log, and comparing them with heads that somebody has kept."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

from sqlalchemy import Connection, Row, and_, select

from fairbai.service.domain.chain import Head, hash_of, head_text
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.schema import deletions, events, experiments

Heads = Mapping[str, Iterable[Head]]  # those that were kept, by experiment


class Chain:
    """Follows the log of an experiment.

    Attributes:
        unchained: How many events have no hash, because an earlier version wrote them.

    Args:
        row: The experiment.
        log: Its events.
        kept: Heads of this log that somebody has kept.
    """

    def __init__(self, row: Row[Any], log: Iterator[Row[Any]], kept: Iterable[Head] = ()) -> None:
        self._row, self._log = row, log
        self._kept: dict[int, list[str]] = {}
        for head in kept:
            self._kept.setdefault(head.sequence, []).append(head.hash)
        self._last: str | None = None
        self._sequence = self.unchained = 0
        self._restored: int | None = None  # the last event of this kind
        self._broken: list[str] = []  # the first event whose hash is wrong
        self._lost: list[str] = []

    def __iter__(self) -> Iterator[Row[Any]]:
        """The events, which are checked as they pass."""
        for event in self._log:
            self._check(event)
            yield event

    def differences(self) -> list[str]:
        """What is wrong with the hashes of the whole log, in words."""
        for _ in self:
            pass
        found = self._broken + self._lost
        if not self._broken and self._row.head != self._last:
            found.append(f"the head is {self._row.head}, but the hash of the last event is {self._last}")
        return found + [self._cut_off(sequence) for sequence in sorted(self._kept) if sequence > self._sequence]

    def _check(self, event: Row[Any]) -> None:
        self._sequence = event.sequence
        if event.kind == "restored":
            self._restored = event.sequence
        if event.hash is None and self._last is None:
            self.unchained += 1
        elif not self._broken:
            fields = (event.experiment, event.sequence, event.at, event.kind, event.key, event.actor, event.data)
            expected = hash_of(self._last, *fields)
            if event.hash != expected:
                self._broken = [f"event {event.sequence} ({event.kind}) has hash {event.hash}, computed {expected}"]
        self._last = event.hash
        for kept in self._kept.pop(event.sequence, ()):
            if kept != event.hash:
                self._lost.append(self._another(event, kept))

    def _another(self, event: Row[Any], kept: str) -> str:
        why = "it was changed, or replaced by another history such as that of a replica that lagged"
        if self._restored is not None:
            why = f"it was restored from a backup (event {self._restored}) that lacks what was kept, or changed"
        return f"event {event.sequence} has hash {event.hash}, the kept head has {kept}: {why}"

    def _cut_off(self, sequence: int) -> str:
        lost = sequence - self._sequence
        return (
            f"the log ends with event {self._sequence}, the kept head is of event {sequence}: "
            f"{lost} acknowledged {'event is' if lost == 1 else 'events are'} lost"
        )


def missing(connection: Connection, experiment: str, kept: Iterable[Head]) -> list[str]:
    """What is wrong if there is no such experiment although heads of it were kept: nothing, if it was deleted."""
    row = connection.execute(select(deletions).where(deletions.c.experiment == experiment)).one_or_none()
    if row is None:
        return ["the experiment is lost: a head of it was kept, and no deletion is recorded"]
    last = max(head.sequence for head in kept)
    if last > row.events:
        return [f"it was deleted with {row.events} events, the kept head is of event {last}"]
    wrong = [head.hash for head in kept if head.sequence == row.events and head.hash != row.head]
    return [f"it was deleted when event {row.events} had hash {row.head}, the kept head has {one}" for one in wrong]


class Seen(TypedDict):
    """What a verification could see: the heads of the logs, and experiments whose hashes do not begin at the start."""

    heads: dict[str, str | None]
    unchained: list[str]
    compared: int
    deleted: list[str]


def seen(database: Database, heads: Heads) -> Seen:
    """The newest heads, which are worth keeping, and what ``heads`` were compared with."""
    with database.reader.connect() as connection:
        first = and_(events.c.experiment == experiments.c.id, events.c.sequence == 1)
        columns = (experiments.c.id, experiments.c.version, experiments.c.head, events.c.hash)
        rows = connection.execute(select(*columns).outerjoin(events, first).where(PRESENT)).all()
        gone = select(deletions.c.experiment).where(deletions.c.experiment.in_(list(heads)))
        deleted = sorted(connection.execute(gone).scalars())
    newest = {row.id: head_text(row.version, row.head) for row in rows}
    unchained = sorted(row.id for row in rows if row.hash is None)
    return {"heads": newest, "unchained": unchained, "compared": len(set(heads) - set(deleted)), "deleted": deleted}


def sentences(found: Seen) -> list[str]:
    """What could be seen and what could not, for people."""
    said = []
    if found["unchained"]:
        said.append(
            "an earlier version wrote the first events of these logs, which have no hashes: "
            + ", ".join(found["unchained"])
        )
    if found["deleted"]:
        said.append(f"deleted, as is recorded, so that their heads prove nothing: {', '.join(found['deleted'])}")
    without = len(found["heads"]) - found["compared"]
    if without > 0:
        said.append(
            f"no head was given for {without} of {len(found['heads'])} experiments: that events are missing at the end "
            "of their logs, or whole experiments, cannot be seen without one that was kept elsewhere (--head)"
        )
    return said


def read_heads(given: Iterable[str]) -> dict[str, list[Head]]:
    """Kept heads, from texts such as ``EXPERIMENT=SEQUENCE:HASH`` and from files with one of them per line."""
    found: dict[str, list[Head]] = {}
    for one in given:
        lines = [one] if "=" in one else Path(one).read_text(encoding="utf-8").splitlines()
        for line in filter(None, map(str.strip, lines)):
            experiment, equals, head = line.partition("=")
            if not equals:
                raise ValueError(f"{one}: a line must be EXPERIMENT=SEQUENCE:HASH, got {line!r}")
            found.setdefault(experiment, []).append(Head.read(head))
    return found
