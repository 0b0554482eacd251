"""Rules side by side: the rows are those of simulate, and what is kept is what the runs show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairbai as fb
from fairbai.experiment.defaults import default_sampling
from fairbai.simulation.comparison import (
    EARNING,
    TRACKING,
    Comparison,
    RuleRow,
    _kept,
    _promise_kept,
    compare_rules,
    library_rules,
    rules_named,
)

INSTANCE = fb.Instance([1.0, 0.4, 0.0], rates=fb.rates.Constant([0.0, 0.1, 0.3]))


def row(rule: str, trials: float, regret: float, kept: str = "always") -> RuleRow:
    return RuleRow(rule, "none", trials, 1.0, regret, 1.0, 0.0, regret, 1.0, 0.5, 0.0, kept, None, 0.0, 0.0, 0.1, 0.0)  # type: ignore[arg-type]


def test_rows_are_those_of_simulate() -> None:
    rules = rules_named(["fair_top_two", "top_two"])
    found = compare_rules(INSTANCE, rules, horizon=3000, delta=0.1, runs=20, seed=3)
    assert [one.rule for one in found.rows] == ["fair_top_two", "top_two"]
    for one, rule in zip(found.rows, rules.values(), strict=True):
        runs = fb.simulate(INSTANCE, 0.1, rule, runs=20, seed=3, maximum_rounds=3000, histogram=True)
        assert one.trials == runs.stopping_time.mean()
        assert one.regret == pytest.approx(runs.regret().mean[0])
        assert one.horizon_regret == pytest.approx(runs.regret(3000).mean[0])
        assert runs.behind is not None
        assert one.behind == runs.behind.max()
        assert one.unanswered == runs.censored.mean()
    fair, free = found.rows
    assert (fair.promise, fair.kept, fair.promise_kept) == ("every path", "always", True)
    assert (free.promise, free.kept, free.promise_kept) == ("none", "no", None)
    text = str(found).splitlines()
    assert text[0].split("  ")[0] == "rule"
    assert "regret in 3,000" in text[0]
    assert found.to_dicts()[0]["horizon"] == 3000


def test_rules_that_cannot_run_say_why() -> None:
    rules = {"fine": fb.sampling.FairTopTwo(), "not here": fb.sampling.FairUCB()}
    limited = INSTANCE.with_rates(fb.rates.Bounded(0.1, 0.6))
    found = compare_rules(limited, rules, horizon=200, runs=2)
    assert [one.rule for one in found.rows] == ["fine"]
    assert str(found).splitlines()[-1].startswith("not here cannot run here: ")
    with pytest.raises(ValueError, match="not here cannot run here"):
        compare_rules(limited, {"not here": fb.sampling.FairUCB()}, horizon=200, runs=2)
    with pytest.raises(ValueError, match=r"horizon must be a whole number from 1 to \d+, got -3"):
        compare_rules(limited, rules, horizon=-3)


def test_rules_that_cannot_run_for_one_reason_take_one_line() -> None:
    design = fb.factorial({"h": ["a", "b"], "p": ["x", "y"]})
    one = fb.Instance([3.0, 2.0, 1.0, 0.0], design, design.rates({"h": 0.4}))
    found = compare_rules(one, rules_named(["all"]), horizon=60, runs=2)
    assert {row.rule for row in found.rows} == {"fair_track_and_stop", TRACKING, "uniform_fair"}
    (line,) = str(found).splitlines()[5:]
    reason = "rules cannot run here, because each is for arms without structure: linear arms take FairTrackAndStop, "
    assert f"{len(found.refused)} {reason}" in line
    assert all(name in line for name in found.refused)


def test_names() -> None:
    everything = library_rules()
    assert rules_named(["all"]) == everything
    assert {"fair_top_two", "fair_thompson", "lucb", EARNING} <= everything.keys()
    assert rules_named(["fair_top_two"]) == {"fair_top_two": fb.sampling.FairTopTwo()}
    family = fb.Linear(np.eye(3))
    assert everything[TRACKING] == default_sampling(fb.stopping.LinearMixture(), INSTANCE.rates, 3, family)
    with pytest.raises(ValueError, match="sampling must be one of"):
        rules_named(["best_rule"])
    with pytest.raises(ValueError, match="rules must be all, or kinds such as fair_top_two, not both, got 'all lucb'"):
        rules_named(["all", "lucb"])


def test_the_frontier_is_of_rules_that_keep_the_floors() -> None:
    rows = [
        row("a", 10.0, 5.0),
        row("b", 12.0, 4.0),
        row("c", 12.0, 5.0),
        row("d", 1.0, 1.0, "no"),
        row("e", 11.0, 6.0),
    ]
    assert [one.rule for one in Comparison(100, tuple(rows)).frontier()] == ["a", "b"]


def test_kept_on_average() -> None:
    """Far behind in some run, but not on average."""
    rule = fb.sampling.UniformFair()
    runs = fb.simulate(INSTANCE, 0.1, rule, runs=4, seed=3, maximum_rounds=50, histogram=True)
    runs, late = replace(runs, behind=np.ones((4, 1))), replace(runs, behind=np.full((4, 1), 10.0))
    assert (_kept(INSTANCE, runs), _kept(INSTANCE, late)) == ("always", "on average")
    queues = fb.sampling.VirtualQueues()  # which may be 21 trials behind
    assert _promise_kept(queues, INSTANCE, late)
    assert not _promise_kept(fb.sampling.FairUCB(), INSTANCE, late)
    assert _promise_kept(rule, INSTANCE, late)  # on average
    assert not _promise_kept(rule, INSTANCE, replace(late, pulls=late.pulls * [1, 1, 0]))
    assert _promise_kept(fb.sampling.TopTwo(), INSTANCE, late) is None
    assert _promise_kept(queues, INSTANCE.with_rates(fb.rates.Gap(0.5)), late) is None
    starved = replace(late, pulls=late.pulls * [1, 1, 0] + [0, 0, 1])
    assert _kept(INSTANCE, starved) == "no"


def test_linear_arms_and_limits() -> None:
    """By the stop of linear arms; and floors of groups and ceilings count, too."""
    design = fb.factorial({"h": ["a", "b"], "p": ["x", "y"]})
    one = fb.Instance([3.0, 2.0, 1.0, 0.0], design, design.rates({"h": 0.4}))
    found = compare_rules(one, rules_named(["fair_track_and_stop", "top_two"]), horizon=200, runs=5)
    assert list(found.refused) == ["top_two"]
    assert (found.rows[0].kept, found.rows[0].promise_kept) == ("on average", None)
    assert np.isnan(found.rows[0].behind)  # the floors are those of groups
    assert found.rows[0].cells()[4] == "-"
    limited = fb.Instance([1.0, 0.4, 0.0], rates=fb.rates.Bounded(0.0, [0.2, 1.0, 1.0]))
    runs = fb.simulate(limited, 0.1, fb.sampling.TopTwo(), runs=10, seed=1, histogram=True)
    assert _kept(limited, runs) == "no"
