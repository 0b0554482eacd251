"""What docs/delays.md says about the proof: a recipe that breaks it, one that does not, and the counterexample."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairbai as fb

AGE = 2_000
MEANS = {"better": 0.16, "worse": 0.12}


def answer(seed: int, fixed: bool) -> str:
    """What an experiment names whose better arm converts half a deadline later than the worse one, or later still.

    Args:
        seed: Of the visitors.
        fixed: Whether every outcome is counted at one age; else conversions are told when they happen, and the others
            when the deadline is over.
    """
    rng = np.random.default_rng(seed)
    late = {"report_after": AGE, "silence": 0.0} if fixed else {}
    ident = fb.Identifier(list(MEANS), delta=0.05, family=fb.Bernoulli(), settle=False, seed=seed, **late)
    calendar: dict[int, list[tuple[fb.Trial, float]]] = {}
    now = 0
    while not ident.decided:
        trial = ident.ask_trial()
        converts = rng.random() < MEANS[str(trial.arm)]
        wait = int(rng.integers(AGE // 2, AGE)) if trial.arm == "better" else 0
        if converts:
            calendar.setdefault(now + wait, []).append((trial, 1.0))
        elif not fixed:
            calendar.setdefault(now + AGE, []).append((trial, 0.0))
        for known, reward in calendar.pop(now, []):
            ident.tell(known, reward)
        now += 1
    return str(ident.recommendation)


@pytest.mark.slow_without_jit
def test_failures_that_are_told_at_a_deadline_break_the_proof_and_a_fixed_age_does_not() -> None:
    """At delta = 0.05, 3 or more wrong answers of 20 would happen with probability 0.08 at most."""
    wrong = {fixed: sum(answer(seed, fixed) == "worse" for seed in range(20)) for fixed in (False, True)}
    assert wrong[False] >= 15
    assert wrong[True] <= 2


def test_delay_that_is_independent_of_its_own_reward_is_not_enough() -> None:
    """Finding: X1 is told at 10; X2 at 5 if X1 > 0, else at 15. The mean of exp(-X - 1/2) at the stop is 1.34.

    By Gauss-Legendre quadrature over X1, on either side of 0, and over X2: exact to all digits shown.
    """
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def mean(low: float, high: float, tilted: bool) -> float:
        """The mean over a standard normal X in an interval of exp(-X - 1/2), or the probability of the interval."""
        x = 0.5 * (high - low) * nodes + 0.5 * (high + low)
        density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        values = np.exp(-x - 0.5) if tilted else np.ones_like(x)
        return float(0.5 * (high - low) * (weights * density * values).sum())

    martingale = mean(-12.0, 12.0, tilted=True)
    assert martingale == pytest.approx(1.0, abs=1e-12)
    stopped_at_seven = mean(0.0, 12.0, tilted=False) * martingale  # X1 > 0: X2 alone has been told
    stopped_at_ten = mean(-12.0, 0.0, tilted=True)  # X1 <= 0: X1 alone has been told
    assert stopped_at_seven + stopped_at_ten == pytest.approx(0.5 + 0.5 * math.erfc(-1.0 / math.sqrt(2.0)), abs=1e-12)
    assert stopped_at_seven + stopped_at_ten == pytest.approx(1.3413, abs=1e-4)


def test_fixed_age_keeps_the_mean_of_the_martingale() -> None:
    """All 2**n outcomes of fair coins that are told early or late by their value: at a fixed age the mean is 1.

    The likelihood ratio against a coin of mean 3/4 is stopped as soon as it is 2 or more. If ones are told at once and
    zeros after two further trials, its mean at the stop is above 1.
    """

    def mean(fixed: bool, n: int = 8) -> float:
        total = 0.0
        for outcome in range(2**n):
            coins = [outcome >> i & 1 for i in range(n)]
            order = sorted(range(n), key=lambda i: i + 2 if fixed or not coins[i] else i)
            ratio = 1.0
            for i in order:
                ratio *= 1.5 if coins[i] else 0.5
                if ratio >= 2.0:
                    break
            total += ratio / 2**n
        return total

    assert mean(fixed=True) == pytest.approx(1.0, abs=1e-12)
    assert mean(fixed=False) > 1.05
