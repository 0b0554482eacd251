"""Kernels that only other kernels call: translated once per process, and optimised where they are used.

Numba optimises every function and makes machine code of it, and then does so again inside each caller. For kernels that
are always taken in line this is more than half of the time of the compiler, and nobody calls the machine code. The
library below stops after the translation into LLVM's language: the caller links that, and is optimised as a whole.

This replaces two methods of Numba that are not part of its documented interface; ``tests/compiling/test_inner.py``
notices if a new version changes them.
"""

from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

watchers: list[Callable[[], None]] = []
"""Called whenever the translation of a kernel begins."""


class _NoEngine:
    """Stands for the engine that would run the machine code."""

    def set_env(self, name: str, environment: Any) -> None:
        """Only machine code needs an environment."""


class _Library(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel and of all that it calls, not optimised."""

    codegen = _NoEngine()

    def finalize(self) -> None:
        """Link what the kernel calls, and leave it at that."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is no machine code."""
        self._ensure_finalized()
        return 0


class _Compiler(Compiler):  # type: ignore[misc]
    def __init__(self, typingctx: Any, targetctx: Any, library: Any, *rest: Any) -> None:
        for watcher in watchers:
            watcher()
        super().__init__(typingctx, targetctx, _Library(targetctx.codegen(), "inner"), *rest)


def inner(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """What Numba takes for ``function`` where a kernel calls it."""
    options = {**options, "no_cpython_wrapper": True}
    return CPUDispatcher(py_func=function, targetoptions=options, pipeline_class=_Compiler)
