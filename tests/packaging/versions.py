"""``make versions``: the core of the tests with the oldest and the newest allowed version of every core dependency.

The oldest are the lower bounds in pyproject.toml, on the oldest Python; the newest are what pip would install now. If
those are what this environment has, `make test` has run with them. Kernels of one family are compiled, which is most of
the time, into a cache that belongs to the environment.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.packaging.smoke import OLDEST, ROOT, install, make_environment, pythons, run

TOOLS = ("pytest", "pytest-xdist", "hypothesis")
TESTS = [
    "compiling/test_cache.py",
    "compiling/test_inner.py",
    "allocation/test_solve_properties.py",
    "identifier/test_batches.py",
    "identifier/test_rehearsal.py",
    "identifier/test_status.py",
    "kernels/test_codes.py",
    "kernels/test_philox.py",
    "kernels/test_rewards.py",
    "planning/test_duration.py",
    "problems/test_configured.py",
    "problems/test_instance.py",
    "problems/test_laws.py",
    "problems/test_short_forms.py",
    "simulation/test_scenario.py",
    "simulation/test_simulate.py",
    "simulation/test_same_as_identifier.py",
    "simulation/test_sweep.py",
    "stopping/test_evidence.py",
    "stopping/test_rules.py",
]
CHOSEN = ("-k", "gaussian or compiling or codes or philox", "-m", "not system and not long")


def main() -> None:
    """Print the versions, and run the tests; the exit code is 1 if one fails."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tools = [line for line in project["optional-dependencies"]["dev"] if name_of(line) in TOOLS]
    for name, wanted in (("oldest", oldest(project)), ("newest", newest(project))):
        shown = ", ".join(f"{package} {number}" for package, number in wanted.items())
        if wanted == {package: version(package) for package in wanted}:
            print(f"{name}: {shown}: what `make test` runs with", flush=True)
            continue
        print(f"{name}: {shown}", flush=True)
        python = make_environment(ROOT / f".venv-{name}", pythons()[OLDEST] if name == "oldest" else sys.executable)
        install(python, "--editable", ROOT, *(f"{package}=={number}" for package, number in wanted.items()), *tools)
        _test(python)


def name_of(requirement: str) -> str:
    """The distribution that a requirement is about."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def oldest(project: dict[str, Any]) -> dict[str, str]:
    """The lower bound of every core dependency."""
    return dict(re.fullmatch(r"([\w.-]+)>=([\d.]+),<[\d.]+", line).groups() for line in project["dependencies"])  # type: ignore[union-attr]


def newest(project: dict[str, Any]) -> dict[str, str]:
    """The versions that pip would install now, where nothing is installed yet."""
    resolve = ("install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-")
    found = json.loads(run(sys.executable, "-m", "pip", *resolve, *project["dependencies"]))["install"]
    numbers = {one["metadata"]["name"].lower(): one["metadata"]["version"] for one in found}
    return {name_of(line): numbers[name_of(line)] for line in project["dependencies"]}


def _test(python: Path) -> None:
    variables = {**os.environ, "FAIRBAI_CACHE_DIR": str(python.parents[1] / "cache")}
    tests = [f"tests/{name}" for name in TESTS]
    for command in (["fairbai", "doctor"], ["pytest", "--quiet", "-n", "2", "--dist", "loadgroup", *CHOSEN, *tests]):
        if subprocess.run([python, "-m", *command], cwd=ROOT, env=variables).returncode:
            sys.exit(1)


if __name__ == "__main__":
    main()
