"""Arms that are switched off: the others are compared as if they were all, at a higher threshold, and keep floors."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai import stopping
from fairbai.sampling import (
    LUCB,
    FairThompson,
    FairTopTwo,
    FairTrackAndStop,
    PosteriorFair,
    SamplingRule,
    TopTwo,
    UniformFair,
    VirtualQueues,
)

MEANS = {"a": 0.0, "b": 0.2, "c": 0.8, "d": 5.0}


def played(ident: fb.Identifier, trials: int, rng: random.Random) -> list[Any]:
    arms = []
    while len(arms) < trials and not ident.stopped:
        arms.append(ident.ask())
        ident.tell(arms[-1], rng.gauss(MEANS[arms[-1]], 1.0))
    return arms


@pytest.mark.parametrize("rates", [0.2, fb.rates.Gap(0.3)])
@pytest.mark.parametrize(
    "rule", [FairTopTwo(), FairTrackAndStop(), FairTrackAndStop(tracking="sampled"), TopTwo(), LUCB(), UniformFair(),
             PosteriorFair(), FairThompson(), VirtualQueues()], ids=lambda rule: rule.kind
)  # fmt: skip
def test_the_best_of_the_others_is_found_and_snapshots_go_on(rule: SamplingRule, rates: Any) -> None:
    ident = fb.Identifier(list(MEANS), delta=0.05, family=fb.Gaussian(1.0), rates=rates, sampling=rule, seed=3)
    rng, arms = random.Random(1), []
    played(ident, 5, rng)
    ident.switch_off("d")
    assert ident.switched_off == ("d",)
    while not ident.stopped:
        again = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
        assert again.to_dict() == ident.to_dict()
        assert again.status().confidence == ident.status().confidence
        ident = again
        arms += played(ident, 25, rng)
    status = ident.status()
    assert "d" not in arms
    assert (ident.recommendation, status.candidates) == ("c", ("c",))
    assert status.confidence is not None
    assert status.confidence >= 0.95
    assert status.floors[3] == 0.0
    assert np.all(status.assigned[:3] >= status.floors[:3] * ident.trials - 1.0)


@pytest.mark.parametrize("family", [fb.Gaussian(1.0), fb.Gaussian(variance=None), fb.Bounded(-10.0, 10.0)])
@pytest.mark.parametrize("options", [{}, {"tolerance": 0.1}, {"tolerance": 0.1, "control": "a"}, {"goal": "min"}])
def test_evidence_is_that_of_the_others_alone(family: Any, options: dict[str, Any]) -> None:
    rewards = random.Random(4)
    whole = fb.Identifier(["a", "b", "x", "c"], delta=0.05, family=family, rates=0.1, **options)
    part = fb.Identifier(
        ["a", "b", "c"], delta=0.05 / 6, family=family, rates=0.1, **options
    )  # the same (K − 1) / delta, of which an arm that is switched off leaves a quarter
    part.procedure.experiment.params[:] = whole.procedure.experiment.params  # which were fixed for four arms
    told = [(arm, rewards.gauss(MEANS.get(arm, 0.1), 1.0)) for arm in "abxc" * 10]
    for ident in (whole, part):
        for arm, reward in told:
            if arm in ident.arms:
                pulls = [float(arm == one) for one in ident.arms]
                ident.tell_batch(pulls, [reward * pull for pull in pulls], [reward**2 * pull for pull in pulls])
    whole.switch_off("x")
    one, other = whole.status(), part.status()
    assert one.decided is other.decided is False
    assert one.glr == pytest.approx(other.glr, rel=1e-12)
    assert one.threshold == pytest.approx(other.threshold, rel=1e-12)
    assert one.candidates == other.candidates
    assert one.recommendation == other.recommendation
    assert one.confidence is not None
    assert other.confidence is not None
    assert one.confidence == pytest.approx(max(0.0, 1.0 - 6.0 * (1.0 - other.confidence)), abs=1e-9)


def test_floors_stay_shares_of_all_trials() -> None:
    ident = fb.Identifier(4, delta=1e-12, family=fb.Gaussian(1.0), rates=[0.3, 0.3, 0.2, 0.2], seed=1)
    rng = random.Random(2)
    for trial in range(1, 400):
        if trial == 40:
            ident.switch_off(3)
        arm = ident.ask()
        ident.tell(arm, rng.gauss(0.0, 1.0))
        assigned = ident.status().assigned
        assert np.all(assigned[:3] >= np.array([0.3, 0.3, 0.2]) * trial - 1.0 - 1e-9)
    assert assigned[3] <= 0.2 * 40 + 1


def test_what_is_spent_on_all_numbers_of_arms_is_at_most_delta() -> None:
    """Rank j first matters with j − 1 arms off, and rank 1 at once: see docs/stopping.md."""
    ident = fb.Identifier(30, delta=0.05, family=fb.Gaussian(1.0))
    spent = [0.05]
    for arm in range(28):
        ident.switch_off(arm)
        remaining = ident.procedure.remaining
        assert remaining is not None
        spent.append(29.0 * math.exp(-remaining.level(0.05)))
    assert spent == sorted(spent, reverse=True)
    assert spent[1] + sum(spent[1:]) <= 0.75 * 0.05
    assert 1.45 * 0.05 <= sum(spent) <= 1.5 * 0.05


def test_wrong_answers_are_as_rare_as_promised_even_if_the_leader_is_switched_off() -> None:
    """Whoever switches the arm off that looks best, because it does, is still right with probability 1 − delta."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ident = fb.Identifier(3, delta=0.2, family=fb.Gaussian(1.0), seed=seed, sampling=UniformFair())
        means = [0.0, 0.0, 0.6]
        while not ident.stopped and ident.trials < 400:
            if ident.trials == 30 and not ident.switched_off:
                ident.switch_off(ident.recommendation)
            arm = ident.ask()
            ident.tell(arm, rng.normal(means[arm]))
        left = [arm for arm in range(3) if arm not in ident.switched_off]
        wrong += ident.decided and means[ident.recommendation] < max(means[arm] for arm in left)
    assert wrong <= 0.2 * 40


@pytest.mark.parametrize(
    ("options", "arm", "said"),
    [
        ({}, "nope", "arm must be one of"),
        ({"arms": 2}, 0, "two arms must remain"),
        ({"stopping": stopping.KaufmannKoolen(pairwise=False)}, 0, "about all arms together"),
        ({"stopping": stopping.DesignBased(), "family": "bernoulli", "rates": 0.1}, 0, "needs every arm until the end"),
        ({"rates": fb.rates.Bounded(0.1, 0.6)}, 0, "ceilings, groups"),
        ({"control": 1, "tolerance": 0.1}, 1, "is the control"),
    ],
)
def test_arms_that_cannot_be_switched_off(options: dict[str, Any], arm: Any, said: str) -> None:
    ident = fb.Identifier(**{"arms": 3, "delta": 0.1, "family": fb.Gaussian(1.0), **options})
    before = ident.to_dict()
    with pytest.raises(ValueError, match=said):
        ident.switch_off(arm)
    assert ident.to_dict() == before


def test_snapshots_with_too_many_arms_off_are_refused() -> None:
    ident = fb.Identifier(3, delta=0.1, family=fb.Gaussian(1.0))
    ident.switch_off(0)
    for off in ([0, 1], [0, 0], [7]):
        with pytest.raises(ValueError, match="snapshot is damaged"):
            fb.Identifier.from_dict({**ident.to_dict(), "off": off})
    with pytest.raises(ValueError, match="switched off already"):
        ident.switch_off(0)


def test_the_kernels_get_arrays_as_they_are_compiled_for() -> None:
    ident = fb.Identifier(4, delta=0.1, family=fb.Gaussian(1.0), rates=0.1)
    ident.switch_off(1)
    assert ident.procedure.remaining is not None
    assert ident.procedure.remaining.load().state.flags.c_contiguous
