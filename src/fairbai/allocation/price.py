"""What an answer costs at least, and what part of that is the price of fairness."""

import math
from dataclasses import dataclass

import numpy as np

from fairbai.allocation.linear import polytope_of
from fairbai.allocation.solve import solve
from fairbai.problems.checks import confidence
from fairbai.problems.instance import Instance
from fairbai.problems.rates import Overlapping


@dataclass(frozen=True)
class PriceOfFairness:
    """How much longer the answer takes because of the floors.

    Attributes:
        ratio: T*_p / T*, at least 1.
        fair: T*_p, the characteristic time with the floors.
        unconstrained: T*, the characteristic time without.
        upper_bound: max_a w*_a / (p_a + (1 - sum p) w*_a), which is never below ``ratio``. (It is what the feasible
            allocation p + (1 - sum p) w* costs, or, with ceilings or groups, ``Limits.centre``. The bound printed in
            the paper is false; see docs/errata.md.)
    """

    ratio: float
    fair: float
    unconstrained: float
    upper_bound: float


def lower_bound(instance: Instance, delta: float) -> float:
    """No fair rule that errs with probability at most delta needs fewer trials on average.

    It is T*_p kl(delta, 1 - delta) or, with m right answers, which a tolerance or a control allows, T*_p times
    kl((1 - delta) / m, delta): docs/tolerance.md has the proof.

    Example:
        >>> import fairbai as fb
        >>> round(fb.lower_bound(fb.Instance([1.0, 0.0]), delta=0.05), 3)
        21.2
        >>> round(fb.lower_bound(fb.Instance([0.5, 0.5], "bernoulli", tolerance=0.1), delta=0.05), 1)  # both are right
        150.8
    """
    found = solve(instance)
    time = found.characteristic_time
    if instance.family.structured and math.isfinite(time):
        time *= max(0.0, 1.0 - found.duality_gap)  # so that it is a bound, however close to the optimum the shares are
    needed = information(delta, len(instance.acceptable))
    return time * needed if math.isfinite(time) else time


def information(delta: float, right: int = 1) -> float:
    """kl((1 - delta) / right, delta): what every experiment must learn where so many answers are right, in nats.

    With one right answer it is kl(delta, 1 - delta). Where (1 - delta) / right is at most delta it is 0: guess.
    """
    delta = confidence(delta)
    least = (1.0 - delta) / right  # how likely the most likely right answer is at least
    if right == 1:
        return (1.0 - 2.0 * delta) * (math.log1p(-delta) - math.log(delta))
    if least <= delta:
        return 0.0
    return least * math.log(least / delta) + (1.0 - least) * (math.log1p(-least) - math.log1p(-delta))


def price_of_fairness(instance: Instance) -> PriceOfFairness:
    """What the floors of an instance cost, as a ratio of characteristic times.

    Example:
        >>> import fairbai as fb
        >>> price = fb.price_of_fairness(fb.Instance([1.0, 0.0], floors=[0.8, 0.1]))
        >>> round(price.ratio, 6)  # 1 / (4 p (1 - p)) for two arms
        1.5625
    """
    free = solve(instance.with_rates(None))
    if math.isinf(free.characteristic_time):
        raise ValueError("means must have a single best arm: with a tie T* is infinite and has no ratio to T*_p")
    fair = solve(instance).characteristic_time
    reached = instance.floors + instance.spare * free.weights
    if instance.limits is not None:
        reached = instance.limits.centre
    if isinstance(instance.rates, Overlapping) and instance.rates.groups:
        reached = polytope_of(instance.rates, instance.means.size).inside
    with np.errstate(divide="ignore", invalid="ignore"):  # an arm may have no share in either
        upper_bound = float(np.max(np.where(free.weights > 0.0, free.weights / reached, 0.0)))
    ratio = max(1.0, fair / free.characteristic_time)
    return PriceOfFairness(ratio, fair, free.characteristic_time, max(upper_bound, ratio))
