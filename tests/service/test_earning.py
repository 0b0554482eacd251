"""Units that earn several times within their window, and units that are erased or forgotten."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from fairbai.client import AsyncClient, Client
from fairbai.client.calls import Ticket
from fairbai.service.domain.units import UnitName
from fairbai.service.storage import wiping
from fairbai.service.storage.copies import backup
from fairbai.service.storage.database import open_database
from fairbai.service.storage.keys import create_key
from fairbai.service.storage.schema import units as stored_units
from fairbai.service.storage.secret import unit_key
from fairbai.service.writing.forgetting import forget
from fairbai.service.writing.leases import sweep
from fairbai.service.writing.restoring import restore
from tests.service.postgresql import Cluster
from tests.service.running import Local, address, create, opened, running, tell
from tests.service.test_interventions import differences, expire, number_of, refused
from tests.service.test_units import OPEN, of, visit

DAY = 86_400.0
WINDOW = {"report_after": 1000.0, "silence": 0.0}
BASKETS = {"family": {"kind": "bounded", "low": 0.0, "high": 50.0}, "floors": 0.1}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with running(address(tmp_path_factory.mktemp("earning"))) as found:
        yield found


def earn(client: Local, at: str, *earned: tuple[str, float, str]) -> dict[str, Any]:
    form = [{"unit": unit, "value": value, "event_id": event} for unit, value, event in earned]
    response = client.post(f"{at}/rewards", json={"rewards": form})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def age(client: Local) -> None:
    """Let all windows end."""
    service = client.app.service
    client.wait(sweep(service.database, service.writer, time.time() + 2 * DAY))


def mean_of(client: Local, at: str, arm: str) -> float:
    found: float = next(one["mean"] for one in client.get(at).json()["arms"] if one["arm"] == arm)
    return found


@pytest.mark.parametrize(
    ("config", "values", "reward"),
    [
        ({}, (2.0, 5.0, 3.0), 10.0),
        ({"earnings": "last"}, (2.0, 5.0, 3.0), 3.0),
        ({"earnings": "max"}, (2.0, 5.0, 3.0), 5.0),
        (BASKETS, (20.0, 40.0), 50.0),  # capped
        (BASKETS, (70.0, -30.0), 40.0),  # when it is counted, and not before
        (BASKETS, (-30.0,), 0.0),
        ({"family": "bernoulli"}, (1.0, 0.0), 1.0),
        ({"family": "bernoulli", "earnings": "sum"}, (1.0, 1.0), 1.0),
        ({**BASKETS, "stopping": "design_based"}, (20.0, 40.0), 50.0),
    ],
)
def test_what_a_trial_earns(client: Local, config: dict[str, Any], values: tuple[float, ...], reward: float) -> None:
    at = create(client, **{**WINDOW, **config})
    _, arm = of(visit(client, at, "buyer"))
    visit(client, at, "silent")
    for number, value in enumerate(values):
        answer = earn(client, at, ("buyer", value, f"event-{number}"))
        assert (answer["accepted"], answer["counted"], answer["late"], answer["ignored"]) == (1, 1, 0, 0)
    status = client.get(at).json()
    assert (status["observed"], status["held"], status["pending"]) == (0, 1, 2)
    age(client)
    status = client.get(at).json()
    assert (status["observed"], status["held"], status["pending"]) == (2, 0, 0)
    assert mean_of(client, at, arm) == reward
    assert differences(client, at) == []


def test_the_same_event_counts_once(client: Local) -> None:
    at = create(client, **WINDOW)
    _, arm = of(visit(client, at, "buyer"))
    visit(client, at, "other")
    twice = earn(client, at, ("buyer", 2.0, "order-1"), ("buyer", 2.0, "order-1"))
    assert (twice["accepted"], twice["counted"]) == (2, 1)
    single = client.post(f"{at}/rewards", json={"unit": "buyer", "value": 2.0, "event_id": "order-1"}).json()
    assert (single["accepted"], single["counted"]) == (1, 0)
    for unit, value in (("buyer", 3.0), ("other", 2.0)):
        status, title, detail = refused(client, f"{at}/rewards", unit=unit, value=value, event_id="order-1")
        assert (status, title) == (409, "Key already used")
        assert detail.startswith("This event_id was already used for another unit or value")
    assert earn(client, at, ("buyer", 4.0, "order-2"), ("buyer", 1.0, "order-3"))["counted"] == 2
    age(client)
    assert mean_of(client, at, arm) == 7.0
    late = earn(client, at, ("buyer", 5.0, "order-4"))
    assert (late["counted"], late["late"]) == (0, 1)
    assert (mean_of(client, at, arm), client.get(at).json()["late"]) == (7.0, 1)
    assert differences(client, at) == []
    lines = client.get(f"{at}/events?format=csv").text.splitlines()
    assert sum(",earned," in line for line in lines) == 4


def test_who_cannot_earn(client: Local) -> None:
    without = create(client, **OPEN)
    visit(client, without, "buyer")
    form = {"unit": "buyer", "value": 1.0, "event_id": "e"}
    assert "need an experiment with report_after" in refused(client, f"{without}/rewards", **form)[2]
    at = create(client, **WINDOW, enrol=0.5, max_trials=3)
    key, units = unit_key(client.app.service.database), list(map(str, range(100)))
    enrolled = {unit: UnitName.of(key, at.rpartition("/")[2], unit).point < 0.5 for unit in units}
    outside = next(unit for unit in units if not enrolled[unit])
    assert visit(client, at, outside)["reason"] == "not_enrolled"
    inside, *others = [unit for unit in units if enrolled[unit]][:3]
    assert [visit(client, at, unit)["reason"] for unit in (inside, *others)] == ["assigned"] * 3
    both = earn(client, at, (inside, 1.0, "one"), (outside, 1.0, "two"))
    assert (both["accepted"], both["counted"], both["ignored"]) == (2, 1, 1)
    assert earn(client, at, ("after the end", 1.0, "three"))["ignored"] == 1
    other = create(client, **WINDOW, family="bernoulli")
    visit(client, other, "buyer")
    status, title, detail = refused(client, f"{other}/rewards", **{**form, "unit": "x"})
    assert (status, title) == (404, "No such unit")
    assert detail == "The unit of reward 0 has no trial: it never asked, or it was erased"
    assert "must be 0 or 1" in refused(client, f"{other}/rewards", **{**form, "value": 2.0})[2]
    assert client.get(other).json()["held"] == 0
    both = earn(client, other, ("x", 1.0, "f"), ("buyer", 1.0, "e"))
    assert (both["accepted"], both["counted"], both["ignored"], both["unknown"]) == (2, 1, 0, 1)
    assert client.get(other).json()["held"] == 1
    assert "either unit, value and event_id" in refused(client, f"{other}/rewards", unit="buyer")[2]
    assert differences(client, at, other) == []


def test_a_purchase_in_a_pause(client: Local) -> None:
    """A unit that came in a pause has no trial, which is no mistake; one that has a trial earns."""
    at = create(client, **WINDOW)
    visit(client, at, "before")
    assert client.post(f"{at}/pause").status_code == 200
    assert refused(client, f"{at}/ask", unit="meanwhile")[0] == 409
    form = {"unit": "meanwhile", "value": 1.0, "event_id": "one"}
    single = client.post(f"{at}/rewards", json=form).json()
    assert (single["counted"], single["ignored"], single["unknown"]) == (0, 1, 0)
    both = earn(client, at, ("meanwhile", 1.0, "two"), ("before", 1.0, "three"))
    assert (both["counted"], both["ignored"]) == (1, 1)
    assert client.post(f"{at}/resume").status_code == 200
    assert refused(client, f"{at}/rewards", **form)[0] == 404
    assert differences(client, at) == []


@pytest.mark.parametrize("after_stop", ["stay", "move"])
def test_units_that_are_moved_earn_for_nobody(client: Local, after_stop: str) -> None:
    """What a unit earns after it was moved to the winner is not a reward of the arm that it had before."""
    at = create(client, **WINDOW, after_stop=after_stop)
    waiting = {name: of(visit(client, at, name)) for name in (f"waiting-{number}" for number in range(9))}
    loser = next(name for name, (_, arm) in waiting.items() if arm != "a")
    assert earn(client, at, (loser, 0.5, "before"))["counted"] == 1
    for number in range(400):  # units whose windows end before that of the loser
        found = visit(client, at, f"early-{number}")
        if found["winner"]:
            break
        ticket, arm = of(found)
        earn(client, at, (f"early-{number}", float(arm == "a"), f"early-{number}"))
        expire(client, at, [number_of(ticket)])
    shown = visit(client, at, loser)
    assert shown["reason"] == ("winner" if after_stop == "move" else "returning")
    after = earn(client, at, (loser, 1.0, "after"))
    moved = after_stop == "move"
    assert (after["counted"], after["ignored"], after["late"]) == (int(not moved), int(moved), 0)
    assert earn(client, at, (loser, 0.5, "before"))["counted"] == 0  # known before
    before = client.get(f"{at}/events?format=ndjson").text.count('"earned"')
    assert earn(client, at, (loser, 1.0, "after"))["ignored"] == int(moved)
    assert client.get(f"{at}/events?format=ndjson").text.count('"earned"') == before
    assert differences(client, at) == []


def test_units_of_an_arm_that_is_switched_off_earn_for_nobody(client: Local) -> None:
    at = create(client, **WINDOW)
    came = {name: of(visit(client, at, name))[1] for name in (f"user-{number}" for number in range(9))}
    broken, fine = (next(name for name, arm in came.items() if (arm == "c") is off) for off in (True, False))
    assert client.post(f"{at}/switch-off", json={"arm": "c", "reason": "broken"}).status_code == 200
    found = earn(client, at, (broken, 1.0, "one"), (fine, 1.0, "two"))
    assert (found["counted"], found["ignored"]) == (1, 1)
    assert differences(client, at) == []


def test_tell_is_the_first_of_the_earnings_of_a_unit(client: Local) -> None:
    at = create(client, **WINDOW)
    ticket, arm = of(visit(client, at, "buyer"))
    for _ in range(2):
        assert tell(client, at, {ticket: 0.5})["accepted"] == 1
    assert earn(client, at, ("buyer", 0.25, "order-1"))["counted"] == 1
    status, title, detail = refused(client, f"{at}/tell", rewards=[{"ticket": ticket, "reward": 0.5}])
    assert (status, title, f"Ticket {ticket} already has reward 0.75" in detail) == (409, "Reward already known", True)
    age(client)
    assert mean_of(client, at, arm) == 0.75
    assert differences(client, at) == []


@pytest.mark.parametrize("drawn", [False, True])
def test_voiding_what_a_unit_earned(client: Local, drawn: bool) -> None:
    more = {"stopping": "design_based", **BASKETS} if drawn else {}
    at = create(client, **WINDOW, **more)
    ticket, _ = of(visit(client, at, "buyer"))
    visit(client, at, "other")
    earn(client, at, ("buyer", 9.0, "wrong"))
    assert client.post(f"{at}/void", json={"tickets": [ticket], "reason": "a test order"}).json()["voided"] == 1
    assert refused(client, f"{at}/rewards", unit="buyer", value=1.0, event_id="next")[1] == "Reward voided"
    age(client)
    status = client.get(at).json()
    assert (status["held"], status["observed"]) == (0, 2 if drawn else 1)
    assert all(not arm["mean"] for arm in status["arms"])
    assert differences(client, at) == []


def test_wrong_configurations(client: Local) -> None:
    form = {"name": "x", "arms": ["a", "b"], "delta": 0.1, "family": {"kind": "gaussian", "variance": 1.0}}
    assert "earnings needs report_after" in refused(client, "/v1/experiments", **form, earnings="sum")[2]
    short = {"report_after": 2 * DAY, "unit_retention": "1d"}
    assert "unit_retention must not be shorter" in refused(client, "/v1/experiments", **form, **short)[2]


def test_erasing_a_unit(client: Local) -> None:
    at = create(client, **WINDOW)
    before = of(visit(client, at, "user-7"))
    earn(client, at, ("user-7", 3.0, "order-1"))
    assert client.post(f"{at}/units/erase", json={"unit": "user-7"}).json() == {"erased": 1}
    assert client.post(f"{at}/units/erase", json={"unit": "user-7"}).json() == {"erased": 0}
    assert earn(client, at, ("user-7", 3.0, "order-1"))["counted"] == 0  # known before
    assert refused(client, f"{at}/rewards", unit="user-7", value=1.0, event_id="order-2")[0] == 404
    status = client.get(at).json()
    assert (status["trials"], status["held"], status["units"]) == (1, 1, 0)
    assert differences(client, at) == []
    after = visit(client, at, "user-7")
    assert (after["reason"], of(after) == before) == ("assigned", False)
    age(client)
    assert mean_of(client, at, before[1]) == 3.0
    assert differences(client, at) == []


def left_in_files(folder: Path, names: list[str]) -> list[str]:
    """Which of these hashes are anywhere in the files of a database."""
    content = b"".join(path.read_bytes() for path in folder.iterdir())
    return [name for name in names if name.encode() in content]


def test_erased_units_are_not_in_the_files(tmp_path: Path) -> None:
    """Neither in free space nor in the write-ahead log; other units show that they would be found."""
    with running(address(tmp_path)) as client:
        at = create(client, **WINDOW)
        service = client.app.service
        for number in range(40):
            visit(client, at, f"user-{number}")
        hashes = [service.visits.name(at.rpartition("/")[2], f"user-{number}").hash for number in range(40)]
        assert left_in_files(tmp_path, hashes) == hashes
        for number in range(20):
            assert client.post(f"{at}/units/erase", json={"unit": f"user-{number}"}).json() == {"erased": 1}
        assert left_in_files(tmp_path, hashes) == hashes[20:]
        with service.database.snapshot() as reader:  # as a backup has one
            reader.execute(select(func.count()).select_from(stored_units)).scalar_one()
            assert client.post(f"{at}/units/erase", json={"unit": "user-20"}).json() == {"erased": 1}
            assert hashes[20] in left_in_files(tmp_path, hashes)
        client.wait(forget(service.database, service.writer, "1d"))  # which is done every hour
        assert left_in_files(tmp_path, hashes) == hashes[21:]
        client.wait(forget(service.database, service.writer, "1d", time.time() + 2 * DAY))
        assert left_in_files(tmp_path, hashes) == []


def test_erasing_during_a_backup_holds_up_writers_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, tried, now = wiping.wipe, list[bool](), [0.0]

    def wipe(database: Any) -> bool:
        tried.append(real(database))
        return tried[-1]

    monkeypatch.setattr(wiping, "wipe", wipe)
    with running(address(tmp_path)) as client:
        at, service = create(client, **WINDOW), client.app.service
        service.wiper = wiping.Wiper(service.database, lambda: now[0])

        def erase(unit: str) -> None:
            visit(client, at, unit)
            assert client.post(f"{at}/units/erase", json={"unit": unit}).json() == {"erased": 1}

        with service.database.snapshot() as reader:  # as a backup has one
            reader.execute(select(func.count()).select_from(stored_units)).scalar_one()
            for number in range(5):
                erase(f"user-{number}")
            assert tried == [False]
        erase("user-5")
        assert tried == [False]
        now[0] = wiping.PAUSE
        erase("user-6")
        erase("user-7")
        assert tried == [False, True, True]


def test_those_who_erase_at_the_same_time_share_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes while it is done comes too late for it; once more is enough for all of these."""
    begun, go_on, times = threading.Event(), threading.Event(), []

    def slow(_: Any) -> bool:
        times.append(1)
        begun.set()
        return go_on.wait(60.0)

    monkeypatch.setattr(wiping, "wipe", slow)
    with opened(address(tmp_path)) as database:
        wiper = wiping.Wiper(database)
        threads = [threading.Thread(target=wiper.wipe) for _ in range(10)]
        threads[0].start()
        assert begun.wait(60.0)
        for thread in threads[1:]:
            thread.start()
        until = time.monotonic() + 60.0
        while wiper._wanted < 10:
            assert time.monotonic() < until
            time.sleep(0.01)
        go_on.set()
        for thread in threads:
            thread.join(60.0)
    assert len(times) == 2


def test_units_are_forgotten_after_their_retention(client: Local) -> None:
    own, kept = create(client, unit_retention="1d", **OPEN), create(client, report_after=30 * DAY)
    service = client.app.service
    for number in range(3):
        visit(client, own, f"user-{number}")
        visit(client, kept, f"user-{number}")

    def forgotten(retention: str | None, days: float) -> int:
        done: int = client.wait(forget(service.database, service.writer, retention, time.time() + days * DAY))
        return done

    assert forgotten(None, 0.9) == 0
    assert forgotten(None, 1.1) == 3
    assert forgotten("7d", 20) >= 0  # those of other tests
    assert client.get(kept).json()["units"] == 3  # they can still earn
    assert forgotten("7d", 31) == 3
    assert [client.get(at).json()["units"] for at in (own, kept)] == [0, 0]
    assert visit(client, own, "user-0")["reason"] == "assigned"
    assert differences(client, own, kept) == []


def test_clients(client: Local) -> None:
    key = create_key(client.app.service.database, "admin")
    at = create(client, **WINDOW).rpartition("/")[2]

    async def by_the_client() -> tuple[Ticket, Ticket]:
        async with AsyncClient("http://test", key, transport=httpx.ASGITransport(client.app)) as other:
            (first,) = await other.ask(at, unit="user-7")
            (again,) = await other.ask(at, unit="user-7")
            assert (await other.reward(at, "user-7", 2, "order-1")).counted == 1
            assert (await other.reward(at, "user-7", 2, "order-1")).counted == 0
            assert await other.erase_unit(at, "user-7") == 1
            return first, again

    first, again = client.wait(by_the_client())
    assert (first, first.reason, again.reason) == (again, "assigned", "returning")

    def answer(request: httpx.Request) -> httpx.Response:
        found = client.request(request.method, request.url.path, content=request.read())
        return httpx.Response(found.status_code, content=found.content)

    with Client("http://test", key, transport=httpx.MockTransport(answer)) as other:
        (ticket,) = other.ask(at, unit="user-8")
        assert other.ask(at, unit="user-8") == [ticket]
        assert other.reward(at, "user-8", 2, "order-2").counted == 1
        assert other.erase_unit(at, "user-8") == 1


def test_on_postgresql_and_after_a_restore(cluster: Cluster, postgresql: str, tmp_path: Path) -> None:
    """A group with several earnings of one unit, and units that a backup brings along with their key."""
    with running(postgresql) as client:
        at = create(client, **WINDOW)
        before = {name: of(visit(client, at, name)) for name in ("one", "two", "three")}
        earn(client, at, ("one", 1.0, "a"), ("one", 2.0, "b"), ("one", 4.0, "c"), ("two", 1.0, "d"))
        assert client.post(f"{at}/units/erase", json={"unit": "three"}).json() == {"erased": 1}
        backup(client.app.service.database, tmp_path / "backup.db")
        age(client)
        assert mean_of(client, at, before["one"][1]) == 7.0
        assert differences(client, at) == []
        assert client.request("DELETE", at).status_code == 200
    target = address(tmp_path)
    database = open_database(target)
    assert restore(tmp_path / "backup.db", database)["units"] == 2
    database.close()
    with running(target) as client:
        assert of(visit(client, at, "one")) == before["one"]
        assert visit(client, at, "three")["reason"] == "assigned"
        tell(client, at, {before["two"][0]: 1.0})
        assert differences(client, at) == []
        with client.app.service.database.reader.connect() as connection:
            assert connection.execute(select(func.count()).select_from(stored_units)).scalar_one() == 3
