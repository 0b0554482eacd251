"""Signing in, and what protects those who have."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from fairbai.service.domain.refusals import Refusal
from fairbai.service.http import sessions
from fairbai.service.http.sessions import LOCAL, csrf_token
from fairbai.service.storage import keyring, schema
from fairbai.service.storage.keys import create_key, digest, revoke_key
from tests.service.running import FORM, Local, address, create, opened, running

PAGES = ("/plan", "/experiments", "/experiments/0123abcd", "/experiments/0123abcd/audit", "/sign-in")


def sign_in(client: Local, key: str, following: str = "/", **headers: str) -> httpx.Response:
    return client.post("/sign-in", data={"key": key, "next": following}, headers=headers)


def anonymous(client: Local) -> str:
    """Take the key from the client's requests; returns it."""
    return str(client.http.headers.pop("Authorization").split()[1])


def cookie(token: str) -> dict[str, str]:
    return {"Cookie": f"other=1; fairbai={token}; more=2"}


def session(client: Local, key: str) -> str:
    """Sign in; returns the token of the session."""
    given = sign_in(client, key).headers["set-cookie"].split("; ")[0]
    client.http.cookies.clear()
    return given.removeprefix("fairbai=")


def test_cookie_holds_a_token_and_is_kept_from_scripts_and_other_sites(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        key = anonymous(client)
        answer = sign_in(client, key, "/plan?x=1")
        assert (answer.status_code, answer.headers["location"]) == (303, "/plan?x=1")
        given, *flags = answer.headers["set-cookie"].split("; ")
        name, token = given.split("=")
        assert (name, len(token)) == ("fairbai", 43)
        assert key.split("_", 2)[2] not in str(answer.headers)
        assert {flag.lower() for flag in flags} == {"httponly", "path=/", "samesite=strict"}
        assert client.get("/v1/session", headers=cookie(token)).json()["role"] == "admin"
        assert client.get("/v1/session", headers=cookie(key)).status_code == 401  # as cookies once were
        assert client.get("/v1/session", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert all(token.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_cookie_is_bound_to_the_host_over_https(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        key = anonymous(client)
        answer = client.post("https://test/sign-in", data={"key": key})
        client.http.cookies.clear()
        given, *flags = answer.headers["set-cookie"].split("; ")
        assert given.startswith("__Host-fairbai=")
        assert {flag.lower() for flag in flags} == {"httponly", "path=/", "samesite=strict", "secure"}
        token = given.partition("=")[2]
        assert client.get("https://test/v1/session", headers={"Cookie": given}).status_code == 200
        assert client.get("https://test/v1/session", headers=cookie(token)).status_code == 401  # anybody may set it
        assert client.get("http://test/v1/session", headers={"Cookie": given}).status_code == 401
        gone = client.post("https://test/sign-out", headers={"Cookie": given}).headers["set-cookie"].lower()
        assert gone.startswith('__host-fairbai="";')
        assert {"max-age=0", "secure", "path=/"} <= set(gone.split("; "))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_sessions_end(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    url = request.getfixturevalue(kind)
    with running(url, session_seconds=3600.0) as client, opened(url) as database:
        anonymous(client)
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now)  # however long it takes to sign in
        short = create_key(database, "reader", lifetime=60.0)
        found = [session(client, key) for key in (create_key(database, "reader"), short)]
        for passed, codes in ((59.0, [200, 200]), (61.0, [200, 401]), (3599.0, [200, 401]), (3601.0, [401, 401])):
            monkeypatch.setattr(time, "time", lambda passed=passed: now + passed)
            assert [client.get("/v1/session", headers=cookie(one)).status_code for one in found] == codes
        with database.reader.connect() as connection:
            assert len(connection.execute(select(schema.sessions)).all()) == 2
        session(client, create_key(database, "reader"))
        with database.reader.connect() as connection:
            assert len(connection.execute(select(schema.sessions)).all()) == 1  # those that had expired are gone


def test_wrong_keys_are_told_so_and_limited(tmp_path: Path) -> None:
    with running(address(tmp_path), failures=3) as client:
        anonymous(client)
        found = [sign_in(client, "fb_00_00", "/plan") for _ in range(5)]
        assert [answer.headers["location"].split("=")[0] for answer in found] == ["/sign-in?wrong"] * 3 + [
            "/sign-in?wait"
        ] * 2
        assert found[0].headers["location"] == "/sign-in?wrong=1&next=/plan"
        assert all("set-cookie" not in answer.headers for answer in found)


def test_a_key_opens_few_sessions_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is a transaction, beside those of the writer; and the table is not to grow without bound."""
    monkeypatch.setattr("fairbai.service.storage.sessions.MAX_SESSIONS", 3)
    with running(address(tmp_path)) as client:
        key, clock = anonymous(client), [time.monotonic()]
        monkeypatch.setattr("fairbai.service.http.quotas.time", SimpleNamespace(monotonic=lambda: clock[0]))
        tokens = [session(client, key) for _ in range(10)]
        refused = sign_in(client, key, "/plan")
        assert refused.headers["location"] == "/sign-in?wait=1&next=/plan"
        assert "set-cookie" not in refused.headers
        with opened(address(tmp_path)) as database:
            other = create_key(database, "reader")
            with database.reader.connect() as connection:
                stored = set(connection.execute(select(schema.sessions.c.hash)).scalars())
        assert stored == {digest(token) for token in tokens[-3:]}
        assert client.get("/v1/session", headers=cookie(tokens[0])).status_code == 401
        assert client.get("/v1/session", headers=cookie(tokens[-1])).status_code == 200
        assert session(client, other)  # which does not suffer
        clock[0] += 1.0
        assert session(client, key)
        assert client.get("/v1/session", headers=cookie(tokens[-1])).status_code == 200


def test_sign_out_ends_the_session(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        key = anonymous(client)
        token, other = session(client, key), session(client, key)
        assert client.get("/v1/session", headers=cookie(token)).status_code == 200
        answer = client.post("/sign-out", headers=cookie(token))
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        assert "max-age=0" in answer.headers["set-cookie"].lower()
        assert client.get("/v1/session", headers=cookie(token)).status_code == 401
        assert client.get("/v1/session", headers=cookie(other)).status_code == 200
        assert client.post("/sign-out").status_code == 303


def test_sign_in_says_that_a_key_has_expired(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        anonymous(client)
        key = create_key(database, "reader", lifetime=0.001)
        time.sleep(0.01)
        assert sign_in(client, key).headers["location"] == "/sign-in?expired=1"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://test"}, 303),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_forms_of_other_sites_are_refused(tmp_path: Path, headers: dict[str, str], status: int) -> None:
    with running(address(tmp_path)) as client:
        key = anonymous(client)
        assert sign_in(client, key, **headers).status_code == status
        assert client.post("/sign-out", headers=headers).status_code == status


@pytest.mark.parametrize(
    "target",
    ["//evil.example", "/\\evil.example", "https://evil.example/", "javascript:alert(1)", "/\t/evil.example", "",
     "evil", "/%0d%0aSet-Cookie:x", "/plan\r\nX: 1", "/a:b@evil.example"],
)  # fmt: skip
def test_next_leads_nowhere_else(tmp_path: Path, target: str) -> None:
    with running(address(tmp_path)) as client:
        key = anonymous(client)
        assert sign_in(client, key, target).headers["location"] == "/"
    assert not LOCAL.fullmatch(target)


def test_pages_lead_to_the_sign_in(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        key = session(client, anonymous(client))
        answer = client.get("/experiments/0123abcd/audit?x=1")
        assert answer.status_code == 303
        assert answer.headers["location"] == "/sign-in?next=/experiments/0123abcd/audit%3Fx%3D1"
        assert client.get("/", headers=cookie("fb_00_00")).headers["location"] == "/sign-in"
        assert client.get("/", headers=cookie(key)).headers["location"] == "/experiments"
        for path in PAGES:
            assert client.get(path, headers=cookie(key)).status_code == 200, path
        for path in ("/v1/experiments", "/metrics", "/nothing", "/experiments/NOT-AN-ID"):
            assert client.get(path).status_code == 401, path


def test_pages_and_files_have_a_strict_policy(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        for path in (*PAGES, "/static/plotly.min.js", "/static/style.css", "/favicon.ico"):
            headers = client.get(path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy, path
            assert "unsafe" not in policy
            assert "http" not in policy
            assert "frame-ancestors 'none'" in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"


def test_other_sites_may_load_the_module_for_edges_only(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        edge, other = (client.get(f"/static/{name}").headers for name in ("edge.js", "api.js"))
        assert edge["access-control-allow-origin"] == "*"
        assert edge["cross-origin-resource-policy"] == "cross-origin"
        assert "access-control-allow-origin" not in other
        assert other["cross-origin-resource-policy"] == "same-origin"


def test_heads_of_pages_and_files(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        for path in (*PAGES, "/static/style.css"):
            head, get = (client.request(method, path, headers={"X-Request-Id": "same"}) for method in ("HEAD", "GET"))
            assert head.headers == get.headers, path
        anonymous(client)
        assert client.request("HEAD", "/plan").headers["location"] == "/sign-in?next=/plan"


def test_nobody_guesses_what_answers_are(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        for path in (at, "/v1/session", f"{at}/events", f"{at}/report", "/v1/nothing"):
            assert client.get(path).headers["x-content-type-options"] == "nosniff", path
        for call in ("events", "report"):
            assert client.get(f"{at}/{call}").headers["cache-control"] == "no-store"


def test_files_are_sent_once(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        anonymous(client)  # they need no key
        first = client.get("/static/plotly.min.js", headers={"Accept-Encoding": "identity"})
        assert b"plotly.js" in first.content[:100]
        packed = client.get("/static/plotly.min.js", headers={"Accept-Encoding": "gzip"})
        assert int(packed.headers["content-length"]) < len(first.content) / 2
        assert packed.content == first.content
        again = client.get("/static/plotly.min.js", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        assert "max-age" in first.headers["cache-control"]
        assert client.get("/static/style.css").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "name",
    ["nothing.js", "..%2fpages.py", "%2e%2e%2fpages.py", "../pages.py", "pages.py", "", f"{'a' * 300}.js", "a%00.js"],
)
def test_other_files_are_not_sent(tmp_path: Path, name: str) -> None:
    with running(address(tmp_path)) as client:
        assert client.get(f"/static/{name}").status_code == 404


def test_changes_by_cookie_need_the_token(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        at = create(client)
        key = session(client, anonymous(client))
        token = client.get("/v1/session", headers=cookie(key)).json()["csrf"]
        assert token == csrf_token(key)
        for path, body in ((f"{at}/close", None), ("/v1/experiments", FORM), ("/v1/plan", {}), (f"{at}/ask", {})):
            refused = client.post(path, json=body, headers=cookie(key))
            assert refused.status_code == 403, path
            assert "X-CSRF-Token" in refused.json()["detail"]
            wrong = client.post(path, json=body, headers={**cookie(key), "X-CSRF-Token": "0" * 64})
            assert wrong.status_code == 403, path
        good = {**cookie(key), "X-CSRF-Token": token}
        assert client.post(f"{at}/ask", json={}, headers=good).status_code == 200
        assert client.post(f"{at}/close", headers=good).status_code == 200
        assert client.get(at, headers=cookie(key)).status_code == 200  # to look needs none


def test_roles_are_the_same_by_cookie(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        at = create(client)
        anonymous(client)
        reader = session(client, create_key(database, "reader", "the manager"))
        found = client.get("/v1/session", headers=cookie(reader)).json()
        assert (found["role"], found["name"], found["demo"]) == ("reader", "the manager", None)
        assert found["project"] == "default"
        headers = {**cookie(reader), "X-CSRF-Token": found["csrf"]}
        assert client.post(f"{at}/close", headers=headers).status_code == 403
        assert client.post("/v1/experiments", json=FORM, headers=headers).status_code == 403
        plan = {"arms": ["a", "b"], "means": [0.0, 1.0], "delta": 0.1, "family": {"kind": "gaussian", "variance": 1.0}}
        assert client.post("/v1/plan", json=plan, headers=headers).status_code == 200


def test_revoking_a_key_ends_its_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "REMEMBERED", 0.0)
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        anonymous(client)
        key = create_key(database, "reader")
        token = session(client, key)
        assert client.get("/experiments", headers=cookie(token)).status_code == 200
        revoke_key(database, key)
        assert client.get("/experiments", headers=cookie(token)).status_code == 303
        assert client.get("/v1/session", headers=cookie(token)).status_code == 401


def test_the_header_goes_before_the_cookie(tmp_path: Path) -> None:
    url = address(tmp_path)
    with running(url) as client, opened(url) as database:
        anonymous(client)
        reader, admin = create_key(database, "reader"), create_key(database, "admin")
        headers: dict[str, Any] = {**cookie(session(client, admin)), "Authorization": f"Bearer {reader}"}
        assert client.get("/v1/session", headers=headers).json()["role"] == "reader"
        headers["Authorization"] = "Basic nonsense"
        assert client.get("/v1/session", headers=headers).status_code == 401


def test_form_of_a_page_is_read_with_limits() -> None:
    assert sessions.read_form(b"key=a%20b&next=%2Fplan&key=c") == {"key": "a b", "next": "/plan"}
    assert sessions.read_form(b"\xff=\xff") == {"\ufffd": "\ufffd"}
    with pytest.raises(Refusal, match="The form cannot be read"):
        sessions.read_form(b"a=1&" * 20)


def test_browsers_are_shown_pages_and_programs_problems(tmp_path: Path) -> None:
    with running(address(tmp_path)) as client:
        browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        found = client.get("/nothing", headers=browser)
        assert found.status_code == 404
        assert "Page not found" in found.text
        assert found.headers["content-type"].startswith("text/html")
        assert client.get("/nothing").headers["content-type"] == "application/problem+json"
        anonymous(client)
        assert client.get("/nothing", headers=browser).headers["location"] == "/sign-in?next=/nothing"
        assert client.get("/nothing").status_code == 401
