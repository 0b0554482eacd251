"""The allocation problem of linear arms: how fast `fb.solve` is, against a cone program."""

import warnings
from collections.abc import Iterator
from functools import partial
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import fairbai as fb
from benchmarks.measure import Ratio, best_of, faster, median, sized
from tests.oracle.linear import linear_program

Floats = NDArray[np.float64]

SEED = 23
AGREEMENT = 1e-4
MAX_GAP = 1e-6
PATIENCE = 240.0  # seconds that the peer gets for one instance
SIZES = sized({(18, 6): 5, (100, 10): 3, (1000, 20): 1}, {(6, 3): 1})
"""How many instances there are of so many arms and parameters."""


def suite() -> Iterator[Ratio]:
    """The optimal shares of linear arms with floors, on one core, one instance at a time.

    Features and parameters are standard normal; floors are uniform on the simplex, times 0.5. Ours is the best of
    three, including its Python object, and must certify a relative gap of at most 1e-6. The peer is CVXPY with Clarabel
    at its default tolerance of 1e-8, once per instance, compilation to cones included: one linear matrix inequality per
    rival, in a matrix variable that is tied to the shares. Its means are scaled to a least gap of 1. The times are
    medians over the instances; the answers are compared. At 1,000 x 20 there is one instance, and Clarabel gets four
    minutes: if it has not finished by then, the ratio is at least what is shown.
    """
    for (arms, size), count in SIZES.items():
        questions = [_question(arms, size, seed) for seed in range(count)]
        instances = [fb.Instance(means, fb.Linear(features), floors) for features, means, floors in questions]
        ours = median(best_of([partial(fb.solve, instance) for instance in instances], rounds=3))
        pairs = zip(questions, instances, strict=True)
        theirs = median([_peer(*question, fb.solve(instance)) for question, instance in pairs])
        what = f"solve, linear arms with floors, {arms:,} x {size}"
        yield faster(what, ours, "CVXPY with Clarabel", theirs, at_least=50.0)


def _question(arms: int, size: int, seed: int) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng([SEED, arms, seed])
    features = rng.standard_normal((arms, size))
    return features, features @ rng.standard_normal(size), 0.5 * rng.dirichlet(np.ones(arms))


def _peer(features: Floats, means: Floats, floors: Floats, found: fb.Allocation) -> float:
    """The seconds that the peer takes; its answer must be ours, unless it ran out of time."""
    assert found.duality_gap <= MAX_GAP
    best, second = np.sort(means)[[-1, -2]]
    start = perf_counter()
    problem, _ = linear_program(features, means / (best - second), floors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver="CLARABEL", time_limit=PATIENCE)
    seconds = perf_counter() - start
    if problem.status in ("optimal", "optimal_inaccurate"):
        time = float(problem.value) / (best - second) ** 2
        assert abs(time / found.characteristic_time - 1.0) <= AGREEMENT, (time, found.characteristic_time)
    return seconds
