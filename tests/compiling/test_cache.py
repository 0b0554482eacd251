"""Compiled kernels are kept between processes, in a directory that their sources name."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fairbai.compiling import cache
from tests.processes import run_python

FLOORS = """
import numpy as np
import fairbai as fb
from fairbai.compiling.cache import CACHE_DIRECTORY
from fairbai.kernels import rates
fb.rates.Proportional(0.5).floors_batch(np.array([[1.0, 0.5, 0.0]]))
stats = rates.fill_floors_batch.dispatcher.stats
print(CACHE_DIRECTORY, sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_no_process_compiles_by_itself(tmp_path: Path) -> None:
    """The first waits for the compiler, and loads what it kept; the second only loads."""
    for _ in range(2):
        directory, hits, misses = run_python("-c", FLOORS, FAIRBAI_CACHE_DIR=str(tmp_path)).split()
        assert (hits, misses) == ("1", "0")
    assert Path(directory).parent == tmp_path
    assert len(list(Path(directory).glob("*.nbc"))) == 1


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_copies_of_a_version_share_what_is_compiled(tmp_path: Path) -> None:
    """Wherever they are installed, and whenever: a second copy finds the kernels of the first."""
    copy = tmp_path / "elsewhere"
    shutil.copytree(cache.PACKAGE, copy / "fairbai", ignore=shutil.ignore_patterns("__pycache__"))
    for file in copy.rglob("*.py"):
        os.utime(file, (0, 0))
    before = run_python("-c", FLOORS, FAIRBAI_CACHE_DIR=str(tmp_path / "cache"))
    stopped = {"FAIRBAI_JIT": "background"}  # would show a miss, and no wait
    after = run_python("-c", FLOORS, FAIRBAI_CACHE_DIR=str(tmp_path / "cache"), PYTHONPATH=str(copy), **stopped)
    assert before == after


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_file_that_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    expected = run_python("-c", FLOORS, FAIRBAI_CACHE_DIR=str(tmp_path))
    (kept,) = tmp_path.rglob("*.nbc")
    kept.write_bytes(kept.read_bytes()[:100])
    directory, hits, misses = run_python("-c", FLOORS, FAIRBAI_CACHE_DIR=str(tmp_path)).split()
    assert (directory, hits, misses) == (expected.split()[0], "0", "1")
    assert run_python("-c", FLOORS, FAIRBAI_CACHE_DIR=str(tmp_path)) == expected


def test_cache_directory_is_named_by_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    for folder in ("kernels", "compiling", "service"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("# a")
    hashes = [cache._sources_hash(), cache._sources_hash()]
    for file in ("kernels/a.py", "kernels/new.py", "compiling/a.py", "service/a.py"):
        (tmp_path / file).write_text("# changed")
        hashes.append(cache._sources_hash())
    assert len(set(hashes)) == 4
    assert hashes[0] == hashes[1]
    assert hashes[-2] == hashes[-1]  # the service has no kernels


def test_sources_in_folders_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a change in kernels/loop would leave stale kernels in use."""
    folder = tmp_path / "kernels" / "loop" / "deeper"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("# a")
    monkeypatch.setattr(cache, "PACKAGE", tmp_path)
    before = cache._sources_hash()
    (folder / "a.py").write_text("# changed")
    assert cache._sources_hash() != before


def test_cache_directory_is_under_the_root() -> None:
    assert cache._cache_root()[0] / cache._sources_hash() == cache.CACHE_DIRECTORY


def test_variable_names_the_cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRBAI_CACHE_DIR", str(tmp_path / "mine"))
    assert cache._cache_root() == (tmp_path / "mine", True)


def test_users_cache_is_the_default_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRBAI_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache._cache_root() == (tmp_path / "fairbai", True)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache._cache_root() == (tmp_path / ".cache" / "fairbai", True)


@pytest.mark.parametrize("obstacle", ["cannot be made", "cannot be written"])
def test_temporary_directory_is_the_last_resort(obstacle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRBAI_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if obstacle == "cannot be made":
        (tmp_path / "fairbai").write_text("a file stands in the way")
    else:
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path))
    made, lasts = cache._cache_root()
    assert not lasts
    assert made.parent == tmp_path
    assert made.name.startswith("fairbai-")
    assert made.stat().st_mode & 0o077 == 0  # nobody else can put compiled code there
