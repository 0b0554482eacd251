"""Many runs of one rule on one instance: what is recorded of them, recomputed from their every step."""

from __future__ import annotations

import math
import resource
import tracemalloc
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from tests.simulation.cases import ARRAYS, RULES, assert_same, compiled, follow

FLOORS = [0.1, 0.5, 0.25]
INSTANCE = fb.Instance([1.5, 0.5, 0.0], rates=fb.rates.Constant(FLOORS))
EASY = fb.Instance([3.0, 0.0], rates=fb.rates.Constant([0.1, 0.6]))


# One run answers every delta


def test_a_delta_has_the_same_answer_alone_and_in_any_company() -> None:
    settings: dict[str, Any] = {"runs": 4, "seed": 3, "settle": True, "histogram": True}
    deltas = [0.2, 0.01, 0.1]
    together = fb.simulate(EASY, deltas, **settings)
    assert together.deltas == tuple(deltas)
    for column, delta in enumerate(deltas):
        alone = fb.simulate(EASY, delta, **settings)
        for name in ("decision_time", "stopping_time", "recommendation", "violation", "pulls"):
            np.testing.assert_array_equal(getattr(alone, name)[:, 0], getattr(together, name)[:, column], err_msg=name)
        assert alone.histogram[0].tolist() == together.histogram[column].tolist()
        assert alone.lower_bounds == together.lower_bounds[column : column + 1]


@pytest.mark.parametrize("rule", ["f-tas", "in Python"])
def test_order_of_deltas_is_that_of_the_columns(rule: str) -> None:
    one, other = (fb.simulate(EASY, deltas, RULES[rule], runs=3, seed=1) for deltas in ([0.3, 0.02], [0.02, 0.3]))
    np.testing.assert_array_equal(one.pulls, other.pulls[:, ::-1])
    np.testing.assert_array_equal(one.decision_time, other.decision_time[:, ::-1])


def test_smaller_delta_takes_longer() -> None:
    runs = fb.simulate(EASY, [0.4, 0.2, 0.1, 0.01, 1e-4, 1e-90], runs=6)
    assert (np.diff(runs.decision_time, axis=1) >= 0).all()
    assert (runs.decision_time[:, -1] > runs.decision_time[:, 0]).all()
    assert (np.diff(runs.lower_bounds) > 0.0).all()


# What is recorded, from the rounds


@pytest.fixture(scope="module", params=["fair top-two", "tas", "in Python"])
def traced(request: pytest.FixtureRequest) -> fb.Runs:
    """Five runs with all their rounds."""
    settings: dict[str, Any] = {"stopping": fb.stopping.Heuristic(), "maximum_rounds": 40, "histogram": True}
    return fb.simulate(INSTANCE, [0.05, 0.3], RULES[request.param], runs=5, seed=5, trace=range(1, 51), **settings)


def counts_of(runs: fb.Runs) -> np.ndarray:
    """Pulls after every round: a row a run, a column a round."""
    return np.rint(runs.shares * np.array(runs.trace_rounds)[:, None])


def below(counts: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """max(0, p_a - N_a / t) over the arms, the difference taken in trials."""
    return np.maximum(0.0, (np.array(FLOORS) * totals[..., None] - counts).max(axis=-1)) / totals


def test_pulls_and_violation_at_the_stop(traced: fb.Runs) -> None:
    counts = counts_of(traced)
    for row, column in np.ndindex(traced.decision_time.shape):
        time = traced.decision_time[row, column]
        assert traced.stopping_time[row, column] == time
        assert traced.pulls[row, column].tolist() == counts[row, time - 1].tolist()
        assert traced.violation[row, column] == below(traced.pulls[row, column], np.array(time))
    assert (traced.pulls.sum(axis=2) == traced.stopping_time).all()
    assert traced.violation.max() > 0.0


def test_histogram_counts_every_round_until_the_decision(traced: fb.Runs) -> None:
    rounds = np.array(traced.trace_rounds)
    steps = np.ceil(1000.0 * below(counts_of(traced), rounds))
    assert traced.histogram.shape == (2, 1001)
    for column in range(2):
        until = rounds <= traced.decision_time[:, column, None]
        places = steps[until].astype(int)
        assert traced.histogram[column].tolist() == np.bincount(places, minlength=1001).tolist()
    assert traced.histogram.sum(axis=1).tolist() == traced.decision_time.sum(axis=0).tolist()


def test_trace_ends_with_the_run(traced: fb.Runs) -> None:
    last = traced.decision_time.max(axis=1)
    after = np.array(traced.trace_rounds) > last[:, None]
    assert (np.isnan(traced.glr) == after).all()
    assert (np.isnan(traced.shares) == after[..., None]).all()
    assert (traced.glr[:, :2] == 0.0).all()  # not every arm has a reward yet


def test_watching_changes_nothing(traced: fb.Runs) -> None:
    runs = [
        fb.simulate(EASY, [0.1, 0.2], runs=3, seed=4, histogram=histogram, trace=trace)
        for histogram in (False, True)
        for trace in (False, True)
    ]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0].pulls, other.pulls)
        np.testing.assert_array_equal(runs[0].violation, other.violation)
    np.testing.assert_array_equal(runs[1].glr, runs[3].glr)
    np.testing.assert_array_equal(runs[2].histogram, runs[3].histogram)


def test_violation_is_of_the_true_floors() -> None:
    """Not of those that were learned."""
    instance = fb.Instance([3.0, 1.0, 0.0], rates=fb.rates.Gap(0.8))
    runs = fb.simulate(instance, 0.2, RULES["top-two"], runs=3, settle=True)
    shares = runs.pulls[:, 0] / runs.stopping_time
    np.testing.assert_allclose(
        runs.violation[:, 0], np.maximum(0.0, (instance.floors - shares).max(axis=1)), atol=1e-14
    )


# Settling

FULL = {  # floors that leave much, little and very little
    "half": [0.1, 0.1, 0.3],
    "thirds": [0.33, 0.33, 0.33],
    "nearly all": [0.05, 0.05, 0.8999],
    "for the worst": [0.0, 0.0, 0.95],
}


def least(assigned: np.ndarray, floors: list[float]) -> int:
    """m* = min{m : Σ_a (⌈p_a (t + m)⌉ − N_a)₊ ≤ m}, by trying."""
    total = int(assigned.sum())

    def lacking(m: int) -> int:
        return sum(max(0, math.ceil(p * (total + m)) - int(n)) for p, n in zip(floors, assigned, strict=True))

    return next(m for m in count() if lacking(m) <= m)


@pytest.mark.parametrize("floors", FULL.values(), ids=FULL)
@pytest.mark.parametrize("rule", ["tas", "fair top-two", "in Python"])
def test_settling_meets_every_floor_with_the_least_number_of_trials(floors: list[float], rule: str) -> None:
    instance = fb.Instance([3.0, 1.0, 0.0], rates=fb.rates.Constant(floors))
    settings: dict[str, Any] = {"sampling": RULES[rule], "stopping": fb.stopping.Heuristic(), "runs": 4, "seed": 2}
    plain = fb.simulate(instance, [0.2, 0.05], **settings)
    settled = fb.simulate(instance, [0.2, 0.05], settle=True, **settings)
    assert (settled.violation == 0.0).all()
    assert (settled.pulls >= plain.pulls).all()
    np.testing.assert_array_equal(settled.decision_time, plain.decision_time)
    np.testing.assert_array_equal(settled.pulls.sum(axis=2), settled.stopping_time)
    for row, column in np.ndindex(plain.decision_time.shape):
        more = settled.stopping_time[row, column] - settled.decision_time[row, column]
        assert more == least(plain.pulls[row, column], floors)


@pytest.mark.slow_without_jit
def test_settled_runs_never_violate_constant_floors() -> None:
    """Exactly, in every one of 40,000 runs, with rules that pay no attention to floors too."""
    for floors in [[0.3, 0.3, 0.3], [0.2, 0.7, 0.099], [0.3, 0.4, 0.3 - 1e-6]]:
        instance = fb.Instance([1.5, 0.5, 0.0], rates=fb.rates.Constant(floors))
        for rule in ("f-tas", "tas", "top-two", "fair top-two"):
            runs = fb.simulate(instance, [0.2, 0.1], RULES[rule], runs=1500, settle=True)
            assert (runs.violation == 0.0).all()
            assert (runs.stopping_time >= runs.decision_time).all()


# Memory


def bytes_of(runs: fb.Runs) -> int:
    return sum(getattr(runs, name).nbytes for name in ARRAYS)


TIED = fb.Instance([0.5, 0.5], rates=fb.rates.Constant(0.1))


@pytest.mark.long
@pytest.mark.slow_without_jit
def test_memory_does_not_grow_with_the_length_of_a_run() -> None:
    """A run of a million rounds (8 MB, were each kept) beside one of ten thousand."""
    settings: dict[str, Any] = {"deltas": 1e-6, "runs": 1, "histogram": True, "trace": [10, 100, 1000]}
    short = fb.simulate(TIED, maximum_rounds=10_000, **settings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    long = fb.simulate(TIED, maximum_rounds=1_000_000, **settings)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert long.stopping_time[0, 0] == 100 * short.stopping_time[0, 0] == 1_000_000
    assert bytes_of(long) == bytes_of(short)
    assert after - before < 4000  # kilobytes


def test_memory_of_rules_in_python_does_not_grow_either() -> None:
    peaks = []
    for rounds in (20, 20, 400):  # once to warm up
        tracemalloc.start()
        fb.simulate(TIED, 1e-6, RULES["in Python"], runs=1, maximum_rounds=rounds)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < peaks[1] + 50_000


# Runs that are given up


def test_tied_arms_have_no_answer() -> None:
    runs = fb.simulate(fb.Instance([0.5, 0.5]), [0.1, 0.01], runs=3, maximum_rounds=30, settle=True, histogram=True)
    assert (runs.decision_time == 30).all()
    assert (runs.stopping_time == 30).all()
    assert (runs.recommendation == -1).all()
    assert runs.censored.all()
    assert not runs.correct.any()
    assert runs.lower_bounds == (math.inf, math.inf)
    assert (runs.pulls.sum(axis=2) == 30).all()
    assert runs.histogram.sum(axis=1).tolist() == [90, 90]


def test_some_deltas_may_be_answered_in_time() -> None:
    runs = fb.simulate(EASY, [0.3, 1e-150], runs=4, maximum_rounds=60, settle=True)
    assert not runs.censored[:, 0].any()
    assert runs.censored[:, 1].all()
    assert (runs.decision_time[:, 0] < 60).all()
    assert (runs.stopping_time[:, 1] == 60).all()
    assert (runs.violation[:, 0] == 0.0).all()


def test_either_best_arm_is_correct() -> None:
    """A tie is told apart from a third arm only by chance: whichever of the two it names, it is right."""
    instance = fb.Instance([0.0, 1.0, 1.0])
    runs = fb.simulate(instance, 0.4, stopping=fb.stopping.Heuristic(), runs=100, maximum_rounds=100)
    assert runs.best_arms == (1, 2)
    answered = ~runs.censored[:, 0]
    assert {1, 2} <= set(runs.recommendation[answered, 0].tolist())
    assert (runs.correct[:, 0] == np.isin(runs.recommendation[:, 0], [1, 2])).all()


def test_a_run_of_one_round() -> None:
    runs = fb.simulate(INSTANCE, runs=2, maximum_rounds=1, trace=True)
    assert (runs.stopping_time == 1).all()
    assert runs.trace_rounds == (1,)
    assert (runs.pulls.sum(axis=2) == 1).all()


# Wrong input


@pytest.mark.parametrize("runs", [0, -1, 1.0, 10.5, True, "many", None, 2**53 + 1])
def test_wrong_number_of_runs(runs: Any) -> None:
    with pytest.raises(ValueError, match=f"^runs must be a whole number from 1 to 9007199254740992, got {runs!r}"):
        fb.simulate(EASY, runs=runs)


@pytest.mark.parametrize("change", [{"instance": 3}, {"deltas": 0.7}, {"seed": -1}, {"runs": 0}, {"trace": [2, 1]}])
def test_nothing_runs_where_something_is_wrong(monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]) -> None:
    module = import_module("fairbai.simulation.simulate")  # its function has the same name
    monkeypatch.setattr(module, "run_all", lambda *_: pytest.fail("something ran"))
    with pytest.raises(ValueError, match="must be"):
        fb.simulate(**{"instance": EASY, **change})


NONSENSE: dict[str, tuple[int, str]] = {  # by the number of arms: see ``cases.compiled``
    "negative": (4, "rates returned by the custom function must not be negative, got -0.25 for arm 2"),
    "nan": (5, "rates returned by the custom function must be finite, got nan for arm 1"),
    "past one": (6, "rates returned by the custom function must sum to at most 1: 6 floors of 25 % add up to 150 %"),
    "of wrong length": (7, r"rates returned by the custom function must have one entry per arm \(7\), got 6"),
    "none, but an error": (9, "my own error"),
}


def nonsense(kind: str, compile_it: bool) -> tuple[fb.Instance, str]:
    """Sound at the true means, but not at those that are learned."""
    arms, message = NONSENSE[kind]
    rates = fb.rates.Custom(compiled if compile_it else (lambda means: compiled(means)))
    return fb.Instance(np.linspace(0.5, 0.4, arms), rates=rates), message


@pytest.mark.parametrize("kind", NONSENSE)
def test_custom_rates_that_return_nonsense_in_the_middle(kind: str) -> None:
    """The message is that of the Identifier."""
    instance, message = nonsense(kind, compile_it=False)
    with pytest.raises(ValueError, match=message):
        fb.simulate(instance, 1e-6, runs=20, maximum_rounds=50)
    with pytest.raises(ValueError, match=message):
        _ = [follow(instance, 50, 0, run, delta=1e-6) for run in range(20)]


@pytest.mark.long
@pytest.mark.slow_without_jit
def test_compiled_rates_that_return_nonsense_in_the_middle() -> None:
    """The same messages from the compiled loop."""
    for kind in NONSENSE:
        instance, message = nonsense(kind, compile_it=True)
        with pytest.raises(ValueError, match=message):
            fb.simulate(instance, 1e-6, runs=20, maximum_rounds=50)


@dataclass(frozen=True, eq=False)
class Stray(fb.sampling.SamplingRule):
    """Goes astray after a while."""

    arm: Any = 2
    fairness = "none"
    converges_to = "none"

    def choose(self, situation: Any) -> Any:
        return int(situation.assigned.argmin()) if situation.assigned.sum() < 5 else self.arm


@pytest.mark.parametrize("arm", [2, -1, 0.0, None, "best"])
def test_rule_in_python_that_chooses_no_arm(arm: Any) -> None:
    with pytest.raises(ValueError, match=f"stray must choose an arm from 0 to 1, got {arm!r}"):
        fb.simulate(EASY, 1e-9, Stray(arm), runs=2)


def test_rule_in_python_that_fails() -> None:
    class Broken(fb.sampling.SamplingRule):
        def choose(self, situation: Any) -> int:
            raise LookupError("no idea")

    with pytest.raises(LookupError, match="no idea"):
        fb.simulate(EASY, sampling=Broken(), runs=2)


# Statistics, on fixed seeds


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(
    ("family", "means"),
    [
        (fb.Gaussian(), [0.5, 0.2, 0.0]),
        (fb.Gaussian([1.0, 4.0, 0.25]), [0.5, 0.2, 0.0]),
        (fb.Bernoulli(), [0.6, 0.45, 0.4]),
        (fb.Poisson(), [1.6, 1.2, 1.0]),
        (fb.Exponential(), [1.5, 1.0, 0.9]),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_errors_are_at_most_delta(family: fb.problems.Family, means: list[float]) -> None:
    """The 95 % interval of the errors of 1,000 runs lies below delta, whose upper end is then below it by 0.01."""
    instance = fb.Instance(means, family, fb.rates.Constant(0.1))
    runs = fb.simulate(instance, [0.1, 0.05], stopping=fb.stopping.Mixture(), runs=1000, settle=True)
    for row in runs.summary().rows:
        assert row.proved
        assert row.censored == 0
        assert row.error_high < row.delta
        assert row.efficiency < 1.0  # no rule that errs so rarely beats the bound


PAPER = {  # Table I, pre-specified agonistic rates: means and half the widths of their 95 % intervals
    "f-tas": {0.1: (258.63, 27.56), 0.01: (390.72, 31.42), 0.001: (508.11, 32.49)},
    "tas": {0.1: (258.87, 38.29)},
}


@pytest.mark.slow_without_jit
@pytest.mark.parametrize("rule", PAPER)
def test_stopping_times_of_the_paper(rule: str) -> None:
    """Within 1.5 intervals of both together; ours are about 6 wide, from 2,000 runs."""
    means = np.linspace(0.0, 4.0, 10)
    instance = fb.Instance(means, rates=fb.rates.blended(fb.Instance(means), 0.9, 0.9))
    runs = fb.simulate(instance, list(PAPER[rule]), RULES[rule], fb.stopping.Heuristic(), runs=2000)
    for row in runs.summary().rows:
        mean, width = PAPER[rule][row.delta]
        assert row.stopping_time_ci95 < 10.0
        assert abs(row.stopping_time - mean) < 1.5 * math.hypot(width, row.stopping_time_ci95)


# And so on


def test_progress_bar_is_shown_on_demand(capsys: pytest.CaptureFixture[str]) -> None:
    shown = fb.simulate(EASY, 0.3, runs=3, progress=True)
    assert "3/3" in capsys.readouterr().err
    assert_same(shown, fb.simulate(EASY, 0.3, runs=3))
    assert capsys.readouterr().err == ""
