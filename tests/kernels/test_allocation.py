"""The allocation kernel: the cost of an allocation, and the same bits with and without the JIT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.allocation.arms import Problem, least_cost
from tests.allocation.questions import FAMILIES, as_instance, costs, near
from tests.oracle.instances import random_instances
from tests.processes import run_python

families = pytest.mark.parametrize("family", FAMILIES)

BITS = """
import sys
import fairbai as fb
from tests.allocation.questions import as_instance
from tests.oracle.instances import random_instances

for question in random_instances(sys.argv[1], 65, seed=7):
    found = fb.solve(as_instance(question))
    print(*map(float.hex, [found.characteristic_time, *found.weights.tolist()]))
"""


def _problem(means: Any, scales: Any) -> Problem:
    """Without floors or tolerance."""
    return Problem(means, scales, np.array([np.ones(means.size), np.zeros(means.size)]), -1, np.zeros(means.size), 1.0)


@families
def test_least_cost_is_the_definition_at_any_weights(family: str) -> None:
    rng = np.random.default_rng(8)
    for question in random_instances(family, 26, seed=8, arms=(2, 6)):
        instance = as_instance(question)
        weights = rng.dirichlet(np.ones(len(question.means)))
        found = least_cost(instance.family.code, _problem(instance.means, instance.scales), weights, question.best)
        assert found == near(costs(question, weights).min(), rel=1e-9), question


@families
def test_least_cost_without_weight_is_zero(family: str) -> None:
    code = FAMILIES[family].code
    for weights in ([0.0, 0.5, 0.5], [0.5, 0.0, 0.5]):
        assert least_cost(code, _problem(np.array([0.9, 0.5, 0.1]), np.ones(3)), np.array(weights), 0) == 0.0


@pytest.mark.long
@pytest.mark.slow_without_jit
@families
def test_same_bits_without_the_jit(family: str) -> None:
    interpreted = run_python("-c", BITS, family, NUMBA_DISABLE_JIT="1")
    for question, line in zip(random_instances(family, 65, seed=7), interpreted.splitlines(), strict=True):
        found = fb.solve(as_instance(question))
        assert [found.characteristic_time, *found.weights] == [float.fromhex(x) for x in line.split()], question
