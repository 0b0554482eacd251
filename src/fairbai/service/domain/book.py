"""One experiment in memory: what can happen to it, and how it is stored.

The service and ``verify`` both call these few methods in the order of the log, so a replay gives exactly the same
state.
"""

from typing import Any, Self, cast

import numpy as np

from fairbai.experiment.drawn_trials import OrderedTrials
from fairbai.identifier import Identifier, Trial, batches
from fairbai.identifier.ending import check_switch
from fairbai.identifier.snapshot import changing
from fairbai.identifier.telling import count_next
from fairbai.problems.families import Bernoulli, Bounded
from fairbai.service.domain.configs import completed, fixed, identifier_of
from fairbai.service.domain.encoding import decode, encode, sealed, unsealed
from fairbai.service.domain.finals import EndedBy, Final
from fairbai.service.domain.marks import Marks
from fairbai.service.domain.newcomers import Newcomers
from fairbai.service.domain.promises import ROUNDING
from fairbai.service.domain.record import Record, revision_of
from fairbai.service.domain.refusals import damaged
from fairbai.service.domain.tally import Tally
from fairbai.service.domain.waiting import Queue, Waiting


class Book(Record):
    """An experiment and what can happen to it."""

    @classmethod
    def read(cls, config: str, state: str) -> Self:
        """Restore the book that ``row`` wrote; a Refusal if it is another by now."""
        settings = decode(config)
        try:
            form = unsealed(state)
        except ValueError:
            raise damaged() from None
        identifier = form["identifier"]
        book = cls(settings, Identifier.from_dict({**fixed(settings), **identifier}, same_draws=True))
        book.version, book.tickets, book.looks.next_point = form["version"], form["tickets"], form["next_point"]
        book.expired, book.late, book.closed = form["expired"], form["late"], form["closed"] is not None
        final = form["closed"] or form.get("ended")
        book.final = None if final is None else Final.from_dict(final)
        book.held, book.summed = form.get("held", 0), form.get("summed", 0)
        book.policies = form.get("policies") or [one for one in [form.get("published")] if one is not None]
        book.behind, book.queue = form.get("behind", False), Queue.read(form.get("batches"))
        book.revision = revision_of(form)
        book.paused, book.off, book.voids = form.get("paused", False), form.get("off", []), form.get("voids", [])
        book.voided, book.skipped = form.get("voided", book.voided), form.get("skipped", book.skipped)
        book.marks, book.newcomers = Marks.read(form.get("units")), Newcomers(book.version)
        if book.cycles is not None:
            book.cycles.begun, book.cycles.next = form["cycles"]
        book._give_up_expired()
        book.observed = int(sum(identifier["state"]["observed"]))
        counts = [int(count) for count in identifier["state"]["assigned"]]
        for one in book.off:
            book.promises.release(one["arm"])
        book.promises.restore(form["promises"], counts, book.identifier.decided or book.final is not None)
        return book

    def row(self) -> dict[str, Any]:
        """The columns of ``experiments`` that change."""
        identifier, answer = changing(self.identifier), self.answer()
        sure = self.looks.confidence(self.identifier, self.observed) if self.final is None else self.final.confidence
        return {
            "version": self.version,
            "state": self._state_text(identifier),
            **answer,
            "closed": self.closed,
            "assigned": int(sum(identifier["state"]["assigned"])),
            "observed": int(sum(identifier["state"]["observed"])),
            "progress": 1.0 if answer["decided"] else self.looks.progress,
            "confidence": sure,
            "floors_kept": self._floors_kept(identifier),
            "looks_at": self.wakes_at,
            "paused": self.paused,
            "switched_off": encode([one["arm"] for one in self.off]) if self.off else None,
        }

    def _floors_kept(self, identifier: dict[str, Any]) -> bool | None:
        """Whether every guarantee is kept so far; None while the only guarantees are for the stop."""
        promises = self.promises
        if promises.on_every_path and not promises.kept_on_every_path():
            return False
        ended = self.decided and self.identifier.stopped  # by itself: closing forgoes what is still owed
        if ended and self.cut_short is None and (self.identifier.settle or not promises.on_every_path):
            return self._kept_at_the_end(identifier)
        return True if promises.on_every_path or promises.none else None

    def _kept_at_the_end(self, identifier: dict[str, Any]) -> bool:
        """Whether the shares are right to less than one trial: floors that sum to 1 cannot be met more exactly."""
        assigned, floors = identifier["state"]["assigned"], identifier["decision"]["floors"]
        trials = sum(assigned)
        skipped = [0] * len(floors) if self.identifier.settle else self.skipped  # settled are shares of all trials
        given = zip(floors, skipped, assigned, strict=True)
        lacking = [floor * (trials - one) - count for floor, one, count in given]
        return bool(max(lacking + self.promises.beyond(assigned)) < 1.0 - ROUNDING)

    def _state_text(self, identifier: dict[str, Any]) -> str:
        text = encode(
            {
                "identifier": identifier,
                "revision": self.revision,
                "version": self.version,
                "tickets": self.tickets,
                "next_point": self.looks.next_point,
                "expired": self.expired,
                "late": self.late,
                "closed": self.final.to_dict() if self.final is not None and self.closed else None,
                "promises": self.promises.to_dict(),
                **({} if self.report_after is None else {"held": self.held}),
                **self._drawn_state(),
                **({} if self.cycles is None else {"cycles": [self.cycles.begun, self.cycles.next]}),
                **({} if self.final is None or self.closed else {"ended": self.final.to_dict()}),
                **({"paused": True} if self.paused else {}),
                **({"off": self.off} if self.off else {}),
                **({"voids": self.voids, "voided": self.voided} if self.voids else {}),
                **({"units": self.marks.to_list()} if self.marks.any else {}),
                **({"skipped": self.skipped} if any(self.skipped) else {}),
            }
        )
        return sealed(text)

    def _drawn_state(self) -> dict[str, Any]:
        """Policies, in the form that earlier versions wrote: with a stop that needs them, the last one or None.

        And how far tickets were counted, where that is in order.
        """
        if self.drawn:
            state: dict[str, Any] = {"summed": self.summed, "published": self.policies[-1] if self.policies else None}
            state |= {"batches": self.queue.to_list()} if self.queue.last > 0.0 else {}
            return state | ({"behind": True} if self.behind else {})
        return {"policies": self.policies} if self.policies else {}

    # --- changing -----------------------------------------------------------------------------------------------

    def ask(self, n: int, available: list[int] | None = None) -> list[int]:
        """The arms of the next n tickets, of these or all arms; fewer if fewer trials are left."""
        arms: list[int] = self.identifier.ask(n, available)
        self._assigned(arms, available)
        return arms

    def draw(self, n: int) -> tuple[list[int], list[float | None]]:
        """The arms of the next n tickets, and their probabilities: None after the decision, when nothing is drawn."""
        trials: list[Trial] = self.identifier.ask_trial(n)
        arms = [cast(int, trial.arm) for trial in trials]
        self._assigned(arms)
        return arms, [trial.probability for trial in trials]

    def _assigned(self, arms: list[int], available: list[int] | None = None) -> None:
        self.tickets += len(arms)
        self.promises.assign(arms, available)
        if available is not None:
            for arm in set(range(len(self.labels))).difference(available):
                self.skipped[arm] += len(arms)

    def tell(self, arms: list[int], rewards: list[float], expired: list[int], late: int) -> None:
        """Count the rewards of tickets; ``expired`` are the arms of those whose lease had ended."""
        self.identifier.tell(arms, rewards)
        self._counted(len(arms))
        self.late += late
        for arm in expired:
            self.expired[arm] -= 1
        if expired:
            self._give_up_expired()

    def hold(self, rewards: list[float], late: int) -> None:
        """Keep rewards until their tickets are of age; ``late`` of them came after that, and are never counted."""
        for reward in rewards:
            self.identifier.family.statistic(reward)  # raises a ValueError for one that cannot be counted
        self.held += len(rewards) - late
        self.late += late

    def capped(self, reward: float) -> float:
        """What a held reward counts as: units may earn more than the family allows."""
        family = self.identifier.family
        if not isinstance(family, Bernoulli | Bounded):
            return reward
        return float(min(family.high, max(family.low, reward)))

    def count_due(self, arms: list[int], rewards: list[float | None]) -> None:
        """Count tickets that are of age, with their rewards; those that stay silent without a value for it expire."""
        pairs = list(zip(arms, rewards, strict=True))
        known = [(arm, reward) for arm, reward in pairs if reward is not None]
        if known:
            self.identifier.tell([arm for arm, _ in known], [reward for _, reward in known])
            self._counted(len(known))
        self.expire([arm for arm, reward in pairs if reward is None])

    def sum_next(self, drawn: list[tuple[int, float | None]], rewards: list[float]) -> None:
        """Count the next tickets in the order of assignment: their arms, probabilities and rewards."""
        procedure, family = self.identifier.procedure, self.identifier.family
        assert isinstance(procedure.open_trials, OrderedTrials)
        arms, chances = [arm for arm, _ in drawn], [chance for _, chance in drawn]
        count_next(procedure, procedure.open_trials, arms, [family.value(reward) for reward in rewards], chances)
        self.summed += len(drawn)
        self._counted(len(drawn))

    def publish(self, version: int, trials: int, seed: str | None, at: float, until: float | None) -> dict[str, Any]:
        """A policy by which trials are assigned elsewhere from now on; in older logs it has no seed and no end."""
        shares = self.identifier.policy(trials).tolist()
        draws = self.identifier.sampling.draws
        policy = {"version": version, "trials": trials, "probabilities": shares}
        policy |= {} if seed is None else {"seed": seed}
        policy |= {} if until is None else {"until": until}
        policy |= {} if draws else {"begun": self.identifier.trials}
        if self.drawn and not self.decided and self.report_after is not None and until is not None:
            policy |= {"counted_at": self.queue.publish(until + self.report_after), "tickets": self.tickets}
        self.policies = [*([] if draws else self.valid_policies(at)), policy]
        return policy

    def end_epoch(self) -> None:
        """Publish new policies from now on; those of an earlier version had no end, and were for one event only."""
        self.policies = [one for one in self.policies if "until" not in one]

    def tell_batch(
        self,
        pulls: list[int],
        sums: list[float],
        squares: list[float] | None = None,
        probabilities: list[float] | None = None,
    ) -> None:
        """Count trials that were assigned elsewhere."""
        if probabilities is not None and self.identifier.decided:  # they are no evidence, however they were drawn
            least = self.identifier.procedure.experiment.guarantees
            probabilities = (least + (1.0 - least.sum()) / least.size).tolist()  # type: ignore[union-attr]
        self.identifier.tell_batch(pulls, sums, squares, probabilities)
        self.promises.assign_batch(pulls)
        self._counted(sum(pulls))

    def hold_batch(
        self,
        policy: dict[str, Any],
        pulls: list[int],
        sums: list[float],
        squares: list[float] | None,
        late: bool,
    ) -> None:
        """Keep trials that were assigned elsewhere until all of their policy count; late ones never do."""
        procedure = self.identifier.procedure
        told = batches.expect(procedure, pulls, sums, squares, policy["probabilities"])
        self.promises.assign_batch(pulls)
        if late:
            self.late += sum(pulls)
            self.expired = [count + more for count, more in zip(self.expired, pulls, strict=True)]
            self._give_up_expired()
        else:
            self.held += sum(pulls)
            self.queue.add(Waiting(policy["version"], policy["counted_at"], policy["probabilities"], told))

    def count_waiting(self) -> Waiting:
        """Count the batches of the next policy."""
        first = self.queue.take()
        self.held -= first.trials
        batches.count_expected(self.identifier.procedure, first.told, first.probabilities)
        self._counted(first.trials)
        return first

    def _counted(self, rewards: int) -> None:
        self.observed += rewards
        if self.identifier.decided:
            self.promises.freeze()

    def expire(self, arms: list[int]) -> None:
        """Count tickets whose lease ended."""
        for arm in arms:
            self.expired[arm] += 1
        self._give_up_expired()

    def _give_up_expired(self) -> None:
        """The sampling rule expects no rewards of tickets that expired, or whose reward was taken out."""
        self.identifier.procedure.experiment.lose(np.array(self.expired, dtype=float) + self.voided)

    def switch_off(self, arm: int, reason: str) -> None:
        """Give out no further tickets of an arm; a ValueError, before anything changes, says why that cannot be."""
        trial = self.identifier.trials
        check_switch(self.identifier.procedure, tuple(self.labels), arm)
        self.identifier.switch_off(arm)
        self.promises.release(arm)
        self.end_epoch()
        self.off.append({"arm": arm, "trial": trial, "reason": reason})

    def void(self, arms: list[int], tally: Tally, held: int) -> None:
        """Take out the rewards of tickets of these arms, of which so many are ``held``; ``tally`` has the others.

        Where tickets are counted in order, all are held, and now count as silent.
        """
        self.held -= held
        if self.drawn:
            return
        self.observed -= len(arms) - held
        for arm in arms:
            self.voided[arm] += 1
        if held < len(arms):
            tally.doubts.warned = True  # as the ledger logs it
            rewards = {arm: tally.rewards(arm) for arm in sorted(set(arms))}
            self.identifier.procedure.replace_rewards(rewards, tally.doubts)
        self._give_up_expired()

    def decide_if_due(self, at: float) -> bool:
        """Decide if this is a time for it and the evidence is enough; returns whether it is a time for it."""
        due = self.decides_at is not None and self.cycles is not None and self.cycles.due(at)
        if due and self.cycles is not None:
            self.cycles.passed(at)
            self.identifier.look()
            if self.identifier.decided:
                self.promises.freeze()
        return due

    def end_if_due(self, at: float) -> bool:
        """Give out no further tickets if the deadline has passed; returns whether this is when that happens."""
        due = self.deadline is not None and at >= self.deadline and self.assigns
        if due:
            self.identifier.end("deadline")
        return due

    def close(self) -> None:
        """End it by hand."""
        self.closed = True
        self.finish("closed")

    def finish(self, ended_by: EndedBy) -> None:
        """Freeze the answer or the best guess, and the record of the guarantees; nothing changes if it is frozen."""
        if self.final is None:
            self.promises.freeze()
            now = self.identifier.status()
            by: EndedBy = "decision" if now.decided else self.ended_by or ended_by
            left = None if now.candidates is None else list(cast(tuple[int, ...], now.candidates))
            self.final = Final(cast(int | None, now.recommendation), now.decided, by, now.confidence, left)


def new_book(config: dict[str, Any]) -> Book:
    """The book of a new experiment; ``config`` must have every setting."""
    identifier = identifier_of(config)
    return Book(completed(config, identifier), identifier)
