"""The page of an experiment with factors."""

import random

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Site, play

pytestmark = pytest.mark.system
FACTORS = {"headline": ["old", "new"], "button": ["buy", "<b>try</b>"]}
RATES = {"old / buy": 0.2, "old / <b>try</b>": 0.4, "new / buy": 0.5, "new / <b>try</b>": 0.7}


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_shows_the_effects_of_levels(site: Site, width: int) -> None:
    form = {
        "factors": FACTORS,
        "family": {"kind": "gaussian", "variance": 0.25},
        "floors": {"headline": 0.3},
        "seed": 1,
    }
    experiment = site.client.create("factors", None, delta=1e-9, **form)
    play(site.client, experiment, RATES, random.Random(1), most=100)
    visitor = site.visitor(width=width)
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#effects .main-svg").first).to_be_visible()
    expect(page.locator("#effects")).to_contain_text("button: <b>try</b>")
    expect(page.locator("#levels tr", has_text="headline: new")).to_contain_text("30 %")
    page.wait_for_function(f"() => document.documentElement.scrollWidth <= {width}")
    visitor.check()


def test_other_experiments_have_no_levels(site: Site) -> None:
    experiment = site.client.create("no factors", ["a", "b"], delta=0.05, family="bernoulli")
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#sentence")).to_have_text("No trials yet.")
    expect(page.locator("#effects-card")).to_be_hidden()
    expect(page.locator("#levels-card")).to_be_hidden()
    visitor.check()
