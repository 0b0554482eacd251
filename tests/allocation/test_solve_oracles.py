"""``solve`` and ``solve_batch`` against independent solutions of random instances, in every regime of every family."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest
from cvxpy.error import SolverError

import fairbai as fb
from tests.allocation.questions import FAMILIES, as_instance, costs, near, slopes
from tests.oracle.conic import conic_characteristic_time
from tests.oracle.instances import OracleInstance, random_instances
from tests.oracle.precise import precise_characteristic_times

FEW, SOME, MANY = 39, 150, 500
"""With the chunks below: at least 2,000 instances of every family, and a few that are quick enough without the JIT."""

families = pytest.mark.parametrize("family", FAMILIES)
CHUNKS = [
    pytest.param(FEW, 100, id="few"),
    pytest.param(SOME, 105, id="some", marks=pytest.mark.slow_without_jit),
    *(pytest.param(MANY, seed, id=f"many-{seed}", marks=pytest.mark.long) for seed in range(101, 105)),
]
chunks = pytest.mark.parametrize(("count", "seed"), CHUNKS)
some_chunks = pytest.mark.parametrize(("count", "seed"), CHUNKS[:4])


@families
@chunks
def test_agrees_with_the_precise_oracle(family: str, count: int, seed: int) -> None:
    questions = list(random_instances(family, count, seed))
    for question, time in zip(questions, precise_characteristic_times(questions), strict=True):
        instance = as_instance(question)
        found = fb.solve(instance)
        assert found.characteristic_time == near(time, rel=1e-10), question
        assert 0.0 <= found.duality_gap <= 1e-9, question
        assert np.all(found.weights >= instance.floors), question
        assert found.weights.sum() == pytest.approx(1.0, abs=1e-12), question
        assert found.best_arm == question.best, question


@families
@some_chunks
def test_batch_gives_the_same_bits(family: str, count: int, seed: int) -> None:
    groups = defaultdict(list)
    for question in random_instances(family, count, seed):
        groups[len(question.means)].append(question)
    for arms, group in groups.items():
        # A batch has one variance vector for all its rows.
        kind = fb.Gaussian(np.linspace(0.5, 2.0, arms)) if family == "gaussian" else FAMILIES[family]()
        alone = [fb.solve(fb.Instance(q.means, kind, fb.rates.Constant(q.floors))) for q in group]
        batch = fb.solve_batch([q.means for q in group], np.array([q.floors for q in group]), kind)
        for name in ("weights", "characteristic_time", "best_arm", "at_floor", "duality_gap"):
            assert np.array_equal(getattr(batch, name), [getattr(one, name) for one in alone]), (arms, name)


@families
@chunks
def test_agrees_with_the_conic_oracle(family: str, count: int, seed: int) -> None:
    """To 1e-6, but for the very few instances (at most 1 %) on which the conic oracle itself is that far off.

    With means that agree in eight digits it falls back on linear programs, whose tolerances are then now and then too
    wide; or it gives up. The precise oracle has to show that the error is the conic one's and that ours is below 1e-10.
    """
    disputed = []
    for question in random_instances(family, count, seed + 100, arms=(2, 8)):
        try:
            time, _ = conic_characteristic_time(question.means, question.floors, question.family, question.variance)
        except SolverError:
            time = math.nan
        found = fb.solve(as_instance(question)).characteristic_time
        if not abs(found - time) <= 1e-6 * time:
            disputed.append((question, time, found))
    assert len(disputed) <= 0.01 * count
    for question, time, found in disputed:
        (exact,) = precise_characteristic_times([question])
        assert found == near(exact, rel=1e-10), question
        assert time != near(exact, rel=9e-7), question


@families
@some_chunks
def test_optimality_conditions_hold(family: str, count: int, seed: int) -> None:
    """The optimality conditions (docs/allocation.md), with d(θ_b, m_a) / d(θ_a, m_a) for w_a² / w_b².

    The value is exact to 1e-11. Where it is smooth the weights are exact to the root of that, and so are the sums.
    """
    for question in random_instances(family, count, seed + 200):
        found = fb.solve(as_instance(question))
        best, floors = question.best, as_instance(question).floors
        cost, value = costs(question, found.weights), 1.0 / found.characteristic_time
        above = found.weights > floors * (1.0 + 1e-5)
        tight = cost <= value * (1.0 + 1e-5)
        to_best, to_other = slopes(question, found.weights)
        at_least = np.sum((to_best / to_other)[np.delete(above, best)])
        at_most = np.sum((to_best / to_other)[tight])
        assert cost.min() == near(value, rel=1e-10), question
        assert cost[np.delete(above, best)] == near(value, rel=1e-9), question
        assert at_least <= 1.0 + 1e-5, question
        if above[best]:
            assert at_most >= 1.0 - 1e-5, question
        assert np.all(found.at_floor[(found.weights == floors) & (floors > 0.0)]), question
        assert not np.any(found.at_floor[above | (floors == 0.0)]), question


@families
@some_chunks
def test_no_feasible_allocation_beats_the_certificate(family: str, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for question in random_instances(family, count, seed + 300):
        instance = as_instance(question)
        found = fb.solve(instance)
        least = (1.0 - found.duality_gap) * found.characteristic_time
        for far in (1.0, 1e-3, 1e-6):  # anywhere, near the optimum, and very near
            other = instance.floors + instance.spare * rng.dirichlet(np.ones(len(question.means)))
            weights = (1.0 - far) * found.weights + far * other
            time = 1.0 / costs(question, weights).min()
            assert time >= least * (1.0 - 1e-12), (question, far)  # 1e-12 for the rounding of both times


def test_questions_visit_kinks_floors_and_smooth_optima() -> None:
    """The sweeps above mean something only if their instances have all kinds of solutions."""
    seen = set()
    for question in random_instances("gaussian", 130, seed=100):
        seen |= _regimes(question)
    assert seen == {"smooth", "kink", "best arm at its floor", "no choice"}


def _regimes(question: OracleInstance) -> set[str]:
    instance = as_instance(question)
    weights = fb.solve(instance).weights
    if instance.spare == 0.0:
        return {"no choice"}
    if weights[question.best] == instance.floors[question.best]:
        return {"best arm at its floor"}
    to_best, to_other = slopes(question, weights)
    others = np.arange(weights.size) != question.best
    total = np.sum((to_best / to_other)[(weights > instance.floors * (1.0 + 1e-6))[others]])
    return {"smooth" if abs(total - 1.0) < 1e-5 else "kink"}
