"""What is written in one turn of the event loop is one call of the operating system, and nothing of it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fairbai.service.http.joining import MAX_JOINED, JoinedWrites


class Wire(asyncio.Transport):
    """Notes what is done to it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.7", 80)})
        self.done: list[Any] = []

    def write(self, data: Any) -> None:
        self.done.append(bytes(data))

    def write_eof(self) -> None:
        self.done.append("eof")

    def close(self) -> None:
        self.done.append("close")

    def is_closing(self) -> bool:
        return "close" in self.done

    def abort(self) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def can_write_eof(self) -> bool:
        return True

    def get_write_buffer_size(self) -> int:
        return 7


def written(*steps: Callable[[JoinedWrites], None], turns: int = 1) -> list[Any]:
    async def run() -> list[Any]:
        wire = Wire()
        joined = JoinedWrites(wire, asyncio.get_running_loop())
        for step in steps:
            step(joined)
        for _ in range(turns):
            await asyncio.sleep(0)
        return list(wire.done)

    return asyncio.run(run())


def test_headers_and_body_are_written_together() -> None:
    assert written(lambda one: one.write(b"head"), lambda one: one.write(b"body")) == [b"headbody"]
    assert written(lambda one: one.write(b"head"), turns=0) == []


@pytest.mark.parametrize("end", ["close", "write_eof"])
def test_what_waits_is_written_before_the_end(end: str) -> None:
    done = written(lambda one: one.write(b"head"), lambda one: getattr(one, end)())
    assert done == [b"head", end.removeprefix("write_")]


def test_much_does_not_wait() -> None:
    large = bytes(MAX_JOINED)
    assert written(lambda one: one.write(b"head"), lambda one: one.write(large), turns=0) == [b"head" + large]


def test_everything_else_is_that_of_the_transport() -> None:
    async def run() -> None:
        joined = JoinedWrites(Wire(), asyncio.get_running_loop())
        assert joined.get_extra_info("peername") == ("192.0.2.7", 80)
        assert joined.get_write_buffer_size() == 7
        joined.close()
        assert joined.is_closing()

    asyncio.run(run())
