"""Libraries that only some results need."""

from importlib import import_module
from typing import Any


def needs(module: str) -> Any:
    """The module, or an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"this needs {module.split('.')[0]}: pip install 'fairbai[report]'") from None
