"""Kernels that only kernels call are translated, and nothing more: what the compiler is spared, and that it works."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairbai.compiling.compiler import kernels_of
from fairbai.kernels import rates
from fairbai.kernels.jit import entry, kernel, subroutine
from tests.processes import run_python

pytestmark = pytest.mark.slow_without_jit


@kernel
def doubled(x: float) -> float:
    return 2.0 * x


@subroutine
def summed(count: int) -> float:
    total = 0.0
    for number in range(count):
        total += doubled(float(number))
    return total


@entry
def answer(count: int) -> float:
    return summed(count) + doubled(1.0)


def test_entry_has_machine_code() -> None:
    assert answer.compiled(5) == 22.0
    (found,) = answer.dispatcher.overloads.values()
    assert found.library.get_pointer_to_function(found.fndesc.llvm_cpython_wrapper_name) != 0


def test_kernels_stay_functions_of_python() -> None:
    assert summed(5) == 20.0
    assert answer.function(5) == 22.0
    assert type(doubled).__name__ == "function"


def test_kernels_of_an_entry() -> None:
    assert kernels_of(answer.function) == {answer.function, summed, doubled}
    names = {function.__name__ for function in kernels_of(rates.fill_floors_batch.function)}
    assert {"fill_floors_batch", "fill_floors", "_extremes"} <= names


def test_kernels_have_none(tmp_path: Path) -> None:
    """If a new version of Numba ignored the library of ``inner``, kernels would be optimised one by one again."""
    code = """
from numba import int64
from fairbai.compiling import inner
from tests.compiling.test_inner import answer, doubled, summed

answer.dispatcher.compile((int64,))  # in this process: the cache is empty
inside = [found for one in (doubled, summed) for found in one.inside.overloads.values()]
assert {type(found.library) for found in inside} == {inner._Library}
print(answer(5), [found.library.get_pointer_to_function(found.fndesc.llvm_func_name) for found in inside])
"""
    assert run_python("-c", code, FAIRBAI_CACHE_DIR=str(tmp_path)).strip() == "22.0 [0, 0]"
