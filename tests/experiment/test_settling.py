"""Settling with a margin: parameters, their JSON form, and the floors that are to be met."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.settling import checked_settling, raised_floors, settling_form, settling_plan
from tests.cases import proved_families

MEANS = {"gaussian": [1.0, 0.4, -0.2], "poisson": [3.0, 2.0, 1.0], "exponential": [3.0, 2.0, 1.0]}
FAMILIES = {
    family.kind: (family, MEANS.get(family.kind, [0.7, 0.5, 0.3])) for family in proved_families([0.5, 1.0, 2.0])
}
COUNTS = [40, 60, 100]


def experiment(family: Any, means: list[float], rates: fb.rates.Rate, counts: list[int]) -> Experiment:
    """An experiment with so many rewards of every arm, and about these means."""
    one = Experiment(len(means), family, rates)
    for arm, (mean, count) in enumerate(zip(means, counts, strict=True)):
        ones = round(mean * count)
        for number in range(count):
            one.count_assigned(arm)
            one.observe(arm, float(number < ones) if family.kind == "bernoulli" else mean)
    one.reconsider()
    return one


def softmax(means: np.ndarray) -> np.ndarray:
    weights = np.exp(means)
    return 0.6 * weights / weights.sum()


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("rates", [fb.rates.Softmax(0.6), fb.rates.Custom(softmax)], ids=["kernel", "Python"])
def test_margin_is_a_standard_error(name: str, rates: fb.rates.Rate) -> None:
    """By how much the floors vary when the means are drawn anew; linear up to a few percent at these counts."""
    family, means = FAMILIES[name]
    counts = [100 * count for count in COUNTS]
    one = experiment(family, means, rates, counts)
    plain, raised = (raised_floors(one, margin) for margin in (0.0, 1.0))
    rng = np.random.default_rng(1)
    variances = {
        "bernoulli": lambda m: m * (1 - m),
        "bounded": lambda m: m * (1 - m),
        "poisson": lambda m: m,
        "exponential": lambda m: m * m,
    }
    variance = variances.get(name, lambda m: np.array([0.5, 1.0, 2.0]))(np.array(means))
    drawn = rng.normal(means, np.sqrt(variance / counts), size=(20_000, 3))
    spread = fb.rates.Softmax(0.6).floors_batch(drawn).std(axis=0)
    assert plain == pytest.approx(softmax(np.array(means)), abs=1e-9)
    assert raised - plain == pytest.approx(spread, rel=0.03)  # a standard deviation of 20,000 draws: 0.5 %
    assert raised_floors(one, 2.0) - plain == pytest.approx(2.0 * (raised - plain))


@pytest.mark.parametrize("name", FAMILIES)
def test_rates_see_means_of_their_domain(name: str) -> None:
    """Also where an arm has few rewards, or a mean at the edge."""
    family, means = FAMILIES[name]
    inside = {"bernoulli": lambda m: (m >= 0) & (m <= 1), "poisson": lambda m: m >= 0, "exponential": lambda m: m > 0}

    def checked(seen: np.ndarray) -> np.ndarray:
        assert inside.get(name, np.isfinite)(seen).all()
        return softmax(seen)

    if name in ("bernoulli", "poisson"):
        means = [1.0, 0.5, 0.0]
    one = experiment(family, means, fb.rates.Custom(checked), [1, 2, 1])
    floors = raised_floors(one, 0.3)
    assert (floors >= softmax(one.state[3]) - 1e-12).all()
    assert floors.sum() <= 1.0


@pytest.mark.parametrize("rates", [fb.rates.Gap(0.9), fb.rates.InverseGap(0.5), fb.rates.Proportional(1.0)])
def test_margins_take_at_most_half_of_what_is_left(rates: Any) -> None:
    one = experiment(*FAMILIES["gaussian"], rates, [3, 4, 5])
    floors = raised_floors(one, 100.0)
    assert 1.0 - floors.sum() == pytest.approx((1.0 - rates.p0) / 2)
    assert (floors >= raised_floors(one, 0.0)).all()
    floors, end = settling_plan(one, fb.Settling(margin=100.0))
    assert end >= one.round


def test_known_floors_have_no_margin() -> None:
    one = experiment(*FAMILIES["gaussian"], fb.rates.Constant([0.1, 0.2, 0.3]), COUNTS)
    assert raised_floors(one, 5.0).tolist() == [0.1, 0.2, 0.3]


def test_parameters_and_form() -> None:
    assert fb.Settling() == fb.Settling(margin=0.0, learn=True)
    for settle in (True, False, fb.Settling(0.5), fb.Settling(1, learn=False)):
        assert checked_settling(settling_form(settle)) == settle
    assert checked_settling({"margin": 2}) == fb.Settling(2.0)
    assert len({fb.Settling(0.5), fb.Settling(0.5), fb.Settling()}) == 2


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"margin": -1.0}, "margin must be at least 0, got -1"),
        ({"margin": float("nan")}, "margin must be at least 0, got nan"),
        ({"learn": 1}, "learn must be true or false, got 1"),
        ({"margins": 1.0}, "settle takes margin and learn, got 'margins'"),
        ("yes", "settle must be true or false, got 'yes'"),
        (1, "settle must be true or false, got 1"),
    ],
)
def test_bad_settling(form: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        checked_settling(form)
    with pytest.raises(ValueError, match=error):
        fb.simulate(fb.Instance([1.0, 0.0]), settle=form, runs=1)
    with pytest.raises(ValueError, match=error):
        fb.Identifier(2, 0.1, fb.Gaussian(), settle=form)
