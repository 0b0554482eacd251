"""What it costs not to know the variances: trials over those of known variances, revenue-like rewards included.

``python -m tests.stopping.test_price_of_variances`` prints the table of docs/stopping.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

import fairbai as fb
from fairbai.simulation.summary import mean_and_ci95

DELTA = 0.05


@dataclass(frozen=True)
class Case:
    """An instance, and the most that not knowing its variances may cost, which depends on the trials per arm."""

    name: str
    means: list[float]
    variance: float | list[float] = 1.0
    law: fb.laws.Revenue | None = None
    runs: int = 2000
    seed: int = 5
    most: float = 2.1

    def simulated(self, known: bool) -> fb.simulation.Runs:
        """Runs with the variances known or not; "known" means the true ones, also for rewards that are not normal."""
        variances = self.variance if self.law is None else self.law.variances(self.means)
        family = fb.Gaussian(variances) if known else fb.Gaussian(None, guess=variances)
        return fb.simulate(fb.Instance(self.means, family), DELTA, runs=self.runs, seed=self.seed, law=self.law)


CASES = [
    Case("two arms, gap 0.45", [0.45, 0.0]),
    Case("two arms, gap 0.15", [0.15, 0.0], runs=1000, most=1.3),
    Case("two arms, gap 0.06", [0.06, 0.0], seed=1, most=1.1),
    Case("five arms, gap 0.3", [0.3, 0.0, 0.0, 0.0, 0.0]),
    Case("variances 1 and 9, gap 1", [1.0, 0.0], variance=[1.0, 9.0]),
    Case("revenue, 30 % buy", [1.5, 1.0], law=fb.laws.Revenue(0.3, 0.5)),
    Case("revenue, 5 % buy", [1.6, 1.0], law=fb.laws.Revenue(0.05, 1.0), runs=1000, most=1.1),
]


def wrong(runs: fb.simulation.Runs) -> float:
    """The share of wrong answers."""
    return float((~runs.correct).mean())


@pytest.mark.long
@pytest.mark.slow_without_jit
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_price(case: Case) -> None:
    """At most 2.1, 1.3 and 1.1 times the trials where an arm gets about 100, 1,000 and 10,000 of them."""
    known, unknown = case.simulated(known=True), case.simulated(known=False)
    assert not unknown.censored.any()
    assert unknown.stopping_time.mean() <= case.most * known.stopping_time.mean()
    assert wrong(unknown) <= DELTA
    assert unknown.proved == (case.law is None)


def main() -> None:
    """Print one line per case."""
    for case in CASES:
        known, unknown = case.simulated(known=True), case.simulated(known=False)
        (first, width), (second, other) = (mean_and_ci95(runs.stopping_time[:, 0]) for runs in (known, unknown))
        said = f"{case.name:<26} {first / len(case.means):7,.0f} trials per arm: known {first:,.0f} ± {width:.0f}, "
        said += f"unknown {second:,.0f} ± {other:.0f}, ratio {second / first:.2f} (at most {case.most:g}), "
        print(f"{said}wrong {wrong(known):.2%} / {wrong(unknown):.2%}", flush=True)


if __name__ == "__main__":
    main()
