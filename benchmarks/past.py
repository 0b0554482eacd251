"""Past the paper: the cost of proofs, margins, limits and edge nodes, per trial."""

from collections.abc import Callable, Iterator
from functools import partial

import joblib
import numpy as np

import fairbai as fb
from benchmarks.measure import Ratio, best_of, sized, slower

ARMS = 10
RUNS = sized(400, 2)
FEW = sized(20, 1)  # of rules that solve at every trial, or take many trials
SEED = 5
DELTA = 0.1


def suite() -> Iterator[Ratio]:
    """A trial with each feature that goes past the paper, against a trial without it.

    Ten arms with means from 0 to 4 (0.2 to 0.6 for Bernoulli arms), floors of 0.05, fair top-two, delta = 0.1, in the
    compiled loop on one thread. A time is that of 400 whole runs (20 of the design-based stop with another rule than
    its default) divided by all their trials; both sides of a row take turns, best of six. A rule that stops later
    therefore has longer runs, but not more expensive trials.
    """
    heuristic = fb.stopping.Heuristic()
    proved = fb.stopping.Mixture()
    for name, instance in _instances().items():
        base = partial(fb.simulate, instance, stopping=heuristic)
        yield _row(f"the proved stop (Mixture), {name}", partial(base, stopping=proved), "the heuristic", base)
    yield from _drift_proof()
    gaussian, learned, bounded = _instances()["Gaussian"], _learned(), _bounded()
    base = partial(fb.simulate, gaussian, stopping=heuristic)
    yield _row("a ceiling and two groups", partial(fb.simulate, bounded, stopping=heuristic), "floors alone", base)
    margin = fb.Settling(margin=1.0)
    plain = partial(fb.simulate, learned, stopping=heuristic, settle=True)
    yield _row("settling with a margin, learned floors", partial(plain, settle=margin), "settling", plain)
    for batch in (1, 10, 100):
        edges = partial(fb.simulation.simulate_edges, gaussian, stopping=heuristic, batch=batch, nodes=4)
        yield _row(f"4 edge nodes, reports every {batch} trials", edges, "no nodes", base)


def _drift_proof() -> Iterator[Ratio]:
    """The design-based stop against the mixture: each with its default rule, and both with the same rule that draws."""
    instance = _instances()["Bernoulli"]
    stop, mixture = fb.stopping.DesignBased.for_instance(instance, DELTA), fb.stopping.Mixture()
    base = partial(fb.simulate, instance, stopping=mixture)
    default = partial(fb.simulate, instance, stopping=stop)
    yield _row("DesignBased and its default rule, Bernoulli", default, "Mixture and fair top-two", base, at_most=3.0)
    rules = {
        "sampled F-TaS": fb.sampling.FairTrackAndStop(tracking="sampled", start="policy"),
        "uniform fair": fb.sampling.UniformFair(start="policy"),
    }
    for name, rule in rules.items():
        ours, theirs = partial(default, sampling=rule), partial(base, sampling=rule)
        yield _row(f"DesignBased and {name}, Bernoulli", ours, f"Mixture and {name}", theirs, at_most=3.0, runs=FEW)


def _instances() -> dict[str, fb.Instance]:
    floors = fb.rates.Constant(0.5 / ARMS)
    return {
        "Gaussian": fb.Instance(np.linspace(0.0, 4.0, ARMS), floors=floors),
        "Bernoulli": fb.Instance(np.linspace(0.2, 0.6, ARMS), fb.Bernoulli(), floors=floors),
    }


def _learned() -> fb.Instance:
    return fb.Instance(np.linspace(0.0, 4.0, ARMS), rates=fb.rates.InverseGap(0.5))


def _bounded() -> fb.Instance:
    halves = [fb.rates.Group(list(range(5)), 0.3), fb.rates.Group(list(range(5, ARMS)), 0.3)]
    return fb.Instance(np.linspace(0.0, 4.0, ARMS), floors=fb.rates.Bounded(0.5 / ARMS, 0.4, halves))


def _row(
    what: str,
    ours: Callable[..., fb.Runs],
    peer: str,
    theirs: Callable[..., fb.Runs],
    at_most: float | None = None,
    runs: int = RUNS,
) -> Ratio:
    calls = [partial(call, deltas=DELTA, runs=runs, seed=SEED) for call in (ours, theirs)]
    with joblib.parallel_config(n_jobs=1):
        trials = [int(call().stopping_time.sum()) for call in calls]
        seconds = best_of(calls, rounds=2)
    one, other = (time / number for time, number in zip(seconds, trials, strict=True))
    return slower(f"a trial with {what}", one, f"with {peer}", other, at_most)
