"""``fairbai warm``: afterwards there is nothing left to compile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fairbai.cli import kernels, main
from fairbai.compiling.entry import Entry
from tests.cli.commands import Capture
from tests.processes import run_python

WORK = """
import fairbai as fb
from fairbai.compiling.tier import tier

for family in (fb.Gaussian(1.0), "bernoulli", "poisson"):
    for rule in ("fair_top_two", "fair_track_and_stop", "lucb", "uniform_fair"):
        for rates in (None, 0.2, fb.rates.Gap(0.5), fb.rates.Bounded(0.1, 0.8)):
            if rule == "lucb" and isinstance(rates, fb.rates.Bounded):
                continue
            ident = fb.Identifier(3, delta=0.1, family=family, rates=rates, sampling=rule, seed=1)
            while not ident.stopped and ident.trials < 150:
                arm = ident.ask()
                ident.tell(arm, float(arm == 0))
                ident.trials == 20 and ident.status()
            ident.status()
    instance = fb.Instance([0.6, 0.4, 0.3], family=family, rates=0.2)
    fb.solve(instance), fb.plan(instance), fb.price_of_fairness(instance)
    for rule in ("fair_top_two", "fair_track_and_stop"):
        fb.simulate(instance, [0.1, 0.01], rule, settle=True, histogram=True, trace=True, runs=2, maximum_rounds=50)
print(tier())
"""


def warm(*flags: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fairbai", "warm", *flags]
    environment = {**os.environ, **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_nothing_is_left_to_compile(capsys: Capture) -> None:
    """In the cache of the tests, which has most of it already."""
    assert main(["warm", "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["kernels"] == len(kernels.kept_kernels())
    assert "fairbai: 16 of 16: analyze" in printed.err
    assert run_python("-c", WORK, FAIRBAI_JIT="background") == "compiled\n"
    assert main(["warm"]) == 0
    assert capsys.readouterr().out.startswith(f"nothing to compile; {found['directory']} has ")


@pytest.mark.slow_without_jit
def test_quiet(capsys: Capture) -> None:
    assert main(["warm", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow_without_jit
def test_cache_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    done = warm(FAIRBAI_CACHE_DIR=str(blocked))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"fairbai: {blocked}" in done.stderr
    assert "cannot be written (Not a directory); name another directory in FAIRBAI_CACHE_DIR" in done.stderr


@pytest.mark.slow_without_jit
def test_cache_that_would_not_last(tmp_path: Path) -> None:
    (tmp_path / "fairbai").write_text("not a folder")
    environment = {name: value for name, value in os.environ.items() if name != "FAIRBAI_CACHE_DIR"}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    command = [sys.executable, "-m", "fairbai", "warm"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert "the cache directory of this user cannot be written" in done.stderr


@pytest.mark.parametrize("variable", [{"FAIRBAI_JIT": "off"}, {"NUMBA_DISABLE_JIT": "1"}])
def test_nothing_is_compiled_where_that_is_off(variable: dict[str, str]) -> None:
    done = warm(**variable)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "fairbai: nothing is compiled with FAIRBAI_JIT=off or NUMBA_DISABLE_JIT=1\n"


@pytest.mark.slow_without_jit
def test_kernels_that_could_not_be_kept(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as on a full disk: they were compiled, and are not there."""
    assert main(["warm", "--quiet"]) == 0
    found = kernels.lost_kernels()
    assert found == []
    from fairbai.kernels.loop.steps import assign

    assert isinstance(assign, Entry)
    monkeypatch.setattr(assign.dispatcher._cache, "holds", lambda *_: False)
    assert main(["warm", "--quiet"]) == 1
    assert capsys.readouterr().err == "fairbai: assign could not be kept: is the disk full?\n"
