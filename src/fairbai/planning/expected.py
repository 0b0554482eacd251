"""About how many trials an experiment will take, without simulating it.

Rewards without noise, in the optimal shares, show what a stopping rule asks for: the trials at which its score for the
best arm and its closest rival then reaches its level. (The other arms need fewer trials, so what the rule asks of them
matters less.) Real experiments vary around that, and may end somewhat earlier or later on average: docs/dashboard.md
has a comparison.
"""

import math

from fairbai.allocation import Allocation, solve
from fairbai.experiment.experiment import Experiment
from fairbai.kernels import state as rows
from fairbai.problems import Gaussian, Instance
from fairbai.problems.checks import Array
from fairbai.stopping import StoppingRule

STEPS = 60
PRECISION = 1e-4  # relative


def trials_until_stop(
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
        >>> round(trials_until_stop(instance, fb.stopping.Heuristic(), delta=0.05), -2)
        10400.0
    """
    best = solve(instance) if allocation is None else allocation
    time, arms = best.characteristic_time, best.weights.size
    if math.isinf(time):
        return math.inf
    level = stopping.level(delta, arms)
    both = [best.best_arm, _rival(best)]
    family = Gaussian(instance.scales[both]) if isinstance(instance.family, Gaussian) else instance.family
    pair, shares, means = Experiment(2, family, None, None, stopping), best.weights[both], instance.means[both]
    trials = max(time * level, float(arms))
    for _ in range(STEPS):  # Newton's method: the score grows by about 1 / T* a trial
        step = (level - _score(pair, shares * trials, means)) * time
        trials = max(trials + step, trials / 2.0, 1.0)
        if abs(step) < PRECISION * trials:
            break
    return trials


def _rival(best: Allocation) -> int:
    """The arm that takes the most trials to tell from the best; those at their floors have trials to spare."""
    others = [arm for arm in range(best.weights.size) if arm != best.best_arm]
    waited = [arm for arm in others if not best.at_floor[arm]] or others
    return max(waited, key=lambda arm: float(best.weights[arm]))


def _score(pair: Experiment, counts: Array, means: Array) -> float:
    """What the rule makes of so many trials of two arms without noise."""
    pair.state[rows.ASSIGNED] = pair.state[rows.OBSERVED] = counts
    pair.state[rows.SUM] = counts * means
    pair.recount()
    return float(pair.exact_evidence()[0])
