"""The demo: an experiment with simulated live traffic, through the same operations as real calls."""

import asyncio
import logging
import random
import secrets
from dataclasses import dataclass, field

from sqlalchemy import not_, select

from fairbai.experiment.defaults import drawn_seed
from fairbai.service.domain.answers import Ticket
from fairbai.service.domain.asking import Ask
from fairbai.service.domain.book import new_book
from fairbai.service.domain.operations import Tell, read_ticket
from fairbai.service.domain.refusals import Refusal
from fairbai.service.domain.tickets import Claim
from fairbai.service.storage.database import Database
from fairbai.service.storage.deletions import PRESENT
from fairbai.service.storage.schema import experiments
from fairbai.service.writing.writer import Writer

NAME = "Demo: which button is clicked most?"
KEY_NAME = "fairbai serve --demo"
RATES = {"green": 0.15, "blue": 0.30, "red": 0.14, "orange": 0.16, "violet": 0.15}
DELTA, KAPPA, FLOOR = 0.01, 300.0, 0.15
TICK = 0.25  # seconds
# Visitors per second at the start, and how many more per second with every second. The decision needs 1,660 visitors,
# but one demo in a thousand ends after 630 and one in a hundred takes 2,960. As traffic grows, the times differ less:
# of 20,000 simulated demos 0.2 % decided within three minutes, half within five, 90 % within six, 99 % within seven.
PACE, GROWTH = 1.0, 0.03
WAIT = 1.5  # seconds until most visitors have clicked or left
LEASE = 20.0  # seconds within which a click is expected
LOST, LATE = 0.03, 0.02  # shares of visitors whose reward never comes, or comes too late

log = logging.getLogger("fairbai.service")


@dataclass
class Demo:
    """The traffic of the demo.

    Attributes:
        database: Where to look for a running demo.
        writer: Carries out the operations.
        experiment: Its id, once it has started.
    """

    database: Database
    writer: Writer
    experiment: str | None = None
    _random: random.Random = field(default_factory=random.Random)
    _said: bool = False  # whether the log has the decision
    _due: list[tuple[float, Claim | str, float]] = field(default_factory=list)  # when, which ticket, what reward

    async def begin(self) -> str:
        """Resume the running demo, or start one; returns its id."""
        self.experiment = await asyncio.to_thread(self._running) or await self._create()
        return self.experiment

    def _running(self) -> str | None:
        statement = select(experiments.c.id).where(experiments.c.name == NAME, not_(experiments.c.stopped), PRESENT)
        with self.database.reader.connect() as connection:
            found: str | None = connection.execute(statement.limit(1)).scalar_one_or_none()
        return found

    async def _create(self) -> str:
        config = {
            "name": NAME,
            "arms": list(RATES),
            "delta": DELTA,
            "family": "bernoulli",
            "floors": {"kind": "constant", "floor": FLOOR},
            "sampling": "fair_top_two",
            "stopping": {"kind": "mixture", "kappa": KAPPA},
            "settle": True,
            "seed": drawn_seed(),
            "lease": LEASE,
        }
        name, book = secrets.token_hex(8), new_book(config)
        await self.writer.submit(lambda ledger: ledger.create(name, book))
        return name

    async def play(self) -> None:
        """Send visitors until the experiment has stopped and the last click has arrived."""
        clock, going = asyncio.get_running_loop().time, True
        start = clock()
        while going or self._due:
            await asyncio.sleep(TICK)
            try:
                if going:
                    going = await self._visit(clock(), PACE + GROWTH * (clock() - start))
                await self._click(clock())
            except Refusal as refusal:
                if refusal.status == 404:  # somebody has deleted it
                    return
                log.warning("demo: %s", refusal.detail)  # the database is temporarily unavailable

    async def _visit(self, now: float, pace: float) -> bool:
        """Let some visitors arrive; returns whether there may be more."""
        count = sum(self._random.random() < pace * TICK / 20 for _ in range(20))
        if count == 0:
            return True
        try:
            answer = await self.writer.submit(Ask(str(self.experiment), None, count))
        except Refusal as refusal:
            if refusal.status == 409:  # it is paused; or it has stopped or was closed
                return bool(refusal.extra.get("paused"))
            raise
        for given in answer["tickets"]:
            self._expect(given, now)
        return True

    def _expect(self, given: Ticket, now: float) -> None:
        fate, clicks = self._random.random(), self._random.random() < RATES[given["arm"]]
        if fate < LOST:
            return
        wait = LEASE + 10.0 if fate < LOST + LATE else self._random.expovariate(1.0 / WAIT)
        self._due.append((now + wait, read_ticket(given["ticket"]), float(clicks)))

    async def _click(self, now: float) -> None:
        """Tell the rewards that are due."""
        ready = [entry for entry in self._due if entry[0] <= now]
        if ready:
            told = [(ticket, reward) for _, ticket, reward in ready]
            answer = await self.writer.submit(Tell(str(self.experiment), None, list(told)))
            if answer["decided"] and not self._said:
                self._said = True
                log.info("demo: decided: %r is the best arm, with %g %% confidence if every arm keeps its mean",
                         answer["recommendation"], 100.0 * (1.0 - DELTA))  # fmt: skip
            self._due = [entry for entry in self._due if entry[0] > now]
