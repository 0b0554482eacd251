"""Track-and-Stop: direct and cumulative tracking of the unconstrained optimum."""

from __future__ import annotations

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels import state as rows
from fairbai.sampling import TrackAndStop
from tests.sampling.hand_made import experiment, identifier, policy

MEANS = [1.0, 0.7, 0.2, 0.1]


@pytest.mark.parametrize("tracking", ["direct", "cumulative"])
def test_begins_with_each_arm(tracking: str) -> None:
    assert identifier(4, TrackAndStop(tracking)).ask(4) == [0, 1, 2, 3]  # type: ignore[arg-type]


@pytest.mark.parametrize("tracking", ["direct", "cumulative"])
def test_tracks_the_unconstrained_optimum_whatever_the_floors(tracking: str) -> None:
    ident = experiment([9, 9, 9, 9], MEANS, TrackAndStop(tracking), rates=fb.rates.Constant(0.25))  # type: ignore[arg-type]
    assert ident._experiment.state[rows.WEIGHT] == pytest.approx(fb.solve(fb.Instance(MEANS)).weights, abs=1e-7)


@pytest.mark.parametrize(
    ("assigned", "expected"),
    [
        ([40, 38, 12, 10], 0),  # √100 - K/2 = 8: nobody is forced; 100 w - N is (10, 2, -2, -10)
        ([55, 25, 13, 7], 3),  # the last arm has fewer than 8
        ([55, 25, 12, 8], 1),  # 8 are enough; 100 w - N is (-5, 15, -2, -8)
        ([90, 4, 3, 3], 2),  # the first of the least pulled
    ],
)
def test_direct_tracking(assigned: list[int], expected: int) -> None:
    """The least pulled arm if N_a < √t - K/2, else the largest t w_a - N_a."""
    assert experiment(assigned, MEANS, TrackAndStop(), weights=[0.5, 0.4, 0.1, 0.0]).ask() == expected


def test_direct_tracking_pulls_every_arm_often_enough() -> None:
    """N_a >= √t - K/2 - 1 at all times, though one arm needs next to nothing."""
    ident = identifier(3, TrackAndStop())
    rng = np.random.default_rng(0)
    for number in range(1, 400):
        arm = ident.ask()
        ident.tell(arm, rng.normal([5.0, 4.0, -100.0][arm]))
        assert ident.status().assigned.min() >= np.sqrt(number) - 1.5 - 1.0


def test_direct_tracking_waits_for_the_first_reward_of_every_arm() -> None:
    assert experiment([5, 3, 2, 4], MEANS, TrackAndStop(), observed=[5, 3, 2, 0]).ask() == 2


def test_cumulative_policy() -> None:
    """(1 - K ε) w* + ε with ε = 1 / (2 √(K² + t)), t = pulls + 1."""
    epsilon = 0.5 / np.sqrt(16 + 32)
    found = policy(experiment([12, 9, 4, 6], MEANS, TrackAndStop("cumulative")))
    optimal = fb.solve(fb.Instance(MEANS)).weights
    assert found == pytest.approx((1.0 - 4 * epsilon) * optimal + epsilon, abs=1e-7)


def test_cumulative_policy_is_uniform_before_every_arm_has_a_reward() -> None:
    found = policy(experiment([12, 9, 4, 6], MEANS, TrackAndStop("cumulative"), observed=[1, 1, 0, 1]))
    assert found == pytest.approx([0.25] * 4)


def test_promises_and_parameters() -> None:
    assert TrackAndStop().fairness == "none"
    assert TrackAndStop().converges_to == "unconstrained"
    with pytest.raises(ValueError, match="tracking must be 'direct' or 'cumulative', got 'sampled'"):
        TrackAndStop(tracking="sampled")  # type: ignore[arg-type]
