"""Refusals: requests that are not carried out, told as problem details (RFC 9457)."""

from typing import Any


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """A request that is not carried out; nothing has changed.

    Args:
        status: The HTTP status.
        title: The kind of refusal, always in the same words.
        detail: What was expected and what came.
        headers: Headers of the response.
        extra: Members of the response beside those of RFC 9457.
    """

    def __init__(
        self, status: int, title: str, detail: str, headers: dict[str, str] | None = None, **extra: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail = status, title, detail
        self.headers = headers or {}
        self.extra = extra

    def to_dict(self) -> dict[str, Any]:
        """The body of the response."""
        return {"title": self.title, "status": self.status, "detail": self.detail, **self.extra}


def no_such_experiment(name: str) -> Refusal:
    """404: the experiment does not exist."""
    return Refusal(404, "No such experiment", f"No experiment has the id {name!r}")


def invalid(detail: str) -> Refusal:
    """422: the request is well-formed but invalid."""
    return Refusal(422, "Invalid request", detail)


def unavailable(detail: str) -> Refusal:
    """503: temporarily unavailable."""
    return Refusal(503, "Temporarily unavailable", detail, {"Retry-After": "1"})


def damaged() -> Refusal:
    """500: what is stored is not what the service wrote."""
    detail = (
        "The state of this experiment in the database is not the one that the service wrote, so nothing is said about "
        "it: compare it with its log (fairbai verify), and restore a backup"
    )
    return Refusal(500, "The stored state is damaged", detail)


def failed() -> Refusal:
    """500: a bug of ours; the details go to the log only."""
    return Refusal(500, "Internal error", "The request failed; the server's log says why")
