"""The HTTP service under load, against Optuna's storage and a bare endpoint."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.first_minute import OTHER
from benchmarks.identifier import NEVER, SEED, peer
from benchmarks.measure import Ratio, faster, sized
from tests.service.postgresql import Cluster
from tests.service.server import Server, free_port

ARMS = 10
CONNECTIONS = 16
ROUNDS, SECONDS = sized((3, 2.0), (1, 0.1))
OPTUNA_TRIALS = sized(60, 2)  # a round
BATCH, EDGE_BATCH = 20, 1000
BUSY = 0.8  # of a core


def suite() -> Iterator[Ratio]:
    """The HTTP service, as `fairbai serve` starts it, under load from 16 connections on the same machine.

    Each connection asks for tickets, tells their rewards, and starts again: single trials, or 20 per request. All
    connections share one experiment with ten arms and floors of 0.05. A pair counts when its tell is acknowledged, and
    hence on disk: SQLite with synchronous FULL, PostgreSQL with synchronous_commit on. In edge mode a request carries
    the counts and sums of 1,000 trials. The load generator is a separate process on plain sockets; the suite stops if
    it takes more than 80 % of a core. On two cores it does not slow a single server down, but it shares them with
    PostgreSQL and a second worker.

    Optuna keeps its study in SQLite, in the same directory, with its defaults and the random sampler: `ask`,
    `suggest_categorical` and `tell`, one after another in one process, called from Python without HTTP. It has no
    requests for many trials at once. The bare endpoint is FastAPI on uvicorn, started the same way and under the same
    load: it parses the same body and answers without doing anything. Everything is measured for 2 s at a time, in three
    rounds in which all take turns; a row shows the best of them (the lowest 99th percentile).

    With `FAIRBAI_BESIDE` set to the `src` folder of another version, that one is measured in the same rounds, too:
    beside this version, and beside the bare endpoint.
    """
    optuna = peer("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairbai-bench-")))
        bare = bare_endpoint(stack, directory)
        cluster = _cluster(stack)
        servers = _servers(stack, directory, cluster)
        calls: dict[str, Callable[[], Result]] = {"optuna": _optuna(optuna, directory), "bare": bare}
        for name, server in servers.items():
            for kind, talk in KINDS.items():
                calls[f"{name}, {kind}"] = _load(server, **talk)
        other = os.environ.get(OTHER)
        for name, server in _servers(stack, directory, cluster, other).items() if other else ():
            for kind in BESIDE:
                calls[f"{name}, {kind}, other"] = _load(server, **KINDS[kind])
        best = in_turns(calls)
    for name in servers:
        yield from _rows(name, best, promised=name == "SQLite")
    for name in servers if other else ():
        yield from _rows_beside(name, best, str(other))


KINDS: dict[str, dict[str, Any]] = {
    "single": {"talk": "pairs", "n": 1},
    "batch": {"talk": "pairs", "n": BATCH},
    "edge": {"talk": "batches", "n": EDGE_BATCH},
}

BESIDE = {"single": "", "batch": f", {BATCH} at a time"}  # what is measured of another version, too
BARE = f"a bare FastAPI {version('fastapi')} endpoint"


@dataclass(frozen=True)
class Result:
    """Requests or trials per second, the 99th percentile of the seconds per request, answers, and CPU seconds each."""

    rate: float
    p99: float = 0.0
    answered: int = 0
    cpu: float = 0.0

    def better(self, other: "Result | None") -> "Result":
        if other is None:
            return self
        return Result(max(self.rate, other.rate), min(self.p99, other.p99), cpu=min(self.cpu, other.cpu))


def _rows(name: str, best: dict[str, Result], promised: bool) -> Iterator[Ratio]:
    single, batch, edge = (best[f"{name}, {kind}"] for kind in KINDS)
    optuna = f"Optuna {version('optuna')} on SQLite", 1 / best["optuna"].rate
    yield faster(f"ask + tell over HTTP, {name}", 2 / single.rate, *optuna, at_least=25 if promised else None)
    yield faster(
        f"ask + tell over HTTP, {name}, {BATCH} at a time",
        2 / (batch.rate * BATCH),
        *optuna,
        at_least=200 if promised else None,
    )
    share = single.rate / best["bare"].rate
    target, met = ("at least 60 %", share >= 0.6) if promised else ("", None)
    yield Ratio(
        f"a request, {name}",
        1 / single.rate,
        BARE,
        1 / best["bare"].rate,
        f"{share:.0%} of its requests a second",
        target,
        met,
    )
    for kind, result in (("", single), (f", {BATCH} at a time", batch)):
        times = result.p99 / best["bare"].p99
        what = f"a request, {name}{kind}, 99th percentile"
        yield Ratio(what, result.p99, BARE, best["bare"].p99, f"{times:.3g}x the time")
    trials, asked = edge.rate * EDGE_BATCH, batch.rate * BATCH / 2
    what, others = f"a trial in edge mode, {name}", f"ask + tell, {BATCH} at a time"
    yield Ratio(what, 1 / trials, others, 1 / asked, f"{trials:,.0f} a second, {trials / asked:.3g}x")


def _rows_beside(name: str, best: dict[str, Result], other: str) -> Iterator[Ratio]:
    """This version beside another, and the other one beside the bare endpoint."""
    for kind, suffix in BESIDE.items():
        ours, theirs, what = best[f"{name}, {kind}"], best[f"{name}, {kind}, other"], f"a request, {name}{suffix}"
        share = f"{ours.rate / theirs.rate:.0%} of its requests a second"
        yield Ratio(what, 1 / ours.rate, other, 1 / theirs.rate, share)
        yield Ratio(f"{what}, 99th percentile", ours.p99, other, theirs.p99, f"{ours.p99 / theirs.p99:.3g}x the time")
    single, bare = best[f"{name}, single, other"], best["bare"]
    share, what = f"{single.rate / bare.rate:.0%} of its requests a second", f"a request, {name}, of {other}"
    yield Ratio(what, 1 / single.rate, BARE, 1 / bare.rate, share)
    yield Ratio(f"{what}, 99th percentile", single.p99, BARE, bare.p99, f"{single.p99 / bare.p99:.3g}x the time")


def in_turns(calls: dict[str, Callable[[], Result]]) -> dict[str, Result]:
    """The best of several rounds in which all take turns."""
    best: dict[str, Result] = {}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            best[name] = call().better(best.get(name))
    return best


# --- who is measured --------------------------------------------------------------------------------------------


def _cluster(stack: ExitStack) -> Cluster:
    cluster = Cluster()
    stack.callback(cluster.remove)
    cluster.start()
    return cluster


def _servers(stack: ExitStack, directory: Path, cluster: Cluster, other: str | None = None) -> dict[str, Server]:
    """The servers of this version or, given its source, of another, each with a database of its own."""
    prefix, environment = ("other", {"PYTHONPATH": other}) if other else ("own", {})
    # all connections share one key; versions that have no such argument have no such limit
    arguments = () if other and not _knows_key_rate(other) else ("--key-rate", "0")
    options: dict[str, Any] = {"environment": environment, "arguments": arguments}
    servers = {"SQLite": Server(f"sqlite:///{directory}/{prefix}.db", directory, **options)}
    for workers, plural in ((1, ""), (2, "s")):
        cluster.run(f"CREATE DATABASE {prefix}_{workers}")
        url = cluster.url(f"{prefix}_{workers}")
        servers[f"PostgreSQL, {workers} worker{plural}"] = Server(url, directory, workers=workers, **options)
    for server in servers.values():
        stack.callback(server.stop)
        server.start()
    return servers


def _knows_key_rate(source: str) -> bool:
    return "--key-rate" in (Path(source) / "fairbai" / "cli" / "service.py").read_text()


def _load(server: Server, **talk: Any) -> Callable[[], Result]:
    floors = {"kind": "constant", "floor": 0.5 / ARMS}
    labels = [str(arm) for arm in range(ARMS)]
    experiment = server.create(arms=labels, delta=NEVER, floors=floors, seed=SEED)
    return lambda: measured(server.port, f"/v1/experiments/{experiment}", server.key, **talk)


def bare_endpoint(stack: ExitStack, directory: Path) -> Callable[[], Result]:
    """Start an endpoint that does nothing; returns what measures it."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "benchmarks.bare_endpoint:app", "--port", str(port), "--no-access-log"]
    with (directory / "bare.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    while "Uvicorn running" not in (directory / "bare.log").read_text():
        if process.poll() is not None:
            raise SystemExit((directory / "bare.log").read_text())
        time.sleep(0.05)
    return lambda: measured(port, "", "none", talk="tells")


def measured(port: int, path: str, key: str, **talk: Any) -> Result:
    """What a server does under load."""
    order = {"port": port, "path": path, "key": key, "connections": CONNECTIONS, "seconds": SECONDS, **talk}
    command = [sys.executable, "-m", "benchmarks.http_load", json.dumps(order)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    if found["own"] > BUSY:
        raise SystemExit(
            f"the generator must take at most {BUSY} of a core, got {found['own']:.2f}: it is the bottleneck"
        )
    return Result(found["rate"], found["p99"], found["answered"])


def _optuna(optuna: Any, directory: Path) -> Callable[[], Result]:
    sampler = optuna.samplers.RandomSampler(seed=SEED)
    study = optuna.create_study(storage=f"sqlite:///{directory}/optuna.db", direction="maximize", sampler=sampler)
    choices = list(range(ARMS))

    def measure() -> Result:
        start = time.perf_counter()
        for number in range(OPTUNA_TRIALS):
            trial = study.ask()
            trial.suggest_categorical("arm", choices)
            study.tell(trial, float(number % 2))
        return Result(OPTUNA_TRIALS / (time.perf_counter() - start))

    return measure
