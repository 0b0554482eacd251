"""Where compiled kernels are kept between processes.

Numba would name what it keeps by the path and the time of the source file. Here the name of the directory is a hash of
all sources that matter and of Numba's version, so that every copy of the same version shares one cache, wherever it is
installed, and a kernel that calls into a file that has changed is never used.
"""

import atexit
import contextlib
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator

PACKAGE = Path(__file__).parents[1]


def _sources_hash() -> str:
    """Hash of all kernel sources and of what compiles them: versions of Numba share neither kernels nor failures."""
    digest = hashlib.sha256(numba.__version__.encode())
    for folder in (PACKAGE / "kernels", PACKAGE / "compiling"):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_root() -> tuple[Path, bool]:
    """FAIRBAI_CACHE_DIR, else the user's cache directory, else a temporary one; and whether it will last."""
    if named := os.environ.get("FAIRBAI_CACHE_DIR"):
        return Path(named), True
    try:
        user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairbai"
        user.mkdir(parents=True, exist_ok=True)
        if os.access(user, os.W_OK):
            return user, True
    except (OSError, RuntimeError):  # no home, or none that can be written
        pass
    own = Path(tempfile.mkdtemp(prefix="fairbai-"))  # a name that nobody else can have prepared
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return own, False


CACHE_ROOT, LASTS = _cache_root()
CACHE_DIRECTORY = CACHE_ROOT / _sources_hash()


@functools.lru_cache
def _contents_hash(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Files in ``CACHE_DIRECTORY``, named by module and line; what a file contained is its stamp."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._name = f"{function.__module__}-{function.__code__.co_firstlineno}"
        self._py_file = file  # where numba looks for it when it warns

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "_Locator":
        return cls(function, file)

    def get_cache_path(self) -> str:
        return str(CACHE_DIRECTORY)

    def get_source_stamp(self) -> str:
        return _contents_hash(self._py_file)

    def get_disambiguator(self) -> str:
        return self._name


class _Results(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class KernelCache(FunctionCache):  # type: ignore[misc]
    """What is kept of one kernel. A disk that is full or broken costs the cache, and nothing else."""

    _impl_class = _Results

    def holds(self, signature: Any, target: Any) -> bool:
        """Whether the machine code for a signature can be loaded."""
        try:
            key = self._index_key(signature, target.codegen())
            name = self._cache_file._load_index().get(key)
            return name is not None and os.path.exists(self._cache_file._data_path(name))
        except Exception:  # an index that cannot be read
            return False

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The machine code for a signature, or None."""
        try:
            return super().load_overload(signature, target)
        except Exception:  # a file that was cut short, or written by somebody else
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep the machine code for a signature, if that is possible."""
        with contextlib.suppress(OSError):
            super().save_overload(signature, compiled)
