"""A service of an example's own, with a temporary database."""

import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx


@contextmanager
def service(*options: str) -> Iterator[tuple[str, str]]:
    """The address and the admin key of a new service; the options are those of ``fairbai serve``."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="fairbai-") as folder:
        database = f"sqlite:///{Path(folder) / 'experiments.db'}"
        command = [sys.executable, "-m", "fairbai", "serve", "--database", database, "--port", str(port), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert process.stdout is not None
        try:
            found = re.search(r"fb_\S+", process.stdout.readline())
            if found is None:
                raise SystemExit("the service did not start: run `fairbai serve` to see why")
            url = f"http://127.0.0.1:{port}"
            wait_for(url)
            yield url, found[0]
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def wait_for(url: str) -> None:
    """Wait until the service answers."""
    for _ in range(1200):
        try:
            httpx.get(f"{url}/healthz")
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise SystemExit(f"no service answers at {url}")
