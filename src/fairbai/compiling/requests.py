"""What is to be compiled: one small file per kernel and types, in a folder beside the cache.

Whoever needs a kernel writes such a file, and starts the compiler (``fairbai.compiling.compiler``) if none runs. Two
locks tell who is there, and the system gives them back when a process dies, however it dies: the compiler holds one, so
that there is only one of it, and every process that may still need it shares the other.
"""

import hashlib
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numba.core.serialize import dumps

from fairbai.compiling.cache import CACHE_DIRECTORY

try:
    import fcntl
except ImportError:  # not on Windows, where every process compiles for itself
    fcntl = None  # type: ignore[assignment]

FOLDER = CACHE_DIRECTORY / "requests"
COMPILER, CLIENTS, PROGRESS, LOG = (FOLDER / name for name in ("compiler", "clients", "progress", "log"))
WANTED, FAILED = ".wanted", ".failed"
RETRY = 3600.0  # seconds until a kernel is tried again that could not be compiled: the disk may have been full
STARTS = 3  # of the compiler by one process, in a row: if it keeps dying, there is a reason


@dataclass
class _Client:
    """What this process has asked for, and its hold on the compiler."""

    hold: int | None = None
    compiler: "subprocess.Popen[bytes] | None" = None
    starts: int = 0
    gave_up: bool = fcntl is None
    trouble: str | None = "this system has no file locks" if fcntl is None else None


_client = _Client()
_guard = threading.Lock()
log = logging.getLogger("fairbai")


def name_of(function: Callable[..., Any], signature: tuple[Any, ...]) -> str:
    """The name of the file of a request."""
    text = f"{function.__module__}.{function.__qualname__}{signature}"
    return f"{function.__name__}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def ask(function: Callable[..., Any], signature: tuple[Any, ...]) -> bool:
    """Ask for a kernel, and see to it that a compiler runs; returns whether there is hope."""
    with _guard:
        if _client.gave_up:
            return False
        try:
            return _ask(function, signature)
        except OSError as error:  # nothing can be written here, or no process started
            _client.gave_up = True
            return _no_hope(f"the compiler cannot be asked in {FOLDER} ({error.strerror})")


def _no_hope(trouble: str) -> bool:
    """Say what went wrong, the first time; returns False."""
    if _client.trouble is None:
        _client.trouble = trouble
        log.warning("Kernels are not compiled, and run some 100 times slower: %s. Try `fairbai doctor`.", trouble)
    return False


def trouble() -> str | None:
    """Why a kernel that this process asked for could not be compiled; None as long as nothing went wrong."""
    return _client.trouble


def failures() -> list[str]:
    """What could not be compiled by any process, and is not tried again yet: one sentence per kernel."""
    return [_sentence(file) for file in sorted(FOLDER.glob("*" + FAILED)) if _is_recent(file)]


def _is_recent(failed: Path) -> bool:
    return time.time() - failed.stat().st_mtime < RETRY


def _sentence(failed: Path) -> str:
    """The first line of what the compiler wrote; the rest is for developers."""
    return failed.read_text().partition("\n")[0]


def _ask(function: Callable[..., Any], signature: tuple[Any, ...]) -> bool:
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = name_of(function, signature)
    failed = FOLDER / (name + FAILED)
    if failed.exists():
        if _is_recent(failed):
            return _no_hope(_sentence(failed))
        failed.unlink(missing_ok=True)
    if _client.hold is None:
        _client.hold = os.open(CLIENTS, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(_client.hold, fcntl.LOCK_SH)
    if not (FOLDER / (name + WANTED)).exists():
        write_whole(FOLDER / (name + WANTED), dumps((function.__module__, function.__qualname__, signature)))
    begins = _client.compiler is not None and _client.compiler.poll() is None  # and has its lock soon
    if not begins and not is_held(COMPILER):
        if _client.compiler is not None and _client.compiler.returncode == 0:  # it had nothing more to do
            _client.starts = 0
        if _client.starts == STARTS:
            _client.gave_up = True
            return _no_hope(f"the compiler ended {STARTS} times before it was done; {LOG} may say why")
        _client.starts += 1
        _client.compiler = _start()
    return True


def _start() -> "subprocess.Popen[bytes]":
    """Start the compiler, which outlives this process for a while."""
    environment = {
        **os.environ,
        "FAIRBAI_CACHE_DIR": str(CACHE_DIRECTORY.parent),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    with LOG.open("ab") as log:
        command = [sys.executable, "-m", "fairbai.compiling.compiler", str(CACHE_DIRECTORY)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment
        )
    threading.Thread(target=process.wait, name="fairbai-compiler", daemon=True).start()  # so that it leaves no zombie
    return process


def is_held(path: Path) -> bool:
    """Whether another process holds this lock, alone or with others."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)  # which gives the lock back
    return False


def write_whole(path: Path, contents: bytes) -> None:
    """Write a file that others see whole or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    draft.write_bytes(contents)
    draft.replace(path)


def progress() -> dict[str, Any]:
    """What the compiler is doing; empty if nobody knows."""
    try:
        found: dict[str, Any] = json.loads(PROGRESS.read_bytes())
        return found
    except (OSError, ValueError):
        return {}
