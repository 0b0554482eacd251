import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.nursery import Nursery
from tests.service.postgresql import Cluster
from tests.service.server import Server

Start = Callable[..., Server]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of this session; never skipped, because a wheel brings it."""
    found = Cluster()
    try:
        found.start()
        yield found
    finally:
        found.remove()


@pytest.fixture
def postgresql(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty database."""
    name = f"test_{os.getpid()}_{abs(hash(request.node.nodeid))}"
    cluster.run(f"CREATE DATABASE {name}")
    yield cluster.url(name)
    cluster.run(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """The address of an empty database."""
    return f"sqlite:///{tmp_path}/fairbai.db"


@pytest.fixture
def start(tmp_path: Path, nursery: Nursery) -> Iterator[Start]:
    """Start servers, which do not outlive the test; those without options in a fork, which is quick."""
    servers: list[Server] = []

    def begin(url: str, **options: Any) -> Server:
        servers.append(Server(url, tmp_path, **(options or {"nursery": nursery})))
        return servers[-1].start()

    yield begin
    for server in servers:
        server.stop()
        server.kill()


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """What starts servers quickly."""
    found = Nursery()
    yield found
    found.close()


@pytest.fixture(scope="session")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of disk.c, which sees what strace would see of a file, and can break it."""
    library = tmp_path_factory.mktemp("disk") / "disk.so"
    source = Path(__file__).with_name("disk.c")
    subprocess.run(["gcc", "-Wall", "-Werror", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library
