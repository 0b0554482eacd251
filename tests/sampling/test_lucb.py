"""LUCB: the best arm and the one with the largest upper confidence bound; whichever has fewer trials."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import fairbai as fb
from fairbai.sampling import LUCB
from tests.cases import families
from tests.sampling.hand_made import experiment, identifier

MEANS = [0.8, 0.6, 0.5, 0.3]


def upper(family: fb.Gaussian, mean: float, count: int, bonus: float) -> float:
    """The largest m with N d(mean, m) <= bonus."""
    end = 1.0 - 1e-15 if family.kind in ("bernoulli", "bounded") else mean + 1e9
    return float(brentq(lambda m: count * family.divergence(mean, m) - bonus, mean, end, xtol=1e-13))


@pytest.mark.parametrize("family", families(0.5), ids=lambda family: family.kind)
@pytest.mark.parametrize("assigned", [[30, 25, 14, 6], [30, 60, 9, 2], [9, 60, 50, 40], [8, 60, 50, 9]])
@pytest.mark.parametrize("delta", [0.3, 1e-4])
def test_choice(family: fb.Gaussian, assigned: list[int], delta: float) -> None:
    bonus = math.log(12 * 4 * sum(assigned) ** 1.1 / delta)
    bounds = [upper(family, MEANS[a], assigned[a], bonus) for a in (1, 2, 3)]
    challenger = 1 + int(np.argmax(bounds))
    ident = experiment(assigned, MEANS, LUCB(delta), family=family)
    assert ident.ask() == (0 if assigned[0] <= assigned[challenger] else challenger)


def test_begins_with_each_arm_and_waits_for_their_rewards() -> None:
    assert identifier(3, LUCB()).ask(5) == [0, 1, 2, 0, 1]


def test_promises_and_parameters() -> None:
    assert LUCB().fairness == LUCB().converges_to == "none"
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1/2\), got 0.7"):
        LUCB(delta=0.7)
