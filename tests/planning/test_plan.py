"""Plans, and the charts of them."""

import dataclasses
import json
import math
import re
from itertools import pairwise
from typing import Any

import plotly.graph_objects as go
import pytest

import fairbai as fb
from fairbai.charts.plans import figures
from fairbai.planning import Plan, plan
from fairbai.planning.expected import Forecast, trials_until_stop
from fairbai.planning.text import trials
from fairbai.simulation.scenario import Scenario

MEANS = [0.1, 0.12, 0.1]
HOSTILE = ["</script><script>alert(1)</script>", "%{x} & <b>bold</b>", "x" * 100]


def planned(rates: fb.rates.Rate | None = None, **options: Any) -> Any:
    return plan(fb.Instance(MEANS, fb.Bernoulli(), rates), **options)


def test_prices_and_shares() -> None:
    found = planned(fb.rates.Constant(0.3))
    assert found.fair.best_arm == 1
    assert found.heuristic < found.proved
    assert found.without_floors <= found.proved
    none = planned()
    assert none.without_floors == none.proved
    most = plan(fb.Instance([0.5, 0.3], fb.Bernoulli(), fb.rates.Constant([0.9, 0.05])))
    ratio = fb.price_of_fairness(most.instance).ratio
    assert math.isclose(most.proved / most.without_floors, ratio, rel_tol=1e-9)


def simulated_mean(found: Plan, stop: str) -> float:
    """The mean of the experiments that a plan simulates."""
    outlook = found.stops[stop]
    options = {"settle": True, "runs": outlook.duration.runs, "seed": 0}
    return float(fb.simulate(found.instance, found.delta, stopping=outlook.stopping, **options).stopping_time.mean())


TIED = fb.Instance([0.5, 0.5], "bernoulli", tolerance=0.1)


@pytest.mark.slow_without_jit
def test_the_mean_and_the_quantiles_are_those_of_the_same_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of equal arms within a tolerance the estimate is twice too long: 846, with half of them done within 401."""
    monkeypatch.setattr(Scenario, "is_compiled", lambda self: True)
    found = plan(TIED)
    assert found.duration.simulated
    assert 0.9 * found.duration.p50 < found.proved < 1.2 * found.duration.p50
    assert 0.4 < found.outlook.scale < 0.6
    assert found.heuristic < found.proved == found.without_floors
    assert "trials are of experiments simulated with the means" in repr(found)
    again = fb.simulate(
        TIED, 0.05, stopping=found.stopping, settle=True, runs=found.duration.runs, seed=0
    ).stopping_time
    assert found.proved == pytest.approx(again.mean(), rel=1e-9)


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("instance", [TIED, fb.Instance([1.0, 0.0], rates=fb.rates.Constant(0.2))], ids=["tied", "one"])
def test_both_stops_are_simulated(instance: fb.Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that they can be compared, and the curves go through what the text says."""
    monkeypatch.setattr(Scenario, "is_compiled", lambda self: True)
    found = plan(instance)
    paper = fb.stopping.Heuristic()
    assert found.heuristic == pytest.approx(simulated_mean(found, "heuristic"), rel=1e-9)
    unscaled = [found.stops[name].trials / found.stops[name].scale for name in ("proved", "heuristic")]
    estimates = [trials_until_stop(instance, rule, 0.05) for rule in (found.stopping, paper)]
    assert unscaled == pytest.approx(estimates, rel=1e-9)
    proved, paper_curve, marker = figures(found)["price"]["data"]
    place = proved["x"].index(marker["x"][0])
    assert [proved["y"][place], paper_curve["y"][place]] == pytest.approx([found.proved, found.heuristic], rel=1e-6)
    monkeypatch.setattr(Scenario, "is_compiled", lambda self: False)
    assert plan(instance).proved == pytest.approx(found.proved / found.outlook.scale, rel=1e-9)


def test_an_estimate_that_is_too_long_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "is_compiled", lambda self: False)
    text = repr(plan(TIED))
    assert text.startswith("At most about 846 trials find an arm within 0.1 of the best arm")
    assert "an approximation, up to twice too long because 2 answers are right." in text
    assert "not proved, would take at most about 981." in text
    assert "at least 150 trials on average (the lower bound where 2 answers are right)." in text
    many = repr(plan(fb.Instance([0.5] * 25, "bernoulli", tolerance=0.1)))
    assert "With 25 right answers there is no lower bound on the trials at delta = 0.05." in many
    assert repr(plan(fb.Instance([0.5, 0.3], "bernoulli", tolerance=0.1))).startswith("About")


def test_the_rule_suits_the_expected_trials() -> None:
    found = planned()
    suited = fb.stopping.Mixture.for_trials(found.heuristic, 0.05, 3)
    assert math.isclose(found.stopping.kappa, suited.kappa, rel_tol=0.01)
    assert plan(fb.Instance([300.0, 200.0], fb.Exponential())).stopping.prior_mean == 250.0


@pytest.mark.parametrize(
    "rates",
    [
        fb.rates.Constant(0.0),
        fb.rates.Constant(0.1),
        fb.rates.Constant(1 / 3),
        fb.rates.Constant([0.1, 0.0, 0.4]),
        fb.rates.Bounded(0.1, 0.5),
        fb.rates.Bounded([0.1, 0.2, 0.1], [0.5, 0.4, 0.5], groups=[fb.rates.Group([0, 1], 0.5)]),
        fb.rates.Bounded(0.1, groups=[fb.rates.Group([0, 1], 0.5, 0.6)]),
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
    assert marker["y"] == [found.expected]
    if not isinstance(rates, fb.rates.Custom):
        place = proved["x"].index(marker["x"][0])
        assert math.isclose(proved["y"][place], found.expected, rel_tol=1e-3)
        assert proved["x"] == sorted(proved["x"])
        assert len(proved["x"]) > 3


def test_a_plan_says_what_its_limits_imply() -> None:
    group = fb.rates.Group(["a", "b"], ceiling=0.5)
    rates = fb.rates.Bounded([0.3, 0.0, 0.0], groups=[group])
    found = plan([0.1, 0.12, 0.11], "bernoulli", rates, arms=["control", "a", "b"])
    (sentence,) = found.implied
    assert sentence.endswith("as all others together may have at most 50 %, it gets at least 50 %")
    assert f"These limits imply more than they say:\n- {sentence}.\n" in repr(found)
    assert planned(fb.rates.Constant(0.1)).implied == []
    assert "imply" not in repr(planned(fb.rates.Bounded(0.1, 0.5)))


def test_a_plan_lists_the_first_few_implications() -> None:
    means = [0.1 + 0.01 * arm for arm in range(8)]
    found = plan(fb.Instance(means, fb.Bernoulli(), fb.rates.Bounded(0.1, 0.5)))
    assert len(found.implied) == 8
    lines = [line for line in repr(found).splitlines() if line.startswith("- ")]
    assert len(lines) == 6
    assert lines[-1] == "- and 3 more."


def test_the_curve_rises_with_the_floor() -> None:
    found = plan(fb.Instance([0.1, 0.15, 0.08, 0.12], fb.Bernoulli(), fb.rates.Constant(0.1)))
    curve = figures(found)["price"]["data"][0]["y"]
    assert curve[-1] > 1.2 * curve[0]
    assert all(later >= earlier * (1.0 - 1e-9) for earlier, later in pairwise(curve))


def test_labels_are_text() -> None:
    found = plan(fb.Instance(MEANS, fb.Bernoulli()), arms=HOSTILE)
    names = figures(found)["allocation"]["data"][0]["x"]
    assert len(set(names)) == 3
    assert not any(re.search("[<>]", name) for name in names)
    assert max(map(len, names)) < 50
    assert names[1].startswith("%{x} &amp; &lt;b&gt;")


def test_many_arms_are_drawn_in_part() -> None:
    found = plan(fb.Instance([0.1] * 99 + [0.2], fb.Bernoulli()))
    allocation = figures(found)["allocation"]
    assert len(allocation["data"][0]["x"]) == 30
    assert "of 100" in allocation["layout"]["xaxis"]["title"]["text"]


def test_what_cannot_be_decided_is_refused() -> None:
    with pytest.raises(ValueError, match="means must have a single best arm, got the same for 'a' and 'c'"):
        plan([0.2, 0.1, 0.2], "bernoulli", arms=["a", "b", "c"])
    with pytest.raises(ValueError, match="floors must leave a share for every arm: nothing is left for 'c'"):
        plan([0.2, 0.1, 0.1], "bernoulli", [0.5, 0.5, 0.0], arms=["a", "b", "c"])
    with pytest.raises(ValueError, match="delta"):
        plan(fb.Instance([0.2, 0.1]), delta=0.7)


GAUSSIAN: dict[str, Any] = {"means": [1.0, 0.0], "family": fb.Gaussian(1.0)}
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"means": fb.Instance([1.0, 0.0]), "family": fb.Gaussian(1.0)}, "means must stand alone if they are an Instance"),
    ({**GAUSSIAN, "arms": ["a"]}, "arms must be at least two"),
    (
        {**GAUSSIAN, "arms": ["a", "b", "c"]},
        r"arms must be as many as means \(2\), got 3",
    ),
    ({**GAUSSIAN, "arms": ["a", "a"]}, "arms must have different labels, got 'a' twice"),
    ({**GAUSSIAN, "per_day": 0.0}, "per_day must be positive, got 0.0"),
    ({"means": [1.0, 0.0], "family": "cauchy"}, "family must be one of"),
    ({"means": [1.0, 0.0]}, 'family must be given: "bernoulli" for clicks'),
    ({**GAUSSIAN, "rates": {"a": 0.6}}, "by label needs the labels of the arms"),
    ({**GAUSSIAN, "rates": 0.6}, "2 floors of 60 % add up to 120 %"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan(**arguments)


def test_short_forms_are_the_objects_that_they_stand_for() -> None:
    instance = fb.Instance([0.5, 0.3, 0.2], fb.Bernoulli(), fb.rates.Constant(0.2))
    expected = plan(instance).to_dict()
    by_label = dict.fromkeys("abc", 0.2)
    for rates in (0.2, [0.2] * 3, by_label, fb.rates.Constant(0.2), {"kind": "constant", "floor": 0.2}):
        found = plan([0.5, 0.3, 0.2], "bernoulli", rates, arms=["a", "b", "c"]).to_dict()
        assert found["trials"] == expected["trials"]
        assert [{**arm, "arm": number} for number, arm in enumerate(found["arms"])] == expected["arms"]


def test_one_estimate_everywhere() -> None:
    """Of the plan, of its curve, and of ``trials_until_stop``."""
    found = planned(fb.rates.Constant(0.25))
    assert found.proved == trials_until_stop(found.instance, found.stopping, 0.05)
    assert found.heuristic == trials_until_stop(found.instance, fb.stopping.Heuristic(), 0.05)
    without = fb.Instance(MEANS, fb.Bernoulli())
    assert found.without_floors == trials_until_stop(without, found.stopping, 0.05)


@pytest.mark.parametrize(
    ("means", "family"),
    [
        ([10.0, 10.0, 10.0, 11.0], fb.Gaussian(9.0)),
        ([0.1, 0.15, 0.08, 0.12], fb.Bernoulli()),
        ([3.0, 1.0], fb.Poisson()),
    ],
)
def test_trials_rise_with_the_floor(means: list[float], family: fb.problems.families.Family) -> None:
    """Also where a floor makes the shares more even, for which a rule asks less."""
    floors = [share / 100 / len(means) for share in range(101)]
    stopping = plan(means, family).stopping
    for rule in (stopping, fb.stopping.Heuristic(), fb.stopping.PairwiseGaussian()):
        if rule.proved(family) or rule.proof is None:
            forecast = Forecast(fb.Instance(means, family), rule, 0.05)
            fair = [fb.solve(fb.Instance(means, family, fb.rates.Constant(floor))) for floor in floors]
            trials = [forecast.trials(best.characteristic_time) for best in fair]
            assert all(later >= earlier * (1.0 - 1e-9) for earlier, later in pairwise(trials))
            assert trials[-1] > trials[0]


def test_a_plan_prints_as_a_report() -> None:
    text = repr(plan([0.12, 0.10], "bernoulli", arms=["new", "old"], per_day=1000))
    assert "find the best arm with 95 % confidence" in text
    assert re.search(r"One experiment in ten ends within [\d,]+ trials \([\d.]+ days?\), half within ", text)
    assert "an approximation" in text or "simulated experiments" in text
    assert [line.split()[0] for line in text.splitlines()[-5:-3]] == ["new", "old"]
    assert max(map(len, text.splitlines())) <= 100


def test_one_trial_is_one_trial() -> None:
    assert [trials(value) for value in (0.2, 1.0, 1.5, 12_345.6)] == ["1 trial", "1 trial", "2 trials", "12,346 trials"]


def test_a_plan_is_json_and_cannot_be_changed() -> None:
    found = plan([0.12, 0.10], "bernoulli", arms=["new", "old"], per_day=1000)
    form = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert form == found.to_dict()
    assert form["days"]["proved"] == found.proved / 1000
    assert set(form["quantiles"]) == {"p10", "p50", "p90", "runs"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.delta = 0.1  # type: ignore[misc]


def test_the_stop_for_means_that_change() -> None:
    """About what simulations take (1,610 and 13,300 trials), tuned to the instance; nothing where it cannot be used."""
    for means, expected in (([0.30, 0.22, 0.15], 1610.0), ([0.12, 0.10, 0.09], 13_300.0)):
        found = fb.plan(means, "bernoulli", rates=0.2)
        assert found.design_based == fb.stopping.DesignBased.for_instance(found.instance)
        assert found.drift_proof == pytest.approx(expected, rel=0.25)
    bounded = fb.plan([3.0, 3.4], fb.Bounded(1, 5, variance=1.0), rates=0.3)
    assert bounded.drift_proof < bounded.proved  # which pays for the largest variance
    for other in (
        fb.plan([0.3, 0.2], "bernoulli"),
        fb.plan([0.3, 0.2], fb.Gaussian(1.0), rates=0.2),
        fb.plan([0.3, 0.2], "bernoulli", rates=fb.rates.InverseGap(0.5)),
    ):
        assert other.design_based is None
        assert math.isnan(other.drift_proof)


def test_a_plan_names_the_stop_that_ends_first() -> None:
    """Revenue with a cap that is hardly ever reached: the stop for means that change adapts to its variance."""
    found = fb.plan([2.28, 2.45], fb.Bounded(0, 2000, variance=500.0), rates=0.1, per_day=4300)
    assert found.stop == "drift_proof"
    assert found.stopping == found.design_based
    assert found.expected == found.drift_proof < found.proved / 20
    assert found.duration.p10 < found.expected < found.duration.p90
    text = repr(found)
    assert text.startswith(f"About {math.ceil(found.expected):,} trials ({found.expected / 4300:.1f} days)")
    assert f"fb.stopping.{found.stopping!r}\nhowever the means change." in text
    assert f"Mixture, proved if the means do not change, would take about {math.ceil(found.proved):,} (" in text
    other = found.with_stop("proved")
    assert other.expected == found.proved < other.duration.p90
    assert repr(other).startswith(f"About {math.ceil(found.proved):,} trials")
    assert "DesignBased, proved however the means change, would take about" in repr(other)


def test_counts_are_those_of_the_stop() -> None:
    """Small floors: the rule that draws guarantees more than they do, here all that there is."""
    found = fb.plan([3.0, 3.6, 2.5, 2.8, 3.0], fb.Bounded(0, 100, variance=60.0), rates=0.05, delta=0.1)
    assert found.stop == "drift_proof"
    assert found.shares == pytest.approx(0.2)
    assert [arm["expected_trials"] for arm in found.to_dict()["arms"]] == pytest.approx([found.expected / 5] * 5)
    assert found.with_stop("proved").shares == pytest.approx(found.fair.weights)


def test_what_a_plan_offers_can_be_sent() -> None:
    """With the stop for means that change it says what a ticket without a reward counts as."""
    cost = fb.plan([3.0, 3.4], fb.Bounded(1, 5, variance=0.1), rates=0.3, goal="min")
    assert cost.stop == "drift_proof"
    assert (cost.experiment["report_after"], cost.experiment["silence"]) == (86_400.0, 5.0)
    assert cost.experiment["stopping"] == cost.stopping.to_dict()
    assert "silence" not in cost.with_stop("proved").experiment


def test_what_learning_will_cost() -> None:
    """The gaps times the shares until the decision; the floors alone give the rest to the best arm."""
    found = fb.plan([2.0, 1.0, 0.0], fb.Gaussian(1.0), [0.1, 0.2, 0.3])
    shares = found.fair.weights
    assert found.regret == pytest.approx(found.proved * (shares[1] + 2.0 * shares[2]))
    assert found.floors_regret == pytest.approx(found.proved * (0.2 + 2.0 * 0.3))
    assert found.to_dict()["regret"] == {"until_decision": found.regret, "floors": found.floors_regret}
    assert "other arms than the best forgo about" in repr(found)
    less = fb.plan([0.0, 1.0, 2.0], fb.Gaussian(1.0), [0.1, 0.2, 0.3], goal="min")
    assert less.regret == pytest.approx(found.regret)
