"""The oracles agree with each other, with closed forms, and with the definition of the problem."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from tests.oracle.conic import ClarabelGaussian, conic_characteristic_time
from tests.oracle.cuts import cutting_plane_characteristic_time
from tests.oracle.instances import FAMILIES, KINDS, OracleInstance, random_instances
from tests.oracle.precise import (
    RELATIVE_ERROR,
    certify,
    certify_many,
    divergence,
    precise_characteristic_time,
    precise_characteristic_times,
)

pytestmark = pytest.mark.long  # of the oracles, which hardly ever change
families = pytest.mark.parametrize("family", FAMILIES)


@families
def test_cone_program_agrees(family: str) -> None:
    instances = list(random_instances(family, 39, seed=1))
    for instance, time in zip(instances, precise_characteristic_times(instances), strict=True):
        found, weights = conic_characteristic_time(instance.means, instance.floors, instance.family, instance.variance)
        assert found == pytest.approx(time, rel=1e-6), instance
        assert weights.sum() == pytest.approx(1.0, abs=1e-7), instance


@families
def test_cutting_planes_agree(family: str) -> None:
    instances = list(random_instances(family, 13, seed=2))
    for instance, time in zip(instances, precise_characteristic_times(instances), strict=True):
        found, _ = cutting_plane_characteristic_time(
            instance.means, instance.floors, instance.family, instance.variance
        )
        assert found == pytest.approx(time, rel=1e-6), instance


def test_direct_interface_agrees() -> None:
    instances = list(random_instances("gaussian", 130, seed=3))
    for instance, time in zip(instances, precise_characteristic_times(instances), strict=True):
        found, _ = ClarabelGaussian(instance.means, instance.floors, instance.variance).solve()
        assert found == pytest.approx(time, rel=3e-6), instance


@families
def test_two_precisions_agree(family: str) -> None:
    instances = list(random_instances(family, 13, seed=4, arms=(2, 4)))
    for instance, time in zip(instances, precise_characteristic_times(instances), strict=True):
        alone = precise_characteristic_time(instance.means, instance.floors, instance.family, instance.variance)
        assert alone == pytest.approx(time, rel=RELATIVE_ERROR), instance


@families
def test_every_regime_is_proved_and_feasible(family: str) -> None:
    instances = list(random_instances(family, 78, seed=5))
    for instance, solution in zip(instances, certify_many(instances), strict=True):
        assert solution.relative_gap <= RELATIVE_ERROR, instance
        assert np.all(np.array(solution.weights) >= np.array(instance.floors) * (1 - 1e-15)), instance
        assert sum(solution.weights) == pytest.approx(1.0, abs=1e-14), instance


@families
def test_value_is_the_definition_at_the_weights(family: str) -> None:
    for instance in random_instances(family, 13, seed=6, arms=(2, 4)):
        if instance.kind in ("close means", "wide gaps"):
            continue  # out of reach of the scalar minimiser in double precision
        solution = certify(instance)
        assert 1 / solution.time == pytest.approx(_value(instance, solution.weights), rel=1e-7), instance


def _value(instance: OracleInstance, weights: tuple[float, ...]) -> float:
    """Return min_a min_m w_b d(theta_b, m) + w_a d(theta_a, m) with a numerical minimum over m."""
    means, variances, best = instance.means, instance.variances, instance.best

    def cost(point: float, arm: int) -> float:
        both = (weights[i] * divergence(instance.family, means[i], point, variances[i]) for i in (best, arm))
        return float(sum(both))

    others = [arm for arm in range(len(means)) if arm != best]
    minima = (
        minimize_scalar(cost, bounds=(means[arm], means[best]), args=(arm,), method="bounded", options={"xatol": 1e-9})
        for arm in others
    )
    return min(float(minimum.fun) for minimum in minima)


@pytest.mark.parametrize("floor", [0.5, 0.6, 0.9, 0.999])
@pytest.mark.parametrize("arm", [0, 1])
def test_two_gaussian_arms(floor: float, arm: int) -> None:
    floors = [0.0, 0.0]
    floors[arm] = floor
    expected = 2 * 1.7 * (1 / floor + 1 / (1 - floor)) / 0.3**2
    assert precise_characteristic_time([0.3, 0.0], floors, "gaussian", 1.7) == pytest.approx(expected, rel=1e-14)
    assert conic_characteristic_time([0.3, 0.0], floors, "gaussian", 1.7)[0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("size", [2, 3, 5, 10])
def test_equal_gaps_without_floors(size: int) -> None:
    means = [0.25] + [0.0] * (size - 1)
    expected = 2 * 0.5 * (1 + math.sqrt(size - 1)) ** 2 / 0.25**2
    assert precise_characteristic_time(means, [0.0] * size, "gaussian", 0.5) == pytest.approx(expected, rel=1e-14)


@families
def test_full_floors_leave_no_choice(family: str) -> None:
    floors = (0.25, 0.5, 0.125, 0.125)
    instance = OracleInstance((0.3, 0.7, 0.6, 0.2), floors, family)
    nearly = replace(instance, floors=(0.25, 0.5, 0.125, 0.125 - 2.0**-50))
    assert certify(instance).weights == floors
    assert certify(instance).time == pytest.approx(1 / _value(instance, floors), rel=1e-7)
    assert certify(nearly).time == pytest.approx(certify(instance).time, rel=1e-13)


def test_full_floors_without_the_best_arm_never_decide() -> None:
    assert precise_characteristic_time([1.0, 0.0], [0.0, 1.0], "gaussian") == math.inf


@pytest.mark.parametrize(
    ("floors", "weights"),
    [((0.0, 0.0, 0.3), (0.4, 0.3, 0.3)), ((0.0, 0.295, 0.4), (0.3, 0.3, 0.4))],
    ids=["kink", "an arm above its floor although the floor is above w*"],
)
def test_worked_examples(floors: tuple[float, ...], weights: tuple[float, ...]) -> None:
    assert certify(OracleInstance((1.0, 0.0, 0.0), floors)).weights == pytest.approx(weights, rel=1e-14)


def test_changes_of_units() -> None:
    means, floors = np.array([0.5, 2.0, 1.75, 0.25]), [0.1, 0.0, 0.2, 0.05]
    for family, factor in (("poisson", 4.0), ("exponential", 1.0), ("gaussian", 16.0)):
        time = precise_characteristic_time(list(means), floors, family)
        scaled = precise_characteristic_time(list(4 * means), floors, family)
        assert time == pytest.approx(factor * scaled, rel=1e-14)


@families
def test_instances_are_what_they_say(family: str) -> None:
    instances = list(random_instances(family, 26, seed=7))
    assert instances == list(random_instances(family, 26, seed=7))
    assert {instance.kind for instance in instances} >= set(KINDS) - {"wild variances"}
    free = certify_many(replace(instance, floors=(0.0,) * len(instance.floors)) for instance in instances)
    for instance, solution, unconstrained in zip(instances, certify_many(instances), free, strict=True):
        assert sorted(instance.means)[-1] > sorted(instance.means)[-2]
        assert min(instance.floors) >= 0.0
        assert math.fsum(instance.floors) <= 1.0 + 1e-15
        if instance.kind == "unit sum":
            assert math.fsum(instance.floors) == 1.0
        if instance.kind == "best arm at floor":
            assert solution.weights[instance.best] == instance.floors[instance.best]
        if instance.kind == "below w*":
            assert solution.time == pytest.approx(unconstrained.time, rel=1e-14)
        if instance.kind in ("far above w*", "kink"):
            assert solution.time > unconstrained.time * (1 + 1e-9)
