"""Asks that say which arms are available: chosen, counted, audited and replayed as they were."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from fairbai.client import AsyncClient, Client, Ticket
from fairbai.client.calls import ask as client_call
from fairbai.service.domain.book import Book
from fairbai.service.domain.encoding import encode
from fairbai.service.storage.keys import create_key
from tests.service.running import Local, address, ask, create, running, tell
from tests.service.test_log import differences
from tests.service.test_promises import book_of

QUEUES: dict[str, Any] = {"kind": "virtual_queues", "eta": 1.0}


def read_again(book: Book) -> Book:
    return Book.read(encode(book.config), book.row()["state"])


def test_floors_are_shares_of_the_trials_in_which_an_arm_was_available() -> None:
    floors, rng = np.array([0.4, 0.1, 0.0, 0.3]), np.random.default_rng(0)
    book = book_of(floors={"kind": "constant", "floor": floors.tolist()}, sampling=QUEUES)
    counts, chances, worst, trials = np.zeros(4), np.zeros(4), np.zeros(4), 0
    for number in range(150):
        some = (
            None if number < 20 or number % 7 == 0 else sorted(rng.choice(4, int(rng.integers(1, 5)), False).tolist())
        )
        arms = book.ask(int(rng.integers(1, 4)), some)
        assert some is None or set(arms) <= set(some)
        for arm in arms:
            worst = np.maximum(worst, floors * chances - counts)
            chances[range(4) if some is None else some] += 1
            counts[arm] += 1
            trials += 1
        book.tell(arms, rng.normal(size=len(arms)).tolist(), [], 0)
        book = read_again(book) if number % 10 == 0 else book
    assert (trials - np.array(book.skipped)).tolist() == chances.tolist()
    assert book.promises.behind() == pytest.approx(np.maximum(worst, floors * chances - counts), abs=1e-5)
    assert book.promises.most_behind(trials) == [math.sqrt(4.0 * trials)] * 4
    assert book.promises.kept_on_every_path()
    assert read_again(book).promises.to_dict() == book.promises.to_dict()


def test_a_bound_that_is_not_kept_is_noticed_when_it_happens_and_stays_so() -> None:
    book = book_of(floors={"kind": "constant", "floor": [0.9, 0.0, 0.0, 0.0]}, sampling={**QUEUES, "eta": 0.0})
    book.promises.assign([0], [0, 1])
    for _ in range(9):
        book.promises.assign([1])  # which the rule would not do
    assert not book.promises.kept_on_every_path()
    book.promises.assign([0] * 100)
    assert not book.promises.kept_on_every_path()


def test_a_bound_that_is_not_kept_stays_so_when_its_arm_is_switched_off() -> None:
    book = book_of(floors={"kind": "constant", "floor": [0.9, 0.0, 0.0, 0.0]})
    book.promises.assign([1] * 9)  # which the rule would not do
    book.promises.release(0)
    assert not book.promises.kept_on_every_path()


def test_over_http(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, sampling=QUEUES, delta=0.4)
        while not (status := client.get(at).json())["stopped"]:
            among = {} if status["trials"] % 3 == 0 else {"available": ["c", "b", "c"]}
            answer = client.post(f"{at}/ask", json=among).json()
            arms = {ticket["arm"] for ticket in answer["tickets"]}
            assert not among or arms <= {"b", "c"}
            tell(client, at, {ticket["ticket"]: float(ticket["arm"] == "b") for ticket in answer["tickets"]})
        arms, trials = client.get(at).json()["arms"], status["trials"]
        assert [arm["available"] == trials for arm in arms] == [False, True, True]
        audit = client.get(f"{at}/audit").json()
        assert audit["kept"]
        assert audit["arms"][0]["available"] == arms[0]["available"] < trials
        assert audit["arms"][0]["behind_allowed"] == math.sqrt(4.0 * audit["decided_after"])
        assert "20 % of the trials in which it was available" in " ".join(audit["promise"]["sentences"])
        assert f"“a” was available in {arms[0]['available']} of {trials} trials." in audit["findings"]
        assert "in which it was available" in client.get(f"{at}/summary").json()["sentence"]
        lines = client.get(f"{at}/events", params={"format": "ndjson"}).text.splitlines()
        assert json.loads(json.loads(lines[3])["detail"]) == {"available": ["b", "c"]}
        served = {"serve_winner": True, "available": ["b"]}
        assert client.post(f"{at}/ask", json=served).json()["tickets"][0]["arm"] == "b"
        assert refusal(client, at, **served | {"available": ["a"]}) == (
            409,
            "The experiment has stopped; its recommendation is 'b', which is not in available",
        )
    assert differences(tmp_path) == [[]]


def test_the_same_key_needs_the_same_arms(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, sampling=QUEUES)
        sent = [client_call("x", 2, False, available=given) for given in (("a", "b"), ["b", "a"], ["b"])]
        first, again, other = (
            client.post(f"{at}/ask", json=call.json, headers={"Idempotency-Key": "k"}) for call in sent
        )
        assert first.json() == again.json()
        assert other.status_code == 409
        assert "an ask of n = 2 among 'a', 'b', got an ask of n = 2 among 'b'" in other.json()["detail"]


def test_clients(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        key = create_key(client.app.service.database, "admin")
        at = create(client, sampling=QUEUES).rpartition("/")[2]

        async def by_the_client() -> list[Ticket]:
            async with AsyncClient("http://test", key, transport=httpx.ASGITransport(client.app)) as other:
                return await other.ask(at, 9, available=["b", "c"])

        def answer(request: httpx.Request) -> httpx.Response:
            found = client.request(request.method, request.url.path, content=request.read())
            return httpx.Response(found.status_code, content=found.content)

        with Client("http://test", key, transport=httpx.MockTransport(answer)) as other:
            given = [*client.wait(by_the_client()), *other.ask(at, 9, available=("b", "c"))]
            with pytest.raises(ValueError, match="available must be a list of arms, got 'bc'"):
                other.ask(at, available="bc")
        assert len(given) == 18
        assert {ticket.arm for ticket in given} == {"b", "c"}


def refusal(client: Local, at: str, **form: Any) -> tuple[int, str]:
    answer = client.post(f"{at}/ask", json=form)
    return answer.status_code, answer.json()["detail"]


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at, usual = create(client, sampling=QUEUES), create(client)
        drawn = create(client, family="bernoulli", stopping="design_based")
        assert refusal(client, usual, available=["a"]) == (
            422,
            "available must be left out: the floors of fair_top_two are proved for arms that are always available. The "
            "sampling rule virtual_queues can skip arms",
        )
        assert refusal(client, drawn, available=["a"])[0] == 422
        assert refusal(client, at, available=["z"]) == (404, "This experiment has no arm 'z'")
        assert refusal(client, at, available=[])[0] == 422
        assert refusal(client, at, available=["a"], unit="u") == (
            422,
            "available must be left out with a unit, which keeps its arm",
        )
        client.post(f"{usual}/close")
        assert refusal(client, usual, available=["a"], serve_winner=True)[0] == 422  # also after the end
        client.post(f"{at}/switch-off", json={"arm": "a", "reason": "broken"})
        assert refusal(client, at, available=["a"]) == (409, "All arms in available are switched off")
        assert client.get(at).json()["trials"] == 0
        assert ask(client, at, 1)
