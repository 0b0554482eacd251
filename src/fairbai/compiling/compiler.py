"""The process that compiles what other processes ask for: ``python -m fairbai.compiling.compiler DIRECTORY``.

It has a low priority, keeps every kernel as soon as it is compiled, and ends when there has been nothing to do, or
nobody to do it for, for some seconds.
"""

import contextlib
import fcntl
import importlib
import json
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairbai.compiling import inner, requests
from fairbai.compiling.cache import CACHE_DIRECTORY
from fairbai.compiling.entry import Entry

PAUSE = 0.1  # seconds between two looks at the requests
IDLE = 5.0  # seconds without work after which it ends
ALONE = 20.0  # seconds without clients after which it ends, even in the middle of a kernel
NICE = 10
REPORTS = 0.2  # seconds between two notes of the progress


def main(directory: str) -> int:
    """Compile until there is nothing left to do."""
    if Path(directory) != CACHE_DIRECTORY:
        print(f"another version of fairbai: {CACHE_DIRECTORY} is not {directory}", file=sys.stderr)
        return 2
    lock = os.open(requests.COMPILER, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0  # another one is at work
    os.nice(NICE)
    threading.Thread(target=_end_when_alone, args=(lock,), daemon=True).start()
    worked = time.monotonic()
    while time.monotonic() - worked < IDLE:
        wanted = sorted(requests.FOLDER.glob("*" + requests.WANTED), key=_age)
        for number, request in enumerate(wanted):
            _compile(request, len(wanted) - number - 1)
            worked = time.monotonic()
        time.sleep(PAUSE)
    return 0


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _end_when_alone(lock: int) -> None:
    """End the process when nobody has been waiting for some time, or when the cache was removed."""
    seen = time.monotonic()
    while time.monotonic() - seen < ALONE and _is_at(requests.COMPILER, lock):
        time.sleep(1.0)
        if requests.is_held(requests.CLIENTS):
            seen = time.monotonic()
    os._exit(0)


def _is_at(path: Path, handle: int) -> bool:
    """Whether an open file is still the one at this path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False


def _compile(request: Path, more: int) -> None:
    """Compile one kernel for the types of a request; if that fails, say so in a file, so that nobody waits for it."""
    failed = request.with_suffix(requests.FAILED)
    try:
        module, name, signature = pickle.loads(request.read_bytes())
        entry: Entry = getattr(importlib.import_module(module), name)
        start = time.process_time()
        _Report(name, len(kernels_of(entry.function)), more).watch(lambda: entry.dispatcher.compile(signature))
        print(f"{name}: {time.process_time() - start:.1f} s of CPU, {time.process_time():.1f} s in all", flush=True)
        if not entry.dispatcher.holds(signature):
            raise OSError("the compiled kernel could not be written")
    except FileNotFoundError:  # somebody has emptied the cache
        return
    except Exception as error:
        traceback.print_exc()
        what = f"{request.stem.rpartition('-')[0]} could not be compiled ({type(error).__name__}: {error}"
        requests.write_whole(failed, f"{what.splitlines()[0]})\n{traceback.format_exc()}".encode())
    request.unlink(missing_ok=True)


def kernels_of(function: Callable[..., Any]) -> set[Any]:
    """All kernels that a kernel may call, itself included."""
    found, new = set(), {function}
    while new:
        one: Any = new.pop()
        found.add(one)
        called = (one.__globals__.get(name) for name in one.__code__.co_names)
        functions = {getattr(other, "function", other) for other in called if hasattr(other, "_numba_type_")}
        new |= functions - found
    return found


class _Report:
    """Notes how far the compiler is, for those who wait."""

    def __init__(self, name: str, kernels: int, more: int) -> None:
        self.state: dict[str, Any] = {"kernel": name, "done": 0, "of": kernels, "more": more}
        self.written = 0.0

    def watch(self, work: Callable[[], None]) -> None:
        """Note the progress of this work."""
        self.write()
        inner.watchers.append(self.count)
        try:
            work()
        finally:
            inner.watchers.remove(self.count)

    def count(self) -> None:
        """One more kernel is being translated."""
        self.state["done"] += 1  # once per types, so that it may be more often than there are kernels
        if time.monotonic() - self.written > REPORTS:
            self.write()

    def write(self) -> None:
        """Write the note."""
        self.written = time.monotonic()
        with contextlib.suppress(OSError):
            requests.write_whole(requests.PROGRESS, json.dumps(self.state).encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
