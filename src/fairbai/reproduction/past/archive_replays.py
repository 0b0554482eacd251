"""Real tests, replayed: with their observed rates as the truth, and their own traffic as the budget."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fairbai.allocation import solve
from fairbai.allocation.price import information
from fairbai.compiling.cache import CACHE_DIRECTORY
from fairbai.problems.checks import Array, whole
from fairbai.problems.question import Tolerance
from fairbai.reproduction.past.archive_data import RealTest, usual_rate
from fairbai.sampling import FairTopTwo, SamplingRule, UniformFair
from fairbai.simulation.engine import run_chunks
from fairbai.simulation.progress import progress_bar
from fairbai.simulation.runs import Integers
from fairbai.simulation.scenario import Scenario, make_scenario
from fairbai.stopping import ChanceToWin, Mixture, StoppingRule

DELTA = 0.05
TOLERANCES: tuple[Tolerance, ...] = (None, "10%", "20%", "30%")
TITLES = ("exact", "10 %", "20 %", "30 %")
INFORMATION = information(DELTA)  # kl(δ, 1 - δ)
CHUNK = 40  # tests in a file
MAX_REPLAYS = 1_000  # run numbers that a test has for itself

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Way:
    """A way to run a test: how arms are chosen, and when it stops if this is its traffic."""

    name: str
    sampling: SamplingRule
    stopping: Callable[[RealTest], StoppingRule]


def proved_stop(test: RealTest) -> Mixture:
    """The mixture for this traffic and the usual click rate, both of which are known before the test."""
    rate = usual_rate()
    return Mixture.for_trials(test.traffic, DELTA, test.arms, variance=rate * (1.0 - rate))


OURS, UNIFORM, CHANCE = "FairTopTwo", "uniform", "chance to win"
WAYS = (
    Way(OURS, FairTopTwo(), proved_stop),
    Way(UNIFORM, UniformFair(), proved_stop),
    Way(CHANCE, UniformFair(), lambda _: ChanceToWin(0.95)),
)


@dataclass(frozen=True, eq=False)
class Replays:
    """What became of the tests; the axes of the last three are tests, ``WAYS``, ``TOLERANCES`` and replays.

    Attributes:
        tests: Those that were replayed.
        times: T*_ε of every test (rows) and tolerance.
        trials: Until the answer or, without one, the traffic.
        answered: Whether there was an answer.
        wrong: Whether there was a wrong one.
    """

    tests: Sequence[RealTest]
    times: Array
    trials: Integers
    answered: Bools
    wrong: Bools

    @property
    def traffic(self) -> Array:
        """Of every test."""
        return np.array([float(test.traffic) for test in self.tests])

    @property
    def bounds(self) -> Array:
        """kl(δ, 1 - δ) T*_ε of every test and tolerance: the lower bound, for several right answers as δ falls to 0."""
        return INFORMATION * self.times

    @property
    def needs(self) -> Array:
        """About what a proved stop needs: (log((K - 1) / δ) + 2) T*_ε."""
        levels = np.array([math.log((test.arms - 1) / DELTA) + 2.0 for test in self.tests])
        needs: Array = levels[:, None] * self.times
        return needs

    def fits(self, trials: Array) -> Bools:
        """Whether so many trials, of every test and tolerance, fit into its traffic."""
        fits: Bools = trials <= self.traffic[:, None]
        return fits


def replayed(
    tests: Sequence[RealTest], replays: int, seed: int = 0, progress: bool = False, folder: Path | None = None
) -> Replays:
    """Replay tests in every way and with every tolerance.

    Args:
        tests: Which.
        replays: How often each.
        seed: Of the random streams. All ways and tolerances of a test share theirs.
        progress: Whether to show a progress bar.
        folder: Where to keep what is done, in files of ``CHUNK`` tests; the same call then continues.
    """
    replays = whole("runs", replays, 1, MAX_REPLAYS)
    kept = None if folder is None else folder / _name(tests, replays, seed)
    parts = []
    with progress_bar(len(tests), progress, unit="tests") as bar:
        for first in range(0, len(tests), CHUNK):
            chunk = tests[first : first + CHUNK]
            parts.append(_kept_or_made(chunk, first, (replays, seed), kept))
            bar.update(len(chunk))
    trials, answered, wrong = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    times = [[solve(test.instance(one)).characteristic_time for one in TOLERANCES] for test in tests]
    return Replays(tests, np.array(times), trials, answered.astype(bool), wrong.astype(bool))


def _name(tests: Sequence[RealTest], replays: int, seed: int) -> str:
    """A name for replays of these tests with this code: others are kept elsewhere."""
    ways = [(way.name, way.sampling.to_dict(), way.stopping(tests[0]).to_dict()) for way in WAYS]
    about = [CACHE_DIRECTORY.name, DELTA, TOLERANCES, CHUNK, ways, [test.name for test in tests]]
    digest = hashlib.sha256(json.dumps(about).encode()).hexdigest()
    return f"replays-{replays}-seed-{seed}-{digest[:12]}"


Part = tuple[Integers, Integers, Integers]
"""Trials, and whether there was an answer and a wrong one: a chunk of ``Replays``."""


def _kept_or_made(tests: Sequence[RealTest], first: int, draws: tuple[int, int], folder: Path | None) -> Part:
    """The replays of a chunk, from its file if there is one."""
    if folder is None:
        return _replay(tests, first, *draws)
    path = folder / f"tests-{first:05d}.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with part.open("wb") as file:
            np.save(file, np.stack(_replay(tests, first, *draws)))
        part.replace(path)  # a file that is there is whole
    trials, answered, wrong = np.load(path)
    return trials, answered, wrong


def _replay(tests: Sequence[RealTest], first: int, replays: int, seed: int) -> Part:
    shape = len(tests), len(WAYS), len(TOLERANCES), replays
    trials, answered, wrong = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    places, tasks = [], []
    for row, test in enumerate(tests):
        for cell, scenario in _scenarios(test, seed):
            places.append((row, *cell))
            tasks.append((scenario, MAX_REPLAYS * (first + row), replays))
    for index, runs in run_chunks(tasks):
        place = places[index]
        trials[place] = runs.decision_time[:, 0]
        answered[place] = ~runs.censored[:, 0]
        wrong[place] = ~runs.censored[:, 0] & ~runs.correct[:, 0]
    return trials, answered, wrong


def _scenarios(test: RealTest, seed: int) -> Iterator[tuple[tuple[int, int], Scenario]]:
    """Every way and tolerance of a test, by their numbers."""
    for column, tolerance in enumerate(TOLERANCES):
        instance = test.instance(tolerance)
        for row, way in enumerate(WAYS):
            stop = way.stopping(test)
            yield (row, column), make_scenario(instance, DELTA, way.sampling, stop, False, seed, test.traffic)
