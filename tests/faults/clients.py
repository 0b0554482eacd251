"""Clients that go on whatever happens, as real ones do: with our client, which repeats calls that were not answered.

What they asked for and were told is the history of a run.
"""

import itertools
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from fairbai.client import Client, calls
from tests.faults.history import Asked, Event, Kept, Paused, Seen, Strange, Told, Voided

TIMEOUT = 4.0  # seconds for an attempt
RETRIES = 4
TOGETHER = 6  # visits of the newest unit, about
MAX_VOIDS = 15  # of each client: an experiment takes 100
DELAYED = 60.0  # seconds in which a call that was not answered may still be carried out
SCALE = 2.0**-30  # rewards are means plus a small number of their own, exact in binary


class Experiments:
    """One experiment that goes on, and one that decides soon and is then followed by another.

    Args:
        create: Creates an experiment, given options.
    """

    def __init__(self, create: Callable[[str], str]) -> None:
        self._create, self._lock = create, threading.Lock()
        self.long, self.short = create("long"), create("short")
        self.all = [self.long, self.short]
        self.arrivals = 0  # of units, about: several clients count

    def follow(self, over: str) -> None:
        """Begin another short experiment, if this one is over."""
        with self._lock:
            if self.short == over:
                self.short = self._create("short")
                self.all.append(self.short)

    def visitor(self, rng: random.Random) -> int:
        """A unit: one that other clients may just be asking for, too, or an earlier one."""
        self.arrivals += 1
        newest = self.arrivals // TOGETHER
        return max(0, newest - rng.choice((0, 0, 0, 1, 2, rng.randrange(newest + 1))))

    def mean(self, experiment: str, arm: str) -> float:
        """The mean reward of an arm: the arms of the long experiment are equal."""
        return 1.0 if experiment != self.long and arm == "b" else 0.0


@dataclass
class Unsure:
    """Rewards that were sent and not acknowledged."""

    experiment: str
    rewards: dict[str, tuple[str, float]]  # by ticket: arm and reward
    shared: bool = False  # with other clients


class Caller(threading.Thread):
    """One client.

    Args:
        number: Which one it is.
        seed: The seed of the run.
        client: Sends the calls.
        experiments: What to take part in.
        once: Sends calls only once, to pause and to resume; None for clients that do not.
    """

    numbers = itertools.count(1)  # of rewards, over all clients of all runs

    def __init__(
        self, number: int, seed: int, client: Client, experiments: Experiments, once: Client | None = None
    ) -> None:
        super().__init__(name=f"caller-{number}", daemon=True)
        self._rng, self._client, self._experiments = random.Random(f"{seed} {number}"), client, experiments
        self._unsure: list[Unsure] = []
        self._known: list[Unsure] = []
        self._once, self._delayed = once, 0.0  # until when an earlier resume may end a later pause
        self._voids_left, self._voiding = MAX_VOIDS, list[Unsure]()
        self.history: list[Event] = []
        self.calls = 0
        self.end = threading.Event()

    def run(self) -> None:
        """Ask and tell until the end, and then repeat what was not acknowledged."""
        while not self.end.is_set():
            self._turn()
        for tells in list(self._unsure):
            self._tell(tells)
        for tells in list(self._voiding):
            self._void(tells)

    def _visit(self, visitor: int) -> None:
        """Ask for a unit, in the experiment that goes on, and tell the reward that all clients know it by."""
        experiment = self._experiments.long
        tickets = self._ask(experiment, calls.ask(experiment, 1, False, f"user-{visitor}"))
        if tickets and visitor % 2:
            ((ticket, arm),) = tickets
            self._tell(Unsure(experiment, {ticket: (arm, -visitor * SCALE)}, shared=True))

    def _turn(self) -> None:
        rng = self._rng
        if rng.random() < 0.4:
            self._visit(self._experiments.visitor(rng))
            return
        experiment = self._experiments.long if rng.random() < 0.5 else self._experiments.short
        call = calls.ask(experiment, rng.randint(1, 3), False)
        tickets = self._ask(experiment, call)
        if rng.random() < 0.2:  # as a client does that has not got the answer
            tickets = self._ask(experiment, call) or tickets
        if tickets and rng.random() < 0.9:  # the rest is never told
            self._tell(Unsure(experiment, {ticket: (arm, self._reward(experiment, arm)) for ticket, arm in tickets}))
        if self._known and rng.random() < 0.1:
            self._tell(rng.choice(self._known))
        if self._unsure and rng.random() < 0.3:
            self._tell(rng.choice(self._unsure))
        if self._voids_left and rng.random() < 0.05:
            self._void_one()
        if self._once is not None and rng.random() < 0.05:
            self._pause(self._once)

    def _void_one(self) -> None:
        """Void rewards that only this client knows, so that nobody tells them again."""
        own = [tells for tells in self._known if tells.experiment == self._experiments.long and not tells.shared]
        if own:
            tells = self._rng.choice(own)
            self._known.remove(tells)
            self._voiding.append(tells)
            self._voids_left -= 1
        if self._voiding:
            self._void(self._rng.choice(self._voiding))

    def _void(self, tells: Unsure) -> None:
        known = self._send(tells.experiment, calls.void(tells.experiment, list(tells.rewards), "a test")) is not None
        self.history += [Voided(tells.experiment, arm, reward, known) for arm, reward in tells.rewards.values()]
        if known:
            self._voiding.remove(tells)

    def _pause(self, client: Client) -> None:
        """Pause the experiment that goes on for a moment."""
        experiment, sound = self._experiments.long, time.monotonic() > self._delayed
        if self._send(experiment, calls.pause(experiment), client) is not None and sound:
            began = time.monotonic()
            time.sleep(self._rng.uniform(0.02, 0.2))
            self.history.append(Paused(experiment, began, time.monotonic()))
        self._resume(client)

    def _resume(self, client: Client) -> None:
        experiment = self._experiments.long
        while self._send(experiment, calls.resume(experiment), client) is None:
            self._delayed = time.monotonic() + DELAYED
            time.sleep(0.2)

    def _reward(self, experiment: str, arm: str) -> float:
        return self._experiments.mean(experiment, arm) + next(self.numbers) * SCALE

    def _ask(self, experiment: str, call: calls.Call) -> list[tuple[str, str]]:
        key, began = call.json.get("unit") or call.headers["Idempotency-Key"], time.monotonic()
        answer = self._send(experiment, call)
        times = began, time.monotonic()
        if answer is None or "tickets" not in answer:
            self.history += [Asked(experiment, key, call.json["n"], None, *times)] if answer is None else []
            if answer is not None and answer.get("paused") and self._once is not None:
                self._resume(self._once)  # a pause that was not answered was carried out late
            return []
        tickets = [(ticket["ticket"], ticket["arm"]) for ticket in answer["tickets"]]
        self.history.append(Asked(experiment, key, call.json["n"], tuple(tickets), *times))
        return tickets

    def _tell(self, tells: Unsure) -> None:
        rewards = {ticket: reward for ticket, (_, reward) in tells.rewards.items()}
        answer = self._send(tells.experiment, calls.tell(tells.experiment, rewards))
        known = answer is not None
        self.history += [Told(tells.experiment, arm, reward, known) for arm, reward in tells.rewards.values()]
        if known and tells in self._unsure:
            self._unsure.remove(tells)
        if tells not in self._known and tells not in self._unsure:
            (self._known if known else self._unsure).append(tells)

    def _send(self, experiment: str, call: calls.Call, client: Client | None = None) -> dict[str, Any] | None:
        """What the service says, also that the experiment is over or paused; None if it says nothing."""
        self.calls += 1
        began = time.monotonic()
        try:
            answer: dict[str, Any] = (client or self._client)._send(call).json()
        except calls.ExperimentOverError as over:
            answer = over.problem
            self._experiments.follow(experiment)
        except calls.ExperimentPausedError as paused:
            answer = paused.problem
        except calls.ServiceError as error:
            if error.status not in calls.AGAIN:
                self.history.append(Strange(f"{call.path}: {error}"))
            return None
        except httpx.TransportError:
            return None
        if answer.get("head") is not None:
            self.history.append(Kept(experiment, answer["head"]))
        if "decided" in answer:
            decision = answer["recommendation"] if answer["decided"] else None
            self.history.append(Seen(experiment, began, time.monotonic(), decision))
        return answer
