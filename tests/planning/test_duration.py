"""The quantiles of plans: simulated where that is quick, else an approximation close to what simulations give."""

import dataclasses

import numpy as np
import pytest

import fairbai as fb
from fairbai.planning import duration as durations
from fairbai.planning.duration import LEVELS, Duration
from fairbai.planning.noise import Noise
from fairbai.simulation.scenario import Scenario
from tests.planning.test_expected import CASES


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(("family", "means", "floor"), CASES)
def test_the_approximation_is_within_a_third_of_simulations(
    family: fb.problems.families.Family, means: list[float], floor: float
) -> None:
    found = fb.plan(means, family, floor)
    rough = Duration.approximate(Noise.of(found.instance, found.fair), found.proved)
    assert not rough.simulated
    stopping = found.stops["proved"].stopping
    runs = fb.simulate(found.instance, 0.05, stopping=stopping, settle=True, runs=400, seed=8)
    simulated = np.quantile(runs.stopping_time, LEVELS)
    ratios = simulated / np.array([rough.p10, rough.p50, rough.p90])
    assert (ratios > 0.7).all(), ratios
    assert (ratios < 1.3).all(), ratios


@pytest.mark.slow_without_jit
def test_short_experiments_are_simulated_the_same_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "is_compiled", lambda self: True)
    first, second = (fb.plan([1.0, 0.0, 0.0], fb.Gaussian(1.0), rates=0.2).duration for _ in range(2))
    assert first == second
    assert first.simulated
    assert first.p10 < first.p50 < first.p90


@pytest.mark.parametrize(
    ("means", "family", "rates"),
    [
        ([0.1, 0.101], "bernoulli", None),  # would take too long
        ([1e12, 1e12 + 1e7], "poisson", None),  # cannot be simulated
        ([1.0, 0.0], fb.Gaussian(1.0), fb.rates.Custom(lambda means: 0.2)),  # is slow
    ],
)
def test_what_is_not_quick_is_approximated(
    means: list[float], family: str, rates: fb.rates.Rate | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scenario, "is_compiled", lambda self: True)
    found = fb.plan(means, family, rates)
    assert not found.duration.simulated
    assert ": an approximation." in repr(found)
    assert 0.75 * found.expected < found.duration.p50 <= found.expected


def test_nothing_is_compiled_for_a_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "is_compiled", lambda self: False)
    found = fb.plan([1.0, 0.0], fb.Gaussian(1.0), delta=0.4)
    assert not found.duration.simulated
    assert found.duration.p10 >= 2.0  # one trial per arm
    assert dataclasses.asdict(found.duration) == found.to_dict()["quantiles"]


def test_runs_that_are_given_up_are_not_quantiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scenario, "is_compiled", lambda self: True)
    monkeypatch.setattr(durations, "GIVE_UP_AFTER", 0.1)
    assert not fb.plan([1.0, 0.0], fb.Gaussian(1.0)).duration.simulated
