"""The evidence against every tie of two arms, against an independent minimisation over the whole domain."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.state import MEAN, OBSERVED, SCALE
from fairbai.kernels.stopping.scores import MIXTURE
from fairbai.kernels.stopping.tilts import EXACT, tie_evidence
from tests.cases import proved_families
from tests.states import empty_state
from tests.stopping.configs import config
from tests.stopping.ties import Arm, Ties

FAMILIES = [family for family in proved_families(1.0) if family.kind != "gaussian"] + [fb.Gaussian(1.0)]
families = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.kind)


def found(ties: Ties, level: float = -math.inf) -> float:
    """What the kernel says."""
    state = empty_state(2)
    state[:, 0][[OBSERVED, MEAN, SCALE]] = ties.best.count, ties.best.mean, ties.best.variance
    state[:, 1][[OBSERVED, MEAN, SCALE]] = ties.other.count, ties.other.mean, ties.other.variance
    codes = {family.kind: family.code for family in FAMILIES}
    bonus = ties.alpha * (ties.arms - 1)
    given = config(codes[ties.kind], MIXTURE, ties.kappa, ties.prior_mean, ties.alpha, bonus)
    return float(tie_evidence(given, state, 0, 1, (1.0, 0.0), level))


def drawn(kind: str, rng: np.random.Generator, alpha: float) -> Ties:
    """Two arms with counts from 1 to about 300,000, the better one first."""
    counts = np.ceil(np.exp(rng.uniform(0.0, 12.6, 2)))
    means = rng.normal(0.0, 1.0, 2) * rng.choice([0.1, 1.0])
    if kind != "gaussian":
        means = rng.uniform(0.0, 1.0, 2)
        if kind in ("bernoulli", "poisson"):
            means = np.round(means * counts) / counts  # 0 and 1 too
    order = np.argsort(-means)
    best, other = (Arm(counts[arm], means[arm]) for arm in order)
    return Ties(kind, best, other, rng.choice([0.5, 5.0, 50.0]), 0.7, alpha, 2 if alpha == 0.0 else 30)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@families
def test_evidence_is_the_minimum_over_the_whole_domain(family: fb.Gaussian, alpha: float) -> None:
    rng, outside = np.random.default_rng(1), 0
    for _ in range(40):
        ties = drawn(family.kind, rng, alpha)
        if ties.best.mean == ties.other.mean:
            continue
        least = ties.least()
        rounding = 1e-10 * (ties.best.count + ties.other.count)
        assert found(ties) <= least + rounding
        assert found(ties) >= least - EXACT - rounding
        outside += ties.best.count > 20.0 * ties.other.count
    assert outside > 3


LOPSIDED = {  # counts of the arm that looks best and of the other, and their means
    "gaussian": (2000.0, 40.0, 1.0, 0.0),
    "bernoulli": (4000.0, 20.0, 0.9, 0.2),
    "bounded": (4000.0, 20.0, 0.9, 0.2),
    "poisson": (4000.0, 30.0, 3.0, 1.0),
    "exponential": (4000.0, 25.0, 3.0, 1.0),
}


@families
def test_the_minimum_may_lie_beyond_the_estimates(family: fb.Gaussian) -> None:
    """At fifty times the trials it does, and used to count as no evidence at all."""
    top, count, best, other = LOPSIDED[family.kind]
    ties = Ties(family.kind, Arm(top, best), Arm(count, other), 5.0, 1.0)
    grid = np.linspace(other, best, 2001)
    inside = ties.value(1.0 / grid if family.kind == "exponential" else grid).min()
    assert found(ties) == pytest.approx(ties.least(), abs=2e-6)
    assert ties.least() < inside - 1e-5
    assert found(ties) > 3.0


@pytest.mark.parametrize(
    ("kind", "best", "other"),
    [
        ("bernoulli", Arm(2.0, 1.0), Arm(20_000.0, 0.0)),  # the end 0
        ("bernoulli", Arm(20_000.0, 1.0), Arm(2.0, 0.0)),  # the end 1
        ("bernoulli", Arm(30.0, 1.0), Arm(30.0, 0.0)),
        ("poisson", Arm(2.0, 0.5), Arm(20_000.0, 0.0)),
        ("exponential", Arm(30_000.0, 3.0), Arm(1.0, 1.0)),  # an infinite mean
    ],
)
def test_the_minimum_may_lie_at_an_end_of_the_domain(kind: str, best: Arm, other: Arm) -> None:
    ties = Ties(kind, best, other, 5.0, 1.0)
    assert found(ties) == pytest.approx(ties.least(), abs=2e-6)


def test_without_a_minimum_there_is_no_evidence() -> None:
    """With so many more trials that the least tilt of one arm outweighs the largest of the other."""
    ties = Ties("gaussian", Arm(1e6, 1.0), Arm(10.0, 0.0), 5.0, 1.0)
    assert ties.least() == found(ties) == -math.inf
    ties.alpha, ties.arms = 0.1, 10  # which does not let the martingale of the named arm fall below a constant
    assert found(ties) == pytest.approx(ties.least(), abs=2e-6)


@families
def test_below_the_level_any_number_below_it_will_do(family: fb.Gaussian) -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        ties = drawn(family.kind, rng, 0.1)
        exact = found(ties)
        if exact > -math.inf:
            assert found(ties, exact - 1.0) == exact
            assert found(ties, exact + 1e-3) < exact + 1e-3


@pytest.mark.slow_without_jit
def test_a_floor_that_gives_almost_all_trials_to_one_arm_costs_no_evidence() -> None:
    """About 620 trials; 932 when ties beyond the estimates were no evidence, and 667 for the two-sided mixture."""
    instance = fb.Instance([1.0, 0.0], rates=fb.rates.Constant([0.0, 0.975]))
    mixture, two_sided = (
        fb.simulate(instance, 0.1, stopping=rule, runs=400, seed=1).decision_time.mean()
        for rule in (fb.stopping.Mixture(), fb.stopping.TwoSidedMixture())
    )
    assert mixture < 700.0
    assert mixture <= two_sided
