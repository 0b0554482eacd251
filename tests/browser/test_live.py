import random
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visitor import Site, play

pytestmark = pytest.mark.system
ARMS = {"a": 0.2, "b": 0.7}


def begin(site: Site, name: str, **options: object) -> str:
    form = {"family": "bernoulli", "floors": {"kind": "constant", "floor": 0.2}, "seed": 1, **options}
    return site.client.create(name, list(ARMS), delta=0.05, **form)


def test_without_a_stream_the_page_asks_again_and_again(site: Site) -> None:
    visitor = site.visitor(expected=("503",))
    experiment = begin(site, "polled")
    visitor.page.route("**/stream", lambda route: route.fulfill(status=503, body="{}"))
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#live")).to_have_text("Live, updated every few seconds")
    play(site.client, experiment, ARMS, random.Random(1))
    expect(page.locator("#sentence")).to_contain_text("“b” is best")
    expect(page.locator("#live")).to_have_text("Finished")
    visitor.check()


def test_a_reader_cannot_close_and_is_told_why(site: Site) -> None:
    experiment = begin(site, "watched")
    visitor = site.visitor(role="reader", expected=("403",))
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#close-note")).to_have_text("Closing needs a key with role admin; yours has role reader.")
    expect(page.locator("#close")).to_be_disabled()
    page.locator("#close").click(force=True)
    expect(page.locator("#confirm")).to_be_hidden()
    script = """async (path) => {
      const { csrf } = await (await fetch("/v1/session")).json();
      return (await fetch(path, { method: "POST", headers: { "X-CSRF-Token": csrf } })).status;
    }"""
    assert page.evaluate(script, f"/v1/experiments/{experiment}/close") == 403
    visitor.open("/plan")
    expect(page.locator("#start-note")).to_contain_text("needs a key with role admin")
    expect(page.locator("#start")).to_be_disabled()
    assert site.client.status(experiment)["closed"] is False
    visitor.check()


def test_closing_asks_first(site: Site) -> None:
    experiment = begin(site, "closed by hand")
    play(site.client, experiment, ARMS, random.Random(1), most=10)
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    page.get_by_role("button", name="Close experiment").click()
    expect(page.locator("#confirm-text")).to_contain_text("will end after 10 trials. There is no answer yet")
    page.keyboard.press("Escape")
    assert site.client.status(experiment)["closed"] is False
    page.get_by_role("button", name="Close experiment").click()
    page.get_by_role("button", name="End permanently").click()
    expect(page.locator("#state")).to_have_text("Closed without a decision")
    expect(page.locator("#close")).to_be_disabled()
    expect(page.locator("#intervene .action:visible")).to_have_count(1)  # deleting, and no empty line for pausing
    assert site.client.status(experiment)["closed"] is True
    expect(page.locator("#sentence")).to_contain_text("Closed by hand without a decision. Best guess: ")
    expect(page.locator("#stop")).to_have_text("ended without a decision")
    visitor.open("/")
    row = page.get_by_role("row", name="closed by hand")
    expect(row).to_contain_text("Closed without a decision")
    expect(row.locator("[data-label='Best arm']")).to_contain_text("best guess")
    visitor.open(f"/experiments/{experiment}/audit")
    expect(page.locator("#state")).to_have_text("Closed without a decision")
    expect(page.locator("#settings")).to_contain_text("no decision (the aim was")
    expect(page.locator("#settings")).not_to_contain_text("at most")
    visitor.check()


def test_doubts_are_shown(site: Site) -> None:
    experiment = begin(site, "doubted", family={"kind": "gaussian", "variance": 1.0}, floors=0.0)
    for number in range(40):  # of which the declared variance needs 36
        ticket = site.client.ask(experiment)[0]
        reward = 10.0 * (number % 5) + (100.0 if ticket.arm == "b" else 0.0)
        if site.client.tell(experiment, {ticket.ticket: reward}).stopped:
            break
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#doubts")).to_contain_text("times the variance of Gaussian rewards of variance 1")
    expect(page.locator("#sentence")).to_contain_text("looks best, but without the 95 % confidence")
    expect(page.locator("#stop")).to_have_text("decision in doubt")
    expect(page.locator("#state")).to_have_text("Decided, not proved")
    expect(page.locator("#arms")).to_contain_text("answer, not proved")
    page.get_by_role("link", name="Audit").click()
    expect(page.locator("#promised")).to_contain_text("not proved, as the rewards contradict the declared family")
    visitor.check()


@pytest.mark.parametrize(
    ("stopping", "standing", "mark", "listed", "stop"),
    [
        ("mixture", "Decided", "answer", "winner", "proved decision"),
        ("heuristic", "Decided, not proved", "answer, not proved", "answernot proved", "heuristic decision"),
    ],
)
def test_doubts_after_the_decision_leave_it_as_it_was(
    site: Site, stopping: str, standing: str, mark: str, listed: str, stop: str
) -> None:
    family = {"kind": "gaussian", "variance": 1.0}
    name = f"doubted since, {stopping}"
    experiment = begin(site, name, family=family, floors=0.0, stopping=stopping)
    late = [site.client.ask(experiment)[0] for _ in range(2)]
    play(site.client, experiment, {"a": 0.0, "b": 1.0}, random.Random(1))
    site.client.tell(experiment, {trial.ticket: 1e6 for trial in late})
    doubts = site.client.status(experiment)["doubts"]
    assert [doubt["after_decision"] for doubt in doubts] == [True] * len(doubts) != []
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#doubts")).to_contain_text("found after the decision")
    expect(page.locator("#state")).to_have_text(standing)
    expect(page.locator("#stop")).to_have_text(stop)
    expect(page.locator("#arms .badge", has_text="answer")).to_have_text(mark)
    expect(page.locator("#standing")).to_have_class(re.compile("good" if stopping == "mixture" else "^((?!good).)*$"))
    page.get_by_role("link", name="Audit").click()
    expect(page.locator("#state")).to_have_text(standing)
    visitor.open("/experiments")
    row = page.get_by_role("row", name=name)
    expect(row.locator("[data-label='Best arm']")).to_contain_text(listed)
    expect(row.locator("[data-label='State']")).to_have_text(standing)
    visitor.check()


def test_shares_are_of_the_trials_in_which_an_arm_was_available(site: Site) -> None:
    queues = {"sampling": "virtual_queues", "floors": 0.25, "delta": 1e-6, "seed": 1}
    experiment = site.client.create("available", ["a", "b", "c"], family="bernoulli", **queues)
    for number in range(40):
        some = ["a", "b"] if number % 2 else ["a", "b", "c"]
        ticket = site.client.ask(experiment, available=some)[0]
        site.client.tell(experiment, {ticket.ticket: 0.0})
    (arm,) = [one for one in site.client.status(experiment)["arms"] if one["arm"] == "c"]
    assert arm["available"] == 20
    visitor = site.visitor()
    for path in ("", "/audit"):
        page = visitor.open(f"/experiments/{experiment}{path}")
        row = page.locator("tr", has_text=re.compile("^c"))
        expect(row).to_contain_text(f"{100 * arm['assigned'] / 20:g}\u202f%")
    visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#share-head")).to_have_text("Share while available")
    visitor.check()


@pytest.mark.parametrize("path", ["/experiments/abc123", "/experiments/abc123/audit"])
def test_an_experiment_that_is_not_there(site: Site, path: str) -> None:
    visitor = site.visitor(expected=("404",))
    page = visitor.open(path)
    expect(page.get_by_role("alert")).to_have_text("No experiment has the id “abc123”.")
    expect(page.locator("main")).to_have_text("No such experimentNo experiment has the id “abc123”.All experiments")
    page.get_by_role("link", name="All experiments").click()
    page.wait_for_url("**/experiments")
    visitor.check()


def test_an_address_that_is_not_there(site: Site) -> None:
    visitor = site.visitor(expected=("404",))
    page = visitor.open("/nothing/here")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
    expect(page.locator("#who")).to_contain_text("(admin)")
    page.get_by_role("link", name="All experiments").click()
    page.wait_for_url("**/experiments")
    visitor.check()


def test_tooltips_do_not_need_the_pointer_on_a_line(site: Site) -> None:
    experiment = begin(site, "pointed at")
    play(site.client, experiment, ARMS, random.Random(1), most=20)
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    for chart, expected in (("evidence", "confidence"), ("trials-chart", "rewards")):
        for height in (0.05, 0.95):
            point_at(page, chart, height, expected)
    visitor.check()


def point_at(page: Page, chart: str, height: float, expected: str) -> None:
    """Move the pointer to a height of a chart, which must say something; again if it was just being drawn or moved."""
    for _ in range(30):
        area = page.locator(f"#{chart} .nsewdrag").first
        area.scroll_into_view_if_needed()
        box = area.bounding_box()
        if box is not None:
            page.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * height)
            page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * height)
        try:
            expect(page.locator(f"#{chart} .hoverlayer")).to_contain_text(expected, timeout=2_000)
        except AssertionError:
            continue
        return
    raise AssertionError(f"{chart} does not say {expected}")


def test_the_audit_replays_the_log(site: Site) -> None:
    experiment = begin(site, "audited", floors={"kind": "bounded", "floor": 0.2, "ceiling": 0.7})
    play(site.client, experiment, ARMS, random.Random(1))
    visitor = site.visitor(role="reader")
    page = visitor.open(f"/experiments/{experiment}")
    page.get_by_role("link", name="Audit").click()
    expect(page.get_by_role("heading", name="Audit of audited")).to_be_visible()
    expect(page.locator("#verdict")).to_have_text("Every guaranteed share was given.")
    expect(page.locator("#arms tr")).to_have_count(2)
    expect(page.locator("#head")).to_contain_text("Ceiling")
    expect(page.locator("#settings")).to_contain_text("floor 20")
    page.get_by_role("button", name="Replay log").click()
    expect(page.locator("#replayed")).to_contain_text("The replay matches the stored state")
    page.reload()
    expect(page.locator("#replayed")).to_contain_text("The replay matches the stored state")
    visitor.check()
