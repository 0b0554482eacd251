"""The requests that a client sends, and how it reads the responses."""

import random
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
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

    After the end, ``ticket`` is ``"winner"``, or ``"leader"`` if there is no decision.

    Attributes:
        probability: With which the arm was drawn, if the stopping rule is design_based; else None.
        reason: Why a unit has it, such as "assigned", "returning" or "winner"; None without a unit.
    """

    probability: float | None
    reason: str | None

    def __new__(cls, ticket: str, arm: str, probability: float | None = None, reason: str | None = None) -> Self:
        """A pair, so that programs can unpack it."""
        self = super().__new__(cls, ticket, arm)
        self.probability, self.reason = probability, reason
        return self


@dataclass(frozen=True)
class Answer:
    """Where an experiment stands after a call.

    ``recommendation`` is the answer if ``decided``, and otherwise the arm that is ahead (or was, at the end).
    ``ended_by`` says why there are no more trials: "decision", "max_trials", "deadline" or "closed"; None while there
    are. ``counted_at`` is when a batch counts, if not at once. ``head`` is the number and the hash of the last event of
    the log, for ``fairbai verify --head``.
    """

    decided: bool
    stopped: bool
    recommendation: str | None
    accepted: int = 0
    counted: int = 0
    late: int = 0
    ignored: int = 0
    unknown: int = 0
    ended_by: str | None = None
    counted_at: str | None = None
    head: str | None = field(default=None, compare=False)  # two answers of different times may be the same


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
    """There are no more trials: the experiment has decided, used its budget, met its deadline, or was closed."""

    @property
    def decided(self) -> bool:
        """Whether there is an answer: false if the experiment ended without a decision."""
        return bool(self.problem.get("decided"))

    @property
    def recommendation(self) -> str | None:
        """The experiment's answer if it is ``decided``; else the arm that is ahead, or was at the end."""
        found: str | None = self.problem.get("recommendation")
        return found

    @property
    def ended_by(self) -> str | None:
        """Why there are no more trials: "decision", "max_trials", "deadline" or "closed"."""
        found: str | None = self.problem.get("ended_by")
        return found


class ExperimentPausedError(ServiceError):
    """There are no trials for now: the experiment is paused. Show your default, or the arm that is ahead."""

    @property
    def recommendation(self) -> str | None:
        """The arm that is ahead; None if there is none."""
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


def create(name: str, arms: Sequence[str] | None, delta: float, options: dict[str, Any]) -> Call:
    """Create an experiment."""
    form = {"name": name, "arms": None if arms is None else list(arms), "delta": delta, **options}
    if isinstance(deadline := form.get("deadline"), datetime):
        form["deadline"] = deadline.isoformat()
    return Call("POST", "/v1/experiments", form, headers=_new_key())


def ask(
    experiment: str, n: int, serve_winner: bool, unit: str | None = None, available: Sequence[str] | None = None
) -> Call:
    """Ask for trials."""
    if isinstance(available, str):
        raise ValueError(f"available must be a list of arms, got {available!r}")
    form = {"n": n, "serve_winner": serve_winner, **({} if available is None else {"available": list(available)})}
    if unit is not None:  # which makes the call safe to repeat
        return _post(experiment, "ask", {**form, "unit": unit})
    return _post(experiment, "ask", form, _new_key())


def tell(experiment: str, rewards: Mapping[str, float]) -> Call:
    """Tell rewards."""
    form = [{"ticket": ticket, "reward": float(reward)} for ticket, reward in rewards.items()]
    return _post(experiment, "tell", {"rewards": form})


def reward(experiment: str, unit: str, value: float, event_id: str) -> Call:
    """Tell what a unit earned."""
    return _post(experiment, "rewards", {"unit": unit, "value": float(value), "event_id": event_id})


def erase_unit(experiment: str, unit: str) -> Call:
    """Forget who a unit was."""
    return _post(experiment, "units/erase", {"unit": unit})


def report(
    experiment: str,
    batch: str,
    pulls: Mapping[str, int],
    sums: Mapping[str, float],
    squares: Mapping[str, float] | None,
    policy: int | None,
    seed: str | None = None,
) -> Call:
    """Report a batch."""
    form: dict[str, Any] = {"batch": batch, "pulls": dict(pulls), "sums": dict(sums)}
    form |= {} if squares is None else {"squares": dict(squares)}
    form |= {} if policy is None else {"policy": policy}
    form |= {} if seed is None else {"seed": seed}
    return _post(experiment, "batches", form)


def close(experiment: str) -> Call:
    """End an experiment permanently."""
    return _post(experiment, "close", None)


def pause(experiment: str) -> Call:
    """Give out no trials."""
    return _post(experiment, "pause", None)


def resume(experiment: str) -> Call:
    """Give out trials again."""
    return _post(experiment, "resume", None)


def switch_off(experiment: str, arm: str, reason: str) -> Call:
    """Give out no further trials of an arm."""
    return _post(experiment, "switch-off", {"arm": arm, "reason": reason})


def void(experiment: str, tickets: Sequence[str], reason: str) -> Call:
    """Take out rewards that were wrong."""
    return _post(experiment, "void", {"tickets": list(tickets), "reason": reason})


def delete(experiment: str) -> Call:
    """Delete an experiment."""
    return Call("DELETE", _place(experiment))


def _post(experiment: str, call: str, form: Any, headers: dict[str, str] | None = None) -> Call:
    return Call("POST", f"{_place(experiment)}/{call}", form, headers=headers or {})


def get(experiment: str, call: str = "", **parameters: Any) -> Call:
    """Read something about an experiment."""
    return Call("GET", f"{_place(experiment)}{call}", parameters=parameters)


def listing(limit: int, after: str | None, flag: str | None) -> Call:
    """Read one page of the list of experiments."""
    chosen = {"after": after, "flag": flag}
    given = {name: value for name, value in chosen.items() if value is not None}
    return Call("GET", "/v1/experiments", parameters={"limit": limit, **given})


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
    raise _kind(response.status_code, problem)(response.status_code, problem)


def _kind(status: int, problem: dict[str, Any]) -> type[ServiceError]:
    if status == 409 and problem.get("paused") is True:
        return ExperimentPausedError
    return ExperimentOverError if status == 409 and "stopped" in problem else ServiceError


def wait(attempt: int, response: httpx.Response | None) -> float:
    """Seconds until the next attempt: what the service asks for, or exponential backoff with jitter."""
    if response is not None and response.headers.get("Retry-After", "").isdigit():
        return min(MAX_WAIT, float(response.headers["Retry-After"]))
    return min(MAX_WAIT, 0.1 * 2.0**attempt) * random.uniform(0.5, 1.0)


def tickets(response: httpx.Response) -> list[Ticket]:
    """The tickets in a response."""
    body = response.json()
    reason = body.get("reason")
    return [Ticket(given["ticket"], given["arm"], given.get("probability"), reason) for given in body["tickets"]]


def answer(response: httpx.Response) -> Answer:
    """The members that this client knows; a newer service may send more."""
    body = response.json()
    return Answer(**{known.name: body[known.name] for known in fields(Answer) if known.name in body})


class Heads(dict[str, str]):
    """The last head of every experiment that a client has written to, as the service acknowledged it."""

    def keep(self, experiment: str, found: Answer) -> Answer:
        """Keep the head of an answer, unless there is one of a later event; returns the answer."""
        if found.head is not None and _sequence(found.head) >= _sequence(self.get(experiment, "0:")):
            self[experiment] = found.head
        return found


def _sequence(head: str) -> int:
    return int(head.partition(":")[0])


def options(url: str, key: str, timeout: float) -> dict[str, Any]:
    """The options of the HTTP client."""
    return {"base_url": url, "headers": {"Authorization": f"Bearer {key}"}, "timeout": timeout}
