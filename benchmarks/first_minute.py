"""The first minute on a new machine: an empty kernel cache for every measurement."""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from benchmarks.measure import QUICK, Ratio, faster
from fairbai.compiling.cache import CACHE_ROOT
from tests.service.server import free_port

README = Path(__file__).parents[1] / "README.md"
OTHER = "FAIRBAI_BESIDE"  # the src folder of another version, to be measured beside this one

IDENTIFIER = """
import fairbai as fb
ident = fb.Identifier(3, delta=0.1, family=fb.Bernoulli(), floors=0.1, seed=1)
for _ in range(10):
    ident.tell(ident.ask(), 1.0)
ident.status()
"""
SIMULATION = """
import fairbai as fb
instance = fb.Instance([1.0, 0.0], floors=0.1)
fb.simulate(instance, 0.1, settle=True, runs=1, maximum_rounds=10)
"""
PLAN = ["--means", "0.12", "0.10", "0.09", "--family", "bernoulli", "--floors", "0.2", "--per-day", "5000"]

Environment = Mapping[str, str]


def suite() -> Iterator[Ratio]:
    """What a new user waits for, with an empty kernel cache each time, from the start of the process.

    The peer is the same with `FAIRBAI_JIT=wait`, which waits for the compiler. With `FAIRBAI_BESIDE` set to the `src`
    folder of another version, that one is the peer instead, and two rows compare the CPU that an Identifier and a
    `simulate` take with everything that is compiled for them, by whichever process.
    """
    other = os.environ.get(OTHER)
    peer = other or "FAIRBAI_JIT=wait"
    them: Environment = {"PYTHONPATH": other} if other else {"FAIRBAI_JIT": "wait"}
    for what, seconds, at_most in (
        ("the README's first snippet", _snippet, 10.0),
        ("fairbai plan", _plan, 3.0),
        ("fairbai serve, to its first answer", _served, 5.0),
    ):
        yield _within(faster(f"{what}, empty cache", _cold(seconds), peer, _cold(seconds, them)), at_most)
    if other:
        yield _cpu_row("an Identifier", IDENTIFIER, 1 / 3, other)
        yield _cpu_row("simulate", SIMULATION, 1 / 2, other)


def _cpu_row(what: str, program: str, part: float, other: str) -> Ratio:
    ours = _cold(lambda variables: _cpu(program, variables), {"FAIRBAI_JIT": "wait"})
    theirs = _cold(lambda variables: _cpu(program, variables), {"PYTHONPATH": other})
    met, what = ours <= part * theirs, f"CPU of {what} with all that is compiled for it, empty cache"
    return Ratio(what, ours, other, theirs, f"{ours / theirs:.2f}x the time", f"at most {part:.2f}x", met)


def _within(row: Ratio, at_most: float) -> Ratio:
    return Ratio(row.what, row.ours, row.peer, row.theirs, row.ratio, f"at most {at_most:.0f} s", row.ours <= at_most)


def _cold(measured: Callable[[Environment], float], variables: Environment | None = None) -> float:
    """What is measured on an empty cache; what still compiles then is ended with its cache."""
    with _cache() as cache:
        return measured({**os.environ, "FAIRBAI_JIT": "background", "FAIRBAI_CACHE_DIR": cache, **(variables or {})})


def _cache() -> AbstractContextManager[str]:
    """An empty one; or, where the suite is only tried out, that of this process."""
    return nullcontext(str(CACHE_ROOT)) if QUICK else tempfile.TemporaryDirectory(ignore_cleanup_errors=True)


def _timed(command: list[str], variables: Environment) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=dict(variables), check=True, capture_output=True)
    return time.perf_counter() - start


def _snippet(variables: Environment) -> float:
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert code is not None
    return _timed([sys.executable, "-c", code[1]], variables)


def _plan(variables: Environment) -> float:
    return _timed([sys.executable, "-m", "fairbai", "plan", *PLAN], variables)


def _served(variables: Environment) -> float:
    """Until an experiment that was just created has assigned its first trial."""
    port, start = free_port(), time.perf_counter()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [sys.executable, "-m", "fairbai", "serve", "--port", str(port)]
        server = subprocess.Popen(command, cwd=folder, env=dict(variables), stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            key = server.stdout.readline().split()[-1]
            plan = {"name": "first", "arms": ["a", "b"], "delta": 0.05, "family": "bernoulli"}
            made = _post(f"http://127.0.0.1:{port}/v1/experiments", key, json.dumps(plan).encode())
            name = re.search(r'"id": ?"([0-9a-f]+)"', made)
            assert name is not None, made
            _post(f"http://127.0.0.1:{port}/v1/experiments/{name[1]}/ask", key, b"{}")
            return time.perf_counter() - start
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()


def _post(address: str, key: str, body: bytes) -> str:
    """The answer, as soon as there is a server."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(address, body, headers), timeout=300) as answer:
                return str(answer.read().decode())
        except ConnectionError:
            time.sleep(0.02)
        except urllib.error.URLError as error:
            if not isinstance(error.reason, ConnectionError):
                raise
            time.sleep(0.02)


def _cpu(program: str, variables: Environment) -> float:
    """Seconds of CPU of a program, and of the compiler that worked for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], env=dict(variables), check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    logs = Path(variables["FAIRBAI_CACHE_DIR"]).rglob("requests/log")
    compiler = sum(float(line.split()[-4]) for log in logs for line in log.read_text().splitlines()[-1:])
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime + compiler
