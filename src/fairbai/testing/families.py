"""The promises of a reward family."""

import json

import numpy as np

from fairbai.allocation import solve
from fairbai.identifier import Identifier
from fairbai.problems import Family, Instance
from fairbai.problems.checks import Array, Numbers
from fairbai.stopping import Heuristic

STEP = 1e-4  # relative, for differences
ERRORS = 6.0  # standard errors that a mean may be off: less than one in a thousand million


def check_family(family: Family, means: Numbers = (0.8, 0.6, 0.5, 0.3), draws: int = 20_000, seed: int = 0) -> None:
    """Raise an AssertionError where a family breaks a promise.

    Its divergence is 0 for equal means, positive and growing otherwise, with the curvature 1 / variance of its own
    samples; it accepts its samples as rewards, and their sums; they have the right mean; no random allocation beats
    that of ``solve``; an experiment finds the best arm; and its JSON form describes it.

    Args:
        family: The family.
        means: Means inside its domain, all different, that an experiment is to tell apart.
        draws: Samples per arm.
        seed: Seed of the samples.

    Example:
        >>> from fairbai import Poisson
        >>> check_family(Poisson())
    """
    checked = family.check_means(means)
    rng = np.random.default_rng(seed)
    samples = family.sample(checked, rng, draws)
    assert samples.shape == (draws, checked.size), f"{family.kind}: samples must have one column per arm"
    values = np.array([[family.statistic(reward) for reward in row] for row in samples.tolist()])
    _check_samples(family, checked, values)
    _check_divergence(family, checked, values.var(axis=0))
    _check_allocation(family, checked, rng)
    _check_experiment(family, checked, samples)
    again = type(family).from_dict(json.loads(json.dumps(family.to_dict())))
    assert again == family, f"{family.kind}: its JSON form is that of another family"


def _check_samples(family: Family, means: Array, values: Array) -> None:
    error = values.std(axis=0) / np.sqrt(len(values))
    off = np.abs(values.mean(axis=0) - means)
    assert np.all(off <= ERRORS * error), f"{family.kind}: samples have the means {values.mean(axis=0)}, not {means}"
    counts = np.full(means.size, float(len(values)))
    family.check_sums(counts, values.sum(axis=0))


def _check_divergence(family: Family, means: Array, variances: Array) -> None:
    for arm, mean in enumerate(means):
        assert family.divergence(mean, mean, arm) == 0.0, f"{family.kind}: d({mean}, {mean}) must be 0"
        for ends in (np.linspace(mean, means.max(), 5), np.linspace(mean, means.min(), 5)):
            found = np.array([family.divergence(mean, end, arm) for end in ends])
            growing = np.all(np.diff(found) >= 0.0) and np.all(found >= 0.0)
            assert growing, f"{family.kind}: d({mean}, ·) must grow away from {mean}, got {found} at {ends}"
        curved = 2.0 * family.divergence(mean, mean * (1.0 + STEP), arm) / (mean * STEP) ** 2
        ratio = curved * variances[arm]
        assert 0.8 < ratio < 1.25, f"{family.kind}: d({mean}, ·) has the curvature {ratio:.2f} / variance there, not 1"


def _check_allocation(family: Family, means: Array, rng: np.random.Generator) -> None:
    """The cost of a pair is a minimum over ties, which a fine grid finds as well."""
    best = solve(Instance(means, family))
    shares = np.vstack([best.weights, rng.dirichlet(np.ones(means.size), 200)])
    costs = np.array([_least_cost(family, means, share) for share in shares])
    assert abs(costs[0] * best.characteristic_time - 1.0) < 1e-3, f"{family.kind}: solve and the divergence disagree"
    assert costs.max() <= costs[0] * (1.0 + 1e-3), f"{family.kind}: random shares are better than those of solve"


def _least_cost(family: Family, means: Array, shares: Array) -> float:
    b = int(np.argmax(means))
    costs = []
    for a in range(means.size):
        if a != b:
            ties = np.linspace(means[a], means[b], 60)
            values = [
                shares[b] * family.divergence(means[b], m, b) + shares[a] * family.divergence(means[a], m, a)
                for m in ties
            ]
            costs.append(min(values))
    return float(min(costs))


def _check_experiment(family: Family, means: Array, samples: Array) -> None:
    identifier = Identifier(means.size, 1e-6, family=family, stopping=Heuristic(), settle=False)
    for row in samples:
        if identifier.stopped:
            break
        arm = identifier.ask()
        identifier.tell(arm, row[arm])
    assert identifier.recommendation == int(np.argmax(means)), f"{family.kind}: an experiment found a wrong arm"
