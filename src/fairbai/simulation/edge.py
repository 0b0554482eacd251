"""Experiments whose trials are made by edge nodes, which follow a published policy and report in batches."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fairbai.compiling.entry import patiently
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.settling import Settling
from fairbai.kernels.loop import edges as kernels
from fairbai.kernels.loop.records import Record
from fairbai.problems.checks import Array, number, true_or_false, whole
from fairbai.problems.configured import Form
from fairbai.problems.instance import Instance
from fairbai.sampling import SamplingRule
from fairbai.simulation.engine import run_all
from fairbai.simulation.runs import Runs
from fairbai.simulation.scenario import Scenario, make_scenario
from fairbai.simulation.simulate import MAX_RUNS
from fairbai.stopping import StoppingRule

DRAWS = {"random": kernels.RANDOM, "quota": kernels.QUOTA}
MAX_BATCH = 10_000_000
MAX_NODES = 100_000
COST = 1.5  # trials that a batch size of one more costs, for every node


@dataclass(frozen=True, eq=False)
class EdgeScenario(Scenario):
    """A scenario on edge nodes; ``simulate_edges`` describes the fields."""

    batch: int = 1
    nodes: int = 1
    draws: str = "quota"
    ledger: bool = True

    def _compiled(self, first: int, levels: Array, one: Experiment, record: Record) -> None:
        fleet = kernels.Fleet(
            self.batch,
            DRAWS[self.draws],
            self.ledger,
            np.zeros((kernels.SQUARES + 1, self.nodes, self.instance.means.size)),
            np.zeros(self.nodes),
            one.state.copy(),
            one.scalars.copy(),
        )
        before = one.state.copy(), one.scalars.copy()
        long = self._is_long(len(record.decided))
        simulate = patiently(kernels.simulate_edges) if long else kernels.simulate_edges
        simulate(one.all_arrays, before, self.task(levels, self.settles), fleet, first, record)


def simulate_edges(
    instance: Instance,
    deltas: float | Sequence[float] = 0.05,
    batch: int = 100,
    nodes: int = 1,
    draws: str = "quota",
    ledger: bool = True,
    sampling: SamplingRule | Form | None = None,
    stopping: StoppingRule | Form | None = None,
    settle: bool | Settling = False,
    runs: int = 1000,
    seed: int = 0,
    maximum_rounds: int = 1_000_000,
    progress: bool | None = None,
) -> Runs:
    """Run experiments whose trials are made by ``nodes`` edge nodes, each of which reports every ``batch`` trials.

    The nodes are equally fast and evenly staggered, so that the server gets a report, checks the stopping rule and
    publishes a new policy every ``batch`` trials. A node hears of the stop when it reports: the batches that are on
    their way at the decision are made all the same, and count for fairness though not for the answer.

    What comes back is as that of ``simulate``, with two meanings: ``decision_time`` are the trials that the server had
    counted at its decision, ``stopping_time`` all that were made, those on their way and those of settling included.
    With one node and batches of one trial the runs are those of ``simulate``.

    Args:
        instance: The true means, the family and the floors.
        deltas: One probability of a wrong answer or several, each in (0, 1/2).
        batch: Trials between two reports of a node.
        nodes: How many.
        draws: How a node follows a policy: "quota" gives every arm its share of the batch, and where these are not
            whole trials takes the arm that is furthest behind the policies so far; "random" draws every arm.
        ledger: Whether the server counts the trials that it expects of the batches on their way. If not, it publishes
            the policy for the next ``batch`` x ``nodes`` trials, whoever makes them.
        sampling: The sampling rule of the server; ``FairTopTwo()`` by default.
        stopping: The stopping rule; ``Mixture()``, the tightest proved one, by default.
        settle: Whether to go on after the last report until every floor is met.
        runs: How many.
        seed: Of the random streams; run i is stream i of this seed.
        maximum_rounds: A run that has no answer after so many counted trials is given up.
        progress: Whether to show a progress bar; by default, only on a terminal, after a second.

    Example:
        >>> import fairbai as fb
        >>> instance = fb.Instance([1.0, 0.5, 0.0], floors=0.2)
        >>> runs = fb.simulation.simulate_edges(instance, batch=20, nodes=4, runs=100, seed=1)
        >>> waste = runs.stopping_time - runs.decision_time
        >>> int(waste.min()), int(waste.max())
        (60, 60)
    """
    plain = make_scenario(instance, deltas, sampling, stopping, settle, seed, maximum_rounds)
    experiment = plain.experiment()
    if experiment.python_rule or experiment.python_rates:
        raise ValueError("sampling and rates must be those of the library to simulate edges, got Python code")
    if plain.stopping.drift_proof:
        raise ValueError(f"stopping must be another rule than {plain.stopping.kind} to simulate edges: use simulate")
    if draws not in DRAWS:
        raise ValueError(f"draws must be one of {', '.join(DRAWS)}, got {draws!r}")
    shared: dict[str, Any] = {field.name: getattr(plain, field.name) for field in fields(plain)}
    scenario = EdgeScenario(
        **shared,
        batch=whole("batch", batch, 1, MAX_BATCH),
        nodes=whole("nodes", nodes, 1, MAX_NODES),
        draws=draws,
        ledger=true_or_false("ledger", ledger),
    )
    return run_all(scenario, whole("runs", runs, 1, MAX_RUNS), progress)


def batch_size(expected_trials: float, nodes: int = 1, overhead: float = 0.05) -> int:
    """The largest batch whose price stays below ``overhead``, as a share of the expected trials.

    Reporting in batches of B by M nodes costs about 1.5 M B trials at most: (M - 1) B on their way at the decision,
    B / 2 until the report that brings it, and (M + 1) B / 2 that were made before the first report could improve the
    policy, if these were worth nothing; docs/edge.md has the measurements. The answer is at least 1, where even that
    costs more.

    Args:
        expected_trials: The trials that the experiment takes with one node and reports of every trial, such as the
            mean stopping time of ``simulate``; ``lower_bound`` is on the safe side.
        nodes: How many nodes make trials.
        overhead: The trials that may be made in addition, as a share of the expected ones.

    Example:
        >>> batch_size(10_000, nodes=4, overhead=0.05)
        83
    """
    trials = number("expected_trials", expected_trials, 0.0, 1e300, "at least 0")
    share = number("overhead", overhead, 0.0, 1e300, "at least 0")
    return max(1, min(MAX_BATCH, math.floor(share * trials / (COST * whole("nodes", nodes, 1, MAX_NODES)))))
