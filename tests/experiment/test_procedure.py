"""An experiment on its way to an answer: before the decision, while it settles, and when trials come from outside."""

from __future__ import annotations

import pytest

import fairbai as fb
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.procedure import Procedure
from fairbai.experiment.settling import Settling
from fairbai.experiment.standing import expected_remaining
from fairbai.sampling import SamplingRule, Situation

MEANS = [3.0, 0.0, 0.0]


def procedure(settle: bool | Settling, floor: float = 0.4) -> Procedure:
    rates = fb.rates.Constant([0.0, 0.0, floor])
    return Procedure(Experiment(3, fb.Gaussian(), rates=rates, sampling=fb.sampling.TopTwo()), 0.05, settle)


def advance(one: Procedure) -> None:
    arm = one.assign()
    one.experiment.observe(arm, MEANS[arm])
    one.reconsider()


def decided(settle: bool | Settling, floor: float = 0.4) -> Procedure:
    one = procedure(settle, floor)
    assert one.answer is None
    while one.decision is None:
        assert not one.stopped
        advance(one)
    return one


def test_answer_is_frozen_with_its_evidence() -> None:
    one = decided(settle=False)
    assert one.stopped
    assert one.answer == 0
    assert one.decision is not None
    assert one.decision.round == one.decision.final_round == one.experiment.round
    before = one.standing()
    assert before.glr >= before.threshold
    assert before.confidence is not None
    assert 0.95 <= before.confidence < 1.0
    assert before.candidates == (0,)
    one.experiment.count_assigned(1)
    one.experiment.observe(1, 1000.0)
    one.reconsider()
    assert (one.answer, one.standing()) == (0, before)


def test_settling_ends_when_every_floor_is_met() -> None:
    one = decided(settle=True)
    assert one.decision is not None
    left = one.decision.final_round - one.experiment.round
    assert left > 0
    assert expected_remaining(one, 0.0) == left
    for _ in range(left):
        assert not one.stopped
        assert one.assign() == 2
    assert one.stopped
    assert one.experiment.state[0, 2] >= 0.4 * one.experiment.round


def test_trials_from_outside_move_the_last_round() -> None:
    one = decided(settle=True)
    assert one.decision is not None
    before = one.decision.final_round
    for _ in range(20):
        one.experiment.count_assigned(0)
    one.settle_again()
    assert one.decision.final_round > before
    assert one.answer == 0


def test_nothing_counts_when_something_fails() -> None:
    class Broken(SamplingRule):
        def choose(self, situation: Situation) -> int:
            if situation.assigned.sum() > 2:
                raise RuntimeError("broken")
            return 0

    one = Experiment(3, fb.Gaussian(), sampling=Broken())
    with pytest.raises(RuntimeError, match="broken"), one.all_or_nothing():
        [one.assign() for _ in range(5)]
    assert one.round == 0
    assert not one.state[0].any()


def test_a_copy_is_a_copy() -> None:
    one = Experiment(3, fb.Gaussian())
    other = one.copied()
    other.count_assigned(1)
    assert one.round == 0
    assert other.round == 1
