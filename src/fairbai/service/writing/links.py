"""Connections between the workers of a server: operations one way, what became of them the other way.

A message is its length and a pickled list, so that what comes up at the same time shares one message; each item is
pickled by itself, so that one that cannot be does not keep others back. Only processes of the same user can reach the
sockets. The end that does the operations also sends a sign of life, by which the other end tells a worker that is busy
from one that is frozen.
"""

import asyncio
import itertools
import logging
import pickle
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

from fairbai.service.domain.operation import Operation
from fairbai.service.domain.refusals import Refusal, failed, unavailable

LENGTH = struct.Struct("!I")
DONE, REFUSED, FAILED, NOT_TAKEN = range(4)  # what may become of an operation

log = logging.getLogger("fairbai.service")

Outcome = tuple[int, Any]
Submit = Callable[[Operation[Any]], "asyncio.Future[Any]"]


class Messages(asyncio.Protocol, ABC):
    """A connection that sends and receives lists of items."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._received, self._sending = bytearray(), list[bytes]()
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._transport = None

    @property
    def open(self) -> bool:
        """Whether it is connected."""
        return self._transport is not None

    def close(self) -> None:
        """Close the connection when everything is sent."""
        if self._transport is not None:
            self._transport.close()

    def drop(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def send(self, item: Any) -> None:
        """Send an item, with others of the same turn of the event loop; raises what pickle does, if it cannot be."""
        data = pickle.dumps(item, pickle.HIGHEST_PROTOCOL)
        if not self._sending:
            self._loop.call_soon(self._flush)
        self._sending.append(data)

    def beat(self) -> None:
        """Send a sign of life."""
        self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        items, self._sending = self._sending, []
        if self._transport is not None:
            data = pickle.dumps(items, pickle.HIGHEST_PROTOCOL)
            self._transport.write(LENGTH.pack(len(data)) + data)

    def data_received(self, data: bytes) -> None:
        """Take the messages that are complete."""
        self._received += data
        while len(self._received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            items = pickle.loads(memoryview(self._received)[LENGTH.size : end].tobytes())
            del self._received[:end]
            self.received([pickle.loads(item) for item in items])

    @abstractmethod
    def received(self, items: list[Any]) -> None:
        """Handle a message."""


class Doing(Messages):
    """The end that does operations.

    Args:
        submit: Does them here.
        ended: Called when the connection has ended.
    """

    def __init__(self, submit: Submit, ended: Callable[["Doing"], None]) -> None:
        super().__init__()
        self._submit, self._ended = submit, ended

    def connection_lost(self, exc: Exception | None) -> None:
        """The operations are done all the same."""
        super().connection_lost(exc)
        self._ended(self)

    def received(self, items: list[Any]) -> None:
        """Do operations."""
        for number, operation in items:
            try:
                future = self._submit(operation)
            except Refusal as refusal:
                # the other end can do it if too much is waiting here, or this one ends; not if a key has sent too much
                self.send((number, (REFUSED, _told(refusal)) if refusal.status == 429 else (NOT_TAKEN, None)))
            else:
                future.add_done_callback(partial(self._tell, number))

    def _tell(self, number: int, done: asyncio.Future[Any]) -> None:
        try:
            self.send((number, _outcome(done)))
        except Exception:
            log.exception("an answer cannot be sent to another worker")
            self.send((number, (FAILED, None)))


class Handing(Messages):
    """The end that hands operations over.

    Args:
        do_here: Does an operation that the other end did not take.
        changed: Called at the first sign of life, and when the connection has ended.
    """

    def __init__(self, do_here: Submit, changed: Callable[["Handing"], None]) -> None:
        super().__init__()
        self._do_here, self._changed = do_here, changed
        self._numbers = itertools.count()
        self._waiting: dict[int, tuple[Operation[Any], asyncio.Future[Any]]] = {}
        self._began = self._loop.time()
        self._heard: float | None = None

    @property
    def alive(self) -> bool:
        """Whether the other end has given a sign of life."""
        return self.open and self._heard is not None

    @property
    def silent(self) -> float:
        """Seconds since the last sign of life, or since the beginning."""
        return self._loop.time() - (self._began if self._heard is None else self._heard)

    @property
    def waiting(self) -> int:
        """How many operations are on their way."""
        return len(self._waiting)

    def hand_over(self, operation: Operation[Any]) -> asyncio.Future[Any]:
        """Let the other end do an operation; one that cannot be sent is done here."""
        number, future = next(self._numbers), self._loop.create_future()
        try:
            self.send((number, operation))
        except Exception:
            log.exception("%s cannot be handed over", type(operation).__name__)
            return self._do_here(operation)
        self._waiting[number] = operation, future
        return future

    def received(self, items: list[Any]) -> None:
        """Note what became of operations."""
        first, self._heard = self._heard is None, self._loop.time()
        if first:
            self._changed(self)
        for number, (kind, value) in items:
            operation, future = self._waiting.pop(number)
            if future.cancelled():  # the client has gone
                continue
            if kind == NOT_TAKEN:
                self._instead(operation, future)
            elif kind == DONE:
                future.set_result(value)
            else:
                future.set_exception(_refusal(*value) if kind == REFUSED else failed())

    def _instead(self, operation: Operation[Any], future: asyncio.Future[Any]) -> None:
        """Do here what the other end has not begun."""
        try:
            here = self._do_here(operation)
        except Refusal as refusal:
            future.set_exception(refusal)
        else:
            here.add_done_callback(lambda done: _copy(done, future))

    def connection_lost(self, exc: Exception | None) -> None:
        """What is on its way may have been done, and an ask without a key cannot be repeated: the client decides."""
        super().connection_lost(exc)
        waiting, self._waiting = self._waiting, {}
        for _, future in waiting.values():
            if not future.done():
                future.set_exception(unavailable("Another worker did not confirm the request; it is safe to repeat it"))
        self._changed(self)


def _outcome(done: asyncio.Future[Any]) -> Outcome:
    if done.cancelled():
        return FAILED, None
    error = done.exception()
    if error is None:
        return DONE, done.result()
    if isinstance(error, Refusal):
        return REFUSED, _told(error)
    log.error("an operation of another worker failed", exc_info=error)
    return FAILED, None


def _told(refusal: Refusal) -> tuple[Any, ...]:
    return refusal.status, refusal.title, refusal.detail, refusal.headers, refusal.extra


def _refusal(status: int, title: str, detail: str, headers: dict[str, str], extra: dict[str, Any]) -> Refusal:
    return Refusal(status, title, detail, headers, **extra)


def _copy(done: asyncio.Future[Any], future: asyncio.Future[Any]) -> None:
    if future.cancelled():
        return
    error = done.exception()
    if error is None:
        future.set_result(done.result())
    else:
        future.set_exception(error)
