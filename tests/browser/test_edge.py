"""Units that a browser assigns and reports by itself, and what the page says about the sample ratio."""

from __future__ import annotations

import time
from typing import Any

import pytest
from playwright.sync_api import expect

from fairbai.client import assign
from tests.browser.visitor import Site
from tests.client.units import many_units

pytestmark = pytest.mark.system
ARMS = ["b", "10", "2"]  # which JavaScript would put into another order
WAIT = 3.0  # seconds until batches are counted, after the epoch of their policy
ASSIGN = """async ([policy, units]) => {
  const { assign } = await import("/static/edge.js");
  return units.map((unit) => assign(policy, unit));
}"""
REPORT = """async ([policy, units, experiment, key]) => {
  const { Tally } = await import("/static/edge.js");
  const tally = new Tally(policy, 1, 1);
  for (const unit of units) tally.assign(unit, 0); // whose windows are over since 1970
  const answers = [];
  for (const attempt of [1, 2]) answers.push(await tally.report(location.origin, experiment, key));
  return answers;
}"""


def begin(site: Site, name: str) -> str:
    wait = {"report_after": WAIT, "silence": 0.0}
    return site.client.create(name, ARMS, 1e-9, family="bernoulli", stopping="design_based", floors=0.2, **wait)


def test_chromium_assigns_the_same_arms_and_reports_them(site: Site) -> None:
    experiment, units = begin(site, "edge"), list(dict.fromkeys(many_units()))  # a tally enters a unit once
    policy = site.client.policy(experiment)
    visitor = site.visitor(role=None)
    page = visitor.open("/sign-in")
    arms = [assign(policy, unit) for unit in units]
    assert page.evaluate(ASSIGN, [policy, units]) == arms
    first, second = page.evaluate(REPORT, [policy, units, experiment, site.key("writer")])
    assert (first["counted"], second) == (len(units), None)  # there is nothing more to report
    status = counted(site, experiment)
    assert [arm["observed"] for arm in status["arms"]] == [arms.count(arm) for arm in ARMS]
    visitor.check()


def test_the_page_says_whether_arms_come_as_drawn(site: Site) -> None:
    experiment = begin(site, "ratio")
    page = (visitor := site.visitor()).open(f"/experiments/{experiment}")
    expect(page.locator("#ratio")).to_have_text("Sample ratio: no drawn trials yet.")
    report(site, experiment, {"b": 34, "10": 33, "2": 33})
    expect(page.locator("#ratio")).to_contain_text("Sample ratio: no mismatch (p = ")
    expect(page.locator("#doubts")).to_be_hidden()
    report(site, experiment, {"b": 4000, "10": 1000, "2": 1000})
    expect(page.locator("#doubts")).to_contain_text("Sample ratio: not as drawn (p = ")
    expect(page.locator("#doubts")).to_contain_text("For such trials neither an answer nor the intervals are proved.")
    expect(page.locator("#ratio")).to_be_hidden()
    visitor.open(f"/experiments/{experiment}/audit")
    expect(page.locator("#found")).to_contain_text("Sample ratio: not as drawn (p = ")
    visitor.check()


def report(site: Site, experiment: str, pulls: dict[str, int]) -> None:
    """A batch with these trials of every arm, whatever its policy is; then wait until it is counted."""
    policy, sums = site.client.policy(experiment), dict.fromkeys(pulls, 0.0)
    site.client.report(experiment, batch=policy["seed"], pulls=pulls, sums=sums, policy=policy["version"])
    counted(site, experiment)


def counted(site: Site, experiment: str) -> dict[str, Any]:
    """The status once no batch waits."""
    while "waiting" in (status := site.client.status(experiment)):
        time.sleep(0.1)
    return status
