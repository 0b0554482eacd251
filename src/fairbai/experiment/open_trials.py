"""Trials that wait for the age at which their reward is counted; see docs/delays.md."""

from typing import Any, Self

from fairbai.problems.checks import number, true_or_false, whole
from fairbai.problems.families import MAX_VALUE, Family


class OpenTrials:
    """The last ``report_after`` trials, whose rewards are held until they are of age.

    Arms are numbers here; ``labels`` are for errors.

    Attributes:
        report_after: How many further trials make a trial due.
        silence: What a trial counts as that is due and has no reward; None if it is then lost.
        first: The number of the oldest open trial.
        late: Rewards that came after their trial was due.
        closed: Whether nobody waits for rewards any more.
    """

    def __init__(self, report_after: int, silence: float | None, labels: tuple[Any, ...]) -> None:
        self.report_after, self.silence = report_after, silence
        self.first, self.late, self.closed = 0, 0, False
        self._labels = labels
        self._arms: dict[int, int] = {}
        self._rewards: dict[int, float] = {}

    def copied(self) -> Self:
        """A copy, to go back to if something fails."""
        one = type(self)(self.report_after, self.silence, self._labels)
        one.first, one.late, one.closed = self.first, self.late, self.closed
        one._arms, one._rewards = self._arms.copy(), self._rewards.copy()
        return one

    def due(self) -> tuple[int, float | None] | None:
        """The arm and reward of the trial that the next one makes due, if it does; ``silence`` if it has no reward."""
        if len(self._arms) < self.report_after:
            return None
        return self._arms[self.first], self._rewards.get(self.first, self.silence)

    def add(self, arm: int) -> None:
        """Open a new trial, and close the one that this makes due."""
        self._arms[self.first + len(self._arms)] = arm
        if len(self._arms) > self.report_after:
            del self._arms[self.first]
            self._rewards.pop(self.first, None)
            self.first += 1

    def close(self) -> list[tuple[int, float | None]]:
        """Close all trials, oldest first: arm and reward, which is ``silence`` if there is none."""
        found = [(arm, self._rewards.get(number, self.silence)) for number, arm in self._arms.items()]
        self.first, self.closed = self.first + len(found), True
        self._arms, self._rewards = {}, {}
        return found

    def hold(self, told: list[tuple[int | None, int]], rewards: list[float]) -> None:
        """Keep rewards until their trials are due: all or, where one is wrong, none.

        Args:
            told: The number of every trial, or None where the user gave only its arm, and the arm.
            rewards: Their rewards. One whose trial was already due is not kept.
        """
        new: dict[int, float] = {}
        late = 0
        for (given, arm), reward in zip(told, rewards, strict=True):
            number = self._only(arm, new) if given is None else self._checked(given, arm, new)
            if number < self.first:
                late += 1
            else:
                new[number] = reward
        self._rewards |= new
        self.late += late

    def _only(self, arm: int, new: dict[int, float]) -> int:
        """The one trial of an arm that has no reward yet."""
        silent = [number for number, its in self._arms.items() if its == arm]
        silent = [number for number in silent if number not in self._rewards and number not in new]
        if len(silent) != 1:
            count = f"{len(silent) or 'no'} open trial{'' if len(silent) == 1 else 's'}"
            raise ValueError(
                f"arm {self._labels[arm]!r} has {count} without a reward, and a reward can be told by its arm only if "
                f"there is exactly one: tell what ask_trial returns"
            )
        return silent[0]

    def _checked(self, number: int, arm: int, new: dict[int, float]) -> int:
        end = self.first + len(self._arms)
        if number >= end:
            raise ValueError(f"trial {number} has not been assigned: there are {end} trials so far")
        if number >= self.first and self._arms[number] != arm:
            known, got = self._labels[self._arms[number]], self._labels[arm]
            raise ValueError(f"trial {number} must be of arm {known!r}, got {got!r}")
        if (before := self._rewards.get(number, new.get(number))) is not None:
            raise ValueError(f"trial {number} already has reward {before!r}")
        return number

    # --- keeping ------------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: its length is that of the open trials."""
        rewards = [self._rewards.get(number) for number in self._arms]
        form: dict[str, Any] = {"arms": list(self._arms.values()), "rewards": rewards, "late": self.late}
        return {**form, "closed": True} if self.closed else form

    def restore(self, form: dict[str, Any], family: Family, trials: int) -> None:
        """Continue with the open trials of a snapshot that was taken after so many trials."""
        arms, rewards = form["arms"], form["rewards"]
        self.closed = true_or_false("closed", form.get("closed", False))
        expected = 0 if self.closed else min(self.report_after, trials)
        if not len(arms) == len(rewards) == expected:
            raise ValueError(f"trials must have {expected} arms and rewards, got {len(arms)} and {len(rewards)}")
        self.first, self.late = trials - len(arms), whole("late", form["late"], 0)
        last = len(self._labels) - 1
        self._arms = {number: whole("arm", arm, 0, last) for number, arm in enumerate(arms, self.first)}
        told = ((trial, reward) for trial, reward in enumerate(rewards, self.first) if reward is not None)
        self._rewards = {trial: number("reward", reward, -MAX_VALUE, MAX_VALUE, "a number") for trial, reward in told}

    def of_each_arm(self) -> list[int]:
        """How many open trials every arm has."""
        counts = [0] * len(self._labels)
        for arm in self._arms.values():
            counts[arm] += 1
        return counts


def checked_silence(silence: Any, family: Family) -> float | None:
    """What silence counts as, which must be a reward; None if a silent trial is lost."""
    try:
        return None if silence is None else family.value(silence)
    except ValueError as error:
        raise ValueError(f"silence must be a reward that the family can produce: {error}") from None
