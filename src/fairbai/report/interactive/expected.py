"""About how many trials an experiment will take, without simulating it.

Rewards without noise, in the optimal shares, show what a stopping rule asks for: the trials at which its score then
reaches its level. Real experiments vary around that, and end a little later on average, because the shares are learned
on the way and because the least of several noisy scores is lower than each; docs/dashboard.md has a comparison.
"""

import math

import numpy as np

from fairbai.allocation import Allocation, solve
from fairbai.kernels import state as rows
from fairbai.kernels.experiment import recount
from fairbai.problems import Instance
from fairbai.sampling.experiment import Experiment
from fairbai.stopping import StoppingRule

STEPS = 60
PRECISION = 1e-4  # relative


def expected_trials(
    instance: Instance, stopping: StoppingRule, delta: float, allocation: Allocation | None = None
) -> float:
    """The trials until the stop, about; infinite where arms tie for the best.

    Args:
        instance: The means, as they are guessed, with family and floors.
        stopping: The rule.
        delta: The error probability.
        allocation: The solution of the instance, if it is known.

    Example:
        >>> import fairbai as fb
        >>> instance = fb.Instance([0.12, 0.1], fb.Bernoulli())
        >>> round(expected_trials(instance, fb.stopping.Heuristic(), delta=0.05), -2)
        19400.0
    """
    best = solve(instance) if allocation is None else allocation
    time, arms = best.characteristic_time, best.weights.size
    if math.isinf(time):
        return math.inf
    level = stopping.level(delta, arms)
    experiment = Experiment(arms, instance.family, instance.rates, None, stopping)
    trials = max(time * level, float(arms))
    for _ in range(STEPS):  # Newton's method: the score grows by about 1 / T* a trial
        step = (level - _score(experiment, instance, best, trials)) * time
        trials = max(trials + step, trials / 2.0, 1.0)
        if abs(step) < PRECISION * trials:
            break
    return trials


def _score(experiment: Experiment, instance: Instance, best: Allocation, trials: float) -> float:
    """What the rule makes of so many trials without noise."""
    counts = np.maximum(best.weights * trials, 1e-3)
    experiment.state[rows.ASSIGNED] = experiment.state[rows.OBSERVED] = counts
    experiment.state[rows.SUM] = counts * instance.means
    recount(experiment.codes, experiment.reals, experiment.state, experiment.numbers)
    return float(experiment.assess()[0])
