"""The list of experiments: winners, leaders and best guesses, filters, and pages of it."""

import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.test_live import ARMS, begin
from tests.browser.test_looks import check_looks, settled
from tests.browser.visitor import Site, play, saved

pytestmark = pytest.mark.system
SURE = r"\d+(\.\d)?\s% sure"


def cell(page: Page, experiment: str, column: str) -> Locator:
    row = page.locator("#rows tr", has=page.locator(f"a[href='/experiments/{experiment}']"))
    return row.locator(f"[data-label='{column}']")


def test_the_list_shows_winners_leaders_and_best_guesses(site: Site) -> None:
    names = ("decided", "heuristic", "closed later", "ahead", "guess", "new", "never used")
    made = {name: begin(site, f"best: {name}", **_options(name)) for name in names}
    for name, most in (
        ("decided", 10_000),
        ("heuristic", 10_000),
        ("closed later", 10_000),
        ("ahead", 10),
        ("guess", 10),
    ):
        play(site.client, made[name], ARMS, random.Random(1), most=most)
    for name in ("closed later", "guess", "never used"):
        site.client.close(made[name])
    visitor = site.visitor()
    page = visitor.open("/experiments?search=best%3A")
    expected = {
        "decided": ("Decided", f"bwinner{SURE}", r"100\s%"),
        "heuristic": ("Decided, not proved", "banswernot proved", r"100\s%"),
        "closed later": ("Decided, closed", f"bwinner{SURE}", r"100\s%"),
        "ahead": ("Running", r"[ab]ahead.+ so far", r"\d+\s%"),
        "guess": ("Closed without a decision", "[ab]best guessno decision, .+", "not enough"),
        "new": ("Running", "too early", "–"),
        "never used": ("Closed without a decision", "no best guess", "not enough"),
    }
    for name, (state, best, evidence) in expected.items():
        expect(cell(page, made[name], "State")).to_have_text(state)
        expect(cell(page, made[name], "Best arm")).to_have_text(re.compile(f"^{best}$"))
        expect(cell(page, made[name], "Evidence")).to_have_text(re.compile(f"^{evidence}$"))
    for choice, shown in (
        ("Running", {"ahead", "new"}),
        ("Decided", {"decided", "heuristic", "closed later"}),
        ("Ended without a decision", {"guess", "never used"}),
        ("Closed by hand", {"closed later", "guess", "never used"}),
    ):
        page.get_by_label("State").select_option(choice)
        expect(page.locator("#rows tr")).to_have_count(len(shown))
        assert {text.removeprefix("best: ") for text in page.locator("#rows a").all_inner_texts()} == shown
    page.reload()  # the address remembers
    expect(page.locator("#rows tr")).to_have_count(3)
    for old, count in (("running", 2), ("decided", 3), ("stopped", 2), ("closed", 3)):  # addresses of earlier versions
        visitor.open(f"/experiments?search=best%3A&state={old}")
        expect(page.locator("#rows tr")).to_have_count(count)
    visitor.check()


def _options(name: str) -> dict[str, object]:
    return {"stopping": "heuristic"} if name == "heuristic" else {}


def test_the_list_filters_and_sorts(site: Site) -> None:
    for name in ("pears", "apples"):
        begin(site, f"fruit: {name}")
    visitor = site.visitor()
    page = visitor.open("/experiments")
    page.get_by_label("Search").fill("fruit:")
    expect(page.locator("#rows tr")).to_have_count(2)
    page.get_by_label("Sort by").select_option("Name (A to Z)")
    expect(page.locator("#rows tr").first).to_contain_text("apples")
    page.reload()  # the address remembers
    expect(page.locator("#rows tr")).to_have_count(2)
    expect(page.locator("#rows tr").first).to_contain_text("apples")
    expect(page.locator("#turning")).to_be_hidden()
    page.get_by_label("State").select_option("Closed by hand")
    expect(page.locator("#caption")).to_have_text("No experiments match.")
    visitor.check()


def test_many_experiments_come_in_pages(site: Site) -> None:
    for number in range(120):
        begin(site, f"many: {number:03}")
    visitor = site.visitor(width=390)
    page = visitor.open("/experiments?search=many%3A&sort=name&descending=false")
    before, after = (page.get_by_role("button", name=name) for name in ("Previous", "Next"))
    for number, (where, first) in enumerate((("1 to 50", 0), ("51 to 100", 50), ("101 to 120", 100)), 1):
        expect(page.locator("#where")).to_have_text(where)
        expect(page.locator("#rows tr").first).to_contain_text(f"many: {first:03}")
        expect(page.locator("#caption")).to_contain_text(f"Page {number}.")
        if number < 3:
            after.click()
    expect(after).to_be_disabled()
    before.click()
    expect(page.locator("#where")).to_have_text("51 to 100")
    check_looks(page, "a page of a long list")
    page.get_by_label("Search").fill("many: 11")  # begins with the first page again
    expect(page.locator("#rows tr")).to_have_count(10)
    expect(page.locator("#turning")).to_be_hidden()
    visitor.check()


def test_a_newcomer_is_greeted(site: Site) -> None:
    visitor = site.visitor()
    visitor.page.route("**/v1/experiments?*", lambda route: route.fulfill(json={"experiments": [], "next": None}))
    page = visitor.open("/experiments")
    expect(page.get_by_role("heading", name="Welcome to fairbai")).to_be_visible()
    expect(page.locator("#welcome")).to_contain_text("fairbai serve --demo")
    page.get_by_role("link", name="Plan your first experiment").click()
    expect(page.get_by_role("heading", name="Plan an experiment")).to_be_visible()
    visitor.check()


def test_without_rewards_no_chart_is_made_up(site: Site, tmp_path: Path) -> None:
    """An axis without data would have ticks such as -1, -1, 0, 1, 1."""
    experiment = begin(site, "nothing yet")
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    for chart in ("means", "evidence", "trials-chart"):
        expect(page.locator(f"#{chart}")).to_have_text("No data yet.")
    expect(page.locator("#confidence")).to_have_text("–")
    report = page.context.new_page()
    report.goto(saved(page, "#report", tmp_path).as_uri())
    for chart in ("means", "evidence", "trials"):
        expect(report.locator(f"#figure-{chart}")).to_have_text("No data yet.")
    site.client.ask(experiment, 3)  # trials alone are no evidence
    expect(page.locator("#trials-chart .main-svg").first).to_be_visible()
    expect(page.locator("#evidence")).to_have_text("No data yet.")
    visitor.check()


def test_few_trials_have_whole_ticks(site: Site) -> None:
    experiment = begin(site, "few")
    site.client.tell(experiment, {ticket.ticket: 0.0 for ticket in site.client.ask(experiment, 3)})
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    settled(page)
    expect(page.locator("#evidence .xtick text")).to_have_text(["0", "1", "2", "3"])
    expect(page.locator("#trials-chart .ytick text")).to_have_text(["0", "1", "2", "3"])
    visitor.check()
