"""What an experiment will cost: its expected trials, the price of its floors, and the shares of its arms."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairbai.allocation import Allocation, solve
from fairbai.planning.expected import trials_until_stop
from fairbai.problems import Instance
from fairbai.problems.checks import confidence
from fairbai.stopping import Heuristic, Mixture

LONGEST = 1e15  # trials: nobody has as many, and far more are not even numbers


@dataclass(frozen=True)
class Plan:
    """A guess of how an experiment will go.

    Attributes:
        instance: The means as they are guessed, with family and floors.
        delta: The error probability.
        labels: Of the arms.
        fair: The optimal shares with the floors.
        free: The optimal shares without any floor or other limit.
        stopping: The proved rule that suits the expected trials.
        heuristic: Expected trials with the threshold of the paper's tables, which is not proved.
        proved: Expected trials with ``stopping``.
        without_floors: Expected trials with ``stopping`` if there were no floors.
    """

    instance: Instance
    delta: float
    labels: tuple[str, ...]
    fair: Allocation
    free: Allocation
    stopping: Mixture
    heuristic: float
    proved: float
    without_floors: float


def plan(instance: Instance, delta: float, labels: Sequence[str] | None = None) -> Plan:
    """Plan an experiment.

    Example:
        >>> import fairbai as fb
        >>> found = plan(fb.Instance([0.5, 0.3], fb.Bernoulli(), fb.rates.Constant([0.8, 0.1])), delta=0.05)
        >>> found.proved > found.without_floors
        True
    """
    delta = confidence(delta)
    names = tuple(labels) if labels is not None else tuple(map(str, range(instance.means.size)))
    without = Instance(instance.means, instance.family)
    fair, free = solve(instance), solve(without)
    _check_decidable(instance, fair, free, names)
    heuristic = trials_until_stop(instance, Heuristic(), delta, fair)
    stopping = _suited(instance, heuristic, delta)
    proved = trials_until_stop(instance, stopping, delta, fair)
    without_floors = min(proved, trials_until_stop(without, stopping, delta, free))
    return Plan(instance, delta, names, fair, free, stopping, heuristic, proved, without_floors)


def _check_decidable(instance: Instance, fair: Allocation, free: Allocation, labels: tuple[str, ...]) -> None:
    best = [labels[arm] for arm in np.flatnonzero(instance.means == instance.means.max())]
    if len(best) > 1:
        raise ValueError(f"means must have a single best arm, got the same for {best[0]!r} and {best[1]!r}")
    if not free.characteristic_time < LONGEST:
        raise ValueError(
            f"means must differ by more: to tell {best[0]!r} from the others takes more than {LONGEST:g} trials, "
            f"got means from {instance.means.min()} to {instance.means.max()}"
        )
    if math.isinf(fair.characteristic_time):
        starved = labels[int(np.argmin(fair.weights))]
        raise ValueError(f"floors must leave a share for every arm: nothing is left for {starved!r}")


def _suited(instance: Instance, trials: float, delta: float) -> Mixture:
    """The proved rule for so many trials; few digits, because the guess has no more."""
    size = float(np.abs(instance.means).mean()) or 1.0
    rule = Mixture.for_trials(max(1.0, trials), delta, instance.means.size)
    prior = size if instance.family.kind in ("poisson", "exponential") else 1.0
    return Mixture(float(f"{rule.kappa:.3g}"), float(f"{prior:.3g}"))
