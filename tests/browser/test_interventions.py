import random

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Site, play

pytestmark = pytest.mark.system
ARMS = {"a": 0.2, "b": 0.3, "c": 0.25}


def begin(site: Site, name: str) -> str:
    experiment = site.client.create(name, list(ARMS), delta=1e-6, family="bernoulli", floors=0.1, seed=1)
    play(site.client, experiment, ARMS, random.Random(1), most=30)
    return experiment


def test_pause_switch_off_void_and_delete(site: Site) -> None:
    experiment = begin(site, "operated")
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    page.get_by_role("button", name="Pause", exact=True).click()
    page.locator("#sure-yes").click()
    expect(page.locator("#state")).to_have_text("Paused")
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#state")).to_have_text("Running")
    page.get_by_label("Broken arm").select_option("c")
    page.locator("#off-reason").fill("does not load")
    page.get_by_role("button", name="Switch off").click()
    expect(page.locator("#sure-text")).to_contain_text("“c” will get no further tickets")
    page.keyboard.press("Escape")
    assert site.client.status(experiment)["switched_off"] == []
    page.get_by_role("button", name="Switch off").click()
    page.locator("#sure-yes").click()
    expect(page.locator("#arms")).to_contain_text("switched off")
    ticket = site.client.ask(experiment)[0].ticket
    site.client.tell(experiment, {ticket: 1.0})
    page.get_by_label("Tickets with wrong rewards").fill(f"{ticket}, {ticket}")
    page.locator("#void-reason").fill("a robot")
    page.get_by_role("button", name="Void").click()
    page.locator("#sure-yes").click()
    expect(page.locator("#void-reason")).to_have_value("")
    assert site.client.status(experiment)["voided"] == 1
    page.get_by_role("button", name="Delete experiment").click()
    expect(page.locator("#sure-text")).to_contain_text("with 31 trials and its whole log")
    page.locator("#sure-yes").click()
    page.wait_for_url("**/experiments")
    assert experiment not in {one["id"] for one in site.client.experiments()["experiments"]}
    visitor.check()


def test_a_reader_is_offered_none_of_it(site: Site) -> None:
    visitor = site.visitor(role="reader")
    page = visitor.open(f"/experiments/{begin(site, 'read')}")
    expect(page.locator("#close-note")).to_contain_text("Closing needs a key with role admin")
    expect(page.locator("#intervene")).to_be_hidden()
    visitor.check()
