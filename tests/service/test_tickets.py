"""Tickets: nobody can guess one, and those of a history that was lost are never credited."""

from __future__ import annotations

import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairbai.service.domain import tickets
from fairbai.service.domain.asking import Ask
from fairbai.service.domain.tickets import Claim
from fairbai.service.reading.verify import verify
from fairbai.service.storage.keys import create_key
from fairbai.service.writing.ledger import Ledger
from tests.service.earlier import take_back
from tests.service.running import Local, address, ask, create, opened, running, tell

LOST = "Ticket of a lost history"
Ticket = dict[str, str]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Local]:
    with running(address(tmp_path)) as found:
        yield found


def told(client: Local, at: str, *names: str, reward: float = 1.0) -> httpx.Response:
    """The answer to rewards of some tickets."""
    return client.post(f"{at}/tell", json={"rewards": [{"ticket": name, "reward": reward} for name in names]})


def assert_lost(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["title"]) == (410, LOST), answer.text
    assert "restored from a backup" in answer.json()["detail"]


def copied(source: Path, target: Path) -> None:
    """Copy a database as SQLite does it, into the same file if there is one."""
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as other:
        one.backup(other)


def verified(folder: Path) -> None:
    with opened(address(folder)) as database:
        assert [differences for _, differences in verify(database) if differences] == []


def test_tickets_of_a_lost_history_are_refused(tmp_path: Path) -> None:
    """Backup, 20 asks, restore, 20 asks: the numbers are the same, most arms are not, and nothing is credited."""
    with running(address(tmp_path)) as client:
        at = create(client, delta=1e-9)
        before = ask(client, at, 12)
        copied(tmp_path / "test.db", tmp_path / "backup.db")
        tell(client, at, {ticket["ticket"]: 3.0 * (ticket["arm"] == "a") for ticket in before})
        lost = [one for _ in range(20) for one in ask(client, at)]
    copied(tmp_path / "backup.db", tmp_path / "test.db")
    with running(address(tmp_path)) as client:
        tell(client, at, {ticket["ticket"]: 3.0 * (ticket["arm"] == "b") for ticket in before})
        after = [one for _ in range(20) for one in ask(client, at)]
        numbers = [[one["ticket"].split("-")[0] for one in some] for some in (lost, after)]
        assert numbers[0] == numbers[1]
        assert sum(one["arm"] != other["arm"] for one, other in zip(lost, after, strict=True)) > 10
        for one in lost:
            assert_lost(told(client, at, one["ticket"]))
        assert_lost(told(client, at, after[0]["ticket"], lost[1]["ticket"]))
        assert client.get(at).json()["observed"] == 12
        assert told(client, at, *(one["ticket"] for one in after)).json()["counted"] == 20
    verified(tmp_path)


def test_a_ticket_is_of_one_experiment(client: Local) -> None:
    one, other = create(client), create(client)
    (ticket,), _ = ask(client, one), ask(client, other)
    assert_lost(told(client, other, ticket["ticket"]))
    assert told(client, one, ticket["ticket"]).status_code == 200


def test_altered_and_bare_tickets_are_refused(client: Local) -> None:
    at = create(client)
    first, second = (one["ticket"] for one in ask(client, at, 2))
    swapped = f"1-{first.partition('-')[2]}"
    for wrong in (swapped, "0", "7-AAAAAAAAAAA", f"0-{second.partition('-')[2]}"):
        assert_lost(told(client, at, second, wrong))
    assert told(client, at, "7").json()["title"] == "No such ticket"
    for wrong in (f"{first}x", first[:-1], f"0{first}", f" {first}", "0-", "-", "0-==========="):
        assert told(client, at, wrong).json()["title"] in ("No such ticket", "Invalid request")
    assert client.get(at).json()["observed"] == 0
    assert told(client, at, first, second).status_code == 200


def test_repeated_ask_has_the_same_tickets_after_a_restart(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at, key = create(client), client.http.headers["Authorization"]
        named = {"Idempotency-Key": "k", "Authorization": key}
        first = client.post(f"{at}/ask", json={"n": 3}, headers=named).json()
    with running(address(tmp_path)) as client:
        ask(client, at, 2)
        assert client.post(f"{at}/ask", json={"n": 3}, headers=named).json() == first
        assert told(client, at, *(one["ticket"] for one in first["tickets"])).json()["counted"] == 3


def test_two_keys_that_use_the_same_name_get_tickets_of_their_own(client: Local) -> None:
    """Such as two services that count their calls: else both would tell the rewards of the same trials."""
    at, database = create(client), client.app.service.database
    keys = [create_key(database, "writer") for _ in range(2)]
    named = [{"Idempotency-Key": "1", "Authorization": f"Bearer {key}"} for key in keys]
    first, second = (client.post(f"{at}/ask", json={}, headers=one).json()["tickets"] for one in named)
    assert first != second
    assert client.post(f"{at}/ask", json={}, headers=named[0]).json()["tickets"] == first
    assert client.post(f"{at}/ask", json={"n": 2}, headers=named[1]).status_code == 409
    assert client.get(at).json()["trials"] == 2


def test_tickets_are_short_random_and_safe_in_cookies(client: Local) -> None:
    names = [one["ticket"] for at in (create(client), create(client)) for one in ask(client, at, 500)]
    assert len({name.split("-", 1)[1] for name in names}) == 1000
    assert all(re.fullmatch(r"\d{1,3}-[A-Za-z0-9_-]{11}", name) for name in names)


@given(number=st.integers(0, 10**15 - 1), token=st.none() | st.integers(0, 2**63 - 1))
def test_tickets_are_read_as_they_are_shown(number: int, token: int | None) -> None:
    assert tickets.read(tickets.shown(number, token)) == Claim(number, token)
    assert len(tickets.shown(number, token)) <= tickets.MAX_TICKET


@given(text=st.text(max_size=30) | st.from_regex(r"\d{1,16}-[A-Za-z0-9_=-]{0,13}", fullmatch=True))
def test_every_text_is_one_ticket_or_none(text: str) -> None:
    found = tickets.read(text)
    assert found is None or tickets.shown(*found) == text


def test_verify_compares_tokens(client: Local, tmp_path: Path) -> None:
    ask(client, create(client), 5)
    with closing(sqlite3.connect(tmp_path / "test.db")) as connection, connection:
        connection.execute("UPDATE tickets SET token = token + 1 WHERE number = 3")
    with opened(address(tmp_path)) as database:
        ((_, (difference,)),) = verify(database)
    assert difference.startswith("ticket 3 is")


def bare(folder: Path, **options: Any) -> tuple[str, list[str]]:
    """An experiment with ten tickets of an earlier version, the first of them told."""
    with running(address(folder)) as client:
        at = create(client, **options)
        given = ask(client, at, 10)
        tell(client, at, {given[0]["ticket"]: 1.0})
    take_back(address(folder), "0005")
    return at, [one["ticket"].split("-")[0] for one in given]


def test_bare_numbers_of_an_earlier_version_stay_valid(tmp_path: Path) -> None:
    at, numbers = bare(tmp_path)
    with running(address(tmp_path)) as client:
        assert told(client, at, *numbers).json()["counted"] == 9
        (new,) = ask(client, at)
        assert_lost(told(client, at, "10"))
        assert told(client, at, new["ticket"]).json()["counted"] == 1
    verified(tmp_path)


def test_bare_numbers_are_valid_until_they_expire(tmp_path: Path) -> None:
    at, numbers = bare(tmp_path, lease=1e-3)
    with running(address(tmp_path)) as client:
        refused = told(client, at, *numbers)
        assert (refused.status_code, refused.json()["title"], refused.json()["ticket"]) == (410, "Ticket expired", "1")
        assert told(client, at, "0").json()["accepted"] == 1  # told before
    verified(tmp_path)


def test_bare_numbers_are_no_tickets_after_a_restore(tmp_path: Path) -> None:
    at, numbers = bare(tmp_path)
    with running(address(tmp_path)) as client:
        with closing(sqlite3.connect(tmp_path / "test.db")) as connection, connection:
            connection.execute("UPDATE experiments SET restores = 1")
        for number in (*numbers, "99"):
            assert_lost(told(client, at, number))


def test_another_history_of_the_same_length_is_noticed(tmp_path: Path) -> None:
    """After a failover another worker may have written as many events as this one remembers."""
    file, copy = tmp_path / "test.db", tmp_path / "backup.db"
    with running(address(tmp_path)) as client:
        experiment = create(client, lease=None).rsplit("/", 1)[1]
    shutil.copy(file, copy)
    with opened(address(tmp_path)) as database:
        one, other = Ledger(database.writer), Ledger(database.writer)
        one.run([Ask(experiment, None, 3)])
        one.close()
        copied(copy, file)
        other.run([Ask(experiment, None, 7)])
        other.close()
        (asked,) = one.run([Ask(experiment, None, 1)])
        assert asked["tickets"][0]["ticket"].startswith("7-")
        one.close()
    verified(tmp_path)
