"""Asking for units, such as visitors, in experiments that have many of them already."""

import os
import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.cpu import cpu_seconds
from benchmarks.identifier import NEVER, SEED
from benchmarks.measure import Ratio, sized, slower
from benchmarks.service import ARMS, Result, bare_endpoint, in_turns, measured
from fairbai.service.domain.units import UnitName
from fairbai.service.storage.database import open_database
from fairbai.service.storage.secret import unit_key
from tests.service.postgresql import Cluster
from tests.service.server import Server

UNITS = sized(int(os.environ.get("FAIRBAI_BENCH_UNITS", "100000")), 200)  # in the experiment, before the load begins
RETURNING = min(UNITS, 200_000)  # of them, those that come again
ALPHABET = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"  # in the order of its codes
CHUNK = 100_000  # rows

UNIT_COLUMNS = ("experiment", "hash", "number", "salt", "at")
TICKET_COLUMNS = ("experiment", "number", "arm", "waiting", "token", "voided")
TALKS: dict[str, dict[str, Any]] = {
    "plain ask": {"talk": "asks"},
    "ask by unit, new": {"talk": "visits", "units": 0},
    "ask by unit, returning": {"talk": "visits", "units": RETURNING},
    "flag, new": {"talk": "flags", "units": 0},
    "flag, returning": {"talk": "flags", "units": RETURNING},
}

Rows = Iterator[tuple[Any, ...]]


def suite() -> Iterator[Ratio]:
    """Asks for units that are new, and for units that come again, against asks without a unit, over HTTP.

    A flag is an evaluation over OpenFeature's protocol, in the same experiment as the asks by unit.

    Server, load and bare endpoint are those of the suite `service`: 16 connections that ask for one trial at a time and
    tell nothing. The experiment has 100,000 units with their tickets before the load begins
    (`FAIRBAI_BENCH_UNITS=10000000` for another number), which come again in random order, at most 200,000 of them,
    spread over the whole table. A plain ask is in an experiment of its own. All take turns, and a row shows the best of
    three rounds. CPU time is that of the server and of PostgreSQL.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairbai-bench-")))
        calls: dict[str, Callable[[], Result]] = {"bare": bare_endpoint(stack, directory)}
        cluster = Cluster()
        stack.callback(cluster.remove)
        cluster.start()
        servers = _servers(stack, directory, cluster)
        for name, server in servers.items():
            plain, filled = _experiment(server), _experiment(server)
            server.stop()
            _fill(server.url, filled)
            server.start()
            assert server.process is not None
            processes = [server.process] if name == "SQLite" else [server.process, cluster.process]
            for kind, talk in TALKS.items():
                place = "/ofrep/v1/evaluate/flags" if talk["talk"] == "flags" else "/v1/experiments"
                path = f"{place}/{plain if kind == 'plain ask' else filled}"
                calls[f"{name}, {kind}"] = _call(server, processes, path, talk)
        best = in_turns(calls)
    for name in servers:
        yield from _rows(name, best)


def _call(server: Server, processes: list[int], path: str, talk: dict[str, Any]) -> Callable[[], Result]:
    def call() -> Result:
        before = cpu_seconds(processes)
        found = measured(server.port, path, server.key, **talk)
        return replace(found, cpu=(cpu_seconds(processes) - before) / found.answered)

    return call


def _rows(name: str, best: dict[str, Result]) -> Iterator[Ratio]:
    plain, *others = ((kind, best[f"{name}, {kind}"]) for kind in TALKS)
    bare = f"a bare FastAPI {version('fastapi')} endpoint", 1 / best["bare"].rate
    for kind, result in (plain, *others):
        yield slower(f"{kind}, {name}, {UNITS:,} units", 1 / result.rate, *bare)
    asked = "plain ask", 1 / plain[1].rate
    for kind, result in others:
        at_most = 2 if kind.startswith("ask") else None
        yield slower(f"{kind}, {name}, {UNITS:,} units", 1 / result.rate, *asked, at_most)
        yield slower(f"{kind}, {name}, {UNITS:,} units, CPU", result.cpu, asked[0], plain[1].cpu, at_most)


def _servers(stack: ExitStack, directory: Path, cluster: Cluster) -> dict[str, Server]:
    cluster.run("CREATE DATABASE units")
    one_key = ("--key-rate", "0")  # which all connections share
    servers = {
        "SQLite": Server(f"sqlite:///{directory}/fairbai.db", directory, arguments=one_key),
        "PostgreSQL, 1 worker": Server(cluster.url("units"), directory, arguments=one_key),
    }
    for server in servers.values():
        stack.callback(server.stop)
        server.start()
    return servers


def _experiment(server: Server) -> str:
    labels = [str(arm) for arm in range(ARMS)]
    return server.create(arms=labels, delta=NEVER, floors={"kind": "constant", "floor": 0.5 / ARMS}, seed=SEED)


# --- units that were there before -------------------------------------------------------------------------------


def _fill(url: str, experiment: str) -> None:
    """Store units and their tickets; the log does not know them, and their tickets have numbers below 0."""
    with closing(open_database(url)) as database:
        key = unit_key(database)
    tickets = ((experiment, -1 - number, number % ARMS, False, number, False) for number in range(UNITS - 1, -1, -1))
    insert = _into_sqlite if url.startswith("sqlite") else _into_postgresql
    insert(url, {"tickets": (TICKET_COLUMNS, tickets), "units": (UNIT_COLUMNS, _units(key, experiment))})


def _units(key: bytes, experiment: str) -> Rows:
    """Those that come again, and others, in the order of their hashes: so filling a table is quick."""
    known = sorted(UnitName.of(key, experiment, f"user-{number}").hash for number in range(RETURNING))
    rng, others, place, at = random.Random(SEED), UNITS - RETURNING, 0, 1.7e9
    every = 64 * 64
    for number in range(every):
        prefix = ALPHABET[number // 64] + ALPHABET[number % 64]
        some = [f"{prefix}{rng.getrandbits(80):020x}" for _ in range(others // every + (number < others % every))]
        while place < len(known) and known[place][:2] <= prefix:
            some.append(known[place])
            place += 1
        for name in sorted(some):
            yield experiment, name, -1 - rng.randrange(UNITS), 1, at


def _into_sqlite(url: str, tables: dict[str, tuple[tuple[str, ...], Rows]]) -> None:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for table, (columns, rows) in tables.items():
            marks = ", ".join("?" * len(columns))
            while some := list(islice(rows, CHUNK)):
                connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", some)
                connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _into_postgresql(url: str, tables: dict[str, tuple[tuple[str, ...], Rows]]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for table, (columns, rows) in tables.items():
            with connection.cursor().copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
