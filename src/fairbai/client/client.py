"""The blocking client; ``async_client`` has the same calls for asyncio."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

import httpx

from fairbai.client import calls
from fairbai.client.calls import Answer, Ticket


class Client:
    """Calls the service and waits for its answers; threads may share it.

    Args:
        url: The address of the service, such as ``http://localhost:8000``.
        key: An API key.
        timeout: Seconds per attempt.
        retries: How often to repeat a call that did not get through.
        transport: An httpx transport, for tests.

    Attributes:
        heads: The last head that ``tell``, ``report`` or ``close`` returned, by experiment: whoever keeps them can
            prove with ``fairbai verify --head`` that nothing was lost since.
    """

    def __init__(
        self,
        url: str,
        key: str,
        timeout: float = 30.0,
        retries: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(**calls.options(url, key, timeout), transport=transport)
        self._retries = retries
        self.heads = calls.Heads()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_connections()

    def close_connections(self) -> None:
        """Close the connections; experiments are not affected."""
        self._http.close()

    def _send(self, call: calls.Call) -> httpx.Response:
        for attempt in range(self._retries + 1):
            last, response = attempt == self._retries, None
            try:
                response = self._http.request(
                    call.method, call.path, json=call.json, params=call.parameters, headers=call.headers
                )
                if response.status_code not in calls.AGAIN or last:
                    return calls.checked(response)
            except httpx.TransportError:
                if last:
                    raise
            time.sleep(calls.wait(attempt, response))
        raise AssertionError("the last attempt returns or raises")

    def create(self, name: str, arms: Sequence[str] | None, delta: float, **options: Any) -> str:
        """Create an experiment; returns its id. The options are those of ``POST /v1/experiments``.

        A ``deadline`` may be a datetime with a zone. With ``factors``, ``arms`` is None.
        """
        return str(self._send(calls.create(name, arms, delta, options)).json()["id"])

    def ask(
        self,
        experiment: str,
        n: int = 1,
        serve_winner: bool = False,
        unit: str | None = None,
        available: Sequence[str] | None = None,
    ) -> list[Ticket]:
        """The next n trials; or the trial of a unit, such as a visitor, which keeps its arm and its ticket.

        After the end: the winner (or, without a decision, the arm that is ahead, with tickets called ``"leader"``) if
        ``serve_winner``, else raises ExperimentOverError. New units get the winner in any case. The list is empty for a
        unit that is not enrolled, or whose arm is switched off: show your default. ``available`` names the arms that
        may be chosen now, with the sampling rule ``virtual_queues``, and not with a unit.
        """
        return calls.tickets(self._send(calls.ask(experiment, n, serve_winner, unit, available)))

    def reward(self, experiment: str, unit: str, value: float, event_id: str) -> Answer:
        """What a unit earned, in an experiment with ``report_after``; the same event counts once."""
        return self.heads.keep(experiment, calls.answer(self._send(calls.reward(experiment, unit, value, event_id))))

    def erase_unit(self, experiment: str, unit: str) -> int:
        """Forget who a unit was; its trial stays. Returns how many were stored: 0 or 1."""
        return int(self._send(calls.erase_unit(experiment, unit)).json()["erased"])

    def tell(self, experiment: str, rewards: Mapping[str, float]) -> Answer:
        """Tell the rewards of tickets; all are counted, or none."""
        return self.heads.keep(experiment, calls.answer(self._send(calls.tell(experiment, rewards))))

    def report(
        self,
        experiment: str,
        batch: str,
        pulls: Mapping[str, int],
        sums: Mapping[str, float],
        squares: Mapping[str, float] | None = None,
        policy: int | None = None,
        seed: str | None = None,
    ) -> Answer:
        """Report trials that were assigned elsewhere; ``batch`` is a name that no other batch has.

        Which trials it has, and when it is reported, must not depend on rewards: a trial enters a batch when the time
        for its reward is over. With the stopping rule design_based, ``policy`` is the version of the policy that they
        were drawn from and, for bounded rewards, ``squares`` are the sums of the squared rewards; the batch counts with
        all others of its policy, at the ``counted_at`` of that. ``Tally.batch`` gives all of this; ``seed`` is that of
        the policy, by which a batch of a lost history is refused. Other stopping rules do not log policies, and notice
        nothing by the seed.
        """
        return self.heads.keep(
            experiment, calls.answer(self._send(calls.report(experiment, batch, pulls, sums, squares, policy, seed)))
        )

    def policy(self, experiment: str, trials: int = 1000) -> dict[str, Any]:
        """The share of every arm in the next trials."""
        found: dict[str, Any] = self._send(calls.get(experiment, "/policy", trials=trials)).json()
        return found

    def status(self, experiment: str) -> dict[str, Any]:
        """Everything that is known about an experiment."""
        found: dict[str, Any] = self._send(calls.get(experiment)).json()
        return found

    def experiments(self, limit: int = 100, after: str | None = None, flag: str | None = None) -> dict[str, Any]:
        """One page of the list of experiments, or of those with a flag, newest first.

        ``after`` is the ``next`` of the page before.
        """
        found: dict[str, Any] = self._send(calls.listing(limit, after, flag)).json()
        return found

    def head(self, experiment: str) -> str | None:
        """The number and the hash of the last event of the log; None if an earlier version wrote that event."""
        found: str | None = self._send(calls.get(experiment, "/head")).json()["head"]
        return found

    def history(self, experiment: str, points: int = 200) -> dict[str, Any]:
        """Shares, means and GLR over time."""
        found: dict[str, Any] = self._send(calls.get(experiment, "/history", points=points)).json()
        return found

    def events(self, experiment: str, format: str = "csv") -> bytes:
        """The whole log, as csv, ndjson or parquet."""
        return self._send(calls.get(experiment, "/events", format=format)).content

    def close(self, experiment: str) -> Answer:
        """End an experiment permanently; before its decision, it will never have one."""
        return self.heads.keep(experiment, calls.answer(self._send(calls.close(experiment))))

    def pause(self, experiment: str) -> Answer:
        """Give out no trials until it is resumed: ``ask`` raises ExperimentPausedError. Rewards are still counted."""
        return calls.answer(self._send(calls.pause(experiment)))

    def resume(self, experiment: str) -> Answer:
        """Give out trials again."""
        return calls.answer(self._send(calls.resume(experiment)))

    def switch_off(self, experiment: str, arm: str, reason: str) -> Answer:
        """Give out no further trials of an arm that is broken; the answer is then the best of the others."""
        return calls.answer(self._send(calls.switch_off(experiment, arm, reason)))

    def void(self, experiment: str, tickets: Sequence[str], reason: str) -> Answer:
        """Take out the rewards of tickets that were wrong; after a decision it is only recorded."""
        return calls.answer(self._send(calls.void(experiment, tickets, reason)))

    def delete(self, experiment: str) -> dict[str, Any]:
        """Delete an experiment with its whole log; returns the record of it that is kept."""
        found: dict[str, Any] = self._send(calls.delete(experiment)).json()
        return found
