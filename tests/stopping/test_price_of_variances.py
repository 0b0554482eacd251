"""What it costs not to know the variances, and what it does to rewards that are not normal.

The first is trials over those of known variances, revenue-like rewards included; the second is wrong answers for skewed
rewards of two arms that hardly differ, where one gets many more trials than the other.

``python -m tests.stopping.test_price_of_variances`` prints the tables of docs/stopping.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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


NEARLY_TIED = [1.001, 1.0]
REVENUE, TIMES = fb.laws.Revenue(0.05, 1.0), fb.laws.Revenue(1.0, 1.0)  # 5 % buy; log-normal without zeros
ROUNDS, MANY = 8000, 2000
SHARES: dict[str, float | list[float]] = {
    "none": 0.0,
    "0.5, 0.5": 0.5,
    "0.2, 0.8": [0.2, 0.8],
    "0.1, 0.5": [0.1, 0.5],
    "0.1, 0.9": [0.1, 0.9],
    "0.05, 0.9": [0.05, 0.9],
    "0.9, 0.05": [0.9, 0.05],
}


def lopsided(floors: float | list[float], law: fb.laws.Revenue, known: bool, runs: int) -> float:
    """The share of runs that name the worse arm within ``ROUNDS`` trials."""
    variances = law.variances(NEARLY_TIED)
    family = fb.Gaussian(variances) if known else fb.Gaussian(None, guess=variances)
    instance = fb.Instance(NEARLY_TIED, family, floors)
    found = fb.simulate(instance, DELTA, runs=runs, seed=2, law=law, maximum_rounds=ROUNDS)
    assert not found.proved
    return float((~found.censored & ~found.correct).mean())


@pytest.mark.long
@pytest.mark.slow_without_jit
def test_unequal_shares_of_revenue_exceed_delta() -> None:
    """What docs/stopping.md says of rewards that the proof does not cover."""
    assert lopsided(SHARES["0.05, 0.9"], REVENUE, known=False, runs=200) > 1.5 * DELTA
    assert lopsided(SHARES["0.5, 0.5"], REVENUE, known=False, runs=200) < DELTA


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_main(capsys: pytest.CaptureFixture[str]) -> None:
    """The command of docs/stopping.md, with few runs."""
    main([replace(case, runs=2) for case in CASES], many=2)
    assert len(capsys.readouterr().out.splitlines()) == len(SHARES) + len(CASES)


def main(cases: list[Case] = CASES, many: int = MANY) -> None:
    """Print one line per case."""
    for floors in SHARES:
        laws = {"revenue": REVENUE, "log-normal": TIMES}
        cells = [lopsided(SHARES[floors], law, known, many) for law in laws.values() for known in (True, False)]
        print(f"floors {floors:<10} wrong: " + "  ".join(f"{cell:.2%}" for cell in cells), flush=True)
    for case in cases:
        known, unknown = case.simulated(known=True), case.simulated(known=False)
        (first, width), (second, other) = (mean_and_ci95(runs.stopping_time[:, 0]) for runs in (known, unknown))
        said = f"{case.name:<26} {first / len(case.means):7,.0f} trials per arm: known {first:,.0f} ± {width:.0f}, "
        said += f"unknown {second:,.0f} ± {other:.0f}, ratio {second / first:.2f} (at most {case.most:g}), "
        print(f"{said}wrong {wrong(known):.2%} / {wrong(unknown):.2%}", flush=True)


if __name__ == "__main__":
    main()
