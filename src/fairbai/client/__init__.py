"""A client of the service, in two forms: ``Client`` waits, ``AsyncClient`` is awaited. Needs the extra ``service``.

Every call can be repeated without harm, so both repeat what failed on the way: a call is named by an Idempotency-Key
(create, ask), by its tickets (tell), or by the batch (report).

A first use::

    with Client("http://localhost:8000", key="fb_...") as client:
        experiment = client.create("button", ["green", "blue"], delta=0.05, family="bernoulli")
        (ticket,) = client.ask(experiment)
        client.tell(experiment, {ticket.ticket: 1.0})
"""

try:
    from fairbai.client.calls import Answer, ExperimentOverError, ServiceError, Ticket
    from fairbai.client.client import AsyncClient, Client
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise ModuleNotFoundError("fairbai.client needs httpx: pip install 'fairbai[service]'", name=error.name) from error

__all__ = ["Answer", "AsyncClient", "Client", "ExperimentOverError", "ServiceError", "Ticket"]
