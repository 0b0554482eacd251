"""After the decision: the answer is final, and every floor is met with the least number of further trials."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from itertools import count
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from tests.identifier.site import ANSWERING, Site, name

RATES = [
    fb.rates.Constant(0.3),
    fb.rates.Constant([0.0, 0.0, 0.9]),
    fb.rates.Constant([0.1, 0.299, 0.6]),
    fb.rates.InverseGap(0.9),
    fb.rates.Gap(0.95),
    fb.rates.Softmax(0.99, temperature=0.5),
    fb.rates.Custom(lambda means: [0.05, 0.8, 0.1]),
]
rules = pytest.mark.parametrize("rule", ANSWERING, ids=name)


def least(assigned: np.ndarray, floors: np.ndarray) -> int:
    """m* = min{m : Σ_a (⌈p_a (t + m)⌉ − N_a)₊ ≤ m}, by trying."""
    total = int(assigned.sum())

    def lacking(m: int) -> int:
        return sum(max(0, math.ceil(p * (total + m)) - int(n)) for p, n in zip(floors, assigned, strict=True))

    return next(m for m in count() if lacking(m) <= m)


def until_decided(site: Site, most: int = 5000) -> fb.Status:
    while not site.ident.decided:
        assert len(site.arms) < most
        site.visit()
    return site.ident.status()


@pytest.mark.slow_without_jit
@rules
@pytest.mark.parametrize("rates", RATES, ids=name)
@pytest.mark.parametrize(("late", "lost"), [(0, 0.0), (9, 0.2)])
def test_every_floor_is_met_with_the_least_number_of_trials(rule: Any, rates: Any, late: int, lost: float) -> None:
    for seed in range(3):
        ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian(), rates=rates, sampling=rule, seed=seed)
        site = Site(ident, seed, late, lost)
        decision = until_decided(site)
        site.run(20_000)
        status = ident.status()
        assert (status.floors == decision.floors).all()  # frozen, though rewards went on coming
        assert (status.assigned >= status.floors * status.assigned.sum()).all()
        assert status.assigned.sum() - decision.assigned.sum() == least(decision.assigned, decision.floors)


def test_settling_is_needed() -> None:
    """Otherwise the test above would test nothing: a rule that pays no attention to floors must add trials."""
    ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian(), rates=RATES[1], sampling=fb.sampling.TopTwo())
    decision = until_decided(Site(ident))
    assert decision.expected_remaining > decision.assigned.sum()


@pytest.mark.parametrize(
    "rates", [fb.rates.Gap(0.95), fb.rates.Custom(lambda means: 0.9 * np.exp(means) / np.exp(means).sum())]
)
def test_floors_are_those_at_the_decision(rates: Any) -> None:
    ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian(), rates=rates, sampling=fb.sampling.TopTwo())
    site = Site(ident)
    decision = until_decided(site)
    assert decision.floors == pytest.approx(rates.floors(decision.means))
    site.run()
    assert (ident.status().means != decision.means).any()
    assert (ident.status().floors == decision.floors).all()


def test_recommendation_never_changes_after_the_decision() -> None:
    """Not even if every later reward says the opposite."""
    rates = fb.rates.Constant([0.1, 0.8])
    ident = fb.Identifier(["good", "bad"], delta=0.1, family=fb.Gaussian(), rates=rates, sampling=fb.sampling.TopTwo())
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, {"good": 1.0, "bad": 0.0}[arm])
    more = 0
    while not ident.stopped:
        arm = ident.ask()
        ident.tell(arm, {"good": -100.0, "bad": 100.0}[arm])
        more += 1
        assert ident.recommendation == ident.status().recommendation == "good"
        assert ident.status().decided
    assert more > 10
    assert ident.status().means[1] > ident.status().means[0]  # the rewards were counted


def test_rewards_of_trials_before_the_stop_are_taken_after_it() -> None:
    ident = fb.Identifier(2, delta=0.1, family=fb.Gaussian())
    arms = ident.ask(200)
    ident.tell(arms[:150], [float(arm == 0) for arm in arms[:150]])
    assert ident.stopped
    ident.tell(arms[150:], [float(arm == 1) for arm in arms[150:]])
    assert ident.status().observed.sum() == 200
    assert ident.recommendation == 0
    assert ident.stopped


@rules
def test_without_settling_the_decision_is_the_stop(rule: Any) -> None:
    ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian(), rates=RATES[1], sampling=rule, settle=False)
    site = Site(ident)
    status = until_decided(site)
    assert status.stopped
    assert ident.stopped
    assert status.expected_remaining == 0.0
    with pytest.raises(RuntimeError, match="the experiment has stopped: 0 is the answer"):
        ident.ask()


def test_settling_does_not_change_the_way_to_the_answer() -> None:
    sites = [
        Site(
            fb.Identifier(
                3, delta=0.05, family=fb.Gaussian(), rates=RATES[1], sampling=fb.sampling.TopTwo(), settle=settle
            )
        )
        for settle in (False, True)
    ]
    one, other = map(until_decided, sites)
    assert sites[0].arms == sites[1].arms
    assert one.recommendation == other.recommendation == 0
    assert one.stopped
    assert not other.stopped


def test_batch_ends_where_the_last_floor_is_met() -> None:
    ident = fb.Identifier(
        2, delta=0.1, family=fb.Gaussian(), rates=fb.rates.Constant([0.1, 0.8]), sampling=fb.sampling.TopTwo()
    )
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, 1.0 - arm)
    more = least(ident.status().assigned, ident.status().floors)
    assert ident.ask(10_000) == [1] * more
    assert ident.stopped
    with pytest.raises(RuntimeError, match="the experiment has stopped: 0 is the answer"):
        ident.ask(1)


@rules
@pytest.mark.parametrize("floors", [[0.2, 0.3, 0.5], [1 / 3, 1 / 3, 1 / 3], [0.85, 0.1, 0.05]])
def test_floors_that_sum_to_one_are_met_up_to_less_than_one_trial(rule: Any, floors: list[float]) -> None:
    ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian(), rates=fb.rates.Constant(floors), sampling=rule)
    Site(ident, seed=4).run(50_000)
    status = ident.status()
    assert ident.recommendation == 0
    assert (status.assigned > status.floors * status.assigned.sum() - 1.0 + 1e-9).all()


PULLED_WITHOUT_A_FLOOR = """
import fairbai as fb
rates = fb.rates.Constant([0.6, 0.4, 0.0])
ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian(1.0), rates=rates, sampling=fb.sampling.TrackAndStop())
for number in range(1000):
    if ident.decided:
        break
    arm = ident.ask()
    ident.tell(arm, [2.0, 1.0, 0.0][arm])
print(ident.stopped, ident.status().assigned.min() > 1)
"""


def test_full_floors_stop_at_the_decision_if_an_arm_without_floor_was_pulled() -> None:
    """Floors (0.6, 0.4, 0) leave nothing for the third arm: once it was pulled, no number of trials repairs that."""
    done = subprocess.run(
        [sys.executable, "-c", PULLED_WITHOUT_A_FLOOR], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.split() == ["True", "True"]


def test_nothing_to_settle_without_floors() -> None:
    ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian())
    assert until_decided(Site(ident)).stopped


# With a margin, and learning


@rules
@pytest.mark.parametrize("rates", RATES[3:], ids=name)
@pytest.mark.parametrize(("late", "lost"), [(0, 0.0), (9, 0.2)])
@pytest.mark.slow_without_jit
def test_raised_floors_are_met(rule: Any, rates: Any, late: int, lost: float) -> None:
    """Those that the status shows at the stop: at least the floors at the means that were known then."""
    ident = fb.Identifier(3, delta=0.05, family=fb.Gaussian(), rates=rates, sampling=rule, settle=fb.Settling(0.3))
    site = Site(ident, 1, late, lost)
    decision = until_decided(site)
    site.run(50_000)
    status = ident.status()
    assert status.recommendation == decision.recommendation
    assert (status.assigned >= status.floors * status.assigned.sum()).all()
    assert status.floors.sum() <= 1.0


def test_learning_goes_on_until_the_stop_and_not_after() -> None:
    ident = fb.Identifier(
        3, 0.05, fb.Gaussian(), rates=fb.rates.Gap(0.9), sampling=fb.sampling.TopTwo(), settle=fb.Settling(0.2)
    )
    site = Site(ident, late=3)
    decision = until_decided(site)
    site.run()
    end = ident.status()
    assert (end.floors != decision.floors).any()
    while site.pending:
        site.deliver()
    assert ident.stopped
    assert (ident.status().floors == end.floors).all()


def test_without_learning_raised_floors_are_those_of_the_decision() -> None:
    settling = fb.Settling(0.2, learn=False)
    ident = fb.Identifier(
        3, 0.05, fb.Gaussian(), rates=fb.rates.Gap(0.9), sampling=fb.sampling.TopTwo(), settle=settling
    )
    site = Site(ident)
    decision = until_decided(site)
    assert (decision.floors > fb.rates.Gap(0.9).floors(decision.means)).any()
    site.run()
    assert (ident.status().floors == decision.floors).all()


def test_snapshot_in_the_middle_of_learning() -> None:
    settling = fb.Settling(0.4)
    ident = fb.Identifier(
        3, 0.05, fb.Gaussian(), rates=fb.rates.Gap(0.9), sampling=fb.sampling.TopTwo(), settle=settling
    )
    site = Site(ident, late=2)
    until_decided(site)
    for _ in range(5):
        site.visit()
    again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
    assert again.settle == settling
    rng = np.random.default_rng(0)
    while not ident.stopped:
        arm, reward = ident.ask(), rng.normal()
        assert again.ask() == arm
        for one in (ident, again):
            one.tell(arm, reward)
    assert again.stopped


@pytest.mark.parametrize("settle", [True, False])
def test_old_snapshots_are_read(settle: bool) -> None:
    form = fb.Identifier(3, 0.05, fb.Gaussian(), settle=settle).to_dict()
    assert form["settle"] is settle
    assert fb.Identifier.from_dict(form).settle is settle
