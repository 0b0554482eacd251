"""Finds Chromium, or installs it: from Debian, or else from Playwright."""

import shutil
import subprocess
import sys

from playwright.sync_api import Playwright

from tests.debian import alone, can_install, install

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


def chromium(playwright: Playwright) -> str:
    """The path of the program; installing it may take minutes."""
    with alone("chromium"):
        return _installed() or _install(playwright)


def _installed() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


def _install(playwright: Playwright) -> str:
    if can_install():
        install("chromium", "fonts-dejavu-core")
        if found := _installed():
            return found
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], check=True)
    return playwright.chromium.executable_path
