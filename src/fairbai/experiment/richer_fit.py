"""Whether the interactions that a factorial model lacks would change its answer: then a decision waits.

A test of lack of fit needs many rewards to notice a small interaction, and the answer may be wrong by then. So before
a decision the means are fitted with all interactions of two factors, too. If some arm then looks better than the
answer, the decision waits: until both fits agree, until the test has found a doubt (the answer is not proved then), or
until a quarter of the evidence would be enough. So it never waits for ever, because the evidence grows. A later
decision is proved as one at once would be: the proof holds at all times.
"""

import numpy as np

from fairbai.experiment.experiment import Experiment
from fairbai.experiment.lack_of_fit import MAX_COLUMNS
from fairbai.kernels import state as rows
from fairbai.problems.checks import Array
from fairbai.problems.factors import Factorial

RIDGE = 1.0  # rewards per arm that it counts as to say that there are no interactions
PLENTY = 0.25  # the part of the evidence that is enough if a decision is not to wait any more
ROUNDING = 1e-9  # relative to the largest mean; smaller differences are none, on whichever machine


def preferred(experiment: Experiment, level: float) -> int | None:
    """The arm that looks better than the answer with all interactions.

    It is None if none does, and while the score is below ``level``, so that there is no answer yet, or far above it.
    """
    family = experiment.family
    if not isinstance(family, Factorial) or experiment.unseen:
        return None
    score, _, glr, factor, penalty = experiment.exact_evidence()
    missing = family.missing(MAX_COLUMNS)
    if score < level or PLENTY * factor * glr - penalty >= level or not missing:
        return None
    counts, sums = experiment.state[[rows.OBSERVED, rows.SUM]]
    means = fitted_with(family.coordinates.T, np.hstack(missing), counts, sums)
    stretch, shift = experiment.state[[rows.STRETCH, rows.SHIFT]]
    ahead: Array = means - (stretch * means[experiment.best] + shift)
    ahead[experiment.best] = 0.0
    best = int(ahead.argmax())
    return best if ahead[best] > ROUNDING * float(np.abs(means).max()) else None


def fitted_with(features: Array, more: Array, counts: Array, sums: Array) -> Array:
    """The means of all arms by least squares, with a ridge on the further features so that there is one solution.

    Args:
        features: One row per arm; the rewards determine their parameters.
        more: Further features.
        counts: The rewards of every arm.
        sums: Their sums.
    """
    both = np.hstack([features, more])
    gram = (both * counts[:, None]).T @ both
    ridge = np.repeat([0.0, RIDGE * len(features)], [features.shape[1], more.shape[1]])
    means: Array = both @ np.linalg.solve(gram + np.diag(ridge), both.T @ sums)
    return means
