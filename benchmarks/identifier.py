"""Ask and tell: how fast a live experiment answers, against its peers."""

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from time import perf_counter_ns
from typing import Any

import numpy as np

import fairbai as fb
from benchmarks.measure import Ratio, sized

SEED = 3
ROUNDS = sized(5, 1)
NEVER = 1e-300  # a delta that no run reaches

Step = Callable[[float], tuple[int, int, int]]
"""Runs one trial with this reward; returns the clock before ask, between ask and tell, and after tell."""


def suite() -> Iterator[Ratio]:
    """The Identifier, called from Python, one trial at a time.

    Every call is timed separately, clock included (about 0.1 µs), with the garbage collector off: 5,000 trials (2,000
    at K = 1,000, 500 of Optuna) in five rounds, in which we and the peers take turns. Rewards are 0 or 1 with equal
    probability for all arms, so that all arms stay in play, which is the hardest case for a rule. Floors are 0.5 / K
    per arm. A reward updates the estimates, the evidence and the stopping rule (and for F-TaS, the optimal allocation);
    no peer does as much: they have no floors and no stopping rule.

    Optuna's study is in memory, with its random sampler and one categorical parameter, which is what it offers for a
    choice between K options: `ask`, `suggest_categorical` and `tell`. River's policies are its UCB and epsilon-greedy,
    `pull` and `update`.
    """
    optuna, bandit = peer("optuna"), peer("river", "river.bandit")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield from _ten_arms(optuna, bandit)
    yield from _thousand_arms(bandit)


def _ten_arms(optuna: Any, bandit: Any) -> Iterator[Ratio]:
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=SEED))
    names = {"optuna": f"Optuna {version('optuna')}", "river": f"river {version('river')}"}
    ours = {
        "FairTopTwo, Gaussian": _ours(10, fb.Gaussian(), fb.sampling.FairTopTwo()),
        "FairTopTwo, Bernoulli": _ours(10, fb.Bernoulli(), fb.sampling.FairTopTwo()),
        "F-TaS, Gaussian": _ours(10, fb.Gaussian(), fb.sampling.FairTrackAndStop()),
        "F-TaS, Bernoulli": _ours(10, fb.Bernoulli(), fb.sampling.FairTrackAndStop()),
    }
    peers = {
        "ucb": _river(10, bandit.UCB(delta=1.0, seed=SEED)),
        "greedy": _river(10, bandit.EpsilonGreedy(epsilon=0.1, seed=SEED)),
        "optuna": _optuna(10, study),
    }
    counts = dict.fromkeys([*ours, *peers], 5000) | {"optuna": 500}
    times = _in_turns({**ours, **peers}, counts, warm=500)
    for name in ours:
        own = times[name]
        promised = name.startswith("FairTopTwo")
        yield _at_most(
            f"ask, K = 10, {name}, median", own.ask(), f"{names['river']} UCB, pull", times["ucb"].ask(), 5e-6, promised
        )
        yield _at_most(
            f"tell, K = 10, {name}, median",
            own.tell(),
            f"{names['river']} UCB, update",
            times["ucb"].tell(),
            10e-6,
            promised,
        )
    own = times["FairTopTwo, Gaussian"]
    for peer, label in (
        ("optuna", f"{names['optuna']}, ask + suggest + tell"),
        ("ucb", f"{names['river']} UCB, pull + update"),
        ("greedy", f"{names['river']} epsilon-greedy, pull + update"),
    ):
        yield _beside("ask + tell, K = 10, FairTopTwo, Gaussian, median", own.both(), label, times[peer].both())


def _thousand_arms(bandit: Any) -> Iterator[Ratio]:
    ours = {
        f"{name}, {type(family).__name__}": _ours(1000, family, rule)
        for family in (fb.Gaussian(), fb.Bernoulli())
        for name, rule in (("FairTopTwo", fb.sampling.FairTopTwo()), ("F-TaS", fb.sampling.FairTrackAndStop()))
    }
    peers = {"ucb": _river(1000, bandit.UCB(delta=1.0, seed=SEED))}
    times = _in_turns({**ours, **peers}, dict.fromkeys([*ours, *peers], 2000), warm=2000)
    label = f"river {version('river')} UCB, pull"
    for name in ours:
        what = f"ask, K = 1,000, {name}, 99th percentile"
        yield _at_most(what, times[name].ask(99), label, times["ucb"].ask(99), 50e-6, True)
    for name in ours:
        what = f"ask + tell, K = 1,000, {name}, median"
        yield _beside(what, times[name].both(), label + " + update", times["ucb"].both())


@dataclass
class Times:
    """The times of single calls, in nanoseconds."""

    asks: list[int] = field(default_factory=list)
    tells: list[int] = field(default_factory=list)

    def ask(self, percentile: float = 50.0) -> float:
        return float(np.percentile(self.asks, percentile)) * 1e-9

    def tell(self) -> float:
        return float(np.median(self.tells)) * 1e-9

    def both(self) -> float:
        return float(np.median(np.add(self.asks, self.tells))) * 1e-9


def _ours(arms: int, family: fb.Gaussian | fb.Bernoulli, rule: fb.sampling.SamplingRule) -> Step:
    ident = fb.Identifier(arms, NEVER, family=family, floors=0.5 / arms, sampling=rule, seed=SEED)

    def step(reward: float) -> tuple[int, int, int]:
        start = perf_counter_ns()
        arm = ident.ask()
        middle = perf_counter_ns()
        ident.tell(arm, reward)
        return start, middle, perf_counter_ns()

    return step


def _river(arms: int, policy: Any) -> Step:
    choices = list(range(arms))

    def step(reward: float) -> tuple[int, int, int]:
        start = perf_counter_ns()
        arm = policy.pull(choices)
        middle = perf_counter_ns()
        policy.update(arm, reward)
        return start, middle, perf_counter_ns()

    return step


def _optuna(arms: int, study: Any) -> Step:
    choices = list(range(arms))

    def step(reward: float) -> tuple[int, int, int]:
        start = perf_counter_ns()
        trial = study.ask()
        trial.suggest_categorical("arm", choices)
        middle = perf_counter_ns()
        study.tell(trial, reward)
        return start, middle, perf_counter_ns()

    return step


def _in_turns(steps: dict[str, Step], counts: dict[str, int], warm: int) -> dict[str, Times]:
    """The times of each step; each runs part of its trials in every round, after ``warm`` trials that do not count."""
    counts = {name: sized(count, 10) for name, count in counts.items()}
    streams = {name: iter(_rewards(warm + counts[name])) for name in steps}
    times = {name: Times() for name in steps}
    for name, step in steps.items():
        for _ in range(warm):
            step(next(streams[name]))
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for name, step in steps.items():
                for _ in range(counts[name] // ROUNDS):
                    start, middle, end = step(next(streams[name]))
                    times[name].asks.append(middle - start)
                    times[name].tells.append(end - middle)
    finally:
        gc.enable()
    return times


def _rewards(count: int) -> list[float]:
    return np.random.default_rng(SEED).integers(0, 2, count).astype(float).tolist()


def _at_most(what: str, ours: float, peer: str, theirs: float, limit: float, promised: bool) -> Ratio:
    target, met = (f"at most {limit * 1e6:.0f} µs", ours <= limit) if promised else ("", None)
    return Ratio(what, ours, peer, theirs, _compared(ours, theirs), target, met)


def _beside(what: str, ours: float, peer: str, theirs: float) -> Ratio:
    return Ratio(what, ours, peer, theirs, _compared(ours, theirs))


def _compared(ours: float, theirs: float) -> str:
    return f"{theirs / ours:.3g}x faster" if ours <= theirs else f"{ours / theirs:.3g}x the time"


def peer(package: str, module: str | None = None) -> Any:
    try:
        return import_module(module or package)
    except ImportError as error:
        raise SystemExit(f"the benchmarks compare with {package}: pip install {package} ({error})") from None
