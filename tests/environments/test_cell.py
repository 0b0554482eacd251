"""Cells: the paper's to 1e-9, random ones, and their instances."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.environments import Rayleigh, Rician, WirelessCell
from fairbai.environments.channel import Channel

# The data rates of mobile-env 2.1.0 for the UEs of the paper's cell.
THETA = [
    0.4371131578979562,
    0.3181990531355569,
    0.5244807784740037,
    0.5707506829307624,
    1.2368434591166806,
    0.7450111181763259,
    2.012212469344499,
    1.2491273988996408,
    0.9936107181837053,
    0.6028449345238708,
]


def test_paper_has_the_rates_of_the_paper() -> None:
    cell = WirelessCell.paper()
    assert cell.ues == 10
    assert cell.means == pytest.approx(THETA, rel=0.0, abs=1e-9)
    assert (cell.variances == 1.0).all()


def test_rate_is_that_of_mobile_env_when_one_ue_is_served() -> None:
    """The whole simulator, with its scheduler, connections and steps, gives what the cell computes."""
    from mobile_env.core.base import MComCore
    from mobile_env.core.entities import BaseStation, UserEquipment

    cell = WirelessCell.paper()
    config = MComCore.default_config()
    station = BaseStation(0, (100, 100), **config["bs"])
    user = UserEquipment(0, **config["ue"] | {"velocity": 0.0})
    core = MComCore([station], [user], config)
    for ue, position in enumerate(cell.positions):
        core.reset()
        user.x, user.y = position
        core.step([1])  # connects, and does not move
        assert core.datarates[(station, user)] == pytest.approx(THETA[ue], rel=0.0, abs=1e-9)


def test_means_are_shannon_rates() -> None:
    cell = WirelessCell.paper()
    assert cell.means == pytest.approx(9e6 * np.log1p(cell.snrs) / math.log(2.0), rel=1e-7)


def test_random_cells_are_reproducible_and_covered() -> None:
    cell = WirelessCell.random(50, seed=4)
    assert (cell.positions == WirelessCell.random(50, seed=4).positions).all()
    assert (cell.positions != WirelessCell.random(50, seed=5).positions).any()
    distances = np.hypot(*(cell.positions - cell.channel.station).T)
    assert (cell.means > 0.0).all()
    assert distances.min() >= 10.0
    assert distances.max() <= cell.channel.radius() + 2  # mobile-env rounds places down to whole metres


def test_coverage_ends_at_the_radius() -> None:
    channel = WirelessCell.paper().channel
    x, y = channel.station
    radius = channel.radius()
    assert channel.rate(channel.snr(x + radius, y)) > 0.0
    assert channel.rate(channel.snr(x + radius + 1, y)) == 0.0


def test_a_ue_out_of_reach_earns_nothing() -> None:
    places = [(120.0, 100.0), (0.0, 0.0)]
    assert WirelessCell(places).means[1] == 0.0
    cell = WirelessCell(places, fading=Rayleigh())
    assert cell.means[1] == cell.variances[1] == cell.reward(cell.snrs[1], np.random.default_rng(0)) == 0.0


def test_rewards_of_the_paper_are_normal_around_theta() -> None:
    cell, rng = WirelessCell.paper(), np.random.default_rng(1)
    draws = np.array([cell.reward(cell.snrs[6], rng) for _ in range(20_000)])
    assert abs(draws.mean() - THETA[6]) < 5.0 / math.sqrt(draws.size)  # five standard errors
    assert abs(draws.var() - 1.0) < 5.0 * math.sqrt(2.0 / draws.size)


@pytest.mark.parametrize("fading", [Rayleigh(), Rician(4.0)])
def test_faded_rewards_have_the_means_and_variances_of_the_quadrature(fading: Any) -> None:
    cell, rng = WirelessCell.paper(fading=fading), np.random.default_rng(2)
    for ue in range(cell.ues):
        draws = np.array([cell.reward(cell.snrs[ue], rng) for _ in range(5_000)])
        error = math.sqrt(cell.variances[ue] / draws.size)
        fourth = ((draws - draws.mean()) ** 4).mean()
        assert abs(draws.mean() - cell.means[ue]) < 5.0 * error
        assert abs(draws.var() - cell.variances[ue]) < 5.0 * math.sqrt(fourth / draws.size)
        assert draws.min() > 0.0  # no noise beside the fading


def test_strong_direct_path_is_no_fading() -> None:
    still, faded = WirelessCell.paper(), WirelessCell.paper(fading=Rician(1e9))
    assert faded.means == pytest.approx(still.means, rel=1e-7)
    assert faded.variances.max() < 1e-8


def test_instance_of_the_paper() -> None:
    instance = WirelessCell.paper().instance(rates=fb.rates.InverseGap(0.9))
    assert isinstance(instance, fb.Instance)
    assert instance.best_arm == 6
    assert instance.family == fb.Gaussian()
    assert fb.solve(instance).characteristic_time == pytest.approx(40.07, abs=0.005)
    assert fb.solve(WirelessCell.paper().instance()).characteristic_time == pytest.approx(28.57, abs=0.005)


def test_instance_of_a_fading_cell() -> None:
    cell = WirelessCell.paper(fading=Rayleigh())
    instance = cell.instance(rates=fb.rates.Constant(0.05))
    assert (instance.means == cell.means).all()
    assert (instance.scales == cell.variances).all()
    exponential = cell.instance(family=fb.Exponential())
    assert exponential.family == fb.Exponential()
    # At low SNR the rate is proportional to the gain, which is exponential: its variance is its mean squared.
    assert cell.variances == pytest.approx(cell.means**2, rel=1e-5)


def test_cells_can_be_copied_and_changed() -> None:
    cell = WirelessCell.paper(fading=Rician(2.0))
    for other in (copy.deepcopy(cell), pickle.loads(pickle.dumps(cell)), dataclasses.replace(cell)):
        assert (other.means == cell.means).all()
    assert dataclasses.replace(cell, fading=None).means == pytest.approx(THETA, abs=1e-9)
    with pytest.raises(dataclasses.FrozenInstanceError):
        cell.velocity = 1.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        cell.positions[0] = 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"positions": [(1.0, 2.0)]}, r"positions must be rows of x and y for at least two UEs, got shape \(1, 2\)"),
        ({"positions": [1.0, 2.0]}, r"positions must be rows of x and y for at least two UEs, got shape \(2,\)"),
        (
            {"positions": np.zeros((2, 3))},
            r"positions must be rows of x and y for at least two UEs, got shape \(2, 3\)",
        ),
        ({"positions": [(1.0, 2.0), (3.0,)]}, r"positions must be numbers, got \[\(1.0, 2.0\), \(3.0,\)\]"),
        ({"positions": [(1.0, 2.0), (3.0, "a")]}, "positions must be numbers, got"),
        ({"positions": [(1.0, 2.0), (3.0, math.nan)]}, r"positions must be on the map .* got \(3.0, nan\) for UE 1"),
        (
            {"positions": [(1.0, 2.0), (300.0, 4.0)]},
            r"positions must be on the map of 200 m x 200 m, got \(300.0, 4.0\) for UE 1",
        ),
        ({"velocity": -1.0}, "velocity must be metres per slot, from 0 to 1e6, got -1.0"),
        ({"velocity": math.nan}, "velocity must be metres per slot, from 0 to 1e6, got nan"),
        ({"fading": "rayleigh"}, r"fading must be Rayleigh\(\), Rician\(factor\) or None, got 'rayleigh'"),
    ],
)
def test_bad_cells(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WirelessCell(**{"positions": [(120.0, 100.0), (100.0, 140.0)]} | arguments)


@pytest.mark.parametrize("ues", [1, 2.0, "3", None])
def test_bad_numbers_of_ues(ues: Any) -> None:
    with pytest.raises(ValueError, match=f"ues must be a whole number from 2, got {ues!r}"):
        WirelessCell.random(ues)


def test_no_place_is_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Channel, "rate", lambda *_: 0.0)
    monkeypatch.setattr("fairbai.environments.cell.MAX_TRIES", 10)
    with pytest.raises(RuntimeError, match="found no covered position on the map in 10 tries"):
        WirelessCell.random(2)
