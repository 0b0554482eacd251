"""Building the distributions, and trying them in environments that hold nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
OLDEST = (3, 11)
LOOP = """
import random
import fairbai as fb

draw = random.Random(1).gauss
ident = fb.Identifier(["a", "b"], delta=0.1, family=fb.Gaussian(1.0), floors=fb.rates.Constant(0.2), seed=1)
while not ident.stopped:
    arm = ident.ask()
    ident.tell(arm, draw(3.0 * (arm == "a"), 1.0))
assert ident.recommendation == "a", ident.recommendation
assert ident.status().shares.min() >= 0.2
print(fb.__file__)
"""


def run(*command: str | Path, **variables: str) -> str:
    """What a command prints; what it said is in the error if it fails."""
    environment = {**os.environ, **variables}
    environment.pop("PYTHONPATH", None)  # so that only what is installed is found
    done = subprocess.run(
        [str(part) for part in command], env=environment, cwd=Path(command[0]).parent, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path, *options: str) -> tuple[Path, Path]:
    """The sdist, and the wheel that is made from it."""
    run(sys.executable, "-m", "build", "--outdir", folder, *options, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return sdist, wheel


def make_environment(folder: Path, python: str | Path = sys.executable) -> Path:
    """An empty environment without pip, which takes ten times as long to install as the rest; returns its Python."""
    if Path(python) == Path(sys.executable):
        venv.create(folder, symlinks=True)
    else:
        run(python, "-m", "venv", "--without-pip", folder)
    return folder / "bin" / "python"


def install(python: Path, *what: str | Path) -> None:
    """Install into the environment of a Python, with the pip of this one."""
    run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", python, "install", *what)


def try_out(python: Path, **variables: str) -> str:
    """The version, a solve, an ask/tell loop and the doctor; returns where fairbai is installed."""
    command = python.with_name("fairbai")
    print("   ", run(command, "--version", **variables).strip())
    assert '"characteristic_time": 8.0' in run(command, "solve", "--means", "1", "0", "--json", **variables)
    place = run(python, "-c", LOOP, **variables).strip()
    assert '"healthy": true' in run(command, "doctor", "--json", **variables)
    return place


def pythons() -> dict[tuple[int, int], Path]:
    """One Python of every minor version from the oldest on: of PATH, and as pyenv and uv keep them."""
    found: dict[tuple[int, int], Path] = {}
    for candidate in _candidates():
        asked = [candidate, "-c", "import sys, venv; print(*sys.version_info[:2], sys.implementation.name)"]
        answer = subprocess.run(asked, capture_output=True, text=True)
        if answer.returncode == 0 and answer.stdout.split()[2:] == ["cpython"]:
            major, minor, _ = answer.stdout.split()
            version = int(major), int(minor)
            if version >= OLDEST:
                found.setdefault(version, candidate)
    return dict(sorted(found.items()))


def _candidates() -> Iterable[Path]:
    yield Path(sys.executable)
    for minor in range(OLDEST[1], 30):
        if path := shutil.which(f"python3.{minor}"):
            yield Path(path)
    for kept in (Path.home() / ".pyenv" / "versions", Path.home() / ".local" / "share" / "uv" / "python"):
        yield from sorted(kept.glob("*/bin/python3"))
