"""At the edge of a tolerance: errors at most delta, and ties that end; ``fairbai reproduce archive`` has more runs."""

from __future__ import annotations

import numpy as np
import pytest

from fairbai.reproduction.past import tolerance
from fairbai.reproduction.past.tolerance import ARMS, CONTROL, DELTA, LEAST, UNKNOWN, Case, Outcome, cases, outcome


def test_the_runner_up_is_wrong_by_a_hair() -> None:
    for case in cases(tied=False):
        instance = case.instance
        assert instance.acceptable == (0,)
        means = instance.means + np.append(0.0, np.full(case.arms - 1, 2e-4 * (instance.means[0] - instance.means[1])))
        goal, control = instance.question.goal, instance.question.control
        nearer = type(instance)(means, instance.family, instance.rates, case.tolerance, goal, control)
        assert nearer.acceptable == (0, 1)


def test_equal_arms_are_all_right() -> None:
    for case in cases(tied=True):
        assert case.instance.acceptable == tuple(range(case.arms))


def test_cases_cover_families_stops_kinds_and_arms() -> None:
    found = cases(tied=False)
    assert len({case.name for case in found}) * len(ARMS) == len(found) == 27
    assert {case.arms for case in found} == {2, 3, 5}
    assert {(case.family, case.stop) for case in found} == {
        ("Bernoulli", "mixture"),
        ("Gaussian", "mixture"),
        ("Bernoulli", "design-based"),
    }
    assert {case.asked for case in found} == {"", LEAST, CONTROL, UNKNOWN}


@pytest.mark.slow_without_jit
def test_errors_at_the_edge_are_at_most_delta() -> None:
    """In 200 runs of each case: the lower end of no 95 % interval is above delta, and over all the rate is below it."""
    found = [outcome(case, 200, seed=7) for case in cases(tied=False)]
    assert all(one.ended == 200 for one in found)
    assert all(one.interval[0] <= DELTA for one in found)
    assert 0.0 < sum(one.wrong for one in found) / sum(one.runs for one in found) < DELTA


@pytest.mark.slow_without_jit
def test_exact_ties_end() -> None:
    """All of 50 runs of each case, within a few times T*."""
    for case in cases(tied=True):
        found = outcome(case, 50, seed=8)
        assert (found.ended, found.wrong) == (50, 0)
        assert found.trials < 6.0 * found.time


def test_findings_name_the_worst_case() -> None:
    def made(case: Case, wrong: int) -> Outcome:
        return Outcome(case, runs=1000, ended=999, wrong=wrong, trials=2.0 * 49.3, width=1.0)

    edge = [made(case, 40 if number == 0 else 3) for number, case in enumerate(cases(tied=False))]
    ties = [made(case, 0) for case in cases(tied=True)]
    section = tolerance.written(edge, ties)
    assert "at most 4.00% of 1,000 runs name a wrong arm in any of 27 cases" in section.findings[0]
    assert "Bernoulli, 0.1, mixture, 2 arms" in section.findings[0]
    assert "23,976 of 24,000 runs of 24 cases" in section.findings[1]
    assert section.tables[0].rows[0][5] == "4.00 (2.87 to 5.41)"
    assert section.tables[1].rows[0][3] == "999"
