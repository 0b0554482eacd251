"""pyssed's mixture adaptive design and DesignBased on one task: ``python benchmarks/adaptive_design.py pyssed 40``.

Two Bernoulli arms, 0.5 and 0.6, at most 6,000 trials, an error probability of 5 %. Each library is run on its own, in
an environment that has it (``pip install pyssed``), and prints the share of runs that decided, their trials, and the
time per round. pyssed mixes Thompson sampling with a uniform design at the rate t^-0.24, as in its own examples, and
stops when 0 is outside its confidence sequence; DesignBased is given half of the horizon as its guess of the trials.
Both go trial by trial in Python; the compiled loop of fairbai is in the suites.
"""

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

MEANS, HORIZON, DELTA = (0.5, 0.6), 6_000, 0.05


def with_pyssed(seed: int) -> tuple[int, int | None]:
    """The rounds, and the arm that was found to be better, if any."""
    import pyssed.mad  # type: ignore[import-not-found]
    from pyssed.bandit import Reward, TSBernoulli  # type: ignore[import-not-found]

    np.random.seed(seed)  # noqa: NPY002 - what pyssed draws from
    pyssed.mad.generator = np.random.default_rng(seed)
    rng = np.random.default_rng(seed + 10**6)
    bandit = TSBernoulli(k=2, control=0, reward=lambda arm: Reward(float(rng.random() < MEANS[arm])))
    design = pyssed.mad.MAD(bandit=bandit, alpha=DELTA, delta=lambda t: 1.0 / t**0.24, t_star=HORIZON)
    for trial in range(1, HORIZON + 1):
        design.pull(early_stopping=True, cs_precision=0.0)
        effect, radius = design._ate[1][-1], design._cs_radius[1][-1]
        if abs(effect) > radius:
            return trial, int(effect > 0.0)
    return HORIZON, None


def with_fairbai(seed: int) -> tuple[int, int | None]:
    """The same with an Identifier, floors of 0.1."""
    import fairbai as fb

    rng = np.random.default_rng(seed + 10**6)
    stop = fb.stopping.DesignBased.for_trials(HORIZON / 2, DELTA, 2)
    ident = fb.Identifier(2, DELTA, "bernoulli", rates=0.1, stopping=stop, settle=False, seed=seed)
    for trial in range(1, HORIZON + 1):
        drawn = ident.ask_trial()
        ident.tell(drawn, float(rng.random() < MEANS[int(drawn.arm)]))
        if ident.decided:
            return trial, int(ident.recommendation)
    return HORIZON, None


def main(library: str, runs: int) -> None:
    """Run and print."""
    play: Callable[[int], tuple[int, int | None]] = {"pyssed": with_pyssed, "fairbai": with_fairbai}[library]
    play(0)  # what is compiled or imported once is not timed
    start = perf_counter()
    found = [play(seed) for seed in range(1, runs + 1)]
    seconds, rounds = perf_counter() - start, np.array([trials for trials, _ in found])
    decided = np.array([arm is not None for _, arm in found])
    wrong = sum(arm == 0 for _, arm in found)
    print(
        f"{library}: {decided.sum()} of {runs} decided, {wrong} wrong; median of all {np.median(rounds):,.0f} trials, ",
        end="",
    )
    print(f"of the decided {np.median(rounds[decided]):,.0f}; {1e6 * seconds / rounds.sum():.0f} µs per round")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
