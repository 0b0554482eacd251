"""``fairbai keys`` and ``verify`` as JSON; tests/service has what they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairbai.cli import main
from tests.cli.commands import Capture, run


@pytest.fixture
def database(tmp_path: Path) -> list[str]:
    return ["--database", f"sqlite:///{tmp_path}/fairbai.db", "--json"]


def test_keys(capsys: Capture, database: list[str]) -> None:
    key = json.loads(run(capsys, "keys", "create", "--role", "writer", "--name", "shop", *database))["key"]
    (row,) = json.loads(run(capsys, "keys", "list", *database))
    assert (row["role"], row["name"], row["revoked_at"]) == ("writer", "shop", None)
    assert key.startswith(f"fb_{row['id']}_")
    assert json.loads(run(capsys, "keys", "revoke", row["id"], *database)) == {"revoked": row["id"]}
    (row,) = json.loads(run(capsys, "keys", "list", *database))
    assert row["revoked_at"] >= row["created_at"]


def test_verify(capsys: Capture, database: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "keys", "create", "--role", "reader", *database)  # which makes the tables
    assert json.loads(run(capsys, "verify", *database)) == {
        "experiments": 0,
        "different": 0,
        "differences": {},
        "earlier": [],
    }

    def found(opened: Any) -> list[tuple[str, list[str]]]:
        return [("a", []), ("b", ["pulls differ"])]

    monkeypatch.setattr("fairbai.service.reading.verify.verify", found)
    assert main(["verify", *database]) == 1
    form = json.loads(capsys.readouterr().out)
    assert form == {"experiments": 2, "different": 1, "differences": {"a": [], "b": ["pulls differ"]}, "earlier": []}
