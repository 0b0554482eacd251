"""About how many trials an experiment will take on average, without simulating it.

Rewards without noise show what a stopping rule asks for: the evidence about the best arm and its closest rival at which
the score of the rule reaches its level. (The other arms need fewer trials, so what the rule asks of them matters less.)
Floors do not change what is asked, but the evidence that a trial brings: 1 / T*_p on average instead of 1 / T*. So the
estimate rises with the floors, as T*_p does. What noise adds is in ``planning.noise``; docs/dashboard.md compares both
with simulations.
"""

import math

import numpy as np

from fairbai.allocation import Allocation, solve
from fairbai.experiment.declared_variance import least_rewards
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.linear import experiment_of
from fairbai.kernels import state as rows
from fairbai.kernels.config import KAPPA
from fairbai.kernels.ties import hardest_mean
from fairbai.planning.noise import Noise
from fairbai.problems import Family, Gaussian, Instance
from fairbai.problems.checks import Array, confidence
from fairbai.stopping import StoppingRule

STEPS = 100
PRECISION = 1e-12  # relative
MAX_GROWTH = 3.0  # of a step, in trials before it
SPREAD = 1e-3  # the share of all trials of linear arms that goes to all alike, so that every parameter is determined


def trials_until_stop(instance: Instance, stopping: StoppingRule, delta: float) -> float:
    """The trials until the stop, about; infinite where arms tie for the best.

    Args:
        instance: The means, as they are guessed, with family and floors.
        stopping: The rule.
        delta: The error probability.

    Example:
        >>> import fairbai as fb
        >>> instance = fb.Instance([0.12, 0.1], fb.Bernoulli())
        >>> round(trials_until_stop(instance, fb.stopping.Heuristic(), delta=0.05), -2)
        10200.0
    """
    return Forecast(instance, stopping, delta).expected(instance, solve(instance))


class Forecast:
    """The expected trials of one question, whatever its floors.

    Args:
        instance: The means and the family; its floors do not matter.
        stopping: The rule.
        delta: The error probability.
    """

    def __init__(self, instance: Instance, stopping: StoppingRule, delta: float) -> None:
        self._free = solve(instance.with_rates(None))
        self._level = stopping.level(confidence(delta), instance.means.size)
        self._least = least_rewards(instance.family, stopping, instance.means.size)
        if instance.family.structured:
            self._prepare_structured(instance, stopping)
            return
        both = [self._free.best_arm, _rival(self._free)]
        oriented, (stretch, shift) = instance.oriented, instance.ties[:, both[1]]
        self._variances = instance.scales[both] / [1.0, stretch * stretch]
        family = _family_of_two(oriented, self._variances)
        self._pair = Experiment(2, family, None, None, stopping)
        self._pair.params[KAPPA:] = stopping.parameters(instance.means.size)  # a pair of many
        self._shares, self._means = self._free.weights[both], np.array(oriented.out_of_units(instance.means[both]))
        # a tie within a tolerance is taken for one of equal means, which it is for Gaussian arms
        self._means[1] = hardest_mean(family.code, self._means[0], self._means[1], stretch, shift)

    def _prepare_structured(self, instance: Instance, stopping: StoppingRule) -> None:
        """All arms take part where they share parameters."""
        self._pair = experiment_of(instance.means.size, instance.oriented, None, None, stopping)
        self._pair.state[[rows.STRETCH, rows.SHIFT]] = instance.ties
        self._means, self._variances = np.array(instance.oriented.out_of_units(instance.means)), instance.scales
        self._shares = (1.0 - SPREAD) * self._free.weights + SPREAD / instance.means.size

    def expected(self, instance: Instance, fair: Allocation) -> float:
        """The expected trials with the floors of this instance, of which ``fair`` is the solution."""
        trials = self.trials(fair.characteristic_time)
        return Noise.of(instance, fair).mean(trials) if math.isfinite(trials) else trials

    def trials(self, time: float) -> float:
        """The trials without noise where the characteristic time is ``time``; at least one per arm."""
        arms = self._free.weights.size
        if not math.isfinite(self._free.characteristic_time + time):
            return math.inf
        trials = max(time * self._level, float(arms))
        for _ in range(STEPS):  # Newton's method: the score grows by about 1 / time per trial
            step = (self._level - self._score(trials, time)) * time
            step = min(step, MAX_GROWTH * trials)  # few rewards may be no evidence at all
            trials, before = max(trials + step, trials / 2.0, float(arms)), trials
            if abs(trials - before) <= PRECISION * trials:
                break
        return max(trials, float(self._least))

    def _score(self, trials: float, time: float) -> float:
        """What the rule makes of rewards without noise, after ``trials`` that bring 1 / ``time`` each."""
        pair = self._pair
        counts = self._shares * (trials * (self._free.characteristic_time / time))
        counts = counts / min(1.0, counts.sum())  # one reward at least: of less, scores are not defined
        pair.state[rows.ASSIGNED] = pair.state[rows.OBSERVED] = counts
        pair.state[rows.SUM] = counts * self._means
        pair.state[rows.SQUARES] = counts * self._variances  # which is read only if variances are unknown
        pair.recount()
        pair.scalars[rows.SEEN] = trials  # of all arms, for rules that count them together
        return float(pair.exact_evidence()[0])


def _family_of_two(family: Family, variances: Array) -> Family:
    """The family of two of its arms, which have these variances if it is Gaussian."""
    if not isinstance(family, Gaussian):
        return family
    return Gaussian(None, guess=variances) if family.unknown_variance else Gaussian(variances)


def _rival(best: Allocation) -> int:
    """The arm that takes the most trials to tell from the best."""
    others = [arm for arm in range(best.weights.size) if arm != best.best_arm]
    return max(others, key=lambda arm: float(best.weights[arm]))
