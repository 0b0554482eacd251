"""Programs of Debian, installed where they are missing; one test process installs while others wait."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

APT = ["apt-get", "-o", "DPkg::Lock::Timeout=600", "-qq"]


@contextmanager
def alone(name: str) -> Iterator[None]:
    """The time in which no other test process looks for this program."""
    with (Path(tempfile.gettempdir()) / f"fairbai-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def can_install() -> bool:
    """Whether packages can be installed."""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def install(*packages: str) -> None:
    """Install packages; this may take minutes."""
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run([*APT, *command], check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def program(name: str, package: str) -> str:
    """The path of a program, which a package brings."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    with alone(name):
        if shutil.which(name, path=path) is None:
            install(package)
        found = shutil.which(name, path=path)
    assert found is not None, f"install {package}"
    return found
