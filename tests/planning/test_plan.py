"""Plans, and the charts of them."""

import math
import re
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go
import pytest

import fairbai as fb
from fairbai.charts.plans import figures
from fairbai.planning.plan import plan

MEANS = [0.1, 0.12, 0.1]
HOSTILE = ["</script><script>alert(1)</script>", "%{x} & <b>bold</b>", "x" * 100]


def planned(rates: fb.rates.Rate | None = None, **options: Any) -> Any:
    return plan(fb.Instance(MEANS, fb.Bernoulli(), rates), 0.05, **options)


def test_prices_and_shares() -> None:
    found = planned(fb.rates.Constant(0.3))
    assert found.fair.best_arm == 1
    assert found.heuristic < found.proved
    assert found.without_floors <= found.proved
    none = planned()
    assert none.without_floors == none.proved
    most = plan(fb.Instance([0.5, 0.3], fb.Bernoulli(), fb.rates.Constant([0.9, 0.05])), 0.05)
    ratio = fb.price_of_fairness(most.instance).ratio
    assert math.isclose(most.proved / most.without_floors, ratio, rel_tol=0.3)


def test_the_rule_suits_the_expected_trials() -> None:
    found = planned()
    suited = fb.stopping.Mixture.for_trials(found.heuristic, 0.05, 3)
    assert math.isclose(found.stopping.kappa, suited.kappa, rel_tol=0.01)
    assert plan(fb.Instance([300.0, 200.0], fb.Exponential()), 0.05).stopping.prior_mean == 250.0


@pytest.mark.parametrize(
    "rates",
    [
        fb.rates.Constant(0.0),
        fb.rates.Constant(0.1),
        fb.rates.Constant(1 / 3),
        fb.rates.Constant([0.1, 0.0, 0.4]),
        fb.rates.Bounded(0.1, 0.5),
        fb.rates.Bounded([0.1, 0.2, 0.1], [0.5, 0.4, 0.5], groups=[fb.rates.Group([0, 1], 0.5)]),
        fb.rates.Gap(0.5),
        fb.rates.Custom(lambda means: 0.2),
    ],
    ids=lambda rates: rates.kind,
)
def test_charts_are_what_plotly_takes(rates: fb.rates.Rate) -> None:
    found = planned(rates)
    drawn = figures(found)
    assert set(drawn) == {"price", "allocation"}
    for one in drawn.values():
        figure = go.Figure(one)
        assert figure.layout.xaxis.title.text
        assert figure.layout.yaxis.title.text
    proved, _, marker = drawn["price"]["data"]
    assert marker["y"] == [found.proved]
    if not isinstance(rates, fb.rates.Custom):
        place = proved["x"].index(marker["x"][0])
        assert math.isclose(proved["y"][place], found.proved, rel_tol=1e-3)
        assert proved["x"] == sorted(proved["x"])
        assert len(proved["x"]) > 3


def test_the_curve_rises_with_the_floor() -> None:
    found = plan(fb.Instance([0.1, 0.15, 0.08, 0.12], fb.Bernoulli(), fb.rates.Constant(0.1)), 0.05)
    curve = figures(found)["price"]["data"][0]["y"]
    assert curve[-1] > 1.2 * curve[0]
    assert all(later >= earlier * 0.999 for earlier, later in pairwise(curve))


def test_labels_are_text() -> None:
    found = plan(fb.Instance(MEANS, fb.Bernoulli()), 0.05, HOSTILE)
    names = figures(found)["allocation"]["data"][0]["x"]
    assert len(set(names)) == 3
    assert not any(re.search("[<>]", name) for name in names)
    assert max(map(len, names)) < 50
    assert names[1].startswith("%{x} &amp; &lt;b&gt;")


def test_many_arms_are_drawn_in_part() -> None:
    found = plan(fb.Instance([0.1] * 99 + [0.2], fb.Bernoulli()), 0.05)
    allocation = figures(found)["allocation"]
    assert len(allocation["data"][0]["x"]) == 30
    assert "of 100" in allocation["layout"]["xaxis"]["title"]["text"]


def test_what_cannot_be_decided_is_refused() -> None:
    with pytest.raises(ValueError, match="means must have a single best arm, got the same for 'a' and 'c'"):
        plan(fb.Instance([0.2, 0.1, 0.2], fb.Bernoulli()), 0.05, ["a", "b", "c"])
    with pytest.raises(ValueError, match="floors must leave a share for every arm: nothing is left for 'c'"):
        plan(fb.Instance([0.2, 0.1, 0.1], fb.Bernoulli(), fb.rates.Constant([0.5, 0.5, 0.0])), 0.05, ["a", "b", "c"])
    with pytest.raises(ValueError, match="delta"):
        plan(fb.Instance([0.2, 0.1]), 0.7)
