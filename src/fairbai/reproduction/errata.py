"""Claims of the paper that do not hold as printed, each with a counterexample that is computed here.

docs/errata.md has the same list, with code to run and proofs of the corrected claims.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairbai.allocation import lower_bound, price_of_fairness, solve
from fairbai.problems import Instance
from fairbai.problems.checks import Numbers
from fairbai.sampling import FairTrackAndStop
from fairbai.simulation import simulate
from fairbai.stopping import Heuristic


@dataclass(frozen=True)
class Erratum:
    """One claim and its correction.

    Attributes:
        claim: What is printed.
        truth: What holds.
        counterexample: A sentence that describes it.
        figures: The numbers of the counterexample, by their description.
    """

    claim: str
    truth: str
    counterexample: str
    figures: dict[str, float]


def errata() -> Iterator[Erratum]:
    """All errata, in the order of docs/errata.md; takes a few seconds."""
    for write in (
        _bound,
        _statistic,
        _price,
        _clipped,
        _strict,
        _equal_gaps,
        _unitary,
        _path,
        _every_round,
        _threshold,
    ):
        yield write()


def _with_floors(means: Numbers, floors: Numbers) -> Instance:
    return Instance(means, floors=floors)


def _bound() -> Erratum:
    """Two arms pulled in turn, stopped by a normal mixture of likelihood ratios: error at most delta, by Ville."""
    delta, kappa, runs = 1e-10, 5.0, 2000
    pairs = np.arange(1, 1001)
    steps = np.random.default_rng(0).normal(1.0, math.sqrt(2.0), (runs, pairs.size))
    line = 2.0 * (kappa + 2.0 * pairs) * (math.log(1.0 / delta) + 0.5 * np.log1p(2.0 * pairs / kappa))
    trials = 2.0 * pairs[(np.cumsum(steps, axis=1) ** 2 >= line).argmax(axis=1)]
    instance = _with_floors([1.0, 0.0], [0.5, 0.5])
    printed = 2.0 * solve(instance).characteristic_time * math.log(1.0 / (2.4 * delta))
    return Erratum(
        claim="Every p-fair δ-PAC rule has E[τ] ≥ 2 T*ₚ log(1/(2.4 δ)).",
        truth="E[τ] ≥ T*ₚ kl(δ, 1−δ), which is half of it.",
        counterexample="Two arms with gap 1 and floors (½, ½) pulled in turn, with a stopping rule whose error is at "
        "most δ = 1e-10 by Ville's inequality, take fewer trials.",
        figures={
            "trials on average": float(trials.mean()),
            "standard error": float(trials.std() / math.sqrt(runs)),
            "printed lower bound": printed,
            "true lower bound": lower_bound(instance, delta),
        },
    )


def _statistic() -> Erratum:
    rng = np.random.default_rng(1)
    first, second = rng.normal(0.7, 1.0, 30), rng.normal(0.2, 1.0, 20)
    middle = np.concatenate([first, second]).mean()
    tied = np.sum((first - middle) ** 2) + np.sum((second - middle) ** 2)
    free = np.sum((first - first.mean()) ** 2) + np.sum((second - second.mean()) ** 2)
    time = 2.0 * (50 / 30 + 50 / 20) / (first.mean() - second.mean()) ** 2
    return Erratum(
        claim="The generalised likelihood ratio is Z(t) = t / (2 T*ₚ(t)).",
        truth="Z(t) = t / Tₚ(t), which is twice that.",
        counterexample="The logarithm of the ratio, computed from 30 and 20 rewards of two arms.",
        figures={
            "log ratio": float(0.5 * (tied - free)),
            "t / T": float(50 / time),
            "t / (2 T)": float(25 / time),
        },
    )


def _price() -> Erratum:
    equal = price_of_fairness(_with_floors([1.0] + [0.0] * 9, [0.099] * 10))
    two = price_of_fairness(_with_floors([1.0, 0.0], [0.99, 0.0]))
    return Erratum(
        claim="T*ₚ/T* ≤ (Δmax/Δmin)² min(1/(1−psum), 1/(K pmin)), with pmin the smallest positive floor.",
        truth="T*ₚ/T* ≤ maxₐ w*ₐ/(pₐ + (1−psum) w*ₐ) ≤ 1/(1−psum), with constant 1 and without the gaps.",
        counterexample="Ten arms with equal gaps and floors of 0.099; two arms with floors (0.99, 0), where no "
        "constant can repair the bound.",
        figures={
            "price, ten arms": equal.ratio,
            "printed bound, ten arms": 1.0 / 0.99,
            "true bound, ten arms": equal.upper_bound,
            "price, two arms": two.ratio,
            "printed bound, two arms": 1.0 / (2 * 0.99),
            "true bound, two arms": two.upper_bound,
        },
    )


def _clipped() -> Erratum:
    means, floors = [1.0, 0.0, 0.0], [0.0, 0.295, 0.4]
    return Erratum(
        claim="w*ₚ,ₐ = pₐ for every arm with pₐ ≥ w*ₐ.",
        truth="That holds only for the best arm.",
        counterexample="Means (1, 0, 0) and floors (0, 0.295, 0.4): the second arm has a floor above its unconstrained "
        "share, and its optimal share is still above the floor.",
        figures={
            "w* of the second arm": float(solve(Instance(means)).weights[1]),
            "its floor": floors[1],
            "its w*ₚ": float(solve(_with_floors(means, floors)).weights[1]),
        },
    )


def _strict() -> Erratum:
    return Erratum(
        claim="T* < T*ₚ for every p other than 0.",
        truth="T* ≤ T*ₚ, with equality if and only if p ≤ w*.",
        counterexample="Means (1, 0) and floors (0.3, 0.4).",
        figures={
            "T*": solve(Instance([1.0, 0.0])).characteristic_time,
            "T*ₚ": solve(_with_floors([1.0, 0.0], [0.3, 0.4])).characteristic_time,
        },
    )


def _equal_gaps() -> Erratum:
    exact = price_of_fairness(_with_floors([1.0, 0.0, 0.0], [0.0, 0.295, 0.4])).ratio
    return Erratum(
        claim="With equal gaps, no floor for the best arm and pₐ ≥ w*ₐ for the others, "
        "T*ₚ/T* = (1/(1−psum) + 1/pmin) / (1 + √(K−1))².",
        truth="That holds if 1−psum ≤ √m pmin, where m arms have the smallest floor; equal floors satisfy this.",
        counterexample="Means (1, 0, 0) and floors (0, 0.295, 0.4).",
        figures={"printed": (1 / (1 - 0.695) + 1 / 0.295) / (1 + math.sqrt(2)) ** 2, "exact": exact},
    )


def _unitary() -> Erratum:
    return Erratum(
        claim="If psum = 1, T*ₚ ≤ 2/(pmin Δmax²).",
        truth="T*ₚ ≤ 4/(pmin Δmin²), where pmin is the smallest floor of all arms.",
        counterexample="Two arms with gap 1 and floors (½, ½).",
        figures={
            "T*ₚ": solve(_with_floors([1.0, 0.0], [0.5, 0.5])).characteristic_time,
            "printed bound": 4.0,
            "true bound": 8.0,
        },
    )


def _path() -> Erratum:
    instance = _with_floors([1.0, 0.0], [0.9, 0.09])
    runs = simulate(instance, 0.1, FairTrackAndStop(start="policy"), Heuristic(), runs=20_000, seed=3)
    shares = runs.pulls[:, 0, 0] / runs.stopping_time[:, 0]
    return Erratum(
        claim="F-TaS is fair on sample paths: E[Nₐ(τ)/τ] ≥ pₐ.",
        truth="E[Nₐ(τ)] ≥ pₐ E[τ], by optional stopping. Fairness on every path takes tracking and settling.",
        counterexample="Two arms with gap 1, floors (0.9, 0.09), δ = 0.1: 20,000 runs of F-TaS as printed.",
        figures={
            "average share of the first arm": float(shares.mean()),
            "its floor": 0.9,
            "standard error": float(shares.std() / math.sqrt(shares.size)),
            "share of its pulls in the trials of all runs": float(runs.pulls[:, 0, 0].sum() / runs.stopping_time.sum()),
        },
    )


def _every_round() -> Erratum:
    return Erratum(
        claim="E[Nₐ(t)] ≥ pₐ t in every round t.",
        truth="That holds for F-TaS as printed. The published experiments begin with one pull of each arm, which "
        "breaks it at once.",
        counterexample="Floors (0.9, 0.09): the first arm has one pull after round 2.",
        figures={"its pulls": 1.0, "its floor times 2": 1.8},
    )


def _threshold() -> Erratum:
    return Erratum(
        claim="The tables use the threshold log((1 + log t)/δ) as if it kept the error below δ.",
        truth="It does not: the error of two arms tends to ½ as their gap vanishes (law of the iterated logarithm). "
        "For gaps of practical size it is conservative. The tables have further rows with proved thresholds.",
        counterexample="Two arms pulled in turn, δ = 0.1, 10,000 runs checked at a grid of times; the standard "
        "error is below 0.004.",
        figures={f"error at a gap of {gap:g}": _error(gap, 0.1) for gap in (1e-2, 1e-12, 1e-100)},
    )


def _error(gap: float, delta: float, runs: int = 10_000, looks: int = 3000) -> float:
    """How often the worse of two arms pulled in turn is declared best, if the sums are checked at a grid of times."""
    rng = np.random.default_rng(2)
    total, active, wrong, last = np.zeros(runs), np.ones(runs, dtype=bool), 0, 0.0
    for pairs in np.unique(np.round(np.geomspace(1.0, 100.0 / gap**2, looks))):
        total += rng.normal(gap * (pairs - last), math.sqrt(2.0 * (pairs - last)), runs)
        last = pairs
        stop = active & (total**2 / (4.0 * pairs) >= math.log((1.0 + math.log(2.0 * pairs)) / delta))
        wrong += int(np.sum(stop & (total < 0.0)))
        active &= ~stop
    return wrong / runs
