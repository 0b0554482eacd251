"""The requests that a client sends, and how it reads the responses."""

import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import httpx

AGAIN = (429, 500, 502, 503, 504, 507)  # statuses after which to repeat a call
MAX_WAIT = 10.0  # seconds


class _Pair(NamedTuple):
    ticket: str
    arm: str


class Ticket(_Pair):
    """A trial to run: show ``arm``, then tell its reward with ``ticket``. It is the pair of the two.

    After the stop, ``ticket`` is ``"winner"``, or ``"leader"`` if the experiment was closed without a decision.

    Attributes:
        probability: With which the arm was drawn, if the stopping rule is design_based; else None.
    """

    probability: float | None

    def __new__(cls, ticket: str, arm: str, probability: float | None = None) -> Self:
        """A pair, so that programs can unpack it."""
        self = super().__new__(cls, ticket, arm)
        self.probability = probability
        return self


@dataclass(frozen=True)
class Answer:
    """Where an experiment stands after a call.

    ``recommendation`` is the answer if ``decided``, and otherwise the arm that is ahead (or was, at the close).
    """

    decided: bool
    stopped: bool
    recommendation: str | None
    accepted: int = 0
    counted: int = 0
    late: int = 0


class ServiceError(Exception):
    """The service refused a call.

    Attributes:
        status: The HTTP status.
        problem: The problem details that it sent.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(f"{status}: {problem.get('title', 'error')}: {problem.get('detail', '')}")
        self.status, self.problem = status, problem


class ExperimentOverError(ServiceError):
    """The experiment has stopped or was closed; there are no more trials."""

    @property
    def decided(self) -> bool:
        """Whether there is an answer: false if the experiment was closed without a decision."""
        return bool(self.problem.get("decided"))

    @property
    def recommendation(self) -> str | None:
        """The experiment's answer if it is ``decided``; else the arm that was ahead when it was closed."""
        found: str | None = self.problem.get("recommendation")
        return found


@dataclass(frozen=True)
class Call:
    """A request that can safely be sent more than once."""

    method: str
    path: str
    json: Any = None
    parameters: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


def create(name: str, arms: Sequence[str], delta: float, options: dict[str, Any]) -> Call:
    """Create an experiment."""
    form = {"name": name, "arms": list(arms), "delta": delta, **options}
    return Call("POST", "/v1/experiments", form, headers=_new_key())


def ask(experiment: str, n: int, serve_winner: bool) -> Call:
    """Ask for trials."""
    form = {"n": n, "serve_winner": serve_winner}
    return _post(experiment, "ask", form, _new_key())


def tell(experiment: str, rewards: Mapping[str, float]) -> Call:
    """Tell rewards."""
    form = [{"ticket": ticket, "reward": float(reward)} for ticket, reward in rewards.items()]
    return _post(experiment, "tell", {"rewards": form})


def report(
    experiment: str,
    batch: str,
    pulls: Mapping[str, int],
    sums: Mapping[str, float],
    squares: Mapping[str, float] | None,
    policy: int | None,
) -> Call:
    """Report a batch."""
    form: dict[str, Any] = {"batch": batch, "pulls": dict(pulls), "sums": dict(sums)}
    form |= {} if squares is None else {"squares": dict(squares)}
    form |= {} if policy is None else {"policy": policy}
    return _post(experiment, "batches", form)


def close(experiment: str) -> Call:
    """End an experiment permanently."""
    return _post(experiment, "close", None)


def _post(experiment: str, call: str, form: Any, headers: dict[str, str] | None = None) -> Call:
    return Call("POST", f"{_place(experiment)}/{call}", form, headers=headers or {})


def get(experiment: str, call: str = "", **parameters: Any) -> Call:
    """Read something about an experiment."""
    return Call("GET", f"{_place(experiment)}{call}", parameters=parameters)


def listing(limit: int, after: str | None) -> Call:
    """Read one page of the list of experiments."""
    parameters = {"limit": limit} if after is None else {"limit": limit, "after": after}
    return Call("GET", "/v1/experiments", parameters=parameters)


def _place(experiment: str) -> str:
    """The path of an experiment; whatever was given as its id cannot lead to another call."""
    return f"/v1/experiments/{quote(experiment, safe='')}"


def _new_key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def checked(response: httpx.Response) -> httpx.Response:
    """The response if it is a success; else raises what the service said."""
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


def wait(attempt: int, response: httpx.Response | None) -> float:
    """Seconds until the next attempt: what the service asks for, or exponential backoff with jitter."""
    if response is not None and response.headers.get("Retry-After", "").isdigit():
        return min(MAX_WAIT, float(response.headers["Retry-After"]))
    return min(MAX_WAIT, 0.1 * 2.0**attempt) * random.uniform(0.5, 1.0)


def tickets(response: httpx.Response) -> list[Ticket]:
    """The tickets in a response."""
    found = response.json()["tickets"]
    return [Ticket(given["ticket"], given["arm"], given.get("probability")) for given in found]


def answer(response: httpx.Response) -> Answer:
    """The members that this client knows; a newer service may send more."""
    body = response.json()
    return Answer(**{known.name: body[known.name] for known in fields(Answer) if known.name in body})


def options(url: str, key: str, timeout: float) -> dict[str, Any]:
    """The options of the HTTP client."""
    return {"base_url": url, "headers": {"Authorization": f"Bearer {key}"}, "timeout": timeout}
