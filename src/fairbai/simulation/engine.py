"""Chunks of runs on any engine that joblib knows: threads by default, Dask or Ray inside ``joblib.parallel_config``.

A chunk is a pure function of its numbers. What a dead worker lost is therefore simply run again, with the same bits.
"""

from collections.abc import Generator, Iterator, Sequence
from importlib import import_module
from typing import Any

import joblib
from joblib.parallel import default_parallel_config, get_active_backend

from fairbai.simulation.progress import progress_bar
from fairbai.simulation.runs import Runs
from fairbai.simulation.scenario import Scenario

ATTEMPTS = 3  # failures of the engine in a row, without a single result in between
MAX_ROUNDS = 200_000_000  # in a chunk
WAVE = 4  # chunks a worker, for engines that return results only in waves
FEW_ROUNDS = 1_000_000  # in one chunk: so quick that Ctrl-C can wait, and joblib's ten milliseconds are too much

Task = tuple[Scenario, int, int]
Outcome = tuple[int, Runs | None, Exception | None]


def chunks_of(runs: int, maximum_rounds: int, first: int = 0, cells: int = 1) -> list[tuple[int, int]]:
    """Runs in chunks of (first, count): enough of them to keep the engine busy and the progress bar moving.

    One of many cells is cut into fewer: a chunk costs some milliseconds, most of all where it becomes a file. Even if
    all its runs are as long as can be, a chunk should not take much longer than half a minute.
    """
    pieces = max(4, 32 // cells)
    size = max(1, min(2000, -(-runs // pieces), MAX_ROUNDS // maximum_rounds))
    return [(first + start, min(size, runs - start)) for start in range(0, runs, size)]


def run_chunks(tasks: Sequence[Task]) -> Iterator[tuple[int, Runs]]:
    """The index and the runs of every task (scenario, first run, count), as they are done, in any order."""
    backend, workers = _engine()
    if getattr(backend, "supports_sharedmem", False) and len(tasks) == 1:  # of threads only
        scenario, first, count = tasks[0]
        if count * scenario.maximum_rounds <= FEW_ROUNDS:
            yield 0, scenario.simulate(first, count)
            return
    missing, failures = dict(enumerate(tasks)), 0
    while missing:
        outcomes = _outcomes(backend, workers, [joblib.delayed(_attempt)(*item) for item in missing.items()])
        try:
            while missing:
                try:
                    index, runs, error = next(outcomes)
                except Exception:  # of the engine: those of a chunk come as values
                    failures += 1
                    if failures == ATTEMPTS:
                        raise
                    break
                if error is not None:
                    raise error
                assert runs is not None
                del missing[index]
                failures = 0
                yield index, runs
        finally:
            outcomes.close()


def run_all(scenario: Scenario, runs: int, progress: bool | None) -> Runs:
    """Runs 0 to ``runs`` - 1 of one scenario."""
    with progress_bar(runs, progress) as bar:
        done = []
        for _, part in run_chunks([(scenario, *piece) for piece in chunks_of(runs, scenario.maximum_rounds)]):
            done.append(part)
            bar.update(len(part))
    return Runs.join(done)


def _engine() -> tuple[Any, int]:
    """What ``joblib.parallel_config`` sets; where it sets nothing, threads, and all cores.

    joblib itself takes one worker where none are named, and ignores the number of workers for threads.
    """
    with joblib.parallel_config() as active:
        given = {key: value for key, value in active.items() if value is not default_parallel_config[key]}
    backend, _ = get_active_backend(prefer=given.get("prefer", "threads"))
    return backend, given.get("n_jobs") or (1 if backend.nesting_level else -1)


def _attempt(index: int, task: Task) -> Outcome:
    scenario, first, count = task
    try:
        return index, scenario.simulate(first, count), None
    except Exception as error:  # a value, so that it is not taken for one of the engine
        return index, None, error


def _outcomes(backend: Any, workers: int, calls: list[Any]) -> Generator[Outcome, None, None]:
    if type(backend).__name__ == "DaskDistributedBackend":
        yield from _from_dask(backend.client, calls)
    elif backend.supports_return_generator:
        yield from _Quiet(workers, backend=backend, return_as="generator_unordered", batch_size=1)(calls)
    else:  # Ray, multiprocessing
        wave = WAVE * backend.effective_n_jobs(workers)
        with joblib.Parallel(workers, backend=backend, batch_size=1) as parallel:
            for start in range(0, len(calls), wave):
                yield from parallel(calls[start : start + wave])


class _Quiet(joblib.Parallel):  # type: ignore[misc]
    """Without joblib's warning of results that nobody waits for: to ignore warnings is not safe while threads run."""

    def _warn_exit_early(self) -> None:
        pass


def _from_dask(client: Any, calls: list[Any]) -> Generator[Outcome, None, None]:
    """Ask Dask itself: of a task that Dask gives up joblib hears nothing, and waits for ever (joblib 1.6)."""
    as_completed = import_module("distributed").as_completed

    futures = [client.submit(function, *arguments, pure=False) for function, arguments, _ in calls]
    try:
        for future, outcome in as_completed(futures, with_results=True):
            future.release()  # or the cluster would keep all results until the end
            yield outcome
    finally:
        client.cancel(futures)
