"""A client in a process of its own, on the standard library alone, which writes down what the server acknowledged.

A request without an answer is sent again, as it was, until there is one: asks with their Idempotency-Key, tells with
their tickets. So the server must have done exactly what stands in the journal, whatever happened meanwhile. A client
that is not patient ends at the first request without an answer instead.
"""

import http.client
import json
import random
import sys
import time
from pathlib import Path
from typing import Any


class Client:
    """A client that does not give up.

    Args:
        order: What to do: port, key, experiment, name, how many pairs of ask and tell, and whether it is patient.
        journal: Where it writes what was acknowledged.
        end: A file that ends the client as soon as it exists.
    """

    def __init__(self, order: dict[str, Any], journal: Path, end: Path) -> None:
        self._order, self._journal, self._end = order, journal.open("w", buffering=1), end
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        """Ask and tell, and say some things twice."""
        rng = random.Random(self._order["name"])
        tickets: list[str] = []
        for number in range(self._order["pairs"]):
            if self._end.exists():
                return
            key = {"Idempotency-Key": f"{self._order['name']}-{number}"}
            status, answer = self._call("ask", {"n": rng.randint(1, 3)}, key)
            if status != 200:
                raise SystemExit(f"an ask must be answered with 200, got {status}: {answer}")
            new = [ticket["ticket"] for ticket in answer["tickets"]]
            self._write({"asked": {ticket["ticket"]: ticket["arm"] for ticket in answer["tickets"]}})
            if rng.random() < 0.9:  # the rest is never told
                again = rng.sample(tickets, min(len(tickets), rng.randint(0, 1)))
                self._tell(new + again, 200)
                self._write({"told": new})
                tickets += new
            if tickets and rng.random() < 0.1:
                self._tell([rng.choice(tickets)], 409, wrong=1.0)
            self._visit(f"visitor-{rng.randrange(number + 2)}")  # whom other clients know, too
        self._journal.close()

    def _visit(self, unit: str) -> None:
        status, answer = self._call("ask", {"unit": unit})
        if status != 200:
            raise SystemExit(f"an ask must be answered with 200, got {status}: {answer}")
        (ticket,) = answer["tickets"]
        self._write({"visited": {unit: [ticket["ticket"], ticket["arm"]]}})

    def _tell(self, tickets: list[str], expected: int, wrong: float = 0.0) -> None:
        rewards = [{"ticket": ticket, "reward": reward_of(ticket) + wrong} for ticket in tickets]
        status, body = self._call("tell", {"rewards": rewards})
        if status != expected:
            raise SystemExit(f"a tell must be answered with {expected}, got {status}: {body}")

    def _call(self, what: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
        """Send until there is an answer that is not about the state of the server."""
        path = f"/v1/experiments/{self._order['experiment']}/{what}"
        sent = {"Authorization": f"Bearer {self._order['key']}", **(headers or {})}
        while True:
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._order["port"], timeout=60)
            try:
                self._connection.request("POST", path, json.dumps(body), sent)
                response = self._connection.getresponse()
                data = response.read()
                if response.status < 500:
                    return response.status, json.loads(data)
            except (OSError, http.client.HTTPException):
                self._connection = None
            if not self._order["patient"]:
                raise SystemExit(0)
            time.sleep(0.05)

    def _write(self, line: dict[str, Any]) -> None:
        self._journal.write(json.dumps(line) + "\n")


def reward_of(ticket: str) -> float:
    """Every ticket has its reward, by its number, so that everybody can check it."""
    return int(ticket.partition("-")[0]) * 37 % 101 / 101


if __name__ == "__main__":
    Client(json.loads(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])).run()
