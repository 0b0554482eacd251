"""``fairbai keys``, ``projects`` and ``verify``; tests/service has what they do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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


def test_keys_of_projects(capsys: Capture, database: list[str]) -> None:
    assert json.loads(run(capsys, "projects", "create", "shop", *database)) == {"created": "shop"}
    assert [one["name"] for one in json.loads(run(capsys, "projects", "list", *database))] == ["default", "shop"]
    for given in (["admin"], ["reader"], ["writer", "--project", "shop", "--expires", "90d"]):
        run(capsys, "keys", "create", "--role", *given, *database)
    admin, reader, writer = json.loads(run(capsys, "keys", "list", *database))
    assert [key["project"] for key in (admin, reader, writer)] == [None, "default", "shop"]
    assert writer["expires_at"] - writer["created_at"] == pytest.approx(90 * 86_400, abs=60.0)
    new = json.loads(run(capsys, "keys", "rotate", writer["id"], "--grace", "1h", *database))["key"]
    old, after = json.loads(run(capsys, "keys", "list", "--project", "shop", *database))
    assert (new.split("_")[1], after["role"], after["project"]) == (after["id"], "writer", "shop")
    assert old["expires_at"] - after["created_at"] == pytest.approx(3600.0, abs=60.0)
    text = run(capsys, "keys", "list", *database[:-1])
    assert text.split()[:9] == ["id", "role", "project", "created", "expires", "last", "used", "revoked", "name"]
    assert "(all)" in text
    assert "shop" in run(capsys, "projects", "list", *database[:-1])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["keys", "create", "--role", "reader", "--project", "nowhere"], "No project is called 'nowhere'"),
        (["keys", "create", "--role", "reader", "--expires", "0"], "A key must expire later than now"),
        (["keys", "create", "--role", "reader", "--expires", "1y"], "must be a whole number of s, m, h, d or w"),
        (["projects", "create", "My Shop"], "small letters, digits and hyphens"),
        (["projects", "create", "default"], "There is a project 'default' already"),
    ],
)
def test_wrong_keys_and_projects(capsys: Capture, database: list[str], arguments: list[str], words: str) -> None:
    try:
        code = main([*arguments, *database])
    except SystemExit as stop:
        code = int(stop.code or 0)
    assert (code, words in capsys.readouterr().err) == (2, True)


def test_settings_of_serve(monkeypatch: pytest.MonkeyPatch, database: list[str]) -> None:
    used: list[Any] = []
    monkeypatch.setattr("fairbai.service.serve.serve", lambda settings, *_: used.append(settings))
    assert main(["serve", *database[:-1]]) == 0
    assert main(["serve", "--session", "8h", "--key-rate", "0", *database[:-1]]) == 0
    assert [(one.session_seconds, one.key_rate) for one in used] == [(43_200.0, 2000.0), (28_800.0, 0.0)]
    for wrong in (["--session", "0"], ["--key-rate", "-1"], ["--key-rate", "nan"]):
        assert main(["serve", *wrong, *database[:-1]]) == 2


def test_verify(capsys: Capture, database: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(capsys, "keys", "create", "--role", "reader", *database)  # which makes the tables
    seen = {"heads": {}, "unchained": [], "compared": 0, "deleted": []}
    assert json.loads(run(capsys, "verify", *database)) == {
        "experiments": 0,
        "different": 0,
        "differences": {},
        "earlier": [],
        **seen,
    }

    def found(opened: Any, heads: Any) -> list[tuple[str, list[str]]]:
        return [("a", []), ("b", ["pulls differ"])]

    monkeypatch.setattr("fairbai.service.reading.verify.verify", found)
    assert main(["verify", *database]) == 1
    form = json.loads(capsys.readouterr().out)
    differences = {"a": [], "b": ["pulls differ"]}
    assert form == {"experiments": 2, "different": 1, "differences": differences, "earlier": [], **seen}


def test_serve_takes_retention_and_webhooks(
    capsys: Capture, database: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    monkeypatch.setattr("fairbai.service.serve.serve", lambda settings, *_: given.append(settings))
    secret = tmp_path / "secret"
    secret.write_text("sixteen letters and more\n")
    command = ["serve", *database[:2], "--retention", "365d", "--unit-retention", "90d", "--policy-seconds", "5s"]
    assert main([*command, "--webhook-host", "A.example", "--webhook-host", "*.b.example", "--webhook-secret",
                 str(secret), "--unit-secret", str(secret)]) == 0  # fmt: skip
    monkeypatch.setenv("FAIRBAI_UNIT_SECRET", "of units, and long enough")
    monkeypatch.setenv("FAIRBAI_WEBHOOK_HOSTS", "c.example,d.example")
    monkeypatch.setenv("FAIRBAI_WEBHOOK_SECRET", "another that is long enough")
    assert main(command) == 0
    assert [one.policy_seconds for one in given] == [5.0, 5.0]
    assert [(one.unit_retention, one.unit_secret) for one in given] == [
        ("90d", "sixteen letters and more"),
        ("90d", "of units, and long enough"),
    ]
    assert [(one.webhook_hosts, one.webhook_secret, one.retention) for one in given] == [
        (("a.example", "*.b.example"), "sixteen letters and more", "365d"),
        (("c.example", "d.example"), "another that is long enough", "365d"),
    ]
    monkeypatch.setenv("FAIRBAI_WEBHOOK_SECRET", "short")
    for more, said in (([], "need a secret of at least 16"), (["--webhook-host", "http://a"], "such as hooks.example"),
                       (["--webhook-secret", str(tmp_path / "none")], "none does not exist"),
                       (["--webhook-secret", str(secret), "--retention", "5m"], "such as 365d"),
                       (["--webhook-secret", str(secret), "--unit-retention", "5m"], "such as 365d")):  # fmt: skip
        assert main([*command, *more]) == 2
        assert said in capsys.readouterr().err
    monkeypatch.setenv("FAIRBAI_UNIT_SECRET", "short")
    assert main([*command, "--webhook-secret", str(secret)]) == 2
    assert "the secret of units must have at least 16 characters, got 5" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", ["-1", "inf", "nan", "1y"])
def test_times_of_the_server_are_seconds_or_durations(capsys: Capture, wrong: str) -> None:
    with pytest.raises(SystemExit):
        main(["serve", f"--policy-seconds={wrong}"])
    assert f"such as 24h or 90d, or seconds, got {wrong!r}" in capsys.readouterr().err


THREADS = """
import os
from fairbai.cli import main
main(["serve", "--port", "70000"])  # which is no port, but is noticed after NumPy is there
import numpy
numpy.ones((300, 300)) @ numpy.ones((300, 300))
names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
print(*(os.environ.get(name, "-") for name in names), len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts the threads of Linux")
def test_the_server_uses_one_thread_for_linear_algebra_unless_told_otherwise() -> None:
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    plain = {name: value for name, value in os.environ.items() if name not in names}

    def said(**given: str) -> list[str]:
        command = [sys.executable, "-c", THREADS]
        return subprocess.run(command, env=plain | given, check=True, capture_output=True, text=True).stdout.split()

    assert said() == ["1", "1", "1"]
    assert said(OMP_NUM_THREADS="2")[:2] == ["-", "2"]
