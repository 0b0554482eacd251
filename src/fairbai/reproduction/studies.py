"""The simulations behind the tables and figures: the paper's algorithms, our rules, and proved thresholds."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairbai.problems import Instance
from fairbai.problems.checks import whole
from fairbai.reproduction import scenarios
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.sampling import FairTopTwo, FairTrackAndStop, SamplingRule, TrackAndStop, UniformFair
from fairbai.simulation import Runs, Study, sweep
from fairbai.simulation.summary import NORMAL
from fairbai.stopping import Heuristic, KaufmannKoolen, Mixture, PairwiseGaussian, StoppingRule, TwoSidedMixture

DELTAS = (0.1, 0.01, 0.001)
MAXIMUM_ROUNDS = 10_000_000  # a hundred times the longest run seen, so no run is cut off

ALGORITHMS: dict[str, SamplingRule] = {
    "F-TaS": FairTrackAndStop(),
    "TaS": TrackAndStop(),
    "Uniform Fair": UniformFair(),
}
OURS: dict[str, SamplingRule] = {
    "F-TaS tracked": FairTrackAndStop(tracking="cumulative", start="policy"),
    "FairTopTwo": FairTopTwo(),
}
HEURISTIC: dict[str, StoppingRule] = {"heuristic": Heuristic()}
PROVED: dict[str, StoppingRule] = {
    "mixture": Mixture(),
    "two-sided mixture": TwoSidedMixture(),
    "pairwise Gaussian": PairwiseGaussian(),
    "Kaufmann-Koolen, pairs": KaufmannKoolen(),
    "Kaufmann-Koolen, all arms": KaufmannKoolen(pairwise=False),
}
UNDER_PROOF: dict[str, SamplingRule] = {"F-TaS": ALGORITHMS["F-TaS"], "FairTopTwo": OURS["FairTopTwo"]}


@dataclass(frozen=True, eq=False)
class Results:
    """All runs of the report, keyed by ``PaperScenario.name`` and the names of rules and thresholds above.

    Attributes:
        paper: ``ALGORITHMS`` on the ten scenarios with the ``HEURISTIC`` threshold, as in the paper's experiments.
        ours: ``OURS`` on the same scenarios and threshold, each with and without settling.
        proved: ``UNDER_PROOF`` with the ``PROVED`` thresholds, on the eight scenarios of the results tables.
    """

    paper: Study
    ours: Study
    proved: Study


def run_studies(runs: int, seed: int = 0, output: str | Path | None = None, progress: bool = False) -> Results:
    """Simulate everything that the tables and figures show.

    Args:
        runs: The number of runs per scenario, rule and threshold: at least 2, otherwise there are no error bars. The
            paper has 100.
        seed: The seed of the random streams.
        output: A folder in which to keep the runs, as ``runs/paper``, ``runs/ours`` and ``runs/proved``; the same call
            resumes an interrupted one.
        progress: Whether to show progress bars.
    """
    runs = whole("runs", runs, 2, expected="a whole number of at least 2")
    every, tables = _instances(scenarios.select()), _instances(scenarios.table_scenarios())
    shared: dict[str, Any] = {"deltas": DELTAS, "runs": runs, "seed": seed, "progress": progress}
    shared["maximum_rounds"] = MAXIMUM_ROUNDS

    def folder(name: str) -> Path | None:
        return None if output is None else Path(output) / "runs" / name

    return Results(
        paper=sweep(every, ALGORITHMS, HEURISTIC, histogram=True, output=folder("paper"), **shared),
        ours=sweep(every, OURS, HEURISTIC, settle=[False, True], histogram=True, output=folder("ours"), **shared),
        proved=sweep(tables, UNDER_PROOF, PROVED, output=folder("proved"), **shared),
    )


def _instances(chosen: Iterable[PaperScenario]) -> dict[str, Instance]:
    return {scenario.name: scenario.instance for scenario in chosen}


def ratio_of_means(one: Runs, other: Runs, quantity: str, delta: float) -> tuple[float, float]:
    """The ratio of two means, and half the width of its 95 % interval.

    The interval is that of the delta method for pairs, since runs with the same number share their random stream.
    """
    _, first, second = np.intersect1d(one.number, other.number, return_indices=True)
    above = getattr(one, quantity)[first, one.deltas.index(delta)].astype(np.float64)
    below = getattr(other, quantity)[second, other.deltas.index(delta)].astype(np.float64)
    value = above.mean() / below.mean()
    spread = np.std(above - value * below, ddof=1) / np.sqrt(above.size)
    return float(value), float(NORMAL * spread / below.mean())
