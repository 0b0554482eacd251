"""Units keep their arm and their ticket: what they get, when, and what of them is stored."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, select, text, update

from fairbai.service.domain.marks import Marks, mark_of
from fairbai.service.domain.units import UnitName
from fairbai.service.storage.failures import DatabaseError
from fairbai.service.storage.schema import experiments, metadata, units
from fairbai.service.storage.secret import unit_key
from fairbai.service.writing import visits
from tests.service.earlier import take_back
from tests.service.running import Local, address, create, opened, running, tell
from tests.service.test_interventions import differences, refused

OPEN = {"lease": None}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with running(address(tmp_path_factory.mktemp("units"))) as found:
        yield found


def visit(client: Local, at: str, unit: str, **form: Any) -> dict[str, Any]:
    response = client.post(f"{at}/ask", json={"unit": unit, **form})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def of(found: dict[str, Any]) -> tuple[str, str]:
    """The ticket and the arm of an answer."""
    (ticket,) = found["tickets"]
    return ticket["ticket"], ticket["arm"]


def decide(client: Local, at: str, visitors: int = 400) -> dict[str, tuple[str, str]]:
    """Let new visitors come until the experiment has stopped; returns what each got before."""
    rng, came = random.Random(1), dict[str, tuple[str, str]]()
    for number in range(visitors):
        found = visit(client, at, f"early-{number}")
        if found["reason"] == "winner":
            return came
        assert found["reason"] == "assigned"
        ticket, arm = came[f"early-{number}"] = of(found)
        tell(client, at, {ticket: rng.gauss(3.0 * (arm == "a"), 1.0)})
    raise AssertionError("it must decide")


def test_a_unit_keeps_its_arm_and_its_ticket(client: Local) -> None:
    at = create(client, **OPEN)
    first = visit(client, at, "user-7")
    assert (first["reason"], first["winner"], first["expires_at"]) == ("assigned", False, None)
    others = [of(visit(client, at, f"user-{number}")) for number in range(7)]
    assert len({ticket for ticket, _ in others}) == 7
    again = visit(client, at, "user-7")
    assert (of(again), again["reason"]) == (of(first), "returning")
    tell(client, at, {of(first)[0]: 1.0})
    assert of(visit(client, at, "user-7")) == of(first)
    status = client.get(at).json()
    assert (status["trials"], status["observed"], status["units"]) == (8, 1, 8)
    assert differences(client, at) == []


def test_first_visits_at_the_same_time_get_one_ticket(client: Local) -> None:
    at = create(client, **OPEN)

    async def all_at_once() -> list[Any]:
        form = [{"unit": f"user-{number % 5}"} for number in range(100)]
        return await asyncio.gather(*(client.http.post(f"{at}/ask", json=one) for one in form))

    got = [of(response.json()) for response in client.wait(all_at_once())]
    print(f"\n{len(got)} first visits of {len(set(got))} units at the same time, each unit with one ticket and one arm")
    assert got == got[:5] * 20
    assert client.get(at).json()["trials"] == len(set(got)) == 5


def test_another_experiment_knows_it_by_another_hash() -> None:
    names = [UnitName.of(key, experiment, "user-7") for key in (b"k", b"l") for experiment in ("a1", "a2")]
    assert len({name.hash for name in names}) == len({name.point for name in names}) == 4
    assert all(len(name.hash) == 22 and 0.0 <= name.point < 1.0 for name in names)
    points = [UnitName.of(b"k", "a1", f"user-{number}").point for number in range(4000)]
    assert abs(sum(point < 0.2 for point in points) - 800) < 5 * 25.3  # standard deviations


def test_wrong_units(client: Local) -> None:
    at = create(client)
    assert refused(client, f"{at}/ask", unit="")[2] == "unit must not be empty"
    assert refused(client, f"{at}/ask", unit=7)[2] == "unit must be text"  # a refusal does not repeat a unit
    assert refused(client, f"{at}/ask", unit="u", n=2)[2] == "n must be 1 with a unit, which has one trial, got 2"
    assert refused(client, "/v1/experiments/abc/ask", unit="u")[:2] == (404, "No such experiment")
    assert (
        refused(
            client,
            "/v1/experiments",
            name="x",
            arms=["a", "b"],
            delta=0.1,
            family={"kind": "gaussian", "variance": 1.0},
            enrol=0.0,
        )[0]
        == 422
    )


@pytest.mark.parametrize("after_stop", ["stay", "move"])
def test_after_the_stop(client: Local, after_stop: str) -> None:
    at = create(client, after_stop=after_stop, **OPEN)
    came = decide(client, at)
    trials = client.get(at).json()["trials"]
    new = visit(client, at, "late")
    assert (of(new), new["winner"], new["reason"]) == (("winner", "a"), True, "winner")
    for unit, before in came.items():
        expected = before if after_stop == "stay" else ("winner", "a")
        assert of(visit(client, at, unit)) == expected
    assert client.get(at).json()["trials"] == trials == len(came)
    assert differences(client, at) == []
    assert client.request("DELETE", at).status_code == 200
    for unit in ("late", "early-0"):
        assert refused(client, f"{at}/ask", unit=unit)[:2] == (404, "No such experiment")


def test_without_a_decision_new_units_are_refused_and_others_stay(client: Local) -> None:
    at = create(client, after_stop="move", max_trials=3, **OPEN)
    came = [visit(client, at, f"user-{number}") for number in range(3)]
    status, title, _ = refused(client, f"{at}/ask", unit="new")
    assert (status, title) == (409, "The experiment is over")
    for number, one in enumerate(came):
        assert of(visit(client, at, f"user-{number}")) == of(one)
        tell(client, at, {of(one)[0]: float(number)})
    leader = visit(client, at, "new", serve_winner=True)
    assert (leader["reason"], of(leader)[0], leader["winner"]) == ("leader", "leader", False)
    assert client.post(f"{at}/close").status_code == 200
    assert of(visit(client, at, "user-0")) == of(came[0])


def test_paused(client: Local) -> None:
    at = create(client, **OPEN)
    before = visit(client, at, "user-7")
    client.post(f"{at}/pause")
    assert of(visit(client, at, "user-7")) == of(before)
    assert refused(client, f"{at}/ask", unit="new")[:2] == (409, "The experiment is paused")
    client.post(f"{at}/resume")
    assert visit(client, at, "new")["reason"] == "assigned"


def test_a_share_of_the_units_is_enrolled(client: Local) -> None:
    at = create(client, enrol=0.3, **OPEN)
    key, name = unit_key(client.app.service.database), at.rpartition("/")[2]
    points = [UnitName.of(key, name, f"user-{number}").point for number in range(60)]
    reasons = [visit(client, at, f"user-{number}")["reason"] for number in range(60)]
    assert reasons == ["assigned" if point < 0.3 else "not_enrolled" for point in points]
    enrolled = reasons.count("assigned")
    assert 0 < enrolled < 60
    again = [visit(client, at, f"user-{number}") for number in range(60)]
    expected = ["returning" if reason == "assigned" else reason for reason in reasons]
    assert [one["reason"] for one in again] == expected
    assert all(one["tickets"] == [] for one in again if one["reason"] == "not_enrolled")
    assert client.get(at).json()["trials"] == enrolled
    assert client.post(f"{at}/ask", json={}).status_code == 200  # without a unit everybody takes part


def test_an_arm_that_is_switched_off_is_not_shown_again(client: Local) -> None:
    at = create(client, floors=0.1, **OPEN)
    came = {f"user-{number}": of(visit(client, at, f"user-{number}")) for number in range(9)}
    broken = next(arm for _, arm in came.values() if arm != "a")
    assert client.post(f"{at}/switch-off", json={"arm": broken, "reason": "broken"}).status_code == 200
    for unit, before in came.items():
        found = visit(client, at, unit)
        if before[1] == broken:
            assert (found["tickets"], found["reason"]) == ([], "switched_off")
        else:
            assert of(found) == before
    decide(client, at)
    kept = next(unit for unit, (_, arm) in came.items() if arm != broken)
    assert of(visit(client, at, kept)) == came[kept]
    moved = next(unit for unit, (_, arm) in came.items() if arm == broken)
    assert visit(client, at, moved)["reason"] == "winner"
    assert differences(client, at) == []


def test_with_probabilities(client: Local) -> None:
    at = create(client, stopping="design_based", family="bernoulli")
    first, again = visit(client, at, "user-7"), visit(client, at, "user-7")
    assert first["tickets"] == again["tickets"]
    assert 0.0 < first["tickets"][0]["probability"] < 1.0


def test_no_unit_is_stored_and_verify_sees_what_is(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client, **OPEN)
        for number in range(5):
            visit(client, at, f"very-personal-{number}")
        database = client.app.service.database
        with database.reader.connect() as connection:
            stored = [
                str(tuple(row)) for table in metadata.tables.values() for row in connection.execute(select(table))
            ]
        assert not any("very-personal" in row for row in stored)
        with database.writer.begin() as connection:
            names = connection.execute(select(units.c.hash).order_by(units.c.number)).scalars().all()
            swap = update(units).where(units.c.hash == names[0])
            connection.execute(swap.values(number=1))
        assert differences(client, at) == ["a unit has another ticket than the log gave it"]
        with database.writer.begin() as connection:
            connection.execute(swap.values(number=0))
        assert differences(client, at) == []
        with database.writer.begin() as connection:
            connection.execute(delete(units).where(units.c.hash == names[0]))
        assert differences(client, at) == ["there are 4 units, replayed 5"]
        assert client.request("DELETE", at).status_code == 200


def test_the_sum_of_marks() -> None:
    marks = [mark_of(f"unit-{number}", number, number) for number in range(3)]
    assert len(set(marks)) == 3
    every, two = Marks(), Marks()
    for mark in marks:
        every.add(mark)
    for mark in marks[1:]:
        two.add(mark)
    every.remove(two)
    one = Marks()
    one.add(marks[0])
    assert every == one == Marks.read(one.to_list())  # type: ignore[arg-type]
    assert Marks.read(None) == Marks()


def test_the_key_of_a_database(tmp_path: Path) -> None:
    with opened(address(tmp_path)) as database:
        own = unit_key(database)
        assert unit_key(database) == own
        given = unit_key(database, "from elsewhere")  # no unit is stored yet
        assert unit_key(database, "from elsewhere") == given != own
        with pytest.raises(DatabaseError, match="hashed with a secret: give --unit-secret"):
            unit_key(database)
        with pytest.raises(DatabaseError, match=r"with another secret, and each would be new: give that one$"):
            unit_key(database, "another")


def test_the_key_of_stored_units_stays(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        visit(client, create(client), "user-7")
        with pytest.raises(DatabaseError, match="which is its own: leave --unit-secret out"):
            unit_key(client.app.service.database, "a secret")
        with client.app.service.database.reader.connect() as connection:
            assert len(connection.execute(text("SELECT value FROM secrets WHERE name = 'unit_key'")).scalar_one()) == 64


def test_a_lost_connection_is_replaced(client: Local) -> None:
    at = create(client, **OPEN)
    first = visit(client, at, "user-7")
    for _ in range(2):
        kept = client.app.service.visits._connection
        assert kept is not None
        kept.connection.driver_connection.close()
        again = visit(client, at, "user-7")
        assert (of(again), again["reason"]) == (of(first), "returning")


def test_many_experiments_are_forgotten_at_once(client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "MAX_REMEMBERED", 1)
    one, two = create(client, **OPEN), create(client, **OPEN)
    got = [of(visit(client, at, "user-7")) for at in (one, two, one, two)]
    assert got[:2] == got[2:]


def test_an_earlier_database_knows_which_arms_are_switched_off(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client:
        at = create(client, floors=0.1)
        create(client)
        assert client.post(f"{at}/switch-off", json={"arm": "b", "reason": "broken"}).status_code == 200
    take_back(url, "0006")
    with opened(url) as database, database.reader.connect() as connection:
        found = connection.execute(select(experiments.c.switched_off)).scalars().all()
    assert set(found) == {None, "[1]"}
