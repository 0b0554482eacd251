"""A decision waits until the tests could have seen a wrong declared variance."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2

import fairbai as fb
from fairbai.experiment.declared_variance import least_rewards, rewards_to_see
from fairbai.planning.expected import Forecast
from fairbai.stopping import ChanceToWin, Heuristic, LinearMixture, Mixture, PairwiseGaussian

DESIGN = fb.Linear([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]], variance=2.0)


def power(rewards: int, parameters: int, level: float) -> float:
    """By SciPy's distribution and root."""

    def log_e_value(squares: float) -> float:
        parts = [0.5 * rewards * math.log1p(-s) + 0.5 * s * squares for s in (0.1, 0.25, 0.5, 0.75)]
        return float(np.logaddexp.reduce(parts)) - math.log(4.0)

    wanted = brentq(lambda squares: log_e_value(squares) - math.log(2.0 / level), 0.0, 1e7)
    return float(chi2.sf(wanted / 4.0, rewards - parameters))


@pytest.mark.parametrize("parameters", [2, 3, 10, 57, 1000])
@pytest.mark.parametrize("level", [1e-3, 5e-4])
def test_it_is_the_least_number_with_enough_power(parameters: int, level: float) -> None:
    least = rewards_to_see(parameters, level)
    assert power(least - 1, parameters, level) < 0.95 <= power(least, parameters, level)


def test_only_declared_variances_under_proved_stops_wait() -> None:
    assert least_rewards(fb.Gaussian([1.0, 2.0]), Mixture(), 2) == 36
    assert least_rewards(fb.Gaussian().for_goal("min"), PairwiseGaussian(), 10) == 50
    assert least_rewards(DESIGN, LinearMixture(), 4) == rewards_to_see(2, 5e-4) == 37
    for stopping in (Heuristic(), ChanceToWin()):
        assert least_rewards(fb.Gaussian(), stopping, 2) == 0
    for family in (fb.Gaussian(variance=None), fb.Bernoulli(), fb.Poisson(), fb.Exponential(), fb.Bounded()):
        assert least_rewards(family, Mixture(), 2) == 0


def obvious(family: Any = None, **options: Any) -> fb.Identifier:
    """An experiment whose evidence is enough after a few rewards."""
    return fb.Identifier(["a", "b"], 0.05, family or fb.Gaussian(), **options)


def play(ident: fb.Identifier, trials: int) -> fb.Identifier:
    rng = np.random.default_rng(0)
    while ident.trials < trials and not ident.decided:
        arm = ident.ask()
        ident.tell(arm, rng.normal(5.0 * (arm == "a")))
    return ident


def test_a_decision_waits_and_says_for_what() -> None:
    ident = play(obvious(), 24)
    status = ident.status()
    assert status.glr > status.threshold
    assert not ident.look()
    assert status.expected_remaining == 12.0
    assert status.hints == (
        "There is enough evidence for an answer, but 12 more rewards are needed to check the declared variance: the "
        "decision waits for them",
    )
    one = fb.Identifier.from_dict(ident.to_dict())
    assert one.status().hints == status.hints
    play(one, 35)
    assert "but 1 more reward is needed" in one.status().hints[0]
    play(one, 100)
    assert one.decision is not None
    assert one.decision.round == 36
    assert one.status().proved
    assert one.status().hints == ()


def test_no_reason_is_given_while_there_is_no_evidence() -> None:
    ident = obvious()
    rng = np.random.default_rng(0)
    for _ in range(20):
        ident.tell(ident.ask(), rng.normal())
    assert ident.status().hints == ()
    assert ident.procedure.untested == 16


def test_rules_that_prove_nothing_do_not_wait() -> None:
    assert play(obvious(stopping=Heuristic()), 100).trials < 10
    assert play(obvious(fb.Gaussian(variance=None)), 100).trials < 36


def test_it_waits_with_an_arm_switched_off_in_batches_and_for_linear_arms() -> None:
    ident = fb.Identifier(["a", "b", "c"], 0.05, fb.Gaussian())
    ident.tell(ident.ask(3), [5.0, 0.0, 0.0])
    ident.switch_off("c")
    assert play(ident, 100).trials == rewards_to_see(3, 1e-3) == 37
    ident = obvious()
    ident.tell_batch([17, 18], [85.0, 0.0])
    assert not ident.decided
    ident.tell_batch([1, 0], [5.0, 0.0])
    assert ident.decided
    linear = fb.Identifier(4, 0.05, DESIGN)
    rng = np.random.default_rng(0)
    while not linear.decided:
        arm = linear.ask()
        linear.tell(arm, rng.normal(20.0 * arm))
    assert linear.trials == 37


@pytest.mark.parametrize("sampling", ["fair_top_two", "top_two"])
def test_simulated_experiments_wait_as_live_ones_do(sampling: str) -> None:
    instance = fb.Instance([1.5, 0.0, 0.0], fb.Gaussian())
    runs = fb.simulate(instance, [0.1, 0.01], sampling=sampling, runs=20, seed=3)
    assert runs.decision_time.min() == rewards_to_see(3, 1e-3)
    alone = fb.simulation.simulate_edges(instance, [0.1, 0.01], batch=1, sampling=sampling, runs=20, seed=3)
    np.testing.assert_array_equal(runs.decision_time, alone.decision_time)
    heuristic = fb.simulate(instance, 0.1, sampling=sampling, stopping="heuristic", runs=20, seed=3)
    assert heuristic.decision_time.min() < 15


def test_plans_are_for_no_fewer_trials() -> None:
    easy = fb.Instance([9.0, 0.0], fb.Gaussian())
    assert Forecast(easy, Mixture(), 0.05).trials(1.0) == 36.0
    assert Forecast(easy, Heuristic(), 0.05).trials(1.0) < 36.0


def test_the_residuals_of_linear_arms_are_tested() -> None:
    """With one reward per arm there is no spread within arms, but the fit of two parameters leaves some."""
    rng = np.random.default_rng(4)
    family = fb.Linear(np.column_stack([np.ones(60), np.linspace(-1.0, 1.0, 60)]), variance=1.0)
    found = dict.fromkeys((1.0, 4.0), 0)
    for factor in found:
        for _ in range(20):
            ident = fb.Identifier(60, 1e-9, family, sampling="uniform_fair")
            pulls = np.ones(60)
            ident.tell_batch(pulls, rng.normal(0.0, factor**0.5, 60))
            found[factor] += bool(ident.status().doubts)
    assert found == {1.0: 0, 4.0: 20}
