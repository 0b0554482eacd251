"""Libraries that only some results need."""

from importlib import import_module
from typing import Any


def install(extra: str) -> str:
    """The command that installs an extra; the package is not published, so it is for a clone of the repository."""
    return f"pip install '.[{extra}]' in a clone of the repository"


def needs(module: str, extra: str = "report") -> Any:
    """The module, or an error that says how to install it, or what it imports."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        missing = str(error.name or module).split(".")[0]
        raise ImportError(f"this needs {missing}: {install(extra)}") from None
