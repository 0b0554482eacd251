"""Drawn trials in the order of assignment, for a stop that needs the probability of every draw; see docs/delays.md."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from fairbai.experiment.design import SHORT
from fairbai.experiment.experiment import Experiment
from fairbai.experiment.open_trials import OpenTrials, checked_silence
from fairbai.problems.checks import Array, number, true_or_false, whole, whole_trials
from fairbai.problems.families import Family


@dataclass(frozen=True)
class Wait:
    """What rewards wait for that were told and are not counted, because trials are counted in the order of assignment.

    Attributes:
        rewards: How many wait.
        trial: The number of the trial without a reward that they wait for; the first trial is 0.
        further: After how many further trials it counts as ``silence``; None if none will make it count.
        silence: What it counts as without a reward, in the unit of the rewards; None if its reward is waited for.
    """

    rewards: int
    trial: int
    further: int | None
    silence: float | None

    def sentence(self) -> str:
        """What is waited for, and until when.

        Example:
            >>> Wait(12, 17, 88, 0.0).sentence()
            '12 rewards wait for trial 17, which has no reward: after 88 further trials it counts as 0'
            >>> Wait(1, 17, None, None).sentence()
            '1 reward waits for trial 17, which has no reward: only that ends the wait, as report_after is not set'
        """
        waiting = "1 reward waits" if self.rewards == 1 else f"{self.rewards:,} rewards wait"
        return f"{waiting} for trial {self.trial}, which has no reward: {self._until()}"

    def _until(self) -> str:
        if self.silence is None:
            return "only that ends the wait, as report_after is not set"
        if self.further is None:
            return f"no trial is left, and it counts as {self.silence:g} once close_trials is called"
        trials = "1 further trial" if self.further == 1 else f"{self.further:,} further trials"
        return f"after {trials} it counts as {self.silence:g}"


class DrawnTrials(OpenTrials):
    """The trials since the first whose reward is not known: how each was drawn, and what was told of it.

    A trial is counted when it and all trials before it have a reward. With ``report_after``, a trial of that age
    without a reward has the reward ``silence``. Counting in the order of assignment makes it harmless that rewards come
    late because of what they are.

    Attributes:
        report_after: How many further trials make a trial due; None if every reward is waited for.
        silence: What a trial counts as that is due and has no reward.
        first: The number of the oldest open trial.
        late: Rewards that came after their trial was counted as silent.
        closed: Whether nobody waits for rewards any more.
    """

    def __init__(self, report_after: int | None, silence: float | None, labels: tuple[Any, ...]) -> None:
        super().__init__(report_after or 0, silence, labels)
        self.waits = report_after is None
        self._chances: dict[int, float | None] = {}

    def copied(self) -> Self:
        """A copy, to go back to if something fails."""
        one = type(self)(None if self.waits else self.report_after, self.silence, self._labels)
        one.first, one.late, one.closed = self.first, self.late, self.closed
        one._arms, one._rewards, one._chances = self._arms.copy(), self._rewards.copy(), self._chances.copy()
        return one

    @property
    def open(self) -> int:
        """Trials that are not counted yet."""
        return len(self._arms)

    def add(self, arm: int, chance: float | None = None) -> None:
        """Open a new trial, and close the one that this makes due."""
        newest = self.first + len(self._arms)
        self._arms[newest], self._chances[newest] = arm, chance
        oldest = newest - self.report_after
        if not self.waits and oldest >= self.first and oldest not in self._rewards:
            assert self.silence is not None
            self._rewards[oldest] = self.silence

    def close(self) -> list[tuple[int, float | None]]:
        """Let the trials without a reward have ``silence``; where there is none, they stay open and uncounted."""
        self.closed = True
        if self.silence is not None:
            self._rewards = {number: self._rewards.get(number, self.silence) for number in self._arms}
        return []

    def skip(self, trials: int) -> None:
        """Go on after so many trials that others counted; there must be no open ones."""
        self.first += trials

    def wait(self, assigns: bool, silence: float | None) -> Wait | None:
        """What rewards wait for; None if none does.

        Args:
            assigns: Whether there are further trials.
            silence: What a trial counts as without a reward, in the unit of the rewards.
        """
        if not self._rewards or self.closed:
            return None
        further = self.report_after + 1 - len(self._arms) if assigns and not self.waits else None
        return Wait(len(self._rewards), self.first, further, silence)

    def ready(self) -> Iterator[tuple[int, float, float | None]]:
        """Close the trials that can be counted: arm, reward, and the probability of the draw (None: not drawn)."""
        while self.first in self._rewards:
            arm, chance = self._arms.pop(self.first), self._chances.pop(self.first)
            reward = self._rewards.pop(self.first)
            self.first += 1
            yield arm, reward, chance

    def _checked(self, number: int, arm: int, new: dict[int, float]) -> int:
        if self.waits and number < self.first:
            raise ValueError(f"trial {number} already has a reward")
        return super()._checked(number, arm, new)

    # --- keeping ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: its length is that of the open trials."""
        return {**super().to_dict(), "probabilities": list(self._chances.values())}

    def restore(self, form: dict[str, Any], family: Family, trials: int) -> None:
        """Continue with the open trials of a snapshot that was taken after so many trials."""
        arms, rewards, chances = form["arms"], form["rewards"], form["probabilities"]
        if not len(arms) == len(rewards) == len(chances) <= trials:
            counts = f"{len(arms)}, {len(rewards)} and {len(chances)}"
            raise ValueError(f"trials must have as many arms as rewards and probabilities, got {counts}")
        self.first, self.late = trials - len(arms), whole("late", form["late"], 0)
        self.closed = true_or_false("closed", form.get("closed", False))
        last = len(self._labels) - 1
        self._arms = {trial: whole("arm", arm, 0, last) for trial, arm in enumerate(arms, self.first)}
        told = ((trial, reward) for trial, reward in enumerate(rewards, self.first) if reward is not None)
        self._rewards = {trial: number("reward", reward, 0.0, 1.0, "from 0 to 1") for trial, reward in told}
        self._chances = {
            trial: None if chance is None else number("probability", chance, 1e-12, 1.0, "in (0, 1]")
            for trial, chance in enumerate(chances, self.first)
        }


class OrderedTrials(DrawnTrials):
    """Drawn trials of which somebody else keeps the open ones, and tells them in the order of assignment.

    It remembers from which stream open trials were drawn: those that a restore has lost must not be told.
    """

    def __init__(self, labels: tuple[Any, ...]) -> None:
        super().__init__(None, None, labels)
        self._assigned = 0
        self._streams: list[tuple[int, int]] = [(0, 0)]  # from which trial on, and which

    def copied(self) -> Self:
        """A copy, to go back to if something fails."""
        one = type(self)(self._labels)
        one.first, one._assigned, one.closed = self.first, self._assigned, self.closed
        one._streams = list(self._streams)
        return one

    @property
    def open(self) -> int:
        """Trials that are not counted yet."""
        return self._assigned - self.first

    def restart_stream(self, stream: int) -> None:
        """From the next trial on, draws come from this stream."""
        needed = [one for one, after in zip(self._streams, self._streams[1:], strict=False) if after[0] > self.first]
        self._streams = [*needed, self._streams[-1], (self._assigned, stream)]

    def stream_of(self, trial: int) -> int:
        """The stream from which a trial was drawn."""
        return next(stream for first, stream in reversed(self._streams) if first <= trial)

    def add(self, arm: int, chance: float | None = None) -> None:
        """Count a new trial."""
        self._assigned += 1

    def skip(self, trials: int) -> None:
        """Go on after so many trials that others counted; there must be no open ones."""
        self.first += trials
        self._assigned += trials

    def check_order(self, numbers: list[int | None]) -> None:
        """Refuse trials that are not the next ones."""
        for expected, given in enumerate(numbers, self.first):
            if given != expected or expected >= self._assigned:
                got = "an arm" if given is None else f"trial {given}"
                raise ValueError(f"trial {expected} is the next to be told, in the order of assignment, got {got}")

    def check_chances(self, arms: list[int], chances: list[float | None], guarantees: Array) -> None:
        """Refuse trials that were drawn with a probability below what the rule guarantees their arm."""
        for arm, chance in zip(arms, chances, strict=True):
            if chance is not None and not guarantees[arm] * SHORT <= chance <= 1.0:
                expected = f"from {guarantees[arm]:g} to 1"
                raise ValueError(f"probability of arm {self._labels[arm]!r} must be {expected}, got {chance!r}")

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        form: dict[str, Any] = {"first": self.first} | ({"closed": True} if self.closed else {})
        return form if self._streams == [(0, 0)] else {**form, "streams": [list(one) for one in self._streams]}

    def restore(self, form: dict[str, Any], family: Family, trials: int) -> None:
        """Continue after so many trials."""
        self.first, self._assigned = whole("first", form["first"], 0, trials), trials
        self.closed = true_or_false("closed", form.get("closed", False))
        self._streams = [
            (whole("trial", one, 0), whole("stream", other, 0)) for one, other in form.get("streams", [(0, 0)])
        ]


def checked_open_trials(
    experiment: Experiment, labels: tuple[Any, ...], report_after: Any, silence: Any, hold: Any
) -> OpenTrials | None:
    """Where the rewards of an ``Identifier`` are held, by its arguments; None if they count when they are told."""
    drawn = experiment.guarantees is not None
    if not true_or_false("hold_trials", hold):
        if not drawn:
            raise ValueError("hold_trials=False is for the stopping rule design_based: others hold no trials")
        if report_after is not None or silence is not None:
            raise ValueError("report_after and silence need hold_trials: without it, the caller knows which are silent")
        return OrderedTrials(labels)
    if report_after is None:
        if silence is not None:
            raise ValueError(f"silence needs report_after, the age at which a trial counts as silent, got {silence!r}")
        return DrawnTrials(None, None, labels) if drawn else None
    if drawn and silence is None:
        raise ValueError(
            "silence must be given with report_after if the stop is design_based: every trial that was drawn counts, "
            "a silent one as this reward"
        )
    age = whole_trials("report_after", report_after, 1)
    return (DrawnTrials if drawn else OpenTrials)(age, checked_silence(silence, experiment.family), labels)
