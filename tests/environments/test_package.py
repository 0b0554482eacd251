"""When mobile-env and gymnasium are imported, and what is said when they are missing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import gymnasium
import pytest

import fairbai.environments

NEEDED = "fairbai.environments needs mobile-env and gymnasium: pip install 'fairbai[wireless]'"


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_fairbai_alone_imports_neither() -> None:
    code = (
        "import sys, fairbai; fairbai.Identifier; print({'gymnasium', 'mobile_env', 'matplotlib'} & set(sys.modules))"
    )
    assert run(code) == "set()"


def test_import_prints_nothing() -> None:
    assert run("import fairbai.environments") == ""


@pytest.mark.parametrize("missing", ["gymnasium", "mobile_env"])
def test_missing_packages(missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
try:
    import fairbai.environments
except ModuleNotFoundError as error:
    print(error)
"""
    assert run(code) == NEEDED


def test_other_missing_modules_are_named() -> None:
    code = """
import sys
sys.modules["scipy.special"] = None
try:
    import fairbai.environments
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run(code) == "scipy.special"


def test_reload_does_not_warn() -> None:
    importlib.reload(fairbai.environments)
    assert "fairbai/WirelessCell-v0" in gymnasium.registry
