"""Importing the client; how it talks to a service is tested with the service."""

from __future__ import annotations

import subprocess
import sys


def test_missing_httpx() -> None:
    code = """
import sys
sys.modules["httpx"] = None
try:
    import fairbai.client
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "fairbai.client needs httpx: pip install '.[service]' in a clone of the repository\n", (
        done.stderr
    )
