"""Faults of a seeded schedule, under load, for a minute per database; `make faults` runs longer."""

from collections.abc import Callable

import pytest

from tests.faults.runs import Report, run_postgresql, run_sqlite

pytestmark = [pytest.mark.system, pytest.mark.slow_without_jit]
SECONDS = 60.0


@pytest.mark.parametrize("run", [run_sqlite, run_postgresql])
def test_faults(run: Callable[[int, float], Report]) -> None:
    report = run(20, SECONDS)
    print(report)
    assert report.verdict.good, report
    assert report.verdict.acknowledged > 100, report
    assert report.faults.total() >= 5, report
