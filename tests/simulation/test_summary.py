"""What many runs say, against SciPy and by hand."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fairbai as fb
from fairbai.simulation.summary import HEADER, Row, Summary, mean_and_ci95, summarise


def a_row(**changes: Any) -> Row:
    """Twenty runs, two of them wrong."""
    given: dict[str, Any] = {
        "delta": 0.1,
        "stopping_time": np.arange(100, 120),
        "correct": np.arange(20) >= 2,
        "violation": np.linspace(0.0, 0.19, 20),
        "censored": np.zeros(20, dtype=bool),
        "lower_bound": 54.75,
        "proved": True,
        "regret": (np.linspace(1.0, 2.0, 20), np.linspace(0.0, 1.0, 20)),
    }
    return summarise(**{**given, **changes})


def clopper_pearson(wrong: int, count: int) -> tuple[float, float]:
    low = stats.beta.ppf(0.025, wrong, count - wrong + 1) if wrong else 0.0
    high = stats.beta.ppf(0.975, wrong + 1, count - wrong) if wrong < count else 1.0
    return float(low), float(high)


def test_means_have_their_intervals() -> None:
    row = a_row()
    times = np.arange(100, 120)
    assert row.stopping_time == 109.5
    assert row.stopping_time_ci95 == pytest.approx(stats.norm.ppf(0.975) * stats.sem(times), rel=1e-12)
    assert row.violation == pytest.approx(0.095)
    assert row.violation_ci95 == pytest.approx(stats.norm.ppf(0.975) * stats.sem(np.linspace(0.0, 0.19, 20)), rel=1e-12)
    assert row.efficiency == 0.5
    assert (row.delta, row.runs, row.lower_bound, row.proved) == (0.1, 20, 54.75, True)


@pytest.mark.parametrize("wrong", [0, 1, 7, 19, 20])
def test_errors_have_the_interval_of_clopper_and_pearson(wrong: int) -> None:
    row = a_row(correct=np.arange(20) >= wrong)
    assert row.error_rate == wrong / 20
    assert (row.error_low, row.error_high) == pytest.approx(clopper_pearson(wrong, 20), rel=1e-9)


def test_errors_are_counted_among_the_answers() -> None:
    censored = np.arange(20) >= 15  # of the five last runs, which are then not correct either
    row = a_row(censored=censored, correct=(np.arange(20) >= 3) & ~censored)
    assert row.censored == 5
    assert row.error_rate == 3 / 15
    assert (row.error_low, row.error_high) == pytest.approx(clopper_pearson(3, 15), rel=1e-9)
    assert row.stopping_time == 109.5  # of all


def test_no_answer_at_all() -> None:
    row = a_row(censored=np.ones(20, dtype=bool), correct=np.zeros(20, dtype=bool), lower_bound=math.inf)
    assert math.isnan(row.error_rate)
    assert (row.error_low, row.error_high) == (0.0, 1.0)
    assert row.censored == 20
    cells = dict(zip(HEADER, row.cells(), strict=True))
    assert cells["errors [95 %]"] == "-"
    assert cells["efficiency"] == "no answers"
    assert math.isnan(row.efficiency)
    assert cells["stopping time"].startswith("> 109.5")


def test_efficiency_where_some_runs_were_given_up() -> None:
    """They would have taken longer."""
    row = a_row(censored=np.arange(20) >= 15)
    assert dict(zip(HEADER, row.cells(), strict=True))["efficiency"] == "< 50.0%"


@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], np.array([3, 3]), range(5)])
def test_mean(values: Any) -> None:
    mean, width = mean_and_ci95(list(values))
    assert mean == np.mean(list(values))
    assert width == pytest.approx(1.959963984540054 * np.std(list(values), ddof=1) / math.sqrt(len(values)))


def test_mean_of_one_value_has_no_interval() -> None:
    mean, width = mean_and_ci95([3.0])
    assert mean == 3.0
    assert math.isnan(width)


def test_cells() -> None:
    cells = dict(zip(HEADER, a_row().cells(), strict=True))
    assert cells["delta"] == "0.1"
    assert cells["stop is"] == "proved"
    assert cells["stopping time"] == "109.5 ± 2.6"
    assert cells["errors [95 %]"] == "10.000% [1.235%, 31.698%]"
    assert cells["violation"] == "9.500% ± 2.593%"
    assert cells["efficiency"] == "50.0%"
    assert cells["censored"] == "0"
    assert dict(zip(HEADER, a_row(proved=False).cells(), strict=True))["stop is"] == "heuristic"


def test_table_has_a_line_a_delta() -> None:
    lines = str(Summary((a_row(), a_row(delta=0.001)))).splitlines()
    assert len(lines) == 4
    assert lines[0].split()[:4] == ["delta", "runs", "stop", "is"]
    assert set(lines[1]) == {"-"}
    assert lines[2].startswith("0.1 ")
    assert lines[3].startswith("0.001 ")
    assert len({len(line) for line in lines}) == 1


def test_dictionaries() -> None:
    found = Summary((a_row(),)).to_dicts()
    assert list(found[0]) == [field.name for field in dataclasses.fields(Row)]
    assert json.loads(json.dumps(found)) == found


def test_summary_of_runs() -> None:
    """From the frame, by hand, with some runs that were given up."""
    instance = fb.Instance([1.0, 0.0], rates=fb.rates.Constant([0.1, 0.6]))
    runs = fb.simulate(instance, [0.01, 0.3], stopping=fb.stopping.Heuristic(), runs=25, maximum_rounds=15)
    summary, frame = runs.summary(), runs.to_pandas()
    assert 0 < runs.censored[:, 0].sum() < 25
    for row in summary.rows:
        part = frame[frame["delta"] == row.delta]
        answered = part[~part["censored"]]
        wrong = int((~answered["correct"]).sum())
        assert row.runs == 25
        assert not row.proved
        assert row.stopping_time == pytest.approx(part["stopping_time"].mean())
        assert row.stopping_time_ci95 == pytest.approx(1.96 * part["stopping_time"].sem(), rel=1e-4)
        assert row.violation == pytest.approx(part["violation"].mean())
        assert row.censored == part["censored"].sum()
        assert row.error_rate == pytest.approx(wrong / len(answered))
        assert (row.error_low, row.error_high) == pytest.approx(clopper_pearson(wrong, len(answered)))
        assert row.lower_bound == fb.lower_bound(instance, row.delta)
        assert row.efficiency == pytest.approx(row.lower_bound / part["stopping_time"].mean())
    assert [row.delta for row in summary.rows] == [0.01, 0.3]
    assert ">" in str(summary).splitlines()[2]
