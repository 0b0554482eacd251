"""The plan of a multivariate test: factors, levels, effects and floors of levels."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visitor import Site, Visitor

pytestmark = pytest.mark.system


def opened(site: Site, width: int = 1280) -> tuple[Page, Visitor]:
    visitor = site.visitor(width=width)
    page = visitor.open("/plan")
    page.get_by_label("Combinations of factors").check()
    expect(page.locator("#allocation")).to_contain_text("new / try")
    return page, visitor


@pytest.mark.parametrize("width", [1280, 390])
def test_a_multivariate_test_is_planned_and_started(site: Site, width: int) -> None:
    page, visitor = opened(site, width)
    expect(page.get_by_label("Number of arms", exact=True)).to_be_hidden()
    page.get_by_label("Name", exact=True).fill("Landing page")
    page.get_by_label("Name of factor 2").fill("<b>button</b>")
    page.get_by_label("Add a level to factor 2").click()
    page.get_by_label("Label of level 3 of factor 2").fill("go")
    page.get_by_label("What is added by level 3 of factor 2").fill("40")
    page.get_by_label("Floor of level 1 of factor 1").fill("50")
    expect(page.locator("#meaning")).to_contain_text("and the effects in the model add up")
    page.get_by_text("Shares as a table").click()
    expect(page.locator("#shares tr")).to_have_count(9)
    expect(page.locator("#shares tr", has_text="new / go")).to_contain_text("80 %")
    expect(page.locator("#levels tr", has_text="headline: old")).to_contain_text("50 %")
    expect(page.locator("#levels tr", has_text="<b>button</b>: go")).to_contain_text("0 %")
    page.wait_for_function(f"() => document.documentElement.scrollWidth <= {width}")
    page.get_by_text("Start it from code instead").click()
    code = page.locator("#creation pre").first.inner_text()
    assert 'factors={"headline": ["old", "new", "bold"], "<b>button</b>": ["buy", "try", "go"]}' in code
    assert run_snippet(code, site)["config"]["family"]["kind"] == "factorial"
    page.get_by_role("button", name="Start experiment").click()
    expect(page.get_by_role("heading", name="“Landing page” has started")).to_be_visible()
    experiment = page.get_by_role("link", name="Watch the experiment").get_attribute("href").rsplit("/", 1)[1]
    status = site.client.status(experiment)
    assert {(one["level"], one["floor"]) for one in status["effects"]} == {
        *[("old", 0.5), ("new", 0.2), ("bold", 0.2)],
        *[("buy", 0.3), ("try", 0.3), ("go", 0.0)],
    }
    visitor.check()


def run_snippet(code: str, site: Site) -> dict[str, object]:
    """Run the code that creates the experiment; returns its status."""
    found: dict[str, Any] = {}
    exec(code.replace("fb_...", site.server.key), found)
    found["client"].close_connections()
    return dict(site.client.status(str(found["experiment"])))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("Name of factor 1", "", "Every factor needs a name."),
        ("Name of factor 1", "button", "Two factors have the name “button”."),
        ("Label of level 1 of factor 1", "new", "Two levels of “headline” have the label “new”."),
        ("What is added by level 1 of factor 1", "", "Enter what “old” of “headline” adds."),
        ("What is added by level 1 of factor 1", "10", "“old” and “new” of “headline” are equally good"),
        ("What is added by level 1 of factor 1", "90", "The mean of “old / buy” would be 120 %"),
        ("Floor of level 1 of factor 1", "70", "The floors of “headline” add up to 110 %; at most 100 % is possible."),
        ("Baseline", "", "Enter the baseline."),
    ],
)
def test_what_is_wrong_with_factors_is_explained(site: Site, field: str, value: str, message: str) -> None:
    page, visitor = opened(site)
    page.get_by_label(field).fill(value)
    expect(page.get_by_role("alert")).to_contain_text(message)
    expect(page.locator("#start")).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#from-code")).to_be_hidden()
    visitor.check()


def test_means_may_be_0_up_to_rounding(site: Site) -> None:
    """0.3 - 0.2 - 0.1 is less than 0 in floating point."""
    page, visitor = opened(site)
    page.get_by_label("What is added by level 1 of factor 1").fill("-20")
    page.get_by_label("What is added by level 1 of factor 2").fill("-10")
    page.get_by_text("Shares as a table").click()
    row = page.locator("#shares tr").first
    expect(row.locator("th")).to_have_text("old / buy")
    expect(row.locator("td").first).to_have_text("0\u202f%")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#start")).to_have_attribute("aria-disabled", "false")
    visitor.check()


def test_arms_come_back(site: Site) -> None:
    page, visitor = opened(site)
    page.get_by_label("Reward of a trial").select_option("gaussian")
    expect(page.locator("#deviation")).to_be_visible()
    expect(page.get_by_label("I don't know it")).to_be_hidden()
    expect(page.locator("#answer")).to_contain_text("trials")
    page.get_by_label("Remove factor 2").click()
    page.get_by_text("Shares as a table").click()
    expect(page.locator("#shares tr")).to_have_count(3)
    page.get_by_label("Separate arms").check()
    expect(page.locator("#shares tr")).to_have_count(4)
    expect(page.locator("#levels")).to_be_hidden()
    visitor.check()
