"""Projects: what one team has does not exist for another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text, update

from fairbai.service.storage.database import Database, open_database
from fairbai.service.storage.keys import create_key, list_keys
from fairbai.service.storage.projects import create_project
from fairbai.service.storage.schema import experiments
from fairbai.service.storage.upgrades import changing_tables, migrate, upgrade
from tests.service.running import FORM, Local, address, ask, create, opened, running

ROLES = ("reader", "writer", "admin")
BROWSER = {"Accept": "text/html"}
REQUEST = re.compile('"request_id":"[^"]*"')


class Teams:
    """A service with two projects beside ``default``, and a key of every role in each."""

    def __init__(self, client: Local, database: Database) -> None:
        self.client, self.database = client, database
        self.keys: dict[tuple[str | None, str], str] = {}
        for project in ("shop", "search"):
            create_project(database, project)
            for role in ROLES:
                self.keys[project, role] = create_key(database, role, project=project)
        self.keys[None, "admin"] = client.http.headers.pop("Authorization").split()[1]

    def call(self, who: tuple[str | None, str], method: str, path: str, body: Any = None, **headers: str) -> Any:
        sent = {"Authorization": f"Bearer {self.keys[who]}", **headers}
        return self.client.request(method, path, headers=sent, **({} if body is None else {"json": body}))

    def create(self, who: tuple[str | None, str], query: str = "", **changes: Any) -> str:
        answer = self.call(who, "POST", f"/v1/experiments{query}", {**FORM, **changes})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


@contextmanager
def teams(folder: Path, **settings: Any) -> Iterator[Teams]:
    with running(address(folder), **settings) as client, opened(address(folder)) as database:
        yield Teams(client, database)


def test_every_address_of_another_projects_experiment_is_as_of_none(tmp_path: Path) -> None:
    with teams(tmp_path) as found:
        own = found.create(("shop", "admin"))
        routes = [route for route in found.client.app._routes if "{experiment}" in route.path]
        assert len(routes) >= 15
        for method, path in [(method, route.path) for route in routes for method in sorted(route.methods)]:
            answers = [
                found.call(("search", "admin"), method, path.replace("{experiment}", experiment), **BROWSER)
                for experiment in (own, "0" * 16)
            ]
            assert [answer.status_code for answer in answers] == [404, 404], (method, path)
            texts = [REQUEST.sub("", answer.text.replace(own, "0" * 16)) for answer in answers]
            assert texts[0] == texts[1], (method, path)
        assert found.call(("shop", "reader"), "GET", f"/v1/experiments/{own}").json()["version"] == 1


@pytest.mark.parametrize("who", [("shop", role) for role in ROLES] + [("search", "admin"), (None, "admin")])
def test_matrix(tmp_path: Path, who: tuple[str | None, str]) -> None:
    """Who may do what, to an experiment and a key of the project `shop`."""
    with teams(tmp_path) as found:
        at = f"/v1/experiments/{found.create(('shop', 'admin'))}"
        key = list_keys(found.database, "shop")[0]["id"]
        project, role = who
        rank = {"reader": 0, "writer": 1, "admin": 2}[role]
        foreign = 404 if project == "search" else None
        calls: list[tuple[str, str, Any, int, int, int | None]] = [
            ("GET", at, None, 200, 0, foreign),
            ("GET", f"{at}/events", None, 200, 0, foreign),
            ("GET", f"{at}/history", None, 200, 0, foreign),
            ("GET", f"{at}/policy", None, 200, 0, foreign),
            ("GET", f"{at}/figures", None, 200, 0, foreign),
            ("GET", f"{at}/summary", None, 200, 0, foreign),
            ("GET", f"{at}/audit", None, 200, 0, foreign),
            ("GET", f"{at}/report", None, 200, 0, foreign),
            ("GET", f"{at}/audit/replay", None, 200, 0, foreign),
            ("POST", f"{at}/ask", {"n": 1}, 200, 1, foreign),
            ("POST", f"{at}/tell", {"rewards": []}, 422, 1, foreign),
            ("POST", f"{at}/batches", {"batch": "1", "pulls": {}, "sums": {}}, 422, 1, foreign),
            ("POST", f"{at}/close", None, 200, 2, foreign),
            ("GET", "/v1/experiments?project=shop", None, 200, 0, foreign),
            ("POST", "/v1/experiments?project=shop", FORM, 201, 2, foreign),
            ("GET", "/v1/keys", None, 200, 2, None),
            ("POST", "/v1/keys", {"role": "reader", "project": "shop"}, 201, 2, 422 if foreign else None),
            ("POST", f"/v1/keys/{key}/rotate", {}, 201, 2, foreign),
            ("POST", f"/v1/keys/{key}/revoke", None, 200, 2, foreign),
            ("GET", "/v1/projects", None, 200, 0, None),
            ("POST", "/v1/projects", {"name": "new"}, 201, 2, 403 if project else None),
            ("GET", "/metrics", None, 200, 0, None),
        ]
        for method, path, body, good, needed, otherwise in calls:
            expected = 403 if rank < needed else otherwise or good
            answer = found.call(who, method, path, body)
            assert answer.status_code == expected, (method, path, answer.text)


def test_who_deleted_an_experiment_may_repeat_that(tmp_path: Path) -> None:
    with teams(tmp_path) as found:
        at = f"/v1/experiments/{found.create(('shop', 'admin'))}"
        answers = []
        for _ in range(2):
            answers.append(found.call(("shop", "admin"), "DELETE", at))
            found.client.app.service._projects.clear()  # as in another worker
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json() == answers[1].json()
        assert found.call(("search", "admin"), "DELETE", at).status_code == 404
        assert found.call(("shop", "admin"), "GET", at).status_code == 404


def test_lists_are_of_one_project(tmp_path: Path) -> None:
    with teams(tmp_path) as found:
        shop, search = found.create(("shop", "admin")), found.create(("search", "admin"))
        default = found.create((None, "admin"))
        named = found.create((None, "admin"), "?project=shop")

        def listed(who: tuple[str | None, str], query: str = "") -> dict[str, str]:
            lines = found.call(who, "GET", f"/v1/experiments{query}").json()["experiments"]
            return {line["id"]: line["project"] for line in lines}

        assert listed(("shop", "reader")) == {shop: "shop", named: "shop"}
        assert listed(("search", "reader")) == {search: "search"}
        assert len(listed((None, "admin"))) == 4
        assert listed((None, "admin"), "?project=default") == {default: "default"}
        for who, query in ((("shop", "reader"), f"?after={search}"), (("shop", "reader"), "?project=search")):
            assert found.call(who, "GET", f"/v1/experiments{query}").status_code == 404
        assert found.call((None, "admin"), "GET", "/v1/experiments?project=nowhere").status_code == 404
        unknown = found.call((None, "admin"), "POST", "/v1/experiments?project=nowhere", FORM)
        assert (unknown.status_code, unknown.json()["detail"]) == (404, "No project is called 'nowhere'")


def test_pages_of_other_projects_are_not_found(tmp_path: Path) -> None:
    with teams(tmp_path) as found:
        own = found.create(("shop", "admin"))
        for path in (f"/experiments/{own}", f"/experiments/{own}/audit"):
            assert found.call(("shop", "reader"), "GET", path, **BROWSER).status_code == 200
            answer = found.call(("search", "reader"), "GET", path, **BROWSER)
            assert (answer.status_code, "Page not found" in answer.text) == (404, True)


def test_the_names_of_calls_belong_to_their_key(tmp_path: Path) -> None:
    with teams(tmp_path) as found:
        other = create_key(found.database, "admin", project="shop")
        named = {"Idempotency-Key": "first"}
        shop = found.call(("shop", "admin"), "POST", "/v1/experiments", FORM, **named).json()["id"]
        search = found.call(("search", "admin"), "POST", "/v1/experiments", {**FORM, "delta": 0.2}, **named)
        assert (search.status_code, search.json()["id"] != shop) == (201, True)
        found.keys["shop", "other"] = other
        assert found.call(("shop", "other"), "POST", "/v1/experiments", FORM, **named).json()["id"] != shop
        assert found.call(("shop", "admin"), "POST", "/v1/experiments", FORM, **named).json()["id"] == shop
        assert (
            found.call(("shop", "admin"), "POST", "/v1/experiments", {**FORM, "delta": 0.2}, **named).status_code == 409
        )


def test_names_of_calls_from_before_projects_are_found_by_server_admins(tmp_path: Path) -> None:
    with teams(tmp_path) as found:
        old = found.create((None, "admin"))
        with found.database.writer.begin() as connection:
            connection.execute(update(experiments).where(experiments.c.id == old).values(key="first"))
        named = {"Idempotency-Key": "first"}
        assert found.call((None, "admin"), "POST", "/v1/experiments", FORM, **named).json()["id"] == old
        assert found.call(("shop", "admin"), "POST", "/v1/experiments", FORM, **named).json()["id"] != old
        elsewhere = found.call((None, "admin"), "POST", "/v1/experiments?project=shop", FORM, **named)
        assert (elsewhere.status_code, "project 'default'" in elsewhere.json()["detail"]) == (409, True)


def test_the_demo_is_shown_to_those_who_can_see_it(tmp_path: Path) -> None:
    with teams(tmp_path) as found:
        found.client.app.service._demo.experiment = demo = found.create((None, "admin"))
        assert found.call((None, "admin"), "GET", "/v1/session").json()["demo"] == demo
        assert found.call(("shop", "reader"), "GET", "/v1/session").json()["demo"] is None


def test_what_exists_belongs_to_default(tmp_path: Path) -> None:
    url = address(tmp_path)
    database = open_database(url)
    with changing_tables(database) as connection:
        migrate(connection, "0005")
        for role in ROLES:
            row = f"('{role}', '', '{role}', '{role}', 1.0)"
            connection.execute(text(f"INSERT INTO keys (id, hash, role, name, created_at) VALUES {row}"))
    upgrade(database)
    assert {key["role"]: key["project"] for key in list_keys(database)} == {
        "reader": "default",
        "writer": "default",
        "admin": None,
    }
    database.close()


def test_names_of_projects(tmp_path: Path) -> None:
    with opened(address(tmp_path)) as database:
        for wrong in ("", "Shop", "-a", "a b", "a" * 33, "é"):
            with pytest.raises(ValueError, match=re.escape("small letters, digits and hyphens")):
                create_project(database, wrong)
        create_project(database, "a-1")
        for taken in ("a-1", "default"):
            with pytest.raises(ValueError, match=f"There is a project '{taken}' already"):
                create_project(database, taken)
        with pytest.raises(ValueError, match="No project is called 'b'"):
            create_key(database, "reader", project="b")


def test_every_route_names_the_experiment_alike(tmp_path: Path) -> None:
    """What is checked centrally is the path parameter ``experiment``."""
    with running(address(tmp_path)) as client:
        for route in client.app.fastapi.routes:
            if isinstance(route, APIRoute) and "experiments/{" in route.path:
                assert "experiments/{experiment}" in route.path
        at = create(client)
        assert len(ask(client, at, 2)) == 2
