"""Chunks of runs on any engine that joblib knows: threads by default, Dask or Ray inside ``joblib.parallel_config``."""

import os
from collections.abc import Iterator, Sequence

import joblib

from fairbai.simulation.runs import Runs
from fairbai.simulation.setting import Setting


def chunks_of(runs: int, first: int = 0) -> list[tuple[int, int]]:
    """Runs in chunks of (first, count): enough of them to keep the engine busy and the progress bar moving."""
    size = max(1, min(2000, -(-runs // 32)))
    return [(first + start, min(size, runs - start)) for start in range(0, runs, size)]


def _chunk(index: int, setting: Setting, first: int, count: int) -> tuple[int, Runs]:
    return index, setting.simulate(first, count)


def run_chunks(tasks: Sequence[tuple[Setting, int, int]]) -> Iterator[tuple[int, Runs]]:
    """Provisional."""
    with joblib.Parallel(n_jobs=os.cpu_count(), prefer="threads", return_as="generator_unordered") as parallel:
        yield from parallel(joblib.delayed(_chunk)(index, *task) for index, task in enumerate(tasks))
