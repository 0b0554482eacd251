"""Simulated runs within ceilings and groups."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems.rates import Bounded, Group
from tests.simulation.cases import FAMILIES, RATES, RULES
from tests.simulation.test_same_as_identifier import compare

LIMITED = RATES["bounded"]
OTHERS = {
    "a ceiling for all": Bounded(0.0, 0.4),
    "groups of sum 1": Bounded(0.0, 1.0, [Group([0], 0.25), Group([1, 2], 0.75)]),
    "ceilings of sum 1": Bounded(0.0, [0.5, 0.25, 0.25]),
    "a floor that is a ceiling": Bounded([0.5, 0.0, 0.0], [0.5, 1.0, 1.0]),
    "a ceiling of a group": Bounded([0.0, 0.1, 0.0], 1.0, [Group([0, 1], ceiling=0.6)]),
}


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("rule", ["f-tas", "f-tas cumulative from the policy", "uniform", "fair top-two", "top-two"])
@pytest.mark.parametrize("rates", OTHERS)
def test_same_as_an_identifier(rule: str, rates: str) -> None:
    for seed, (kind, means) in enumerate(FAMILIES.values()):
        compare(fb.Instance(means, kind, OTHERS[rates]), RULES[rule], seed)


@pytest.mark.parametrize("rule", ["f-tas", "fair top-two", "uniform"])
def test_same_as_an_identifier_on_a_few_rounds(rule: str) -> None:
    compare(fb.Instance([3.0, 0.5, 0.0], rates=LIMITED), RULES[rule], seed=3, most=25)


@pytest.mark.parametrize("rule", ["f-tas", "f-tas cumulative", "uniform", "fair top-two", "tas", "in Python"])
def test_settled_runs_have_no_violation(rule: str) -> None:
    instance = fb.Instance([3.0, 0.5, 0.0], rates=LIMITED)
    settled = fb.simulate(instance, [0.1, 0.01], RULES[rule], runs=8, settle=True)
    plain = fb.simulate(instance, [0.1, 0.01], RULES[rule], runs=8)
    assert (settled.violation == 0.0).all()
    assert (settled.stopping_time >= plain.stopping_time).all()
    assert (settled.stopping_time > plain.stopping_time).any() == (plain.violation > 0.0).any()


@pytest.mark.parametrize("rule", ["f-tas", "f-tas cumulative", "uniform", "fair top-two", "tas", "in Python"])
def test_ceilings_of_groups_are_settled(rule: str) -> None:
    instance = fb.Instance([3.0, 0.5, 0.0], rates=Bounded(0.05, 1.0, [Group([0, 1], 0.2, 0.6)]))
    settled = fb.simulate(instance, [0.1, 0.01], RULES[rule], runs=8, settle=True)
    plain = fb.simulate(instance, [0.1, 0.01], RULES[rule], runs=8)
    assert (settled.violation == 0.0).all()
    shares = plain.pulls[..., :2].sum(axis=-1) / plain.stopping_time
    assert (plain.violation >= shares - 0.6 - 1e-12).all()
    assert (shares > 0.6).any() or rule not in ("tas", "in Python")


def test_violation_is_that_of_the_pulls() -> None:
    """Of floors, ceilings and groups, whichever is missed by most."""
    runs = fb.simulate(fb.Instance([3.0, 0.5, 0.0], rates=LIMITED), 0.05, RULES["tas"], runs=30)
    shares = runs.pulls[:, 0] / runs.stopping_time
    by_floor, by_ceiling = (0.1 - shares).max(axis=1), (shares - [0.5, 0.4, 1.0]).max(axis=1)
    by_group = 0.5 - shares[:, :2].sum(axis=1)
    expected = np.maximum(0.0, np.maximum.reduce([by_floor, by_ceiling, by_group]))
    assert runs.violation[:, 0] == pytest.approx(expected, abs=1e-15)
    assert (by_ceiling > np.maximum(by_floor, 0.0)).any()


def test_fair_top_two_is_nearly_fair_before_settling() -> None:
    """At most a trial above a ceiling and two below a group's floor, so that settling has little left to do."""
    instance = fb.Instance([1.5, 0.5, 0.0], rates=LIMITED)
    runs = fb.simulate(instance, 0.05, RULES["fair top-two"], runs=50)
    assert (runs.violation * runs.stopping_time <= 2.0).all()
