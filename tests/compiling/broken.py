"""A Numba with which nothing can be compiled, for other processes: what 0.62 lacks is missing, or never works."""

import os
from pathlib import Path

CODE = """
from numba.core import codegen

def gone(library, *value):
    if not value:
        raise AttributeError("no _reload_init")

codegen.CPUCodeLibrary._reload_init = property(gone, gone)
"""
REASON = "could not be compiled (AttributeError: no _reload_init)"


def broken_numba(folder: Path) -> dict[str, str]:
    """The variables of the environment of a process with that Numba and a cache of its own."""
    (folder / "sitecustomize.py").write_text(CODE, encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    return {"PYTHONPATH": path, "FAIRBAI_CACHE_DIR": str(folder / "cache"), "FAIRBAI_JIT": "background"}
