"""Finds Chromium, or installs it: from Debian, or else from Playwright."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",  # root cannot use the sandbox
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
APT = ["apt-get", "-o", "DPkg::Lock::Timeout=600", "-qq"]


def chromium(playwright: Playwright) -> str:
    """The path of the program; installing it may take minutes."""
    with (Path(tempfile.gettempdir()) / "fairbai-chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # if two test processes start at once, one installs and the other waits
        return _installed() or _install(playwright)


def _installed() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def _install(playwright: Playwright) -> str:
    if shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"]):
            subprocess.run([*APT, *command], check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        if found := _installed():
            return found
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)
    return playwright.chromium.executable_path
