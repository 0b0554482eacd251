import pytest

from tests.truth.twelve_plans import TWELVE, Case, compared


def test_there_are_twelve() -> None:
    assert len({case.name for case in TWELVE}) == 12


@pytest.mark.long
@pytest.mark.slow_without_jit
@pytest.mark.parametrize("case", TWELVE, ids=lambda case: case.name)
def test_experiments_take_what_is_planned(case: Case) -> None:
    rows = list(compared(case))
    assert all(row.holds for row in rows), "\n".join(map(str, rows))
