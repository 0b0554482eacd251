"""The picture of the web shop for the documentation: ``python -m tests.browser.shop_picture docs/images/examples``."""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from tests.browser.chromium import FLAGS, chromium
from tests.browser.test_shop import TEXTS, button, shop, visit
from tests.browser.visitor import Site
from tests.service.server import Server, free_port

SIZE = (700, 330)  # of a page


def pages(site: Site, folder: Path) -> list[bytes]:
    """The page with each button, and the one after a purchase."""
    found: dict[str, bytes] = {}
    with shop(site, free_port(), folder) as address:
        while len(found) < len(TEXTS):
            page = visit(site, address).page
            page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})
            found[button(page)] = page.screenshot()
        page.get_by_role("button").click()
        page.wait_for_url("**/thanks")
        return [*(found[name] for name in TEXTS), page.screenshot()]


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        server = Server(f"sqlite:///{name}/fairbai.db", Path(name))
        browser = playwright.chromium.launch(executable_path=chromium(playwright), args=FLAGS)
        try:
            site = Site(server.start(), browser)
            seen = pages(site, Path(name))
            site.leave()
        finally:
            browser.close()
            server.stop()
    whole = Image.new("RGB", (2 * SIZE[0], 2 * SIZE[1]))
    for number, one in enumerate(seen):
        whole.paste(Image.open(io.BytesIO(one)), (number % 2 * SIZE[0], number // 2 * SIZE[1]))
    whole.quantize(256, Image.Quantize.MAXCOVERAGE).save(folder / "shop.png", optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
