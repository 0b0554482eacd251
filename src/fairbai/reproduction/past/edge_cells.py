"""Simulations of edge nodes: which rules, nodes and batch sizes, and what each of them cost."""

import itertools
from dataclasses import dataclass
from typing import Any

from fairbai.reproduction import scenarios
from fairbai.reproduction.scenarios import PaperScenario
from fairbai.reproduction.studies import MAXIMUM_ROUNDS
from fairbai.sampling import FairTopTwo, FairTrackAndStop, SamplingRule
from fairbai.simulation import Runs, simulate_edges
from fairbai.simulation.progress import progress_bar

DELTA = 0.01
BATCHES = (1, 10, 100, 1000, 10_000)
NODES = (1, 4, 16, 64)
MAX_IN_FLIGHT = 64_000  # trials not yet reported: larger cells show nothing new and take long
SETTLED = tuple(itertools.product((1, 16), (10, 100, 1000)))


@dataclass(frozen=True)
class Way:
    """A rule of the server, and how the nodes follow its policies."""

    name: str
    rule: SamplingRule
    draws: str
    linestyle: Any


WAYS = (
    Way("FairTopTwo, quotas", FairTopTwo(), "quota", "-"),
    Way("FairTopTwo, random draws", FairTopTwo(), "random", (0.0, (4.0, 1.5))),
    Way("F-TaS, random draws", FairTrackAndStop(), "random", (0.0, (1.0, 1.2))),
)


@dataclass(frozen=True, eq=False)
class Cell:
    """The runs for one batch size and number of nodes; ``expected`` are the trials of one node without batches."""

    scenario: PaperScenario
    way: Way
    nodes: int
    batch: int
    runs: Runs
    expected: float

    @property
    def in_flight(self) -> int:
        """Trials that the nodes have not reported yet."""
        return self.nodes * self.batch

    @property
    def trials(self) -> float:
        """Mean of all trials made."""
        return float(self.runs.stopping_time.mean())

    @property
    def overhead(self) -> float:
        """Additional trials, relative to the expected ones."""
        return self.trials / self.expected - 1.0

    @property
    def violation(self) -> float:
        """Mean violation at the stop, over all trials made."""
        return float(self.runs.violation.mean())


def chosen() -> tuple[PaperScenario, PaperScenario]:
    """A scenario with floors that are known beforehand, and one whose floors depend on the means."""
    (known,) = scenarios.select("linear", "prespecified", "antagonistic")
    (learned,) = scenarios.select("scheduling", "theta_dependent", "agonistic")
    return known, learned


def grid() -> list[tuple[int, int]]:
    """Numbers of nodes and batch sizes; the first is one node that reports every trial."""
    return [(nodes, batch) for nodes, batch in itertools.product(NODES, BATCHES) if nodes * batch <= MAX_IN_FLIGHT]


def simulated(runs: int, seed: int, progress: bool) -> tuple[list[Cell], list[tuple[Cell, Cell]]]:
    """All cells, and pairs of cells without and with settling (for the floors that are known beforehand)."""
    shared: dict[str, Any] = {"deltas": DELTA, "runs": runs, "seed": seed, "maximum_rounds": MAXIMUM_ROUNDS}
    cells, extras = [], []
    known, _ = chosen()
    total = 2 * len(WAYS) * len(grid()) + 2 * len(SETTLED)
    with progress_bar(total, progress, unit="cells") as bar:
        for scenario, way in itertools.product(chosen(), WAYS):
            expected = 0.0
            for nodes, batch in grid():
                one = _cell(scenario, way, nodes, batch, expected, **shared)
                expected = expected or one.trials
                cells.append(Cell(scenario, way, nodes, batch, one.runs, expected))
                bar.update(1)
                if scenario is known and way.name.startswith("FairTopTwo") and (nodes, batch) in SETTLED:
                    extras.append((cells[-1], _cell(scenario, way, nodes, batch, expected, settle=True, **shared)))
                    bar.update(1)
    return cells, extras


def _cell(scenario: PaperScenario, way: Way, nodes: int, batch: int, expected: float, **shared: Any) -> Cell:
    runs = simulate_edges(scenario.instance, batch=batch, nodes=nodes, draws=way.draws, sampling=way.rule, **shared)
    return Cell(scenario, way, nodes, batch, runs, expected)
