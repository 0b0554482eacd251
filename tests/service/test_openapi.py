"""Schemathesis reads the OpenAPI document and looks for anything that the server does otherwise."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.conftest import Start

pytestmark = pytest.mark.system
SETTINGS = Path(__file__).with_name("schemathesis.toml")


@pytest.mark.parametrize(("database", "examples"), [("sqlite", 20), ("postgresql", 5)])
def test_schemathesis_finds_nothing(
    start: Start, request: pytest.FixtureRequest, tmp_path: Path, database: str, examples: int
) -> None:
    server = start(request.getfixturevalue(database), synchronous=False)  # which takes any number of wrong keys
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--no-color", "--config-file", SETTINGS, "run"),
        f"{server.address}/openapi.json",
        *("--header", f"Authorization: Bearer {server.key}"),
        *("--max-examples", str(examples), "--generation-deterministic", "--continue-on-failure"),
    ]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    server.verify()
