"""Rewards in an interval: units, variances, laws, and what is solved and simulated for them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv

import fairbai as fb
from fairbai.kernels.special import beta_quantile, bounded_quantile
from fairbai.problems import Family
from fairbai.testing import check_family


def test_it_is_a_family() -> None:
    check_family(fb.Bounded(), draws=3000)
    check_family(fb.Bounded(variance=0.05), draws=3000)
    check_family(fb.Bounded(variance=[0.04, 0.05, 0.06, 0.07]), draws=3000)


def test_unit_of_the_rewards() -> None:
    family = fb.Bounded(10.0, 30.0)
    assert [family.statistic(reward) for reward in (10, 15.0, 30)] == [0.0, 0.25, 1.0]
    assert family.in_units(np.array([0.0, 0.25, 1.0])).tolist() == [10.0, 15.0, 30.0]
    assert family.out_of_units(np.array([10.0, 15.0, 30.0])).tolist() == [0.0, 0.25, 1.0]
    assert family.check_sums(np.array([4.0, 0.0]), [60.0, 0.0]).tolist() == [1.0, 0.0]
    assert family.check_squares(np.array([4.0, 0.0]), np.array([1.0, 0.0]), [1200.0, 0.0]).tolist() == [1.0, 0.0]
    assert family.divergence(15.0, 20.0) == pytest.approx(fb.Bernoulli().divergence(0.25, 0.5))
    ident = fb.Identifier(2, 0.05, family)
    ident.tell([0, 1], [30.0, 12.0]) if ident.ask(2) == [0, 1] else None
    assert ident.status().means.tolist() == [30.0, 12.0]
    assert ident.interior_means.tolist() == pytest.approx([25.0, 15.0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: fb.Bounded(1.0, 1.0), r"low must be less than high, got 1.0 and 1.0"),
        (lambda: fb.Bounded("a"), "low must be a finite number, got 'a'"),
        (lambda: fb.Bounded(0, float("inf")), "high must be a finite number, got inf"),
        (lambda: fb.Bounded(variance=0.0), "variance must be positive, got 0.0 for arm 0"),
        (lambda: fb.Bounded(0, 5).statistic(6), "reward of a bounded arm must be from 0 to 5, got 6"),
        (lambda: fb.Bounded(0, 5).statistic(-0.1), "reward of a bounded arm must be from 0 to 5, got -0.1"),
        (lambda: fb.Bounded(0, 5).check_means([0.0, 1.0]), r"means must be in \(0, 5\) for bounded arms, got 0.0 for"),
        (lambda: fb.Bounded(variance=0.2).check_means([0.5, 0.9]), "means must leave room for the variance"),
        (lambda: fb.Bounded(0, 5).check_sums(np.array([2.0]), [11.0]), "sums must be from 0 to 5 times the pulls"),
        (lambda: fb.Bounded(0, 5).divergence(1, 6), "means must be from 0 to 5 for bounded arms, got 6"),
        (
            lambda: fb.Identifier(2, 0.1, fb.Bounded(0, 5), rates=fb.rates.Softmax(0.5)),
            "rates that depend on the means need rewards from 0 to 1, got Bounded",
        ),
    ],
)
def test_bad_input(build: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_json_form() -> None:
    for family in (fb.Bounded(), fb.Bounded(-1, 4), fb.Bounded(0, 2, variance=[0.1, 0.2])):
        assert Family.from_dict(json.loads(json.dumps(family.to_dict()))) == family
    assert Family.from_dict({"kind": "bounded", "high": 5.0}) == fb.Bounded(0.0, 5.0)


def test_solved_like_bernoulli_or_gaussian_arms() -> None:
    means = np.array([0.5, 0.4, 0.3])
    plain = fb.solve(fb.Instance(means, "bernoulli", rates=0.2))
    for family in (fb.Bounded(), fb.Bounded(-3.0, 7.0)):
        found = fb.solve(fb.Instance(family.in_units(means), family, rates=0.2))
        np.testing.assert_allclose(found.weights, plain.weights, rtol=1e-9)
        assert found.characteristic_time == pytest.approx(plain.characteristic_time)
    gaussian = fb.solve(fb.Instance(means, fb.Gaussian([0.1, 0.05, 0.02]), rates=0.2))
    found = fb.solve(fb.Instance(means, fb.Bounded(variance=[0.1, 0.05, 0.02]), rates=0.2))
    assert found.weights.tolist() == gaussian.weights.tolist()
    batch = fb.solve_batch([means, means[::-1]], 0.2, fb.Bounded())
    np.testing.assert_allclose(batch.weights[0], plain.weights, rtol=1e-9)
    np.testing.assert_allclose(batch.weights[1], plain.weights[::-1], rtol=1e-9)
    assert fb.rates.blended(fb.Instance(means, fb.Bounded()), 0.5, 0.5) == fb.rates.blended(
        fb.Instance(means, "bernoulli"), 0.5, 0.5
    )


def test_quantiles_of_beta_laws() -> None:
    rng = np.random.default_rng(0)
    for a, b in 10.0 ** rng.uniform(-1.5, 3.0, (200, 2)):
        for uniform in (1e-9, *rng.random(3), 1.0 - 1e-9):
            assert beta_quantile(a, b, uniform) == pytest.approx(betaincinv(a, b, uniform), abs=1e-8)


def test_quantiles_of_bounded_laws() -> None:
    """Mean and variance over a fine grid of uniforms."""
    uniforms = (np.arange(1000) + 0.5) / 1000
    for mean, spread in ((0.3, 0.1), (0.5, 0.4), (0.9, 0.05)):
        values = np.array([bounded_quantile(mean, spread, uniform) for uniform in uniforms])
        assert np.all(np.diff(values) >= 0.0)
        assert values.mean() == pytest.approx(mean, abs=1e-4)
        assert values.std() == pytest.approx(spread, rel=2e-3)
    ends = np.array([bounded_quantile(0.3, -1.0, uniform) for uniform in uniforms])
    assert set(ends.tolist()) == {0.0, 1.0}
    assert ends.mean() == pytest.approx(0.3)
    assert bounded_quantile(0.3, 0.0, 0.7) == 0.3
    assert bounded_quantile(0.5, 0.5, 0.2) == 1.0


def test_simulated_in_any_unit() -> None:
    """The same runs in another unit, and those of Bernoulli arms without a variance."""
    means = np.array([0.6, 0.4])
    settings: dict[str, Any] = {"deltas": 0.1, "runs": 5, "seed": 4}
    plain = fb.simulate(fb.Instance(means, "bernoulli", rates=0.3), **settings)
    unit = fb.simulate(fb.Instance(means, fb.Bounded(), rates=0.3), **settings)
    scaled = fb.simulate(fb.Instance(means * 10.0 - 5.0, fb.Bounded(-5.0, 5.0), rates=0.3), **settings)
    assert plain.decision_time.tolist() == unit.decision_time.tolist() == scaled.decision_time.tolist()
    beta = fb.simulate(fb.Instance(means, fb.Bounded(variance=0.02), rates=0.3), **settings)
    assert beta.decision_time.mean() != plain.decision_time.mean()


def test_variance_is_learned_by_rules_that_solve() -> None:
    """F-TaS gives a noisy arm more trials, as the Gaussian allocation does, though the family has one variance."""
    ident = fb.Identifier(2, 1e-9, fb.Bounded(), rates=0.1, sampling=fb.sampling.FairTrackAndStop("cumulative"))
    rng = np.random.default_rng(3)
    for _ in range(600):
        arm = ident.ask()
        ident.tell(arm, 0.6 + 0.01 * rng.random() if arm == 0 else float(rng.random() < 0.55))
    assert ident.status().shares[1] > 0.8
