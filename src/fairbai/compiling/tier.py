"""In which tier this process runs: compiled, or as Python while the compiler is at work."""

from typing import Any, Literal

from fairbai.compiling import requests
from fairbai.compiling.mode import MODE, OFF

Tier = Literal["compiled", "python", "off"]

_awaited: dict[tuple[int, Any], Any] = {}
"""The dispatchers that wait for the compiler, by kernel and types."""


def awaits(dispatcher: Any, signature: tuple[Any, ...]) -> None:
    """Note that a kernel is to be compiled for these types."""
    _awaited[id(dispatcher), signature] = dispatcher


def tier() -> Tier:
    """The tier: "compiled" if all kernels that were called are compiled by now, "off" where nothing is compiled."""
    if MODE == OFF:
        return "off"
    for (_, signature), dispatcher in list(_awaited.items()):
        if signature not in dispatcher.overloads and not dispatcher.load(signature):
            requests.ask(dispatcher.py_func, signature)  # again: it may have failed, or the compiler may have died
            return "python"
        _awaited.pop((id(dispatcher), signature), None)
    return "compiled"
