"""A client of the service, in two forms: ``Client`` waits, ``AsyncClient`` is awaited. Needs the extra ``service``.

Every call can be repeated without harm, so both repeat what failed on the way: a call is named by an Idempotency-Key
(create, ask), by its tickets (tell), or by the batch (report).

A first use::

    with Client("http://localhost:8000", key="fb_...") as client:
        experiment = client.create("button", ["green", "blue"], delta=0.05, family="bernoulli")
        (ticket,) = client.ask(experiment)
        client.tell(experiment, {ticket.ticket: 1.0})
"""

import asyncio
import random
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import httpx

AGAIN = (429, 500, 502, 503, 504, 507)  # statuses after which a call is repeated
LONGEST_WAIT = 10.0  # seconds


class Ticket(NamedTuple):
    """A trial to make: show ``arm``, then tell the reward with ``ticket``."""

    ticket: str
    arm: str


@dataclass(frozen=True)
class Answer:
    """Where an experiment stands after a call."""

    decided: bool
    stopped: bool
    recommendation: str | None
    accepted: int = 0
    counted: int = 0
    late: int = 0


class ServiceError(Exception):
    """The service refused a call; ``problem`` is what it said.

    Attributes:
        status: The HTTP status.
        problem: The members of the problem details.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status}: {problem.get('title', 'error')}: {problem.get('detail', '')}")
        self.status, self.problem = status, problem


class ExperimentOverError(ServiceError):
    """There is nothing more to ask: the experiment has stopped, or was closed."""

    @property
    def recommendation(self) -> str | None:
        """Its answer."""
        found: str | None = self.problem.get("recommendation")
        return found


@dataclass(frozen=True)
class _Call:
    """A request that can be sent more than once."""

    method: str
    path: str
    json: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


def _create(name: str, arms: Sequence[str], delta: float, options: dict[str, Any]) -> _Call:
    form = {"name": name, "arms": list(arms), "delta": delta, **options}
    return _Call("POST", "/v1/experiments", form, headers=_new_key())


def _ask(experiment: str, n: int, serve_winner: bool) -> _Call:
    form = {"n": n, "serve_winner": serve_winner}
    return _post(experiment, "ask", form, _new_key())


def _tell(experiment: str, rewards: Mapping[str, float]) -> _Call:
    form = [{"ticket": ticket, "reward": float(reward)} for ticket, reward in rewards.items()]
    return _post(experiment, "tell", {"rewards": form})


def _report(experiment: str, batch: str, pulls: Mapping[str, int], sums: Mapping[str, float]) -> _Call:
    form = {"batch": batch, "pulls": dict(pulls), "sums": dict(sums)}
    return _post(experiment, "batches", form)


def _close(experiment: str) -> _Call:
    return _post(experiment, "close", None)


def _post(experiment: str, call: str, form: Any, headers: dict[str, str] | None = None) -> _Call:
    return _Call("POST", f"{_place(experiment)}/{call}", form, headers=headers or {})


def _get(experiment: str, call: str = "", **parameters: Any) -> _Call:
    return _Call("GET", f"{_place(experiment)}{call}", parameters=parameters)


def _list(limit: int, after: str | None) -> _Call:
    parameters = {"limit": limit} if after is None else {"limit": limit, "after": after}
    return _Call("GET", "/v1/experiments", parameters=parameters)


def _place(experiment: str) -> str:
    """The path of an experiment, whatever was given as its id: another path would be another call."""
    return f"/v1/experiments/{quote(experiment, safe='')}"


def _new_key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def _checked(response: httpx.Response) -> httpx.Response:
    """The response, if it is a success; else what the service said, as an exception."""
    if response.is_success:
        return response
    try:
        problem = response.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    over = response.status_code == 409 and "stopped" in problem
    raise (ExperimentOverError if over else ServiceError)(response.status_code, problem)


def _wait(attempt: int, response: httpx.Response | None) -> float:
    """Seconds until the next attempt: what the service asks for, or longer and longer, at random."""
    if response is not None and response.headers.get("Retry-After", "").isdigit():
        return min(LONGEST_WAIT, float(response.headers["Retry-After"]))
    return min(LONGEST_WAIT, 0.1 * 2.0**attempt) * random.uniform(0.5, 1.0)


def _tickets(response: httpx.Response) -> list[Ticket]:
    return [Ticket(given["ticket"], given["arm"]) for given in response.json()["tickets"]]


def _answer(response: httpx.Response) -> Answer:
    """The members that this client knows; a newer service may send more."""
    body = response.json()
    return Answer(**{known.name: body[known.name] for known in fields(Answer) if known.name in body})


def _options(url: str, key: str, timeout: float) -> dict[str, Any]:
    return {"base_url": url, "headers": {"Authorization": f"Bearer {key}"}, "timeout": timeout}


class Client:
    """Calls the service and waits for its answers; may be shared by threads.

    Args:
        url: Where the service is, such as ``http://localhost:8000``.
        key: An API key.
        timeout: Seconds that one attempt may take.
        retries: How often a call is repeated that did not get through.
        transport: Another way to send requests than a connection, for tests.
    """

    def __init__(
        self,
        url: str,
        key: str,
        timeout: float = 30.0,
        retries: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(**_options(url, key, timeout), transport=transport)
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close_connections()

    def close_connections(self) -> None:
        """Close the connections; the experiments go on."""
        self._http.close()

    def _send(self, call: _Call) -> httpx.Response:
        for attempt in range(self._retries + 1):
            last, response = attempt == self._retries, None
            try:
                response = self._http.request(
                    call.method, call.path, json=call.json, params=call.parameters, headers=call.headers
                )
                if response.status_code not in AGAIN or last:
                    return _checked(response)
            except httpx.TransportError:
                if last:
                    raise
            time.sleep(_wait(attempt, response))
        raise AssertionError("the last attempt returns or raises")

    def create(self, name: str, arms: Sequence[str], delta: float, **options: Any) -> str:
        """Begin an experiment; returns its id. The options are those of ``POST /v1/experiments``."""
        return str(self._send(_create(name, arms, delta, options)).json()["id"])

    def ask(self, experiment: str, n: int = 1, serve_winner: bool = False) -> list[Ticket]:
        """The next n trials; ExperimentOverError after the stop, or with ``serve_winner`` the winner."""
        return _tickets(self._send(_ask(experiment, n, serve_winner)))

    def tell(self, experiment: str, rewards: Mapping[str, float]) -> Answer:
        """The rewards of tickets; all are taken, or none."""
        return _answer(self._send(_tell(experiment, rewards)))

    def report(self, experiment: str, batch: str, pulls: Mapping[str, int], sums: Mapping[str, float]) -> Answer:
        """Trials that were assigned elsewhere; ``batch`` is a name that no other batch has."""
        return _answer(self._send(_report(experiment, batch, pulls, sums)))

    def policy(self, experiment: str, trials: int = 1000) -> dict[str, Any]:
        """The share of every arm in the next trials."""
        found: dict[str, Any] = self._send(_get(experiment, "/policy", trials=trials)).json()
        return found

    def status(self, experiment: str) -> dict[str, Any]:
        """All that is known of an experiment."""
        found: dict[str, Any] = self._send(_get(experiment)).json()
        return found

    def experiments(self, limit: int = 100, after: str | None = None) -> dict[str, Any]:
        """A page of the list of experiments, newest first; ``after`` is the ``next`` of the page before."""
        found: dict[str, Any] = self._send(_list(limit, after)).json()
        return found

    def history(self, experiment: str, points: int = 200) -> dict[str, Any]:
        """Shares, means and GLR over time."""
        found: dict[str, Any] = self._send(_get(experiment, "/history", points=points)).json()
        return found

    def events(self, experiment: str, format: str = "csv") -> bytes:
        """The whole log, as csv, ndjson or parquet."""
        return self._send(_get(experiment, "/events", format=format)).content

    def close(self, experiment: str) -> Answer:
        """Stop an experiment by hand, for ever."""
        return _answer(self._send(_close(experiment)))


class AsyncClient:
    """Calls the service from an event loop; its methods are those of ``Client``, awaited.

    Args:
        url: Where the service is, such as ``http://localhost:8000``.
        key: An API key.
        timeout: Seconds that one attempt may take.
        retries: How often a call is repeated that did not get through.
        transport: Another way to send requests than a connection, for tests.
    """

    def __init__(
        self,
        url: str,
        key: str,
        timeout: float = 30.0,
        retries: int = 5,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(**_options(url, key, timeout), transport=transport)
        self._retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close_connections()

    async def close_connections(self) -> None:
        """Close the connections; the experiments go on."""
        await self._http.aclose()

    async def _send(self, call: _Call) -> httpx.Response:
        for attempt in range(self._retries + 1):
            last, response = attempt == self._retries, None
            try:
                response = await self._http.request(
                    call.method, call.path, json=call.json, params=call.parameters, headers=call.headers
                )
                if response.status_code not in AGAIN or last:
                    return _checked(response)
            except httpx.TransportError:
                if last:
                    raise
            await asyncio.sleep(_wait(attempt, response))
        raise AssertionError("the last attempt returns or raises")

    async def create(self, name: str, arms: Sequence[str], delta: float, **options: Any) -> str:
        """Begin an experiment; returns its id. The options are those of ``POST /v1/experiments``."""
        return str((await self._send(_create(name, arms, delta, options))).json()["id"])

    async def ask(self, experiment: str, n: int = 1, serve_winner: bool = False) -> list[Ticket]:
        """The next n trials; ExperimentOverError after the stop, or with ``serve_winner`` the winner."""
        return _tickets(await self._send(_ask(experiment, n, serve_winner)))

    async def tell(self, experiment: str, rewards: Mapping[str, float]) -> Answer:
        """The rewards of tickets; all are taken, or none."""
        return _answer(await self._send(_tell(experiment, rewards)))

    async def report(self, experiment: str, batch: str, pulls: Mapping[str, int], sums: Mapping[str, float]) -> Answer:
        """Trials that were assigned elsewhere; ``batch`` is a name that no other batch has."""
        return _answer(await self._send(_report(experiment, batch, pulls, sums)))

    async def policy(self, experiment: str, trials: int = 1000) -> dict[str, Any]:
        """The share of every arm in the next trials."""
        found: dict[str, Any] = (await self._send(_get(experiment, "/policy", trials=trials))).json()
        return found

    async def status(self, experiment: str) -> dict[str, Any]:
        """All that is known of an experiment."""
        found: dict[str, Any] = (await self._send(_get(experiment))).json()
        return found

    async def experiments(self, limit: int = 100, after: str | None = None) -> dict[str, Any]:
        """A page of the list of experiments, newest first; ``after`` is the ``next`` of the page before."""
        found: dict[str, Any] = (await self._send(_list(limit, after))).json()
        return found

    async def history(self, experiment: str, points: int = 200) -> dict[str, Any]:
        """Shares, means and GLR over time."""
        found: dict[str, Any] = (await self._send(_get(experiment, "/history", points=points))).json()
        return found

    async def events(self, experiment: str, format: str = "csv") -> bytes:
        """The whole log, as csv, ndjson or parquet."""
        return (await self._send(_get(experiment, "/events", format=format))).content

    async def close(self, experiment: str) -> Answer:
        """Stop an experiment by hand, for ever."""
        return _answer(await self._send(_close(experiment)))
