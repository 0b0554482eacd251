"""What is compiled for one user's rates must not meet another user."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import fairbai as fb
from fairbai.compiling.cache import CACHE_DIRECTORY
from tests.processes import run_python
from tests.simulation.cases import compiled

pytestmark = pytest.mark.slow_without_jit

HELPER = """
import numba

@numba.njit
def tenth(means):
    return 0.1 + 0.0 * means
"""
MINE = """
import numba
import fairbai as fb
import helper

@numba.njit
def floors(means):
    return helper.tenth(means)

fb.simulate(fb.Instance([1.0, 0.0], rates=fb.rates.Custom(floors)), 0.1, runs=2)
"""
YOURS = "import fairbai as fb; print(len(fb.simulate(fb.Instance([1.0, 0.0]), 0.1, runs=3)))"


def run(program: str, folder: Path, cache: Path) -> str:
    folder.mkdir(exist_ok=True)
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return run_python("-c", program, cwd=folder, FAIRBAI_CACHE_DIR=str(cache), PYTHONPATH=path)


def kept(cache: Path) -> set[str]:
    return {path.name for path in cache.rglob("*.nb?")}


@pytest.mark.system
def test_compiled_rates_leave_nothing_behind(tmp_path: Path) -> None:
    """A function whose module is gone: others simulate as before, and the cache has nothing of it.

    The loop that takes such functions is kept, and has been before.
    """
    mine, cache = tmp_path / "mine", tmp_path / "cache"
    for rates in (fb.rates.Constant(0.0), fb.rates.Custom(compiled)):
        fb.simulate(fb.Instance([1.0, 0.0], rates=rates), 0.1, runs=3)
    shutil.copytree(CACHE_DIRECTORY, cache / CACHE_DIRECTORY.name, ignore=shutil.ignore_patterns("*.tmp.*"))
    before = kept(cache)
    mine.mkdir()
    (mine / "helper.py").write_text(HELPER, encoding="utf-8")
    run(MINE, mine, cache)
    assert kept(cache) == before
    (mine / "helper.py").unlink()
    assert run(YOURS, tmp_path / "yours", cache) == "3\n"
