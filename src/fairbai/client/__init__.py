"""Clients of the service: ``Client`` blocks, ``AsyncClient`` is awaited. They need the extra ``service``.

Every call is idempotent, by an Idempotency-Key (create, ask), its tickets (tell) or the name of the batch (report), so
both clients repeat calls that did not get through.

Quick start::

    with Client("http://localhost:8000", key="fb_...") as client:
        experiment = client.create("button", ["green", "blue"], delta=0.05, family="bernoulli")
        (ticket,) = client.ask(experiment)
        client.tell(experiment, {ticket.ticket: 1.0})
"""

try:
    from fairbai.client.async_client import AsyncClient
    from fairbai.client.calls import Answer, ExperimentOverError, ExperimentPausedError, ServiceError, Ticket
    from fairbai.client.client import Client
    from fairbai.client.edge import Tally, assign
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    message = "fairbai.client needs httpx: pip install '.[service]' in a clone of the repository"
    raise ModuleNotFoundError(message, name=error.name) from error

__all__ = [
    "Answer",
    "AsyncClient",
    "Client",
    "ExperimentOverError",
    "ExperimentPausedError",
    "ServiceError",
    "Tally",
    "Ticket",
    "assign",
]
