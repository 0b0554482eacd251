"""Recognising keys and sessions, without letting those who guess get in the way of those who know.

What was looked up is remembered for a few seconds. What is not in memory is looked up in groups, one query at a time,
so that any number of wrong keys costs one connection; a right key is recognised whoever else is guessing.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from fairbai.service.domain.encoding import iso
from fairbai.service.domain.refusals import Refusal
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import TROUBLE
from fairbai.service.storage.keys import Key, digest, find_keys, note_uses, split_key, unauthorized
from fairbai.service.storage.sessions import Session, find_sessions

REMEMBERED = 10.0  # seconds after which a row is looked up again, and a revoked key is noticed
LONG_REMEMBERED = 3600.0  # seconds in which it may still ask how the service is while the database does not answer
SOON = 1.0  # seconds for the database to answer before that
MAX_REMEMBERED = 10_000  # rows
MAX_TOGETHER = 500  # names in one query
MAX_ADDRESSES = 10_000  # whose wrong keys are counted
NOTING = 60.0  # seconds between two times that the last uses of keys are stored

log = logging.getLogger("fairbai.service")

Found = TypeVar("Found")


class Lookups(Generic[Found]):
    """Rows by name, remembered for a few seconds, and looked up in groups. Used in one event loop only.

    Args:
        find: Reads the rows with some names, in a thread.
        remembers: Whether ``recall`` is used.
    """

    def __init__(self, find: Callable[[list[str]], dict[str, Found]], remembers: bool = True) -> None:
        self._find, self._remembers = find, remembers
        self._known: dict[str, tuple[float, Found]] = {}
        self._waiting: dict[str, asyncio.Future[Found | None]] = {}
        self._task: asyncio.Task[None] | None = None

    def recall(self, name: str, long: bool = False) -> Found | None:
        """The row if it was looked up recently."""
        known = self._known.get(name)
        most = LONG_REMEMBERED if long else REMEMBERED
        return None if known is None or time.monotonic() - known[0] > most else known[1]

    async def look_up(self, name: str) -> Found | None:
        """The row as it is now; None if there is none."""
        future = self._waiting.get(name)
        if future is None:
            future = self._waiting[name] = asyncio.get_running_loop().create_future()
            future.add_done_callback(lambda done: done.cancelled() or done.exception())  # even if the client has gone
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        return await asyncio.shield(future)

    def forget(self, wanted: Callable[[str, Found], bool]) -> None:
        """Forget some rows, which are looked up again before they count."""
        self._known = {name: entry for name, entry in self._known.items() if not wanted(name, entry[1])}

    async def _work(self) -> None:
        while self._waiting:
            group = dict(islice(self._waiting.items(), MAX_TOGETHER))
            for name in group:
                del self._waiting[name]
            asked = time.monotonic()
            try:
                found = await asyncio.to_thread(self._find, list(group))
            except Exception as error:  # of the database: those who wait hear of it
                for future in group.values():
                    future.set_exception(error)
                continue
            if self._remembers:
                self._remember(asked, found)
            for name, future in group.items():
                future.set_result(found.get(name))

    def _remember(self, asked: float, found: dict[str, Found]) -> None:
        if len(self._known) + len(found) > MAX_REMEMBERED:
            self._known = {name: entry for name, entry in self._known.items() if asked - entry[0] <= REMEMBERED}
        if len(self._known) + len(found) > MAX_REMEMBERED:
            self._known.clear()
        self._known |= {name: (asked, row) for name, row in found.items()}


class Keyring:
    """Recognises keys and sessions. Used in one event loop only.

    Args:
        database: Where they are.
        failures: How many wrong keys per minute an address is told about. After that its wrong keys are answered with
            429; right ones always pass.
    """

    def __init__(self, database: Database, failures: int = 20) -> None:
        self._database = database
        self._keys = Lookups[Key](partial(find_keys, database))
        self._sessions = Lookups[Session](partial(find_sessions, database))
        self._failures = failures
        self._failed: dict[str, tuple[float, int]] = {}
        self._used: dict[str, float] = {}

    async def key(self, token: str, address: str, watching: bool = False) -> Key:
        """The key that a token is; raises a Refusal if it is none.

        Who is ``watching`` only asks how the service is, and does not wait for a database that does not answer.
        """
        name, secret = split_key(token)
        found = self._keys.recall(name)
        if found is None and name:
            found = await (self._look_soon(name) if watching else self._keys.look_up(name))
        if found is None or found.revoked or not found.has(secret):
            raise self._wrong_key(address)
        if found.expired:
            raise _expired(found)
        self._used[found.id] = time.time()
        return found

    async def _look_soon(self, name: str) -> Key | None:
        """The key as it is now or, if the database does not say so soon, as it was not too long ago."""
        before = self._keys.recall(name, long=True)
        try:
            return await asyncio.wait_for(self._keys.look_up(name), None if before is None else SOON)
        except (TimeoutError, *TROUBLE):
            if before is None:
                raise
            return before

    async def session(self, token: str) -> Key:
        """The key of who signed in; raises a Refusal if the session has ended."""
        name = digest(token)
        found = self._sessions.recall(name) or await self._sessions.look_up(name)
        if found is None or not found.valid:
            raise unauthorized("The session has ended: sign in again")
        self._used[found.key.id] = time.time()
        return found.key

    def forget_key(self, key: str) -> None:
        """Look a key and its sessions up again: it has changed."""
        self._keys.forget(lambda name, _: name == key)
        self._sessions.forget(lambda _, session: session.key.id == key)

    def forget_session(self, token: str) -> None:
        """Look a session up again: it was ended."""
        ended = digest(token)
        self._sessions.forget(lambda name, _: name == ended)

    async def note_uses_forever(self) -> None:
        """Store the last uses of keys now and then, in a thread; no request waits for it."""
        while True:
            await asyncio.sleep(NOTING)
            await self.note_uses()

    async def note_uses(self) -> None:
        """Store the uses since the last time; a failure is logged, and they are stored the next time."""
        used, self._used = self._used, {}
        if not used:
            return
        try:
            await asyncio.to_thread(note_uses, self._database, used)
        except TROUBLE:
            log.warning("the last use of %d keys could not be stored; it will be tried again", len(used))
            self._used = used | self._used

    # --- wrong keys ---------------------------------------------------------------------------------------------

    def _wrong_key(self, address: str) -> Refusal:
        """401, or 429 if the address has sent too many."""
        now = time.monotonic()
        since, count = self._failed.get(address, (now, 0))
        wait = since + 60.0 - now
        if count >= self._failures and wait > 0.0:
            detail = f"This key is wrong, and so were {count} others from this address within a minute"
            return Refusal(429, "Too many wrong keys", detail, {"Retry-After": str(int(wait) + 1)})
        if len(self._failed) >= MAX_ADDRESSES:
            self._failed = {name: entry for name, entry in self._failed.items() if entry[0] + 60.0 > now}
        if len(self._failed) >= MAX_ADDRESSES:
            self._failed.clear()  # a flood from everywhere: better to forget than to run out of memory
        self._failed[address] = (since, count + 1) if wait > 0.0 else (now, 1)
        if self._failed[address][1] == self._failures:
            log.warning("%d wrong keys within a minute from %s", self._failures, address or "an unknown address")
        return unauthorized("The key is unknown or was revoked")


def _expired(key: Key) -> Refusal:
    assert key.expires_at is not None
    at = iso(key.expires_at)
    name = f" ({key.name})" if key.name else ""
    return unauthorized(f"The key {key.id}{name} expired on {at[:10]} at {at[11:16]} UTC", expired_at=at)
