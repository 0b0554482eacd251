"""The Dockerfile and compose.yaml, as far as they can be checked without an engine."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairbai.cli.parser import make_parser
from tests.packaging.smoke import ROOT
from tests.service.server import Server

STEPS = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}


def steps() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile and their arguments, with continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def arguments(step: str) -> list[str]:
    return [rest for name, rest in steps() if name == step]


@pytest.fixture
def compose() -> dict[str, Any]:
    form: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return form


def understood(command: list[str]) -> None:
    """A command that starts fairbai, with flags that it has."""
    assert command[0] == "fairbai"
    make_parser().parse_args(command[1:])


def test_steps_are_known_and_in_order() -> None:
    names = [name for name, _ in steps()]
    assert names[0] == "FROM"
    assert set(names) == STEPS
    assert names.index("USER") < names.index("VOLUME")
    assert names[-1] == "CMD"


def test_images_have_a_pinned_version() -> None:
    for image in arguments("FROM"):
        assert re.match(r"python:3\.1\d-slim( AS \w+)?$", image)


def test_files_that_are_copied_are_there_and_not_ignored() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = [line[1:] for line in lines if line.startswith("!")]
    copied = [name for rest in arguments("COPY") if "--from" not in rest for name in shlex.split(rest)[:-1]]
    assert set(copied) == {"pyproject.toml", "README.md", "LICENSE", "src"}
    for name in copied:
        assert (ROOT / name).exists()
        assert any(fnmatch.fnmatch(name, pattern) for pattern in kept), f"{name} is ignored"
    assert all((ROOT / name).exists() for name in kept)


def test_nothing_runs_as_root() -> None:
    (user,) = arguments("USER")
    assert user == "fairbai"
    assert f"useradd --create-home --uid 10001 {user}" in arguments("RUN")[1]


def test_extra_of_the_image_exists() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (extra,) = re.findall(r"\.\[(\w+)\]", arguments("RUN")[0])
    assert re.search(rf"^{extra} = \[", text, re.MULTILINE)


def test_commands_of_the_image_are_understood() -> None:
    understood(json.loads(arguments("CMD")[-1]))
    commands = [shlex.split(command) for command in arguments("RUN")[2].split("&&")]
    assert [command[1] for command in commands] == ["doctor", "warm"]
    for command in commands:
        understood(command)


def test_kernels_of_the_image_are_kept_where_the_service_looks() -> None:
    (variables,) = arguments("ENV")
    assert "FAIRBAI_CACHE_DIR=/cache" in variables.split()
    assert "chown fairbai /data /cache" in arguments("RUN")[1]


@pytest.mark.system
def test_health_check_of_the_image(tmp_path: Path) -> None:
    """It passes while the service runs, without a key, and fails when it does not."""
    (check,) = arguments("HEALTHCHECK")
    assert arguments("EXPOSE") == ["8000"]
    server = Server(f"sqlite:///{tmp_path}/fairbai.db", tmp_path)
    command = json.loads(check.partition("CMD ")[2].replace(":8000", f":{server.port}"))
    command[0] = sys.executable
    server.start()
    try:
        assert subprocess.run(command, check=False).returncode == 0
    finally:
        server.stop()
    assert subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode != 0


def test_compose_has_only_fields_that_it_should(compose: dict[str, Any]) -> None:
    fields = {"image", "build", "command", "environment", "volumes", "healthcheck", "restart", "depends_on", "ports"}
    assert set(compose) == {"name", "services", "volumes"}
    assert set(compose["services"]) == {"database", "service"}
    for service in compose["services"].values():
        assert set(service) <= fields
        assert ("image" in service) != ("build" in service)
        assert service["restart"] == "unless-stopped"


def test_service_waits_for_a_healthy_database(compose: dict[str, Any]) -> None:
    database, service = compose["services"]["database"], compose["services"]["service"]
    assert service["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert set(database["healthcheck"]) == {"test", "interval", "timeout", "retries"}
    assert database["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert re.fullmatch(r"postgres:\d+", database["image"])


def test_data_is_in_a_volume(compose: dict[str, Any]) -> None:
    for volume in compose["services"]["database"]["volumes"]:
        assert volume.split(":")[0] in compose["volumes"]


def test_command_of_the_service(compose: dict[str, Any]) -> None:
    service, database = compose["services"]["service"], compose["services"]["database"]
    understood(service["command"])
    options = make_parser().parse_args(service["command"][1:])
    names = database["environment"]
    assert options.database == f"postgresql://{names['POSTGRES_USER']}@database/{names['POSTGRES_DB']}"
    assert options.host == "0.0.0.0"
    assert service["ports"] == ["127.0.0.1:8000:8000"]


def test_passwords_come_from_the_environment_only(compose: dict[str, Any]) -> None:
    secret = "${FAIRBAI_PASSWORD:?write it into .env}"
    assert compose["services"]["database"]["environment"]["POSTGRES_PASSWORD"] == secret
    assert compose["services"]["service"]["environment"] == {"PGPASSWORD": secret}
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert not list(Path(ROOT).glob(".env.*"))
