"""Claims of the related work that can be checked by simulation, on one instance with Bernoulli arms."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from fairbai.problems import Instance
from fairbai.problems.checks import Array
from fairbai.sampling import (
    ConstrainedEpsilonGreedy,
    ExposureFair,
    FairUCB,
    MeritocraticChain,
    ProportionalCatchUp,
    SamplingRule,
    StochasticQuota,
    StrictQuota,
    VirtualQueues,
)
from fairbai.simulation import Runs, simulate
from fairbai.stopping import Heuristic

MEANS, FLOOR = (0.8, 0.6, 0.5, 0.2), 0.1
LOW_FLOOR = 0.002  # at which floors alone do not teach enough, so that a rule has to forgo something
SHORT, TRIALS, LONG = 1_000, 4_000, 32_000
NOISE = 4.0  # standard errors
CLOSER = 0.5  # by how much from SHORT to LONG: 1/√32 = 0.18 without the logarithms; runs show 0.33 ± 0.03
NEVER = 1e-300  # a delta at which no run stops
ETA, STEEP = VirtualQueues().eta, 100.0  # at the default, the bound of the regret is above that of equal shares
IN_A_ROW = 40  # trials of an arm between two of another that is drawn as often: the probability is 2^-40
OUTCOMES = np.array(list(itertools.product((0.0, 1.0), repeat=len(MEANS))))  # of one reward per arm
HIGHEST = np.where(OUTCOMES.any(axis=1, keepdims=True), OUTCOMES, 1.0)
HIGHEST /= HIGHEST.sum(axis=1, keepdims=True)  # by outcome: the probability that an arm is taken, ties at random


def played(
    rule: SamplingRule, runs: int, seed: int, rounds: Sequence[int] = range(1, TRIALS + 1), floor: float = FLOOR
) -> tuple[Runs, Array]:
    """Runs that never stop, and the trials of every arm (last axis) after every one of these rounds (second axis)."""
    instance = Instance(MEANS, "bernoulli", floor)
    last = rounds[-1]
    found = simulate(instance, NEVER, rule, Heuristic(), False, runs, seed, last, trace=rounds, progress=False)
    return found, np.rint(found.shares * np.array(rounds, dtype=np.float64)[:, None])


def claims(runs: int, seed: int) -> list[list[str]]:
    """Rows of a claim, what was found, and whether it held."""
    return [
        _patil_floors(runs, seed),
        _patil_regret(FairUCB(), runs, seed),
        *_li_floors(runs, seed),
        _li_regret(VirtualQueues(eta=STEEP), runs, seed),
        *_claure(runs, seed),
        *_drawn(runs, seed),
        _in_proportion(runs, seed),
        _by_merit(ExposureFair(), runs, seed),
        _joseph(runs, seed),
        _liu(runs, seed),
    ]


def _verdict(claim: str, found: str, holds: bool) -> list[str]:
    return [claim, found, "yes" if holds else "no"]


def _beyond_fair(rule: SamplingRule, runs: int, seed: int, trials: int) -> tuple[float, float]:
    """The mean regret beyond the best fair policy where floors are low; and that of equal shares, for comparison."""
    found, _ = played(rule, runs, seed, [trials], LOW_FLOOR)
    gaps = max(MEANS) - np.array(MEANS)
    return float(found.regret(trials).fair.mean()), float(gaps.sum()) * trials * (1.0 / len(MEANS) - LOW_FLOOR)


def _patil_floors(runs: int, seed: int) -> list[str]:
    rule = FairUCB()
    _, pulls = played(rule, runs, seed)
    lag = float((np.floor(FLOOR * np.arange(1, TRIALS + 1))[:, None] - pulls).max())
    return _verdict(
        f"Patil et al., Fair-UCB: ⌊p t⌋ − N ≤ α at all times (α = {rule.tolerance:g})",
        f"at most {lag:g} in {runs} runs of {TRIALS:,} trials",
        lag <= rule.tolerance,
    )


def _patil_regret(rule: SamplingRule, runs: int, seed: int) -> list[str]:
    forgone, equal = _beyond_fair(rule, runs, seed, LONG)
    gaps = [max(MEANS) - mean for mean in MEANS if mean < max(MEANS)]
    short = sum(gap * max(0.0, 8.0 * math.log(LONG) / gap**2 - LOW_FLOOR * LONG) for gap in gaps)
    bound = (1.0 + math.pi**2 / 3.0) * sum(gaps) + short
    return _verdict(
        f"Patil et al., Fair-UCB: with floors of {LOW_FLOOR:.1%}, regret beyond the best fair policy after {LONG:,} "
        f"trials at most (1 + π²/3) Σ Δ + Σ Δ (8 ln T/Δ² − p T)₊ = {bound:.0f} (their bound for UCB1)",
        f"{forgone:.1f} on average; equal shares forgo {equal:,.0f}",
        forgone <= bound,
    )


def _li_floors(runs: int, seed: int) -> list[list[str]]:
    _, pulls = played(VirtualQueues(), runs, seed)
    share = float((pulls[:, -1].mean(axis=0) / TRIALS).min())
    lags = FLOOR * np.arange(1, TRIALS + 1)[:, None] - pulls
    first, last = (float(part.max()) for part in (lags[:, : TRIALS // 2], lags[:, TRIALS // 2 :]))
    return [
        _verdict(
            "Li et al., virtual queues: shares of at least the floors in the long run",
            f"least mean share {share:.2%} after {TRIALS:,} trials, floor {FLOOR:.0%}",
            share >= FLOOR - (ETA + 1.0) * len(MEANS) / TRIALS,
        ),
        _verdict(
            "Li et al.: the queues are stable",
            f"most trials behind {first:.1f} in the first half of the trials, {last:.1f} in the second",
            last <= 1.1 * first + 1.0,
        ),
    ]


def _li_regret(rule: SamplingRule, runs: int, seed: int) -> list[str]:
    forgone, equal = (one / TRIALS for one in _beyond_fair(rule, runs, seed, TRIALS))
    bound = len(MEANS) / (2.0 * STEEP)
    return _verdict(
        f"Li et al.: with η = {STEEP:g} and floors of {LOW_FLOOR:.1%}, regret per trial beyond the best fair policy at "
        f"most K/(2η) = {bound:.3f} (and more to learn)",
        f"{forgone:.4f} after {TRIALS:,} trials; equal shares forgo {equal:.2f}",
        forgone <= bound,
    )


def _claure(runs: int, seed: int) -> list[list[str]]:
    _, pulls = played(StrictQuota(), runs, seed)
    numbers = np.arange(1, TRIALS + 1)
    lag = float((FLOOR * numbers[:, None] - pulls).max())
    drawn, _ = played(StochasticQuota(), runs, seed)
    early, late = (float(drawn.regret(end).fair.mean()) for end in (TRIALS // 4, TRIALS))
    return [
        _verdict(
            "Claure et al., strict: N ≥ p t − 1 at all times",
            f"at most {lag:.2f} trials behind in {runs} runs",
            lag <= 1.0,
        ),
        _verdict(
            "Claure et al., stochastic: regret beyond the best fair policy grows like log t",
            f"{early:.1f} after {TRIALS // 4:,} trials, {late:.1f} after {TRIALS:,}",
            late <= 2.0 * max(early, 1.0) + NOISE,
        ),
    ]


def _drawn(runs: int, seed: int) -> list[list[str]]:
    """Of rules that draw: trials of every arm in standard errors above its floor."""
    papers = {"Claure et al., stochastic": StochasticQuota(), "Celis et al.": ConstrainedEpsilonGreedy()}
    rows = []
    for paper, rule in papers.items():
        _, pulls = played(rule, runs, seed)
        error = math.sqrt(TRIALS * FLOOR * (1.0 - FLOOR) / runs)
        least = float(((pulls[:, -1].mean(axis=0) - FLOOR * TRIALS) / error).min())
        rows.append(
            _verdict(
                f"{paper}: every arm is drawn with probability p or more",
                f"trials less p t, of the arm with the fewest: {least:+.1f} standard errors",
                least >= -NOISE,
            )
        )
    return rows


def _in_proportion(runs: int, seed: int) -> list[str]:
    _, pulls = played(ProportionalCatchUp(), runs, seed)
    target = np.array(MEANS) / sum(MEANS)
    away = float(np.abs(pulls[:, -1].mean(axis=0) / TRIALS - target).max())
    return _verdict(
        "Wang and Joachims, catch-up: trials in proportion to means",
        f"no mean share is further than {away:.2%} from it after {TRIALS:,} trials",
        away <= 0.01,
    )


def _by_merit(rule: SamplingRule, runs: int, seed: int) -> list[str]:
    """The distance is that of every run, as in the theorem: the distance of mean shares would let errors cancel."""
    shares = played(rule, runs, seed, (SHORT, LONG))[0].shares
    merit = np.exp(ExposureFair().steepness * np.array(MEANS))
    merit /= merit.sum()
    early, late = np.abs(shares - merit).sum(axis=2).mean(axis=0).tolist()
    return _verdict(
        "Wang et al., FairX-UCB: shares tend to those by merit, in every run, like 1/√t up to logarithms",
        f"mean distance {early:.3f} after {SHORT:,} trials, and × {late / early:.2f} in × {LONG / SHORT:g} trials",
        late <= CLOSER * early,
    )


def _joseph(runs: int, seed: int) -> list[str]:
    """Whether a worse arm is drawn and a better one is not, which equal probabilities do not explain."""
    rule = MeritocraticChain()
    pulls = played(rule, runs, seed)[1]
    pulled = np.diff(pulls, axis=1, prepend=0.0) > 0.0
    alone = np.zeros(runs)
    for better, worse in itertools.combinations(range(len(MEANS)), 2):  # which are in order
        own = pulls[:, :, worse]
        since = own - np.maximum.accumulate(np.where(pulled[:, :, better], own, 0.0), axis=1)
        alone = np.maximum(alone, since.max(axis=1))
    broken = int((alone >= IN_A_ROW).sum())
    error = math.sqrt(rule.delta * (1.0 - rule.delta) / runs)
    return _verdict(
        f"Joseph et al., FairBandits: with probability {1.0 - rule.delta:.0%} no arm is ever preferred to a better one",
        f"a worse arm was drawn at most {alone.max():g} times between two trials of a better one, and {IN_A_ROW} times "
        f"or more in {broken} of {runs} runs",
        broken / runs <= rule.delta + NOISE * error,
    )


def _liu(runs: int, seed: int) -> list[str]:
    """Thompson sampling by predicted rewards, which is no rule of ours, without the trials that explore first."""
    rng, early = np.random.default_rng(seed), TRIALS // 8
    wins, trials = np.ones((runs, len(MEANS))), np.full((runs, len(MEANS)), 2.0)  # with those of a uniform prior
    target, lacking = _calibrated(np.array([MEANS])), np.zeros(TRIALS)
    for trial in range(TRIALS):
        policy = _calibrated(wins / trials)
        lacking[trial] = np.maximum(target - policy, 0.0).sum(axis=1).mean()
        arm = (rng.random((runs, 1)) > policy[:, :-1].cumsum(axis=1)).sum(axis=1)
        trials[np.arange(runs), arm] += 1.0
        wins[np.arange(runs), arm] += rng.random(runs) < np.array(MEANS)[arm]
    first, last = float(lacking[:early].sum()), float(lacking.sum())
    return _verdict(
        "Liu et al. (2017), Thompson sampling by predicted rewards: what arms lack of the probability of having the "
        "highest reward sums to O(t^(2/3)), up to logarithms",
        f"{first:.1f} in {early:,} trials, and × {last / first:.1f} in × {TRIALS / early:g} trials",
        last <= (TRIALS / early) ** (2.0 / 3.0) * first,
    )


def _calibrated(means: Array) -> Array:
    """The probability that each arm has the highest reward, ties at random, if rewards are 0 or 1 with these means."""
    chances = np.where(OUTCOMES > 0.0, means[:, None, :], 1.0 - means[:, None, :]).prod(axis=2)
    found: Array = chances @ HIGHEST
    return found
