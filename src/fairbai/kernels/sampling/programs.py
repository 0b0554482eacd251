"""The best policy within floors, ceilings and groups, for given values of the arms: a linear program.

Groups do not overlap, so that it is solved exactly by filling up: every arm to its floor, every group to its floor by
its best arms, and then the best arms with room until all is given out.
"""

from fairbai.kernels.jit import kernel, subroutine
from fairbai.kernels.state import (
    CEILING,
    CENTRE,
    FLOOR,
    GROUP,
    GROUP_CEILING,
    GROUP_FLOOR,
    ROUND,
    SPARE,
    UNSEEN,
    has_limits,
)

TINY = 1e-15  # a share that is no more than rounding


@kernel
def _room(state, policy, totals, arm, group):
    """What an arm can still get: if a group is named, by the floor of that group, else by all ceilings."""
    room, own = state[CEILING, arm] - policy[arm], int(state[GROUP, arm])
    if group >= 0:
        return min(room, state[GROUP_FLOOR, group] - totals[group]) if own == group else 0.0
    return room if own < 0 else min(room, state[GROUP_CEILING, own] - totals[own])


@kernel
def _fill_up(state, values, policy, totals, rest, group):
    """Give ``rest`` to the arms of the largest values that have room; returns what is left of it."""
    for _ in range(policy.size):
        best = -1
        for a in range(policy.size):
            if _room(state, policy, totals, a, group) > TINY and (best < 0 or values[a] > values[best]):
                best = a
        if best < 0 or rest <= TINY:
            break
        given, own = min(_room(state, policy, totals, best, group), rest), int(state[GROUP, best])
        policy[best] += given
        rest -= given
        if own >= 0:
            totals[own] += given
    return rest


@subroutine
def fill_best_policy(state, scalars, values, policy, totals):
    """Write the policy with the largest mean of ``values``; ``totals`` is an array to work in."""
    if not has_limits(scalars):
        best = 0
        for a in range(policy.size):
            policy[a] = state[FLOOR, a]
            best = a if values[a] > values[best] else best
        policy[best] += scalars[SPARE]
        return
    totals[:] = 0.0
    rest = 1.0
    for a in range(policy.size):
        policy[a] = state[FLOOR, a]
        rest -= policy[a]
        if state[GROUP, a] >= 0.0:
            totals[int(state[GROUP, a])] += policy[a]
    for group in range(policy.size):
        if state[GROUP_FLOOR, group] > totals[group]:
            rest = _fill_up(state, values, policy, totals, rest, group)
    _fill_up(state, values, policy, totals, rest, -1)


@kernel
def explore_within(state, scalars, mix, policy):
    """Mix the policy with one in the interior: the centre of the limits, or the floors and equal parts of the rest."""
    rest, limited = scalars[SPARE] / policy.size, has_limits(scalars)
    for a in range(policy.size):
        inner = state[CENTRE, a] if limited else state[FLOOR, a] + rest
        policy[a] = inner if mix == 1.0 else (1.0 - mix) * policy[a] + mix * inner


@kernel
def part_of_exploration(config, scalars):
    """min(1, c / t) of epsilon-greedy; all, while arms are unseen."""
    return 1.0 if scalars[UNSEEN] > 0.0 else min(1.0, config.parameter / (scalars[ROUND] + 1.0))
