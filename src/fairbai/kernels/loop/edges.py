"""Edge nodes: a policy for the trials to come, batches of sufficient statistics, and experiments that run on both.

The server of an experiment publishes shares of the arms. Each of M nodes fetches them, makes B trials by itself, and
reports the number and the sum of the rewards of every arm, and the sum of their squares if variances are unknown; see
docs/edge.md. In the simulation the nodes are equally fast and evenly staggered, and a node hears of the stop when it
reports.
"""

import math
from collections import namedtuple

import numpy as np

from fairbai.kernels.config import FAMILY, ORIGIN, RULE, RUN, SEED, configure
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.kernels.jit import entry, kernel, subroutine
from fairbai.kernels.loop.records import give_up, note
from fairbai.kernels.loop.steps import assign, reconsider, recount
from fairbai.kernels.sampling.policies import draw_arm
from fairbai.kernels.sampling.queues import serve_batch
from fairbai.kernels.sampling.rules import FROM_EACH_ARM, VIRTUAL_QUEUES, draws, tracks
from fairbai.kernels.state import ASSIGNED, OBSERVED, ROUND, SEEN, SUM, TARGET, add_squares
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.kernels.streams.rewards import reward

MAX_STEPS = 1000  # choices that a policy is made of, so that it is cheap however many trials it is for

RANDOM, QUOTA = range(2)
"""How a node follows a policy: it draws every arm, or gives every arm its quota of the batch. Where these are not whole
trials, it takes the arm that is furthest behind the policies so far."""

PHASES = 2**62  # the random scalars that nodes begin with: far from those of the trials

POLICY, CARRY, PULLS, SUMS, SQUARES = range(5)
"""Layers of the nodes of a fleet, each with one row per node: the policy that it follows, what its trials lack of all
its policies so far, and the batch that it is to report."""

Fleet = namedtuple("Fleet", "batch follows ledger nodes sizes plan plan_scalars")
"""The trials of a batch, how nodes follow a policy, and whether the server knows what is on its way; then arrays to
work in: the layers of the nodes, the sizes of the batches on their way, and a state and scalars to plan with."""


@subroutine
def _aim_for(codes, params, state, scalars, policy, workspace, trials):
    """Add what a rule that tracks would have aimed at in ``trials`` trials that something else makes."""
    if tracks(codes[RULE]) and trials > 0.0:
        arm = assign(codes, params, state, scalars, policy, workspace)
        state[ASSIGNED, arm] -= 1.0
        scalars[ROUND] -= 1.0
        for a in range(policy.size):
            state[TARGET, a] += (trials - 1.0) * policy[a]


@subroutine
def _look_ahead(codes, params, state, scalars, policy, workspace, trials, shares):
    """The shares of the next ``trials`` choices of the rule if no reward comes; they are counted as assigned.

    A rule that draws its arms has a policy already. Of the others there are at most about ``MAX_STEPS`` choices, each
    for a block of trials.
    """
    drawn = draws(codes[RULE])
    whole = math.ceil(trials / MAX_STEPS)
    shares[:] = 0.0
    left = float(trials)
    while left > 0.0:
        begins = codes[ORIGIN] == FROM_EACH_ARM and scalars[ROUND] < shares.size
        block = 1.0 if begins else min(float(whole), left)
        arm = assign(codes, params, state, scalars, policy, workspace)
        if drawn and not begins:
            for a in range(shares.size):
                shares[a] += left * policy[a]
            break
        shares[arm] += block
        left -= block
        state[ASSIGNED, arm] += block - 1.0
        scalars[ROUND] += block - 1.0
        if tracks(codes[RULE]):
            for a in range(shares.size):
                state[TARGET, a] += (block - 1.0) * policy[a]
    for a in range(shares.size):
        shares[a] /= trials


@entry
def count_batch(codes, params, state, scalars, policy, workspace, pulls, sums, squares):
    """Count a batch: trials that were assigned elsewhere, with the sums of their rewards and of the squares of these.

    The evidence is then to be reconsidered.
    """
    total = 0.0
    for a in range(pulls.size):
        total += pulls[a]
    _aim_for(codes, params, state, scalars, policy, workspace, total)
    if codes[RULE] == VIRTUAL_QUEUES:
        serve_batch(state, total, pulls)
    for a in range(pulls.size):
        add_squares(codes[FAMILY], state, a, pulls[a], sums[a], squares[a])
        state[ASSIGNED, a] += pulls[a]
        state[OBSERVED, a] += pulls[a]
        state[SUM, a] += sums[a]
    recount(codes, params, state, scalars)


@entry
def publish(codes, params, state, scalars, policy, workspace, pending, trials):
    """The policy for the next ``trials`` trials; ``state`` and ``scalars`` are copies to spend.

    ``pending`` are the trials of every arm that are expected of batches on their way.
    """
    on_their_way = 0.0
    for a in range(pending.size):
        on_their_way += pending[a]
    _aim_for(codes, params, state, scalars, policy, workspace, on_their_way)
    for a in range(pending.size):
        state[ASSIGNED, a] += pending[a]
    scalars[ROUND] += on_their_way
    shares = np.empty(policy.size)
    _look_ahead(codes, params, state, scalars, policy, workspace, trials, shares)
    return shares


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
def _shift_phases(codes, nodes):
    """Let every node begin at another point of its cycle; else nodes with one policy would all round the same way."""
    arms = nodes.shape[2]
    for node in range(nodes.shape[1]):
        carry = nodes[CARRY, node]
        for a in range(arms):
            carry[a], _ = two_uniforms(codes[SEED], codes[RUN], PHASES + node * arms + a)


@kernel
def _make_batch(codes, truth, follows, batch, number, size):
    """The trials of a node until its next report, the first of which has this number.

    ``batch`` are the layers of that node.
    """
    policy, carry, pulls, sums, squares = batch[POLICY], batch[CARRY], batch[PULLS], batch[SUMS], batch[SQUARES]
    pulls[:] = 0.0
    sums[:] = 0.0
    squares[:] = 0.0
    arm, whole = 0, _is_whole(policy, size)
    for trial in range(number, number + size):
        for_arm, for_reward = two_uniforms(codes[SEED], codes[RUN], trial)
        if follows == RANDOM:
            arm = draw_arm(policy, for_arm)
        elif not whole:
            arm = _furthest_behind(carry, policy)
        else:  # in any order: nobody looks before the batch is done
            while pulls[arm] > size * policy[arm] - 0.5:
                arm += 1
        pulls[arm] += 1.0
        earned = reward(codes[FAMILY], truth, arm, for_reward)
        sums[arm] += earned
        squares[arm] += earned * earned


@kernel
def _expect(codes, params, policy, workspace, fleet):
    """Add what the batches on their way are expected to bring to the plan."""
    plan, sizes = fleet.plan, fleet.sizes
    total = sizes.sum()
    _aim_for(codes, params, plan, fleet.plan_scalars, policy, workspace, total)
    fleet.plan_scalars[ROUND] += total
    for node in range(sizes.size):
        for a in range(policy.size):
            plan[ASSIGNED, a] += sizes[node] * fleet.nodes[POLICY, node, a]


@kernel
def _plan_all_made(state, scalars, fleet):
    """Make the plan the experiment when the batches on their way have been made, though not counted."""
    plan, sizes = fleet.plan, fleet.sizes
    plan[:], fleet.plan_scalars[:] = state, scalars
    fleet.plan_scalars[ROUND] += sizes.sum()
    for node in range(sizes.size):
        if sizes[node] > 0.0:
            for a in range(plan.shape[1]):
                plan[ASSIGNED, a] += fleet.nodes[PULLS, node, a]


@kernel
def _send_policy(experiment, fleet, node, size):
    """Write the policy that a node is to follow for ``size`` trials."""
    codes, params, state, scalars, policy, workspace = experiment
    fleet.plan[:], fleet.plan_scalars[:] = state, scalars
    if fleet.ledger:
        _expect(codes, params, policy, workspace, fleet)
    horizon = size if fleet.ledger else fleet.batch * fleet.sizes.size
    shares = fleet.nodes[POLICY, node]
    _look_ahead(codes, params, fleet.plan, fleet.plan_scalars, policy, workspace, horizon, shares)


@kernel
def _count_report(experiment, task, fleet, node, record, place):
    """Count the batch of a node, and note what is decided; returns the first delta without an answer."""
    codes, params, state, scalars, policy, workspace = experiment
    row, column = place
    layer = SQUARES if codes[FAMILY] == GAUSSIAN_UNKNOWN else SUMS  # the most that rewards in [0, 1] can have
    nodes = fleet.nodes
    pulls, sums, squares = nodes[PULLS, node], nodes[SUMS, node], nodes[layer, node]
    count_batch(codes, params, state, scalars, policy, workspace, pulls, sums, squares)
    fleet.sizes[node] = 0.0
    score, _, glr, _, _ = reconsider(codes, params, state, scalars, workspace, task.levels[column])
    if score >= task.levels[column] and scalars[SEEN] >= task.least:
        _plan_all_made(state, scalars, fleet)
        config = configure(codes, params)
        after = note(config, task, fleet.plan, fleet.plan_scalars, (score, glr), record, place)
        record.decided[row, column:after] = int(scalars[SEEN])
        column = after
    return column


@entry
def simulate_edges(experiment, before, task, fleet, first, record):
    """Runs ``first``, ``first`` + 1, ... into the rows of ``record``.

    Args:
        experiment: Its arrays: codes, params, state, scalars, policy and workspace.
        before: The state and the scalars of an experiment that has not begun.
        task: What to find out; runs are given up after so many counted trials, and the grid is empty.
        fleet: The nodes.
        first: The number of the first run.
        record: What is kept; decisions are in counted trials, stops in all trials.
    """
    codes, params, state, scalars, _, _ = experiment
    sizes, batch = fleet.sizes, fleet.batch
    for row in range(record.decided.shape[0]):
        state[:], scalars[:] = before[0], before[1]
        fleet.nodes[:] = 0.0
        sizes[:] = 0.0
        codes[RUN] = first + row
        _shift_phases(codes, fleet.nodes)
        column, made, report = 0, 0, 0
        while True:
            node = report % sizes.size
            if report >= sizes.size:  # else it fetches its first policy
                column = _count_report(experiment, task, fleet, node, record, (row, column))
                if column == task.levels.size or scalars[SEEN] >= task.longest:
                    break
                size = batch
            else:
                size = (batch * (node + 1) + sizes.size - 1) // sizes.size  # staggered from the start
            _send_policy(experiment, fleet, node, size)
            _make_batch(codes, task.truth, fleet.follows, fleet.nodes[:, node], made, size)
            sizes[node] = size
            made += size
            report += 1
        _plan_all_made(state, scalars, fleet)
        give_up(configure(codes, params), task, fleet.plan, fleet.plan_scalars, record, (row, column))
        record.decided[row, column:] = int(scalars[SEEN])
