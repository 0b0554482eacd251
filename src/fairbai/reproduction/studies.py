"""The simulations behind the tables and figures: the paper's own, our rules, and thresholds with a proof."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairbai.problems import Instance
from fairbai.problems.checks import whole
from fairbai.reproduction import scenarios as settings
from fairbai.reproduction.scenarios import PaperSetting
from fairbai.sampling import FairTopTwo, FairTrackAndStop, SamplingRule, TrackAndStop, UniformFair
from fairbai.simulation import Study, sweep
from fairbai.stopping import Heuristic, KaufmannKoolen, Mixture, PairwiseGaussian, StoppingRule, TwoSidedMixture

DELTAS = (0.1, 0.01, 0.001)
MAXIMUM_ROUNDS = 10_000_000  # a hundred times the longest run seen: none is given up

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
    """All runs of the report; instances go by ``PaperSetting.name``, rules and thresholds by the names above.

    Attributes:
        paper: ``ALGORITHMS`` on the ten settings with the ``HEURISTIC`` threshold, as in the paper's experiments.
        ours: ``OURS`` in the same way, each with and without settling.
        proved: ``UNDER_PROOF`` with the ``PROVED`` thresholds, on the eight settings of the results tables.
    """

    paper: Study
    ours: Study
    proved: Study


def run_studies(runs: int, seed: int = 0, output: str | Path | None = None, progress: bool = False) -> Results:
    """Simulate everything that the tables and figures show.

    Args:
        runs: How many for every instance, rule and threshold: at least 2, or there are no error bars. The paper
            has 100.
        seed: Of the random streams.
        output: A folder that keeps the runs in ``runs/paper``, ``runs/ours`` and ``runs/proved``; the same call goes
            on where an earlier one stopped.
        progress: Whether to show progress bars.
    """
    runs = whole("runs", runs, 2, expected="a whole number of at least 2")
    every, tables = _instances(settings.select()), _instances(settings.table_settings())
    shared: dict[str, Any] = {"deltas": DELTAS, "runs": runs, "seed": seed, "progress": progress}
    shared["maximum_rounds"] = MAXIMUM_ROUNDS

    def folder(name: str) -> Path | None:
        return None if output is None else Path(output) / "runs" / name

    return Results(
        paper=sweep(every, ALGORITHMS, HEURISTIC, histogram=True, output=folder("paper"), **shared),
        ours=sweep(every, OURS, HEURISTIC, settle=[False, True], histogram=True, output=folder("ours"), **shared),
        proved=sweep(tables, UNDER_PROOF, PROVED, output=folder("proved"), **shared),
    )


def _instances(chosen: Iterable[PaperSetting]) -> dict[str, Instance]:
    return {setting.name: setting.instance for setting in chosen}
