"""Heavy work of one experiment does not hold up another: experiments take turns, and each turn is short."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairbai.service.domain.asking import Ask
from fairbai.service.domain.book import new_book
from fairbai.service.domain.operations import Expire, Look, Tell
from fairbai.service.http import forms, planning
from fairbai.service.http.heavy import HeavyWork
from fairbai.service.reading import export
from fairbai.service.storage.keys import create_key
from fairbai.service.storage.limits import Limits
from fairbai.service.writing import leases
from fairbai.service.writing.ledger import Ledger
from fairbai.service.writing.turns import Turns, Waiting
from tests.service.running import FORM, Local, address, ask, create, opened, running, tell
from tests.service.test_writer import together

LARGE_DESIGN = {  # almost the largest that is accepted
    "factors": {name: ["x", "y"] for name in "abcdefgh"},
    "family": {"kind": "gaussian", "variance": 1.0},
    "floors": 0.0,
    "delta": 1e-9,
}
PLAN = {"arms": ["a", "b"], "means": [0.1, 0.2], "delta": 0.05, "family": "bernoulli"}


def book_of(arms: int, **options: Any) -> Any:
    labels = [str(arm) for arm in range(arms)]
    form = forms.Experiment.model_validate({**FORM, "arms": labels, "floors": 0.0, **options})
    return new_book(form.config())


class Books:
    """What a ledger has in memory."""

    def __init__(self, **books: Any) -> None:
        self._books = books

    def in_memory(self, experiment: str) -> Any:
        return self._books.get(experiment)


def turns(**books: Any) -> Turns:
    found: Any = Books(**books)
    return Turns(found)


def names(group: list[Any]) -> str:
    return "".join(work.experiment if isinstance(work, Ask | Tell) else "-" for work, _, _ in group)


def queue(found: Turns, *operations: Any) -> None:
    for operation in operations:
        found.add(Waiting(operation, None, operation.experiment))  # type: ignore[arg-type]


def test_small_operations_share_a_transaction_in_order() -> None:
    found = turns(a=book_of(4), b=book_of(4))
    queue(found, *(Ask("ab"[number % 2], str(number)) for number in range(1000)))
    group = found.take()
    assert len(group) == 1000
    assert len(found) == 0
    for name in "ab":
        order = [int(work.key or "") for work, _, _ in group if isinstance(work, Ask) and work.experiment == name]
        assert order == sorted(order)


def test_an_experiment_with_much_to_do_waits_for_its_next_turn() -> None:
    found = turns(a=book_of(4), b=book_of(4))
    queue(found, *[Ask("a", n=2_000)] * 4, Ask("b"), Ask("b"))
    assert [names(found.take()) for _ in range(5)] == ["bb", "a", "a", "a", "a"]
    assert found.take() == []


def test_light_work_waits_for_one_turn_of_heavy_work_and_heavy_work_gets_its_turn() -> None:
    """However many have heavy work, and however much light work keeps coming."""
    slow = book_of(1000, sampling="lucb")
    found = turns(a=slow, b=slow, c=slow, x=book_of(4))
    queue(found, *(Ask(name, n=14) for name in "abcabc"))
    order = ""
    for _ in range(8):
        queue(found, Ask("x"))
        order += names(found.take()) + " "
    assert order == "x a xx b xx c xx a "
    assert [names(found.take()) for _ in range(3)] == ["x", "b", "c"]


def test_what_is_not_in_memory_costs_more_and_so_does_a_large_state() -> None:
    found = turns()
    queue(found, *(Ask(str(number)) for number in range(10)))
    assert names(found.take()) == "01"
    small = book_of(4)
    found = turns(**{str(number): small for number in range(10)})
    for _ in range(2):  # their size is remembered when they are no longer in memory
        queue(found, *(Ask(str(number)) for number in range(10)))
        assert len(found.take()) == 10
        found._ledger._books.clear()  # type: ignore[attr-defined]
    large = book_of(1000)
    found = turns(**{str(number): large for number in range(10)})
    queue(found, *(Ask(str(number)) for number in range(10)))
    assert [names(found.take()) for _ in range(6)] == ["01", "23", "45", "67", "89", ""]


def test_a_point_of_the_history_is_heavy_work_with_many_arms() -> None:
    large, small = book_of(1000), book_of(4)
    for book in (large, small):
        arms = book.ask(len(book.labels))
        book.tell(arms, [float(arm % 2) for arm in arms], [], 0)
        book.point()
    found = turns(a=large, b=large, x=small, y=small)
    queue(found, *(Ask(name) for name in "abxy"))
    assert names(found.take()) == "abxy"  # the next points are a while away
    queue(found, Ask("a", n=100), Ask("b", n=100), *(Ask(name, n=10) for name in "xy"))
    assert [names(found.take()) for _ in range(3)] == ["a", "xy", "b"]
    queue(found, *(Ask("a") for _ in range(100)))
    assert [len(found.take()) for _ in range(3)] == [49, 49, 2]  # the fiftieth ask in a group would come with a point


def test_one_call_is_bounded_by_what_it_costs(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        arms = [str(arm) for arm in range(1000)]
        slow = create(client, arms=arms, floors=0.0, sampling="lucb")
        queues = create(client, arms=arms, floors=0.0, sampling="virtual_queues")
        usual = create(client, arms=arms, floors=0.0)
        unknown = create(client, arms=arms, floors=0.0, family={"kind": "gaussian", "variance": None})
        for at, most in ((slow, 4), (usual, 138), (queues, 12), (unknown, 6)):
            refused = client.post(f"{at}/ask", json={"n": most + 1})
            assert (refused.status_code, refused.json()["most"]) == (413, most)
            expected = f"At most {most} at a time are possible with 1,000 arms and this rule, got {most + 1}"
            assert refused.json()["detail"] == expected
            assert client.get(at).json()["trials"] == 0
        tickets = [ticket["ticket"] for _ in range(2) for ticket in ask(client, usual, 138)]
        refused = client.post(
            f"{usual}/tell", json={"rewards": [{"ticket": ticket, "reward": 1.0} for ticket in tickets]}
        )
        assert (refused.status_code, refused.json()["most"]) == (413, 138)
        tell(client, usual, dict.fromkeys(tickets[:138], 1.0))
        assert client.post(f"{create(client)}/ask", json={"n": 2_000}).status_code == 200


def test_others_go_on_while_one_experiment_has_much_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the groups is short, and the one experiment has one operation in each."""
    groups: list[list[str]] = []
    go_on, real = threading.Event(), Ledger.run

    def run(self: Ledger, operations: Any) -> Any:
        assert go_on.wait(60)
        groups.append([operation.experiment for operation in operations])
        return real(self, operations)

    with running(address(tmp_path)) as client:
        busy, other = create(client), create(client)
        for at in (busy, other):
            ask(client, at)
        monkeypatch.setattr(Ledger, "run", run)

        async def send() -> list[Any]:
            calls = [asyncio.ensure_future(client.http.post(f"{busy}/ask", json={"n": 2_000})) for _ in range(8)]
            while client.app.service.writer.waiting < 7:
                await asyncio.sleep(0.01)
            calls.append(asyncio.ensure_future(client.http.post(f"{other}/ask", json={})))
            while client.app.service.writer.waiting < 8:
                await asyncio.sleep(0.01)
            go_on.set()
            return await asyncio.gather(*calls)

        assert {response.status_code for response in client.wait(send())} == {200}
        busy_id, other_id = busy.rpartition("/")[2], other.rpartition("/")[2]
        assert max(group.count(busy_id) for group in groups) == 1
        assert other_id in groups[0] + groups[1] + groups[2]


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_no_transaction_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In seconds of the processor, which depend little on what else this machine does: how much is measured, too."""
    spent: list[tuple[float, list[str]]] = []
    real = Ledger.run

    def run(self: Ledger, operations: Any) -> Any:
        began = time.thread_time()
        results = real(self, operations)
        spent.append((time.thread_time() - began, [operation.experiment for operation in operations]))
        return results

    arms = [str(arm) for arm in range(1000)]
    with running(address(tmp_path)) as client:
        wide: dict[str, Any] = {"arms": arms, "floors": 0.0, "family": "bernoulli", "delta": 1e-9}
        heavy = {create(client, **wide, sampling="lucb"): 4, create(client, **wide): 138, create(client): 2_000}
        heavy |= {create(client, **wide, sampling=rule): 12 for rule in ("virtual_queues", "fair_thompson")}
        wide["family"] = {"kind": "gaussian", "variance": None}
        heavy |= {create(client, **wide): 6, create(client, arms=None, **LARGE_DESIGN): 6}
        for at, n in heavy.items():
            for _ in range(min(100, 1 + 1200 // n)):
                tell(client, at, {ticket["ticket"]: 1.0 for ticket in ask(client, at, n)})
        monkeypatch.setattr(Ledger, "run", run)
        before = slower()
        together(client, [(f"{at}/ask", {"n": n}) for at, n in heavy.items() for _ in range(8)])
    assert len(spent) >= 45
    ordered, allowed = sorted(seconds for seconds, _ in spent), max(1.0, before, slower())
    assert ordered[len(ordered) // 2] < 0.06 * allowed
    assert ordered[-2] < 0.15 * allowed, ordered  # the longest may have collected garbage


def slower() -> float:
    """How many times slower this processor runs just now than one of 20 ms for a sum of a million numbers."""

    def measured() -> float:
        began = time.thread_time()
        sum(range(1_000_000))
        return time.thread_time() - began

    return sorted(measured() for _ in range(15))[12] / 0.02


def test_what_waits_is_finished_when_the_service_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, real = threading.Event(), Ledger.run

    def run(self: Ledger, operations: Any) -> Any:
        assert go_on.wait(60)
        return real(self, operations)

    with running(address(tmp_path)) as client:
        at = create(client)
        monkeypatch.setattr(Ledger, "run", run)

        async def send() -> list[Any]:
            calls = [asyncio.ensure_future(client.http.post(f"{at}/ask", json={"n": 2_000})) for _ in range(4)]
            while client.app.service.writer.waiting < 2:
                await asyncio.sleep(0.001)
            stopping = asyncio.ensure_future(client.app.service.writer.stop())
            await asyncio.sleep(0)  # it has begun
            go_on.set()
            await stopping
            return await asyncio.gather(*calls)

        assert {response.status_code for response in client.wait(send())} == {200}


def test_leases_end_in_small_operations(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client:
        at = create(client, lease=1.0)
        ask(client, at, 600)
        with opened(url) as database:
            found = leases.overdue(database, time.time() + 10.0)
        assert [operation.size for operation in found] == [250, 250, 100]
        service = client.app.service
        assert client.wait(leases.sweep(service.database, service.writer, time.time() + 10.0)) == 600
        assert client.get(at).json()["pending"] == 0


def test_counting_on_is_heavy_when_its_size_is_unknown() -> None:
    """As after a restart: each may take a whole turn, so they share none, and light work comes in between."""
    found = turns(x=book_of(4))
    queue(found, *(Look(name, behind=True) for name in "abc"), Ask("x"))
    assert [[work.experiment for work, _, _ in found.take()] for _ in range(4)] == [["x"], ["a"], ["b"], ["c"]]  # type: ignore[union-attr]
    queue(found, *(Look(name) for name in "ab"))
    assert len(found.take()) == 2  # a deadline is soon met


def test_leases_and_deadlines_do_not_wait_until_all_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of others passes while a large backlog is counted in many steps."""
    overdue = [[], [Expire("b", tickets=[1])], []]
    ended = [[Look("a", behind=True)], [Look("a", behind=True), Look("c")], [Look("c")], []]
    monkeypatch.setattr(leases, "overdue", lambda *_: overdue.pop(0) if overdue else [])
    monkeypatch.setattr(leases, "ended", lambda *_: ended.pop(0))
    done: list[str] = []

    class Counting:
        async def submit(self, operation: Any) -> int:
            done.append(operation.experiment)
            if isinstance(operation, Expire):
                return len(operation.tickets)
            return int(operation.experiment == "a" and done.count("a") < 3)

    assert asyncio.run(leases.sweep(None, Counting(), 0.0)) == 1  # type: ignore[arg-type]
    assert done == ["a", "b", "a", "c", "a"]


class Blocked:
    """Exports that wait until they may go on."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.threads = set[str]()

    def __call__(self, *_: Any) -> Iterator[bytes]:
        yield b"begun"
        self.go_on.wait(60.0)
        self.threads.add(threading.current_thread().name)
        yield b"done"


def test_exports_of_others_are_not_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They use two threads, and a key has two at most, so that those for short reads stay free."""
    blocked = Blocked()
    monkeypatch.setattr(export, "export", blocked)
    with running(address(tmp_path)) as client:
        with opened(address(tmp_path)) as database:
            given = [{"Authorization": f"Bearer {create_key(database, 'reader')}"} for _ in range(10)]
        path, mine = f"{create(client)}/events", given[0]
        heavy: HeavyWork = client.app.fastapi.state.heavy

        async def begin() -> list[asyncio.Task[httpx.Response]]:
            return [asyncio.create_task(client.http.get(path, headers=one)) for one in given for _ in "ab"]

        async def finished(tasks: list[asyncio.Task[httpx.Response]]) -> list[httpx.Response]:
            return await asyncio.gather(*tasks)

        try:
            tasks = client.wait(begin())
            until = time.monotonic() + 60.0
            while heavy._exports.total() < 20:
                assert time.monotonic() < until
                time.sleep(0.01)
            refused = client.get(path, headers=mine)
            assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
            assert "at most 2 exports" in refused.json()["detail"]
            assert client.get("/v1/experiments", headers=mine).status_code == 200
        finally:
            blocked.go_on.set()
        assert [answer.content for answer in client.wait(finished(tasks))] == [b"begundone"] * 20
        assert len(blocked.threads) <= 2
        assert client.get(path, headers=mine).status_code == 200  # there is room again


def test_plans_at_once_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the first ones take, which here is until all others are refused."""
    real, running_now, most, go_on = planning.planned, [0], [0], threading.Event()

    def slowly(form: Any) -> Any:
        running_now[0] += 1
        most[0] = max(most[0], running_now[0])
        assert go_on.wait(60)
        running_now[0] -= 1
        return real(form)

    def planned(client: Local, calls: int) -> list[Any]:
        async def send() -> list[Any]:
            found = [asyncio.ensure_future(client.http.post("/v1/plan", json=PLAN)) for _ in range(calls)]
            while sum(one.done() for one in found) < calls - 2:
                await asyncio.sleep(0.01)
            go_on.set()
            return await asyncio.gather(*found)

        go_on.clear()
        responses: list[Any] = client.wait(send())
        return responses

    monkeypatch.setattr(planning, "planned", slowly)
    with running(address(tmp_path), limits=Limits(plans=3, plans_per_key=2)) as client:
        statuses = [response.status_code for response in planned(client, 20)]
        assert (statuses.count(200), statuses.count(429)) == (2, 18)
        (refused,) = (response for response in planned(client, 3) if response.status_code == 429)
        assert refused.headers["retry-after"] == "1"
        assert "at most 2 plans" in refused.json()["detail"]
        assert planned(client, 1)[0].status_code == 200  # there is room again
    assert most[0] <= 2
