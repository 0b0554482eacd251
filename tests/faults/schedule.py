"""Faults, one after another, in an order that a seed decides."""

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psycopg

from tests.faults.freezing import backends, frozen, send, workers_of
from tests.faults.proxy import Running
from tests.service.postgresql import Cluster
from tests.service.server import Server

DURATIONS = (0.3, 0.6, 1.2, 2.5, 5.0, 12.0)  # seconds: the last is longer than the deadline of a call
WEIGHTS = (4, 4, 4, 3, 2, 1)
PAUSES = (0.5, 3.0)  # seconds between two faults, from and to
HOLD = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(600)
"""

Fault = Callable[[float, random.Random], None]


def run(faults: dict[str, Fault], seed: int, seconds: float) -> Counter[str]:
    """Let faults happen for so many seconds; returns how often each did."""
    rng, done, end = random.Random(seed), Counter[str](), time.monotonic() + seconds
    for name in _order(rng, list(faults)):
        time.sleep(rng.uniform(*PAUSES))
        (duration,) = rng.choices(DURATIONS, WEIGHTS)
        if time.monotonic() + duration > end:
            return done
        faults[name](duration, rng)
        done[name] += 1
    raise AssertionError("the order has no end")


def _order(rng: random.Random, names: list[str]) -> Iterator[str]:
    """All kinds, in random order, again and again: so even a short run has each of them."""
    while True:
        rng.shuffle(names)
        yield from names


def on_sqlite(server: Server, file: Path) -> dict[str, Fault]:
    """Faults of a server and of its file."""

    def kill(_: float, __: random.Random) -> None:
        server.kill()
        server.start()

    def pause(seconds: float, _: random.Random) -> None:
        assert server.process is not None
        with frozen(server.process):
            time.sleep(seconds)

    def lock(seconds: float, _: random.Random) -> None:
        holder = holding(file)
        with frozen(holder.pid):
            time.sleep(seconds)
        holder.kill()
        holder.communicate()

    return {"server killed": kill, "server frozen": pause, "file locked by a frozen process": lock}


def holding(file: Path) -> "subprocess.Popen[bytes]":
    """A process that holds the lock of a SQLite file."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def on_postgresql(server: Server, cluster: Cluster, proxy: Running, url: str) -> dict[str, Fault]:
    """Faults of workers, of PostgreSQL, and of the network between them."""

    def one_of(rng: random.Random, processes: list[int]) -> list[int]:
        return [rng.choice(processes)] if processes else []

    def freeze(find: Callable[[random.Random], list[int]]) -> Fault:
        def fault(seconds: float, rng: random.Random) -> None:
            with frozen(*find(rng)):
                time.sleep(seconds)

        return fault

    def kill(find: Callable[[random.Random], list[int]]) -> Fault:
        def fault(_: float, rng: random.Random) -> None:
            for process in find(rng):
                send(process, signal.SIGKILL)

        return fault

    def worker(rng: random.Random) -> list[int]:
        return one_of(rng, workers_of(server))

    def backend(rng: random.Random) -> list[int]:
        with suppress(psycopg.OperationalError):  # it is just recovering
            return one_of(rng, backends(cluster, url))
        return []

    def kill_postgresql(seconds: float, _: random.Random) -> None:
        send(cluster.process, signal.SIGKILL)
        time.sleep(min(seconds, 5.0))
        cluster.start_again()

    def slow(seconds: float, _: random.Random) -> None:
        proxy.say("slow 0.1")
        time.sleep(seconds)
        proxy.say("fast")

    def kill_proxy(seconds: float, _: random.Random) -> None:
        proxy.kill()
        time.sleep(seconds)
        proxy.start()

    return {
        "worker killed": kill(worker),
        "worker frozen": freeze(worker),
        "backend killed": kill(backend),
        "backend frozen": freeze(backend),
        "PostgreSQL killed": kill_postgresql,
        "postmaster frozen": freeze(lambda _: [cluster.process]),
        "network frozen": freeze(lambda _: [proxy.process]),
        "network cut": lambda *_: proxy.say("cut"),
        "network gone": kill_proxy,
        "network slow": slow,
    }
