"""The package as a whole: what it exports, what importing it takes, and that its examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.metadata
import pkgutil
import sys
from pathlib import Path

import pytest

import fairbai as fb
from tests.processes import run_python


def modules() -> list[str]:
    return ["fairbai", *(found.name for found in pkgutil.walk_packages(fb.__path__, "fairbai."))]


def test_import_alone_needs_only_the_standard_library() -> None:
    """What takes long to import, such as NumPy and Numba, is imported when it is first used."""
    code = "import sys; before = set(sys.modules); import fairbai; print(*(set(sys.modules) - before))"
    imported = {name.partition(".")[0] for name in run_python("-c", code).split()}
    assert imported - sys.stdlib_module_names == {"fairbai"}


@pytest.mark.parametrize("name", fb.__all__)
def test_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(fb, name).__doc__
    assert name in dir(fb)


def test_type_checkers_see_the_same_names() -> None:
    """They read the imports under TYPE_CHECKING; at run time the names come from ``__getattr__``."""
    tree = ast.parse(Path(fb.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(block.body)
    assert sorted(alias.asname or alias.name for node in imports for alias in node.names) == sorted(fb.__all__)
    for node in imports:
        for alias in node.names:
            module = importlib.import_module(str(node.module))
            found = getattr(module, alias.name, None) or importlib.import_module(f"{node.module}.{alias.name}")
            assert getattr(fb, alias.name) is found


def test_public_names_are_sorted_and_unique() -> None:
    assert fb.__all__ == sorted(set(fb.__all__))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'fairbai' has no attribute 'solv'"):
        fb.solv  # noqa: B018
    assert not hasattr(fb, "numpy")


def test_version_is_that_of_the_distribution() -> None:
    assert fb.__version__ == importlib.metadata.version("fairbai")


def test_types_are_shipped() -> None:
    assert Path(fb.__file__).with_name("py.typed").exists()


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("name", modules())
def test_module_is_documented_and_its_examples_run(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__ or not Path(str(module.__file__)).read_text(encoding="utf-8")
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        report: list[str] = []
        failed, _ = runner.run(test, out=report.append)
        assert failed == 0, "".join(report)


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    examples = [test.examples for name in modules() for test in finder.find(importlib.import_module(name), name)]
    assert sum(map(len, examples)) >= 15
