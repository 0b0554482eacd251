"""An experiment on its way to an answer: assign until the evidence is enough, then until every floor is met."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from fairbai.experiment.decision import Decision
from fairbai.experiment.doubts import Doubts
from fairbai.experiment.drawn_trials import DrawnTrials
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.open_trials import OpenTrials
from fairbai.experiment.settling import (
    MAX_LEARNING,
    Settling,
    settling_choice,
    settling_plan,
    settling_round,
)
from fairbai.kernels import state as rows

MAX_EVIDENCE = 1e300  # so that JSON can hold it


class Procedure:
    """When an experiment has its answer, and when all floors are met.

    Args:
        experiment: What is known; this class changes it.
        delta: The probability of a wrong answer.
        settle: How to go on after the decision, as an ``Identifier`` takes it.
        open_trials: Where rewards are held until their trials are of age, or until all trials before have theirs; None
            to count them when they are told.
        look_every: A decision is made only if the number of rewards is a multiple of it; 0 is only when one is asked
            for.

    Attributes:
        experiment: What is known.
        decision: The answer, once there is one.
        doubts: The tests of the declared family, and what they found.
    """

    def __init__(
        self,
        experiment: Experiment,
        delta: float,
        settle: bool | Settling,
        open_trials: OpenTrials | None = None,
        look_every: int = 1,
    ) -> None:
        self.experiment, self.open_trials = experiment, open_trials
        self.settle, self.look_every = settle, look_every
        self.decision: Decision | None = None
        self.doubts = Doubts(experiment.family, experiment.policy.size)
        self._level = experiment.stopping.level(delta, experiment.policy.size)

    @property
    def stopped(self) -> bool:
        """Whether the answer is found and, if so asked, all floors are met."""
        return self.decision is not None and self.experiment.round >= self.decision.final_round

    @property
    def proved(self) -> bool:
        """Whether the stopping rule is proved for the family, and no doubt was found up to the decision."""
        return self.experiment.stopping.proved(self.experiment.family) and not self.doubts.at_decision

    @property
    def answer(self) -> int | None:
        """The best arm so far, final once there is a decision; None before every arm has a reward."""
        if self.decision is not None:
            return self.decision.recommendation
        return None if self.experiment.unseen else self.experiment.best

    def assign(self) -> int:
        """The arm of the next trial, counted; and the reward that this makes due, if rewards are held."""
        if self.open_trials is None:
            return self._assign()
        if isinstance(self.open_trials, DrawnTrials):
            return self._assign_drawn(self.open_trials)
        with self.experiment.all_or_nothing():
            arm = self._assign()
            if due := self.open_trials.due():
                self._count_due(*due)
        self.open_trials.add(arm)
        return arm

    def _assign_drawn(self, opened: DrawnTrials) -> int:
        """Draw an arm, keep its probability, and count what this makes due."""
        decided = self.decision is not None
        arm = self._assign()  # by a kernel: nothing on the way can fail
        opened.add(arm, None if decided else self.experiment.drawn_with(arm))
        self.count_ready()
        return arm

    def count_ready(self) -> None:
        """Count the drawn trials that have a reward, as all trials before them do."""
        assert isinstance(self.open_trials, DrawnTrials)
        for arm, reward, chance in self.open_trials.ready():
            self.count_drawn(arm, reward, chance)

    def count_drawn(self, arm: int, reward: float, chance: float | None) -> None:
        """Count the next trial in the order of assignment; one that was not drawn is no evidence."""
        if chance is not None:
            self.experiment.weigh(arm, reward, chance)
        self.observe([arm], [reward])

    def _assign(self) -> int:
        """By the rule or, after the decision, an arm that lacks trials."""
        if self.decision is None:
            return self.experiment.assign()
        arm = settling_choice(self.experiment, self.decision.floors, self.decision.final_round)
        self.experiment.count_assigned(arm)
        return arm

    def _count_due(self, arm: int, reward: float | None) -> None:
        """Count the reward of a trial that is of age; a trial without one is given up."""
        if reward is None:
            self.experiment.give_up(arm)
        else:
            self.observe([arm], [reward])

    def observe(self, arms: list[int], rewards: list[float]) -> None:
        """Count rewards, all or nothing, test the declared family on them, and decide if they are enough."""
        with self.all_or_nothing() if self.experiment.python_rates else nullcontext():
            for place, (arm, reward) in enumerate(zip(arms, rewards, strict=True), 1):
                self.experiment.observe(arm, reward)
                self.doubts.observe(arm, reward, self.experiment.round, self.decision is not None)
                if not self.stopped and (place == len(arms) or self.looks_now):
                    self.reconsider()

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Undo several steps if one of them fails, such as the user's own rule or rates."""
        decision, doubts = self.decision, self.doubts.copied()
        opened = self.open_trials and self.open_trials.copied()
        try:
            with self.experiment.all_or_nothing():
                yield
        except BaseException:
            self.decision, self.doubts, self.open_trials = decision, doubts, opened
            raise

    @property
    def looks_now(self) -> bool:
        """Whether the number of rewards is one at which a decision may be made, if that is not every number."""
        return self.look_every > 1 and int(self.experiment.scalars[rows.SEEN]) % self.look_every == 0

    def reconsider(self) -> None:
        """Decide if the rewards that were counted are enough or, after the decision, bring the floors up to date."""
        if self.decision is not None:
            self._learn(self.decision)
        elif self.experiment.reconsider(self._level)[0] >= self._level and (self.look_every == 1 or self.looks_now):
            self._decide()

    def look(self) -> None:
        """Decide now if the rewards that were counted are enough, whatever ``look_every`` says."""
        if self.decision is None and self.experiment.exact_evidence()[0] >= self._level:
            self._decide()

    def settle_again(self) -> None:
        """Find the last round anew, now that there are trials which the decision did not know of."""
        if self.decision is not None:
            end = settling_round(self.experiment, self.decision.floors) if self.settle else self.experiment.round
            self.decision = replace(self.decision, final_round=end)

    def glr_and_threshold(self) -> tuple[float, float]:
        """Of the pair that is furthest from its threshold; as they were at the decision, once there is one."""
        if self.decision is not None:
            return self.decision.glr, self.decision.threshold
        _, _, glr, factor, penalty = self.experiment.exact_evidence()
        return min(float(glr), MAX_EVIDENCE), min(float((self._level + penalty) / factor), MAX_EVIDENCE)

    def expected_remaining(self, evidence: float) -> float:
        """About how many trials are still needed; inf as long as nothing can be said.

        Args:
            evidence: How far the GLR is below its threshold.
        """
        if self.decision is not None:
            return float(max(0, self.decision.final_round - self.experiment.round))
        return self.experiment.trials_for(evidence)

    def _decide(self) -> None:
        """Freeze the answer, the evidence for it, and the floors that are to be met."""
        now = self.experiment.round
        floors, end = self.experiment.state[rows.FLOOR].copy(), now
        if self.settle:
            floors, end = settling_plan(self.experiment, self.settle)
        glr, threshold = self.glr_and_threshold()
        self.decision = Decision(self.experiment.best, now, end, floors, glr, threshold)

    def _learn(self, decision: Decision) -> None:
        """Bring the floors that are to be met up to date with the rewards, if that was asked for."""
        learns = isinstance(self.settle, Settling) and self.settle.learn
        if learns and self.experiment.round <= MAX_LEARNING * decision.round:
            floors, end = settling_plan(self.experiment, self.settle)
            self.decision = replace(decision, floors=floors, final_round=end)
