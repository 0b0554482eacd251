"""How often guesses at a deadline are right, by the confidence that they state: 20,000 runs of every case.

``python -m tests.simulation.test_deadlines`` prints the table of docs/simulation.md.
"""

from __future__ import annotations

from typing import Any

import pytest

import fairbai as fb
from fairbai.simulation import Calibration

RUNS, SEED, DELTA = 20_000, 19, 1e-12
BINS = [0.0, 0.5, 0.8, 0.9, 0.95, 1.0]
CASES: dict[str, tuple[fb.Instance, int, dict[str, Any]]] = {  # the instance, the deadline in trials, other settings
    "Gaussian, means 0.3 and 0": (fb.Instance([0.3, 0.0]), 200, {}),
    "Gaussian, means 0.3, 0, 0, -0.2, -0.2, floors 0.1": (fb.Instance([0.3, 0.0, 0.0, -0.2, -0.2], rates=0.1), 300, {}),
    "Bernoulli, 0.12, 0.10, 0.09, floors 0.2": (fb.Instance([0.12, 0.10, 0.09], "bernoulli", rates=0.2), 2000, {}),
    "Gaussian, means 0.1 and 0": (fb.Instance([0.1, 0.0]), 200, {}),
    "Gaussian, means 0.01 and 0": (fb.Instance([0.01, 0.0]), 1000, {}),
    "Bernoulli, 0.301, 0.3, 0.3": (fb.Instance([0.301, 0.3, 0.3], "bernoulli"), 1000, {}),
    "Bernoulli, 0.5, 0.4, floors 0.2, DesignBased": (
        fb.Instance([0.5, 0.4], "bernoulli", rates=0.2),
        300,
        {"stopping": fb.stopping.DesignBased()},
    ),
    "Poisson, 1.5, 1.2, 1.0, TwoSidedMixture": (
        fb.Instance([1.5, 1.2, 1.0], "poisson"),
        200,
        {"stopping": fb.stopping.TwoSidedMixture()},
    ),
}
NEARLY = [0.12, 0.109, 0.1]
QUESTIONS: dict[str, tuple[fb.Instance, int, dict[str, Any]]] = {  # other questions than the best arm, and variances
    "Bernoulli, 0.12, 0.109, 0.1, within 10 %": (fb.Instance(NEARLY, "bernoulli", 0.1, tolerance="10%"), 3000, {}),
    "Bernoulli, 0.12, 0.109, 0.1, control 0.109, within 0.01": (
        fb.Instance(NEARLY, "bernoulli", 0.1, tolerance=0.01, control=1),
        3000,
        {},
    ),
    "Gaussian, means 0.1 and 0, the least": (fb.Instance([0.1, 0.0], goal="min"), 200, {}),
    "Gaussian, means 0.1 and 0, variances unknown": (fb.Instance([0.1, 0.0], fb.Gaussian(None, guess=1.0)), 200, {}),
    "Gaussian, means 0.55, 0, 0.51, the least of unknown variances, within 0.5": (
        fb.Instance([0.55, 0.0, 0.51], fb.Gaussian(None, guess=[1.0, 4.0, 1.0]), goal="min", tolerance=0.5),
        200,
        {},
    ),
}
FEW = 3_000  # runs of each in the test; the table has RUNS


def at_deadline(name: str, runs: int = RUNS) -> fb.simulation.Runs:
    """Runs that hardly ever decide, and end with a guess."""
    instance, trials, settings = (CASES | QUESTIONS)[name]
    return fb.simulate(instance, DELTA, runs=runs, seed=SEED, maximum_rounds=trials, **settings)


@pytest.mark.long
@pytest.mark.slow_without_jit
@pytest.mark.parametrize("name", CASES | QUESTIONS)
def test_no_confidence_is_too_large(name: str) -> None:
    runs = FEW if name in QUESTIONS else RUNS
    table: Calibration = at_deadline(name, runs).calibration(bins=BINS)
    assert sum(row.runs for row in table.rows) == runs
    assert not table.overconfident
    assert all(row.wrong <= 1.0 - row.low for row in table.rows)


@pytest.mark.system
@pytest.mark.slow_without_jit
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of so few runs none may be sure
def test_main(capsys: pytest.CaptureFixture[str]) -> None:
    """The command of docs/simulation.md, with few runs."""
    main(runs=100)
    assert capsys.readouterr().out.count(" trials: right ") == len(CASES | QUESTIONS)


def main(runs: int = RUNS) -> None:
    """Print one line per case, and below it one per bin."""
    for name, (_, trials, _) in (CASES | QUESTIONS).items():
        found = at_deadline(name, runs)
        stated, right = found.confidence[:, 0], found.guess_correct[:, 0]
        sure = stated >= 0.8
        print(
            f"{name}, {trials:,} trials: right {right.mean():.1%}, stated >= 80 % {sure.mean():.1%}, of these right "
            f"{right[sure].mean():.1%}; >= 80 % sure and wrong, of all {(sure & ~right).mean():.2%}, "
            f">= 95 % {((stated >= 0.95) & ~right).mean():.2%}"
        )
        print(found.calibration(bins=BINS), flush=True)


if __name__ == "__main__":
    main()
