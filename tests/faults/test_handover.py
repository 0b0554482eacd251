"""Handing operations over: what the other end says comes back, and what it cannot say is a 503."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.domain.asking import Ask
from fairbai.service.domain.operations import Look, Tell
from fairbai.service.domain.refusals import Refusal, unavailable
from fairbai.service.storage.metrics import Metrics
from fairbai.service.writing import handover
from fairbai.service.writing.handover import SharedWriter, shared_directory, writer_for
from fairbai.service.writing.ledger import Ledger
from fairbai.service.writing.links import Doing, Handing
from fairbai.service.writing.writer import Writer
from tests.service.running import address, create, opened, running


async def pair(there: Callable[[Any], Any], here: Callable[[Any], Any]) -> tuple[Doing, Handing]:
    """Two ends of a connection, and what each does with operations."""
    loop, ends = asyncio.get_running_loop(), socket.socketpair()
    _, doing = await loop.create_connection(lambda: Doing(there, lambda _: None), sock=ends[0])
    _, handing = await loop.create_connection(lambda: Handing(here, lambda _: None), sock=ends[1])
    return doing, handing


def done(value: Any) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    if isinstance(value, Exception):
        future.set_exception(value)
    else:
        future.set_result(value)
    return future


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


def test_answers_come_back_to_whom_they_belong() -> None:
    async def go() -> None:
        doing, handing = await pair(lambda ask: done({"n": ask.n}), lambda _: done("here"))
        found = await asyncio.gather(*(handing.hand_over(Ask("x", n=n)) for n in range(200)))
        assert found == [{"n": n} for n in range(200)]
        assert handing.waiting == 0
        doing.close()
        handing.close()

    run(go())


def test_refusals_come_back_as_they_were() -> None:
    async def go() -> None:
        refusal = Refusal(409, "Known", "Ticket 1 has a reward", {"Retry-After": "3"}, ticket="1", reward=0.5)
        doing, handing = await pair(lambda _: done(refusal), lambda _: done("here"))
        with pytest.raises(Refusal) as caught:
            await handing.hand_over(Tell("x", rewards=[(1, 1.0)]))
        assert caught.value.to_dict() == refusal.to_dict()
        assert caught.value.headers == refusal.headers
        doing.close()
        handing.close()

    run(go())


def test_what_is_not_taken_is_done_here() -> None:
    def busy(_: Any) -> Any:
        raise unavailable("Too many requests are waiting for the database")

    async def go() -> None:
        doing, handing = await pair(busy, lambda _: done("here"))
        assert await handing.hand_over(Look("x")) == "here"
        doing.close()
        handing.close()

    run(go())


def test_what_a_key_sends_beyond_its_share_is_not_done_elsewhere() -> None:
    def full(_: Any) -> Any:
        raise Refusal(429, "Too many requests", "Too much of this key is waiting", {"Retry-After": "1"})

    async def go() -> None:
        doing, handing = await pair(full, lambda _: done("here"))
        with pytest.raises(Refusal, match="Too much of this key is waiting") as caught:
            await handing.hand_over(Look("x"))
        assert (caught.value.status, caught.value.headers) == (429, {"Retry-After": "1"})
        doing.close()
        handing.close()

    run(go())


def test_what_cannot_be_sent_is_done_here_and_disturbs_nobody() -> None:
    async def go() -> None:
        doing, handing = await pair(lambda ask: done(ask.n), lambda _: done("here"))
        given = [1, threading.Lock(), 2]  # all in one turn of the event loop
        found = await asyncio.gather(*(handing.hand_over(Ask("x", n=n)) for n in given))  # type: ignore[arg-type]
        assert found == [1, "here", 2]
        assert handing.waiting == 0
        doing.close()
        handing.close()

    run(go())


def test_an_answer_that_cannot_be_sent_disturbs_nobody() -> None:
    async def go() -> None:
        doing, handing = await pair(lambda ask: done(ask.n or threading.Lock()), lambda _: done("here"))
        asked = (handing.hand_over(Ask("x", n=n)) for n in (1, 0, 2))
        one, failed, two = await asyncio.gather(*asked, return_exceptions=True)
        assert (one, two) == (1, 2)
        assert isinstance(failed, Refusal)
        doing.close()
        handing.close()

    run(go())


def test_what_is_not_answered_is_not_done_again() -> None:
    """It may have happened: the client is told to repeat it, which it does under its key or with its tickets."""
    here: list[Any] = []

    async def go() -> None:
        never = asyncio.get_running_loop().create_future
        doing, handing = await pair(lambda _: never(), here.append)
        asked = handing.hand_over(Ask("x"))
        await asyncio.sleep(0.05)
        doing.drop()
        with pytest.raises(Refusal, match="did not confirm the request; it is safe to repeat it"):
            await asked
        assert here == []

    run(go())


def test_two_workers_share_the_experiments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is asked for half; when one is silent the other does all, and when it is back it has its half again."""
    monkeypatch.setattr(handover, "AVOIDED", 0.2)
    monkeypatch.setattr(handover, "SILENT", 60.0)  # whatever else the machine does
    names = [f"{number:016x}" for number in range(200)]

    async def go() -> None:
        with two_workers(tmp_path) as (one, two):
            await until(lambda: any(one._owner(name) for name in names) and any(two._owner(name) for name in names))
            shares = Counter((one._owner(name) is None) + (two._owner(name) is None) for name in names)
            assert shares == {1: 200}  # each has one owner
            assert 60 < sum(one._owner(name) is None for name in names) < 140
            with pytest.raises(Refusal, match="No experiment has the id"):
                await one.submit(Look(next(name for name in names if one._owner(name))))
            monkeypatch.setattr(handover, "SILENT", 1.0)
            monkeypatch.setattr(Doing, "beat", lambda self: None)  # as if frozen
            await until(lambda: all(one._owner(name) is None for name in names))
            monkeypatch.undo()
            await until(lambda: any(one._owner(name) for name in names))
            await two.stop()
            await until(lambda: all(one._owner(name) is None for name in names))
            await one.stop()
            assert list((tmp_path / "sockets").iterdir()) == []

    run(go())


async def until(said: Callable[[], Any]) -> None:
    while not said():
        await asyncio.sleep(0.02)


def count_beats(monkeypatch: pytest.MonkeyPatch) -> Counter[Handing]:
    """How many signs of life each end has heard from now on; nobody is taken for frozen, as this machine may be."""
    monkeypatch.setattr(handover, "SILENT", 60.0)
    heard, received = Counter[Handing](), Handing.received

    def counted(self: Handing, items: list[Any]) -> None:
        heard[self] += 1
        received(self, items)

    monkeypatch.setattr(Handing, "received", counted)
    return heard


@contextmanager
def two_workers(folder: Path) -> Iterator[tuple[SharedWriter, SharedWriter]]:
    (folder / "sockets").mkdir(mode=0o700)
    with opened(address(folder)) as database:
        one, two = (SharedWriter(database, Metrics(), folder / "sockets") for _ in range(2))
        two._name = f"{one._name}0"
        one.start()
        two.start()
        yield one, two


def test_a_directory_that_cannot_be_read_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as when too many files are open: signs of life go on, and so does the search once it can."""

    def full(_: Path) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    heard = count_beats(monkeypatch)

    async def go() -> None:
        with two_workers(tmp_path) as (one, two):
            await until(lambda: one._handing and two._handing)
            with monkeypatch.context() as patch:
                patch.setattr(Path, "iterdir", full)
                heard.clear()
                both = one._handing[two._name], two._handing[one._name]
                await until(lambda: min(heard[link] for link in both) >= 4)
                one._handing[two._name].drop()
            await until(lambda: one._handing)
            await two.stop()
            await one.stop()
            assert (one.alive, two.alive) == (False, False)

    run(go())
    assert caplog.text.count("cannot look for other workers, and will try again: [Errno 24]") == 2  # each says it once


def test_a_writer_stops_whatever_became_of_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def go() -> None:
        with two_workers(tmp_path) as (one, two):
            await until(lambda: one._handing and two._handing)
            with monkeypatch.context() as patch:
                patch.setattr(Path, "unlink", refuse)
                with pytest.raises(PermissionError):
                    await one.stop()
            assert not one.alive
            await two.stop()

    run(go())


def refuse(*_: Any, **__: Any) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


def test_a_process_of_another_user_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handover.os, "kill", refuse)
    assert handover._exists("1")


def test_who_finishes_is_not_taken_for_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its last transaction takes, it gives signs of life, and what it was handed over is answered."""
    heard = count_beats(monkeypatch)
    began, go_on = threading.Event(), threading.Event()

    def slow(_: Any, operations: list[Any]) -> list[Any]:
        began.set()
        assert go_on.wait(60)
        return ["done"] * len(operations)

    async def go() -> None:
        with two_workers(tmp_path) as (one, two):
            names = [f"{number:016x}" for number in range(50)]
            await until(lambda: any(one._owner(name) for name in names))
            monkeypatch.setattr(Ledger, "run", slow)
            asked = one.submit(Look(next(name for name in names if one._owner(name))))
            await until(began.is_set)
            stopping, searching = asyncio.create_task(two.stop()), two._task
            await until(lambda: searching is not None and searching.done())
            heard.clear()
            await until(lambda: heard[one._handing[two._name]] >= 4)
            go_on.set()
            await stopping
            assert await asked == "done"
            await one.stop()

    run(go())


def test_one_worker_alone_has_nobody_to_hand_over_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(handover.VARIABLE, "")  # so that it is put back afterwards
    monkeypatch.delenv(handover.VARIABLE)
    with opened(address(tmp_path)) as database:
        assert type(writer_for(database, Metrics())) is Writer
        with shared_directory():
            assert Path(handover.os.environ[handover.VARIABLE]).stat().st_mode & 0o777 == 0o700
            assert type(writer_for(database, Metrics())) is SharedWriter


def test_a_stale_socket_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a worker that was killed; the service works all the same."""
    folder = tmp_path / "sockets"
    folder.mkdir()
    stale = folder / str(2**22 + 1)  # more than a process can have
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(stale))
    monkeypatch.setenv(handover.VARIABLE, str(folder))
    with running(address(tmp_path)) as client:
        at = create(client)
        assert client.post(f"{at}/ask", json={}).status_code == 200
        client.wait(until(lambda: not stale.exists()))
