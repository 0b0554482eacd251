"""The example of a web shop in a real browser: who comes back sees the same button, and a sale is credited."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.browser.visitor import Site, Visitor
from tests.service.server import free_port

ROOT = Path(__file__).parents[2]
TEXTS = {"plain": "Buy", "urgent": "Buy now, only 3 left", "friendly": "Take it home"}

pytestmark = pytest.mark.system


@contextmanager
def shop(site: Site, port: int, folder: Path) -> Iterator[str]:
    """The address of the shop, on the service of the tests."""
    command = [sys.executable, "-m", "examples.web_shop", "--port", str(port), "--url", site.base]
    with (folder / "shop.log").open("ab") as log:
        process = subprocess.Popen([*command, "--key", site.server.key], cwd=ROOT, stdout=log, stderr=log)
    address, give_up = f"http://127.0.0.1:{port}", time.monotonic() + 120.0
    try:
        while True:
            assert process.poll() is None, (folder / "shop.log").read_text()
            assert time.monotonic() < give_up
            try:
                httpx.get(f"{address}/thanks")
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield address
    finally:
        process.terminate()
        process.wait(120)


def visit(site: Site, address: str) -> Visitor:
    """A browser of its own that has never been here, on the page of the product."""
    guest = site.visitor(role=None, width=700)
    guest.base = address
    guest.open("/")
    return guest


def button(page: Page) -> str:
    """Which variant a page shows."""
    text = page.get_by_role("button").inner_text()
    return next(name for name, known in TEXTS.items() if known == text)


def test_visitors_come_back_and_buy(site: Site, tmp_path: Path) -> None:
    port = free_port()
    with shop(site, port, tmp_path) as address:
        guests = [visit(site, address) for _ in range(12)]
        seen = [button(guest.page) for guest in guests]
        assert len(set(seen)) > 1
        for variant in set(seen):
            guests[seen.index(variant)].page.screenshot(path=tmp_path / f"{variant}.png")
        (one,) = site.client.experiments(flag="buy-button")["experiments"]
        assert (one["trials"], site.client.status(one["id"])["held"]) == (12, 0)
        buyer = guests[0].page
        buyer.get_by_role("button").click()
        expect(buyer.get_by_role("heading")).to_have_text("Thank you")
        buyer.screenshot(path=tmp_path / "thanks.png")
        buyer.get_by_role("link").click()
        assert button(buyer) == seen[0]
    with shop(site, port, tmp_path):  # after a restart, too
        assert [button(guest.open("/")) for guest in guests] == seen
    for guest in guests:
        guest.check()
    status = site.client.status(one["id"])
    print(f"\n{len(guests)} visitors, {len(set(seen))} variants, each its own again after a restart; 1 sale")
    assert (status["trials"], status["held"]) == (12, 1)
    assert {arm["arm"]: arm["assigned"] for arm in status["arms"]} == {name: seen.count(name) for name in TEXTS}
    rows = [json.loads(line) for line in site.client.events(one["id"], "ndjson").splitlines()]
    assert [row["arm"] for row in rows if row.get("reward") == 1.0] == [seen[0]]
    site.client.close(one["id"])
