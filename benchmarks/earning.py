"""Rules that earn while they learn: the cost of a round of each, and the regret of Thompson sampling."""

import random
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import fairbai as fb
from benchmarks.identifier import peer
from benchmarks.measure import Ratio, best_of, sized, slower
from fairbai.simulation.scenario import Scenario, make_scenario

Floats = NDArray[np.float64]

RULES = (
    fb.sampling.FairThompson(),
    fb.sampling.FairUCB(),
    fb.sampling.StrictQuota(),
    fb.sampling.StochasticQuota(),
    fb.sampling.VirtualQueues(),
    fb.sampling.ConstrainedEpsilonGreedy(),
    fb.sampling.ConstrainedLP(),
    fb.sampling.MeritocraticChain(),
    fb.sampling.ProportionalCatchUp(),
    fb.sampling.ExposureFair(),
)
INSTANCES = {  # the means, and as many runs of the peer as its interval needs; each takes about 10 ms
    "means 0.5 and 0.4": ([0.5, 0.4], sized(8_000, 10)),
    "means 0.1, 0.2, ..., 0.9": ([round(0.1 * tenth, 1) for tenth in range(1, 10)], sized(2_000, 10)),
    "means 0.05, 0.04, 0.03, 0.03, 0.02": ([0.05, 0.04, 0.03, 0.03, 0.02], sized(1_000, 10)),
}
SEED = 5
NEVER = 1e-300  # a delta that no run reaches
ROUNDS = sized(1000, 20)
OURS = sized(30_000, 100)  # runs
LIMIT = 0.05  # by which the regret may differ, with its interval


def suite() -> Iterator[Ratio]:
    """A round of each rule against one of fair top-two; and the regret of Thompson sampling.

    Rounds: 50 runs of 1,000 rounds in the compiled loop on one thread, with ten arms whose means are 0.2 to 0.6
    (Bernoulli) or 0 to 4 (Gaussian), and floors of 0.05; all rules take turns, best of six. A round is everything:
    choose an arm, draw a reward, test for the stop.

    Regret: `FairThompson` without floors against `river.bandit.ThompsonSampling` with the same prior, Beta(1, 1), on
    Bernoulli arms over 1,000 rounds: the trials of every arm times its gap, averaged over 30,000 runs of ours and 1,000
    to 8,000 of river's, whose rewards another generator draws. The interval is that of two standard errors of the
    ratio, and must lie within 5 % as a whole.
    """
    for name, instance in _instances().items():
        yield from _rounds(name, instance)
    yield from _regrets()


def _instances() -> dict[str, fb.Instance]:
    floors = fb.rates.Constant(0.05)
    return {
        "Bernoulli": fb.Instance(np.linspace(0.6, 0.2, 10), "bernoulli", floors),
        "Gaussian": fb.Instance(np.linspace(4.0, 0.0, 10), fb.Gaussian(1.0), floors),
    }


def _scenario(instance: fb.Instance, rule: fb.sampling.SamplingRule) -> Scenario:
    return make_scenario(instance, NEVER, rule, fb.stopping.Heuristic(), False, SEED, ROUNDS)


def _rounds(name: str, instance: fb.Instance) -> Iterator[Ratio]:
    runs = sized(50, 2)
    rules = (fb.sampling.FairTopTwo(), *RULES)
    times = best_of([partial(_scenario(instance, rule).simulate, 0, runs) for rule in rules], rounds=2)
    base, *others = (time / (runs * ROUNDS) for time in times)
    for rule, time in zip(RULES, others, strict=True):
        yield slower(f"a round of {type(rule).__name__}, {name}, K = 10", time, "FairTopTwo", base)


def _regrets() -> Iterator[Ratio]:
    peer("river")
    for name, (given, runs) in INSTANCES.items():
        means = np.array(given)
        ours = _regret(means)
        run = joblib.delayed(_peers_regret)
        theirs = np.array(joblib.Parallel(n_jobs=-1)(run(means, seed) for seed in range(runs)))
        ratio, error = _ratio(ours, theirs)
        yield Ratio(
            f"regret of FairThompson, {name}",
            ours.mean(),
            f"river {version('river')} ThompsonSampling",
            theirs.mean(),
            f"{ratio:.3f} ± {2.0 * error:.3f} of the regret",
            f"within {LIMIT:.0%}",
            abs(ratio - 1.0) + 2.0 * error <= LIMIT,
            "{:.2f}".format,
        )


def _regret(means: Floats) -> Floats:
    """The regret of our runs."""
    rules = fb.sampling.FairThompson(), fb.stopping.Heuristic()
    options = {"runs": OURS, "seed": SEED, "maximum_rounds": ROUNDS}
    runs = fb.simulate(fb.Instance(means, "bernoulli"), NEVER, *rules, **options)
    found: Floats = runs.pulls[:, 0] @ (means.max() - means)
    return found


def _ratio(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """The ratio of two means, and its standard error."""
    ratio = ours.mean() / theirs.mean()
    parts = [one.var(ddof=1) / one.size / one.mean() ** 2 for one in (ours, theirs)]
    return float(ratio), float(ratio * np.sqrt(sum(parts)))


def _peers_regret(means: Floats, seed: int) -> float:
    """The regret of one run of the peer."""
    policy: Any = _policy(seed)
    rng, gaps, lost = random.Random(10_000 + seed), means.max() - means, 0.0
    for _ in range(ROUNDS):
        arm = policy.pull(range(means.size))
        policy.update(arm, float(rng.random() < means[arm]))
        lost += float(gaps[arm])
    return lost


def _policy(seed: int) -> Any:
    from river import bandit, proba

    return bandit.ThompsonSampling(reward_obj=proba.Beta(1, 1), seed=seed)
