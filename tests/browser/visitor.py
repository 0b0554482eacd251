"""People in front of the pages: a browser context with a key, in which nothing goes wrong unnoticed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from fairbai.client import Client
from fairbai.service.storage.database import open_database
from fairbai.service.storage.keys import create_key
from tests.service.server import Server

TIMEOUT = 30_000  # ms


@dataclass
class Visitor:
    """A person with a page, and what went wrong in it.

    Attributes:
        page: What they see.
        expected: Words of the errors that the test provokes.
        errors: What the browser complained about: scripts, policies, requests that failed.
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
        """Nothing went wrong, and no request left the host."""
        assert self.foreign == []
        assert self.errors == []


class Site:
    """A service and a browser; both serve all tests."""

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

    def visitor(
        self, role: str | None = "admin", width: int = 1280, expected: tuple[str, ...] = (), **more: Any
    ) -> Visitor:
        """Somebody who is signed in, or with role None is not."""
        context = self.browser.new_context(viewport={"width": width, "height": 800}, accept_downloads=True, **more)
        self._contexts.append(context)
        context.set_default_timeout(TIMEOUT)
        if role is not None:
            context.add_cookies([{"name": "fairbai", "value": self.key(role), "url": self.base}])
        return Visitor(context.new_page(), self.base, expected)

    def leave(self) -> None:
        """Close what the visitors of a test have opened."""
        while self._contexts:
            self._contexts.pop().close()


def play(client: Client, experiment: str, rates: dict[str, float], rng: Any, most: int = 100_000) -> int:
    """Visitors come, until the experiment has its answer or so many have come; returns how many did."""
    trials = 0
    while trials < most:
        tickets = client.ask(experiment, min(50, most - trials))
        trials += len(tickets)
        rewards = {ticket.ticket: float(rng.random() < rates[ticket.arm]) for ticket in tickets}
        if client.tell(experiment, rewards).stopped:
            break
    return trials


def saved(page: Page, selector: str, folder: Path) -> Path:
    """Follow a link that downloads a file."""
    with page.expect_download() as download:
        page.click(selector)
    target = folder / download.value.suggested_filename
    download.value.save_as(target)
    return target
