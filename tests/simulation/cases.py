"""What the tests of simulations share: every rule, family and rate, the rewards of a run, and an Identifier on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np

import fairbai as fb
from fairbai.kernels.loop.runs import draw
from fairbai.kernels.settling.settle import NOT
from fairbai.sampling import (
    LUCB,
    FairTopTwo,
    FairTrackAndStop,
    PosteriorFair,
    SamplingRule,
    TopTwo,
    TrackAndStop,
    UniformFair,
)
from fairbai.sampling.rule import Situation
from fairbai.simulation.scenario import make_scenario
from tests.cases import proved_families

ARRAYS = ("number", "decision_time", "stopping_time", "recommendation", "violation", "pulls", "histogram", "shares")
ARRAYS += ("glr", "guess", "confidence")


@dataclass(frozen=True, eq=False)
class Drifting(SamplingRule):
    """Written in Python: looks at everything that a rule may look at."""

    fairness = "none"
    converges_to = "none"

    def choose(self, situation: Situation) -> int:
        behind = situation.floors * (situation.assigned.sum() + 1.0) - situation.assigned
        if behind.max() > 0.5:
            return int(behind.argmax())
        if situation.observed.min() == 0.0 or situation.uniform < 0.5:
            return int(situation.assigned.argmin())
        return int(situation.means.argmax())


RULES: dict[str, SamplingRule] = {
    "f-tas": FairTrackAndStop(),
    "f-tas from the policy": FairTrackAndStop(start="policy"),
    "f-tas cumulative": FairTrackAndStop("cumulative"),
    "f-tas cumulative from the policy": FairTrackAndStop("cumulative", "policy"),
    "tas": TrackAndStop(),
    "tas cumulative": TrackAndStop("cumulative"),
    "uniform": UniformFair(),
    "uniform from the policy": UniformFair("policy"),
    "posterior fair": PosteriorFair(),
    "fair top-two": FairTopTwo(),
    "fair top-two, margin": FairTopTwo(margin=2.5),
    "top-two": TopTwo(),
    "lucb": LUCB(),
    "lucb, delta": LUCB(delta=1e-3),
    "in Python": Drifting(),
}
MEANS = {"gaussian": [1.5, 0.5, 0.0], "poisson": [1.5, 4.0, 1.0], "exponential": [6.0, 1.0, 0.5]}
FAMILIES: dict[str, tuple[fb.problems.Family, list[float]]] = {
    "gaussian, one variance per arm": (fb.Gaussian([1.0, 0.5, 2.0]), [-0.5, 1.5, 0.0]),
    "gaussian, unknown variances": (fb.Gaussian(None, guess=[1.0, 0.5, 2.0]), [-0.5, 2.5, 0.0]),
    **{family.kind: (family, MEANS.get(family.kind, [0.4, 0.2, 0.9])) for family in proved_families()},
}


def by_rank(means: np.ndarray) -> np.ndarray:
    """Custom rates in Python."""
    return 0.1 + 0.15 * np.argsort(np.argsort(means)) / means.size


@numba.njit
def compiled(means):
    """Custom rates that are compiled: sound for three arms, but for more nonsense when the first mean is large."""
    floors = np.empty(means.size)
    for arm in range(means.size):
        gap = means.max() - means[arm]
        floors[arm] = 0.5 / means.size + 0.4 / means.size / (1.0 + gap * gap)
    if means.size > 3 and means[0] > 1.0:
        if means.size == 4:
            floors[2] = -0.25
        elif means.size == 5:
            floors[1] = np.nan
        elif means.size == 6:
            floors[:] = 0.25
        elif means.size == 7:
            return floors[1:].copy()
        elif means.size == 8:
            floors[:] = (1.0 + 1e-10) / 8.0  # counts as a sum of 1
        elif means.size == 9:
            raise ValueError("my own error")
    return floors


RATES: dict[str, fb.rates.Rate] = {
    "none": fb.rates.Constant(),
    "constant": fb.rates.Constant(0.2),
    "constant, one an arm": fb.rates.Constant([0.0, 0.15, 0.6]),
    "proportional": fb.rates.Proportional(0.7),
    "softmax": fb.rates.Softmax(0.8, temperature=0.5),
    "inverse gap": fb.rates.InverseGap(0.8),
    "gap": fb.rates.Gap(0.7),
    "custom": fb.rates.Custom(by_rank),
    "bounded": fb.rates.Bounded(0.1, [0.5, 0.4, 1.0], [fb.rates.Group([0, 1], floor=0.5)]),
}


def rewards_of(
    instance: fb.Instance, seed: int, run: int = 0, drift: fb.drifts.Drift | None = None
) -> Callable[[int, int], float]:
    """The reward of an arm in a round (from 0) of a run, in the unit of the rewards."""
    codes = np.array([instance.oriented.code, 0, 0, 0, 0, 0, -1, seed, run], dtype=np.int64)
    task = make_scenario(instance, 0.1, None, None, False, 0, 1, drift=drift).task(np.zeros(1), (NOT, 0.0))
    return lambda number, arm: float(draw(codes, task, run, number, arm))


class Path(NamedTuple):
    """What an Identifier did: its arms, the trials until its decision (-1 if there is none), and the GLR after each."""

    ident: fb.Identifier
    arms: list[int]
    decided: int
    glr: list[float]


def follow(instance: fb.Instance, most: int, seed: int, run: int = 0, watch: bool = False, **settings: Any) -> Path:
    """An Identifier that is told the rewards of a run, for at most ``most`` trials and those of settling."""
    drift = settings.pop("drift", None)
    ident = fb.Identifier(instance.means.size, family=instance.family, rates=instance.rates, seed=seed, **settings)
    ident._experiment.codes[-1] = run  # of its seed the stream of another run
    reward = rewards_of(instance, seed, run, drift)
    arms: list[int] = []
    glr: list[float] = []
    decided = -1
    while not ident.stopped and (ident.decided or len(arms) < most):
        arms.append(ident.ask())
        ident.tell(arms[-1], instance.oriented.in_units(reward(len(arms) - 1, arms[-1])))
        if decided < 0:
            if watch:
                glr.append(ident.status().glr)
            if ident.decided:
                decided = len(arms)
    return Path(ident, arms, decided, glr)


def arms_of(runs: fb.Runs, row: int) -> list[int]:
    """The arms of a run whose every round was traced, one after the other."""
    counts = np.rint(runs.shares[row] * np.array(runs.trace_rounds)[:, None])
    counts = counts[~np.isnan(counts[:, 0])]
    steps = np.diff(counts, axis=0, prepend=0.0)
    assert (steps.sum(axis=1) == 1.0).all()
    return [int(arm) for arm in steps.argmax(axis=1)]


def assert_same(one: fb.Runs, other: fb.Runs) -> None:
    """Every number of the runs, to the last bit."""
    for name in ("deltas", "best_arms", "lower_bounds", "proved", "trace_rounds"):
        assert getattr(one, name) == getattr(other, name), name
    for name in ARRAYS:
        first, second = getattr(one, name), getattr(other, name)
        assert first.dtype == second.dtype, name
        np.testing.assert_array_equal(first, second, err_msg=name, strict=True)
