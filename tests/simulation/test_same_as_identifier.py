"""A simulated run and an Identifier that is told the same rewards: the same arms, pull by pull, and the same answer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.sampling.rules import earns
from fairbai.sampling import SamplingRule
from tests.cases import SAMPLING_RULES
from tests.simulation.cases import FAMILIES, RATES, RULES, arms_of, compiled, follow

MOST = 120
DELTAS = [0.1, 0.3]
STOPPING = [
    fb.stopping.Heuristic(),
    fb.stopping.Mixture(kappa=20.0, prior_mean=3.0),
    fb.stopping.PairwiseGaussian(),
    fb.stopping.KaufmannKoolen(),
    fb.stopping.KaufmannKoolen(pairwise=False),
    fb.stopping.ChanceToWin(0.9, minimum=20),
]
DRAWING = [
    fb.sampling.FairTrackAndStop(start="policy"),
    fb.sampling.UniformFair(start="policy"),
    fb.sampling.PosteriorFair(),
    fb.sampling.FairThompson(),
    fb.sampling.StochasticQuota(),
]
BOUNDED_FAMILIES: dict[str, tuple[Any, list[float]]] = {
    "bernoulli": (fb.Bernoulli(), [0.3, 0.5, 0.8]),
    "two points": (fb.Bounded(-1.0, 4.0), [0.5, 1.5, 3.0]),
    "beta": (fb.Bounded(0.0, 10.0, variance=[2.0, 3.0, 4.0]), [3.0, 4.0, 7.0]),
}
DRIFTS = [
    None,
    fb.drifts.Ramp(0.1, 60),
    fb.drifts.Seasonal([0.1, -0.1, 0.05], 24),
    fb.drifts.Steps([30, 70], [0.1, [0.0, 0.1, -0.2]]),
]
families = pytest.mark.parametrize("family", FAMILIES)


def compare(instance: fb.Instance, rule: Any, seed: int, most: int = MOST, **settings: Any) -> None:
    """Run 0 of a seed, with settling and without, at two deltas."""
    every = {"sampling": rule, "seed": seed, "maximum_rounds": most, **settings}
    plain = fb.simulate(instance, DELTAS, runs=1, trace=range(1, most + 1), **every)
    settled = fb.simulate(instance, DELTAS, runs=1, settle=True, **every)
    np.testing.assert_array_equal(plain.decision_time, settled.decision_time)
    traced = arms_of(plain, 0)
    for column, delta in enumerate(DELTAS):
        path = follow(instance, most, seed, delta=delta, sampling=rule, **settings)
        asked = path.arms[: path.decided] if path.decided > 0 else path.arms
        assert traced[: len(asked)] == asked
        assert plain.decision_time[0, column] == plain.stopping_time[0, column] == len(asked)
        assert plain.pulls[0, column].tolist() == np.bincount(asked, minlength=instance.means.size).tolist()
        answer = path.ident.recommendation if path.decided > 0 else -1
        assert plain.recommendation[0, column] == settled.recommendation[0, column] == answer
        assert settled.stopping_time[0, column] == len(path.arms)
        status = path.ident.status()
        assert settled.pulls[0, column].tolist() == status.assigned.tolist()
        named = -1 if status.recommendation is None else status.recommendation
        assert plain.guess[0, column] == settled.guess[0, column] == named
        np.testing.assert_array_equal(plain.confidence, settled.confidence)
        if (
            plain.proved and status.proved
        ):  # the same bits, but for rewards that were moved to another interval and back
            moved = isinstance(instance.family, fb.Bounded)
            assert plain.confidence[0, column] == pytest.approx(status.confidence, rel=0.0, abs=1e-9 if moved else 0.0)
    assert len(traced) == plain.decision_time.max()


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("rule", [rule for rule in SAMPLING_RULES if earns(rule.code)], ids=lambda rule: rule.kind)
def test_every_rule_that_earns(rule: SamplingRule) -> None:
    for seed, (family, rate) in enumerate(itertools.product(FAMILIES, ("constant", "inverse gap"))):
        kind, means = FAMILIES[family]
        compare(fb.Instance(means, kind, RATES[rate]), rule, seed, most=60)


@pytest.mark.slow_without_jit
@families
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_family_and_rate(family: str, rule: str) -> None:
    kind, means = FAMILIES[family]
    for seed, rates in enumerate(RATES.values()):
        compare(fb.Instance(means, kind, rates), RULES[rule], seed)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_on_a_few_rounds(rule: str) -> None:
    """The same for the run without the JIT: every rule, family and rate in turn."""
    place = list(RULES).index(rule)
    kind, means = list(FAMILIES.values())[place % len(FAMILIES)]
    compare(fb.Instance(means, kind, list(RATES.values())[place % len(RATES)]), RULES[rule], seed=3, most=25)


@pytest.mark.long
def test_custom_rates_that_are_compiled() -> None:
    """By the loop that is compiled for all of them."""
    instance = fb.Instance([1.5, 0.5, 0.0], rates=fb.rates.Custom(compiled))
    for seed, rule in enumerate(RULES.values()):
        compare(instance, rule, seed)


def test_compiled_rates_are_the_rates_of_their_function() -> None:
    """The function as Python gives the same runs, by the other loop."""
    instance = fb.Instance([3.0, 0.5, 0.0], rates=fb.rates.Custom(compiled))
    plain = fb.Instance(instance.means, rates=fb.rates.Custom(lambda means: compiled(means)))
    one, other = (fb.simulate(each, 0.2, runs=3, histogram=True) for each in (instance, plain))
    np.testing.assert_array_equal(one.pulls, other.pulls)
    np.testing.assert_array_equal(one.violation, other.violation)
    np.testing.assert_array_equal(one.histogram, other.histogram)


@pytest.mark.slow_without_jit
@families
def test_every_stopping_rule(family: str) -> None:
    kind, means = FAMILIES[family]
    instance = fb.Instance(means, kind, fb.rates.Constant(0.1))
    for stopping in STOPPING:
        if stopping.proof is None or stopping.proved(kind):
            compare(instance, RULES["fair top-two"], seed=5, most=600, stopping=stopping)


@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: "none" if drift is None else drift.kind)
@pytest.mark.parametrize("family", BOUNDED_FAMILIES)
def test_the_design_based_stop(family: str, drift: Any) -> None:
    """With every rule that draws, every drift, and in whole cycles."""
    kind, means = BOUNDED_FAMILIES[family]
    for seed, rule in enumerate(DRAWING):
        instance = fb.Instance(means, kind, [0.15, 0.2, 0.25])
        compare(instance, rule, seed, most=150, stopping=fb.stopping.DesignBased(0.2), drift=drift)
    compare(instance, None, 7, most=150, stopping=fb.stopping.DesignBased(0.2), drift=drift, look_every=20)


@pytest.mark.parametrize("drift", DRIFTS[1:], ids=lambda drift: drift.kind)
def test_other_stops_with_drift_and_whole_cycles(drift: Any) -> None:
    instance = fb.Instance([0.3, 0.5, 0.8], "bernoulli", rates=0.1)
    for rule in ("fair top-two", "f-tas", "in Python"):
        compare(instance, RULES[rule], 3, most=100, drift=drift, look_every=15)


@pytest.mark.slow_without_jit
@families
@pytest.mark.parametrize("rule", ["f-tas", "fair top-two", "in Python"])
def test_every_run_is_a_stream_of_its_own(family: str, rule: str) -> None:
    """Run i is what an Identifier does on stream i of the seed."""
    kind, means = FAMILIES[family]
    instance = fb.Instance(means, kind, fb.rates.InverseGap(0.8))
    runs = fb.simulate(instance, 0.2, RULES[rule], runs=4, seed=8, maximum_rounds=MOST, trace=range(1, MOST + 1))
    for row in range(4):
        path = follow(instance, MOST, 8, run=row, delta=0.2, sampling=RULES[rule], settle=False)
        assert arms_of(runs, row) == path.arms


@pytest.mark.parametrize("rule", ["f-tas", "fair top-two", "in Python"])
def test_evidence_is_the_same(rule: str) -> None:
    """The GLR at every round, which is 0 until every arm has a reward."""
    instance = fb.Instance([1.5, 0.0, 0.5], rates=fb.rates.Constant([0.05, 0.5, 0.05]))
    runs = fb.simulate(instance, 0.05, RULES[rule], runs=1, seed=2, maximum_rounds=40, trace=range(1, 41))
    path = follow(instance, 40, 2, delta=0.05, sampling=RULES[rule], settle=False, watch=True)
    assert len(path.glr) > 10
    assert path.glr[0] == 0.0
    assert runs.glr[0, : len(path.glr)].tolist() == path.glr
    assert np.isnan(runs.glr[0, len(path.glr) :]).all()


@pytest.mark.parametrize("floors", [[0.5, 0.3, 0.2], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.05, 0.75], [0.6, 0.4, 0.0]])
@pytest.mark.parametrize("rule", ["tas", "fair top-two"])
def test_floors_that_sum_to_one(floors: list[float], rule: str) -> None:
    """The last ones are out of reach once the third arm was pulled: then the decision is the stop."""
    instance = fb.Instance([3.0, 1.0, 0.0], rates=fb.rates.Constant(floors))
    for seed in range(3):
        compare(instance, RULES[rule], seed, most=100)


@pytest.mark.parametrize("spare", [0.01, 0.001])
def test_floors_that_leave_little(spare: float) -> None:
    instance = fb.Instance([3.0, 1.0, 0.0], rates=fb.rates.Constant([0.5, 0.3, 0.2 - spare]))
    for seed in range(2):
        compare(instance, RULES["top-two"], seed, most=100)


SETTLINGS = [fb.Settling(), fb.Settling(0.5), fb.Settling(2.0), fb.Settling(0.5, learn=False)]


def compare_settled(instance: fb.Instance, settling: fb.Settling, seed: int, rule: Any = None) -> int:
    """The same trials of every arm, after a settling that may go on learning; returns the further trials."""
    every = {"sampling": rule, "stopping": fb.stopping.Heuristic(), "settle": settling, "seed": seed}
    runs = fb.simulate(instance, DELTAS, runs=1, maximum_rounds=MOST, **every)
    for column, delta in enumerate(DELTAS):
        path = follow(instance, MOST, delta=delta, **every)
        assert runs.stopping_time[0, column] == len(path.arms)
        assert runs.pulls[0, column].tolist() == path.ident.status().assigned.tolist()
    return int((runs.stopping_time - runs.decision_time).sum())


@pytest.mark.slow_without_jit
@families
@pytest.mark.parametrize("settling", SETTLINGS, ids=str)
def test_settling_with_margins_and_learning(family: str, settling: fb.Settling) -> None:
    kind, means = FAMILIES[family]
    more = 0
    for seed, rates in enumerate(RATES.values()):
        more += compare_settled(fb.Instance(means, kind, rates), settling, seed, fb.sampling.TopTwo())
    assert more > 0


@pytest.mark.parametrize("rates", ["constant", "inverse gap", "gap", "custom"])
def test_settling_with_a_margin_on_a_few_rounds(rates: str) -> None:
    """The same for the run without the JIT, with the rule that is ours and one in Python."""
    instance = fb.Instance([2.0, 0.5, 0.0], rates=RATES[rates])
    for seed, rule in enumerate((None, RULES["in Python"])):
        compare_settled(instance, fb.Settling(0.5), seed, rule)


@pytest.mark.parametrize("p0", [0.99, 1.0])
@pytest.mark.parametrize("rate", [fb.rates.InverseGap, fb.rates.Gap])
def test_learning_ends_though_floors_leave_nothing(rate: Any, p0: float) -> None:
    """Floors that move and leave no room may never be met; learning ends after as many trials as before."""
    for seed in range(4):
        compare_settled(fb.Instance([2.0, 0.5, 0.0], rates=rate(p0)), fb.Settling(1.0), seed)
