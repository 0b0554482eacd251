"""The same bits on every engine: threads, processes, a real local Dask cluster and a real local Ray; also when a worker
is killed in the middle."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pytest

import fairbai as fb
from fairbai.simulation import engine as engines
from fairbai.simulation.engine import chunks_of, run_chunks
from fairbai.simulation.scenario import Scenario, make_scenario
from tests.simulation.cases import assert_same

pytestmark = [
    pytest.mark.slow_without_jit,  # every worker process would run the kernels in Python
    pytest.mark.xdist_group("engines"),  # one Dask and one Ray for all
]

INSTANCES = {
    "gaussian": fb.Instance([1.0, 0.6, 0.2], rates=fb.rates.Constant(0.2)),
    "bernoulli": fb.Instance([0.6, 0.4, 0.1], family=fb.Bernoulli(), rates=fb.rates.InverseGap(0.5)),
}
RUNS = 64


def study(output: Path | None = None) -> fb.Study:
    return fb.sweep(
        INSTANCES,
        [fb.sampling.FairTrackAndStop(), fb.sampling.FairTopTwo()],
        [fb.stopping.Mixture()],
        deltas=[0.1, 0.01],
        settle=True,
        runs=RUNS,
        seed=5,
        histogram=True,
        output=output,
    )


def bits(found: fb.Study) -> dict[str, bytes]:
    """Everything that was found."""
    everything = {}
    for cell, runs in found.results.items():
        for name, column in runs.to_columns().items():
            everything[f"{cell} {name}"] = column.tobytes()
        everything[f"{cell} histogram"] = runs.histogram.tobytes()
    return everything


@pytest.fixture(scope="module")
def expected() -> dict[str, bytes]:
    """By one thread."""
    with joblib.parallel_config(backend="threading", n_jobs=1):
        return bits(study())


@pytest.fixture(scope="module")
def dask() -> Iterator[None]:
    """A cluster of two worker processes."""
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a worker that is killed is what we want
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
    )
    with cluster, Client(cluster):
        yield


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    """A Ray of two processes, on loopback alone."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # this is what keeps it on loopback
    import ray
    from ray.util.joblib import register_ray

    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=80 * 2**20,
        log_to_driver=False,
        logging_level="ERROR",
    )
    register_ray()
    yield
    ray.shutdown()


@pytest.mark.parametrize("threads", [None, 2, 3])
def test_any_number_of_threads(expected: dict[str, bytes], threads: int | None) -> None:
    engine = nullcontext() if threads is None else joblib.parallel_config(n_jobs=threads)
    with engine:
        assert bits(study()) == expected


def test_processes(expected: dict[str, bytes]) -> None:
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert bits(study()) == expected


@dataclass(frozen=True, eq=False)
class Slow(Scenario):
    """Chunks that take their time, so that a worker can be killed in one; they tell who did them."""

    def simulate(self, first: int, count: int) -> fb.Runs:
        time.sleep(0.1)
        runs = super().simulate(first, count)
        return fb.Runs(**{**vars(runs), "trace_rounds": (os.getpid(),)})


def slow(kind: type[Scenario] = Slow) -> Scenario:
    one = make_scenario(INSTANCES["gaussian"], [0.1, 0.01], None, None, True, 5, 10_000)
    return kind(**vars(one))


@pytest.mark.system
def test_a_process_is_killed() -> None:
    """Of a pool. A worker of a cluster is killed in a sweep, below."""
    pieces = chunks_of(RUNS, 10_000)
    found, killed = [], 0
    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        closing(run_chunks([(slow(), *piece) for piece in pieces])) as parts,
    ):
        for _, runs in parts:
            found.append(runs)
            (worker,) = runs.trace_rounds
            if len(found) >= 5 and killed == 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
                    killed = worker
    assert killed not in (0, os.getpid())
    assert len(found) == len(pieces)
    whole = slow(Scenario).simulate(0, RUNS)
    joined = fb.Runs.join(found)
    assert joined.number.tolist() == list(range(RUNS))
    for name, column in whole.to_columns().items():
        np.testing.assert_array_equal(joined.to_columns()[name], column)


def worker_of(name: str) -> int:
    """The process of a worker of the cluster."""
    if name == "dask":
        from distributed import default_client

        return int(next(iter(default_client().run(os.getpid).values())))
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if path.read_bytes().startswith(b"ray::PoolActor"):
                return int(path.parent.name)
    raise LookupError("Ray has no workers")


@pytest.mark.system
@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_worker_is_killed_in_a_sweep(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """When the first chunk is on disk; with an instance that has no best arm, so that runs are long."""
    request.getfixturevalue(name)
    instances = {**INSTANCES, "tied": fb.Instance([1.0, 1.0, 0.0], rates=fb.rates.Constant(0.1))}
    settings = (instances, [fb.sampling.FairTrackAndStop(), fb.sampling.UniformFair()], [fb.stopping.Mixture()])
    numbers = {"deltas": 0.01, "runs": 64, "seed": 3, "maximum_rounds": 50_000}
    killed = []

    def kill() -> None:
        while not list(tmp_path.rglob("*.parquet")):
            time.sleep(0.01)
        killed.append(worker_of(name))
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with joblib.parallel_config(backend=name, n_jobs=2):
        found = fb.sweep(*settings, **numbers, output=tmp_path)  # type: ignore[arg-type]
    killer.join(timeout=60)
    assert killed
    assert os.getpid() not in killed
    assert bits(found) == bits(fb.sweep(*settings, **numbers))  # type: ignore[arg-type]


def raises(means: np.ndarray) -> float:
    raise KeyError("my own")


@pytest.mark.parametrize("name", ["threading", "loky", pytest.param("dask", marks=pytest.mark.system)])
def test_an_error_of_the_user_comes_through(name: str, request: pytest.FixtureRequest) -> None:
    if name == "dask":
        request.getfixturevalue(name)
    one = slow(Scenario)
    rates = fb.rates.Custom(lambda means: 0.1)
    broken = fb.Instance(one.instance.means, rates=rates)
    object.__setattr__(rates, "function", raises)
    tasks = [(Scenario(**{**vars(one), "instance": broken}), first, 2) for first in (0, 2)]
    with joblib.parallel_config(backend=name, n_jobs=2), pytest.raises(KeyError, match="my own"):
        list(run_chunks(tasks))


def test_an_engine_that_always_fails_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = []

    def fails(*_: object) -> Iterator[engines.Outcome]:
        attempts.append(1)
        raise OSError("no workers")
        yield

    monkeypatch.setattr(engines, "_outcomes", fails)
    with pytest.raises(OSError, match="no workers"):
        list(run_chunks([(slow(Scenario), 0, 2), (slow(Scenario), 2, 2)]))
    assert len(attempts) == engines.ATTEMPTS


@pytest.mark.parametrize("runs", [1, 2, 31, 33, 1000, 100_001])
def test_chunks_cover_all_runs(runs: int) -> None:
    covered = [number for first, count in chunks_of(runs, 1_000_000, first=7) for number in range(first, first + count)]
    assert covered == list(range(7, 7 + runs))


def test_a_few_rounds_are_simulated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without joblib, and the same; a longer run is left to it, so that Ctrl-C ends it."""
    few = fb.simulate(INSTANCES["gaussian"], runs=2, maximum_rounds=engines.FEW_ROUNDS // 2)
    scenario = slow(Scenario)

    def fails(*_: object) -> Iterator[engines.Outcome]:
        raise AssertionError("joblib is asked")
        yield

    with monkeypatch.context() as patched:
        patched.setattr(engines, "_outcomes", fails)
        assert len(list(run_chunks([(scenario, 0, engines.FEW_ROUNDS // scenario.maximum_rounds)]))) == 1
        with pytest.raises(AssertionError, match="joblib is asked"):
            list(run_chunks([(scenario, 0, engines.FEW_ROUNDS // scenario.maximum_rounds + 1)]))
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_same(few, fb.simulate(INSTANCES["gaussian"], runs=2, maximum_rounds=engines.FEW_ROUNDS // 2))


def test_all_cores_unless_told_otherwise() -> None:
    assert engines._engine()[1] == -1
    with joblib.parallel_config(n_jobs=3):
        assert engines._engine()[1] == 3
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert type(engines._engine()[0]).__name__ == "LokyBackend"
