from collections.abc import Iterator

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.chromium import FLAGS, chromium
from tests.browser.visitor import TIMEOUT, Site
from tests.service.server import Server

expect.set_options(timeout=TIMEOUT)


# Package scope, not session scope: while Playwright runs, no other test in this process can run an event loop.
@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("pages")
    server = Server(f"sqlite:///{folder}/fairbai.db", folder)
    try:
        with sync_playwright() as playwright:
            path = chromium(playwright)
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            site = Site(server.start(), browser)
            yield site
            site.client.close_connections()
            browser.close()
    finally:
        server.stop()
        server.kill()


@pytest.fixture
def site(running: Site) -> Iterator[Site]:
    yield running
    running.leave()
