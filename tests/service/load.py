"""Load from several client processes, and whether the server did exactly what it acknowledged."""

import csv
import io
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.service.hammer import reward_of
from tests.service.server import Server

CLIENTS = 8
ROOT = Path(__file__).parents[2]


class Load:
    """Clients that ask and tell at the same time."""

    def __init__(
        self, server: Server, experiment: str, pairs: int, clients: int = CLIENTS, patient: bool = True
    ) -> None:
        self._end = server.directory / f"end-{experiment}"
        self._journals = [server.directory / f"journal-{experiment}-{number}" for number in range(clients)]
        order = {"port": server.port, "key": server.key, "experiment": experiment, "pairs": pairs, "patient": patient}
        self._processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.service.hammer",
                    json.dumps({**order, "name": path.name}),
                    path,
                    self._end,
                ],
                cwd=ROOT,
                stderr=subprocess.PIPE,
            )
            for path in self._journals
        ]

    def end(self) -> "Acknowledged":
        """Let the clients finish what they have begun; returns what they were told."""
        self._end.touch()
        return self.finish()

    def finish(self) -> "Acknowledged":
        """Wait until the clients have done all; returns what they were told."""
        for process in self._processes:
            _, errors = process.communicate(timeout=600)
            assert process.returncode == 0, errors.decode()
        return self.acknowledged()

    def acknowledged(self) -> "Acknowledged":
        """What the clients were told until now."""
        found = Acknowledged()
        for path in self._journals:
            for line in path.read_text().splitlines() if path.exists() else []:
                found.add(json.loads(line))
        return found

    def wait_for(self, tells: int) -> None:
        """Wait until so many more tells were acknowledged."""
        give_up, before = time.monotonic() + 300.0, self._tells()
        while self._tells() < before + tells:
            assert time.monotonic() < give_up
            assert any(process.poll() is None for process in self._processes)
            time.sleep(0.05)

    def _tells(self) -> int:
        return sum(path.read_text().count('"told"') for path in self._journals if path.exists())

    def kill(self) -> None:
        """End the clients, if they still run."""
        for process in self._processes:
            process.kill()
            process.wait()


@dataclass
class Acknowledged:
    """What clients were told, by the numbers of tickets, and by unit."""

    asked: dict[str, str] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    units: dict[str, list[str]] = field(default_factory=dict)
    visits: int = 0

    def add(self, line: dict[str, Any]) -> None:
        """A line of a journal. A ticket is given out once, and told once; a unit has one ticket, and so one arm."""
        for unit, given in line.get("visited", {}).items():
            self.visits += 1
            if unit not in self.units:
                self.units[unit] = given
                self.add({"asked": {given[0]: given[1]}})
            assert self.units[unit] == given
        for name, arm in line.get("asked", {}).items():
            ticket = name.partition("-")[0]  # its number, as in the log
            assert ticket not in self.asked
            self.asked[ticket] = arm
        for name in line.get("told", []):
            ticket = name.partition("-")[0]
            assert ticket not in self.told
            self.told.add(ticket)


@contextmanager
def load(server: Server, experiment: str, pairs: int, **options: Any) -> Iterator[Load]:
    """Clients that do not outlive the test."""
    running = Load(server, experiment, pairs, **options)
    try:
        yield running
    finally:
        running.kill()


@dataclass
class Log:
    """What the log of an experiment says."""

    asked: list[tuple[str, str]]
    told: list[tuple[str, float]]


def log_of(server: Server, experiment: str) -> Log:
    """Read the log of an experiment."""
    answer = server.call("GET", f"/v1/experiments/{experiment}/events?format=csv")
    assert answer.status == 200
    lines = list(csv.DictReader(io.StringIO(answer.body, newline="")))
    return Log(
        [(line["ticket"], line["arm"]) for line in lines if line["kind"] == "asked"],
        [(line["ticket"], float(line["reward"])) for line in lines if line["kind"] == "told"],
    )


def check_exact(server: Server, experiment: str, acknowledged: Acknowledged, floor: float = 0.2) -> None:
    """The server has what it acknowledged: all of it, once, and nothing else; and the floors hold at all times."""
    log = log_of(server, experiment)
    assert dict(log.asked) == acknowledged.asked
    assert [ticket for ticket, _ in log.asked] == [str(number) for number in range(len(log.asked))]
    assert dict(log.told) == {ticket: reward_of(ticket) for ticket in acknowledged.told}
    assert len(log.told) == len(acknowledged.told)
    assert server.call("GET", f"/v1/experiments/{experiment}").body["units"] == len(acknowledged.units)
    check_status(server, experiment, log)
    check_floors([arm for _, arm in log.asked], floor)


def check_status(server: Server, experiment: str, log: Log) -> None:
    """The status has the counts and means of the log."""
    status = server.call("GET", f"/v1/experiments/{experiment}").body
    asked, arms = Counter(arm for _, arm in log.asked), dict(log.asked)
    rewards: dict[str, list[float]] = {arm["arm"]: [] for arm in status["arms"]}
    for ticket, reward in log.told:
        rewards[arms[ticket]].append(reward)
    for arm in status["arms"]:
        own = rewards[arm["arm"]]
        assert (arm["assigned"], arm["observed"]) == (asked[arm["arm"]], len(own))
        assert arm["pending"] == asked[arm["arm"]] - len(own)
        assert abs(arm["mean"] - sum(own) / len(own)) < 1e-12 * len(own)


def check_floors(arms: list[str], floor: float, names: Sequence[str] = ()) -> None:
    """Fair top-two is never further behind than docs/sampling.md proves."""
    names = names or sorted(set(arms))
    behind = sum(1 / k for k in range(1, len(names))) - 0.5
    counts: Counter[str] = Counter()
    for trials, arm in enumerate(arms, 1):
        counts[arm] += 1
        assert min(counts[name] for name in names) >= floor * trials - behind - 1e-9
