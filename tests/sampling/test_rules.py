"""What all sampling rules have in common."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.sampling import rules as kernels
from fairbai.sampling import LUCB, Bounds, FairTopTwo, SamplingRule
from tests.cases import SAMPLING_RULES
from tests.sampling.hand_made import identifier

RULES = [*SAMPLING_RULES, FairTopTwo(margin=3.0), LUCB(delta=0.01)]
rules = pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule.to_dict()))


@rules
def test_json_form(rule: SamplingRule) -> None:
    form = json.loads(json.dumps(rule.to_dict()))
    assert SamplingRule.from_dict(form) == rule
    assert form["kind"] == rule.kind


@rules
def test_frozen(rule: SamplingRule) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.fairness = "none"  # type: ignore[misc]


@rules
def test_one_rule_serves_many_experiments(rule: SamplingRule) -> None:
    """A rule has no state: an experiment beside another one changes nothing."""
    alone = identifier(3, rule, rates=fb.rates.Constant(0.2)).ask(20)
    one, other = (identifier(3, rule, rates=fb.rates.Constant(0.2)) for _ in range(2))
    assert [arm for _ in range(10) for arm in (one.ask(2), other.ask(3))[0]] == alone


@rules
def test_seeds(rule: SamplingRule) -> None:
    """The same seed gives the same arms, another seed other arms, if the rule is random."""
    first, again, other = (identifier(3, rule, rates=fb.rates.Constant(0.2), seed=seed) for seed in (1, 1, 2))
    arms = [ident.ask(20) for ident in (first, again, other)]
    for ident, before in zip((first, again, other), arms, strict=True):
        ident.tell([0, 1, 2], [1.0, 0.9, 0.8])
        before += ident.ask(40)
    assert arms[0] == arms[1]
    assert (arms[0] != arms[2]) == rule.random


@rules
def test_the_class_and_its_kernel_say_the_same(rule: SamplingRule) -> None:
    assert rule.solves == kernels.solves(rule.code)
    assert rule.tracks == kernels.tracks(rule.code)
    assert rule.draws == kernels.draws(rule.code)
    assert rule.random or not rule.draws
    if rule.converges_to != "none" and rule.solves:
        assert kernels.is_fair(rule.code) == (rule.converges_to == "fair")


@rules
@pytest.mark.parametrize(
    "rates", [fb.rates.Constant(0.2), fb.rates.Bounded(0.1, 0.6, [{"arms": [0, 2], "floor": 0.5}])]
)
def test_a_rule_that_is_fair_on_every_path_says_by_how_much(rule: SamplingRule, rates: fb.rates.Constant) -> None:
    """But for one pull of each arm at the start, which may be more than a ceiling allows, and rules that take none."""
    bounds = rule.bounds(rates, 4)
    limited = isinstance(rates, fb.rates.Bounded)
    keeps_limits = rule.takes_limits and rule.origin == kernels.FROM_POLICY
    promised = rule.fairness == "every path" and (not limited or keeps_limits)
    assert (bounds is not None) == promised
    if bounds is not None:
        assert len(bounds.behind) == 4
        assert len(bounds.above) == (4 if rule.takes_limits else 0)
        assert len(bounds.groups) == (1 if limited else 0)
        assert 0.0 < min(bounds.behind) <= max(bounds.behind) < 4.0 + 3.0 * getattr(rule, "eta", 0.0)


def test_a_rule_of_a_user_promises_one_round_of_trials_unless_it_says_more() -> None:
    class Fair(SamplingRule):
        """Says that it is fair, and no more."""

        fairness = "every path"
        converges_to = "none"

    assert Fair().bounds(fb.rates.Constant(0.1), 3) == Bounds([3.0] * 3, [], [])
    assert Fair().bounds(fb.rates.Bounded(0.1, 0.6), 3) is None


def test_base_class_asks_for_choose() -> None:
    class Forgetful(SamplingRule):
        """Has no ``choose``."""

    with pytest.raises(TypeError, match="Forgetful must override choose"):
        fb.Identifier(2, delta=0.1, family=fb.Gaussian(), sampling=Forgetful()).ask()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.random], ids=lambda rule: str(rule.to_dict()))
def test_rules_that_draw_do_not_run_in_step(rule: SamplingRule) -> None:
    """Two seeds, no rewards: 2 arms agree in half of the trials, or a little more where one of them is preferred."""
    one, other = (fb.Identifier(2, 0.1, "bernoulli", 0.2, sampling=rule, seed=seed).ask(400) for seed in (1, 2))
    assert 0.3 < np.mean(np.equal(one, other)) < 0.8


def test_a_rule_that_does_not_draw_says_what_its_proof_needs() -> None:
    """Two experiments on the same visitors choose in step if neither draws."""
    alone = "no other experiment runs on the same visitors"
    for rule, expected in ((FairTopTwo(), False), (LUCB(), True), (fb.sampling.StrictQuota(), True)):
        ident = fb.Identifier(2, 0.1, "bernoulli", floors=0.2, sampling=rule)
        assert (alone in ident.status().proved_if) == expected
        while not ident.decided:
            arm = ident.ask()
            ident.tell(arm, float(arm))
        assert (alone in ident.status().sentence()) == expected
