"""The ask/tell interface of an experiment."""

import logging
import math
import threading
from collections.abc import Hashable, Sequence
from typing import Any, Self

import numpy as np

from fairbai.experiment.decision import Decision
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.procedure import Procedure
from fairbai.experiment.settling import Settling, checked_settling
from fairbai.identifier import batches, snapshot
from fairbai.identifier.labels import labels_of, pairs, some
from fairbai.identifier.status import Status
from fairbai.kernels import state as rows
from fairbai.problems.checks import Array, Numbers, confidence, whole
from fairbai.problems.families import Family
from fairbai.problems.rates import Rate
from fairbai.sampling import SamplingRule
from fairbai.stopping import StoppingRule

log = logging.getLogger("fairbai")


class Identifier:
    """Finds the best arm of a live experiment, with every arm's share guaranteed.

    ``ask`` tells which arm is next, ``tell`` takes what it earned. Rewards may come late, in another order, or never:
    what is assigned and what is observed are counted apart. All methods may be called from several threads.

    Args:
        arms: The labels of the arms, or their number (they are then called 0, 1, ...).
        delta: The probability of a wrong answer, in (0, 1/2).
        family: The reward family; Gaussian with variance 1 by default.
        rates: The share of the trials that every arm is guaranteed; none by default.
        sampling: The sampling rule; ``FairTopTwo()`` by default.
        stopping: The stopping rule; ``Mixture()``, the tightest proved one, by default.
        settle: Whether to go on after the decision until every floor is met, with the least number of further trials.
            Floors that depend on the means are settled as they are at the decision. Floors that sum to 1 cannot be met
            exactly by whole numbers of trials; they are then met up to less than one trial, unless that is out of reach
            because an arm without a floor was pulled, when the experiment stops at the decision. A ``Settling`` raises
            floors that depend on the means by a margin for their error, and may go on learning them.
        seed: Of the random stream of the rule; the same seed and rewards give the same arms.

    Attributes:
        procedure: The experiment itself, without labels, locks and checks: for the library's own modules.

    Example:
        >>> import fairbai as fb
        >>> ident = fb.Identifier(["a", "b"], delta=0.05, rates=fb.rates.Constant(0.2), seed=7)
        >>> while not ident.stopped:
        ...     arm = ident.ask()
        ...     ident.tell(arm, {"a": 1.0, "b": 0.0}[arm])
        >>> ident.recommendation
        'a'
    """

    def __init__(
        self,
        arms: int | Sequence[Hashable],
        delta: float,
        family: Family | None = None,
        rates: Rate | None = None,
        sampling: SamplingRule | None = None,
        stopping: StoppingRule | None = None,
        settle: bool | Settling = True,
        seed: int = 0,
    ) -> None:
        self.arms = labels_of(arms)
        self.delta = confidence(delta)
        self.settle = checked_settling(settle)
        self._experiment = Experiment(len(self.arms), family, rates, sampling, stopping, seed)
        self.family, self.rates = self._experiment.family, self._experiment.rates
        self.sampling, self.stopping = self._experiment.sampling, self._experiment.stopping
        self.seed = int(seed)
        self._index = {label: arm for arm, label in enumerate(self.arms)}
        self._lock = threading.RLock()
        self.procedure = Procedure(self._experiment, self.delta, self.settle)

    # --- asking -------------------------------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> Any:
        """The arm of the next trial; with ``n``, a list of the arms of the next n trials.

        After the decision the arms are those that still lack trials; the list is shorter than ``n`` where fewer than n
        trials are left. Raises RuntimeError after the stop.
        """
        n = None if n is None else whole("n", n, 1)
        with self._lock:
            self._check_running()
            if n is None:
                return self.arms[self.procedure.assign()]
            with self._experiment.all_or_nothing():
                arms: list[Any] = []
                while len(arms) < n and not self.stopped:
                    arms.append(self.arms[self.procedure.assign()])
                return arms

    def _check_running(self) -> None:
        if self.stopped:
            raise RuntimeError(f"the experiment has stopped: {self.recommendation!r} is the answer")

    # --- telling ------------------------------------------------------------------------------------------------

    def tell(self, arm: Any, reward: Any) -> None:
        """The reward of a trial; or lists of arms and rewards, which count all or, where one is wrong, not at all.

        The stopping rule is checked once, after the last of them. Rewards that come after the decision are counted and
        do not change it.
        """
        arms, rewards = pairs(arm, reward)
        with self._lock:
            indices = [self._known(label) for label in arms]
            values = [self.family.statistic(value) for value in rewards]
            self._check_assigned(indices)
            if self._experiment.python_rates:
                with self.procedure.all_or_nothing():
                    self._observe(indices, values)
            else:
                self._observe(indices, values)

    def _observe(self, indices: list[int], values: list[float]) -> None:
        for index, value in zip(indices, values, strict=True):
            self.procedure.observe(index, value)
        if not self.stopped:
            self.procedure.reconsider()
        if self.procedure.doubts.found and not self.procedure.doubts.warned:
            self._warn()

    def _warn(self) -> None:
        """Log the first doubt."""
        self.procedure.doubts.warned = True
        first = self.procedure.doubts.listed(self.arms)[0]
        log.warning("Doubt after %d trials: %s. The answer is not proved for such rewards.", first.trial, first.reason)

    def _known(self, label: Any) -> int:
        try:
            return self._index[label]
        except (KeyError, TypeError):
            raise ValueError(f"arm must be one of {some(self.arms)}, got {label!r}") from None

    def _check_assigned(self, indices: list[int]) -> None:
        state = self._experiment.state
        counts: dict[int, int] = {}
        for arm in indices:
            counts[arm] = counts.get(arm, 0) + 1
        for arm, got in counts.items():
            pending = int(state[rows.ASSIGNED, arm] - state[rows.OBSERVED, arm])
            if got > pending:
                raise ValueError(
                    f"arm {self.arms[arm]!r} has {_counted(pending, 'pending trial')}, got {_counted(got, 'reward')}"
                )

    # --- trials that others assign ------------------------------------------------------------------------------

    def policy(self, trials: int, pending: Numbers | None = None) -> Array:
        """The share of every arm in the next ``trials`` trials, for others to choose by; nothing changes.

        Before the decision these are the probabilities of a rule that draws its arms, and of every other rule the
        shares of its next choices if no reward came (of about 1,000 choices, where ``trials`` are more). After it,
        the trials that floors still lack come first, and the others keep the floors and go to the answer. Raises
        RuntimeError after the stop.

        Args:
            trials: How many trials the policy is for, by all who follow it.
            pending: How many trials of every arm are expected of batches that are on their way.
        """
        trials, expected = batches.checked_question(trials, pending, len(self.arms))
        with self._lock:
            self._check_running()
            return batches.policy(self.procedure, trials, expected)

    def tell_batch(self, pulls: Numbers, sums: Numbers) -> None:
        """Count a batch of trials that others assigned: the trials of every arm, and the sums of their rewards.

        They count as assigned and observed, all or, where one number is wrong, not at all. The stopping rule is checked
        once, after all of them. A batch that comes after the decision does not change it, but the floors are then to be
        met with these trials too: ``stopped`` can become false again.
        """
        with self._lock:
            batches.count(self.procedure, pulls, sums)

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
        """Whether the answer is found and, with ``settle``, all floors are met."""
        return self.procedure.stopped

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
            means: Array = self._experiment.state[rows.INSIDE].copy()
            return means

    def status(self) -> Status:
        """What is known now."""
        with self._lock:
            state = self._experiment.state.copy()
            decision = self.procedure.decision
            glr, threshold = self.procedure.glr_and_threshold()
            state[rows.MEAN, state[rows.OBSERVED] == 0.0] = math.nan
            return Status(
                arms=self.arms,
                assigned=state[rows.ASSIGNED].astype(np.int64),
                observed=state[rows.OBSERVED].astype(np.int64),
                means=state[rows.MEAN],
                shares=state[rows.ASSIGNED] / max(1, self._experiment.round),
                floors=state[rows.FLOOR] if decision is None else decision.floors.copy(),
                ceilings=state[rows.CEILING],
                glr=glr,
                threshold=threshold,
                proved=self.procedure.proved,
                doubts=self.procedure.doubts.listed(self.arms),
                hints=self.procedure.doubts.hints(self.decided),
                decided=self.decided,
                stopped=self.stopped,
                recommendation=self.recommendation,
                expected_remaining=self.procedure.expected_remaining(threshold - glr),
            )

    # --- keeping ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON: ``from_dict`` goes on with the very same arms.

        Rates and rules that are Python code have no JSON form; they are left out and must be given to ``from_dict``.
        """
        with self._lock:
            return snapshot.write(self)

    @classmethod
    def from_dict(cls, form: dict[str, Any], rates: Rate | None = None, sampling: SamplingRule | None = None) -> Self:
        """The experiment of a snapshot. ``rates`` and ``sampling`` stand in for those that are Python code."""
        return snapshot.read(cls, form, rates, sampling)


def _counted(number: int, noun: str) -> str:
    """A count with its noun: no rewards, 1 reward, 2 rewards."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
