"""The fair rules within ceilings and groups: on every path, in the limit, and choice by choice."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels import state as rows
from fairbai.problems.rates import Bounded, Group
from fairbai.sampling import FairTopTwo, FairTrackAndStop, UniformFair
from tests.oracle.limits import EDGES, KINDS, Bounds, random_bounds
from tests.sampling.hand_made import experiment, identifier, policy

TRACKED = FairTrackAndStop("cumulative", "policy")
kinds = pytest.mark.parametrize("kind", KINDS + EDGES)


def rates_of(bounds: Bounds) -> Bounded:
    return Bounded(bounds.floors, bounds.ceilings, [Group(*group) for group in bounds.groups])


def harmonic(number: int) -> float:
    return float(np.sum(1.0 / np.arange(1, number + 1)))


class Worst:
    """The most that any arm and any group was below its floor or above its ceiling, in trials."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds, self.below, self.above = bounds, 0.0, 0.0
        self.groups, self.groups_above = np.zeros(len(bounds.groups)), np.zeros(len(bounds.groups))

    def note(self, assigned: np.ndarray) -> None:
        total = assigned.sum()
        self.below = max(self.below, float((self.bounds.floors * total - assigned).max()))
        self.above = max(self.above, float((assigned - self.bounds.ceilings * total).max()))
        for place, (arms, floor, ceiling) in enumerate(self.bounds.groups):
            trials = assigned[list(arms)].sum()
            self.groups[place] = max(self.groups[place], floor * total - trials)
            self.groups_above[place] = max(self.groups_above[place], trials - ceiling * total)

    def kept(self, promised: fb.sampling.Bounds) -> bool:
        """Whether a rule has kept its promises."""
        arms = self.below <= min(promised.behind) + 1e-9 and self.above <= min(promised.above) + 1e-9
        groups = np.all(self.groups <= np.array(promised.groups) + 1e-9)
        return bool(arms and groups and np.all(self.groups_above <= np.array(promised.groups_above) + 1e-9))


def played(bounds: Bounds, rule: fb.sampling.SamplingRule, seed: int, trials: int) -> Worst:
    """A run with random rewards, some late and in another order; if the seed is odd, the leader always loses."""
    rng = np.random.default_rng(seed)
    arms = bounds.floors.size
    ident = identifier(arms, rule, rates=rates_of(bounds))
    means, worst, pending = rng.normal(size=arms), Worst(bounds), []
    state = ident._experiment.state
    for _ in range(trials):
        pending.append(ident.ask())
        worst.note(state[rows.ASSIGNED])
        if len(pending) > 10 or rng.random() < 0.7:
            arm = pending.pop(int(rng.integers(len(pending))))
            lost = -1.0 if arm == ident.recommendation else 1.0
            ident.tell(arm, lost if seed % 2 else rng.normal(means[arm]))
    return worst


def paths(kind: str, rule: fb.sampling.SamplingRule, count: int, trials: int) -> list[tuple[Bounds, Worst]]:
    rng = np.random.default_rng([7, *map(ord, kind)])
    found = []
    for seed in range(count):
        bounds = random_bounds(kind, rng.normal(size=int(rng.integers(2, 7))), rng)
        found.append((bounds, played(bounds, rule, seed, trials)))
    return found


# Fair on every path


@kinds
def test_fair_top_two_on_every_path(kind: str) -> None:
    """docs/limits.md proves all four bounds. Those of groups are far from what is seen, which is below 2."""
    for bounds, worst in paths(kind, FairTopTwo(), 3, 250):
        arms = bounds.floors.size
        assert worst.above <= 1.0 + 1e-9, bounds
        assert worst.below <= harmonic(arms - 1) + 1e-9, bounds
        for (members, _, _), lag, lead in zip(bounds.groups, worst.groups, worst.groups_above, strict=True):
            assert lag <= 0.5 + (arms - len(members)) * (2.0 + harmonic(arms - 1)) + 1e-9, bounds
            assert lead <= 1.0 + 2.0 * np.count_nonzero(bounds.floors[list(members)]) + 1e-9, bounds
            assert lag < 2.0, bounds
            assert lead < (4.0 if kind == "group full of floors" else 2.0), bounds
        promised = FairTopTwo().bounds(rates_of(bounds), arms)
        assert worst.kept(promised), bounds


@kinds
def test_tracking_on_every_path(kind: str) -> None:
    """N_a <= Σ π_a + 1, and k of K arms lag behind the sum of their policies by at most k (1 + H_(K-1) - H_k).

    All others are then ahead of theirs by as much.
    """
    for bounds, worst in paths(kind, TRACKED, 2, 150):
        arms = bounds.floors.size
        assert worst.above <= 1.0 + 1e-9, bounds
        assert worst.below <= harmonic(arms - 1) + 1e-9, bounds
        for (members, _, _), lag, lead in zip(bounds.groups, worst.groups, worst.groups_above, strict=True):
            size, others = len(members), arms - len(members)
            assert lag <= size * (1.0 + harmonic(arms - 1) - harmonic(size)) + 1e-9, bounds
            assert lead <= others * (1.0 + harmonic(arms - 1) - harmonic(others)) + 1e-9, bounds
        promised = TRACKED.bounds(rates_of(bounds), arms)
        assert promised is not None
        assert worst.kept(promised), bounds


@kinds
@pytest.mark.parametrize("rule", [FairTrackAndStop(start="policy"), TRACKED, UniformFair()])
def test_policies_are_within_the_limits(kind: str, rule: fb.sampling.SamplingRule) -> None:
    """Before the first reward and after: so the shares are on average."""
    rng = np.random.default_rng(3)
    for _ in range(4):
        means = rng.normal(size=int(rng.integers(2, 7)))
        bounds = random_bounds(kind, means.tolist(), rng)
        counts = rng.integers(1, 30, means.size)
        ident = experiment(counts.tolist(), means.tolist(), rule, rates=rates_of(bounds))
        assert bounds.excess(policy(ident).tolist()) <= 1e-12, bounds
        fresh = identifier(means.size, rule, rates=rates_of(bounds))
        assert bounds.excess(policy(fresh).tolist()) <= 1e-12, bounds


def test_uniform_fair_aims_at_the_centre() -> None:
    rates = Bounded(0.1, 0.4, [Group([0, 2], 0.6)])
    ident = experiment([4, 5, 6, 7], [1.0, 0.5, 0.2, 0.1], UniformFair(), rates=rates)
    assert policy(ident).tolist() == rates.limits(4).centre.tolist()


def test_tracking_mixes_the_optimum_with_the_centre() -> None:
    rates = Bounded(0.1, 0.4, [Group([0, 2], 0.6)])
    means = [1.0, 0.5, 0.2, 0.1]
    ident = experiment([4, 5, 6, 9], means, TRACKED, rates=rates)
    optimum, mix = fb.solve(fb.Instance(means, rates=rates)).weights, 0.5 / np.sqrt(25.0)
    assert policy(ident) == pytest.approx((1.0 - mix) * optimum + mix * rates.limits(4).centre, abs=1e-9)


# Choice by choice


MEANS = [1.0, 0.6, 0.5, 0.0]


@pytest.mark.parametrize(
    ("assigned", "rates", "expected"),
    [
        ([10, 5, 3, 1], Bounded([0.0, 0.0, 0.2, 0.0], 1.0, [Group([1, 3], 0.7)]), 2),  # arms before groups
        ([10, 5, 3, 1], Bounded(0.0, 1.0, [Group([2, 3], 0.3)]), 3),  # behind by 2: the cheapest of the group
        ([10, 5, 3, 1], Bounded(0.0, [1.0, 1.0, 1.0, 0.06], [Group([2, 3], 0.3)]), 2),  # which is full
        ([10, 5, 3, 1], Bounded(0.0, 1.0, [Group([1], 0.32), Group([2, 3], 0.3)]), 3),  # behind by 1.4 and by 2
        ([4, 6, 6, 3], Bounded(0.0, 1.0, [Group([0, 3], 0.5)]), 0),  # H > 1, and the best arm is in the group
        ([20, 6, 7, 7], Bounded(), 1),
        ([20, 6, 7, 7], Bounded(0.0, [1.0, 0.14, 1.0, 1.0]), 0),  # the challenger is full: only the best arm helps
        ([20, 6, 7, 7], Bounded(0.0, [0.45, 0.14, 1.0, 1.0]), 2),  # both are full
        ([10, 5, 4, 0], Bounded(0.0, [1.0, 1.0, 1.0, 0.02]), 2),  # never pulled, but full until trial 25
        ([10, 7, 7, 0], Bounded(0.0, [1.0, 1.0, 1.0, 0.02]), 3),  # at trial 25 it has its turn
        ([9, 2, 2, 2], Bounded(0.0, [0.3, 1.0, 1.0, 1.0]), 1),  # the best arm is full
        ([20, 6, 7, 7], Bounded(groups=[Group([1, 2], ceiling=0.3)]), 0),  # the challenger's group is full
        ([20, 6, 7, 7], Bounded(groups=[Group([1, 2], ceiling=0.35)]), 1),  # 14 of 41 are allowed
        ([20, 6, 7, 7], Bounded(groups=[Group([0, 1], ceiling=0.6)]), 2),  # both are in a group that is full
        ([20, 6, 2, 9], Bounded(groups=[Group([0, 1], ceiling=0.6), Group([3], 0.3)]), 3),  # and another is behind
        ([20, 2, 8, 0], Bounded(groups=[Group([1, 3], ceiling=0.02)]), 2),  # never pulled, but its group is full
        ([5, 6, 6, 3], Bounded(groups=[Group([0, 3], ceiling=0.6)]), 0),  # H > 1
        ([9, 12, 12, 3], Bounded(), 0),  # H > 1
        (
            [9, 12, 12, 3],
            Bounded(groups=[Group([0, 3], ceiling=0.35)]),
            3,
        ),  # over arm 3 it is 1/9: the rest is paid for
        ([9, 3, 3, 22], Bounded([0.0, 0.1, 0.0, 0.0], groups=[Group([0, 1], ceiling=0.2)]), 1),  # floors come first
    ],
)
def test_the_next_arm(assigned: list[int], rates: Bounded, expected: int) -> None:
    assert experiment(assigned, MEANS, FairTopTwo(), rates=rates).ask() == expected


def test_all_groups_full() -> None:
    """Ceilings of sum 1: the arm that is furthest below its own and that of its group."""
    groups = [Group([0, 1], ceiling=0.4), Group([2], ceiling=0.3), Group([3], ceiling=0.3)]
    ident = experiment([2, 2, 3, 3], MEANS, FairTopTwo(), rates=Bounded(0.0, [0.2, 0.9, 0.9, 0.9], groups))
    assert ident.ask() == 1  # the first group may have 0.4 of a trial more, arm 0 only 0.2, and the others 0.3


def test_all_arms_full() -> None:
    """Ceilings of sum 1: the arm that is furthest below its own."""
    ident = experiment([5, 2, 1, 2], MEANS, FairTopTwo(), rates=Bounded(0.0, [0.5, 0.2, 0.1, 0.2]))
    assert ident.ask() == 0


# In the limit


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("kind", [*KINDS, "floors that are ceilings", "full group", "group floors of sum 1"])
@pytest.mark.parametrize(("rule", "trials"), [(FairTopTwo(), 20_000), (TRACKED, 5_000)], ids=["top-two", "tracked"])
def test_shares_become_optimal(kind: str, rule: fb.sampling.SamplingRule, trials: int) -> None:
    """With rewards that are the means: 1/T at the shares is within 2 % of the best within the limits."""
    rng = np.random.default_rng([5, *map(ord, kind)])
    for _ in range(2):
        means = rng.normal(size=int(rng.integers(2, 6)))
        bounds = random_bounds(kind, means.tolist(), rng)
        best = fb.solve(fb.Instance(means, rates=rates_of(bounds)))
        if best.characteristic_time > trials:  # else the trials are too few for any evidence
            means = 30.0 * means
            best = fb.solve(fb.Instance(means, rates=rates_of(bounds)))
        held = identifier(means.size, rule, rates=rates_of(bounds))._experiment
        for _ in range(trials):
            arm = held.assign()
            held.observe(arm, means[arm])
            held.reconsider()
        glr = held.reconsider()[2]
        assert trials / glr <= 1.02 * best.characteristic_time, (means, bounds)


@pytest.mark.parametrize(
    "groups",
    [
        [Group([0, 1, 2, 3], 1.0)],
        [Group([0, 1, 2, 3], 0.99)],
        [Group([0, 1], 0.5), Group([2, 3], 0.5)],
        [Group([0, 3], 0.7), Group([1, 2], 0.3)],
        [Group([0], 0.4), Group([1, 2, 3], 0.6)],
    ],
)
def test_groups_that_hold_all_arms_do_not_starve_the_best(groups: list[Group]) -> None:
    """All groups are at their floors all the time; within the best arm's own the choice is by the evidence."""
    rates = Bounded(groups=groups)
    best = fb.solve(fb.Instance(MEANS, rates=rates))
    held = identifier(4, FairTopTwo(), rates=rates)._experiment
    for _ in range(2000):
        arm = held.assign()
        held.observe(arm, MEANS[arm])
        glr = held.reconsider()[2]
    assert 2000 / glr <= 1.05 * best.characteristic_time
