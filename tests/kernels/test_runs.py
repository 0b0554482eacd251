"""The run loop: how far shares are below floors, what is noted of a round, and custom floors that are no floors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairbai as fb
from fairbai.kernels.config import BONUS, CONTROL, RUN, configure
from fairbai.kernels.loop.records import Task, give_up, note
from fairbai.kernels.loop.runs import _custom_floors, floors_by, simulate_runs_with
from fairbai.kernels.rates import spare_share
from fairbai.kernels.settling.floors import floor_violation as violation
from fairbai.kernels.settling.settle import FROZEN, NOT
from fairbai.kernels.state import (
    ASSIGNED,
    BEST_SCORE,
    FLOOR,
    MEAN,
    OBSERVED,
    ROUND,
    SAVED_NAMED,
    SCALE,
    SEEN,
    SLACK,
    SPARE,
    UNSEEN,
)
from fairbai.simulation.scenario import _empty_record, make_scenario, truth_of
from tests.simulation.cases import compiled
from tests.states import empty_scalars, empty_state

# Violation


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=8), st.floats(0.0, 1.0), st.integers(0, 2**32))
def test_violation(pulls: list[int], total_share: float, seed: int) -> None:
    counts = np.array(pulls, dtype=np.float64)
    floors = total_share * np.random.default_rng(seed).dirichlet(np.ones(len(pulls)))
    total = max(1.0, counts.sum())
    expected = max(0.0, float(np.max(floors - counts / total)))
    assert violation(floors, counts, total) == pytest.approx(expected, abs=1e-14)


@given(st.floats(0.0, 1.0), st.integers(1, 10**9))
def test_an_arm_with_all_that_it_is_owed_is_no_violation(floor: float, total: int) -> None:
    """Exactly 0, though N / t may round to less than p."""
    floors, counts = np.array([floor, 0.0]), np.array([math.ceil(floor * total), 0.0])
    assert violation(floors, counts, float(total)) == 0.0


def test_violation_is_that_of_the_arm_furthest_below() -> None:
    floors = np.array([0.25, 0.5, 0.125])
    assert violation(floors, np.array([4.0, 3.0, 1.0]), 8.0) == 0.125
    assert violation(floors, np.array([8.0, 0.0, 0.0]), 8.0) == 0.5
    assert violation(floors, np.array([2, 5, 1]), 8.0) == 0.0


# Notes


def situation(assigned: list[float], floors: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Truth, state and scalars in the middle of a run whose second arm leads."""
    instance = fb.Instance([0.0, 1.0, 0.5], rates=fb.rates.Constant(floors))
    state, scalars = empty_state(3), empty_scalars()
    state[ASSIGNED], state[FLOOR], state[MEAN] = assigned, floors, [0.1, 1.1, 0.6]
    scalars[ROUND], scalars[SPARE], scalars[SLACK] = sum(assigned), spare_share(state[FLOOR]), -1.0
    return truth_of(instance), state, scalars


LEVELS = np.array([1.0, 2.0, 3.0])
CODES = np.zeros(RUN + 1, dtype=np.int64)
CODES[CONTROL] = -1
CONFIG = configure(CODES, np.zeros(BONUS + 1))


def task(truth: np.ndarray, settling: int, *grid: float) -> Task:
    return Task(truth, LEVELS, (settling, 0.0), 100, np.array(grid, dtype=np.float64))


def test_note_answers_every_level_that_is_reached() -> None:
    truth, state, scalars = situation([5.0, 4.0, 1.0], [0.1, 0.1, 0.5])
    record = _empty_record(2, 3, 3, histogram=True, marks=2)
    one = task(truth, NOT, 3.0, 10.0)
    assert note(CONFIG, one, state, scalars, (0.5, 0.7), record, (1, 0)) == 0
    assert not record.decided.any()
    assert note(CONFIG, one, state, scalars, (2.0, 2.7), record, (1, 0)) == 2
    assert record.decided.tolist() == [[0, 0, 0], [10, 10, 0]]
    assert record.stopped.tolist() == [[0, 0, 0], [10, 10, 0]]
    assert record.answers[1].tolist() == [1, 1, 0]
    assert record.violations[1].tolist() == [0.4, 0.4, 0.0]
    assert record.pulls[1].tolist() == [[5, 4, 1], [5, 4, 1], [0, 0, 0]]
    assert record.glr[1, 1] == 2.7
    assert record.shares[1, 1].tolist() == [0.5, 0.4, 0.1]
    assert np.isnan(record.shares[1, 0]).all()
    assert np.isnan(record.shares[0]).all()


def test_note_settles() -> None:
    """(5, 4, 1) of 10 for floors of (.1, .1, .5): 8 trials of the third arm make it 9 of 18."""
    truth, state, scalars = situation([5.0, 4.0, 1.0], [0.1, 0.1, 0.5])
    record = _empty_record(1, 3, 3, histogram=False, marks=0)
    assert note(CONFIG, task(truth, FROZEN), state, scalars, (9.0, 9.0), record, (0, 1)) == 3
    assert record.decided[0].tolist() == [0, 10, 10]
    assert record.stopped[0].tolist() == [0, 18, 18]
    assert record.pulls[0, 2].tolist() == [5, 4, 9]
    assert record.violations[0, 2] == 0.0
    assert state[ASSIGNED].tolist() == [5.0, 4.0, 1.0]  # the run itself goes on as it was


@pytest.mark.parametrize(
    ("assigned", "place"),
    [
        ([1.0, 1.0, 2.0], 0),  # all have their floors
        ([0.0, 2.0, 2.0], 250),  # below by exactly 250 steps
        ([500.0, 1250.0, 1250.0], 84),  # below by 1/12
        ([999.0, 1501.0, 1500.0], 1),  # below by the least
        ([0.0, 1.0, 0.0], 500),
    ],
)
def test_histogram_has_steps_of_a_thousandth(assigned: list[float], place: int) -> None:
    """Entry 0 counts rounds without violation, entry n those above n - 1 thousandths, up to n."""
    truth, state, scalars = situation(assigned, [0.25, 0.25, 0.5] if sum(assigned) < 3 else [0.25, 0.25, 0.25])
    record = _empty_record(1, 3, 3, histogram=True, marks=0)
    note(CONFIG, task(truth, NOT), state, scalars, (0.0, 0.0), record, (0, 1))
    assert not record.histogram[0].any()  # that delta was answered before
    for later in (1, 2):
        assert np.flatnonzero(record.histogram[later]).tolist() == [place]


def test_giving_up() -> None:
    truth, state, scalars = situation([5.0, 4.0, 1.0], [0.1, 0.1, 0.5])
    scalars[UNSEEN] = 3.0
    record = _empty_record(1, 3, 3, histogram=False, marks=0)
    give_up(CONFIG, task(truth, NOT), state, scalars, record, (0, 1))
    assert record.decided[0].tolist() == [0, 10, 10]
    assert record.stopped[0].tolist() == [0, 10, 10]
    assert record.answers[0].tolist() == [0, -1, -1]
    assert record.guesses[0].tolist() == [0, -1, -1]
    assert record.violations[0].tolist() == [0.0, 0.4, 0.4]
    assert record.pulls[0].tolist() == [[0, 0, 0], [5, 4, 1], [5, 4, 1]]


def test_a_run_that_is_given_up_has_a_guess_with_its_score() -> None:
    """The heuristic, for which the score is the least GLR less log(1 + log t)."""
    truth, state, scalars = situation([5.0, 4.0, 1.0], [0.1, 0.1, 0.5])
    state[OBSERVED], state[SCALE], scalars[SEEN] = state[ASSIGNED], 1.0, 10.0
    state[BEST_SCORE], scalars[SAVED_NAMED] = -np.inf, -1.0
    record = _empty_record(1, 3, 3, histogram=False, marks=0)
    give_up(CONFIG, task(truth, NOT), state, scalars, record, (0, 2))
    glr = min(0.5 * 1.0**2 / (1 / 5 + 1 / 4), 0.5 * 0.5**2 / (1 / 4 + 1 / 1))
    assert record.guesses[0].tolist() == [0, 0, 1]
    assert record.scores[0].tolist() == [0.0, 0.0, pytest.approx(glr - np.log(1.0 + np.log(10.0)))]
    state[BEST_SCORE, 1] = 2.5
    give_up(CONFIG, task(truth, NOT), state, scalars, record, (0, 0))
    assert record.scores[0].tolist() == [2.5, 2.5, 2.5]


# Custom floors


@pytest.mark.long
@pytest.mark.parametrize("arms", [3, 4, 5, 6, 8])
@pytest.mark.parametrize("first", [0.0, 2.0])
def test_custom_floors(arms: int, first: float) -> None:
    """The floors of the function, as the class checks them; for four to six arms it goes wrong above 1."""
    state, scalars = empty_state(arms), empty_scalars()
    state[MEAN, 0] = first
    fine = arms in (3, 8) or first == 0.0
    assert _custom_floors(floors_by(compiled), state, scalars) == fine
    if fine:
        expected = fb.rates.Custom(compiled).floors(state[MEAN])
        assert state[FLOOR].tolist() == expected.tolist()
        assert scalars[SPARE] == spare_share(expected)


@pytest.mark.long
def test_compiled_loop_tells_where_custom_floors_failed() -> None:
    """The run is the first that cannot go on, and its means come back, so that an error can show them."""
    setting = make_scenario(
        fb.Instance([0.5, 0.4, 0.3, 0.2], rates=fb.rates.Custom(compiled)), 0.01, None, None, False, 0, 500
    )
    experiment, truth = setting.experiment(), truth_of(setting.instance)
    record = _empty_record(20, 1, 4, histogram=False, marks=0)
    one = Task(truth, np.array([setting.stopping.level(0.01, 4)]), (NOT, 0.0), 500, np.empty(0))
    before = experiment.state.copy(), experiment.scalars.copy()
    failed = simulate_runs_with(floors_by(compiled), experiment.arrays, before, one, 100, record)
    assert 100 <= failed < 120
    assert truth[0, 0] > 1.0
    done = record.decided[: failed - 100, 0]
    assert (done > 0).all()
    assert not record.decided[failed - 100 :].any()
