"""Any interleaving of asks, tells, lost rewards and restores keeps every promise."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import fairbai as fb
from tests.cases import proved_families
from tests.identifier.site import RULES
from tests.identifier.test_settle import least

RATES = [
    fb.rates.Constant(0.0),
    fb.rates.Constant([0.1, 0.0, 0.6]),
    fb.rates.Constant(0.33),
    fb.rates.InverseGap(0.9),
    fb.rates.Gap(0.9),
    fb.rates.Softmax(0.5),
    fb.rates.Proportional(0.8),
]
FAMILIES = proved_families()
ARMS = ("a", "b", "c")


def rewards(kind: str, arm: str) -> st.SearchStrategy[float]:
    """Arm a is so much better that the experiment ends soon; but not always."""
    lift = 3.0 if arm == "a" else 0.0
    if kind in ("bernoulli", "bounded"):
        return st.sampled_from([1.0] * 9 + [0.0] if arm == "a" else [0.0] * 9 + [1.0])
    if kind == "poisson":
        return st.integers(0, 3).map(lambda value: value + 4.0 * lift)
    if kind == "exponential":
        return st.floats(0.01, 3.0).map(lambda value: value * math.exp(lift))
    return st.floats(-2.0, 2.0).map(lambda value: value + lift)


class AnyOrder(RuleBasedStateMachine):
    """A model of an experiment: who was asked for, whose reward has come, and what was answered."""

    ident: fb.Identifier

    @initialize(
        family=st.sampled_from(FAMILIES),
        rates=st.sampled_from(RATES),
        sampling=st.sampled_from(RULES),
        settle=st.booleans(),
        seed=st.integers(0, 2**63 - 1),
        heuristic=st.booleans(),
    )
    def begin(self, family: Any, rates: Any, sampling: Any, settle: bool, seed: int, heuristic: bool) -> None:
        stopping = fb.stopping.Heuristic() if heuristic else None
        self.ident = fb.Identifier(ARMS, 0.3, family, rates, sampling, stopping, settle, seed)
        self.assigned: Counter[str] = Counter()
        self.observed: Counter[str] = Counter()
        self.waiting: list[str] = []
        self.decision: fb.Status | None = None

    def took(self, arms: list[str]) -> None:
        self.assigned.update(arms)
        self.waiting.extend(arms)

    def told(self, arms: list[str]) -> None:
        self.observed.update(arms)
        if self.decision is None and self.ident.decided:
            self.decision = self.ident.status()

    @rule()
    def ask(self) -> None:
        if self.ident.stopped:
            with pytest.raises(RuntimeError, match="has stopped"):
                self.ident.ask()
        else:
            self.took([self.ident.ask()])

    @rule(n=st.integers(1, 30))
    def ask_many(self, n: int) -> None:
        if self.ident.stopped:
            with pytest.raises(RuntimeError, match="has stopped"):
                self.ident.ask(n)
            return
        arms = self.ident.ask(n)
        assert len(arms) == n or self.ident.stopped
        self.took(arms)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def tell(self, data: st.DataObject) -> None:
        arm = self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))
        self.ident.tell(arm, data.draw(rewards(self.ident.family.kind, arm)))
        self.told([arm])

    @precondition(lambda self: self.waiting)
    @rule(data=st.data(), part=st.floats(0.1, 1.0), backwards=st.booleans())
    def tell_many(self, data: st.DataObject, part: float, backwards: bool) -> None:
        size = math.ceil(part * len(self.waiting))
        arms = self.waiting[-size:][::-1] if backwards else self.waiting[:size]
        self.waiting = self.waiting[:-size] if backwards else self.waiting[size:]
        values = [data.draw(rewards(self.ident.family.kind, arm)) for arm in arms]
        self.ident.tell(arms, values)
        self.told(arms)

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def lose(self, data: st.DataObject) -> None:
        self.waiting.pop(data.draw(st.integers(0, len(self.waiting) - 1)))

    @rule()
    def restore(self) -> None:
        text = json.dumps(self.ident.to_dict(), allow_nan=False)
        self.ident = fb.Identifier.from_dict(json.loads(text), same_draws=True)
        assert json.dumps(self.ident.to_dict()) == text

    @rule()
    def twin_takes_the_same_arm(self) -> None:
        """What a restored copy would ask for is what this experiment asks for."""
        if not self.ident.stopped:
            copy = fb.Identifier.from_dict(self.ident.to_dict())
            arms = self.ident.ask(3)
            assert copy.ask(3) == arms
            self.took(arms)

    @rule(arm=st.sampled_from(ARMS))
    def tell_too_much(self, arm: str) -> None:
        """More rewards than trials are refused, whatever else goes on."""
        before = self.ident.to_dict()
        pending = self.assigned[arm] - self.observed[arm]
        with pytest.raises(ValueError, match="pending trial"):
            self.ident.tell([arm] * (pending + 1), [1.0] * (pending + 1))
        assert self.ident.to_dict() == before

    @invariant()
    def counts_are_exact(self) -> None:
        status = self.ident.status()
        assert status.assigned.tolist() == [self.assigned[arm] for arm in ARMS]
        assert status.observed.tolist() == [self.observed[arm] for arm in ARMS]
        assert (status.observed <= status.assigned).all()
        assert status.floors.sum() <= 1.0 + 1e-9
        assert not math.isnan(status.expected_remaining)

    @invariant()
    def answer_is_final(self) -> None:
        assert self.ident.decided == (self.decision is not None)
        assert self.ident.stopped <= self.ident.decided
        if self.decision is None:
            seen = all(self.observed[arm] for arm in ARMS)
            assert (self.ident.recommendation is not None) == seen
        else:
            assert self.ident.recommendation == self.decision.recommendation
            assert (self.ident.status().floors == self.decision.floors).all()

    @invariant()
    def stop_is_fair_and_no_trial_too_late(self) -> None:
        if self.decision is None:
            return
        status, settle = self.ident.status(), self.ident.settle
        more = least(self.decision.assigned, self.decision.floors) if settle else 0
        done = int(status.assigned.sum() - self.decision.assigned.sum())
        assert status.expected_remaining == more - done >= 0
        assert status.stopped == (done == more)
        if status.stopped and settle:
            assert (status.assigned >= status.floors * status.assigned.sum()).all()


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=40)
TestAnyOrder = AnyOrder.TestCase


def test_model_reaches_the_stop() -> None:
    """The machine would prove little if experiments did not end: a plain order of its rules ends one."""
    machine = AnyOrder()
    machine.begin(fb.Gaussian(), RATES[1], fb.sampling.TopTwo(), True, 0, False)
    while not machine.ident.stopped:
        machine.ask_many(5)
        while machine.waiting:
            arm = machine.waiting.pop()
            machine.ident.tell(arm, float(arm == "a") * 3.0 + np.sin(machine.observed.total()))
            machine.told([arm])
        machine.answer_is_final()
        machine.counts_are_exact()
        machine.stop_is_fair_and_no_trial_too_late()
    assert machine.ident.recommendation == "a"
