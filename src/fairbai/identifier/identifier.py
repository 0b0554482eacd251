"""The ask/tell interface of an experiment."""

import math
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np

from fairbai.experiment.decision import Decision
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.settling import LONGEST, Settling, checked_settling, settling_choice, settling_plan
from fairbai.identifier import batches, snapshot
from fairbai.identifier.labels import labels_of, pairs, some
from fairbai.identifier.status import Status, trials_for
from fairbai.kernels import state as rows
from fairbai.problems.checks import Array, Numbers, confidence, whole
from fairbai.problems.families import Family
from fairbai.problems.rates import Rate
from fairbai.sampling import SamplingRule
from fairbai.stopping import StoppingRule

LARGEST = 1e300  # of the evidence, so that JSON can hold it


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
        self._level = self.stopping.level(self.delta, len(self.arms))
        self._decision: Decision | None = None

    # --- asking -------------------------------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> Any:
        """The arm of the next trial; with ``n``, a list of the arms of the next n trials.

        After the decision the arms are those that still lack trials; the list is shorter than ``n`` where fewer than n
        trials are left. Raises RuntimeError after the stop.
        """
        n = None if n is None else whole("n", n, 1)
        with self._lock:
            if self.stopped:
                raise RuntimeError(f"the experiment has stopped: {self.recommendation!r} is the answer")
            if n is None:
                return self.arms[self._assign()]
            with self._all_or_nothing():
                arms: list[Any] = []
                while len(arms) < n and not self.stopped:
                    arms.append(self.arms[self._assign()])
                return arms

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Undo what was counted if the user's own rule or rates fail on the way."""
        state, numbers = self._experiment.state, self._experiment.numbers
        before = state.copy(), numbers.copy()
        try:
            yield
        except BaseException:
            state[:], numbers[:] = before
            raise

    def _assign(self) -> int:
        if self._decision is None:
            return self._experiment.assign()
        arm = settling_choice(self._experiment, self._decision.floors, self._decision.final_round)
        self._experiment.count_assigned(arm)
        return arm

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
                with self._all_or_nothing():
                    self._observe(indices, values)
            else:
                self._observe(indices, values)

    def _observe(self, indices: list[int], values: list[float]) -> None:
        for index, value in zip(indices, values, strict=True):
            self._experiment.observe(index, value)
        if self._decision is None:
            self._consider()
        elif not self.stopped:
            self._learn(self._decision)

    def _consider(self) -> None:
        if self._experiment.reconsider(self._level)[0] >= self._level:
            self._decide()

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
                    f"arm {self.arms[arm]!r} has {pending} trials that wait for a reward, got {got} rewards"
                )

    def _decide(self) -> None:
        """Freeze the answer, the evidence for it, and the floors that are to be met."""
        now = self._experiment.round
        floors, end = self._experiment.state[rows.FLOOR].copy(), now
        if self.settle:
            floors, end = settling_plan(self._experiment, self.settle)
        glr, threshold = self._glr_and_threshold()
        self._decision = Decision(self._experiment.best, now, end, floors, glr, threshold)

    def _learn(self, decision: Decision) -> None:
        """Bring the floors that are to be met up to date with the rewards, if that was asked for."""
        learns = isinstance(self.settle, Settling) and self.settle.learn
        if learns and self._experiment.round <= LONGEST * decision.round:
            floors, end = settling_plan(self._experiment, self.settle)
            self._decision = replace(decision, floors=floors, final_round=end)

    def _glr_and_threshold(self) -> tuple[float, float]:
        """Of the pair that is furthest from its threshold; as they were at the decision, once there is one."""
        if self._decision is not None:
            return self._decision.glr, self._decision.threshold
        _, _, glr, factor, penalty = self._experiment.assess()
        return min(float(glr), LARGEST), min(float((self._level + penalty) / factor), LARGEST)

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
        with self._lock:
            return batches.policy(self, trials, pending)

    def tell_batch(self, pulls: Numbers, sums: Numbers) -> None:
        """Count a batch of trials that others assigned: the trials of every arm, and the sums of their rewards.

        They count as assigned and observed, all or, where one number is wrong, not at all. The stopping rule is checked
        once, after all of them. A batch that comes after the decision does not change it, but the floors are then to be
        met with these trials too: ``stopped`` can become false again.
        """
        with self._lock:
            batches.count(self, pulls, sums)

    # --- looking ------------------------------------------------------------------------------------------------

    @property
    def trials(self) -> int:
        """How many trials were assigned, by ``ask`` and in batches."""
        return self._experiment.round

    @property
    def decided(self) -> bool:
        """Whether the answer is found: the GLR has crossed the threshold, and the recommendation is final."""
        return self._decision is not None

    @property
    def decision(self) -> Decision | None:
        """The answer, and when and on what evidence it was found; None until it is."""
        return self._decision

    @property
    def stopped(self) -> bool:
        """Whether the answer is found and, with ``settle``, all floors are met."""
        decision = self._decision
        return decision is not None and self._experiment.round >= decision.final_round

    @property
    def recommendation(self) -> Any:
        """The label of the best arm so far, final when ``decided``; None before every arm has a reward."""
        with self._lock:
            if self._decision is not None:
                return self.arms[self._decision.recommendation]
            return None if self._experiment.numbers[rows.UNSEEN] > 0.0 else self.arms[self._experiment.best]

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
            glr, threshold = self._glr_and_threshold()
            state[rows.MEAN, state[rows.OBSERVED] == 0.0] = math.nan
            return Status(
                arms=self.arms,
                assigned=state[rows.ASSIGNED].astype(np.int64),
                observed=state[rows.OBSERVED].astype(np.int64),
                means=state[rows.MEAN],
                shares=state[rows.ASSIGNED] / max(1, self._experiment.round),
                floors=state[rows.FLOOR] if self._decision is None else self._decision.floors.copy(),
                ceilings=state[rows.CEILING] if self._experiment.limited else np.ones(len(self.arms)),
                glr=glr,
                threshold=threshold,
                proved=self.stopping.proved(self.family),
                decided=self.decided,
                stopped=self.stopped,
                recommendation=self.recommendation,
                expected_remaining=self._expected_remaining(glr, threshold),
            )

    def _expected_remaining(self, glr: float, threshold: float) -> float:
        if self._decision is not None:
            return float(max(0, self._decision.final_round - self._experiment.round))
        return trials_for(self._experiment, threshold - glr)

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
