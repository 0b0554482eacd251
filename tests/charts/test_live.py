"""The charts of a live experiment."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import plotly.graph_objects as go
import pytest

from fairbai.charts.colors import BLUE, VERMILLION
from fairbai.charts.live import figures
from fairbai.charts.look import time_axis


def arm(name: str, **changes: Any) -> dict[str, Any]:
    numbers = {"assigned": 50, "observed": 49, "mean": 0.2, "interval": [0.1, 0.4], "share": 0.5, "floor": 0.1}
    return {"arm": name, "ceiling": 1.0, **numbers, **changes}


def status(**changes: Any) -> dict[str, Any]:
    return {
        "arms": [arm("a"), arm("<b>", mean=0.3, interval=[0.2, None])],
        "config": {"family": {"kind": "gaussian"}},
        "recommendation": "<b>",
        "trials": 100,
        "glr": 2.0,
        "threshold": 5.0,
        "decided": False,
        "stopped": False,
        "expected_trials_to_go": 150.0,
        **changes,
    }


def history(*trials: int) -> dict[str, Any]:
    line = {"at": "2025-05-01T10:00:00.000Z", "observed": 9, "glr": 1.0, "threshold": 5.0}
    return {"arms": ["a", "<b>"], "points": [{**line, "trials": number} for number in trials]}


def drawn(**changes: Any) -> dict[str, Any]:
    found = figures(status(**changes), history(10, 20))
    for name, figure in found.items():
        shown = go.Figure(figure)
        assert shown.layout.xaxis.title.text
        assert shown.layout.yaxis.title.text or name == "effects"  # whose labels say what they are
        assert shown.layout.width is None
    return found


def test_plotly_takes_them() -> None:
    found = drawn()
    assert list(found) == ["shares", "means", "evidence", "trials"]
    assert found["shares"]["data"][0]["x"] == ["a", "&lt;b&gt;"]
    assert found["shares"]["layout"]["xaxis"]["type"] == "category"
    assert [trace["name"] for trace in found["shares"]["data"]] == ["share", "floor"]


def test_ceilings_are_drawn_where_there_are_some() -> None:
    found = drawn(arms=[arm("a", ceiling=0.5), arm("b")])
    assert [trace["name"] for trace in found["shares"]["data"]] == ["share", "floor", "ceiling"]


def test_shares_are_of_the_trials_in_which_an_arm_was_available() -> None:
    found = drawn(arms=[arm("a", available=100), arm("b", available=60), arm("c", assigned=0, available=0)])
    assert found["shares"]["data"][0]["y"] == pytest.approx([50.0, 500 / 6, 0.0])
    assert found["shares"]["layout"]["yaxis"]["title"]["text"] == "Share of the trials while available (%)"
    assert drawn()["shares"]["layout"]["yaxis"]["title"]["text"] == "Share of trials (%)"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"proved": True}, "best arm"),
        ({"proved": True, "doubts": [{"after_decision": True}]}, "best arm"),
        ({"proved": False}, "answer, not proved"),
        ({"proved": False, "doubts": [{"after_decision": False}]}, "answer, not proved"),
        ({"proved": False, "doubts": [{"after_decision": True}]}, "answer, not proved"),  # so was the rule
    ],
)
def test_a_decision_that_is_not_proved_is_no_best_arm(changes: dict[str, Any], name: str) -> None:
    assert drawn(decided=True, stopped=True, **changes)["means"]["data"][0]["name"] == name


@pytest.mark.parametrize("seconds", [0, 3, 19.9, 20, 29, 31, 46, 59, 61, 89, 91, 119, 120, 181, 239, 240, 299])
def test_ticks_of_short_times_are_few_but_not_one(seconds: float) -> None:
    for offset in range(0, 120, 7):
        start = datetime(2025, 5, 1, tzinfo=UTC) + timedelta(seconds=offset)
        times = [(start + timedelta(seconds=place)).isoformat() for place in (0, seconds)]
        axis = time_axis(times)
        first, last = (datetime.fromisoformat(end).timestamp() for end in axis.get("range", times))
        step = axis["dtick"] / 1000
        ticks = math.floor(last / step) - math.ceil(first / step) + 1
        assert 2 <= ticks <= (3 if step < 60 else 5)


def test_ticks_of_longer_times_are_left_to_the_browser() -> None:
    axis = time_axis(["2025-05-01T10:00:00Z", "2025-05-01T10:05:00Z"])
    assert (axis["nticks"], "dtick" in axis, "range" in axis) == (5, False, False)


def test_means_have_their_intervals() -> None:
    best, others = drawn()["means"]["data"]
    assert (best["x"], best["y"]) == (["&lt;b&gt;"], [0.3])
    assert best["error_y"]["array"] == [0.0]  # an end at infinity
    assert round(best["error_y"]["arrayminus"][0], 9) == 0.1
    assert others["x"] == ["a"]
    assert (best["name"], drawn(decided=True)["means"]["data"][0]["name"]) == ("best so far", "best arm")
    means = drawn(config={"family": {"kind": "bernoulli"}})["means"]
    assert means["data"][0]["y"] == [30.0]
    assert "%" in means["layout"]["yaxis"]["title"]["text"]


def test_evidence_goes_to_where_it_is_expected_to_be_enough() -> None:
    evidence, decision, expected = drawn()["evidence"]["data"]
    assert (evidence["x"], evidence["y"]) == ([10, 20, 100], [20.0, 20.0, 40.0])  # percent of the threshold
    assert (decision["x"], decision["y"]) == ([0, 250.0], [100.0, 100.0])
    assert (expected["x"], expected["y"]) == ([100, 250.0], [40.0, 100.0])
    assert (evidence["line"]["color"], decision["line"]["color"]) == (BLUE, VERMILLION)
    assert drawn()["evidence"]["layout"]["yaxis"]["range"] == [0, 105]


def test_confidence_is_drawn_where_it_is_known() -> None:
    past = history(10, 20)
    past["points"][1]["confidence"] = 0.25  # points of earlier versions have none
    traces = figures(status(confidence=0.5), past)["evidence"]["data"]
    assert [trace["name"] for trace in traces] == ["evidence", "decision", "confidence", "expected"]
    assert traces[2]["y"] == [None, 25.0, 50.0]


def test_arms_are_marked_by_their_place_in_the_race() -> None:
    arms = [arm("a", candidate=True), arm("<b>", candidate=True), arm("c", candidate=False)]
    means = drawn(arms=arms, candidates=["a", "<b>"], control="c", goal="min")["means"]
    found = {trace["name"]: trace["x"] for trace in means["data"]}
    assert found == {"best so far": ["&lt;b&gt;"], "still in the race": ["a"], "excluded": ["c (control)"]}
    assert means["layout"]["yaxis"]["title"]["text"] == "Mean reward per trial (lower is better)"


def test_nothing_is_expected_after_the_end() -> None:
    ended = drawn(ended_by="deadline")["evidence"]["data"]
    assert [trace["name"] for trace in ended] == ["evidence", "decision"]
    assert ended[1]["x"] == [0, 100]


def test_tooltips_of_lines_do_not_need_the_pointer_on_a_line() -> None:
    found = drawn()
    for name in ("evidence", "trials"):
        layout = found[name]["layout"]
        assert (layout["hovermode"], layout["hoverdistance"]) == ("x unified", -1)
    assert found["evidence"]["data"][-1]["hoverinfo"] == "skip"  # two points, far from what is pointed at
    assert "hovermode" not in found["means"]["layout"]


def test_times_are_horizontal() -> None:
    assert drawn()["trials"]["layout"]["xaxis"]["tickangle"] == 0


def test_nothing_is_expected_after_the_decision_or_before_all_arms_have_rewards() -> None:
    decided = drawn(decided=True, glr=5.1)["evidence"]["data"]
    assert len(decided) == 2
    assert decided[0]["y"][-1] == decided[1]["y"][-1] == 100.0
    assert len(drawn(expected_trials_to_go=None)["evidence"]["data"]) == 2


def test_an_experiment_without_trials() -> None:
    empty = [arm(name, assigned=0, observed=0, mean=None, interval=[0.0, 1.0], share=0.0) for name in ("a", "b")]
    nothing = {"arms": empty, "trials": 0, "glr": None, "threshold": None, "expected_trials_to_go": None}
    found = figures(status(**nothing, recommendation=None), history())
    for figure in found.values():
        go.Figure(figure)
    assert found["means"]["data"][1]["x"] == []
    no_floors = [{**one, "floor": 0.0} for one in empty]
    bare = figures(status(**{**nothing, "arms": no_floors}, recommendation=None), history())
    assert bare["shares"]["layout"]["yaxis"]["range"] == [0.0, 100.0]
    waiting = figures(status(**{**nothing, "glr": 0.0, "threshold": 5.0, "confidence": 0.0}), history())
    for name in ("evidence", "trials"):  # without any value a page shows no axes, which would be made up
        for trace in (*found[name]["data"], *waiting[name]["data"]):
            assert not [value for value in trace["y"] if value is not None]


def test_few_trials_have_whole_ticks_and_one_point_is_seen() -> None:
    found = figures(status(trials=3), history(3))
    evidence, decision, *_ = found["evidence"]["data"]
    assert (evidence["x"], evidence["y"], evidence["mode"]) == ([3], [40.0], "lines+markers")  # as it is now
    assert decision["x"] == [0, 153.0]
    few = figures(status(trials=3, expected_trials_to_go=None), history(3))
    assert few["evidence"]["layout"]["xaxis"]["dtick"] == 1
    assert few["trials"]["layout"]["yaxis"]["dtick"] == 1
    assert few["trials"]["layout"]["xaxis"]["range"][0] < history(3)["points"][0]["at"]
    assert "dtick" not in drawn()["evidence"]["layout"]["xaxis"]


def test_of_many_arms_those_with_the_most_trials_are_drawn() -> None:
    found = drawn(arms=[arm(str(number), assigned=number) for number in range(200)])
    assert found["shares"]["data"][0]["x"] == [str(number) for number in range(170, 200)]


def test_long_labels_stay_different() -> None:
    found = drawn(arms=[arm("x" * 100), arm("x" * 99)])
    assert len(set(found["shares"]["data"][0]["x"])) == 2


def effect(factor: str, level: str, **changes: Any) -> dict[str, Any]:
    return {"factor": factor, "level": level, "effect": 0.1, "interval": [-0.2, 0.5], "share": 0.5, **changes}


def test_effects_are_drawn_where_there_are_factors() -> None:
    effects = [
        effect("headline", "<new>"),
        effect("headline", "old", effect=-0.1, interval=[None, None]),
        effect("button", "buy"),
        effect("button", "try", effect=None, interval=[None, None]),
        effect("headline × button", "old / buy"),
    ]
    family = {"kind": "factorial", "factors": {"headline": ["<new>", "old"], "button": ["buy", "try"]}}
    found = drawn(effects=effects, config={"family": family})["effects"]
    headline, button = found["data"]
    assert (headline["name"], button["name"]) == ("headline", "button")
    assert headline["y"] == ["headline: &lt;new&gt;", "headline: old"]
    assert headline["error_x"]["array"] == [0.4, 0.0]
    assert headline["error_x"]["arrayminus"][0] == pytest.approx(0.3)
    assert headline["marker"]["symbol"] == ["circle", "circle-open"]  # one without an interval must not look exact
    assert button["y"] == ["button: buy"]  # of the other nothing is known
    assert found["layout"]["yaxis"]["categoryarray"][-1] == "headline: &lt;new&gt;"  # at the top
