"""Group commit: many requests share a transaction, and none pays for another."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.domain.asking import Ask
from fairbai.service.domain.book import Book
from fairbai.service.domain.interventions import Pause, Resume, SwitchOff, Void
from fairbai.service.domain.operations import Close
from fairbai.service.domain.refusals import Refusal
from fairbai.service.reading.verify import verify
from fairbai.service.storage.keys import create_key
from fairbai.service.writing import backlog
from fairbai.service.writing.ledger import Ledger
from fairbai.service.writing.turns import Turns
from tests.service.running import Local, address, create, opened, running


def together(client: Local, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Responses of requests that are sent at once."""

    async def send() -> list[Any]:
        return await asyncio.gather(*(client.http.post(path, json=form) for path, form in calls))

    found: list[Any] = client.wait(send())
    return found


def frozen(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Let the writer stand still until the event is set."""
    go_on, real = threading.Event(), Ledger.run

    def run(self: Ledger, operations: Any) -> Any:
        assert go_on.wait(60)
        return real(self, operations)

    monkeypatch.setattr(Ledger, "run", run)
    return go_on


def commits(client: Local) -> float:
    lines = client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith("fairbai_commits_total")).split()[1])


def test_requests_share_commits_and_every_ticket_is_given_once(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        places = [create(client) for _ in range(3)]
        asked = together(client, [(f"{places[number % 3]}/ask", {}) for number in range(300)])
        tickets = [(response.url.path, response.json()["tickets"][0]["ticket"]) for response in asked]
        assert len(set(tickets)) == 300
        assert commits(client) < 150
        told = [
            (path.replace("/ask", "/tell"), {"rewards": [{"ticket": ticket, "reward": 1.0}]})
            for path, ticket in tickets
        ]
        answers = together(client, told * 2)
        assert sum(answer.json()["counted"] for answer in answers) == 300
        assert [client.get(at).json()["observed"] for at in places] == [100, 100, 100]
    with opened(address(tmp_path)) as database:
        assert [found for _, found in verify(database)] == [[], [], []]


def test_clients_that_call_again_share_the_next_commit(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        name, before = create(client).rpartition("/")[2], commits(client)

        async def ask_on() -> None:
            for _ in range(30):
                await client.app.service.writer.submit(Ask(name))

        async def send() -> None:
            await asyncio.gather(*(ask_on() for _ in range(8)))

        client.wait(send())
        assert commits(client) - before < 90  # of 240 operations


def test_refused_neighbours_do_not_matter(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        good = (f"{at}/ask", {})
        bad = (f"{at}/tell", {"rewards": [{"ticket": "999", "reward": 1.0}]})
        nowhere = ("/v1/experiments/nothing/ask", {})
        statuses = [response.status_code for response in together(client, [good, bad, nowhere] * 20)]
        assert statuses == [200, 404, 404] * 20
        assert client.get(at).json()["trials"] == 20


def test_bug_in_one_operation_does_not_fail_its_neighbours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Book.ask

    def ask(self: Book, n: int, available: list[int] | None = None) -> list[int]:
        if n == 13:
            real(self, n, available)  # changes the book before it fails
            raise ZeroDivisionError
        return real(self, n, available)

    monkeypatch.setattr(Book, "ask", ask)
    with running(address(tmp_path)) as client:
        at = create(client)
        responses = together(client, [(f"{at}/ask", {"n": n}) for n in (1, 2, 13, 3, 13, 4)])
        assert [response.status_code for response in responses] == [200, 200, 500, 200, 500, 200]
        assert client.get(at).json()["trials"] == 10
    with opened(address(tmp_path)) as database:
        assert [found for _, found in verify(database)] == [[]]


def test_what_waits_is_bounded_in_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large operations are refused while much waits, and taken again when it is done."""
    monkeypatch.setattr(backlog, "MAX_WAITING_ROWS", 100)
    with running(address(tmp_path)) as client:
        at, go_on = create(client), frozen(monkeypatch)

        async def send() -> list[Any]:
            calls = [asyncio.ensure_future(client.http.post(f"{at}/ask", json={"n": 60})) for _ in range(10)]
            while not any(call.done() for call in calls):  # some are being written, two wait, the rest is refused
                await asyncio.sleep(0.01)
            go_on.set()
            return await asyncio.gather(*calls)

        statuses = [response.status_code for response in client.wait(send())]
        assert sorted(set(statuses)) == [200, 503]
        assert client.get(at).json()["trials"] == 60 * statuses.count(200)
        assert client.post(f"{at}/ask", json={"n": 100}).status_code == 200


def test_one_key_does_not_fill_the_queue_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a key and of an experiment so much may wait, in rows and in operations; others are served all the same."""
    monkeypatch.setattr(backlog, "MAX_EACH", 200)
    with running(address(tmp_path), key_rate=0.0) as client:
        database = client.app.service.database
        places, keys = [create(client) for _ in range(3)], [create_key(database, "writer") for _ in range(3)]
        go_on = frozen(monkeypatch)

        def sent(key: int, place: int, n: int = 1) -> asyncio.Future[Any]:
            headers = {"Authorization": f"Bearer {keys[key]}"}
            call = client.http.post(f"{places[place]}/ask", json={"n": n}, headers=headers)
            return asyncio.ensure_future(call)

        async def send() -> tuple[list[Any], list[Any], list[int]]:
            much = [sent(0, 0, 2_000) for _ in range(260)]
            refused = await answered(much, 250)
            others = [sent(0, 1), sent(1, 0), sent(1, 1, 2_000), sent(2, 2)]
            await answered(others, 2)
            many = [sent(2, 2) for _ in range(backlog.MAX_EACH + 10)]
            await answered(many, 11)
            go_on.set()
            done = [response.status_code for response in await asyncio.gather(*much, *many)]
            return refused, await asyncio.gather(*others), done

        refused, others, done = client.wait(send())
        assert {response.status_code for response in refused} == {429}
        assert refused[0].headers["retry-after"] == "1"
        most = "is waiting to be written: at most 200 requests and 20,000 trials and rewards may wait at once"
        assert refused[0].json()["detail"] == f"Too much of this key {most}"
        assert [response.status_code for response in others] == [429, 429, 200, 200]
        assert others[1].json()["detail"] == f"Too much of this experiment {most}"
        assert (done.count(200), done.count(429)) == (10 + 199, 250 + 11)
        assert client.get("/readyz").status_code == 200
        assert client.app.service.writer.backlog._actors == {}
        assert client.post(f"{places[0]}/ask", json={"n": 2_000}).status_code == 200


async def answered(calls: list[asyncio.Future[Any]], count: int) -> list[Any]:
    """The first answers, once there are so many."""
    while sum(call.done() for call in calls) < count:
        await asyncio.sleep(0.01)
    return [call.result() for call in calls if call.done()]


def test_of_one_experiment_so_much_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "MAX_EACH", 3)
    found = backlog.Backlog()
    entries = [found.add(Ask("a", actor=str(number))) for number in range(3)]
    with pytest.raises(Refusal, match="Too much of this experiment is waiting to be written: at most 3 requests"):
        found.add(Ask("a", actor="3"))
    found.add(Ask("a"))  # of the server itself
    found.add(Ask("b", actor="3"))
    for entry in entries[:2]:
        found.remove(entry)
    found.add(Ask("a", actor="3"))


def test_people_get_at_an_experiment_of_which_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not without bound: their keys have a share, too."""
    monkeypatch.setattr(backlog, "MAX_EACH", 3)
    found = backlog.Backlog()
    for number in range(3):
        found.add(Ask("a", actor=str(number)))
    with pytest.raises(Refusal, match="Too much of this experiment"):
        found.add(Void("a", tickets=[1], actor="admin"))
    for operation in (Close, Pause, Resume):
        found.add(operation("a", actor="admin"))
    found.add(SwitchOff("a", arm="x", actor="another"))
    with pytest.raises(Refusal, match="Too much of this key"):
        found.add(Close("a", actor="admin"))


def test_creating_experiments_does_not_hold_up_those_of_other_keys() -> None:
    found = backlog.Backlog()
    entries = [found.add(lambda ledger: None, actor) for actor in ("one", "one", "two", None)]
    assert [entry.lane for entry in entries] == ["key one", "key one", "key two", ""]


def test_nothing_waits_for_a_writer_that_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was waiting is answered, and what comes then is refused."""

    def take(self: Turns) -> Any:
        raise ZeroDivisionError

    with running(address(tmp_path)) as client:
        at = create(client)
        monkeypatch.setattr(Turns, "take", take)
        answers = together(client, [(f"{at}/ask", {})] * 5)
        assert {response.status_code for response in answers} == {503}
        refused = client.post(f"{at}/ask", json={})
        assert (refused.status_code, refused.json()["detail"]) == (503, "Nothing can be written: restart the service")
        assert client.get("/readyz").json()["detail"] == "Nothing can be written: restart the service"
        assert client.get(at).status_code == 200


def test_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        together(client, [(f"{at}/ask", {})] * 10)
        before = client.get(at).json()
    with running(address(tmp_path)) as client:
        assert client.get(at).json() == before
        assert client.post(f"{at}/ask", json={}).json()["tickets"][0]["ticket"].startswith("10-")
