"""Rewards of another law than the declared one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.kernels.streams.rewards import REVENUE, reward
from fairbai.problems.laws import Law
from fairbai.simulation.scenario import truth_of

LAW = fb.laws.Revenue(conversion=0.1, sigma=0.8)


def test_json_form() -> None:
    form = json.loads(json.dumps(LAW.to_dict()))
    assert form == {"kind": "revenue", "conversion": 0.1, "sigma": 0.8}
    assert Law.from_dict(form) == LAW
    assert Law.of("revenue") == fb.laws.Revenue()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"conversion": 0.0}, r"conversion must be in \(0, 1\], got 0.0"),
        ({"conversion": 1.5}, r"conversion must be in \(0, 1\], got 1.5"),
        ({"sigma": -1.0}, "sigma must be from 0 to 10, got -1.0"),
    ],
)
def test_bad_parameters(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        fb.laws.Revenue(**settings)


def test_rewards_have_the_means_and_variances_that_they_should() -> None:
    """400,000 quantiles per arm, evenly spread; the tail that they leave out is a thousandth of the variance."""
    instance = fb.Instance([2.0, 0.5], fb.Gaussian(None, guess=1.0))
    truth, uniforms = truth_of(instance, LAW), (np.arange(400_000) + 0.5) / 400_000
    for arm, mean in enumerate(instance.means):
        found = np.array([reward(REVENUE, truth, arm, uniform) for uniform in uniforms.tolist()])
        assert (found == 0.0).mean() == pytest.approx(0.9, abs=1e-5)
        assert found.mean() == pytest.approx(mean, rel=1e-3)
        assert found.var() == pytest.approx(LAW.variances(mean), rel=1e-2)
        assert np.log(found[found > 0.0]).std() == pytest.approx(0.8, rel=1e-3)


@pytest.mark.parametrize("family", [fb.Gaussian(4.0), fb.Gaussian(None, guess=4.0)], ids=repr)
def test_nothing_is_proved_for_them(family: fb.Gaussian) -> None:
    instance = fb.Instance([3.0, 1.0], family)
    runs = fb.simulate(instance, 0.1, runs=20, seed=1, law={"kind": "revenue", "conversion": 0.9, "sigma": 0.1})
    assert not runs.proved
    assert not runs.censored.any()
    assert fb.simulate(instance, 0.1, runs=1, seed=1).proved


def test_a_simulated_run_is_that_of_an_identifier() -> None:
    instance = fb.Instance([2.0, 1.0, 0.5], fb.Gaussian(None, guess=1.0), 0.1)
    truth = truth_of(instance, LAW)
    runs = fb.simulate(instance, 0.1, runs=1, seed=3, maximum_rounds=150, law=LAW, trace=range(1, 151))
    ident = fb.Identifier(3, 0.1, instance.family, instance.rates, seed=3, settle=False)
    arms: list[int] = []
    while len(arms) < 150 and not ident.stopped:
        arms.append(ident.ask())
        ident.tell(arms[-1], reward(REVENUE, truth, arms[-1], two_uniforms(3, 0, len(arms) - 1)[1]))
    shares = np.array([np.bincount(arms[: n + 1], minlength=3) / (n + 1) for n in range(len(arms))])
    np.testing.assert_allclose(runs.shares[0, : len(arms)], shares, rtol=1e-12)


def test_drift_changes_the_mean_of_the_law() -> None:
    instance = fb.Instance([1.0, 1.0], fb.Gaussian(None, guess=1.0))
    drift = fb.drifts.Steps([1], [[9.0, 0.0]])
    runs = fb.simulate(
        instance, 0.1, "uniform_fair", runs=20, seed=1, law=fb.laws.Revenue(1.0, 0.1), drift=drift, maximum_rounds=400
    )
    assert (runs.recommendation == 0).all()


@pytest.mark.parametrize(
    ("instance", "message"),
    [
        (fb.Instance([0.5, 0.2], "bernoulli"), "law can be simulated for gaussian arms, got bernoulli"),
        (fb.Instance([0.5, 0.0]), "means must be positive for the law revenue, got 0.0 for arm 1"),
    ],
)
def test_what_it_cannot_stand_in_for(instance: fb.Instance, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        fb.simulate(instance, runs=1, law=LAW)
