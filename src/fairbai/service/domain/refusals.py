"""What the service says no to, and how it says so: problem details of RFC 9457."""

from typing import Any


class Refusal(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """A request that is not carried out; nothing has changed.

    Args:
        status: The HTTP status.
        title: What kind of refusal this is; the same words for the same kind.
        detail: What was expected and what came.
        headers: Headers of the answer.
        extra: Members of the answer beside those of RFC 9457.
    """

    def __init__(
        self, status: int, title: str, detail: str, headers: dict[str, str] | None = None, **extra: Any
    ) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail = status, title, detail
        self.headers = headers or {}
        self.extra = extra

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer."""
        return {"title": self.title, "status": self.status, "detail": self.detail, **self.extra}


def no_such_experiment(name: str) -> Refusal:
    """404: the experiment does not exist."""
    return Refusal(404, "No such experiment", f"experiment must be the id of an experiment, got {name!r}")


def invalid(detail: str) -> Refusal:
    """422: the request has the right form but cannot be."""
    return Refusal(422, "Invalid request", detail)


def unavailable(detail: str) -> Refusal:
    """503: not now."""
    return Refusal(503, "Not available", detail, {"Retry-After": "1"})


def failed() -> Refusal:
    """500: a bug of ours, of which the client sees nothing else."""
    return Refusal(500, "Internal error", "the request failed; the log of the server says why")
