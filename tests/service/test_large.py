"""Pages open at once, however long the log is: they read aggregates."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy import text

from tests.service.large import LARGE, build
from tests.service.running import address, ask, running, tell

CALLS = {
    "list": "/v1/experiments",
    "filtered list": "/v1/experiments?sort=progress&state=running&search=experiment",
    "status": f"/v1/experiments/{LARGE}",
    "figures": f"/v1/experiments/{LARGE}/figures",
    "summary": f"/v1/experiments/{LARGE}/summary",
    "history": f"/v1/experiments/{LARGE}/history",
    "audit": f"/v1/experiments/{LARGE}/audit",
    "report": f"/v1/experiments/{LARGE}/report",
}


@pytest.mark.slow_without_jit
def test_everything_opens_within_a_second(tmp_path: Path) -> None:
    build(tmp_path / "test.db", 1_000_000)
    with running(address(tmp_path)) as client:
        for name, path in CALLS.items():
            client.get(path)  # kernels and files are loaded once
            began = time.perf_counter()
            response = client.get(path)
            seconds = time.perf_counter() - began
            assert response.status_code == 200, name
            assert seconds < 1.0, f"{name}: {seconds:.2f} s"
        assert client.get("/v1/experiments").json()["experiments"][0]["trials"] > 499_000
        at = f"/v1/experiments/{LARGE[:-1]}e"
        assert client.get(at).status_code == 404
        with client.app.service.database.snapshot() as reader:  # somebody who takes long to read
            reader.execute(text("SELECT count(*) FROM experiments"))
            began = time.perf_counter()
            other = f"/v1/experiments/{0:016x}"
            tell(client, other, {ticket["ticket"]: 1.0 for ticket in ask(client, other)})
            assert time.perf_counter() - began < 1.0
