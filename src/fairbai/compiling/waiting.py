"""Waiting for the compiler, in front of people: they see why, and how far it is."""

import sys
import time
from collections.abc import Callable
from importlib import import_module
from threading import Event, Lock
from typing import Any

from fairbai.compiling import requests

PAUSE = 0.05  # seconds between two looks
SILENCE = 0.5  # seconds that nobody needs to be told about
LINES = 5.0  # seconds between two lines, where there is no bar


_shown = Lock()  # of the threads that wait, one shows it
_quiet = Event()


def be_quiet(quiet: bool = True) -> None:
    """Show nothing from now on, or show it again."""
    _quiet.set() if quiet else _quiet.clear()


class Clock:
    """Counts the seconds in which at least one thread is waiting."""

    def __init__(self) -> None:
        self._guard, self._inside = Lock(), 0
        self._since = self._before = 0.0

    def __enter__(self) -> None:
        with self._guard:
            if self._inside == 0:
                self._since = time.monotonic()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._guard:
            self._inside -= 1
            if self._inside == 0:
                self._before += time.monotonic() - self._since

    @property
    def seconds(self) -> float:
        """All of them so far."""
        with self._guard:
            return self._before + (time.monotonic() - self._since if self._inside else 0.0)


waited = Clock()
"""How long this process has waited for the compiler: a rate that is shown to people should leave it out."""


def wait(function: Callable[..., Any], signature: tuple[Any, ...], ready: Callable[[], bool]) -> bool:
    """Wait until the compiler has done a kernel for these types; returns whether it has, or gives up."""
    start, notice = time.monotonic(), None
    shows = _shown.acquire(blocking=False)
    try:
        while True:
            if ready():
                return True
            if not requests.ask(function, signature):
                return False
            if shows and notice is None and not _quiet.is_set() and time.monotonic() - start > SILENCE:
                notice = _bar() or _Lines()
            if notice is not None:
                notice.show(requests.progress())
            time.sleep(PAUSE)
    finally:
        if notice is not None:
            notice.close()
        if shows:
            _shown.release()


class _Lines:
    """One line now and then."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.next = 0.0

    def show(self, progress: dict[str, Any]) -> None:
        """Say how far it is, if it was not said just now."""
        now = time.monotonic()
        if now >= self.next:
            print(f"fairbai: {_words(progress)} ({now - self.start:.0f} s so far)", file=sys.stderr, flush=True)
            self.next = now + LINES

    def close(self) -> None:
        """Say that it is over."""
        print(f"fairbai: compiled after {time.monotonic() - self.start:.0f} s", file=sys.stderr, flush=True)


class _Bar:
    """A bar of tqdm."""

    def __init__(self, tqdm: Any) -> None:
        self.bar = tqdm.tqdm(total=1, bar_format="fairbai: {desc} |{bar}| {elapsed}", leave=False, file=sys.stderr)

    def show(self, progress: dict[str, Any]) -> None:
        """Move the bar."""
        self.bar.total = max(1, progress.get("of", 1))
        self.bar.n = min(progress.get("done", 0), self.bar.total)
        self.bar.set_description_str(_words(progress))

    def close(self) -> None:
        """Remove the bar."""
        self.bar.close()


def _bar() -> _Bar | None:
    """A bar, where somebody may watch it and tqdm is installed."""
    if not (sys.stderr.isatty() or "ipykernel" in sys.modules):
        return None
    try:
        return _Bar(import_module("tqdm"))
    except ImportError:
        return None


def _words(progress: dict[str, Any]) -> str:
    if not progress:
        return "compiling for this machine, once: the compiler starts"
    done, total = min(progress["done"], progress["of"]), progress["of"]
    more = f", {progress['more']} more to come" if progress["more"] else ""
    return f"compiling for this machine, once: {progress['kernel']}, {done} of {total} parts{more}"
