"""Twelve plans, fixed before any of them was simulated: what is planned must be what experiments take.

Six are in the documentation, six are not. They differ in family, arms (2 to 20), gaps, floors, delta and question.
``python -m tests.truth.twelve_plans`` prints the table; it takes some minutes.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import joblib

import fairbai as fb


@dataclass(frozen=True)
class Case:
    """A plan to be compared with simulations.

    Attributes:
        name: What it is.
        instance: The means, the family, the floors and the question.
        delta: The error probability.
    """

    name: str
    instance: fb.Instance
    delta: float = 0.05


COUNTS = [3.6, *(3.0 - 0.05 * arm for arm in range(19))]
BELOW_100 = fb.Bounded(0.0, 100.0, variance=60.0)
NOISY = fb.Gaussian(None, guess=[1.0, 2.0, 4.0, 1.0])
WITH_CONTROL = fb.Instance([0.20, 0.20, 0.17], "bernoulli", rates=0.1, tolerance=0.03, control=0)

TWELVE = (
    Case("README", fb.Instance([0.12, 0.10, 0.09], "bernoulli", rates=0.2)),
    Case("choose_floors.md", fb.Instance([0.30, 0.22, 0.18], "bernoulli", rates=0.2)),
    Case("service.md", fb.Instance([0.10, 0.12, 0.10], "bernoulli", rates=0.1)),
    Case("commands.md", fb.Instance([2.0, 1.0, 0.0], fb.Gaussian([1.0, 4.0, 4.0]), rates=0.25)),
    Case("families.md, stars", fb.Instance([4.1, 3.9, 3.8], fb.Bounded(1.0, 5.0, variance=0.8), rates=0.2)),
    Case("dashboard.md, ten arms", fb.Instance([0.3] * 9 + [0.5], "bernoulli", rates=0.08)),
    Case("variances unknown", fb.Instance([5.0, 4.4, 4.2, 3.5], NOISY, rates=[0.1, 0.2, 0.05, 0.3]), 0.01),
    Case("twenty counts", fb.Instance(COUNTS, "poisson", rates=0.02), 0.1),
    Case("waiting times, no floors", fb.Instance([1.0, 1.3, 1.6], "exponential", goal="min"), 0.2),
    Case("control and tolerance", WITH_CONTROL),
    Case("a small gap", fb.Instance([0.50, 0.52], "bernoulli", rates=0.4)),
    Case("revenue up to 100", fb.Instance([3.0, 3.6, 2.5, 2.8, 3.0], BELOW_100, rates=0.05), 0.1),
)
"""In the documentation: the first six. With a stop for means that change: those with 0 and 1 or bounded rewards."""

LEAST, MOST = 0.9, 1.15  # simulated over planned
SEED = 30  # no plan is simulated with it
MAX_RUNS = 1000
WORK = 8e7  # arms and ten more times trials, of all runs of a row: up to about a minute


@dataclass(frozen=True)
class Row:
    """One stop of one plan, planned and simulated.

    Attributes:
        name: The plan.
        stop: The stop.
        first: Whether the plan names it, as the proved stop that ends first.
        planned: Expected trials.
        simulated: Their mean over simulated experiments.
        error: The standard error of that mean.
        runs: How many experiments were simulated.
    """

    name: str
    stop: str
    first: bool
    planned: float
    simulated: float
    error: float
    runs: int

    @property
    def ratio(self) -> float:
        """Simulated over planned."""
        return self.simulated / self.planned

    @property
    def holds(self) -> bool:
        """Whether the ratio is within its limits."""
        return LEAST <= self.ratio <= MOST

    def __str__(self) -> str:
        stop = f"{self.stop}{', first' if self.first else ''}"
        error = self.error / self.planned
        return (
            f"| {self.name} | {stop} | {self.planned:,.0f} | {self.simulated:,.0f} | {self.ratio:.2f} ± {error:.2f} "
            f"| {self.runs} |"
        )


def compared(case: Case, work: float = WORK) -> Iterator[Row]:
    """Every proved stop of a plan beside simulations of the experiment that it plans, on one core."""
    plan = fb.plan(case.instance, delta=case.delta)
    for name, outlook in plan.stops.items():
        if name == "heuristic":
            continue
        runs = min(MAX_RUNS, max(30, int(work / (outlook.trials * (10 + case.instance.means.size)))))
        longest = math.ceil(50.0 * outlook.trials)
        with joblib.parallel_config(n_jobs=1):
            found = fb.simulate(
                case.instance,
                case.delta,
                stopping=outlook.stopping,
                settle=True,
                runs=runs,
                seed=SEED,
                maximum_rounds=longest,
                progress=False,
            )
        trials = found.stopping_time[:, 0]
        error = float(trials.std(ddof=1)) / math.sqrt(runs)
        yield Row(case.name, name, name == plan.stop, outlook.trials, float(trials.mean()), error, runs)


def main() -> None:
    """Print the table; end with exit code 1 if a ratio is outside its limits."""
    print("| plan | stop | planned | simulated | ratio | runs |\n| --- | --- | --- | --- | --- | --- |")
    wrong = 0
    for case in TWELVE:
        for row in compared(case):
            print(row, flush=True)
            wrong += not row.holds
    raise SystemExit(f"{wrong} ratios are not within {LEAST} to {MOST}" if wrong else 0)


if __name__ == "__main__":
    main()
