"""What a log says about the best arm if every arm keeps its mean: the evidence as it grew, and how sure it makes us.

The parameters of a stopping rule must be fixed before the experiment. A log comes after it, so that nothing here is
tuned to the log: the evidence is averaged over three sizes of experiment, from about a hundred to a million trials per
arm. The average of e-values is an e-value, so the proof holds whoever decided when the log ends, and why.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairbai.analysis.columns import Codes
from fairbai.compiling.entry import patiently
from fairbai.experiment.experiment import Experiment
from fairbai.kernels import state as rows
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.kernels.loop import replay as kernels
from fairbai.problems.checks import Array
from fairbai.problems.families import Family, Gaussian
from fairbai.problems.question import Question
from fairbai.stopping import Mixture
from fairbai.stopping.intervals import intervals

KAPPAS = (10.0, 500.0, 25_000.0)  # docs/analysis.md compares them with rules that are tuned to the experiment
MANY = 2_000  # rows from which on it is worth waiting for the compiled kernels


def rules_for(planned: float | None, delta: float, arms: int) -> tuple[Mixture, ...]:
    """The stopping rules whose evidence is averaged: one if the number of trials was planned, else several."""
    if planned is not None:
        return (Mixture.for_trials(planned, delta, arms),)
    return tuple(Mixture(kappa) for kappa in KAPPAS)


@dataclass(frozen=True)
class Look:
    """How things stood after some trials: the arm to name, by its number, and the evidence for it, in nats."""

    trial: int
    leader: int
    score: float


@dataclass(frozen=True)
class Reached:
    """When the evidence first sufficed, if somebody looked after every trial: the trial, from 1, and the arm named."""

    trial: int
    arm: int


class Replay:
    """The evidence of a log, counted row by row.

    Args:
        arms: Their number.
        family: Of the rewards.
        rules: Stopping rules of one kind, over which the evidence is averaged.
        delta: The error probability.
        question: What the answer must be.
    """

    def __init__(
        self, arms: int, family: Family, rules: Sequence[Mixture], delta: float, question: Question | None = None
    ) -> None:
        made = [Experiment(arms, family, stopping=rule, question=question) for rule in rules]
        self.experiment, self.rules, self.delta = made[0], tuple(rules), delta
        self.family = family
        self.level = rules[0].level(delta, arms)
        self.looks: list[Look] = []
        self.reached: Reached | None = None
        self.ordered = True
        self._params = np.array([one.params for one in made])

    @property
    def _arrays(self) -> tuple[Any, ...]:
        return self.experiment.codes, self._params, self.experiment.state, self.experiment.scalars

    def count_rows(self, arms: Codes, rewards: Array, looks: Sequence[int]) -> None:
        """Count rewards, given as the family adds them up, and look after the trials in ``looks``, which rise."""
        rewards = self.experiment.family.turned(rewards)
        replay = patiently(kernels.replay_rewards) if len(arms) > MANY else kernels.replay_rewards
        start = 0
        for end in looks:
            level = self.level if self.reached is None else math.inf
            row, arm = replay(*self._arrays, arms[start:end], rewards[start:end], level)
            if row >= 0:
                self.reached = Reached(start + int(row) + 1, int(arm))
            start = end
            self.look()

    def count_totals(self, trials: Array, sums: Array, squares: Array | None) -> None:
        """Count all trials of every arm at once, given as the family adds them up, and look."""
        state, turned, self.ordered = self.experiment.state, self.experiment.family, False
        state[rows.ASSIGNED] = state[rows.OBSERVED] = trials
        state[rows.SUM] = turned.turned(sums, trials)
        squares = turned.turned_squares(sums if squares is None else squares, sums, trials)
        if turned.code == GAUSSIAN_UNKNOWN:  # which keeps squared distances from the mean
            within = squares - state[rows.SUM] ** 2 / np.maximum(1.0, trials)
            squares = np.maximum(within, rows.ROUNDING * squares)  # what is lost to rounding is not evidence
        state[rows.SQUARES] = squares
        self.experiment.recount()
        self.look()

    def look(self) -> None:
        """Note how things stand now."""
        named, score = kernels.averaged_evidence(*self._arrays)
        look = Look(self.experiment.round, int(named), float(score))
        self.looks.append(look)
        if self.ordered and self.reached is None and look.score >= self.level:
            self.reached = Reached(look.trial, look.leader)

    @property
    def last(self) -> Look:
        """How things stand at the end."""
        return self.looks[-1]

    @property
    def named(self) -> int:
        """The arm for which the evidence first sufficed; as long as it did for none, the leader."""
        return self.last.leader if self.reached is None else self.reached.arm

    @property
    def confidence(self) -> float:
        """How sure it is that the arm ``named`` is the best: by the best of all looks at which it was the leader."""
        best = max((look.score for look in self.looks if look.leader == self.named), default=self.level)
        sure = 1.0 - self.rules[0].risk(best, len(self.experiment.policy))
        return sure if self.reached is None else max(sure, 1.0 - self.delta)

    def candidates(self) -> tuple[int, ...]:
        """The arms that no other arm excludes: the best is among them with probability 1 - delta, at all times."""
        excluded = np.zeros(len(self.experiment.policy))
        kernels.exclude(*self._arrays, self.level, excluded)
        return tuple(int(arm) for arm in np.flatnonzero(excluded == 0.0))

    def intervals(self) -> Array:
        """An interval for the mean of every arm, one row per arm; all of them hold at all times.

        Those of Gaussian arms depend on the rule, so each rule gets its share of delta, and an arm the intersection.
        """
        family, state = self.family, self.experiment.state
        counts, means = state[rows.OBSERVED], self.experiment.family.in_units(state[rows.MEAN])
        variances = state[rows.SQUARES] / np.maximum(1.0, counts)  # which count if they are unknown
        several = self.rules if isinstance(family, Gaussian) else self.rules[:1]
        part = self.delta / len(several)
        found = [intervals(family, counts, means, part, rule, variances) for rule in several]
        ends = np.array(found)
        return np.stack([ends[:, :, 0].max(axis=0), ends[:, :, 1].min(axis=0)], axis=1)
