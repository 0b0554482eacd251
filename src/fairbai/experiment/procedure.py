"""An experiment on its way to an answer: assign until the evidence is enough, then until every floor is met."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

from fairbai.experiment.decision import Decision
from fairbai.experiment.declared_variance import least_rewards
from fairbai.experiment.doubts import LEVEL, RATIO_LEVEL, Doubts
from fairbai.experiment.drawn_trials import DrawnTrials, OrderedTrials
from fairbai.experiment.experiment import Evidence, Experiment
from fairbai.experiment.lack_of_fit import is_time_to_look
from fairbai.experiment.open_trials import OpenTrials
from fairbai.experiment.remaining import Remaining, forget_scores
from fairbai.experiment.richer_fit import preferred
from fairbai.experiment.sample_ratio import DrawnShares
from fairbai.experiment.settling import Settling, lacking_most, learned, settling_choice, settling_plan, settling_round
from fairbai.experiment.standing import Standing, standing_now, standing_then
from fairbai.kernels import state as rows
from fairbai.problems.checks import Array


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
        max_trials: The most trials that are assigned, settling included; None for no limit.

    Attributes:
        experiment: What is known.
        decision: The answer, once there is one.
        doubts: The tests of the declared family and, where trials are drawn, of the sample ratio; what they found.
        ended: Why no further trials are assigned, if somebody has ended that.
        off: The arms that were switched off, in that order.
        remaining: The others, once there is one that is switched off.
    """

    def __init__(
        self,
        experiment: Experiment,
        delta: float,
        settle: bool | Settling,
        open_trials: OpenTrials | None = None,
        look_every: int = 1,
        max_trials: int | None = None,
    ) -> None:
        self.experiment, self.open_trials = experiment, open_trials
        self.settle, self.look_every, self.max_trials = settle, look_every, max_trials
        self.delta = delta
        self.decision: Decision | None = None
        self.ended: str | None = None
        ratio = None if experiment.guarantees is None else DrawnShares(experiment.guarantees, RATIO_LEVEL)
        level = LEVEL if ratio is None else LEVEL - RATIO_LEVEL
        self.doubts = Doubts(experiment.family, experiment.policy.size, level, ratio)
        self.off: tuple[int, ...] = ()
        self.remaining: Remaining | None = None
        self._level = experiment.stopping.level(delta, experiment.policy.size)
        self._least = least_rewards(experiment.family, experiment.stopping, experiment.policy.size)

    @property
    def assigns(self) -> bool:
        """Whether there is a next trial: there is no answer yet, or floors are to be met; and nothing has ended it."""
        if self.ended is not None or (self.max_trials is not None and self.experiment.round >= self.max_trials):
            return False
        return self.decision is None or self.experiment.round < self.decision.final_round

    @property
    def stopped(self) -> bool:
        """Whether no trial is left to assign, and the answer is found or no reward is out that could bring it."""
        if self.assigns:
            return False
        closed = self.open_trials is not None and self.open_trials.closed
        return self.decision is not None or closed or not rows.awaits_rewards(self.experiment.scalars)

    @property
    def ended_by(self) -> str | None:
        """Why there is no next trial: "decision", "max_trials" or what ``end`` was told; None while there is one."""
        if self.assigns:
            return None
        return "decision" if self.decision is not None else self.ended or "max_trials"

    def end(self, reason: str) -> None:
        """Assign no further trials; nothing changes if there are none to assign anyway."""
        if self.assigns:
            self.ended = reason

    def close_trials(self) -> None:
        """Wait for no reward any more: count what is held, and give up the trials that have none."""
        with self.all_or_nothing():
            if self.open_trials is None:
                self.experiment.lose(self.experiment.state[rows.ASSIGNED] - self.experiment.state[rows.OBSERVED])
            elif isinstance(self.open_trials, DrawnTrials):
                self.open_trials.close()
                self.count_ready()
            else:
                for arm, reward in self.open_trials.close():
                    self._count_due(arm, reward)

    @property
    def proved(self) -> bool:
        """Whether the stopping rule is proved for the family, and no doubt was found up to the decision."""
        return self.experiment.stopping.proved(self.experiment.family) and not self.doubts.at_decision

    @property
    def answer(self) -> int | None:
        """The best arm so far, final once there is a decision; None before every arm has a reward."""
        if self.decision is not None:
            return self.decision.recommendation
        if self.remaining is not None:
            seen = self.experiment.state[rows.OBSERVED] > 0.0
            return self.remaining.best if seen[self.remaining.kept].all() else None
        return self.experiment.best if self.experiment.names_an_arm else None

    def assign(self, available: Array | None = None) -> int:
        """The arm of the next trial, counted; and the reward that this makes due, if rewards are held.

        Args:
            available: 1 for every arm that may be chosen, for a rule that skips arms; all by default.
        """
        if self.open_trials is None:
            return self._assign(available)
        if isinstance(self.open_trials, DrawnTrials):
            return self._assign_drawn(self.open_trials)
        with self.experiment.all_or_nothing():
            arm = self._assign(available)
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
            if self.decision is None:
                self.doubts.draw(arm, chance, self.experiment.round)
            self.experiment.weigh(arm, reward, chance)
        self.observe([arm], [reward])

    def _assign(self, available: Array | None = None) -> int:
        """By the rule or, after the decision, an arm that lacks trials."""
        if self.decision is None:
            return (self.remaining or self.experiment).assign(available)
        if available is None:
            arm = settling_choice(self.experiment, self.decision.floors, self.decision.final_round)
            self.experiment.count_assigned(arm)
        else:
            arm = lacking_most(self.experiment, self.decision.floors, available)
            self.experiment.count_assigned(arm)
            self.settle_again()  # if it lacked none, this takes a trial more until all floors are met
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
                if self.doubts.tests_fit and is_time_to_look(int(self.experiment.scalars[rows.SEEN])):
                    self.test_fit()
                running = self.decision is None or not self.stopped
                if running and (place == len(arms) or self.looks_now):
                    self.reconsider()

    def test_fit(self) -> None:
        """Test whether means are linear in the features, if the family says so."""
        counts, sums = self.experiment.state[[rows.OBSERVED, rows.SUM]]
        self.doubts.observe_fit(counts, sums, self.experiment.round, self.decision is not None)

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
            self.decision = learned(self.decision, self.experiment, self.remaining, self.settle)
        elif self._evidence()[0] >= self._level and (self.look_every == 1 or self.looks_now):
            self._decide()

    def _evidence(self) -> Evidence:
        """Bring floors and allocation up to date with the rewards; returns the evidence."""
        return (self.remaining or self.experiment).reconsider(self._level)

    def look(self) -> None:
        """Decide now if the rewards that were counted are enough, whatever ``look_every`` says."""
        if self.decision is None and (self.remaining or self.experiment).exact_evidence()[0] >= self._level:
            self._decide()

    def settle_again(self) -> None:
        """Find the last round anew, now that there are trials which the decision did not know of."""
        if self.decision is not None:
            end = settling_round(self.experiment, self.decision.floors) if self.settle else self.experiment.round
            self.decision = replace(self.decision, final_round=end)

    @property
    def preferred(self) -> int | None:
        """The arm for which a decision waits: with the missing interactions it looks better than the answer."""
        may_wait = self.decision is None and self.doubts.tests_fit
        return preferred(self.experiment, self._level) if may_wait else None

    @property
    def untested(self) -> int:
        """How many more rewards it takes until the tests could have seen a wrong declared variance; 0 if they could."""
        return max(0, self._least - int(self.experiment.scalars[rows.SEEN])) if self.decision is None else 0

    @property
    def waits_for(self) -> int:
        """How many rewards a decision still waits for although the evidence is enough; 0 if it does not."""
        if self.untested == 0 or (self.remaining or self.experiment).exact_evidence()[0] < self._level:
            return 0
        return self.untested

    # --- interventions --------------------------------------------------------------------------------------------

    def restart_stream(self, stream: int) -> None:
        """Draw the arms of further trials from this stream."""
        self.experiment.restart_stream(stream)
        if self.remaining is not None:
            self.remaining.restart_stream(stream)
        if isinstance(self.open_trials, OrderedTrials):
            self.open_trials.restart_stream(stream)

    def switch_off(self, arm: int) -> None:
        """Assign no further trials to an arm; the answer is then the best of the others, which keep their floors."""
        if self.experiment.family.structured:
            raise ValueError("linear arms cannot be switched off: their rewards tell about all others")
        state = self.experiment.state
        state[[rows.FLOOR, rows.WEIGHT, rows.TARGET], arm] = 0.0
        forget_scores(self.experiment)
        self.restore_off((*self.off, arm))
        if self.decision is not None:
            floors = self.decision.floors.copy()
            floors[arm] = 0.0
            self.decision = replace(self.decision, floors=floors)
            self.settle_again()
        else:
            self._evidence()

    def restore_off(self, off: tuple[int, ...]) -> None:
        """Go on with these arms switched off."""
        self.off, self.remaining = off, Remaining(self.experiment, off)
        self._level = self.remaining.level(self.delta)

    def replace_rewards(self, rewards: dict[int, tuple[int, float, float]], doubts: Doubts) -> None:
        """Set what the rewards of some arms are, where some were wrong; what followed from them is forgotten.

        It does not decide, even if the evidence is enough: the next reward does.

        Args:
            rewards: For every such arm, what ``Experiment.set_rewards`` takes.
            doubts: What the tests say without the wrong ones.
        """
        for arm, counts in rewards.items():
            self.experiment.set_rewards(arm, *counts)
        self.doubts = doubts
        forget_scores(self.experiment)
        self.experiment.recount()
        if self.experiment.unseen:
            self.experiment.forget_floors()
        self.test_fit()
        self._evidence()

    # --- looking --------------------------------------------------------------------------------------------------

    def standing(self) -> Standing:
        """The evidence, how sure it is and who is not excluded: now or, once there is a decision, then."""
        return self._standing_now() if self.decision is None else standing_then(self.decision, self.delta)

    def _standing_now(self) -> Standing:
        if self.remaining is not None:
            return self.remaining.standing(self._level)
        return standing_now(self.experiment, self._level)

    def _decide(self) -> None:
        """Freeze the answer, the evidence and the floors to meet; not yet if it has to wait.

        It waits until the tests could have seen a wrong variance, and while interactions may change the answer.
        """
        if self.untested > 0 or self.preferred is not None:  # the test of fit, which costs more, ends the latter
            return
        self.test_fit()
        now = self.experiment.round
        floors, end = self.experiment.state[rows.FLOOR].copy(), now
        if self.settle:
            floors, end = settling_plan(self.experiment, self.settle, self.remaining)
        one, best = self._standing_now(), (self.remaining or self.experiment).best
        sure = None if one.confidence is None else max(one.confidence, 1.0 - self.delta)
        self.decision = Decision(best, now, end, floors, one.glr, one.threshold, sure, one.candidates)
