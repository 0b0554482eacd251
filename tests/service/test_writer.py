"""Group commit: many requests share a transaction, and none pays for another."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from fairbai.service.domain.asking import Ask
from fairbai.service.domain.book import Book
from fairbai.service.reading.verify import verify
from fairbai.service.writing import writer
from fairbai.service.writing.ledger import Ledger
from tests.service.running import Local, address, create, opened, running


def together(client: Local, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Responses of requests that are sent at once."""

    async def send() -> list[Any]:
        return await asyncio.gather(*(client.http.post(path, json=form) for path, form in calls))

    found: list[Any] = client.wait(send())
    return found


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
    monkeypatch.setattr(writer, "MAX_WAITING_ROWS", 100)
    go_on, real = threading.Event(), Ledger.run

    def run(self: Ledger, operations: Any) -> Any:
        assert go_on.wait(60)
        return real(self, operations)

    with running(address(tmp_path)) as client:
        at = create(client)
        monkeypatch.setattr(Ledger, "run", run)

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


def test_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        together(client, [(f"{at}/ask", {})] * 10)
        before = client.get(at).json()
    with running(address(tmp_path)) as client:
        assert client.get(at).json() == before
        assert client.post(f"{at}/ask", json={}).json()["tickets"][0]["ticket"].startswith("10-")
