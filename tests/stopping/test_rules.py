"""Stopping rules: their levels, what they are proved for, and the families that they refuse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems import Family
from fairbai.stopping import (
    ChanceToWin,
    Heuristic,
    KaufmannKoolen,
    Mixture,
    PairwiseGaussian,
    StoppingRule,
    TwoSidedMixture,
)
from fairbai.stopping.constants import c_exp, c_g
from tests.cases import STOPPING_RULES, proved_families

families = pytest.mark.parametrize("family", proved_families(1.0, [1.0, 2.0]), ids=lambda family: family.kind)
rules = pytest.mark.parametrize("rule", STOPPING_RULES, ids=lambda rule: f"{rule.kind}{rule.code}")


@pytest.mark.parametrize("delta", [0.4999, 0.1, 0.05, 1e-10, 1e-300])
@pytest.mark.parametrize("arms", [2, 3, 10, 1000])
def test_levels(delta: float, arms: int) -> None:
    union = math.log((arms - 1) / delta) if delta > 1e-299 else math.log(arms - 1) + 300 * math.log(10)
    alone = math.log(1 / delta) if delta > 1e-299 else 300 * math.log(10)
    assert Heuristic().level(delta, arms) == pytest.approx(alone, rel=1e-12)
    assert Mixture(3.0).level(delta, arms) == TwoSidedMixture(7.0).level(delta, arms) == pytest.approx(union, rel=1e-12)
    assert PairwiseGaussian().level(delta, arms) == pytest.approx(2.0 * c_g(union / 2), rel=1e-12)
    assert KaufmannKoolen().level(delta, arms) == pytest.approx(2.0 * c_exp(union / 2), rel=1e-12)
    assert KaufmannKoolen(pairwise=False).level(delta, arms) == pytest.approx(arms * c_exp(alone / arms), rel=1e-12)


@rules
def test_levels_grow_as_delta_falls(rule: StoppingRule) -> None:
    levels = [rule.level(delta, 5) for delta in (0.4, 0.1, 0.01, 1e-6, 1e-30, 1e-300)]
    assert levels == sorted(levels)
    assert math.isfinite(levels[-1])


PROVED = [rule for rule in STOPPING_RULES if rule.proof is not None]


@pytest.mark.parametrize("arms", [2, 3, 10, 1000])
@pytest.mark.parametrize("rule", PROVED, ids=lambda rule: f"{rule.kind}{rule.code}")
def test_risk_is_the_least_delta_that_stops(rule: StoppingRule, arms: int) -> None:
    for delta in (0.99, 0.4, 0.1, 0.01, 1e-6, 1e-30, 1e-300):
        score = rule.level(delta, arms)
        assert rule.risk(score, arms) == pytest.approx(delta, rel=1e-7)
        assert math.exp(StoppingRule._log_risk(rule, score, arms)) == pytest.approx(delta, rel=1e-7)  # by bisection
        assert rule.level(1.0000001 * rule.risk(score + 0.3, arms), arms) <= score + 0.3
    risks = [rule.risk(score, arms) for score in np.linspace(-5.0, 900.0, 200)]
    assert risks == sorted(risks, reverse=True)


@pytest.mark.parametrize("rule", PROVED, ids=lambda rule: f"{rule.kind}{rule.code}")
def test_risk_of_scores_that_say_nothing_or_all(rule: StoppingRule) -> None:
    for score in (-math.inf, math.nan, -1e300, -1.0, rule.level(1.0, 3) - 1e-9):
        assert rule.risk(score, 3) == 1.0
    assert rule.risk(math.inf, 3) == rule.risk(1e300, 3) == 0.0


@pytest.mark.parametrize("rule", [Heuristic(), ChanceToWin()], ids=lambda rule: rule.kind)
def test_a_rule_that_is_not_proved_has_no_risk(rule: StoppingRule) -> None:
    with pytest.raises(ValueError, match=f"stopping must be a proved rule to have a risk, got {rule.kind}"):
        rule.risk(3.0, 2)


def test_risks_by_hand() -> None:
    assert Mixture().risk(5.0, 4) == TwoSidedMixture().risk(5.0, 4) == pytest.approx(3.0 * math.exp(-5.0))
    assert fb.stopping.DesignBased().risk(5.0, 4) == pytest.approx(12.0 * math.exp(-5.0))


def test_popular_delta() -> None:
    """Ten arms, delta = 0.1."""
    assert KaufmannKoolen(pairwise=False).level(0.1, 10) == pytest.approx(10 * 7.25, abs=0.05)


@families
def test_what_is_proved(family: fb.Gaussian) -> None:
    assert not Heuristic().proved(family)
    assert PairwiseGaussian().proved(family) == (family.kind == "gaussian")
    assert Mixture().proved(family)
    assert TwoSidedMixture().proved(family)
    exponential = family.kind != "bounded"  # a one-parameter exponential family
    assert KaufmannKoolen().proved(family) == exponential
    assert KaufmannKoolen(pairwise=False).proved(family) == exponential


@families
def test_default_of_an_identifier_is_proved(family: fb.Gaussian) -> None:
    ident = fb.Identifier(2, delta=0.1, family=family)
    assert ident.stopping == Mixture()
    assert ident.status().proved


@families
def test_heuristic_is_accepted_everywhere_and_is_not_proved(family: fb.Gaussian) -> None:
    Heuristic().check(family)
    assert not fb.Identifier(2, delta=0.1, family=family, stopping=Heuristic()).status().proved


@pytest.mark.parametrize("family", proved_families()[1:], ids=lambda family: family.kind)
def test_unproved_family_is_refused(family: fb.Bernoulli) -> None:
    message = (
        f"stopping rule pairwise_gaussian is proved for gaussian arms, got {family.kind}: "
        r"use Mixture\(\), or Heuristic\(\) if no proof is needed"
    )
    with pytest.raises(ValueError, match=message):
        PairwiseGaussian().check(family)
    with pytest.raises(ValueError, match=message):
        fb.Identifier(2, delta=0.1, family=family, stopping=PairwiseGaussian())


@dataclass(frozen=True, eq=False)
class Logistic(Family):
    """A family of somebody else, with a kernel code of its own."""

    code = 1000

    def sample(self, means: Any, rng: np.random.Generator, size: Any = None) -> Any:
        return rng.logistic(means, size=size)


@dataclass(frozen=True, eq=False)
class Overdispersed(fb.Poisson):
    """Derived from a family that is covered, but with another kernel."""

    code = 1001


@dataclass(frozen=True, eq=False)
class InCents(fb.Gaussian):
    """Derived from a family that is covered: only what is added up is computed first."""

    def statistic(self, reward: Any) -> float:
        return 100.0 * super().statistic(reward)


@pytest.mark.parametrize("family", [Logistic(), Overdispersed()], ids=lambda family: family.kind)
@pytest.mark.parametrize("rule", [rule for rule in STOPPING_RULES if rule.proof is not None], ids=repr)
def test_a_family_without_a_proof_is_refused(family: Family, rule: StoppingRule) -> None:
    assert not rule.proved(family)
    covered = ", ".join(kind.kind for kind in rule.proof.families)  # type: ignore[union-attr]
    message = (
        f"stopping rule {rule.kind} is proved for {covered} arms, got {family.kind}: "
        r"use Heuristic\(\) if no proof is needed"
    )
    with pytest.raises(ValueError, match=message):
        fb.Identifier(2, delta=0.1, family=family, stopping=rule)
    Heuristic().check(family)
    assert not fb.Identifier(2, delta=0.1, family=family, stopping=Heuristic()).status().proved


def test_a_transformed_family_is_covered_by_the_proof_of_its_base() -> None:
    assert Mixture().proved(InCents())
    assert PairwiseGaussian().proved(InCents())


@rules
def test_a_rule_states_the_conditions_of_its_proof_or_has_none(rule: StoppingRule) -> None:
    if rule.proof is None:
        assert rule in (Heuristic(), ChanceToWin())
        assert not rule.drift_proof
    else:
        assert rule.proof.families
        assert rule.proof.sampling
        assert rule.proof.delays
        assert rule.proof.drift
        assert rule.drift_proof == rule.proof.drift.startswith("any")


@rules
def test_json_form(rule: StoppingRule) -> None:
    assert StoppingRule.from_dict(rule.to_dict()) == rule


@pytest.mark.parametrize("rule", [Mixture, TwoSidedMixture])
@pytest.mark.parametrize("name", ["kappa", "prior_mean"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, "many", None])
def test_parameters_of_the_mixture_must_be_positive(rule: type[Mixture], name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be positive, got"):
        rule(**{name: value})


def test_mixture_gives_its_parameters_to_the_kernel() -> None:
    assert Mixture(kappa=3.0, prior_mean=7.0, alpha=0.1).parameters(11) == (3.0, 7.0, 0.1, 1.0)
    assert TwoSidedMixture(kappa=3.0, prior_mean=7.0).parameters(11) == (3.0, 7.0, 0.0, 0.0)
    assert Heuristic().parameters(11) == (1.0, 1.0, 0.0, 0.0)


def test_json_form_of_the_mixture_may_leave_alpha_to_the_number_of_arms() -> None:
    form = {"kind": "mixture", "kappa": 5.0, "prior_mean": 1.0}
    assert Mixture().to_dict() == {**form, "alpha": None}
    assert StoppingRule.from_dict(form) == Mixture()
    assert Mixture().for_arms(12) == Mixture(alpha=0.1)
    assert Heuristic().for_arms(12) == Heuristic()


@pytest.mark.parametrize(("arms", "alpha"), [(2, 0.0), (3, 0.05), (12, 0.1), (102, 0.15), (1002, 0.2), (10**6, 0.2)])
def test_alpha_depends_on_the_number_of_arms(arms: int, alpha: float) -> None:
    assert Mixture().parameters(arms)[2:] == pytest.approx((alpha, alpha * (arms - 1)))
    assert Mixture(alpha=0.3).parameters(arms)[2:] == pytest.approx((0.3, 0.3 * (arms - 1)))


@pytest.mark.parametrize("value", [-0.1, 1.0, math.nan, "much"])
def test_alpha_is_a_share(value: float) -> None:
    with pytest.raises(ValueError, match=r"alpha must be in \[0, 1\), got"):
        Mixture(alpha=value)


def test_kappa_for_a_number_of_trials() -> None:
    """An arm has its share of the trials, and a threshold of about log((K-1)/delta) + 2."""
    rule = Mixture.for_trials(1000, delta=0.1, arms=10, prior_mean=3.0)
    assert rule == Mixture(100.0 / (math.log(90.0) + 2.0), 3.0)
    assert Mixture.for_trials(2000, 0.1, 10).kappa == pytest.approx(2.0 * rule.kappa)
    assert Mixture.for_trials(1000, 1e-6, 10).kappa < rule.kappa
    assert Mixture.for_trials(1000, 0.1, 10, variance=0.01).kappa == pytest.approx(0.04 * rule.kappa)


@pytest.mark.long
@pytest.mark.slow_without_jit
def test_a_guess_of_the_variance_helps_where_successes_are_rare() -> None:
    """Rates of 1 to 2 %: the trials with the right variance and with that of a coin, 200 runs of each."""
    instance = fb.Instance([0.02, 0.012, 0.01], "bernoulli", rates=0.1)
    guess = 10.0 * fb.lower_bound(instance, 0.05)
    mean = [
        fb.simulate(
            instance, 0.05, stopping=Mixture.for_trials(guess, 0.05, 3, variance=variance), runs=200
        ).stopping_time.mean()
        for variance in (0.014, 0.25)
    ]
    assert mean[0] < 0.9 * mean[1]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"trials": math.nan}, "trials must be at least 1, got nan"),
        ({"delta": 0.7}, r"delta must be in \(0, 1/2\), got 0.7"),
        ({"arms": 1}, "arms must be at least 2, got 1"),
        ({"prior_mean": -1.0}, "prior_mean must be positive, got -1.0"),
        ({"variance": 0.5}, r"variance must be in \(0, 1/4\], got 0.5"),
    ],
)
def test_a_guess_that_makes_no_sense_is_refused(changed: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Mixture.for_trials(**{"trials": 100, "delta": 0.1, "arms": 3} | changed)  # type: ignore[arg-type]
