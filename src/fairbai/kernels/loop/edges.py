"""Edge nodes: a policy for the trials to come, batches of sufficient statistics, and experiments that run on both.

The server of an experiment publishes shares of the arms. Each of M nodes fetches them, makes B trials by itself, and
reports the number and the sum of the rewards of every arm; see docs/edge.md. In the simulation the nodes are equally
fast and evenly staggered, and a node hears of the stop when it reports.
"""

import math

from fairbai.kernels.jit import borrowed, entry, kernel
from fairbai.kernels.loop.runs import give_up, note
from fairbai.kernels.loop.steps import FAMILY, ORIGIN, RULE, RUN, SEED, assign, reconsider, recount
from fairbai.kernels.sampling.rules import (
    CUMULATIVE,
    FAIR_CUMULATIVE,
    FAIR_SAMPLED,
    FROM_EACH_ARM,
    UNIFORM_FAIR,
    draw_arm,
)
from fairbai.kernels.state import ASSIGNED, OBSERVED, ROUND, SEEN, SUM, TARGET
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.kernels.streams.rewards import reward

MOST_STEPS = 1000  # choices that a policy is made of, so that it is cheap however many trials it is for

RANDOM, QUOTA = range(2)
"""How a node follows a policy: it draws every arm, or gives every arm its quota of the batch. Where these are not whole
trials, it takes the arm that is furthest behind the policies so far."""

PHASES = 2**62  # the random numbers that nodes begin with: far from those of the trials

POLICY, CARRY, PULLS, SUMS = range(4)
"""Layers of a fleet, each with a row a node: the policy that it follows, what its trials lack of all its policies so
far, and the batch that it is to report."""


@kernel
def _tracks(rule):
    """Whether a rule follows the sum of the shares that it aimed at."""
    return rule in (FAIR_CUMULATIVE, CUMULATIVE)


@entry
def _aim_for(codes, reals, state, numbers, policy, trials):
    """Add what a rule that tracks would have aimed at in ``trials`` trials that something else makes."""
    if _tracks(codes[RULE]) and trials > 0.0:
        arm = assign(codes, reals, state, numbers, policy)
        state[ASSIGNED, arm] -= 1.0
        numbers[ROUND] -= 1.0
        for a in range(policy.size):
            state[TARGET, a] += (trials - 1.0) * policy[a]


@entry
def _look_ahead(codes, reals, state, numbers, policy, trials, shares):
    """The shares of the next ``trials`` choices of the rule if no reward comes; they are counted as assigned.

    A rule that draws its arms has a policy already. Of the others there are at most about ``MOST_STEPS`` choices, each
    for a block of trials.
    """
    drawn = codes[RULE] in (FAIR_SAMPLED, UNIFORM_FAIR)
    whole = math.ceil(trials / MOST_STEPS)
    shares[:] = 0.0
    left = float(trials)
    while left > 0.0:
        begins = codes[ORIGIN] == FROM_EACH_ARM and numbers[ROUND] < shares.size
        block = 1.0 if begins else min(float(whole), left)
        arm = assign(codes, reals, state, numbers, policy)
        if drawn and not begins:
            for a in range(shares.size):
                shares[a] += left * policy[a]
            break
        shares[arm] += block
        left -= block
        state[ASSIGNED, arm] += block - 1.0
        numbers[ROUND] += block - 1.0
        if _tracks(codes[RULE]):
            for a in range(shares.size):
                state[TARGET, a] += (block - 1.0) * policy[a]
    for a in range(shares.size):
        shares[a] /= trials


@kernel
def _count(codes, reals, state, numbers, policy, pulls, sums):
    """Count a batch: trials that were assigned elsewhere, with the sums of their rewards."""
    total = 0.0
    for a in range(pulls.size):
        total += pulls[a]
    _aim_for(codes, reals, state, numbers, policy, total)
    for a in range(pulls.size):
        state[ASSIGNED, a] += pulls[a]
        state[OBSERVED, a] += pulls[a]
        state[SUM, a] += sums[a]
    recount(codes, reals, state, numbers)


@entry
def publish(codes, reals, state, numbers, policy, pending, trials, shares):
    """Write the policy for the next ``trials`` trials into ``shares``; ``state`` and ``numbers`` are copies to spend.

    ``pending`` are the trials of every arm that are expected of batches on their way.
    """
    on_their_way = 0.0
    for a in range(pending.size):
        on_their_way += pending[a]
    _aim_for(codes, reals, state, numbers, policy, on_their_way)
    for a in range(pending.size):
        state[ASSIGNED, a] += pending[a]
    numbers[ROUND] += on_their_way
    _look_ahead(codes, reals, state, numbers, policy, trials, shares)


@entry
def count_batch(codes, reals, state, numbers, policy, pulls, sums):
    """Count a batch; the evidence is then to be reconsidered."""
    _count(codes, reals, state, numbers, policy, pulls, sums)


@kernel
def _is_whole(policy, size):
    """Whether a policy is whole trials of a batch."""
    for a in range(policy.size):
        quota = size * policy[a]
        if abs(quota - math.floor(quota + 0.5)) > 1e-9:
            return False
    return True


@kernel
def _furthest_behind(carry, policy):
    """The arm that lacks most of all policies so far, this one included, which is then settled with it."""
    furthest = 0
    for a in range(policy.size):
        carry[a] += policy[a]
        if carry[a] > carry[furthest]:
            furthest = a
    carry[furthest] -= 1.0
    return furthest


@kernel
def _shift_phases(codes, fleet):
    """Let every node begin at another point of its cycle; else nodes with one policy would all round the same way."""
    arms = fleet.shape[2]
    for node in range(fleet.shape[1]):
        carry = fleet[CARRY, node]
        for a in range(arms):
            carry[a], _ = two_uniforms(codes[SEED], codes[RUN], PHASES + node * arms + a)


@kernel
def _make_batch(codes, truth, draws, fleet, node, number, size):
    """The trials of a node until its next report, the first of which has this number."""
    policy, carry = fleet[POLICY, node], fleet[CARRY, node]
    pulls, sums = fleet[PULLS, node], fleet[SUMS, node]
    pulls[:] = 0.0
    sums[:] = 0.0
    arm, whole = 0, _is_whole(policy, size)
    for trial in range(number, number + size):
        for_arm, for_reward = two_uniforms(codes[SEED], codes[RUN], trial)
        if draws == RANDOM:
            arm = draw_arm(policy, for_arm)
        elif not whole:
            arm = _furthest_behind(carry, policy)
        else:  # in any order: nobody looks before the batch is done
            while pulls[arm] > size * policy[arm] - 0.5:
                arm += 1
        pulls[arm] += 1.0
        sums[arm] += reward(codes[FAMILY], truth, arm, for_reward)


@kernel
def _expect(codes, reals, plan, plan_numbers, policy, fleet, sizes):
    """Add what the batches on their way are expected to bring."""
    total = sizes.sum()
    _aim_for(codes, reals, plan, plan_numbers, policy, total)
    plan_numbers[ROUND] += total
    for node in range(sizes.size):
        for a in range(policy.size):
            plan[ASSIGNED, a] += sizes[node] * fleet[POLICY, node, a]


@kernel
def _all_made(state, numbers, fleet, sizes, made, made_numbers):
    """The experiment when the batches on their way have been made, though not counted."""
    made[:], made_numbers[:] = state, numbers
    made_numbers[ROUND] += sizes.sum()
    for node in range(sizes.size):
        if sizes[node] > 0.0:
            for a in range(made.shape[1]):
                made[ASSIGNED, a] += fleet[PULLS, node, a]


@entry
def simulate_edges(experiment, before, truth, levels, settles, longest, first, edge, fleet, sizes, plan, record):
    """Runs ``first``, ``first`` + 1, ... into the rows of ``record``.

    Args:
        experiment: The arrays of ``kernels.experiment``: codes, reals, state, numbers, policy and room.
        before: The state and the numbers of an experiment that has not begun.
        truth: Of the rewards, as in ``kernels.rewards``.
        levels: What the evidence must reach, one for each delta, rising.
        settles: How the floors are met before the stop, as in ``kernels.settling``.
        longest: The number of counted trials after which a run is given up.
        first: The number of the first run.
        edge: The trials of a batch, how nodes follow a policy, and whether the server knows what is on its way.
        fleet: Room for the nodes.
        sizes: Room for the sizes of the batches on their way.
        plan: Room for a state, for numbers, and an empty array.
        record: What is kept, as in ``kernels.simulation``; decisions are in counted trials, stops in all trials.
    """
    codes, reals, state = borrowed(experiment[0]), borrowed(experiment[1]), borrowed(experiment[2])
    numbers, policy, room = borrowed(experiment[3]), borrowed(experiment[4]), borrowed(experiment[5])
    truth, levels, fleet, sizes = borrowed(truth), borrowed(levels), borrowed(fleet), borrowed(sizes)
    plan, plan_numbers, no_grid = borrowed(plan[0]), borrowed(plan[1]), plan[2]
    batch, draws, ledger = edge
    nodes = sizes.size
    for row in range(record.decided.shape[0]):
        state[:], numbers[:] = before[0], before[1]
        fleet[:] = 0.0
        sizes[:] = 0.0
        codes[RUN] = first + row
        _shift_phases(codes, fleet)
        column, made, report = 0, 0, 0
        while True:
            node = report % nodes
            if report >= nodes:  # else it fetches its first policy
                _count(codes, reals, state, numbers, policy, fleet[PULLS, node], fleet[SUMS, node])
                sizes[node] = 0.0
                score, _, glr, _, _ = reconsider(codes, reals, state, numbers, room, levels[column])
                if score >= levels[column]:
                    _all_made(state, numbers, fleet, sizes, plan, plan_numbers)
                    where = (plan, plan_numbers, score, glr, record, row, column)
                    after = note(codes, reals, first + row, truth, levels, settles, no_grid, *where)
                    record.decided[row, column:after] = int(numbers[SEEN])
                    column = after
                if column == levels.size or numbers[SEEN] >= longest:
                    break
            size = batch if report >= nodes else (batch * (node + 1) + nodes - 1) // nodes  # staggered from the start
            plan[:], plan_numbers[:] = state, numbers
            if ledger:
                _expect(codes, reals, plan, plan_numbers, policy, fleet, sizes)
            horizon = size if ledger else batch * nodes
            _look_ahead(codes, reals, plan, plan_numbers, policy, horizon, fleet[POLICY, node])
            _make_batch(codes, truth, draws, fleet, node, made, size)
            sizes[node] = size
            made += size
            report += 1
        _all_made(state, numbers, fleet, sizes, plan, plan_numbers)
        give_up(codes, reals, first + row, truth, levels, plan, plan_numbers, record, row, column)
        record.decided[row, column:] = int(numbers[SEEN])
