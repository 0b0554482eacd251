"""Visitors of the pages: browser contexts with a key that record everything that goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from fairbai.client import Client
from fairbai.service.storage.database import open_database
from fairbai.service.storage.keys import create_key, find_keys, key_id
from fairbai.service.storage.sessions import open_session
from tests.service.server import Server

TIMEOUT = 60_000  # ms: on a busy machine


@dataclass
class Visitor:
    """A browser page and what went wrong in it.

    Attributes:
        page: The page.
        base: The address of the service.
        expected: Words in the errors that the test provokes.
        errors: Console errors and warnings: scripts, policies, failed requests.
        foreign: Requests to other hosts.
    """

    page: Page
    base: str
    expected: tuple[str, ...] = ()
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.context.on("request", lambda request: self._request(request.url))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(word in message.text for word in self.expected):
            self.errors.append(message.text)

    def _request(self, url: str) -> None:
        if not url.startswith((f"{self.base}/", "data:", "blob:", "file:")):
            self.foreign.append(url)

    def open(self, path: str) -> Page:
        self.page.goto(self.base + path)
        return self.page

    def check(self) -> None:
        """Check that nothing went wrong and no request left the host."""
        assert self.foreign == []
        assert self.errors == []


class Site:
    """A service and a browser, shared by all tests."""

    def __init__(self, server: Server, browser: Browser) -> None:
        self.server, self.browser = server, browser
        self.base = server.address
        self.client = Client(self.base, server.key)
        self.keys = {"admin": server.key}
        self._contexts: list[BrowserContext] = []

    def key(self, role: str) -> str:
        if role not in self.keys:
            database = open_database(self.server.url)
            self.keys[role] = create_key(database, role, f"the {role}")
            database.close()
        return self.keys[role]

    def session(self, role: str) -> str:
        """The token of a new session."""
        name = key_id(self.key(role))
        database = open_database(self.server.url)
        try:
            return open_session(database, find_keys(database, [name])[name], 3600.0)
        finally:
            database.close()

    def visitor(
        self, role: str | None = "admin", width: int = 1280, expected: tuple[str, ...] = (), **more: Any
    ) -> Visitor:
        """A visitor who is signed in, unless the role is None."""
        context = self.browser.new_context(viewport={"width": width, "height": 800}, accept_downloads=True, **more)
        self._contexts.append(context)
        context.set_default_timeout(TIMEOUT)
        if role is not None:
            context.add_cookies([{"name": "fairbai", "value": self.session(role), "url": self.base}])
        return Visitor(context.new_page(), self.base, expected)

    def leave(self) -> None:
        """Close the contexts of this test."""
        while self._contexts:
            self._contexts.pop().close()


def play(client: Client, experiment: str, rates: dict[str, float], rng: Any, most: int = 100_000) -> int:
    """Run trials until the experiment stops or ``most`` were made; returns their number."""
    trials = 0
    while trials < most:
        tickets = client.ask(experiment, min(50, most - trials))
        trials += len(tickets)
        rewards = {ticket.ticket: float(rng.random() < rates[ticket.arm]) for ticket in tickets}
        if client.tell(experiment, rewards).stopped:
            break
    return trials


def saved(page: Page, selector: str, folder: Path) -> Path:
    """The file that a download link gives."""
    with page.expect_download() as download:
        page.click(selector)
    target = folder / download.value.suggested_filename
    download.value.save_as(target)
    return target
