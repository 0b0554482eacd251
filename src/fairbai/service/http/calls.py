"""What an endpoint says about itself: the role it needs, and the body it takes.

Every endpoint is checked against it, and OpenAPI shows it. Without a declaration, GET needs the role reader and every
other method the role admin.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from fastapi import Request
from starlette.types import Scope

from fairbai.service.domain.refusals import Refusal, no_such_experiment
from fairbai.service.http.forms import Form
from fairbai.service.storage.keys import ROLES

PREFIX = "/v1/experiments/"
ID = re.compile("[0-9a-f]{1,32}")
SAFE = ("GET", "HEAD", "OPTIONS")

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Call(NamedTuple):
    """What an endpoint needs.

    Attributes:
        role: The least role that may call it; None for the default of its method.
        body: The form that it takes.
        keyed: Whether it heeds an Idempotency-Key.
    """

    role: str | None = None
    body: type[Form] | None = None
    keyed: bool = False


def call(
    role: str | None = None, body: type[Form] | None = None, keyed: bool = False
) -> Callable[[Endpoint], Endpoint]:
    """Declare what an endpoint needs; written below the route's own decorator."""

    def declare(endpoint: Endpoint) -> Endpoint:
        vars(endpoint)["call"] = Call(role, body, keyed)
        return endpoint

    return declare


def call_of(endpoint: Any) -> Call:
    """What an endpoint declared."""
    found: Call = getattr(endpoint, "call", Call())
    return found


def role_of(endpoint: Any, method: str) -> str:
    """The least role that may call an endpoint."""
    return call_of(endpoint).role or ("reader" if method in SAFE else "admin")


def check_role(endpoint: Any, method: str, role: str) -> None:
    """Refuse a key whose role is too low."""
    needed = role_of(endpoint, method)
    if role != needed and ROLES.index(role) < ROLES.index(needed):
        raise Refusal(
            403, "Role too low", f"This call needs a key with the role {needed}, got one with the role {role}"
        )


async def check_project(scope: Scope, experiment: str) -> None:
    """Refuse an experiment of another project, in the same words as one that does not exist.

    One may be deleted again, which changes nothing.
    """
    project = scope["project"]
    if project is None:
        return
    found = await scope["app"].state.service.project_of(experiment, deleted=scope["method"] == "DELETE")
    if found != project:
        raise no_such_experiment(experiment)


async def admit(request: Request) -> None:
    """Check the role and the project of the key, and the form of an experiment's id.

    Some databases reject arbitrary text.
    """
    scope = request.scope
    if scope["role"] is not None:  # which only addresses that are open to everybody have
        check_role(scope["endpoint"], scope["method"], scope["role"])
    experiment = scope["path_params"].get("experiment", "")
    if (experiment or scope["path"].startswith(PREFIX)) and not ID.fullmatch(experiment):
        raise no_such_experiment(experiment)
    if experiment:
        await check_project(scope, experiment)
