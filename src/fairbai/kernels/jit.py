"""The decorators of the kernels."""

from collections.abc import Callable
from typing import Any

import numba
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable
from numba.np.arrayobj import make_array

from fairbai.compiling.entry import Entry
from fairbai.compiling.inner import inner
from fairbai.compiling.mode import MODE, OFF

OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""Without the GIL. ``error_model="numpy"`` drops the zero-division check that would stop the compiler from using vector
instructions. ``fastmath`` stays off: with the JIT off the same code must give the same bits. There is no wrapper for C,
which nobody calls."""


def kernel(function: Callable[..., Any]) -> Any:
    """Take ``function`` in line wherever a compiled kernel calls it; for Python it stays what it is.

    A call would cost as much as a small kernel.
    """
    return _inside(function, forceinline=True)


def subroutine(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its own, for the kernels that call it: for large ones that several call."""
    return _inside(function, forceinline=False)


def entry(function: Callable[..., Any]) -> Any:
    """Compile ``function`` for calls from Python, and keep the machine code; see ``fairbai.compiling``."""
    if MODE == OFF:
        return function
    return Entry(function, OPTIONS, inner(function, OPTIONS))


def _inside(function: Callable[..., Any], forceinline: bool) -> Any:
    """The function itself, which Numba now knows: where a kernel calls it, its compiled form is meant."""
    if MODE != OFF:
        inside = inner(function, {**OPTIONS, "forceinline": forceinline})
        vars(function).update(inside=inside, _numba_type_=inside._numba_type_)  # the type alone would not keep it alive
    return function


def pointer(signature: Any, function: Callable[..., Any]) -> Any:
    """Compile ``function`` as one that kernels take as an argument: they are compiled once for all of a signature."""
    return function if MODE == OFF else numba.cfunc(signature)(function)


def borrowed(array):
    """The same array (or None) without its owner, for arrays that the caller keeps alive: arguments, and nothing else.

    Numba counts references to the owner of an array whenever a kernel takes one or makes a view of one. Counting is
    atomic, and took more than half of the time of a simulated round.
    """
    return array


@type_callable(borrowed)
def _type_of_borrowed(context):
    return lambda array: array


@lower_builtin(borrowed, numba.types.NoneType)
def _nothing(context, builder, signature, arguments):
    return context.get_dummy_value()


@lower_builtin(borrowed, numba.types.Array)
def _without_owner(context, builder, signature, arguments):
    inside = make_array(signature.return_type)(context, builder, arguments[0])
    inside.meminfo = cgutils.get_null_value(inside.meminfo.type)
    return inside._getvalue()
