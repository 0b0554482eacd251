"""Compiled kernels are kept between processes, in a directory that their sources name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairbai.kernels import jit
from tests.processes import run_python

FLOORS = """
import fairbai as fb
from fairbai.kernels import jit, rates
fb.rates.Proportional(0.5).floors([1.0, 0.5, 0.0])
hits, misses = rates.fill_floors.stats.cache_hits, rates.fill_floors.stats.cache_misses
print(jit.CACHE_DIRECTORY, sum(hits.values()), sum(misses.values()))
"""


@pytest.mark.slow_without_jit
def test_second_process_does_not_compile(tmp_path: Path) -> None:
    first, second = (run_python("-c", FLOORS, FAIRBAI_CACHE_DIR=str(tmp_path)).split() for _ in range(2))
    assert first[1:] == ["0", "1"]
    assert second[1:] == ["1", "0"]
    assert Path(second[0]).parent == tmp_path
    assert list(Path(second[0]).rglob("*.nbi"))


def test_cache_directory_is_named_by_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(f"# {name}")
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))
    before = jit._sources_hash()
    assert before == jit._sources_hash()
    (tmp_path / "b.py").write_text("# changed")
    changed = jit._sources_hash()
    (tmp_path / "c.py").write_text("# new")
    assert len({before, changed, jit._sources_hash()}) == 3


def test_sources_in_folders_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a change in kernels/loop would leave stale kernels in use."""
    folder = tmp_path / "loop" / "deeper"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("# a")
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))
    before = jit._sources_hash()
    (folder / "a.py").write_text("# changed")
    assert jit._sources_hash() != before


def test_cache_directory_is_under_the_root() -> None:
    assert jit._cache_root() / jit._sources_hash() == jit.CACHE_DIRECTORY


def test_variable_names_the_cache_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRBAI_CACHE_DIR", str(tmp_path / "mine"))
    assert jit._cache_root() == tmp_path / "mine"


def test_users_cache_is_the_default_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRBAI_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert jit._cache_root() == tmp_path / "fairbai"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert jit._cache_root() == tmp_path / ".cache" / "fairbai"


@pytest.mark.parametrize("obstacle", ["cannot be made", "cannot be written"])
def test_temporary_directory_is_the_last_resort(obstacle: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRBAI_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    if obstacle == "cannot be made":
        (tmp_path / "fairbai").write_text("a file stands in the way")
    else:
        monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    monkeypatch.setattr(jit.tempfile, "tempdir", str(tmp_path))
    made = jit._cache_root()
    assert made.parent == tmp_path
    assert made.name.startswith("fairbai-")
    assert made.stat().st_mode & 0o077 == 0  # nobody else can put compiled code there


def test_numbas_own_cache_directory_is_left_alone() -> None:
    before = jit.numba.config.CACHE_DIR
    compiled = jit.kernel(lambda x: x + 1.0)
    assert compiled(1.0) == 2.0
    assert before == jit.numba.config.CACHE_DIR
