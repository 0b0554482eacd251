"""When mobile-env and gymnasium are imported, and what is said when they are missing."""

from __future__ import annotations

import importlib

import gymnasium
import pytest

import fairbai.environments
from tests.processes import run_python

NEEDED = "fairbai.environments needs mobile-env and gymnasium: pip install '.[wireless]' in a clone of the repository"


def test_fairbai_alone_imports_neither() -> None:
    code = (
        "import sys, fairbai; fairbai.Identifier; print({'gymnasium', 'mobile_env', 'matplotlib'} & set(sys.modules))"
    )
    assert run_python("-c", code) == "set()\n"


def test_import_prints_nothing() -> None:
    assert run_python("-c", "import fairbai.environments") == ""


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
    assert run_python("-c", code) == f"{NEEDED}\n"


@pytest.mark.parametrize("missing", ["gymnasium", "mobile_env"])
def test_without_the_extra_help_shows_the_package_and_the_attribute_is_missing(missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
import pydoc, fairbai
text = pydoc.plain(pydoc.render_doc(fairbai))
print("Fair best arm identification." in text, "class Identifier" in text, hasattr(fairbai, "environments"))
try:
    fairbai.environments
except AttributeError as error:
    print(error)
try:
    from fairbai import environments
except ImportError as error:
    print(error)
"""
    assert run_python("-c", code) == f"True True False\n{NEEDED}\n{NEEDED}\n"


def test_other_missing_modules_are_named() -> None:
    code = """
import sys
sys.modules["scipy.special"] = None
try:
    import fairbai.environments
except ModuleNotFoundError as error:
    print(error.name)
"""
    assert run_python("-c", code) == "scipy.special\n"


def test_reload_does_not_warn() -> None:
    importlib.reload(fairbai.environments)
    assert "fairbai/WirelessCell-v0" in gymnasium.registry
