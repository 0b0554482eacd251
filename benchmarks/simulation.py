"""Simulated runs: the cost of a round, against peers."""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache, cached_property, partial
from time import perf_counter, process_time

import joblib
import numpy as np
from numpy.typing import NDArray

import fairbai as fb
from benchmarks import cvxpy_ftas, numpy_ftas
from benchmarks.measure import QUICK, Ratio, best_of, duration, faster, sized, slower
from fairbai.experiment.experiment import Experiment
from fairbai.kernels import state as rows
from fairbai.reproduction.scenarios import table_scenarios
from fairbai.simulation.scenario import Scenario, make_scenario

Floats = NDArray[np.float64]

SEED = 5
DELTA = 0.1
RUNS = sized(400, 4)
COLUMNS = sized((1000, 4000, 16_000), (10, 20))
AGREEMENT = 1e-4
STEADY = sized(300, 20)  # rounds: about the length of a run
TABLE_RUNS, THREAD_RUNS = sized((100, 30_000), (1, 100))
SIZES, ROUNDS = sized(((10, 100, 1000, 10_000), 500), ((10, 100), 5))
NEVER = 1e-300  # a delta that no run reaches


def suite() -> Iterator[Ratio]:
    """Runs of F-TaS and of fair top-two, from the first pull to the stop.

    The instance is the first of the paper's Table I unless a row says otherwise: ten Gaussian arms with means from 0 to
    4, known floors with p0 = 0.9 and alpha = 0.9, the heuristic threshold, delta = 0.1. A round includes everything:
    choose an arm, draw a reward, update, solve for the optimal allocation, test for the stop. The time of a round is
    that of whole runs (400 of ours, in one chunk on one thread, including the result), divided by all their rounds.
    Ours and the peers take turns in one process, best of six in two rounds of turns.

    The CVXPY peer is the loop that most people would write, around the problem as the paper states it, for one whole
    run. A second one compiles the problem once and sets parameters, in the fastest form that we found. Both are first
    compared with `fb.solve`: a share that differs by more than 1e-4 stops the suite.

    The NumPy peer advances many runs in lockstep, as columns of arrays. It uses our own search for the optimal
    allocation, warm start included, to a relative accuracy of 1e-8 (ours: 1e-11), and replaces every run that stops by
    a new one, so that its arrays stay full; single rounds are timed, after 300 rounds or more. It is measured with
    1,000, 4,000 and 16,000 runs at a time; the target is set against the fastest of these. Its shares are compared with
    `fb.solve_batch` and its mean stopping time with ours: more than 1e-4 or four standard errors stop the suite.

    Both tables of the paper: eight settings, three rules, three deltas, 100 runs each, on all cores, with compiled
    kernels. The cost of more arms: standard normal means, floors of 0.5 / K, 20 rewards per arm; then 500 rounds (and
    more runs where there are few arms), each row against ten arms.
    """
    yield from a_round()
    yield both_tables()
    yield two_threads()
    for rule in (fb.sampling.FairTopTwo(), fb.sampling.FairTrackAndStop()):
        yield from more_arms(rule)


@cache
def instance() -> fb.Instance:
    means = np.linspace(0.0, 4.0, 10)
    return fb.Instance(means, floors=fb.rates.blended(fb.Instance(means), 0.9, 0.9))


def a_round() -> Iterator[Ratio]:
    """F-TaS against its peers, and fair top-two against F-TaS."""
    ftas, top_two = _ours(fb.sampling.FairTrackAndStop()), _ours(fb.sampling.FairTopTwo())
    once = cvxpy_ftas.CompiledOnce(10)
    for solve in (cvxpy_ftas.written_anew, once):
        _same_shares(solve)
    peers = [numpy_ftas.Runs(instance().means, instance().floors, DELTA, columns, SEED) for columns in COLUMNS]
    _same_stopping_time(peers[0].first_times())
    for peer in peers[1:]:
        for _ in range(STEADY):
            peer.step()
    for peer in peers:
        _same_shares_in_numpy(peer)
    calls = [partial(setting.simulate, 0, RUNS) for setting in (ftas, top_two)]
    calls += [peer.step for peer in peers]
    calls += [partial(_cvxpy_run, solve) for solve in (cvxpy_ftas.written_anew, once)]
    numbers = [int(call().decision_time.sum()) for call in calls[:2]]
    numbers += [*COLUMNS, _cvxpy_run(once), _cvxpy_run(once)]
    times = best_of(calls, rounds=2)
    ours, theirs, *vectorised, anew, compiled = (time / number for time, number in zip(times, numbers, strict=True))
    what = "a round of F-TaS, K = 10, in the compiled loop"
    yield faster(what, ours, "CVXPY with Clarabel, a loop in Python", anew, at_least=20_000)
    yield faster(what, ours, "the same, the problem compiled once (DPP)", compiled)
    best = int(np.argmin(vectorised))
    yield faster(what, ours, f"NumPy, {COLUMNS[best]:,} runs at a time", vectorised[best], at_least=5)
    for columns, time in zip(COLUMNS, vectorised, strict=True):
        if columns != COLUMNS[best]:
            yield faster(what, ours, f"NumPy, {columns:,} runs at a time", time)
    ratio, limit = theirs / ours, 0.5
    what = "a round of FairTopTwo, K = 10, in the compiled loop"
    yield Ratio(what, theirs, "F-TaS", ours, f"{ratio:.3g}x the time", f"at most {limit}x", ratio <= limit)


def both_tables() -> Ratio:
    """All cells of the paper's two results tables; the peer is one thread."""
    limit = 10.0
    rules = (fb.sampling.FairTrackAndStop(), fb.sampling.TrackAndStop(), fb.sampling.UniformFair())

    def simulate(runs: int) -> int:
        return sum(
            int(
                fb.simulate(one.instance, [0.1, 0.01, 0.001], rule, fb.stopping.Heuristic(), runs=runs, seed=SEED)
                .decision_time.max(axis=1)
                .sum()
            )
            for one in table_scenarios()
            for rule in rules
        )

    simulate(1)
    ours, theirs = _in_turns([partial(simulate, TABLE_RUNS), _on(1, partial(simulate, TABLE_RUNS))], repeats=2)
    ratio = f"{theirs / ours:.3g}x faster"
    return Ratio(
        f"both tables of the paper, {TABLE_RUNS} runs per cell, all cores",
        ours,
        "the same on one thread",
        theirs,
        ratio,
        f"at most {duration(limit)}",
        ours <= limit,
    )


def two_threads() -> Ratio:
    """The speedup from a second thread."""
    at_least = 1.7
    call = partial(
        fb.simulate,
        instance(),
        DELTA,
        fb.sampling.FairTrackAndStop(),
        fb.stopping.Heuristic(),
        runs=THREAD_RUNS,
        seed=SEED,
    )
    one, two = _on(1, call), _on(2, call)
    start, spent = perf_counter(), process_time()
    one()
    busy = (process_time() - spent) / (perf_counter() - start)
    if busy > 1.2 and not QUICK:
        raise RuntimeError(f"one thread was to work, but {busy:.1f} cores were busy")
    theirs, ours = _in_turns([one, two], repeats=3)
    ratio = theirs / ours
    what = f"F-TaS, K = 10, {THREAD_RUNS:,} runs on two threads"
    target = f"at least {at_least}x"
    return Ratio(what, ours, "the same on one thread", theirs, f"{ratio:.3g}x faster", target, ratio >= at_least)


def more_arms(rule: fb.sampling.SamplingRule) -> Iterator[Ratio]:
    """The cost of a round at ten times as many arms."""
    counts = [max(1, sized(1000, 10) // arms) for arms in SIZES]
    settings = [_begun(arms, rule, ROUNDS) for arms in SIZES]
    calls = [partial(setting.simulate, 0, count) for setting, count in zip(settings, counts, strict=True)]
    times = best_of(calls, rounds=2)
    costs = [time / (ROUNDS * count) for time, count in zip(times, counts, strict=True)]
    name = type(rule).__name__
    for arms, cost in zip(SIZES[1:], costs[1:], strict=True):
        what = f"a round of {name}, K = {arms:,}"
        yield slower(what, cost, "the same at K = 10", costs[0], at_most=arms / 10)


class Begun(Scenario):
    """A setting whose runs begin when every arm has 20 rewards."""

    @cached_property
    def _begun(self) -> Experiment:
        begun, count = super().experiment(), 20
        rng = np.random.default_rng(SEED)
        begun.state[[rows.ASSIGNED, rows.OBSERVED]] = count
        begun.state[rows.SUM] = count * self.instance.means + math.sqrt(count) * rng.standard_normal(begun.policy.size)
        begun.recount()
        begun.reconsider()
        return begun

    def experiment(self, run: int = 0) -> Experiment:
        """A copy, because the loop changes it."""
        return deepcopy(self._begun)


def _begun(arms: int, rule: fb.sampling.SamplingRule, rounds: int) -> Begun:
    means = np.random.default_rng([SEED, arms]).standard_normal(arms)
    one = fb.Instance(means, floors=0.5 / arms)
    return Begun(one, (NEVER,), rule, fb.stopping.Heuristic(), False, SEED, 20 * arms + rounds, False, ())


def _ours(rule: fb.sampling.SamplingRule) -> Scenario:
    return make_scenario(instance(), DELTA, rule, fb.stopping.Heuristic(), False, SEED, 1_000_000)


def _cvxpy_run(solve: cvxpy_ftas.Solver) -> int:
    return cvxpy_ftas.one_run(solve, instance().means, instance().floors, DELTA, SEED)[0]


def _on(threads: int, call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        with joblib.parallel_config(n_jobs=threads):
            call()

    return run


def _in_turns(calls: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Seconds of long calls that are already compiled: the best of ``repeats`` turns."""
    best = [math.inf] * len(calls)
    for _ in range(sized(repeats, 1)):
        for index, call in enumerate(calls):
            start = perf_counter()
            call()
            best[index] = min(best[index], perf_counter() - start)
    return best


def _same_shares(solve: cvxpy_ftas.Solver) -> None:
    rng = np.random.default_rng(SEED)
    for pulls in (1, 3, 10, 30, 100):
        means = instance().means + rng.standard_normal(10) / math.sqrt(pulls)
        ours = fb.solve(fb.Instance(means, floors=instance().rates)).weights
        _agree(ours, solve(means, instance().floors))


def _same_shares_in_numpy(peer: numpy_ftas.Runs) -> None:
    means = np.ascontiguousarray(peer.means.T)
    floors = np.broadcast_to(instance().floors, means.shape)
    _agree(fb.solve_batch(means, np.ascontiguousarray(floors)).weights, peer.shares().T)


def _agree(ours: Floats, theirs: Floats) -> None:
    if not np.abs(ours - theirs).max() <= AGREEMENT:
        raise ArithmeticError(f"the shares of the peer differ by {np.abs(ours - theirs).max()} from ours")


def _same_stopping_time(theirs: Floats) -> None:
    ours = _ours(fb.sampling.FairTrackAndStop()).simulate(0, sized(10_000, 100)).decision_time[:, 0]
    error = math.sqrt(ours.var() / ours.size + theirs.var() / theirs.size)
    if abs(ours.mean() - theirs.mean()) > 4.0 * error:
        raise ArithmeticError(f"the peer stops after {theirs.mean()} rounds on average, and we after {ours.mean()}")
