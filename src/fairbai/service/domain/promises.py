"""What an experiment guarantees about the shares of its arms, and how far it ever was from keeping it.

Floors and ceilings of arms and groups that are known in advance are tracked at every assigned trial. That costs next to
nothing: an arm is furthest behind its floor just before it is pulled, and furthest above its ceiling just after.
Learned floors, and those of groups that overlap, are guaranteed at the stop only. So are all floors if trials are
assigned elsewhere (batches), and in the trials after the decision, which settle what is still owed.

Where clients say which arms are available, the floor of an arm is a share of the trials in which it was. The bound then
grows as the root of the trials t. While an arm is not pulled, and stays available or unavailable, what it lacks is
linear in t, and what it lacks beyond the bound is convex: so it is enough to compare both where that changes.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from fairbai.identifier import Identifier
from fairbai.problems.rates import Bounded, Constant, Group, Overlapping
from fairbai.sampling import Bounds

ROUNDING = 1e-6  # trials


class Promises:
    """Floors, ceilings and groups, and the worst shortfall of each so far, in trials.

    Args:
        identifier: The experiment.

    Attributes:
        floors: The floor of every arm; None if floors are learned.
        ceilings: The ceiling of every arm; empty if there are none.
        group: The number of every arm's group, or -1; empty if there are none.
        group_floors: The floor of every group.
        group_ceilings: The ceiling of every group; empty if there are none.
        overlapping: Groups that may overlap, such as levels of factors; their limits hold at the stop.
        allowed: The proved bounds of the rule; infinite if it promises nothing for single trials.
        watched: Whether there is anything to track.
        batched: Whether some trials were assigned elsewhere.
        skipped: In how many trials before the decision each arm was not available.
    """

    def __init__(self, identifier: Identifier) -> None:
        arms, rates = len(identifier.arms), identifier.rates
        self.floors: list[float] | None = None
        self.ceilings: list[float] = []
        self.group: list[int] = []
        self.group_floors: list[float] = []
        self.group_ceilings: list[float] = []
        self.overlapping = [Group.of(one) for one in rates.groups] if isinstance(rates, Overlapping) else []
        if isinstance(rates, Bounded):
            limits = rates.limits(arms)
            self.floors, self.ceilings = limits.floors.tolist(), limits.ceilings.tolist()
            self.group = limits.groups.astype(int).tolist()
            groups = max(self.group) + 1
            self.group_floors = limits.group_floors.tolist()[:groups]
            self.group_ceilings = limits.group_ceilings.tolist()[:groups] if limits.group_ceilings.min() < 1.0 else []
        elif isinstance(rates, Constant):
            self.floors = rates.floors(np.zeros(arms)).tolist()
        bounds = None
        if isinstance(rates, Constant) and not self.overlapping:
            bounds = identifier.sampling.bounds(rates, arms)
        self._every_path = bounds is not None
        self.allowed = bounds or _anything(arms, len(self.group_floors))
        self.watched = bool(self.ceilings) or any(self.floors or [])
        self.batched = False
        self.skipped = [0] * arms
        self._sampling = identifier.sampling
        self._frozen = False
        self._broken = False  # whether an arm was ever further behind than is allowed
        self._trials, self._counts = 0, [0] * arms
        self._groups = [0] * len(self.group_floors)
        self._behind, self._above = [0.0] * arms, [0.0] * len(self.ceilings)
        self._groups_behind, self._groups_above = [0.0] * len(self.group_floors), [0.0] * len(self.group_ceilings)

    def to_dict(self) -> dict[str, Any] | None:
        """What cannot be computed from the counts; None if nothing is tracked."""
        if not self.watched:
            return None
        form: dict[str, Any] = {"behind": self._behind, "batched": self.batched}
        form |= {"skipped": self.skipped, "broken": self._broken} if self.skips else {}
        if self.ceilings:
            form |= {"above": self._above, "groups": self._groups_behind}
        return form | ({"groups_above": self._groups_above} if self.group_ceilings else {})

    def restore(self, form: dict[str, Any] | None, counts: list[int], decided: bool) -> None:
        """Continue from what ``to_dict`` returned, with the trials of every arm."""
        if form is None:
            return
        self._frozen = decided
        self._behind, self.batched = form["behind"], form["batched"]
        self.skipped = form.get("skipped", self.skipped)
        self._broken = form.get("broken", False)
        self._broken = self._broken if self.skips else any(map(_exceeds, self._behind, self.allowed.behind))
        self._above, self._groups_behind = form.get("above", self._above), form.get("groups", self._groups_behind)
        self._groups_above = form.get("groups_above", self._groups_above)
        self._add(counts)

    # --- what happens -------------------------------------------------------------------------------------------

    def assign(self, arms: list[int], available: Iterable[int] | None = None) -> None:
        """Count trials of these arms, one after the other, in which these were available, or all."""
        if self._frozen or not self.watched:
            return
        assert self.floors is not None
        unavailable = [] if available is None else sorted(set(range(len(self._counts))).difference(available))
        if self.skips or unavailable:
            self._broken = not self.kept_on_every_path()
        for arm in arms:
            lag = self.floors[arm] * (self._trials - self.skipped[arm]) - self._counts[arm]
            if lag > self._behind[arm]:
                self._behind[arm] = round(lag, 6)  # states are written often, and short numbers are quicker to write
            self._broken = self._broken or _exceeds(lag, self._most_behind(arm))
            if self.ceilings:
                self._assign_within(arm)
            self._counts[arm] += 1
            self._trials += 1
            for other in unavailable:
                self.skipped[other] += 1

    def _assign_within(self, arm: int) -> None:
        lead = self._counts[arm] + 1 - self.ceilings[arm] * (self._trials + 1)
        self._above[arm] = max(self._above[arm], lead)
        group = self.group[arm]
        if group >= 0:
            lag = self.group_floors[group] * self._trials - self._groups[group]
            self._groups_behind[group] = max(self._groups_behind[group], lag)
            self._groups[group] += 1
            if self.group_ceilings:
                lead = self._groups[group] - self.group_ceilings[group] * (self._trials + 1)
                self._groups_above[group] = max(self._groups_above[group], lead)

    def assign_batch(self, pulls: list[int]) -> None:
        """Count trials that were assigned elsewhere; their order is unknown, so only before and after are compared."""
        if self._frozen or not self.watched:
            return
        self._behind, self._groups_behind = self.behind(), self.groups_behind()
        self.batched = True
        self._add(pulls)
        for arm, ceiling in enumerate(self.ceilings):
            self._above[arm] = max(self._above[arm], self._counts[arm] - ceiling * self._trials)
        for group, ceiling in enumerate(self.group_ceilings):
            lead = self._groups[group] - ceiling * self._trials
            self._groups_above[group] = max(self._groups_above[group], lead)

    def release(self, arm: int) -> None:
        """Guarantee an arm nothing from here on: it is switched off."""
        if self.floors is not None:
            self._broken = not self.kept_on_every_path()
            self._behind = self.behind()
            self.floors[arm] = 0.0

    def freeze(self) -> None:
        """Stop tracking: from here on, what is owed is settled."""
        if not self._frozen:
            self._broken = not self.kept_on_every_path()
            self._behind, self._groups_behind, self._frozen = self.behind(), self.groups_behind(), True

    def _add(self, pulls: list[int]) -> None:
        self._counts = [count + more for count, more in zip(self._counts, pulls, strict=True)]
        self._trials += sum(pulls)
        for arm, group in enumerate(self.group):
            if group >= 0:
                self._groups[group] += pulls[arm]

    # --- looking ------------------------------------------------------------------------------------------------

    def behind(self) -> list[float]:
        """How many trials each arm was behind its floor before the decision, at worst."""
        if self._frozen or not self.watched:
            return list(self._behind)
        return list(map(max, self._behind, self._lags()))

    def _lags(self) -> list[float]:
        """How many trials each arm is behind its floor."""
        given = zip(self.floors or [], self.skipped, self._counts, strict=True)
        return [floor * (self._trials - skipped) - count for floor, skipped, count in given]

    @property
    def skips(self) -> bool:
        """Whether there was a trial before the decision in which an arm was not available."""
        return any(self.skipped)

    def most_behind(self, trials: int) -> list[float]:
        """How many trials each arm may have been behind its floor in so many trials, by what is proved."""
        if self.skips:
            return [self._sampling.most_behind_if_skipped(trials)] * len(self.skipped)
        return self.allowed.behind

    def _most_behind(self, arm: int) -> float:
        """How many trials an arm may be behind its floor now."""
        return self._sampling.most_behind_if_skipped(self._trials) if self.skips else self.allowed.behind[arm]

    def above(self) -> list[float]:
        """How many trials each arm was above its ceiling, at worst; empty if there are no ceilings."""
        return list(self._above)

    def groups_behind(self) -> list[float]:
        """How many trials each group was behind its floor, at worst."""
        if self._frozen:
            return list(self._groups_behind)
        return _worst(self._groups_behind, self.group_floors, self._trials, self._groups)

    def groups_above(self) -> list[float]:
        """How many trials each group was above its ceiling, at worst; empty if no group has one."""
        return list(self._groups_above)

    @property
    def on_every_path(self) -> bool:
        """Whether something is guaranteed at every trial, and not only at the stop."""
        return self._every_path and not self.batched

    @property
    def none(self) -> bool:
        """Whether nothing is guaranteed."""
        return self.floors is not None and not self.watched and not self.overlapping

    def beyond(self, counts: list[float]) -> list[float]:
        """By how many trials these counts exceed each ceiling, and miss the floor and the ceiling of each group."""
        trials = sum(counts)
        above = [count - ceiling * trials for count, ceiling in zip(counts, self.ceilings, strict=False)]
        groups = [0.0] * len(self.group_floors)
        for count, group in zip(counts, self.group, strict=False):
            if group >= 0:
                groups[group] += count
        above += [floor * trials - count for floor, count in zip(self.group_floors, groups, strict=True)]
        for one in self.overlapping:
            count = sum(counts[arm] for arm in one.numbers)
            above += [one.floor * trials - count, count - one.ceiling * trials]
        return above + [count - ceiling * trials for ceiling, count in zip(self.group_ceilings, groups, strict=False)]

    def kept_on_every_path(self) -> bool:
        """Whether the rule stayed within its proved bounds at every trial."""
        if self._broken or not self.watched:
            return not self._broken
        allowed = self.allowed
        if self.ceilings and (
            any(map(_exceeds, self.above(), allowed.above))
            or any(map(_exceeds, self.groups_behind(), allowed.groups))
            or any(map(_exceeds, self.groups_above(), allowed.groups_above))
        ):
            return False
        return self._frozen or not any(map(_exceeds, self._lags(), self.most_behind(self._trials)))


def _anything(arms: int, groups: int) -> Bounds:
    """The bounds of a rule that promises nothing for single trials."""
    return Bounds([math.inf] * arms, [math.inf] * arms, [math.inf] * groups, [math.inf] * groups)


def _exceeds(value: float, bound: float) -> bool:
    return value > bound + ROUNDING


def _worst(before: list[float], floors: list[float], trials: int, counts: list[int]) -> list[float]:
    """The worst so far, including now."""
    now = (floor * trials - count for floor, count in zip(floors, counts, strict=True))
    return [max(was, lag) for was, lag in zip(before, now, strict=True)]
