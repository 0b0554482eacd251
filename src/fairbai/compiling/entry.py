"""The kernels that Python calls, in two tiers: compiled, or as Python while that is under way."""

import time
from collections.abc import Callable
from typing import Any

from numba.core.registry import CPUDispatcher

from fairbai.compiling import requests, tier, waiting
from fairbai.compiling.cache import KernelCache
from fairbai.compiling.mode import MODE, WAIT

PAUSE = 0.2  # seconds between two looks at the cache


class NotCompiledError(Exception):
    """There is no machine code for these arguments yet."""


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """Finds the machine code for the types of the arguments; loads it from the cache, but never compiles by itself."""

    next_look = 0.0

    def _compile_for_args(self, *arguments: Any, **more: Any) -> Any:
        """Numba calls this for types that it has not seen, and then calls what it returns."""
        now = time.monotonic()
        if now < self.next_look:
            raise NotCompiledError
        signature = self.signature_of(arguments)
        if self.load(signature):
            return self.overloads[signature].entry_point
        self.next_look = now + PAUSE
        requests.ask(self.py_func, signature)
        tier.awaits(self, signature)  # for ever, if nobody can compile it
        raise NotCompiledError

    def holds(self, signature: tuple[Any, ...]) -> bool:
        """Whether the cache has the kernel for these types."""
        return bool(self._cache.holds(signature, self.targetctx))

    def load(self, signature: tuple[Any, ...]) -> bool:
        """Load the kernel for these types from the cache, if it is there."""
        if self.holds(signature):
            self.compile(signature)
            return True
        return False

    def compile(self, signature: tuple[Any, ...]) -> Any:
        """Load the kernel for these types, or compile it in this process."""
        self._compilation_chain_init_hook()
        return super().compile(signature)

    def signature_of(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The types that Numba gives to the arguments."""
        try:
            return tuple(self.typeof_pyval(argument) for argument in arguments)
        finally:
            self._types_active_call.clear()


class Entry:
    """A kernel that Python calls.

    Args:
        function: As Python.
        options: For Numba.
        inside: What Numba takes for it where another kernel calls it.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], inside: Any) -> None:
        self.function = function
        self.dispatcher = _Dispatcher(py_func=function, targetoptions=options)
        self.dispatcher._cache = KernelCache(function)
        self.inside, self._numba_type_ = inside, inside._numba_type_
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__
        self._otherwise = self.compiled if MODE == WAIT else function

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled kernel if there is one; else Python, or wait for it, as FAIRBAI_JIT says."""
        try:
            return self.dispatcher(*arguments)
        except NotCompiledError:
            pass  # and out of the handler: an error that comes now has nothing to do with this one
        return self._otherwise(*arguments)

    def compiled(self, *arguments: Any) -> Any:
        """Call the compiled kernel; wait for it if need be, for work that would take too long as Python."""
        try:
            return self.dispatcher(*arguments)
        except NotCompiledError:
            pass
        self.wait_for(self.dispatcher.signature_of(arguments))
        return self.dispatcher(*arguments)

    def ready(self, *arguments: Any) -> bool:
        """Whether a call with such arguments would run compiled."""
        signature = self.dispatcher.signature_of(arguments)
        return signature in self.dispatcher.overloads or self.dispatcher.load(signature)

    def wait_for(self, signature: tuple[Any, ...]) -> None:
        """Wait until the kernel is compiled for these types; if no other process can, compile it here."""
        with waiting.waited:
            if not self.dispatcher.holds(signature):
                waiting.wait(self.function, signature, lambda: self.dispatcher.holds(signature))
            self.dispatcher.compile(signature)


def patiently(entry: Any) -> Any:
    """``entry`` in its compiled form, for which a call waits: for work that is hopeless in Python."""
    return entry.compiled if isinstance(entry, Entry) else entry


def is_compiled(entry: Any, *arguments: Any) -> bool:
    """Whether a call with such arguments would run compiled."""
    return isinstance(entry, Entry) and entry.ready(*arguments)
