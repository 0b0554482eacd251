"""An HTTP load generator, in its own process: ``python -m benchmarks.http_load '{"port": 8000, ...}'``.

It speaks just enough HTTP/1.1 to keep connections busy: each sends its next request as soon as it has a response. It
therefore takes a fraction of the time of a Python server, and prints that fraction as a check.
"""

import asyncio
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from typing import Any

import uvloop

LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
TICKET = re.compile(rb'"ticket":"((\d+)[^"]*)"')
WARM_UP = 0.5  # seconds that do not count


class Load:
    """The load, and what is measured.

    Args:
        order: The port, key, path, kind of requests, number of connections, and duration in seconds.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self.order = order
        self.latencies: list[float] = []
        self.answered = 0  # also while it warms up
        self.begin = time.perf_counter() + WARM_UP
        self.end = self.begin + order["seconds"]
        self.done = asyncio.Event()

    def talk(self, number: int) -> Any:
        """The conversation of a connection: yields requests, and is sent the bodies of the responses."""
        talks = {"pairs": self._pairs, "asks": self._asks, "visits": self._visits, "tells": self._tells}
        return {**talks, "flags": self._flags, "batches": self._batches}[self.order["talk"]](number)

    def _request(self, call: str, body: bytes) -> bytes:
        head = (
            f"POST {self.order['path']}{call} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.order['key']}"
        )
        return f"{head}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    def _pairs(self, _: int) -> Any:
        """Ask for tickets and tell their rewards."""
        ask = self._request("/ask", b'{"n":%d}' % self.order["n"])
        while True:
            tickets = TICKET.findall((yield ask))
            rewards = [
                b'{"ticket":"%b","reward":%d.0}' % (ticket, int(number) * 40503 >> 8 & 1) for ticket, number in tickets
            ]
            yield self._request("/tell", b'{"rewards":[%b]}' % b",".join(rewards))

    def _asks(self, _: int) -> Any:
        """Ask for one ticket at a time."""
        request = self._request("/ask", b'{"n":1}')
        while True:
            yield request

    def _visits(self, number: int) -> Any:
        """Ask for units."""
        for unit in self._units(number):
            yield self._request("/ask", b'{"unit":"%b"}' % unit)

    def _flags(self, number: int) -> Any:
        """Evaluate a flag for units."""
        for unit in self._units(number):
            yield self._request("", b'{"context":{"targetingKey":"%b"}}' % unit)

    def _units(self, number: int) -> Iterator[bytes]:
        """Units: so many that come again, or new ones."""
        units, rng, start = self.order["units"], random.Random(number), time.time_ns()
        while True:
            start += 1
            yield b"user-%d" % rng.randrange(units) if units else b"new-%d-%d" % (number, start)

    def _tells(self, _: int) -> Any:
        """Tell the same reward repeatedly, to a server that accepts it."""
        request = self._request("/tell", b'{"rewards":[{"ticket":"12345","reward":1.0}]}')
        while True:
            yield request

    def _batches(self, number: int) -> Any:
        """Report batches of trials, each with a unique name."""
        pulls = {str(arm): self.order["n"] // 10 for arm in range(10)}
        sums = {arm: count / 2 for arm, count in pulls.items()}
        start = time.time_ns()
        while True:
            start += 1
            yield self._request(
                "/batches", json.dumps({"batch": f"{number}-{start}", "pulls": pulls, "sums": sums}).encode()
            )


class Connection(asyncio.Protocol):
    """A connection with one request in flight at a time."""

    def __init__(self, load: Load, number: int) -> None:
        self._load = load
        self._talk = load.talk(number)
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send(next(self._talk))

    def _send(self, request: bytes) -> None:
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        found = LENGTH.search(self._buffer, 0, head + 2) if head >= 0 else None
        if found is None or len(self._buffer) < head + 4 + int(found[1]):
            return
        if not self._buffer.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"an answer must be 200, got {self._buffer.decode()}")
        now = time.perf_counter()
        self._load.answered += 1
        if now >= self._load.end and self._load.latencies:
            self._load.done.set()
            return
        if self._sent >= self._load.begin:  # a short run on a busy machine waits for one answer at least
            self._load.latencies.append(now - self._sent)
        body, self._buffer = self._buffer[head + 4 :], b""
        self._send(self._talk.send(body))


async def run(order: dict[str, Any]) -> dict[str, float]:
    """Requests per second, the 50th and 99th percentile of their seconds, the share of a core used here, answers."""
    load, loop = Load(order), asyncio.get_running_loop()
    for number in range(order["connections"]):
        await loop.create_connection(lambda number=number: Connection(load, number), "127.0.0.1", order["port"])
    spent = time.process_time()
    await load.done.wait()
    ordered = sorted(load.latencies)
    return {
        "rate": len(ordered) / order["seconds"],
        "median": ordered[len(ordered) // 2],
        "p99": ordered[int(len(ordered) * 0.99)],
        "own": (time.process_time() - spent) / (order["seconds"] + WARM_UP),
        "answered": load.answered,
    }


if __name__ == "__main__":
    print(json.dumps(uvloop.run(run(json.loads(sys.argv[1])))))
