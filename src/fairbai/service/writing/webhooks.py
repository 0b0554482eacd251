"""Delivering announcements: at least once, signed, with growing pauses after failures, and only to allowed hosts.

They are written in the same transactions as what they announce, so that none is lost, whatever happens to the server.
"""

import asyncio
import logging
import random
import socket
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from sqlalchemy import Row

from fairbai import __version__
from fairbai.service.domain import webhooks
from fairbai.service.storage import deliveries
from fairbai.service.storage.database import Database
from fairbai.service.storage.failures import TROUBLE, explained
from fairbai.service.storage.metrics import Metrics
from fairbai.service.storage.settings import ServerSettings

POLL = 1.0  # seconds between two searches
TIMEOUT = 10.0  # seconds for an attempt
CLAIM = 30.0  # seconds for which no other worker tries; more than the timeout
MAX_AT_ONCE = 20  # attempts per worker
FIRST_PAUSE, MAX_PAUSE = 5.0, 86_400.0  # seconds
MAX_ATTEMPTS = 20  # over three to six days
MAX_ERROR = 200  # characters

log = logging.getLogger("fairbai.service")


class Webhooks:
    """The deliveries of a worker.

    Args:
        database: Where announcements are.
        metrics: Where outcomes are counted.
        settings: Allowed hosts, and the secret.
    """

    def __init__(self, database: Database, metrics: Metrics, settings: ServerSettings) -> None:
        self._database, self._metrics = database, metrics
        self.hosts = webhooks.checked_hosts(settings.webhook_hosts)
        self._secret = settings.webhook_secret or ""
        if self.hosts and len(self._secret) < webhooks.MIN_SECRET:
            raise ValueError(f"webhooks need a secret of at least {webhooks.MIN_SECRET} characters to be signed with")
        self._tls: ssl.SSLContext | None = None
        self._resolving = ThreadPoolExecutor(MAX_AT_ONCE, "fairbai-webhooks")  # a slow name holds up no other work
        self._running: set[asyncio.Task[None]] = set()

    async def deliver_forever(self) -> None:
        """Deliver what is due, periodically; survives a database that is temporarily unavailable."""
        try:
            while self.hosts:
                try:
                    await self.deliver()
                except TROUBLE as error:
                    log.warning("webhooks: %s", explained(self._database.url, error))
                except Exception:  # whatever it is, others must still be delivered
                    log.exception("webhooks")
                await asyncio.sleep(POLL)
        finally:
            for task in self._running:
                task.cancel()
            self._resolving.shutdown(wait=False, cancel_futures=True)

    async def deliver(self) -> None:
        """Begin to deliver what is due."""
        if self._tls is None:  # reading the certificates takes long, and everybody would wait for it
            self._tls = await asyncio.to_thread(httpx.create_ssl_context, trust_env=False)
        now, free = time.time(), MAX_AT_ONCE - len(self._running)
        for row in await asyncio.to_thread(deliveries.claim, self._database, now, now + CLAIM, free):
            task = asyncio.create_task(self._attempt(row))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

    async def _attempt(self, row: Row[Any]) -> None:
        try:
            error = await asyncio.wait_for(self._send(row), TIMEOUT)
        except TimeoutError:
            error = f"no answer within {TIMEOUT:g} seconds"
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as failure:
            error = f"{type(failure).__name__}: {failure}"[:MAX_ERROR]
        await self._note(row, error)

    async def _note(self, row: Row[Any], error: str | None) -> None:
        """Keep what came of an attempt, and when the next one is."""
        now, attempts = time.time(), row.attempts + 1
        over = error is None or attempts >= MAX_ATTEMPTS
        outcome = "delivered" if error is None else "given_up" if over else "failed"
        then = None if over else now + pause(attempts)
        delivered_at = now if error is None else None
        try:
            await asyncio.to_thread(deliveries.settle, self._database, row.id, delivered_at, then, error)
        except TROUBLE as trouble:  # it will be delivered again
            log.warning("webhooks: %s", explained(self._database.url, trouble))
        self._metrics.announced(outcome)
        if error is not None:
            log.warning("experiment %s: webhook %s %s: %s", row.experiment, row.id, outcome.replace("_", " "), error)

    async def _send(self, row: Row[Any]) -> str | None:
        """Send an announcement; returns what is wrong with the answer."""
        webhooks.check_allowed(row.url, self.hosts)  # it may have been allowed when the experiment was created
        url = httpx.URL(row.url)
        headers = {
            "Content-Type": "application/json",
            "Host": url.netloc.decode("ascii"),
            "User-Agent": f"fairbai/{__version__}",
            "Fairbai-Delivery": row.id,
            "Fairbai-Event": row.kind,
            "Fairbai-Signature": webhooks.signature(self._secret, row.body, int(time.time())),
        }
        pinned = url.copy_with(host=await self._address(row.url, url))  # no name can change between check and call
        assert self._tls is not None
        async with (  # a client of its own, as a connection to an address may be that of another name
            httpx.AsyncClient(verify=self._tls, timeout=TIMEOUT, trust_env=False, follow_redirects=False) as client,
            client.stream(
                "POST", pinned, content=row.body.encode(), headers=headers, extensions={"sni_hostname": url.host}
            ) as response,
        ):
            return None if response.is_success else f"status {response.status_code}"

    async def _address(self, text: str, url: httpx.URL) -> str:
        """The IP address of a host; a ValueError if it must be public and is not."""
        port = url.port or (443 if url.scheme == "https" else 80)
        wanted = (url.host, port, 0, 0, socket.IPPROTO_TCP)
        found = await asyncio.get_running_loop().run_in_executor(self._resolving, socket.getaddrinfo, *wanted)
        addresses = [str(entry[4][0]) for entry in found]
        if webhooks.trust(text, self.hosts) != "name" and not all(map(webhooks.is_public, addresses)):
            raise ValueError(f"{url.host} has an address in a private network, and is allowed by a pattern only")
        return addresses[0]


def pause(attempts: int) -> float:
    """Seconds until the next attempt, after so many."""
    return float(min(MAX_PAUSE, FIRST_PAUSE * 2.0 ** (attempts - 1)) * random.uniform(0.5, 1.0))
