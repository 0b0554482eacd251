"""What is known of a live experiment, and how to intervene in it."""

import logging
import threading
from typing import Any

import numpy as np

from fairbai.experiment.decision import Decision
from fairbai.experiment.design import Averages, averages
from fairbai.experiment.drawn_trials import DrawnTrials
from fairbai.experiment.procedure import Procedure
from fairbai.identifier import ending, telling
from fairbai.identifier.status import Status
from fairbai.kernels import state as rows
from fairbai.kernels.config import CONTROL
from fairbai.kernels.families import GAUSSIAN_UNKNOWN
from fairbai.problems.checks import Array, whole
from fairbai.problems.labels import some

log = logging.getLogger("fairbai")


class Oversight:
    """The part of an ``Identifier`` for those who watch over an experiment; its traffic asks and tells.

    Args:
        arms: The labels of the arms.
        procedure: The experiment itself, without labels, locks and checks.
    """

    def __init__(self, arms: tuple[Any, ...], procedure: Procedure) -> None:
        self.arms, self.procedure = arms, procedure
        self._experiment = procedure.experiment
        self._index = {label: arm for arm, label in enumerate(arms)}
        self._lock = threading.RLock()

    def _warn_once(self) -> None:
        """Log the first doubt."""
        doubts = self.procedure.doubts
        if doubts.found and not doubts.warned:
            doubts.warned = True
            first = doubts.listed(self.arms)[0]
            log.warning("Doubt after %d trials: %s. The answer is not proved.", first.trial, first.reason)

    def _known(self, label: Any) -> int:
        try:
            return self._index[label]
        except (KeyError, TypeError):
            raise ValueError(f"arm must be one of {some(self.arms)}, got {label!r}") from None

    # --- looking ------------------------------------------------------------------------------------------------

    @property
    def trials(self) -> int:
        """How many trials were assigned, by ``ask`` and in batches."""
        return self._experiment.round

    @property
    def decided(self) -> bool:
        """Whether the answer is found: the GLR has crossed the threshold, and the recommendation is final."""
        return self.procedure.decision is not None

    @property
    def decision(self) -> Decision | None:
        """The answer, and when and on what evidence it was found; None until it is."""
        return self.procedure.decision

    @property
    def stopped(self) -> bool:
        """Whether the answer is found and, with ``settle``, all floors are met; or the experiment ended without one.

        It ends without an answer when ``max_trials`` are assigned, or after ``end``, and no reward is out any more.
        """
        return self.procedure.stopped

    @property
    def can_ask(self) -> bool:
        """Whether ``ask`` gives another trial; if not, rewards may still be out, and ``stopped`` false."""
        return self.procedure.assigns

    @property
    def ended_by(self) -> str | None:
        """Why no further trials are assigned: "decision", "max_trials", or the reason given to ``end``; else None."""
        return self.procedure.ended_by

    @property
    def recommendation(self) -> Any:
        """The label of the best arm so far, final when ``decided``; None before every arm has a reward."""
        with self._lock:
            answer = self.procedure.answer
            return None if answer is None else self.arms[answer]

    @property
    def interior_means(self) -> Array:
        """The means, moved inside the domain of the family where they lie at its edge; 0 for an arm without rewards."""
        with self._lock:
            means: Array = self._experiment.family.in_units(self._experiment.state[rows.INSIDE].copy())
            return means

    @property
    def variances(self) -> Array:
        """The variance of the rewards of every arm, if that is unknown: their mean squared deviation from their mean.

        It is 0 for an arm with fewer than two different rewards. Known variances are returned as they were given; the
        other families have ones.
        """
        with self._lock:
            state = self._experiment.state
            if self._experiment.declared.code == GAUSSIAN_UNKNOWN:
                return np.asarray(state[rows.SQUARES] / np.maximum(state[rows.OBSERVED], 1.0))
            return np.array(state[rows.SCALE])

    @property
    def open_trials(self) -> int:
        """Trials that are assigned and not counted, because a reward is missing: theirs, or that of an earlier one."""
        opened = self.procedure.open_trials
        if isinstance(opened, DrawnTrials):
            return opened.open
        state = self._experiment.state
        return int((state[rows.ASSIGNED] - state[rows.OBSERVED] - state[rows.LOST]).sum())

    @property
    def report_after(self) -> int | None:
        """The age, in trials, at which rewards are counted; None if they are counted when they are told."""
        opened = self.procedure.open_trials
        return None if opened is None or (isinstance(opened, DrawnTrials) and opened.waits) else opened.report_after

    @property
    def switched_off(self) -> tuple[Any, ...]:
        """The labels of the arms that were switched off, in that order."""
        return tuple(self.arms[arm] for arm in self.procedure.off)

    def averages(self) -> Averages:
        """What is known of the average of every arm over the trials so far, whatever the drift; for ``DesignBased``."""
        if self._experiment.guarantees is None:
            raise ValueError(f"averages need the stopping rule design_based, got {self._experiment.stopping.kind}")
        with self._lock:
            one = self._experiment
            return averages(one.state, one.scalars, one.family, self.procedure.delta, int(one.codes[CONTROL]))

    def status(self) -> Status:
        """What is known now."""
        with self._lock:
            return Status.of(self.procedure, self.arms)

    # --- intervening --------------------------------------------------------------------------------------------

    def look(self) -> bool:
        """Decide now if the evidence is enough, whatever ``look_every`` says; returns ``decided``."""
        with self._lock:
            self.procedure.look()
            return self.decided

    def give_up(self, arm: Any, n: int = 1) -> None:
        """Expect no reward of ``n`` pending trials of an arm any more.

        Fairness still counts them as assigned, but the sampling rule no longer plans as if their rewards would come. If
        more rewards of the arm are told later than are still expected, they count, and so many trials are not given up
        after all. What is given up, and when, must not depend on rewards that are not told: see docs/stopping.md.
        """
        n = whole("n", n, 1)
        if isinstance(self.procedure.open_trials, DrawnTrials):
            raise ValueError("design_based counts every trial: give report_after, and as what silence counts")
        if self.procedure.open_trials is not None:
            raise ValueError("with report_after, a trial that stays silent is given up when it is of age")
        with self._lock:
            index = self._known(arm)
            state = self._experiment.state
            pending = int(rows.useful(state, index) - state[rows.OBSERVED, index])
            if n > pending:
                raise ValueError(f"arm {arm!r} has {telling.counted(pending, 'pending trial')}, got {n} to give up")
            self._experiment.give_up(index, n)

    def switch_off(self, arm: Any) -> None:
        """Assign no further trials to an arm that is broken; the answer is then the best of the others.

        The others keep their floors, which are shares of all trials; the floor of this one ends. Its rewards stay in
        the status, and rewards of its pending trials are still counted. A decision after it is wrong about the others
        with probability at most delta, however many arms are switched off, and whatever the reasons: with m arms off,
        the evidence has to reach what it would for delta / (2 m (m + 1)). Counting also decisions that could have been
        made before, one of them is wrong with probability at most 1.5 delta. See docs/stopping.md.
        """
        with self._lock:
            ending.check_switch(self.procedure, self.arms, self._known(arm))
            self.procedure.switch_off(self._known(arm))

    def end(self, reason: str = "ended") -> None:
        """Assign no further trials, for a caller who has a deadline; ``ended_by`` is then ``reason``.

        It is as if ``max_trials`` were reached: rewards that are out are still counted and may decide, and when none is
        out any more, the experiment has stopped. Nothing changes if no trial is left anyway.

        Example:
            >>> import fairbai as fb
            >>> ident = fb.Identifier(["a", "b"], delta=0.05, family=fb.Gaussian(1.0))
            >>> ident.tell(ident.ask(2), [1.0, 0.5])
            >>> ident.end("deadline")
            >>> ident.stopped, ident.decided, ident.ended_by, ident.recommendation
            (True, False, 'deadline', 'a')
        """
        checked = ending.checked_reason(reason)
        with self._lock:
            self.procedure.end(checked)

    def close_trials(self) -> None:
        """Wait for no reward any more, when no trial is left to assign; the experiment has then stopped.

        With ``report_after`` the trials that are still open are counted, in the order of assignment, as if they had
        come of age, which they no longer do by themselves: call it when the time is over in which their rewards could
        come, and not before. Without it, pending trials are given up. With ``DesignBased`` and no ``report_after`` the
        trials from the first without a reward on are not counted. Raises RuntimeError while there are trials to assign.
        """
        with self._lock:
            if self.procedure.assigns:
                raise RuntimeError("trials are still assigned: they can be closed after end(), max_trials or the stop")
            self.procedure.close_trials()
            self._warn_once()
