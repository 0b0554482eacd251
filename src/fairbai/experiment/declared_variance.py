"""How many rewards a decision waits for, so that the tests could have seen a wrong declared variance.

A proof for Gaussian rewards of known variance is worth no more than the variance that was declared. The test of all
arms together (``kernels.doubts``) knows n rewards by the sum S of their squared distances from the means of their arms
or, for linear arms, from the best fit. If rewards are normal and have four times the declared variance, S / 4 has the
chi-square distribution with n - p degrees of freedom, where p is the number of means or parameters, whichever arms
were chosen. So the probability of a doubt by then is known; a decision waits until it is 95 %. docs/doubts.md has the
proof, the numbers and what they cost.
"""

import functools
import math

from scipy.special import chdtrc

from fairbai.experiment.doubts import LEVEL
from fairbai.kernels.doubts import TILTS, gaussian_evidence
from fairbai.kernels.families import GAUSSIAN
from fairbai.problems.families import Family
from fairbai.problems.linear import Linear
from fairbai.stopping import StoppingRule

VARIANCE_RATIO = 4.0  # the true variance over the declared one, that a decision waits for the test to see
POWER = 0.95  # with this probability
STEPS = 60  # of a bisection


def least_rewards(family: Family, stopping: StoppingRule, arms: int) -> int:
    """The rewards before which nothing is decided; 0 where no variance is declared, or where nothing is proved."""
    if family.upright_code != GAUSSIAN or not stopping.proved(family):
        return 0
    if isinstance(family, Linear):
        return rewards_to_see(family.dimension, LEVEL / 2.0)
    return rewards_to_see(arms, LEVEL)


@functools.lru_cache
def rewards_to_see(parameters: int, level: float) -> int:
    """The least number of rewards after which the test of all arms together sees the error, with enough probability.

    Example:
        >>> [rewards_to_see(arms, 0.001) for arms in (2, 10, 100)]
        [36, 50, 196]
    """
    low, high = parameters, 2 * parameters + 32
    while _power(high, parameters, level) < POWER:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(middle, parameters, level) >= POWER else (middle, high)
    return high


def _power(rewards: int, parameters: int, level: float) -> float:
    """The probability that the e-value of so many rewards reaches 2 / level, for rewards of the wrong variance."""
    wanted = math.log(2.0 / level)
    low, high = 0.0, 2.0 / TILTS[-1] * (wanted + math.log(len(TILTS)) - 0.5 * rewards * math.log1p(-TILTS[-1]))
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gaussian_evidence(float(rewards), middle) < wanted else (low, middle)
    return float(chdtrc(rewards - parameters, high / VARIANCE_RATIO))
