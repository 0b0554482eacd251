"""Units that a browser assigns and reports by itself, and what the page says about the sample ratio."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from fairbai.client import Tally, assign
from tests.browser.visitor import Site
from tests.client.units import many_units

pytestmark = pytest.mark.system
ARMS = ["b", "10", "2"]  # which JavaScript would put into another order
ASSIGN = """async ([policy, units]) => {
  const { assign } = await import("/static/edge.js");
  return units.map((unit) => assign(policy, unit));
}"""
REPORT = """async ([policy, units, experiment, key]) => {
  const { assign, Tally } = await import("/static/edge.js");
  const tally = new Tally(policy);
  for (const unit of units) tally.add(assign(policy, unit), unit.length % 2);
  const answers = [];
  for (const attempt of [1, 2]) answers.push(await tally.report(location.origin, experiment, key));
  return answers;
}"""


def begin(site: Site, name: str) -> str:
    return site.client.create(name, ARMS, 1e-9, family="bernoulli", stopping="design_based", rates=0.2)


def test_chromium_assigns_the_same_arms_and_reports_them(site: Site) -> None:
    experiment, units = begin(site, "edge"), many_units()
    policy = site.client.policy(experiment)
    visitor = site.visitor(role=None)
    page = visitor.open("/sign-in")
    arms = [assign(policy, unit) for unit in units]
    assert page.evaluate(ASSIGN, [policy, units]) == arms
    answers = page.evaluate(REPORT, [policy, units, experiment, site.key("writer")])
    assert [answer["counted"] for answer in answers] == [10_000, 0]
    status = site.client.status(experiment)
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
    """A batch with these trials of every arm, whatever its policy is."""
    batch: dict[str, Any] = Tally(site.client.policy(experiment)).batch()
    site.client.report(experiment, **{**batch, "pulls": pulls})
