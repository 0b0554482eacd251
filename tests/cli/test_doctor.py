"""``fairbai doctor``: what it finds here, and that it notices what is wrong."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fairbai as fb
from fairbai.cli import doctor, main, requirements
from fairbai.service.storage.database import open_database
from fairbai.service.storage.upgrades import upgrade
from tests.cli.commands import Capture
from tests.compiling.broken import REASON, broken_numba


def examined(capsys: Capture, *arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """The exit code, and the status and what was found by check."""
    code = main(["doctor", "--json", *arguments])
    form: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert form["healthy"] == (code == 0)
    return code, {check["check"]: (check["status"], check["found"]) for check in form["checks"]}


@pytest.fixture
def needs(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the distribution need something else."""

    def set_needs(*lines: str) -> None:
        monkeypatch.setattr(importlib.metadata, "requires", lambda name: list(lines))

    return set_needs


@pytest.fixture(autouse=True)
def quick_probe(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes some seconds: most tests do without."""
    if "compiler" not in request.node.name:
        monkeypatch.setattr(doctor, "PROBE", "")


def test_this_installation_is_healthy_and_has_a_compiler(capsys: Capture) -> None:
    code, found = examined(capsys)
    assert found["compiler"][0] in ("ok", "note")
    assert code == 0
    assert found["python"][0] == found["fairbai"][0] == found["numpy"][0] == found["numba"][0] == "ok"
    assert found["fairbai"][1].startswith(f"{fb.__version__}, ")
    assert found["cores"][1].endswith("for this process")
    assert found["solver"][0] == "ok"
    assert found["solver"][1].startswith("right after ")
    assert "database" not in found


def test_table(capsys: Capture, needs: Any) -> None:
    needs("numpy<3,>=2.0")
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["check", "status", "found"]
    assert lines[-1] == "Everything that is needed is here."
    assert any(line.split()[:2] == ["numpy", "ok"] for line in lines)


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("numpy>=2.0,<3", "ok", "needs >=2.0,<3"),
        ("numpy>=1000", "wrong", "(needs >=1000)"),
        ("numpy<2", "wrong", "(needs <2)"),
        ("numpy", "ok", "needs "),
    ],
)
def test_versions_that_are_needed(capsys: Capture, needs: Any, line: str, status: str, words: str) -> None:
    needs(line)
    code, found = examined(capsys)
    assert code == (status == "wrong")
    assert found["numpy"][0] == status
    assert words in found["numpy"][1]


def test_something_needed_is_missing(capsys: Capture, needs: Any) -> None:
    needs("nothing-of-that-name>=1")
    code, found = examined(capsys)
    assert code == 1
    assert found["nothing-of-that-name"] == ("wrong", "not installed (needs >=1)")
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.endswith("Something is wrong: see above.\n")


def test_the_table_fits_a_terminal(capsys: Capture) -> None:
    """But for paths, which cannot be broken; what only developers install is not listed."""
    main(["doctor"])
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 100 for line in lines if "/" not in line and set(line) != {"-"})
    listed = {line.split()[1] for line in lines if line.startswith("extra ")}
    assert "service" in listed
    assert not listed & {"bench", "dev", "docs"}


def test_extras(capsys: Capture, needs: Any) -> None:
    """An extra that is not there is no mistake; one that is there in the wrong version is."""
    needs(
        'pytest>=8; extra == "all"',
        'pytest[x]>=8,<9000; extra == "all"',
        'fairbai[all]; extra == "all"',
        'pytest>=8; extra == "some"',
        'nothing-of-that-name; extra == "some"',
    )
    advice = "pip install '.[some]' in a clone of the repository"
    code, found = examined(capsys)
    assert code == 0
    assert found["extra all"] == ("ok", f"pytest {importlib.metadata.version('pytest')}")
    assert found["extra some"] == (
        "note",
        f"without nothing-of-that-name: {advice}",
    )
    needs('pytest>=9000; extra == "all"')
    code, found = examined(capsys)
    assert code == 1
    assert found["extra all"][0] == "wrong"


@pytest.mark.parametrize(
    ("there", "bound", "holds"),
    [
        ("2.0", ">=2", True),
        ("2", ">=2.0", True),
        ("1.26.4", ">=2.0", False),
        ("2.10", ">=2.9", True),
        ("3.0.0rc1", "<3", False),
        ("2.9.9", "<3", True),
        ("2026.7.1", ">=2024.8", True),
    ],
)
def test_versions_are_compared_as_numbers(there: str, bound: str, holds: bool) -> None:
    assert requirements._holds(there, bound) == holds


def test_our_own_requirements_are_understood() -> None:
    """No other signs than those that the comparison knows."""
    for packages in (requirements.needed(), *requirements.extras().values()):
        for name, needed in packages.items():
            assert requirements.found(name, needed)[0] is None or requirements.found(name, needed)[1]


def test_another_version_is_installed(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "version", lambda name: "0.0.1" if name == "fairbai" else "9")
    assert doctor._version().status == "wrong"
    assert doctor._version().found.endswith("but version 0.0.1 is installed")
    monkeypatch.setattr(requirements, "version", lambda name: None)
    assert "not installed: pip install ." in doctor._version().found


def test_distribution_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", missing)
    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert requirements.needed() == {}
    assert requirements.version("fairbai") is None


# The kernel cache and the solver


def test_cache_that_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fairbai.compiling.cache.CACHE_DIRECTORY", tmp_path / "new" / "cache")
    found = f"{tmp_path / 'new' / 'cache'}, empty: kernels run as Python until they are compiled"
    assert doctor._cache() == ("note", found)


def test_cache_that_is_warm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("fairbai.compiling.cache.CACHE_DIRECTORY", tmp_path)
    for number in range(3):
        (tmp_path / f"kernel{number}.nbc").write_bytes(bytes(700_000))
    assert doctor._cache() == ("ok", f"{tmp_path}, 3 kernels, 2 MB")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    status, found = doctor._cache()
    assert status == "note"
    assert "cannot be written" in found


def test_cache_with_kernels_that_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As long as they are not tried again."""
    monkeypatch.setattr("fairbai.compiling.cache.CACHE_DIRECTORY", tmp_path)
    monkeypatch.setattr("fairbai.compiling.requests.FOLDER", tmp_path)
    failed = tmp_path / "solve-0123.failed"
    failed.write_text("solve could not be compiled (OSError: full)\nTraceback ...")
    found = f"solve could not be compiled (OSError: full): see {tmp_path}, which can be deleted once that is mended"
    assert doctor._cache() == ("wrong", found)
    os.utime(failed, (0, 0))
    assert doctor._cache()[0] == "note"


@pytest.mark.slow_without_jit
def test_compiler_that_does_not_work(tmp_path: Path) -> None:
    """Loudly: with the exit code, the reason, and what to do."""
    done = subprocess.run(
        [sys.executable, "-m", "fairbai", "doctor", "--json"],
        env={**os.environ, **broken_numba(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    (check,) = (check for check in json.loads(done.stdout)["checks"] if check["check"] == "compiler")
    assert check["status"] == "wrong"
    assert check["found"].startswith(
        f"half_sum {REASON}. Without it everything is some 100 times slower. Install numba"
    )


def test_compiler_that_is_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbai.compiling.mode.MODE", "off")
    found = "FAIRBAI_JIT or NUMBA_DISABLE_JIT turns it off: everything is some 100 times slower"
    assert doctor._compiler() == ("note", found)


def test_solver_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairbai.solve", lambda instance: type("Found", (), {"characteristic_time": 9.0}))
    assert doctor._solver() == ("wrong", "a characteristic time that is 8 came out as 9.0")


def test_checks_do_not_raise() -> None:
    def broken() -> tuple[str, str]:
        raise RuntimeError("no disk")

    assert doctor._guarded("cache", broken) == doctor.Check("cache", "wrong", "RuntimeError: no disk")


# The database


@pytest.fixture
def database(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/fairbai.db"
    opened = open_database(url)
    upgrade(opened)
    opened.close()
    return url


def test_database_of_the_service(capsys: Capture, database: str) -> None:
    code, found = examined(capsys, "--database", database)
    assert code == 0
    assert found["database"] == ("ok", f"{database} answers")
    assert found["commits"] == ("ok", "wait for the disk: journal_mode wal, synchronous 2")
    assert found["tables"][0] == "ok"
    assert found["tables"][1].startswith("schema ")


def test_database_without_tables(capsys: Capture, tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.db").close()
    code, found = examined(capsys, "--database", f"sqlite:///{tmp_path}/empty.db")
    assert code == 0
    assert found["tables"] == ("note", "none yet: fairbai serve makes them")


def test_database_of_another_version(capsys: Capture, tmp_path: Path, database: str) -> None:
    with sqlite3.connect(tmp_path / "fairbai.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    code, found = examined(capsys, "--database", database)
    assert code == 1
    assert found["tables"][0] == "wrong"
    assert "schema 9999" in found["tables"][1]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite:///nowhere.db", "no such file"),
        ("mysql://somewhere/x", "must be SQLite or PostgreSQL, got mysql"),
        ("postgresql://nobody:secret@127.0.0.1:1/x", "postgresql://nobody:***@127.0.0.1:1/x: "),
    ],
)
def test_database_that_does_not_answer(capsys: Capture, url: str, words: str) -> None:
    code, found = examined(capsys, "--database", url)
    assert code == 1
    assert found["database"][0] == "wrong"
    assert words in found["database"][1]
    assert "secret" not in found["database"][1]


@pytest.mark.slow_without_jit
def test_exit_code_of_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairbai", "doctor", "--database", "sqlite:///nowhere.db"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, "")
