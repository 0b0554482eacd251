"""How often every proved rule names the wrong arm where this is most likely: ties, near-ties, unbalanced floors.

``python -m tests.stopping.test_error_rates`` prints the table, of 20,000 runs each.
"""

from __future__ import annotations

import pytest
from scipy.stats import beta

import fairbai as fb
from fairbai.stopping import KaufmannKoolen, Mixture, PairwiseGaussian, StoppingRule, TwoSidedMixture

DELTA, ROUNDS = 0.05, 300
FAMILIES = {"gaussian": (fb.Gaussian(), 0.0), "bernoulli": (fb.Bernoulli(), 0.3)}
FAMILIES |= {"poisson": (fb.Poisson(), 1.0), "exponential": (fb.Exponential(), 1.0)}
RULES = [Mixture(), TwoSidedMixture(), PairwiseGaussian(), KaufmannKoolen(), KaufmannKoolen(pairwise=False)]
SITUATIONS = {  # how far the means are below that of the first arm, and the floors
    "two equal arms": ([0.0, 0.0], 0.0),
    "ten equal arms": ([0.0] * 10, 0.0),
    "two arms that hardly differ, two behind": ([0.0, 1e-9, 0.2, 0.2], 0.0),
    "floors (0, 0.9)": ([0.0, 1e-9], [0.0, 0.9]),
    "floors (0.9, 0)": ([0.0, 1e-9], [0.9, 0.0]),
}
CASES = [
    (kind, rule, situation)
    for rule in RULES
    for kind, (family, _) in FAMILIES.items()
    for situation in SITUATIONS
    if rule.proved(family)
]


def wrong_answers(kind: str, rule: StoppingRule, situation: str, runs: int) -> int:
    """Of all runs those that name another arm than the first; by the proof these are few even where all are equal."""
    family, mean = FAMILIES[kind]
    behind, floors = SITUATIONS[situation]
    instance = fb.Instance([mean - gap for gap in behind], family, fb.rates.Constant(floors))
    found = fb.simulate(instance, [DELTA], stopping=rule, runs=runs, seed=6, maximum_rounds=ROUNDS)
    return int((found.recommendation > 0).sum())


def interval(wrong: int, runs: int) -> tuple[float, float]:
    """Clopper and Pearson's, at 95 %."""
    low = float(beta.ppf(0.025, wrong, runs - wrong + 1)) if wrong else 0.0
    return low, float(beta.ppf(0.975, wrong + 1, runs - wrong))


@pytest.mark.long
@pytest.mark.parametrize(("kind", "rule", "situation"), CASES)
def test_errors_are_at_most_delta(kind: str, rule: StoppingRule, situation: str) -> None:
    assert interval(wrong_answers(kind, rule, situation, 5000), 5000)[0] <= DELTA


if __name__ == "__main__":
    runs = 20_000
    for kind, rule, situation in CASES:
        wrong = wrong_answers(kind, rule, situation, runs)
        low, high = interval(wrong, runs)
        print(f"{kind:<12} {rule!s:<48} {situation:<42} {wrong / runs:.4f} ({low:.4f} to {high:.4f})", flush=True)
