"""One cell of a study: the same runs in whatever chunks, and every wrong argument refused before anything runs."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fairbai as fb
from fairbai.simulation.scenario import MAX_POISSON_MEAN, MAX_ROUNDS, Scenario, _empty_record, make_scenario
from tests.processes import run_python
from tests.simulation.cases import ARRAYS, FAMILIES, RATES, RULES, assert_same, compiled

families = pytest.mark.parametrize("family", FAMILIES)


def scenario(family: str = "gaussian", rule: str = "f-tas", rate: str = "inverse gap", **changes: Any) -> Scenario:
    kind, means = FAMILIES[family]
    given: dict[str, Any] = {
        "instance": fb.Instance(means, kind, RATES[rate]),
        "deltas": [0.3, 0.1],
        "sampling": RULES[rule],
        "stopping": fb.stopping.Heuristic(),
        "settle": True,
        "seed": 11,
        "maximum_rounds": 25,
        "histogram": True,
        "trace": [1, 2, 5, 20],
    }
    return make_scenario(**{**given, **changes})


# Streams


@families
@pytest.mark.parametrize("rule", ["f-tas", "in Python"])
def test_runs_are_the_same_in_any_chunks(family: str, rule: str) -> None:
    one = scenario(family, rule)
    whole = one.simulate(0, 7)
    pieces = [one.simulate(5, 2), one.simulate(0, 1), one.simulate(1, 4)]
    assert_same(fb.Runs.join(pieces), whole)
    assert whole.number.tolist() == list(range(7))


def test_more_runs_begin_with_the_same() -> None:
    few, many = scenario().simulate(0, 3), scenario().simulate(0, 6)
    np.testing.assert_array_equal(few.pulls, many.pulls[:3])
    np.testing.assert_array_equal(few.glr, many.glr[:3])


def test_runs_with_large_numbers() -> None:
    far = 2**40
    runs = scenario().simulate(far, 2)
    assert runs.number.tolist() == [far, far + 1]
    assert not np.array_equal(runs.glr[0], runs.glr[1])
    assert not np.array_equal(runs.glr, scenario().simulate(0, 2).glr)


@families
def test_runs_and_seeds_differ(family: str) -> None:
    """No two of eight runs, of four seeds, saw the same rewards."""
    late = {"deltas": [1e-12], "maximum_rounds": 40, "trace": [40]}  # unknown variances say nothing at first
    glr = [scenario(family, seed=seed, **late).simulate(0, 2).glr for seed in (0, 1, 2**32, 2**63 - 1)]
    assert len(np.unique(glr)) == 8 or family in ("bernoulli", "bounded")  # whose rewards are few
    assert len(np.unique(glr)) > 2


BITS = """
from tests.simulation.cases import ARRAYS, FAMILIES
from tests.simulation.test_scenario import scenario
import hashlib
for family in FAMILIES:
    for rule in ("f-tas", "f-tas cumulative", "fair top-two", "lucb", "in Python"):
        for rate in ("softmax", "custom"):
            runs = scenario(family, rule, rate).simulate(3, 2)
            digests = [hashlib.sha256(getattr(runs, name).tobytes()).hexdigest()[:12] for name in ARRAYS]
            print(family, rule, rate, *digests)
"""


@pytest.mark.long
@pytest.mark.slow_without_jit
def test_same_bits_without_the_jit() -> None:
    """Every array of runs of every family, with rules that solve, track, compare and bisect."""
    printed = [run_python("-c", BITS, NUMBA_DISABLE_JIT=disabled).splitlines() for disabled in ("0", "1")]
    assert printed[0] == printed[1]
    assert len(printed[0]) == len(FAMILIES) * 10
    assert len(printed[0][0].split()[-len(ARRAYS) :]) == len(ARRAYS)


# Traces


def test_trace_by_default_has_ten_rounds_a_decade() -> None:
    grid = scenario(trace=True, maximum_rounds=10**6).grid
    assert grid[:10] == (1, 2, 3, 5, 6, 7, 10, 12, 15, 19)  # 10^(n/10) rounded down, each once
    assert grid[-1] == 10**6
    assert len([mark for mark in grid if 1000 <= mark < 10_000]) == 10
    assert all(one < other for one, other in pairwise(grid))


@pytest.mark.parametrize("rounds", [1, 9, 999, 12345, MAX_ROUNDS])
def test_trace_ends_with_the_rounds(rounds: int) -> None:
    grid = scenario(trace=True, maximum_rounds=rounds).grid
    assert grid[0] == 1
    assert rounds / 10**0.1 - 1 <= grid[-1] <= rounds


@pytest.mark.parametrize("trace", [[3, 7], (3, 7), range(3, 8, 4), np.array([3, 7])])
def test_trace_of_given_rounds(trace: Any) -> None:
    assert scenario(trace=trace).grid == (3, 7)


def test_nothing_is_traced_unless_asked_for() -> None:
    for trace in (False, []):
        runs = scenario(trace=trace, histogram=False).simulate(0, 2)
        assert runs.trace_rounds == ()
        assert runs.shares.shape == (2, 0, 3)
        assert runs.glr.shape == (2, 0)
        assert runs.histogram.shape == (2, 0)


# Defaults


def test_defaults_are_those_of_the_identifier() -> None:
    one = make_scenario(fb.Instance([1.0, 0.0]), 0.05, None, None, False, 0, 10)
    ident = fb.Identifier(2, delta=0.05, family=fb.Gaussian())
    assert (one.sampling, one.stopping) == (ident.sampling, ident.stopping)
    assert one.deltas == (0.05,)


def test_rules_may_be_named() -> None:
    named = make_scenario(fb.Instance([1.0, 0.0]), 0.05, "top_two", {"kind": "mixture", "kappa": 2}, False, 0, 10)
    assert (named.sampling, named.stopping) == (fb.sampling.TopTwo(), fb.stopping.Mixture(2.0))


# Wrong arguments

BAD: list[tuple[dict[str, Any], str]] = [
    ({"instance": [1.0, 0.0]}, r"instance must be a fairbai.Instance, got \[1.0, 0.0\]"),
    ({"instance": None}, "instance must be a fairbai.Instance, got None"),
    ({"deltas": []}, r"deltas must be one or more different numbers, got \[\]"),
    ({"deltas": [0.1, 0.05, 0.1]}, r"deltas must be one or more different numbers, got \[0.1, 0.05, 0.1\]"),
    ({"deltas": 0.5}, r"delta must be in \(0, 1/2\), got 0.5"),
    ({"deltas": [0.1, 0.0]}, r"delta must be in \(0, 1/2\), got 0.0"),
    ({"deltas": [0.1, -0.1]}, r"delta must be in \(0, 1/2\), got -0.1"),
    ({"deltas": [0.1, float("nan")]}, r"delta must be in \(0, 1/2\), got nan"),
    ({"deltas": "small"}, r"delta must be in \(0, 1/2\), got 'small'"),
    ({"deltas": None}, r"delta must be in \(0, 1/2\), got None"),
    ({"sampling": fb.stopping.Mixture()}, "sampling must be a SamplingRule, its kind or its JSON form, got Mixture"),
    ({"sampling": "fair"}, "sampling must be one of .*fair_top_two, .*, got 'fair'"),
    ({"stopping": fb.sampling.TopTwo()}, "stopping must be a StoppingRule, its kind or its JSON form, got TopTwo"),
    ({"seed": -1}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got -1"),
    ({"seed": 2**63}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got 9223372036854775808"),
    ({"seed": 1.5}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got 1.5"),
    ({"seed": "lucky"}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got 'lucky'"),
    ({"seed": None}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got None"),
    ({"maximum_rounds": 0}, "maximum_rounds must be a whole number from 1 to 9007199254740992, got 0"),
    ({"maximum_rounds": 2**53 + 1}, "maximum_rounds must be a whole number from 1 to .*, got 9007199254740993"),
    ({"maximum_rounds": 1e6}, "maximum_rounds must be a whole number from 1 to .*, got 1000000.0"),
    ({"maximum_rounds": True}, "maximum_rounds must be a whole number from 1 to .*, got True"),
    ({"trace": [5, 3]}, r"trace must be True or rising rounds, got \[5, 3\]"),
    ({"trace": [3, 3]}, r"trace must be True or rising rounds, got \[3, 3\]"),
    ({"trace": [0, 3]}, "trace must be a whole number from 1 to .*, got 0"),
    ({"trace": [1.5]}, "trace must be a whole number from 1 to .*, got 1.5"),
    ({"trace": 5}, "trace must be True or rising rounds, got 5"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[f"{change}" for change, _ in BAD])
def test_wrong_arguments(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        scenario(**change)


def test_stopping_rule_must_be_proved_for_the_family() -> None:
    with pytest.raises(ValueError, match="stopping rule pairwise_gaussian is proved for gaussian arms, got bernoulli"):
        scenario("bernoulli", stopping=fb.stopping.PairwiseGaussian())


def test_poisson_means_can_be_too_large() -> None:
    """A reward would take for ever."""
    means = [2.0 * MAX_POISSON_MEAN, 1.0]
    with pytest.raises(ValueError, match=r"means must be at most 1e\+\d\d to simulate Poisson arms"):
        scenario(instance=fb.Instance(means, fb.Poisson()))
    assert scenario(instance=fb.Instance(means, fb.Exponential())).instance.means[0] == means[0]
    assert scenario(instance=fb.Instance([MAX_POISSON_MEAN, 1.0], fb.Poisson()))


def test_custom_rates_that_are_wrong_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the compiled loop found nonsense that the function does not give again, the error says so."""
    one = scenario(instance=fb.Instance([3.0, 1.0, 0.0], rates=fb.rates.Custom(compiled)))
    monkeypatch.setattr("fairbai.kernels.loop.runs.simulate_runs_with", lambda *arguments: 7)
    record = _empty_record(1, 1, 3, histogram=False, marks=0)
    with pytest.raises(ValueError, match=r"custom function differ from one call to the next \(run 7\)"):
        one._compiled(0, np.array([1.0]), one.experiment(), record)
