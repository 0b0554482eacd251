"""The promises of a rate."""

import json

import numpy as np

from fairbai.identifier import Identifier
from fairbai.problems import Family, Instance
from fairbai.problems.checks import Array
from fairbai.problems.rates import Bounded, Rate
from fairbai.stopping import Heuristic, Mixture

ROUNDING = 1e-9


def check_rate(rate: Rate, arms: int = 4, draws: int = 200, trials: int = 300, seed: int = 0) -> None:
    """Raise an AssertionError where a rate breaks a promise.

    At random means and at those that an experiment meets while it learns (ties, all equal, negative, tiny gaps, large)
    its floors are finite, not negative and sum to at most 1. The same means give the same floors and are not changed; a
    matrix of means gives what its rows give one by one; the JSON form, if there is one, describes the rate. An
    experiment with it meets its floors, and all other limits if it has some, when it stops.

    Args:
        rate: The rate.
        arms: The number of arms.
        draws: How many random means are tried.
        trials: Length of the experiments, in hundreds.
        seed: Seed of the means and the rewards.

    Example:
        >>> from fairbai import rates
        >>> check_rate(rates.Softmax(0.5))
    """
    rng = np.random.default_rng(seed)
    means = np.vstack([_hard_means(arms), rng.uniform(0.01, 0.99, (draws, arms)), rng.normal(0.0, 3.0, (draws, arms))])
    floors = np.array([_checked_floors(rate, row) for row in means])
    assert np.array_equal(rate.floors_batch(means), floors), f"{rate!r}: many means at once give other floors"
    _check_form(rate)
    for kind in Family.in_library():
        if not kind.structured:
            _check_experiment(rate, Instance(np.linspace(0.8, 0.2, arms), kind(), rate), trials, seed)


def _hard_means(arms: int) -> Array:
    """Means at which formulas like to fail."""
    first = np.zeros(arms)
    first[0] = 1.0
    last = np.linspace(-2.0, -1.0, arms)
    return np.array([np.zeros(arms), np.ones(arms), first, 1.0 - first, -first, last, 1e-13 * last, 1e6 * last])


def _checked_floors(rate: Rate, means: Array) -> Array:
    before = means.copy()
    floors = np.asarray(rate.floors(means))
    about = f"{rate!r} at the means {before.tolist()}"
    assert np.array_equal(means, before), f"{about}: it changes the means"
    assert floors.shape == means.shape, f"{about}: {floors.size} floors for {means.size} arms"
    assert np.all(np.isfinite(floors)), f"{about}: floors {floors} must be finite"
    assert np.all(floors >= 0.0), f"{about}: floors {floors} must not be negative"
    assert floors.sum() <= 1.0 + ROUNDING, f"{about}: floors sum to {floors.sum()}"
    assert np.array_equal(rate.floors(means), floors), f"{about}: another call gives other floors"
    return floors


def _check_form(rate: Rate) -> None:
    try:
        form = rate.to_dict()
    except ValueError:  # Python code, which has no JSON form
        return
    assert Rate.from_dict(json.loads(json.dumps(form))) == rate, f"{rate!r}: its JSON form is that of another rate"


def _check_experiment(rate: Rate, instance: Instance, trials: int, seed: int) -> None:
    """After a decision that comes early, every floor at the estimated means is met."""
    arms = instance.means.size
    stopping = Mixture() if Mixture().proved(instance.family) else Heuristic()
    identifier = Identifier(arms, 0.4, family=instance.family, rates=rate, stopping=stopping, seed=seed)
    rewards = instance.family.sample(instance.means, np.random.default_rng(seed), 100 * trials)
    for row in rewards:
        if identifier.stopped:
            break
        arm = identifier.ask()
        identifier.tell(arm, row[arm])
    status = identifier.status()
    assert status.stopped, f"{rate!r} on {instance.family.kind} arms: no stop within {100 * trials} trials"
    lacking = float(np.max(status.floors * status.assigned.sum() - status.assigned))
    assert lacking < 1.0, f"{rate!r} on {instance.family.kind} arms: an arm lacks {lacking:.1f} trials of its floor"
    if isinstance(rate, Bounded):
        outside = _outside(rate, status.assigned.astype(np.float64))
        assert outside < 1.0, f"{rate!r} on {instance.family.kind} arms: {outside:.1f} trials outside a limit"


def _outside(rate: Bounded, assigned: Array) -> float:
    """By how many trials the ceiling of an arm, or a floor or ceiling of a group, is missed."""
    limits, total = rate.limits(assigned.size), assigned.sum()
    counts = np.bincount(limits.groups.astype(np.int64) + 1, assigned, assigned.size + 1)[1:]
    above = np.concatenate([assigned - limits.ceilings * total, counts - limits.group_ceilings * total])
    return float(max(above.max(), (limits.group_floors * total - counts).max()))
