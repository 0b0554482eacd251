"""``fairbai doctor``: is everything here that fairbai needs, and what else is?"""

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairbai import __version__
from fairbai.cli import requirements
from fairbai.cli.flags import add_json, add_quiet
from fairbai.cli.kernels import kept_kernels
from fairbai.cli.printing import print_json, print_table

DOCTOR_EXAMPLES = """examples:
  fairbai doctor
  fairbai doctor --database postgresql://user@host/name --json

The status of a check is ok, note (it works, but you may want to know) or wrong. The exit code is 1 if one is wrong.
"""
OLDEST_PYTHON = (3, 11)
DEVELOPMENT = ("bench", "dev", "docs")  # extras for work on fairbai itself
WIDTH = 64  # of the last column
PROBE = "import sys; from fairbai.kernels import probe; sys.exit(probe.try_out())"
PATIENCE = 300.0  # seconds for compiling a small kernel, which takes a few
ADVICE = (
    "Install numba and llvmlite anew, in versions that fit; "
    "`FAIRBAI_JIT=wait fairbai solve --means 1 0 --debug` says where it fails."
)


@dataclass(frozen=True)
class Check:
    """What was looked at, how it is ("ok", "note" or "wrong"), and what was found."""

    check: str
    status: str
    found: str


def add_doctor(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``fairbai doctor``."""
    parser.add_argument("--database", metavar="URL", help="check this database of the service as well")
    add_json(parser)
    add_quiet(parser)


def run_doctor(options: argparse.Namespace) -> int:
    """Check everything, and print one row per check; returns 1 if anything is wrong."""
    checks = list(examine(options.database))
    healthy = all(check.status != "wrong" for check in checks)
    if options.json:
        print_json({"healthy": healthy, "checks": [asdict(check) for check in checks]})
    else:
        rows = [row for check in checks for row in _rows(check)]
        print_table(["check", "status", "found"], rows, words=3)
        print("Everything that is needed is here." if healthy else "Something is wrong: see above.")
    return 0 if healthy else 1


def _rows(check: Check) -> list[list[str]]:
    """The lines of a check: what was found is broken between words."""
    found = textwrap.wrap(check.found, WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
    return [[check.check, check.status, found[0]], *(["", "", line] for line in found[1:])]


def examine(database: str | None = None) -> Iterator[Check]:
    """All checks, in order; none of them raises."""
    yield _python()
    yield _version()
    for name, needed in requirements.needed().items():
        found, fits = requirements.found(name, needed)
        yield Check(name, "ok" if fits else "wrong", f"{found or 'not installed'} (needs {needed})")
    for extra, packages in requirements.extras().items():
        if extra not in DEVELOPMENT:
            yield _extra(extra, packages)
    yield Check("cores", "ok", f"{_cores()} of {os.cpu_count()} for this process")
    yield _guarded("kernel cache", _cache)
    yield _guarded("compiler", _compiler)
    yield _guarded("solver", _solver)
    if database is not None:
        yield from _database(database)


def _guarded(name: str, examined: Callable[[], tuple[str, str]]) -> Check:
    """A check that may fail in ways that nobody has thought of."""
    try:
        return Check(name, *examined())
    except Exception as error:
        return Check(name, "wrong", f"{type(error).__name__}: {error}")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    fits = sys.version_info[:2] >= OLDEST_PYTHON
    return Check("python", "ok" if fits else "wrong", f"{version}, {sys.executable}")


def _version() -> Check:
    place = Path(__file__).parents[1]
    installed = requirements.version("fairbai")
    if installed == __version__:
        return Check("fairbai", "ok", f"{__version__}, {place}")
    missing = "not installed: pip install . in a clone of the repository"
    other = missing if installed is None else f"version {installed} is installed"
    return Check("fairbai", "wrong", f"{__version__} runs from {place}, but {other}")


def _extra(extra: str, packages: dict[str, str]) -> Check:
    from fairbai.simulation.extras import install

    states = {name: requirements.found(name, needed) for name, needed in packages.items()}
    missing = [name for name, (version, _) in states.items() if version is None]
    if missing:
        return Check(f"extra {extra}", "note", f"without {', '.join(missing)}: {install(extra)}")
    unfit = [f"{name} {version} (needs {packages[name]})" for name, (version, fits) in states.items() if not fits]
    if unfit:
        return Check(f"extra {extra}", "wrong", ", ".join(unfit))
    return Check(f"extra {extra}", "ok", ", ".join(f"{name} {version}" for name, (version, _) in states.items()))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cache() -> tuple[str, str]:
    from fairbai.compiling import requests
    from fairbai.compiling.cache import CACHE_DIRECTORY

    if failures := requests.failures():
        return "wrong", f"{'; '.join(failures)}: see {requests.FOLDER}, which can be deleted once that is mended"
    files = kept_kernels()
    size = sum(file.stat().st_size for file in files) / 1e6
    state = f"{len(files)} kernels, {size:.0f} MB" if files else "empty: kernels run as Python until they are compiled"
    nearest = next(path for path in (CACHE_DIRECTORY, *CACHE_DIRECTORY.parents) if path.exists())
    if not os.access(nearest, os.W_OK):
        return "note", f"{CACHE_DIRECTORY} cannot be written, {state}; FAIRBAI_CACHE_DIR names another"
    return "ok" if files else "note", f"{CACHE_DIRECTORY}, {state}"


def _compiler() -> tuple[str, str]:
    """Compile a small kernel as all are compiled: in another process, for a cache, from which it is loaded."""
    from fairbai.compiling.mode import MODE, OFF

    if MODE == OFF:
        return "note", "FAIRBAI_JIT or NUMBA_DISABLE_JIT turns it off: everything is some 100 times slower"
    with tempfile.TemporaryDirectory(prefix="fairbai-doctor-", ignore_cleanup_errors=True) as cache:
        variables = {**os.environ, "FAIRBAI_CACHE_DIR": cache, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command, start = [sys.executable, "-c", PROBE], time.perf_counter()
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return "wrong", f"{said}. Without it everything is some 100 times slower. {ADVICE}"
    return "ok", f"compiled a small kernel in {time.perf_counter() - start:.1f} s"


def _solver() -> tuple[str, str]:
    """Solve a question with a known answer: two Gaussian arms whose means differ by 1 have the time 8."""
    from fairbai import Instance, solve

    start = time.perf_counter()
    found = solve(Instance([1.0, 0.0])).characteristic_time
    seconds = time.perf_counter() - start
    if abs(found - 8.0) > 1e-9:
        return "wrong", f"a characteristic time that is 8 came out as {found!r}"
    return "ok", f"right after {seconds:.2f} s"


# --- the database of the service ------------------------------------------------------------------------------


def _database(url: str) -> Iterator[Check]:
    """Whether it answers, keeps what it acknowledges, and has the tables of this version."""
    try:
        from fairbai.simulation.extras import needs

        databases = needs("fairbai.service.storage.database", "service")
        upgrades = needs("fairbai.service.storage.upgrades", "service")
        database = databases.open_database(url, create=False)
    except Exception as error:
        yield Check("database", "wrong", str(error))
        return
    try:
        yield Check("database", "ok", f"{databases.shown(database.url)} answers")
        yield _guarded("commits", lambda: _commits(database))
        yield _guarded("tables", lambda: _tables(upgrades, database))
    finally:
        database.close()


def _commits(database: Any) -> tuple[str, str]:
    """What a commit waits for; a database that would lose data was refused when it was opened."""
    questions = (
        ["PRAGMA journal_mode", "PRAGMA synchronous"]
        if database.is_sqlite
        else ["SHOW fsync", "SHOW synchronous_commit"]
    )
    with database.reader.connect() as connection:
        answers = [f"{text.split()[1]} {connection.exec_driver_sql(text).scalar()}" for text in questions]
    return "ok", f"wait for the disk: {', '.join(answers)}"


def _tables(upgrades: Any, database: Any) -> tuple[str, str]:
    found = upgrades.schema_version(database)
    if found is None:
        return "note", "none yet: fairbai serve makes them"
    try:
        upgrades.check_version(database)
    except OSError as error:
        return "wrong", str(error)
    return "ok", f"schema {found}"
