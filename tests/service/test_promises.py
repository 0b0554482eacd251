"""What is kept of the promised shares: watched as trials are assigned, and the same as in the log."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, select, update

from fairbai.service.domain.book import Book, encode, new_book
from fairbai.service.reading.verify import verify
from fairbai.service.storage.database import open_database
from fairbai.service.storage.schema import experiments
from fairbai.service.storage.upgrades import upgrade
from tests.service.earlier import take_back
from tests.service.running import Local, address, create, opened, play, running

BOUNDED = {"kind": "bounded", "floor": 0.1, "ceiling": 0.5, "groups": [{"arms": [0, 1], "floor": 0.6}]}
TRACKED = {"kind": "fair_track_and_stop", "tracking": "cumulative"}
CROWDED = {"kind": "bounded", "floor": 0.1, "groups": [{"arms": [2, 3], "ceiling": 0.4}, {"arms": [0], "floor": 0.3}]}
CONFIG = {
    "delta": 1e-9,
    "family": {"kind": "gaussian", "variance": 1.0},
    "stopping": "mixture",
    "settle": True,
    "seed": 1,
    "lease": None,
}


def book_of(arms: int = 4, floors: Any = None, sampling: Any = "fair_top_two", **changes: Any) -> Book:
    floors = {"kind": "constant", "floor": 0.15} if floors is None else floors
    names = [f"arm {number}" for number in range(arms)]
    return new_book({"arms": names, "floors": floors, "sampling": sampling, **CONFIG, **changes})


def trials(book: Book, count: int, rng: Any, largest: int = 5) -> list[int]:
    """Assign trials, some at a time; returns the arms."""
    given: list[int] = []
    while len(given) < count and not book.stopped:
        arms = book.ask(int(rng.integers(1, largest + 1)))
        given += arms
        book.tell(arms, (rng.normal(size=len(arms)) + np.array(arms) * 0.3).tolist(), [], 0)
    return given


def furthest_behind(floors: Any, given: list[int], arms: int) -> list[float]:
    """The slow way."""
    counts, worst = np.zeros(arms), np.zeros(arms)
    for number, arm in enumerate(given, 1):
        counts[arm] += 1
        worst = np.maximum(worst, np.array(floors) * number - counts)
    found: list[float] = worst.tolist()
    return found


@pytest.mark.parametrize(
    "sampling", ["fair_top_two", TRACKED, {**TRACKED, "start": "policy"}, "uniform_fair", "top_two"]
)
def test_the_worst_of_every_arm_is_that_of_its_whole_path(sampling: Any) -> None:
    floors = [0.4, 0.05, 0.0, 0.3]
    book = book_of(floors={"kind": "constant", "floor": floors}, sampling=sampling)
    given = trials(book, 400, np.random.default_rng(0))
    assert book.promises.behind() == pytest.approx(furthest_behind(floors, given, 4))
    if book.promises.on_every_path:
        assert book.promises.kept_on_every_path()
    assert book.promises.on_every_path == (sampling not in ("uniform_fair", "top_two"))


def test_ceilings_and_groups() -> None:
    book = book_of(floors=BOUNDED)
    given = trials(book, 300, np.random.default_rng(1))
    counts, above, group = np.zeros(4), np.full(4, -np.inf), 0.0
    for number, arm in enumerate(given, 1):
        counts[arm] += 1
        above = np.maximum(above, counts - 0.5 * number)
        group = max(group, 0.6 * number - counts[:2].sum())
    assert book.promises.above() == pytest.approx(np.maximum(above, 0.0))
    assert book.promises.groups_behind() == pytest.approx([group])
    assert book.promises.kept_on_every_path()
    late = book_of(floors=BOUNDED, sampling=TRACKED)
    assert not late.promises.on_every_path  # one pull of each arm may be more than a ceiling allows


@pytest.mark.parametrize("sampling", ["fair_top_two", {**TRACKED, "start": "policy"}])
def test_ceilings_of_groups(sampling: Any) -> None:
    book = book_of(floors=CROWDED, sampling=sampling)
    given = trials(book, 80, np.random.default_rng(1))
    counts, above, behind = np.zeros(4), 0.0, 0.0
    for number, arm in enumerate(given, 1):
        counts[arm] += 1
        above = max(above, counts[2:].sum() - 0.4 * number)
        behind = max(behind, 0.3 * number - counts[0])
    assert above > 0.0 or sampling != "fair_top_two"  # the other mixes with shares well below the ceiling
    assert book.promises.group_ceilings == [0.4, 1.0]
    assert book.promises.groups_above() == pytest.approx([above, 0.0])
    assert book.promises.groups_behind() == pytest.approx([0.0, behind])
    assert book.promises.kept_on_every_path()
    book.promises.assign([3] * 20)  # as if a rule had gone wrong
    assert book.promises.groups_above()[0] > 9.0
    assert not book.promises.kept_on_every_path()


def test_what_was_written_without_ceilings_of_groups_stays_as_it_is() -> None:
    form = book_of(floors=BOUNDED).promises.to_dict()
    assert form is not None
    assert set(form) == {"behind", "batched", "above", "groups"}
    crowded = book_of(floors=CROWDED).promises.to_dict()
    assert crowded is not None
    assert set(crowded) == {"behind", "batched", "above", "groups", "groups_above"}


def test_ceilings_of_groups_at_the_stop_and_in_batches() -> None:
    book = book_of(floors=CROWDED)
    book.tell_batch([30, 10, 40, 20], [0.0] * 4)
    assert book.promises.groups_above() == pytest.approx([20.0, 0.0])
    assert max(book.promises.beyond([30, 10, 40, 20])) == pytest.approx(20.0)
    assert max(book.promises.beyond([30, 30, 20, 20])) <= 1e-9


@pytest.mark.parametrize("rates", [None, BOUNDED, CROWDED, {"kind": "gap", "p0": 0.5}, "constant"])
def test_a_book_that_is_read_again_goes_on_the_same(rates: Any) -> None:
    book, rng = book_of(floors=rates), np.random.default_rng(2)
    trials(book, 57, rng)
    again = Book.read(encode(book.config), book.row()["state"])
    assert again.row()["state"] == book.row()["state"]
    for one in (book, again):
        trials(one, 50, np.random.default_rng(3))
    assert again.row()["state"] == book.row()["state"]


def test_batches_are_judged_at_the_stop() -> None:
    book = book_of(arms=2, floors={"kind": "constant", "floor": 0.4})
    assert book.row()["floors_kept"] is True
    book.tell_batch([100, 0], [0.0, 0.0])
    assert book.promises.behind() == [0.0, 40.0]
    book.tell_batch([0, 100], [0.0, 0.0])
    assert book.promises.behind() == [0.0, 40.0]
    assert book.row()["floors_kept"] is None
    book.close()
    assert book.row()["floors_kept"] is None  # who closes it takes what there is
    short = book_of(arms=2, floors={"kind": "constant", "floor": 0.4}, settle=False)
    short.tell_batch([1000, 100], [1000.0, 0.0])
    assert short.stopped
    assert short.row()["floors_kept"] is False


def test_learned_floors_are_judged_at_the_stop() -> None:
    book = book_of(arms=3, floors={"kind": "inverse_gap", "p0": 0.6}, delta=0.1)
    trials(book, 5, np.random.default_rng(4))
    assert book.row()["floors_kept"] is None
    trials(book, 5000, np.random.default_rng(4))
    assert book.stopped
    assert book.row()["floors_kept"] is True
    assert not book.promises.watched


def test_settling_in_one_go_is_not_held_against_the_rule() -> None:
    """Floors that sum to nearly 1 take many trials to settle, which go to one arm after the other."""
    book = book_of(arms=3, floors={"kind": "constant", "floor": [0.5, 0.3, 0.199]}, delta=0.3)
    rng = np.random.default_rng(5)
    while not book.identifier.decided:
        trials(book, 1, rng, largest=1)
    before = book.promises.behind()
    trials(book, 10_000, rng)
    assert book.stopped
    assert book.promises.behind() == before
    assert book.row()["floors_kept"] is True


def test_a_broken_promise_is_seen() -> None:
    book = book_of()
    trials(book, 100, np.random.default_rng(6))
    book.promises.assign([0] * 50)  # as if a rule had gone wrong
    assert not book.promises.kept_on_every_path()
    assert book.row()["floors_kept"] is False


def test_progress_goes_from_nothing_to_one() -> None:
    book, rng = book_of(delta=0.1), np.random.default_rng(7)
    assert book.row()["progress"] is None
    seen = []
    while not book.stopped:
        trials(book, 1, rng)
        book.point()
        seen.append(book.row()["progress"])
    assert seen[-1] == 1.0
    assert all(0.0 <= value <= 1.0 for value in seen if value is not None)
    assert book.row()["floors_kept"] is True


# --- in databases -----------------------------------------------------------------------------------------------


def some(client: Local) -> list[str]:
    """Experiments of all kinds; returns their addresses."""
    found = [
        create(client),
        create(client, floors={"kind": "inverse_gap", "p0": 0.6}),
        create(client, arms=["a", "b", "c", "d"], floors=BOUNDED, delta=1e-9),
        create(client, floors="constant"),
        create(client, delta=1e-9),
        create(client, arms=["a", "b", "c", "d"], floors=CROWDED, delta=1e-9),
    ]
    for number, at in enumerate(found):
        play(client, at, 40, seed=number)
    client.post(f"{found[3]}/close")
    body = {"batch": "one", "pulls": {"a": 30, "b": 5}, "sums": {"a": 10.0, "b": 1.0}}
    assert client.post(f"{found[4]}/batches", json=body).status_code == 200
    return [*found, create(client)]


def test_verify_notices_another_worst(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client:
        some(client)
    with opened(url) as database:
        assert [differences for _, differences in verify(database) if differences] == []
    with sqlite3.connect(tmp_path / "test.db") as connection:
        name, written = connection.execute("SELECT id, state FROM experiments WHERE state LIKE '%behind%'").fetchone()
        state = json.loads(written)
        state["promises"]["behind"][0] = 99.0
        connection.execute("UPDATE experiments SET state = ? WHERE id = ?", (encode(state), name))
    connection.close()
    with opened(url) as database:
        assert [len(differences) for experiment, differences in verify(database) if experiment == name] == [1]


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.system)])
def test_an_older_database_is_completed_from_its_log(request: pytest.FixtureRequest, kind: str) -> None:
    url = request.getfixturevalue(kind)
    with running(url) as client:
        some(client)
        wanted = client.get("/v1/experiments?sort=name").json()["experiments"]
    take_back(url, "0001")
    database = open_database(url)
    with database.writer.begin() as connection:
        _make_old(connection)
    upgrade(database)
    assert [differences for _, differences in verify(database) if differences] == []
    database.close()
    with running(url) as client:
        found = client.get("/v1/experiments?sort=name").json()["experiments"]
        for line in (*wanted, *found):
            for name in ("progress", "confidence"):  # those of the last look, or of now
                value = line.pop(name)
                assert value is None or 0.0 <= value <= 1.0
        assert found == wanted


def _make_old(connection: Connection) -> None:
    """States as the first version wrote them."""
    for name, written in connection.execute(select(experiments.c.id, experiments.c.state)).all():
        state = json.loads(written)
        del state["promises"], state["digest"]
        connection.execute(update(experiments).where(experiments.c.id == name).values(state=encode(state)))
