"""Keys: expiry, rotation, last use, quotas, and who did what."""

from __future__ import annotations

import asyncio
import csv
import time
from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from fairbai.service.domain.refusals import Refusal
from fairbai.service.http import quotas
from fairbai.service.http.lines import Lines
from fairbai.service.http.quotas import Quota
from fairbai.service.reading.verify import verify
from fairbai.service.storage import keyring
from fairbai.service.storage.keyring import Keyring, Lookups
from fairbai.service.storage.keys import Key, create_key, key_id, list_keys, revoke_key, rotate_key
from fairbai.service.storage.schema import events, sessions
from tests.service.running import address, ask, create, opened, running, tell
from tests.service.test_log import expire
from tests.service.test_streams import Listener, until


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_expired_keys_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = address(tmp_path)
    with running(url, failures=2) as client, opened(url) as database:
        key = create_key(database, "reader", "web shop", lifetime=3600.0)
        assert client.get("/readyz", headers=bearer(key)).status_code == 200
        (row,) = [one for one in list_keys(database) if one["name"] == "web shop"]
        monkeypatch.setattr(time, "time", lambda: row["expires_at"])
        expected = time.strftime("%Y-%m-%d at %H:%M UTC", time.gmtime(row["expires_at"]))
        for _ in range(4):  # which is no guess
            refused = client.get("/readyz", headers=bearer(key))
            assert refused.status_code == 401
            assert refused.json()["detail"] == f"The key {row['id']} (web shop) expired on {expected}"
        wrong = client.get("/readyz", headers=bearer(f"{key}x"))
        assert "expired" not in wrong.text
    with pytest.raises(ValueError, match="later than now"), opened(url) as database:
        create_key(database, "reader", lifetime=0.0)


def test_key_in_either_header(tmp_path: Path) -> None:
    """The Authorization header takes precedence; a key in X-API-Key needs no token against forged requests."""
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        del client.http.headers["Authorization"]
        key = create_key(database, "admin")
        for headers, status in (
            ({"X-API-Key": key}, 200),
            ({"X-API-Key": key, "Cookie": "fairbai=nonsense"}, 200),
            ({"X-API-Key": f"{key}x"}, 401),
            ({"X-API-Key": ""}, 401),
            ({"X-API-Key": key, **bearer(f"{key}x")}, 401),
            ({"X-API-Key": f"{key}x", **bearer(key)}, 200),
        ):
            assert client.get("/v1/session", headers=headers).status_code == status, headers
        assert client.post("/v1/plan", json={}, headers={"X-API-Key": key}).status_code == 422
        assert "'X-API-Key: <key>'" in client.get("/v1/session").json()["detail"]


def test_rotation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "REMEMBERED", 0.0)
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        old = create_key(database, "writer", "web shop", lifetime=90 * 86_400.0)
        new = rotate_key(database, key_id(old), grace=3600.0)
        rows = {row["id"]: row for row in list_keys(database)}
        before, after = rows[key_id(old)], rows[key_id(new)]
        assert [after[name] for name in ("role", "name", "project")] == ["writer", "web shop", "default"]
        assert before["expires_at"] == pytest.approx(time.time() + 3600.0, abs=60.0)
        assert after["expires_at"] - after["created_at"] == pytest.approx(90 * 86_400.0, abs=1.0)
        now = time.time()
        for passed, codes in ((3590.0, [200, 200]), (3700.0, [401, 200])):
            monkeypatch.setattr(time, "time", lambda passed=passed: now + passed)
            assert [client.get("/readyz", headers=bearer(key)).status_code for key in (old, new)] == codes
        with pytest.raises(ValueError, match="has expired: only a valid key can be rotated"):
            rotate_key(database, old)
        last = rotate_key(database, new, grace=0.0, lifetime=60.0)
        assert [client.get("/readyz", headers=bearer(key)).status_code for key in (new, last)] == [401, 200]
        revoke_key(database, last)
        with pytest.raises(ValueError, match="was revoked"):
            rotate_key(database, last)


def test_a_key_has_one_successor(tmp_path: Path) -> None:
    """After its rotation a key that was never to expire does, which no successor may inherit."""
    with opened(address(tmp_path)) as database:
        old = create_key(database, "writer")
        new = rotate_key(database, old)
        with pytest.raises(ValueError, match=f"was rotated: rotate its successor {key_id(new)} instead"):
            rotate_key(database, old)
        last = rotate_key(database, new)
        rows = {row["id"]: row["expires_at"] for row in list_keys(database)}
        assert (len(rows), rows[key_id(last)]) == (3, None)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_last_use_is_stored_now_and_then(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    url = request.getfixturevalue(kind)
    with running(url) as client, opened(url) as database:
        key, idle = create_key(database, "reader", "used"), create_key(database, "reader", "idle")
        client.get("/readyz", headers=bearer(key))
        client.get("/readyz", headers=bearer(f"{idle}x"))

        def used() -> list[Any]:
            return [row["used_at"] for row in list_keys(database) if row["name"]]

        assert used() == [None, None]  # a request never writes it
        keys = client.app.service.keyring
        store = keyring.note_uses
        failing = OperationalError("UPDATE", {}, Exception("locked"))
        monkeypatch.setattr(keyring, "note_uses", lambda *_: (_ for _ in ()).throw(failing))
        client.wait(keys.note_uses())
        monkeypatch.setattr(keyring, "note_uses", store)
        client.wait(keys.note_uses())
        first, never = used()
        assert (first, never) == (pytest.approx(time.time(), abs=60.0), None)
        client.wait(keys.note_uses())
        assert used() == [first, None]
        token = client.post("/sign-in", data={"key": key}).headers["set-cookie"].split(";")[0]
        client.get("/v1/session", headers={"Authorization": "", "Cookie": token})
        client.wait(keys.note_uses())
        assert used()[0] > first


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_keys_over_http(request: pytest.FixtureRequest, kind: str) -> None:
    url = request.getfixturevalue(kind)
    with running(url) as client, opened(url) as database:
        assert client.post("/v1/projects", json={"name": "shop"}).json() == {"name": "shop"}
        assert client.get("/v1/projects").json() == {"projects": [{"name": "default"}, {"name": "shop"}]}
        again = client.post("/v1/projects", json={"name": "shop"})
        assert (again.status_code, "already" in again.json()["detail"]) == (422, True)
        form = {"role": "admin", "name": "lead", "project": "shop", "expires": "90d"}
        made = client.post("/v1/keys", json=form)
        assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
        lead = bearer(made.json()["key"])
        writer = client.post("/v1/keys", json={"role": "writer"}, headers=lead).json()
        shown = client.get("/v1/keys", headers=lead).json()["keys"]
        assert [(key["role"], key["project"]) for key in shown] == [("admin", "shop"), ("writer", "shop")]
        assert shown[0]["expires_at"] > shown[0]["created_at"]
        assert shown[1]["id"] == writer["id"]
        assert "hash" not in shown[0]
        for wrong in ({"role": "boss"}, {"role": "reader", "project": "nowhere"}, {"role": "reader", "expires": "1y"}):
            assert client.post("/v1/keys", json=wrong).status_code == 422, wrong
        new = client.post(f"/v1/keys/{writer['id']}/rotate", json={"grace": None}, headers=lead).json()
        assert client.get("/readyz", headers=bearer(writer["key"])).status_code == 401
        assert client.get("/readyz", headers=bearer(new["key"])).status_code == 200
        assert client.post(f"/v1/keys/{new['id']}/revoke", headers=lead).json() == {"revoked": new["id"]}
        assert client.get("/readyz", headers=bearer(new["key"])).status_code == 401
        again = client.post(f"/v1/keys/{new['id']}/rotate", headers=lead)
        assert (again.status_code, "was revoked" in again.json()["detail"]) == (422, True)
        admin = next(key["id"] for key in list_keys(database) if key["project"] is None)
        for name in (admin, "unknown", "%00", "fb_0_0"):
            for call in ("rotate", "revoke"):
                answer = client.post(f"/v1/keys/{name}/{call}", headers=lead)
                assert (answer.status_code, answer.json()["title"]) == (404, "No such key")


def test_revoking_removes_sessions(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        key = create_key(database, "reader")
        token = client.post("/sign-in", data={"key": key}).headers["set-cookie"].split(";")[0]
        del client.http.headers["Authorization"]
        assert client.get("/v1/session", headers={"Cookie": token}).status_code == 200
        admin = bearer(create_key(database, "admin"))
        assert client.post(f"/v1/keys/{key_id(key)}/revoke", headers=admin).status_code == 200
        assert client.get("/v1/session", headers={"Cookie": token}).status_code == 401  # at once, in this worker
        with database.reader.connect() as connection:
            assert connection.execute(select(sessions)).all() == []


def test_who_did_what_is_in_the_log(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        at = create(client, lease=1000.0)
        creator = client.get("/v1/session").json()["key"]
        shop = create_key(database, "writer", "shop")
        admin = client.http.headers["Authorization"]
        client.http.headers["Authorization"] = f"Bearer {shop}"
        first, _ = ask(client, at, 2)
        tell(client, at, {first["ticket"]: 1.0})
        batch = {"batch": "1", "pulls": {"a": 1}, "sums": {"a": 1.0}}
        assert client.post(f"{at}/batches", json=batch).status_code == 200
        client.http.headers["Authorization"] = admin
        kinds = ["created", "asked", "told", "batch", "expired", "closed"]

        def log() -> list[Any]:
            with database.reader.connect() as connection:
                columns = (events.c.kind, events.c.actor)
                return [tuple(row) for row in connection.execute(select(*columns).order_by(events.c.sequence))]

        assert expire(client, 1e12) == 1
        assert len(log()) == 5
        client.post(f"{at}/close")
        by = {"created": creator, "closed": creator, "expired": None}
        assert log() == [(kind, by.get(kind, key_id(shop))) for kind in kinds]
        lines = list(csv.DictReader(client.get(f"{at}/events").text.splitlines()))
        assert {(line["kind"], line["actor"]) for line in lines} == {(kind, actor or "") for kind, actor in log()}
        assert [differences for _, differences in verify(database) if differences] == []


def test_who_managed_keys_is_in_the_log_of_the_server(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Always, without an access log, too; and nothing secret."""
    caplog.set_level("INFO", "fairbai.service")
    with running(address(tmp_path)) as client:
        admin = client.get("/v1/session").json()["key"]
        client.post("/v1/projects", json={"name": "shop"})
        made = client.post("/v1/keys", json={"role": "writer", "project": "shop", "name": "web"}).json()
        new = client.post(f"/v1/keys/{made['id']}/rotate", json={}).json()
        client.post(f"/v1/keys/{new['id']}/revoke")
        assert client.post("/v1/keys/0/revoke").status_code == 404  # which changed nothing
    noted = {record.getMessage(): record for record in caplog.records if hasattr(record, "fields")}
    assert {what: record.fields for what, record in noted.items()} == {  # type: ignore[attr-defined]
        "project created": {"actor": admin, "project": "shop"},
        "key created": {"actor": admin, "target": made["id"], "role": "writer"},
        "key rotated": {"actor": admin, "target": made["id"], "successor": new["id"]},
        "key revoked": {"actor": admin, "target": new["id"]},
    }
    for record in noted.values():
        assert made["key"] not in (text := Lines().format(record))
        assert new["key"] not in text


def test_who_published_a_policy_is_in_the_log(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        at = create(client, family="bernoulli", stopping="design_based", floors=0.2)
        assert client.get(f"{at}/policy").status_code == 200
        with database.reader.connect() as connection:
            actors = connection.execute(select(events.c.actor).order_by(events.c.sequence)).scalars().all()
        assert actors == [client.get("/v1/session").json()["key"]] * len(actors)
        assert len(actors) == 2


def test_the_scope_has_the_key_for_others(tmp_path: Path) -> None:
    """As the access log needs it; None where nobody is asked for a key, or it is wrong."""
    with running(address(tmp_path)) as client:
        scopes = []
        app = client.app._http

        async def spy(scope: Any, receive: Any, send: Any) -> None:
            await app(scope, receive, send)
            scopes.append(scope["key"])

        client.app._http = spy
        key = client.get("/v1/session").json()["key"]
        client.get("/healthz")
        client.get("/readyz", headers=bearer("fb_00_00"))
        client.post("/sign-in", data={"key": client.http.headers["Authorization"].split()[1]})
        assert scopes == [key, None, None, key]


# --- quotas -----------------------------------------------------------------------------------------------------


def test_requests_per_key_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, now = address(tmp_path), time.monotonic()
    monkeypatch.setattr(quotas, "time", SimpleNamespace(monotonic=lambda: now))
    with running(url, key_rate=2.0) as client, opened(url) as database:
        found = [client.get("/v1/projects") for _ in range(6)]
        assert [answer.status_code for answer in found] == [200] * 4 + [429] * 2
        assert found[-1].headers["retry-after"] == "1"
        assert found[-1].json()["detail"] == "One key may send 2 requests per second, and 4 at once"
        assert client.get("/v1/projects", headers=bearer(create_key(database, "reader"))).status_code == 200
        assert client.get("/healthz").status_code == 200


def test_quota_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    quota = Quota(10.0)

    def taken() -> int:
        for count in range(1000):
            try:
                quota.take("a")
            except Refusal:
                return count
        return 1000

    assert taken() == 20
    now += 1.0
    assert taken() == 10
    now += 1000.0
    assert taken() == 20
    quota = Quota(0.25)
    assert taken() == 1  # less than one in the time of a burst
    quota = Quota(0.0)
    assert taken() == 1000


def test_streams_per_key_are_limited(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url, key_streams=1) as client, opened(url) as database:
        at = create(client)
        listener = Listener(client, f"{at}/stream")
        heard = asyncio.run_coroutine_threadsafe(listener.listen(), client._loop)
        client.wait(until(lambda: listener.events()))
        refused = client.get(f"{at}/stream")
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert "A key may have at most 1 stream open at once" in refused.text
        other = Listener(client, f"{at}/stream")
        other.scope["headers"] = [(b"authorization", f"Bearer {create_key(database, 'reader')}".encode())]
        heard_too = asyncio.run_coroutine_threadsafe(other.listen(), client._loop)
        client.wait(until(lambda: other.events()))
        for one, ending in ((listener, heard), (other, heard_too)):
            client._loop.call_soon_threadsafe(one.gone.set)
            ending.result(timeout=60)
        assert not client.app.fastapi.state.streams._open


# --- guessing ---------------------------------------------------------------------------------------------------


def test_guesses_share_queries() -> None:
    asked: list[int] = []

    def find(names: Collection[str]) -> dict[str, str]:
        asked.append(len(names))
        time.sleep(0.02)
        return {name: name.upper() for name in names if name == "known"}

    async def guess() -> list[str | None]:
        lookups = Lookups[str](find)
        found = await asyncio.gather(
            *(lookups.look_up(f"n{number}") for number in range(1200)), lookups.look_up("known")
        )
        assert (lookups.recall("known"), lookups.recall("n1")) == ("KNOWN", None)
        return list(found)

    found = asyncio.run(guess())
    assert found[-1] == "KNOWN"
    assert set(found[:-1]) == {None}
    assert sum(asked) == 1201
    assert len(asked) <= 4


def test_failures_reach_all_who_wait() -> None:
    def find(names: Collection[str]) -> dict[str, str]:
        raise OSError("gone")

    async def look() -> list[Any]:
        lookups = Lookups[str](find)
        return await asyncio.gather(*(lookups.look_up(name) for name in "aab"), return_exceptions=True)

    assert [type(error) for error in asyncio.run(look())] == [OSError] * 3


def test_client_that_goes_away_does_not_take_others_along() -> None:
    def find(names: Collection[str]) -> dict[str, str]:
        time.sleep(0.05)
        return dict.fromkeys(names, "found")

    async def look() -> Any:
        lookups = Lookups[str](find)
        first, second = (asyncio.create_task(lookups.look_up("a")) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        return await second

    assert asyncio.run(look()) == "found"


def test_memory_of_guesses_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "MAX_ADDRESSES", 10)
    monkeypatch.setattr(keyring, "MAX_REMEMBERED", 10)
    with opened(address(tmp_path)) as database:
        keys = [create_key(database, "reader") for _ in range(12)]

        async def guess() -> None:
            ring = Keyring(database, 3)
            for number in range(50):
                with pytest.raises(Refusal, match="unknown or was revoked"):
                    await ring.key("fb_00_00", f"address {number}")
            assert len(ring._failed) <= 10
            for key in keys:
                assert isinstance(await ring.key(key, ""), Key)
            assert len(ring._keys._known) <= 10

        asyncio.run(guess())
