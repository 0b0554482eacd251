"""Services for tests: in this process, on a SQLite file of their own."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from fairbai.service.http.app import Application, create_app
from fairbai.service.storage.database import Database, open_database
from fairbai.service.storage.keys import create_key
from fairbai.service.storage.settings import ServerSettings
from fairbai.service.storage.upgrades import upgrade
from fairbai.service.writing.leases import sweep

FORM: dict[str, Any] = {
    "name": "a test",
    "arms": ["a", "b", "c"],
    "delta": 0.1,
    "family": {"kind": "gaussian", "variance": 1.0},
    "floors": {"kind": "constant", "floor": 0.2},
    "seed": 7,
}


def address(folder: Path) -> str:
    return f"sqlite:///{folder / 'test.db'}"


@contextmanager
def opened(url: str) -> Iterator[Database]:
    database = open_database(url)
    upgrade(database)
    try:
        yield database
    finally:
        database.close()


class Local:
    """A service in an event loop of its own thread, and requests to it that wait for their answers."""

    def __init__(self, app: Application, key: str) -> None:
        self.app = app
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {key}"}
        self.http = httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)

    def __enter__(self) -> Local:
        self._thread.start()
        self._running = self.app.running()
        self.wait(self._running.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self.wait(self.http.aclose())
        self.wait(self._running.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=600)

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        found: httpx.Response = self.wait(self.http.request(method, path, **options))
        return found

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> httpx.Response:
        return self.request("POST", path, **options)


class Clock:
    """The time of a service, which a test sets forward."""

    def __init__(self, client: Local, monkeypatch: pytest.MonkeyPatch) -> None:
        real, self.ahead, self._client = time.time, 0.0, client
        monkeypatch.setattr(time, "time", lambda: real() + self.ahead)
        client.app.service.writer._ledger._clock = time.time

    def forward(self, seconds: float) -> None:
        """Let time pass, and the service do what is due then."""
        self.ahead += seconds
        service = self._client.app.service
        self._client.wait(sweep(service.database, service.writer))


@contextmanager
def running(url: str, role: str = "admin", **settings: Any) -> Iterator[Local]:
    """A service, and a client with a key of a role."""
    with opened(url) as database:
        key = create_key(database, role)
    # What a power cut would lose is the subject of test_crashes.py; here nothing waits for the disk.
    used = ServerSettings(**{"database": url, "synchronous": False, "sweep": 3600.0, **settings})
    with Local(create_app(used), key) as local:
        yield local


def create(client: Local, **changes: Any) -> str:
    """A new experiment's address."""
    response = client.post("/v1/experiments", json={**FORM, **changes})
    assert response.status_code == 201, response.text
    return f"/v1/experiments/{response.json()['id']}"


def ask(client: Local, at: str, n: int = 1) -> list[dict[str, str]]:
    response = client.post(f"{at}/ask", json={"n": n})
    assert response.status_code == 200, response.text
    found: list[dict[str, str]] = response.json()["tickets"]
    return found


def tell(client: Local, at: str, rewards: dict[str, float]) -> dict[str, Any]:
    form = [{"ticket": ticket, "reward": reward} for ticket, reward in rewards.items()]
    response = client.post(f"{at}/tell", json={"rewards": form})
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def play(client: Local, at: str, trials: int, seed: int = 0, best: float = 1.0) -> None:
    """Trials of which arm a has the best rewards, a few at a time; ends at the stop."""
    rng = random.Random(seed)
    for _ in range(trials):
        response = client.post(f"{at}/ask", json={"n": rng.randint(1, 5)})
        if response.status_code == 409:
            return
        tickets = response.json()["tickets"]
        rewards = {ticket["ticket"]: rng.gauss(best if ticket["arm"] == "a" else 0.0, 1.0) for ticket in tickets}
        tell(client, at, rewards)
