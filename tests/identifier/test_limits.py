"""Whole experiments within ceilings and groups: every limit is met at the stop, also across snapshots."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.problems.rates import Bounded, Group
from fairbai.sampling import FairTopTwo, FairTrackAndStop, TopTwo, UniformFair
from tests.oracle.limits import EDGES, KINDS, Bounds, random_bounds

RULES: dict[str, fb.sampling.SamplingRule] = {
    "fair top-two": FairTopTwo(),
    "f-tas": FairTrackAndStop(),
    "f-tas tracked": FairTrackAndStop("cumulative", "policy"),
    "uniform": UniformFair(),
    "top-two": TopTwo(),  # knows nothing of limits: settling alone has to meet them
}
MEANS = [2.0, 0.5, 0.0, -0.5]
BOUNDS = Bounds(np.array([0.05, 0.1, 0.0, 0.0]), np.array([0.35, 0.4, 1.0, 0.3]), (((2, 3), 0.45, 0.6),))


def rates_of(bounds: Bounds) -> Bounded:
    return Bounded(bounds.floors, bounds.ceilings, [Group(*group) for group in bounds.groups])


def stopped(bounds: Bounds, means: list[float], seed: int, **settings: Any) -> fb.Identifier:
    settings.setdefault("stopping", fb.stopping.Heuristic())
    ident = fb.Identifier(len(means), 0.1, fb.Gaussian(), rates=rates_of(bounds), seed=seed, **settings)
    rng = np.random.default_rng(seed)
    while not ident.stopped:
        arm = ident.ask()
        ident.tell(arm, rng.normal(means[arm]))
    return ident


def lacking(bounds: Bounds, assigned: np.ndarray) -> float:
    """By how many trials the limits are missed, at most; in trials, so that what is met counts as exactly 0."""
    total = assigned.sum()
    sums = [(assigned[list(arms)].sum(), floor, ceiling) for arms, floor, ceiling in bounds.groups]
    outside = [max(floor * total - trials, trials - ceiling * total) for trials, floor, ceiling in sums]
    arms = max((bounds.floors * total - assigned).max(), (assigned - bounds.ceilings * total).max())
    return float(max(arms, *outside, 0.0))


@pytest.mark.parametrize("rule", RULES)
def test_all_limits_are_met_at_the_stop(rule: str) -> None:
    for seed in range(4):
        ident = stopped(BOUNDS, MEANS, seed, sampling=RULES[rule])
        assert lacking(BOUNDS, ident.status().assigned) == 0.0
        assert ident.recommendation == 0
        assert ident.status().ceilings.tolist() == BOUNDS.ceilings.tolist()
    assert fb.Identifier(3, 0.1, fb.Gaussian()).status().ceilings.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("kind", KINDS + EDGES)
def test_limits_of_every_kind_at_the_stop(kind: str) -> None:
    """Exactly, or up to less than one trial where they leave no play."""
    rng = np.random.default_rng([2, *map(ord, kind)])
    for seed in range(3):
        bounds = random_bounds(kind, MEANS, rng)
        ident = stopped(bounds, MEANS, seed)
        missing = lacking(bounds, ident.status().assigned)
        assert missing == 0.0 if rates_of(bounds).limits(4).slack > 1e-9 else missing < 1.0, bounds


def test_without_settling_the_experiment_stops_at_the_decision() -> None:
    plain, settled = (
        stopped(BOUNDS, MEANS, 3, settle=settle, sampling=TopTwo(), stopping=fb.stopping.Mixture())
        for settle in (False, True)
    )
    assert lacking(BOUNDS, plain.status().assigned) > 0.0
    assert plain.status().assigned.sum() < settled.status().assigned.sum()


def test_a_list_of_arms_ends_with_the_last_trial_of_settling() -> None:
    ident = fb.Identifier(
        4, 0.1, fb.Gaussian(), rates=rates_of(BOUNDS), sampling=TopTwo(), stopping=fb.stopping.Heuristic()
    )
    while not ident.decided:
        arm = ident.ask()
        ident.tell(arm, MEANS[arm])
    left = ident.status().expected_remaining
    assert left > 0.0
    assert len(ident.ask(10_000)) == left
    assert ident.stopped
    assert lacking(BOUNDS, ident.status().assigned) == 0.0


def test_what_remains_is_estimated_within_the_limits() -> None:
    ident = fb.Identifier(4, 1e-6, fb.Gaussian(), rates=rates_of(BOUNDS))
    for arm in ident.ask(40):
        ident.tell(arm, MEANS[arm])
    status = ident.status()
    best = fb.solve(fb.Instance(MEANS, rates=rates_of(BOUNDS)))
    expected = (status.threshold - status.glr) * best.characteristic_time
    assert status.expected_remaining == pytest.approx(expected, abs=1.0)


@pytest.mark.parametrize("rule", ["fair top-two", "f-tas", "f-tas tracked"])
@pytest.mark.parametrize("cut", [0, 7, 25])
def test_snapshots_go_on_with_the_same_arms(rule: str, cut: int) -> None:
    """Also through settling: a snapshot is taken after every trial from ``cut`` on."""
    rewards = np.random.default_rng(4).normal(size=(2000, 4)) + MEANS

    def run(interrupted: bool) -> list[int]:
        settings: Any = {"rates": rates_of(BOUNDS), "sampling": RULES[rule], "stopping": fb.stopping.Heuristic()}
        ident, arms = fb.Identifier(4, 0.1, fb.Gaussian(), seed=5, **settings), []
        while not ident.stopped:
            arms.append(ident.ask())
            ident.tell(arms[-1], rewards[len(arms), arms[-1]])
            if interrupted and len(arms) >= cut:
                ident = fb.Identifier.from_dict(json.loads(json.dumps(ident.to_dict())), same_draws=True)
        assert lacking(BOUNDS, ident.status().assigned) == 0.0
        return arms

    assert run(interrupted=True) == run(interrupted=False)
