"""The kernels that are kept between processes, for the commands that look after them."""

import sys
import tempfile
from pathlib import Path


def kept_kernels() -> list[Path]:
    """The files of compiled kernels that later processes load."""
    from fairbai.compiling.cache import CACHE_DIRECTORY

    return list(CACHE_DIRECTORY.rglob("*.nbc"))


def obstacle() -> str | None:
    """Why nothing that is compiled now could be kept; None if it can."""
    from fairbai.compiling.cache import CACHE_DIRECTORY, LASTS
    from fairbai.compiling.mode import MODE, OFF

    if MODE == OFF:
        return "nothing is compiled with FAIRBAI_JIT=off or NUMBA_DISABLE_JIT=1"
    if not LASTS:
        return "the cache directory of this user cannot be written; name another in FAIRBAI_CACHE_DIR"
    try:
        CACHE_DIRECTORY.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=CACHE_DIRECTORY):
            return None
    except OSError as error:
        return f"{CACHE_DIRECTORY} cannot be written ({error.strerror}); name another directory in FAIRBAI_CACHE_DIR"


def lost_kernels() -> list[str]:
    """The kernels that this process has called, but that could not be kept."""
    from fairbai.compiling.entry import Entry

    modules = [module for name, module in sys.modules.items() if name.startswith("fairbai.kernels")]
    called = {id(part): part for module in modules for part in vars(module).values() if isinstance(part, Entry)}
    return sorted(
        entry.__name__
        for entry in called.values()
        if not all(map(entry.dispatcher.holds, list(entry.dispatcher.overloads)))
    )
