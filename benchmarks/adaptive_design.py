"""pyssed's mixture adaptive design and DesignBased on one task: ``python benchmarks/adaptive_design.py pyssed 40``.

Two Bernoulli arms, 0.5 and 0.6 (or what is given third, such as 0.5), at most 6,000 trials, an error probability of
5 %. Each library is run on its own, in an environment that has it (``pip install pyssed``), and prints how many runs
decided, their trials, and the time per round. pyssed mixes Thompson sampling with a uniform design at the rate t^-0.24,
just slower than the t^-0.25 that it asks for, and decides when 0 is outside its confidence sequence. DesignBased is
given half of the horizon as its guess of the trials. Both go trial by trial in Python.
"""

import sys
from collections.abc import Callable
from functools import partial
from time import perf_counter

import numpy as np

HORIZON, DELTA = 6_000, 0.05


def with_pyssed(means: tuple[float, float], seed: int) -> tuple[int, int | None]:
    """The rounds, and the arm that was found to be better, if any."""
    import pyssed.mad  # type: ignore[import-not-found]
    from pyssed.bandit import Reward, TSBernoulli  # type: ignore[import-not-found]

    np.random.seed(seed)  # noqa: NPY002 - what pyssed draws from
    pyssed.mad.generator = np.random.default_rng(seed)
    rng = np.random.default_rng(seed + 10**6)
    bandit = TSBernoulli(k=2, control=0, reward=lambda arm: Reward(float(rng.random() < means[arm])))
    design = pyssed.mad.MAD(bandit=bandit, alpha=DELTA, delta=lambda t: 1.0 / t**0.24, t_star=HORIZON)
    for trial in range(1, HORIZON + 1):
        design.pull(early_stopping=True, cs_precision=0.0)
        effect, radius = design._ate[1][-1], design._cs_radius[1][-1]
        if abs(effect) > radius:
            return trial, int(effect > 0.0)
    return HORIZON, None


def with_fairbai(means: tuple[float, float], seed: int) -> tuple[int, int | None]:
    """The same with an Identifier, floors of 0.1."""
    import fairbai as fb

    rng = np.random.default_rng(seed + 10**6)
    stop = fb.stopping.DesignBased.for_trials(HORIZON / 2, DELTA, 2)
    ident = fb.Identifier(2, DELTA, "bernoulli", floors=0.1, stopping=stop, settle=False, seed=seed)
    for trial in range(1, HORIZON + 1):
        drawn = ident.ask_trial()
        ident.tell(drawn, float(rng.random() < means[int(drawn.arm)]))
        if ident.decided:
            return trial, int(ident.recommendation)
    return HORIZON, None


def main(library: str, runs: int, other: float = 0.6) -> None:
    """Run and print."""
    chosen = {"pyssed": with_pyssed, "fairbai": with_fairbai}[library]
    play: Callable[[int], tuple[int, int | None]] = partial(chosen, (0.5, other))
    play(0)  # what is compiled or imported once is not timed
    start = perf_counter()
    found = [play(seed) for seed in range(1, runs + 1)]
    seconds, rounds = perf_counter() - start, np.array([trials for trials, _ in found])
    decided = np.array([arm is not None for _, arm in found])
    wrong = sum(arm == 0 for _, arm in found)
    median = {
        name: np.median(some) if some.size else np.nan for name, some in (("all", rounds), ("d", rounds[decided]))
    }
    print(f"{library}: {decided.sum()} of {runs} decided, {wrong} named the first arm;")
    print(f"median trials: {median['all']:,.0f} of all runs, {median['d']:,.0f} of those that decided;")
    print(f"{1e6 * seconds / rounds.sum():.0f} µs per round")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(float, sys.argv[3:]))
