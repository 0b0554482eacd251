"""Sampling rules that are written in Python: what they see, and the check of what they choose."""

from typing import TYPE_CHECKING

from fairbai.kernels import state as rows
from fairbai.kernels.config import SEED
from fairbai.kernels.streams.philox import two_uniforms
from fairbai.problems.checks import frozen, is_whole
from fairbai.sampling.rule import Situation

if TYPE_CHECKING:
    from fairbai.experiment.experiment import Experiment


def python_choice(one: "Experiment") -> int:
    """The arm that the rule of an experiment chooses, checked before anything changes."""
    uniform = float(two_uniforms(int(one.codes[SEED]), one.run, one.round)[0])
    assigned, observed, means, floors = one.state[[rows.ASSIGNED, rows.OBSERVED, rows.MEAN, rows.FLOOR]]
    means = one.family.in_units(means)
    situation = Situation(frozen(assigned), frozen(observed), frozen(means), frozen(floors), uniform)
    arm = one.sampling.choose(situation)
    arms = one.policy.size
    if not is_whole(arm, 0, arms - 1):
        raise ValueError(f"{one.sampling.kind} must choose an arm from 0 to {arms - 1}, got {arm!r}")
    return int(arm)
