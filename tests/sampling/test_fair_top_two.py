"""Fair anchored top-two: behind its floor first, then never pulled, then leader or challenger."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fairbai as fb
from fairbai.sampling import FairTopTwo
from tests.sampling.hand_made import experiment, identifier, owed, uniform

MEANS = [1.0, 0.6, 0.5, 0.0]


def expected(
    assigned: list[int], floors: list[float], uniform: float, margin: float = 2.0, unseen: bool = False
) -> int:
    """The choice, written again: what floors lack, else an arm without a reward, else the leader or its challenger."""
    arm, uniform = owed(assigned, floors, uniform)
    if arm is not None:
        return arm
    if unseen or min(assigned) == 0:
        fewest = [a for a in range(4) if assigned[a] == min(assigned)]
        return fewest[int(uniform * len(fewest))]
    costs = [
        0.5 * (1.0 - MEANS[a]) ** 2 / (1 / assigned[a] + 1 / assigned[0]) + math.log(assigned[a]) for a in (1, 2, 3)
    ]
    odds = slope(assigned, floors, margin) ** math.sqrt(sum(assigned))
    return 0 if uniform < odds / (1.0 + odds) else 1 + int(np.argmin(costs))


def slope(assigned: list[int], floors: list[float], margin: float) -> float:
    """Σ (N_a / N_b)² over the arms above their floors: Gaussian arms of one variance, the best one is arm 0."""
    total = sum(assigned)
    above = [assigned[a] for a in (1, 2, 3) if assigned[a] > floors[a] * total + margin]
    return sum((n / assigned[0]) ** 2 for n in above)


@pytest.mark.parametrize(
    ("assigned", "floors", "possible"),
    [
        ([10, 5, 3, 1], [0.0, 0.0, 0.2, 0.15], {3}),  # t = 20: behind by 2
        ([10, 5, 3, 1], [0.0, 0.0, 0.2, 0.1], {2, 3}),  # behind by 1 each
        ([10, 5, 4, 0], [0.0, 0.0, 0.2, 0.01], {3}),  # behind by 0.2 only, but never pulled
        ([10, 9, 0, 0], [0.0, 0.0, 0.0, 0.0], {2, 3}),  # both never pulled
        ([9, 6, 0, 4], [0.5, 0.0, 0.0, 0.0], {0}),  # behind by 1: before the arm that was never pulled
        ([9, 6, 0, 4], [0.48, 0.0, 0.0, 0.0], {0, 2}),  # behind by 0.6: with that probability
    ],
)
def test_floors_come_first(assigned: list[int], floors: list[float], possible: set[int]) -> None:
    found = set()
    for seed in range(40):
        ident = experiment(assigned, MEANS, FairTopTwo(), rates=fb.rates.Constant(floors), observed=[1] * 4, seed=seed)
        number = uniform(ident)
        found.add(ident.ask())
        assert found >= {expected(assigned, floors, number)}
    assert found == possible


def test_the_least_pulled_arm_while_some_arm_has_no_reward() -> None:
    assert experiment([9, 4, 3, 5], MEANS, FairTopTwo(), observed=[9, 4, 3, 0]).ask() == 2
    orders = set()
    for seed in range(40):
        arms = identifier(3, FairTopTwo(), seed=seed).ask(6)
        assert sorted(arms[:3]) == sorted(arms[3:]) == [0, 1, 2]
        orders.add(tuple(arms[:3]))
    assert len(orders) == 6


CASES = [
    ([30, 25, 14, 6], [0.0, 0.0, 0.0, 0.0]),
    ([60, 25, 14, 6], [0.0, 0.0, 0.0, 0.0]),
    ([40, 25, 14, 21], [0.1, 0.1, 0.1, 0.2]),
    ([29, 28, 16, 27], [0.0, 0.0, 0.15, 0.268]),
    ([19, 10, 10, 61], [0.1, 0.1, 0.1, 0.6]),
    ([20, 21, 10, 9], [0.3, 0.0, 0.0, 0.0]),
    ([30, 20, 18, 14], [0.0, 0.0, 0.0, 0.0]),
]


@pytest.mark.parametrize("margin", [0.0, 1.0, 5.0])
@pytest.mark.parametrize(("assigned", "floors"), CASES)
def test_leader_or_challenger(assigned: list[int], floors: list[float], margin: float) -> None:
    """The leader with odds of H^√t, else the arm with the least evidence + log N."""
    for seed in range(30):
        ident = experiment(assigned, MEANS, FairTopTwo(margin), rates=fb.rates.Constant(floors), seed=seed)
        number = uniform(ident)
        assert ident.ask() == expected(assigned, floors, number, margin)


def test_cases_hold_both_choices() -> None:
    found = {expected(assigned, floors, number / 10, 1.0) for assigned, floors in CASES for number in range(1, 10)}
    assert found > {0, 1}


def test_slope_of_another_family() -> None:
    """Σ d(θ_b, m_a) / d(θ_a, m_a), here for two Bernoulli arms: even odds where both divergences are equal."""
    family = fb.Bernoulli()
    for first in range(20, 61):
        middle = (first * 0.9 + 40 * 0.6) / (first + 40)
        ident = experiment([first, 40], [0.9, 0.6], FairTopTwo(), family=family, seed=first)
        odds = (family.divergence(0.9, middle) / family.divergence(0.6, middle)) ** math.sqrt(first + 40)
        number = uniform(ident)
        assert ident.ask() == (0 if number < odds / (1.0 + odds) else 1)


@pytest.mark.parametrize(
    "floors",
    [[0.25] * 4, [0.2, 0.3, 0.1, 0.39], [0.0, 0.0, 0.0, 0.9], [0.05, 0.9, 0.0, 0.05], [0.4, 0.3, 0.2, 0.1]],
)
@pytest.mark.parametrize("seed", range(3))
def test_fair_on_every_path(floors: list[float], seed: int) -> None:
    """N_a(t) >= p_a t - H_{K-1} at all times, also while rewards are late; K is 4 here.

    docs/sampling.md has the proof.
    """
    rng = np.random.default_rng(seed)
    ident = identifier(4, FairTopTwo(), rates=fb.rates.Constant(floors), seed=seed)
    slack = 1 + 1 / 2 + 1 / 3
    pending: list[int] = []
    for number in range(1, 301):
        pending.append(ident.ask())
        assert (ident.status().assigned >= np.array(floors) * number - slack - 1e-9).all()
        if len(pending) > 20 or rng.random() < 0.5:
            arm = pending.pop(int(rng.integers(len(pending))))
            ident.tell(arm, rng.normal(MEANS[arm]))


def test_learned_floors_are_followed() -> None:
    rates = fb.rates.Gap(0.8)
    ident = identifier(4, FairTopTwo(), rates=rates)
    rng = np.random.default_rng(3)
    for _ in range(2000):
        arm = ident.ask()
        ident.tell(arm, rng.normal(MEANS[arm], 0.3))
    status = ident.status()
    assert (status.shares >= rates.floors(status.means) - 0.01).all()


def test_promises_and_parameters() -> None:
    assert FairTopTwo().fairness == "every path"
    assert FairTopTwo().converges_to == "fair"
    with pytest.raises(ValueError, match="margin must be at least 0, got -1"):
        FairTopTwo(margin=-1.0)


@pytest.mark.parametrize("reward", [0.0, 1.0])
@pytest.mark.parametrize("rates", [fb.rates.Constant(0.0), fb.rates.Bounded(0.0, 0.9)], ids=["floors", "limits"])
@pytest.mark.parametrize("arms", [2, 3, 5])
def test_no_arm_is_starved_while_all_means_are_equal(arms: int, rates: fb.rates.Rate, reward: float) -> None:
    """Bernoulli arms that have only failed so far, as they often have where successes are rare."""
    ident = fb.Identifier(arms, 1e-9, family=fb.Bernoulli(), rates=rates, seed=1)
    for _ in range(150):
        ident.tell(ident.ask(), reward)
    assert ident.status().assigned.min() >= 0.4 * 150 / arms
