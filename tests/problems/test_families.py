"""Reward families: domains, rewards, sampling and divergence."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import mpmath
import numpy as np
import pytest

import fairbai as fb
from fairbai.problems import Family
from tests.cases import families as all_families

FAMILIES = {family.kind: family for family in all_families(2.0)}
families = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
MEANS = np.array([0.2, 0.5, 0.9])
VARIANCES = {
    "gaussian": np.full(3, 2.0),
    "bernoulli": MEANS * (1 - MEANS),
    "poisson": MEANS,
    "exponential": MEANS**2,
    "bounded": MEANS * (1 - MEANS),
}


@families
def test_samples_have_their_mean_and_variance(family: Family) -> None:
    """200,000 rewards per arm; five standard errors. The error of a variance takes the fourth moment of the rewards."""
    count = 200_000
    rewards = family.sample(MEANS, np.random.default_rng(11), count)
    variance = VARIANCES[family.kind]
    centred = rewards - MEANS
    assert rewards.shape == (count, 3)
    assert np.all(np.abs(centred.mean(axis=0)) < 5 * np.sqrt(variance / count))
    error = np.sqrt((np.mean(centred**4, axis=0) - variance**2) / count)
    assert np.all(np.abs(np.mean(centred**2, axis=0) - variance) <= 5 * error)


@families
def test_samples_are_rewards_of_the_family(family: Family) -> None:
    for reward in family.sample(MEANS, np.random.default_rng(1), 50).ravel():
        assert family.statistic(reward) == reward


@families
@pytest.mark.parametrize(("size", "shape"), [(None, (3,)), (4, (4, 3)), ((2, 5), (2, 5, 3))])
def test_last_axis_of_samples_is_the_arm(family: Family, size: Any, shape: tuple[int, ...]) -> None:
    rewards = family.sample(MEANS, np.random.default_rng(1), size)
    assert rewards.shape == shape
    assert rewards.dtype == np.float64


@families
def test_same_seed_gives_the_same_samples(family: Family) -> None:
    first, second = (family.sample(list(MEANS), np.random.default_rng(7), 5) for _ in range(2))
    assert first.tolist() == second.tolist()


def test_gaussian_arms_are_sampled_with_their_own_variances() -> None:
    """50,000 rewards per arm: the standard error of a Gaussian variance is sqrt(2 / n) of it."""
    variances = np.array([0.01, 1.0, 100.0])
    rewards = fb.Gaussian(variances).sample(np.zeros(3), np.random.default_rng(2), 50_000)
    assert np.all(np.abs(rewards.var(axis=0) / variances - 1) < 5 * math.sqrt(2 / 50_000))


@pytest.mark.parametrize(
    ("kind", "rewards"),
    [
        ("gaussian", [-1e9, 0, 2.5, np.float32(1.5), True]),
        ("bernoulli", [0, 1, 0.0, 1.0, True, False, np.int64(1)]),
        ("poisson", [0, 1, 7, 1e15, np.float32(3)]),
        ("exponential", [1e-300, 17.5]),
    ],
)
def test_rewards_that_are_accepted(kind: str, rewards: list[Any]) -> None:
    for reward in rewards:
        found = FAMILIES[kind].statistic(reward)
        assert found == float(reward)
        assert type(found) is float


@pytest.mark.parametrize(
    ("kind", "reward", "message"),
    [
        ("bernoulli", 0.5, "reward of a bernoulli arm must be 0 or 1, got 0.5"),
        ("bernoulli", -1, "reward of a bernoulli arm must be 0 or 1, got -1"),
        ("bernoulli", 2, "reward of a bernoulli arm must be 0 or 1, got 2"),
        ("poisson", -1, "reward of a poisson arm must be a whole number from 0, got -1"),
        ("poisson", 1.5, "reward of a poisson arm must be a whole number from 0, got 1.5"),
        ("exponential", -1e-9, "reward of an exponential arm must be positive, got -1e-09"),
        ("exponential", 0, "reward of an exponential arm must be positive, got 0"),
    ],
)
def test_rewards_that_the_family_cannot_produce(kind: str, reward: float, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        FAMILIES[kind].statistic(reward)


@families
@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf])
def test_rewards_must_be_finite(family: Family, reward: float) -> None:
    with pytest.raises(ValueError, match=f"^reward must be finite, got {reward}$"):
        family.statistic(reward)


@families
@pytest.mark.parametrize("reward", ["much", "1", b"1", np.str_("1"), None, [1.0, 2.0]])
def test_rewards_must_be_numbers(family: Family, reward: Any) -> None:
    with pytest.raises(ValueError, match=r"^reward must be a number, got "):
        family.statistic(reward)


@pytest.mark.parametrize(
    ("kind", "means", "message"),
    [
        ("bernoulli", [0.5, 1.0], r"means must be in \(0, 1\) for bernoulli arms, got 1.0 for arm 1"),
        ("bernoulli", [0.0, 0.5], r"means must be in \(0, 1\) for bernoulli arms, got 0.0 for arm 0"),
        ("poisson", [1.0, 0.0], "means must be greater than 0 for poisson arms, got 0.0 for arm 1"),
        ("poisson", [1.0, -2.0], "means must be greater than 0 for poisson arms, got -2.0 for arm 1"),
        ("exponential", [1.0, 3.0, -1.0], "means must be greater than 0 for exponential arms, got -1.0 for arm 2"),
        ("gaussian", [1.0, math.inf], "means must be finite, got inf for arm 1"),
        ("gaussian", [math.nan, 1.0], "means must be finite, got nan for arm 0"),
        ("gaussian", [1.0], "means must hold at least two arms, got 1"),
        ("gaussian", [], "means must hold at least two arms, got 0"),
        ("gaussian", 1.0, r"means must be a vector, got shape \(\)"),
        ("gaussian", [[1.0, 2.0]], r"means must be a vector, got shape \(1, 2\)"),
        ("gaussian", ["a", "b"], r"means must be numbers, got \['a', 'b'\]"),
        ("gaussian", [[1.0], [1.0, 2.0]], r"means must be numbers, got \[\[1.0\], \[1.0, 2.0\]\]"),
        ("gaussian", [None, 1.0], "means must be "),
    ],
)
def test_means_outside_the_domain(kind: str, means: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        FAMILIES[kind].check_means(means)


@families
def test_checked_means_are_a_read_only_copy(family: Family) -> None:
    given = np.array([0.5, 0.25])
    checked = family.check_means(given)
    given[0] = 0.75
    assert checked.tolist() == [0.5, 0.25]
    assert not checked.flags.writeable


def definition(kind: str, mean: float, other: float) -> float:
    with mpmath.workdps(50):
        p, q = mpmath.mpf(mean), mpmath.mpf(other)
        formulas = {
            "gaussian": lambda: (p - q) ** 2 / 4,
            "bernoulli": lambda: p * mpmath.log(p / q) + (1 - p) * mpmath.log((1 - p) / (1 - q)),
            "bounded": lambda: p * mpmath.log(p / q) + (1 - p) * mpmath.log((1 - p) / (1 - q)),
            "poisson": lambda: p * mpmath.log(p / q) + q - p,
            "exponential": lambda: p / q - 1 - mpmath.log(p / q),
        }
        return float(formulas[kind]())


@families
@pytest.mark.parametrize(
    ("mean", "other"),
    [
        (0.2, 0.7),
        (0.7, 0.2),
        (0.3, 0.3 + 1e-9),
        (0.3, 0.3 - 1e-15),
        (0.9, 1e-7),
        (1e-7, 0.9),
        (0.7, 3e-13),
        (3e-13, 0.7),
    ],
)
def test_divergence_keeps_all_digits(family: Family, mean: float, other: float) -> None:
    assert family.divergence(mean, other) == pytest.approx(definition(family.kind, mean, other), rel=1e-13, abs=0.0)


@families
def test_divergence_is_zero_for_equal_means_only(family: Family) -> None:
    assert family.divergence(0.4, 0.4) == 0.0
    assert family.divergence(0.4, 0.5) > 0.0
    assert family.divergence(0.5, 0.4) > 0.0


def test_divergence_of_gaussian_arms_is_symmetric_and_reads_the_variance_of_the_arm() -> None:
    family = fb.Gaussian([1.0, 4.0])
    assert [family.divergence(1.0, 3.0, arm) for arm in (0, 1)] == [2.0, 0.5]
    assert [family.divergence(3.0, 1.0, arm) for arm in (0, 1)] == [2.0, 0.5]


@pytest.mark.parametrize(("kind", "mean", "other"), [("bernoulli", 0.5, 1.1), ("poisson", -1.0, 1.0)])
def test_divergence_refuses_means_outside_the_domain(kind: str, mean: float, other: float) -> None:
    with pytest.raises(ValueError, match=rf"^means must be from 0 to (1|1e\+150) for {kind} arms, got "):
        FAMILIES[kind].divergence(mean, other)


@families
def test_scales_are_one_an_arm(family: Family) -> None:
    assert family.scales(3).tolist() == ([2.0] * 3 if family.kind == "gaussian" else [1.0] * 3)


def test_variance_may_differ_between_arms() -> None:
    assert fb.Gaussian([1.0, 4.0]).scales(2).tolist() == [1.0, 4.0]
    assert fb.Gaussian(np.array([1, 4])).scales(2).tolist() == [1.0, 4.0]


@pytest.mark.parametrize(
    ("variance", "message"),
    [
        (0.0, "variance must be positive, got 0.0 for arm 0"),
        ([1.0, -1.0], "variance must be positive, got -1.0 for arm 1"),
        (math.nan, "variance must be finite, got nan"),
        ([1.0, math.inf], "variance must be finite, got inf for arm 1"),
        ("wide", "variance must be numbers, got "),
        ([[1.0, 2.0]], r"variance must be a vector, got shape \(1, 2\)"),
    ],
)
def test_variance_that_makes_no_sense(variance: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        fb.Gaussian(variance)


def test_variances_must_be_as_many_as_arms() -> None:
    with pytest.raises(ValueError, match=r"^variance must have one entry per arm \(3\), got 2$"):
        fb.Gaussian([1.0, 2.0]).scales(3)


def test_variance_cannot_be_changed_afterwards() -> None:
    given = np.array([1.0, 4.0])
    family = fb.Gaussian(given)
    given[0] = 9.0
    assert family.scales(2).tolist() == [1.0, 4.0]
    with pytest.raises(dataclasses.FrozenInstanceError):
        family.variance = 1.0  # type: ignore[misc]
