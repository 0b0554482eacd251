"""The section on drift: what its cases are, and that its numbers are those of the runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.reproduction.past import drift, drift_cases
from fairbai.reproduction.past.drift import DELTA, OURS, STOPS, Cost, Errors
from fairbai.reproduction.past.drift_cases import ARMS, STATIONARY
from tests.reproduction.conftest import SmallReport


def test_common_drifts_keep_the_best_arm_and_its_lead() -> None:
    for arms in ARMS.values():
        for name, (instance, change) in drift_cases.common_drifts(arms).items():
            means = change.checked_table(instance.family, instance.means)
            assert np.ptp(means[:, 0]) > 0.5, name
            np.testing.assert_allclose(means - means[:, -1:], np.tile(arms.above, (len(means), 1)), atol=1e-12)


def test_other_drifts_change_the_lead() -> None:
    """And in the end the first arm is the best on average over whole periods."""
    arms = ARMS["two, gap 0.005"]
    for name, (instance, change) in drift_cases.uncommon_drifts(arms).items():
        means = change.checked_table(instance.family, instance.means)
        assert (means[:, 1] > means[:, 0]).any(), name
        if name != "novelty of a worse arm":
            best = change.averages(instance.means, 4_000).argmax()
            assert best == 0, name


def test_the_ramp_of_the_page_is_a_case() -> None:
    (case,) = [one for one in drift_cases.cases() if (one.arms, one.name) == ("five, gap 0.02", "ramp up")]
    assert case.instance.means == pytest.approx([0.07, 0.05, 0.05, 0.05, 0.05])
    assert case.drift.averages(case.instance.means, 3_000) == pytest.approx([0.42, 0.4, 0.4, 0.4, 0.4], abs=1e-3)
    assert len({(one.arms, one.name) for one in drift_cases.cases()}) == len(drift_cases.cases())


@pytest.mark.slow_without_jit
def test_errors_are_wrong_answers_only() -> None:
    (case,) = [one for one in drift_cases.cases() if (one.arms, one.name) == ("five, gap 0.02", "ramp up")]
    found = drift.errors(case, "mixture", runs=40, seed=3)
    stopping = fb.stopping.Mixture.for_trials(drift_cases.TRIALS, DELTA, 5)
    settings: dict[str, Any] = {"stopping": stopping, "runs": 40, "seed": 3, "maximum_rounds": drift_cases.TRIALS}
    runs = fb.simulate(case.instance, DELTA, drift=case.drift, **settings)
    assert found.answered == (runs.recommendation >= 0).sum() < 40
    assert found.wrong == (runs.recommendation > 0).sum()
    assert found.rate > 3 * DELTA
    assert found.interval[0] > DELTA
    ours = drift.errors(case, OURS, runs=100, seed=3)
    assert ours.wrong <= 10  # 11 or more would happen with a probability below 0.012


@pytest.mark.slow_without_jit
def test_any_answer_is_wrong_where_arms_are_equal() -> None:
    (case,) = [one for one in drift_cases.cases() if (one.arms, one.name) == ("two, equal", "ramp up")]
    found = drift.errors(case, "chance to win", runs=40, seed=3)
    assert found.wrong == found.answered > 10


def test_the_ratio_of_costs() -> None:
    cost = Cost(STATIONARY[0], runs=100, trials=2 * STATIONARY[0].before, error=0.0, wrong=0)
    assert cost.ratio == pytest.approx((2.0, 2.0 * STATIONARY[0].error / STATIONARY[0].before))


def test_findings_name_the_worst_case_and_count_those_above_delta() -> None:
    wrong = {OURS: 10, "mixture": 300, "heuristic": 0, "chance to win": 500}
    cases = drift_cases.cases()
    found = [Errors(case, stop, 1_000, wrong[stop], 1_000) for case in cases for stop in STOPS]
    costs = [Cost(one, 200, 1.1 * one.before, 0.0, 0) for one in STATIONARY]
    section = drift.written(found, costs)
    assert "at most 1.00% of 1,000 runs" in section.findings[0]
    assert section.findings[0].endswith(f"above δ in 0 of {len(cases)} cases.")
    assert f"above δ in {len(cases)} (mixture), 0 (heuristic)" in section.findings[1]
    assert "1.10 ± 0.01" in section.findings[3]
    assert [len(table.rows) for table in section.tables] == [37, 9, 4]


@pytest.mark.slow_without_jit
@pytest.mark.xdist_group("report")
def test_section(report: SmallReport) -> None:
    found = report.sections["drift"]
    for table in found.tables:
        assert all(len(row) == len(table.header) for row in table.rows)
    assert {row[2] for row in found.tables[0].rows} == {f"{10 * report.runs}"}
