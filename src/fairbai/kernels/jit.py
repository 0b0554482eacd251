"""The decorators of the kernels, and where compiled kernels are kept between processes."""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


def _sources_hash() -> str:
    """Hash of all kernel sources.

    Numba notices a change of the file that holds a cached function, but not of a file that it calls into.
    A directory for each state of the sources makes a stale callee impossible.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_root() -> Path:
    """FAIRBAI_CACHE_DIR, else the user's cache directory, else a temporary one of this process."""
    if named := os.environ.get("FAIRBAI_CACHE_DIR"):
        return Path(named)
    try:
        user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairbai"
        user.mkdir(parents=True, exist_ok=True)
        if os.access(user, os.W_OK):
            return user
    except (OSError, RuntimeError):  # no home, or none that can be written
        pass
    return Path(tempfile.mkdtemp(prefix="fairbai-"))  # a name that nobody else can have prepared


CACHE_DIRECTORY = _cache_root() / _sources_hash()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` into the kernels that call it.

    ``error_model="numpy"`` drops the zero-division check that would stop the compiler from using vector
    instructions, and ``forceinline`` the calls, which would cost as much as a small kernel. ``fastmath`` stays off:
    with the JIT off the same code must give the same bits.
    """
    return _compiled(function, forceinline=True)


def entry(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its own, once: for large kernels, and those that Python calls."""
    return _compiled(function, forceinline=False)


def pointer(signature: Any, function: Callable[..., Any]) -> Any:
    """Compile ``function`` as one that kernels take as an argument: they are compiled once for all of a signature."""
    return function if vars(numba.config)["DISABLE_JIT"] else numba.cfunc(signature)(function)


def _compiled(function: Callable[..., Any], forceinline: bool) -> Any:
    """Without the GIL, and with the machine code kept in ``CACHE_DIRECTORY``.

    Without the wrapper for C, which nobody calls: it would be compiled with one more copy of all that is inlined.
    """
    njit: Any = numba.njit  # whose types do not have no_cfunc_wrapper
    settings = vars(numba.config)
    before = settings["CACHE_DIR"]
    settings["CACHE_DIR"] = str(CACHE_DIRECTORY)  # read once, when the dispatcher is made
    try:
        decorate = njit(cache=True, nogil=True, error_model="numpy", forceinline=forceinline, no_cfunc_wrapper=True)
        return decorate(function)
    finally:
        settings["CACHE_DIR"] = before


if vars(numba.config)["DISABLE_JIT"]:

    def borrowed(array):
        """The array itself."""
        return array

else:

    @intrinsic
    def borrowed(typing_context, array):
        """The same array without its owner, for arrays that the caller keeps alive: arguments, and nothing else.

        Numba counts references to the owner of an array whenever a kernel takes one or makes a view of one. Counting is
        atomic, and took more than half of the time of a simulated round.
        """

        def make(context, builder, signature, arguments):
            inside = make_array(array)(context, builder, arguments[0])
            inside.meminfo = cgutils.get_null_value(inside.meminfo.type)
            return inside._getvalue()

        return array(array), make
