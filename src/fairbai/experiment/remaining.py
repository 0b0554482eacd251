"""Experiments in which arms were switched off: the others are chosen and compared as if these were all.

The arrays of the whole experiment keep every count. For a choice or a comparison the columns of the remaining arms are
copied to an experiment of that many arms, and what it changes is copied back. Rounds are still counted over all arms:
the floors of the others stay shares of all trials, and no random number is used twice. See docs/operations.md.
"""

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairbai.experiment.experiment import Evidence, Experiment
from fairbai.experiment.standing import Standing, standing_now
from fairbai.kernels import state as rows
from fairbai.kernels.config import CONTROL
from fairbai.kernels.stopping.standing import FIRST_LOOK
from fairbai.problems.checks import Array

OWN = (rows.SPARE, rows.START, rows.NEXT_LOOK, rows.SAVED_GLR, rows.ROUND)  # scalars that the part may change


class Remaining:
    """The arms of an experiment that are not switched off.

    Args:
        whole: The experiment.
        off: The arms that are switched off.

    Attributes:
        kept: The others.
    """

    def __init__(self, whole: Experiment, off: Sequence[int]) -> None:
        self._whole, arms = whole, whole.policy.size
        self._times = spent_on(len(off))
        self.kept = np.array([arm for arm in range(arms) if arm not in off])
        self._place = {int(arm): place for place, arm in enumerate(self.kept)}
        part = self._part = copy.copy(whole)
        part.codes, part.scalars = whole.codes.copy(), whole.scalars.copy()
        part.codes[CONTROL] = self._place.get(int(whole.codes[CONTROL]), -1)
        part.question = replace(whole.question, control=None if part.codes[CONTROL] < 0 else int(part.codes[CONTROL]))
        part.state = np.ascontiguousarray(whole.state[:, self.kept])  # as the kernels are compiled for
        part.resize(self.kept.size)

    def level(self, delta: float) -> float:
        """What the least score must reach: its share of delta is one over ``spent_on``."""
        return self._whole.stopping.level(delta / self._times, self._whole.policy.size)

    def _risk(self, score: float) -> float:
        return min(1.0, self._times * self._whole.stopping.risk(score, self._whole.policy.size))

    # --- copying ------------------------------------------------------------------------------------------------

    def load(self) -> Experiment:
        """The experiment of the remaining arms, as things stand."""
        part, whole = self._part, self._whole
        part.state[:], part.scalars[:] = whole.state[:, self.kept], whole.scalars
        part.scalars[rows.SAVED_NAMED] = self._place.get(int(whole.scalars[rows.SAVED_NAMED]), -1)
        part.recount()
        part.scalars[rows.ROUND] = whole.scalars[rows.ROUND]
        return part

    def _store(self) -> None:
        part, whole = self._part, self._whole
        whole.state[:, self.kept] = part.state
        for scalar in OWN:
            whole.scalars[scalar] = part.scalars[scalar]
        named = int(part.scalars[rows.SAVED_NAMED])
        whole.scalars[rows.SAVED_NAMED] = -1.0 if named < 0 else self.kept[named]

    def spread(self, values: Array) -> Array:
        """One value per remaining arm as one per arm, with 0 for the others."""
        found = np.zeros(self._whole.policy.size)
        found[self.kept] = values
        return found

    # --- the steps ----------------------------------------------------------------------------------------------

    def assign(self, available: Array | None = None) -> int:
        """As ``Experiment.assign``."""
        place = self.load().assign(None if available is None else available[self.kept])
        self._store()
        self._whole.policy[:] = self.spread(self._part.policy)
        return int(self.kept[place])

    def restart_stream(self, stream: int) -> None:
        """As ``Experiment.restart_stream``."""
        self._part.restart_stream(stream)

    def reconsider(self, level: float) -> Evidence:
        """As ``Experiment.reconsider``."""
        found = self.load().reconsider(level)
        self._store()
        return found

    def exact_evidence(self) -> Evidence:
        """As ``Experiment.exact_evidence``."""
        return self.load().exact_evidence()

    @property
    def best(self) -> int:
        """The arm to name."""
        return int(self.kept[self.load().best])

    def standing(self, level: float) -> Standing:
        """As ``standing_now``; the arms that are switched off are excluded."""
        one = standing_now(self.load(), level, self._risk)
        left = None if one.candidates is None else tuple(int(self.kept[place]) for place in one.candidates)
        return replace(one, candidates=left)


def spent_on(off: int) -> int:
    """By what delta is divided once so many arms are off, at least one.

    Decisions after arms are switched off, however many and whatever the reasons, are then wrong with probability at
    most 3/4 delta, and at most 3/2 delta with those before: docs/stopping.md, "Arms that are switched off".
    """
    return 2 * off * (off + 1)


def forget_scores(experiment: Experiment) -> None:
    """Forget how sure arms have been when they were named: that was about other arms, or with other rewards."""
    state, scalars, arms = experiment.state, experiment.scalars, experiment.policy.size
    state[rows.BEST_SCORE] = experiment.stopping.level(1.0, arms)
    state[[rows.SAVED_OBSERVED, rows.SAVED_SUM, rows.SAVED_SQUARES]] = 0.0
    scalars[rows.SAVED_NAMED], scalars[rows.SAVED_GLR] = -1.0, 0.0
    if experiment.keeps_scores:
        scalars[rows.NEXT_LOOK] = FIRST_LOOK * arms
