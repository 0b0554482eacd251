"""What users see: at all widths, in both colour schemes, with hostile labels."""

import random
from pathlib import Path

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.visitor import TIMEOUT, Site, play

pytestmark = pytest.mark.system

HOSTILE = "<img src=x onerror=alert(1)>"
LINK = '<a href="http://evil.example/">b</a> %{x}'
CONTRAST = Path(__file__).with_name("contrast.js").read_text()
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
UNNAMED = """() => [...document.querySelectorAll("input:not([type=hidden]), select, button, a, dialog, progress")]
  .filter((element) => !(element.labels?.length || element.ariaLabel || element.textContent.trim()
    || element.hasAttribute("aria-labelledby"))).map((element) => element.outerHTML)"""


@pytest.fixture(scope="module")
def experiment(running: Site) -> str:
    """An experiment with some trials and hostile labels."""
    arms = {HOSTILE: 0.2, LINK: 0.5, "x" * 200: 0.3}
    form = {"family": "bernoulli", "floors": {"kind": "constant", "floor": 0.1}, "seed": 1}
    made = running.client.create(f"<b>hostile</b> {HOSTILE}", list(arms), delta=0.05, **form)
    play(running.client, made, arms, random.Random(1), most=200)
    return made


def settled(page: Page) -> None:
    """Wait until the page has its data and its charts."""
    page.wait_for_load_state("load")
    for chart in page.locator(".chart:visible").all():
        expect(chart.locator(".main-svg").first).to_be_visible()
    if "/experiments" in page.url and page.locator("#rows").count():
        expect(page.locator("#rows tr").first).to_be_visible()


def test_pages_fit_and_can_be_read(site: Site, experiment: str) -> None:
    visitor = site.visitor()
    for path in paths(experiment):
        page = visitor.open(path)
        settled(page)
        check_names(page, path)
        for width in (360, 2560):
            page.set_viewport_size({"width": width, "height": 800})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                check_looks(page, f"{path} at {width} in {scheme}")
    visitor.check()


def check_names(page: Page, where: str) -> None:
    """Every control and table has an accessible name."""
    assert page.evaluate(UNNAMED) == [], where
    assert page.locator("main").count() == page.locator("h1").count() == 1
    for table in page.locator("table").all():
        assert table.locator("caption").count() == 1, f"{where}: a table without a caption"


def check_looks(page: Page, where: str) -> None:
    """Nothing overflows, text has enough contrast, and chart axes have titles."""
    try:
        page.wait_for_function(f"() => ({CONTRAST})().length === 0", timeout=TIMEOUT)  # charts are redrawn
    except TimeoutError:
        raise AssertionError(f"{where}: too pale: {page.evaluate(CONTRAST)}") from None
    try:  # charts are redrawn here, too
        page.wait_for_function(f"() => {WIDE} <= 0", timeout=TIMEOUT)
    except TimeoutError:
        raise AssertionError(f"{where}: scrolls sideways") from None
    for chart in page.locator(".chart:visible").all():
        expect(chart.locator(".xtitle, .ytitle"), f"{where}: an axis without a title").to_have_count(2)


def paths(experiment: str) -> list[str]:
    here = f"/experiments/{experiment}"
    return ["/sign-in", "/plan", "/docs", "/experiments", here, f"{here}/audit", "/static/not-found.html"]


def test_hostile_words_are_shown_as_text(site: Site, experiment: str) -> None:
    visitor = site.visitor()
    page, dialogs = visitor.page, []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    visitor.open("/experiments")
    expect(page.locator("#rows")).to_contain_text(f"<b>hostile</b> {HOSTILE}")
    visitor.open(f"/experiments/{experiment}")
    settled(page)
    expect(page.locator("h1")).to_have_text(f"<b>hostile</b> {HOSTILE}")
    expect(page.locator("#arms")).to_contain_text(LINK)
    expect(page.locator("#shares")).to_contain_text(HOSTILE[:20])
    for chart in page.locator(".chart:visible").all():
        assert chart.locator("a, img, b").count() == 0
    page.locator("#close").click()
    expect(page.locator("#confirm-text")).to_contain_text(HOSTILE)
    visitor.open("/plan")
    page.get_by_label("Label of arm 1").fill(HOSTILE)
    expect(page.locator("#allocation")).to_contain_text(HOSTILE[:20])
    assert page.locator("#allocation img").count() == 0
    assert dialogs == []
    visitor.check()
