"""The sampling rules as integer codes, and what is true of each."""

from fairbai.kernels.jit import kernel

FAIR_SAMPLED, FAIR_CUMULATIVE, DIRECT, CUMULATIVE, UNIFORM_FAIR, FAIR_TOP_TWO, TOP_TWO, LUCB = range(8)
PYTHON, POSTERIOR_FAIR = range(8, 10)
FROM_POLICY, FROM_EACH_ARM = range(2)


@kernel
def solves(rule):
    """Whether a rule aims at the optimal shares, which are then solved for after every reward."""
    return rule in (FAIR_SAMPLED, FAIR_CUMULATIVE, DIRECT, CUMULATIVE)


@kernel
def is_fair(rule):
    """Whether the optimal shares that a rule aims at are those that meet the floors and limits."""
    return rule in (FAIR_SAMPLED, FAIR_CUMULATIVE)


@kernel
def has_policy(rule):
    """Whether a rule has probabilities, or shares to aim at, in every round."""
    return draws(rule) or tracks(rule)


@kernel
def draws(rule):
    """Whether a rule draws its arms at random from its policy."""
    return rule in (FAIR_SAMPLED, UNIFORM_FAIR, POSTERIOR_FAIR)


@kernel
def tracks(rule):
    """Whether a rule follows the sum of the policies so far."""
    return rule in (FAIR_CUMULATIVE, CUMULATIVE)
