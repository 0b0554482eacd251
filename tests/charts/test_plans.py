"""The charts of a plan."""

import numpy as np
import pytest

import fairbai as fb
from fairbai.charts.plans import FEW_POINTS, POINTS, figures
from fairbai.planning import plan


def floors_of(found: fb.Plan) -> list[float]:
    """Where the price is drawn, in percent."""
    price = figures(found)["price"]["data"]
    here: float = price[-1]["x"][0]
    assert price[0]["x"] == price[1]["x"]
    assert here in price[0]["x"]
    return list(price[0]["x"])


@pytest.mark.parametrize(
    ("floor", "points"),
    [
        (0.0, POINTS),  # at a place of the curve
        (0.25, POINTS),
        (0.2, POINTS + 1),  # between two of them
        (0.5, POINTS),  # at the end
    ],
)
def test_no_point_of_the_price_is_drawn_twice(floor: float, points: int) -> None:
    places = floors_of(plan(fb.Instance([0.5, 0.3], fb.Bernoulli(), fb.rates.Constant(floor))))
    assert len(places) == points
    assert np.diff(places).min() > 0.1


def test_floors_of_levels_are_scaled_from_0_to_twice_as_much() -> None:
    design = fb.factorial({"headline": ["old", "new"], "button": ["buy", "try"]}, variance=0.25)
    means = design.means({"headline": {"new": 0.1}, "button": {"try": 0.2}}, baseline=0.3)
    rates = design.rates({"headline": 0.2})
    places = floors_of(plan(fb.Instance(means, design, rates)))
    assert len(places) == FEW_POINTS
    assert places == pytest.approx(np.linspace(0.0, 200.0, FEW_POINTS))
