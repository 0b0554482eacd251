"""The expected trials of plans against simulated experiments."""

import math
from typing import Any

import pytest

import fairbai as fb
from fairbai.planning.expected import Forecast, trials_until_stop

CASES = [
    (fb.Gaussian(), [1.0, 0.6, 0.5, 0.0], 0.0),
    (fb.Gaussian([1.0, 4.0, 1.0]), [1.0, 0.5, 0.0], 0.2),
    (fb.Gaussian(None, guess=[1.0, 4.0, 1.0]), [1.0, 0.5, 0.0], 0.2),
    (fb.Bernoulli(), [0.3, 0.4, 0.3], 0.2),
    (fb.Bernoulli(), [0.3] * 5 + [0.45], 0.05),
    (fb.Poisson(), [2.0, 1.4, 1.0], 0.2),
    (fb.Exponential(), [2.0, 1.4, 1.0], 0.0),
]


@pytest.mark.slow_without_jit
@pytest.mark.parametrize(("family", "means", "floor"), CASES)
@pytest.mark.parametrize("rule", [fb.stopping.Heuristic(), fb.stopping.Mixture(20.0)])
def test_within_a_third_of_what_simulations_take(
    family: fb.problems.families.Family, means: list[float], floor: float, rule: fb.stopping.StoppingRule
) -> None:
    instance = fb.Instance(means, family, fb.rates.Constant(floor))
    runs = fb.simulate(instance, 0.05, stopping=rule, runs=200, seed=3)
    ratio = float(runs.stopping_time.mean()) / trials_until_stop(instance, rule, 0.05)
    assert 0.75 < ratio < 1.33


@pytest.mark.parametrize("time", [3.0, 100.0, 1e6, 1e15])
@pytest.mark.parametrize("delta", [1e-300, 1e-10, 0.01, 0.3])
def test_the_heuristic_estimate_solves_its_equation(time: float, delta: float) -> None:
    """The t at which t / T crosses log((1 + log t) / delta)."""
    trials = Forecast(fb.Instance([1.0, 0.2]), fb.stopping.Heuristic(), delta).trials(time)
    assert trials == pytest.approx(time * math.log((1 + math.log(trials)) / delta), rel=1e-9)


def test_every_arm_is_tried_at_least_once() -> None:
    assert trials_until_stop(fb.Instance([1e6, 0.0, 0.0]), fb.stopping.Heuristic(), 0.05) == pytest.approx(3.0)


@pytest.mark.parametrize("delta", [0.0, -0.1, 0.5, math.nan, "small", None])
def test_delta_outside_zero_and_one_half_is_refused(delta: Any) -> None:
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1/2\), got "):
        trials_until_stop(fb.Instance([1.0, 0.0]), fb.stopping.Heuristic(), delta)


def test_ties_never_end() -> None:
    assert math.isinf(trials_until_stop(fb.Instance([1.0, 1.0, 0.0]), fb.stopping.Heuristic(), 0.1))


def test_smaller_gaps_smaller_errors_and_larger_floors_take_longer() -> None:
    def trials(gap: float, delta: float, floor: float) -> float:
        instance = fb.Instance([0.1 + gap, 0.1, 0.02], fb.Bernoulli(), fb.rates.Constant(floor))
        return trials_until_stop(instance, fb.stopping.Mixture(), delta)

    assert trials(0.05, 0.1, 0.0) < trials(0.02, 0.1, 0.0) < trials(0.02, 0.01, 0.0) < trials(0.02, 0.01, 0.3)
