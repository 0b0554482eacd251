"""The sampling rules as integer codes, and what is true of each."""

from fairbai.kernels.jit import kernel

FAIR_SAMPLED, FAIR_CUMULATIVE, DIRECT, CUMULATIVE, UNIFORM_FAIR, FAIR_TOP_TWO, TOP_TWO, LUCB = range(8)
PYTHON, POSTERIOR_FAIR = range(8, 10)
EARNING = 100  # from here on, the rules that ``kernels.sampling.earning`` chooses for
FAIR_THOMPSON, FAIR_UCB, STRICT_QUOTA, STOCHASTIC_QUOTA, VIRTUAL_QUEUES = range(EARNING, EARNING + 5)
CONSTRAINED_EPSILON_GREEDY, CONSTRAINED_LP, MERITOCRATIC_CHAIN = range(EARNING + 5, EARNING + 8)
PROPORTIONAL_CATCH_UP, EXPOSURE_FAIR = range(EARNING + 8, EARNING + 10)
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
    if earns(rule):
        return rule not in (FAIR_UCB, STRICT_QUOTA, VIRTUAL_QUEUES, PROPORTIONAL_CATCH_UP)
    return rule in (FAIR_SAMPLED, UNIFORM_FAIR, POSTERIOR_FAIR)


@kernel
def earns(rule):
    """Whether a rule is of those that earn while they learn."""
    return rule >= EARNING


@kernel
def tracks(rule):
    """Whether a rule follows the sum of the policies so far."""
    return rule in (FAIR_CUMULATIVE, CUMULATIVE)
