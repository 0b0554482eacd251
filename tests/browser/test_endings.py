"""How sure now, budgets and deadlines, and the newer fields of the plan."""

import random
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from fairbai.client import ExperimentOverError
from tests.browser.test_looks import check_looks, check_names, settled
from tests.browser.visitor import Site, play

pytestmark = pytest.mark.system
ARMS = {"a": 0.2, "b": 0.7, "c": 0.3}
TICKS = "document.querySelectorAll('#trials-chart .xtick').length"


def begin(site: Site, name: str, delta: float = 1e-9, **options: object) -> str:
    form = {"family": "bernoulli", "floors": {"kind": "constant", "floor": 0.2}, "seed": 1, **options}
    return site.client.create(name, list(ARMS), delta=delta, **form)


def test_the_page_says_how_sure_it_is(site: Site) -> None:
    days = datetime.now(UTC) + timedelta(days=2, hours=1)
    experiment = begin(site, "how sure", max_trials=5000, deadline=days)
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#sentence")).to_have_text("No trials yet.")
    play(site.client, experiment, ARMS, random.Random(1), most=120)
    said = re.compile(r"If you stop now: “b”, \d+(\.\d)?\s% sure; .+ still in the race\.")
    expect(page.locator("#sentence")).to_have_text(said)
    expect(page.locator("#more")).to_contain_text("No decision yet after 120 trials")
    expect(page.locator("#started")).to_contain_text("of 5,000 trials")
    expect(page.locator("#budget-spent")).to_have_js_property("value", 120 / 5000)
    expect(page.locator("#time-left")).to_have_text("2 days")
    expect(page.locator("#target")).to_contain_text("in “b” if you stop now, target 99.9")
    expect(page.locator("#question")).to_be_hidden()
    expect(page.locator("#arms tr", has_text="ahead")).to_contain_text("b")
    expect(page.locator("#evidence")).to_contain_text("confidence")
    visitor.check()


def test_the_page_follows_to_the_deadline(site: Site) -> None:
    """Nobody asks anything: the service ends the experiment, and the page shows it.

    If this machine is busy, the page comes too late to follow it; then another experiment ends later.
    """
    for number, seconds in enumerate((8, 30, 100)):
        name, soon = f"ends by itself {number}", datetime.now(UTC) + timedelta(seconds=seconds)
        experiment = begin(site, name, deadline=soon, lease=5.0)
        try:
            play(site.client, experiment, ARMS, random.Random(1), most=120)
            site.client.ask(experiment)
        except ExperimentOverError:
            continue
        visitor = site.visitor()
        page = visitor.open(f"/experiments/{experiment}")
        expect(page.locator("#live")).to_have_text(re.compile("Live|Finished"))
        if page.locator("#live").inner_text() == "Live":
            break
    else:
        raise AssertionError("the page never came in time")
    expect(page.locator("#state")).to_have_text("Stopped without a decision", timeout=200_000)
    said = re.compile(r"Stopped at the deadline without a decision\. Best guess: “b”, \d+(\.\d)?\s% sure; .+")
    expect(page.locator("#sentence")).to_have_text(said)
    expect(page.locator("#standing")).to_have_class("message warn")
    expect(page.locator("#live")).to_have_text("Finished")
    expect(page.locator("#time-left")).to_have_text("none")
    expect(page.locator("#arms tr", has_text="best guess")).to_contain_text("b")
    assert site.client.status(experiment)["ended_by"] == "deadline"
    page.get_by_role("link", name="Audit").click()
    expect(page.locator("#state")).to_have_text("Stopped without a decision")
    expect(page.locator("#settings")).to_contain_text("no, stopped at the deadline")
    page.get_by_role("button", name="Replay log").click()
    expect(page.locator("#replayed")).to_contain_text("The replay matches the stored state")
    visitor.open("/experiments?state=stopped")
    row = page.get_by_role("row", name=name)
    guess = re.compile(r"bbest guessno decision, \d+(\.\d)?\s% sure")
    expect(row.locator("[data-label='Best arm']")).to_have_text(guess)
    visitor.check()


def test_waiting_for_the_last_rewards(site: Site) -> None:
    experiment = begin(site, "waits", max_trials=40)
    play(site.client, experiment, ARMS, random.Random(1), most=39)
    (last,) = site.client.ask(experiment)
    visitor = site.visitor()
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#state")).to_have_text("Waiting for the last rewards")
    expect(page.locator("#sentence")).to_contain_text("No trials after 40, but rewards are still out")
    expect(page.locator("#more")).to_contain_text("1 reward may still come.")
    site.client.tell(experiment, {last.ticket: 0.0})
    expect(page.locator("#state")).to_have_text("Stopped without a decision")
    expect(page.locator("#sentence")).to_contain_text("Stopped at the end of its budget without a decision.")
    visitor.check()


def test_a_wait_names_the_ticket(site: Site) -> None:
    experiment = begin(site, "waits for one", stopping="design_based")
    play(site.client, experiment, ARMS, random.Random(1), most=60)
    tickets = site.client.ask(experiment, 40)
    told = [ticket for ticket in tickets if ticket != tickets[7]]
    site.client.tell(experiment, {ticket.ticket: float(ticket.arm == "b") for ticket in told})
    visitor = site.visitor(width=390)
    page = visitor.open(f"/experiments/{experiment}")
    expect(page.locator("#waits")).to_contain_text("32 rewards wait for ticket 67, which has had no reward since")
    expect(page.locator("#waits")).to_contain_text("it is counted as 0 on")
    expect(page.locator("#observed")).to_have_text("67 counted, 32 wait for ticket 67")
    settled(page)
    check_looks(page, "a wait on a phone")
    site.client.tell(experiment, {tickets[7].ticket: 1.0})
    expect(page.locator("#waits")).to_be_hidden()
    visitor.check()


def test_a_plan_with_a_tolerance_a_control_and_an_end(site: Site) -> None:
    visitor = site.visitor(expected=("422",))
    page = visitor.open("/plan")
    expect(page.locator("#start")).to_be_enabled()
    exact = page.locator("#answer").inner_text()
    page.get_by_label("Control (optional)").select_option("B")
    expect(page.get_by_role("alert")).to_contain_text("A control needs a tolerance")
    page.get_by_label("Good enough if within").fill("20")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#answer")).not_to_have_text(exact)
    page.get_by_label("Lower is better").check()
    page.get_by_label("Mean of arm 3", exact=True).fill("8")
    page.get_by_label("Label of arm 2").fill("Old")  # the control keeps its place
    expect(page.get_by_label("Control (optional)")).to_have_value("Old")
    page.get_by_label("Trials at most").fill("100")
    expect(page.locator("#short")).to_contain_text("You allow 100 trials, and it needs about")
    page.get_by_label("Deadline (optional").fill("2020-01-01T12:00")
    expect(page.get_by_role("alert")).to_have_text("The deadline must be in the future.")
    later = datetime.now() + timedelta(days=30)
    page.get_by_label("Deadline (optional").fill(later.strftime("%Y-%m-%dT%H:%M"))
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_role("button", name="Start experiment").click()
    expect(page.locator("#started")).to_be_visible()
    made = page.get_by_role("link", name="Watch the experiment").get_attribute("href").rsplit("/", 1)[1]
    config = site.client.status(made)["config"]
    assert {name: config[name] for name in ("tolerance", "goal", "control", "max_trials")} == {
        "tolerance": "20%",
        "goal": "min",
        "control": "Old",
        "max_trials": 100,
    }
    assert abs(datetime.fromisoformat(config["deadline"]).timestamp() - later.timestamp()) < 60.0
    page.get_by_role("link", name="Watch the experiment").click()
    expect(page.locator("#question")).to_contain_text("better than the control, “Old”, by more than 20 %")
    expect(page.locator("#question")).to_contain_text("Lower is better.")
    visitor.check()


def test_a_plan_with_a_guessed_deviation(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    page.locator("#family").select_option("gaussian")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#start")).to_be_enabled()
    known = page.locator("#answer").inner_text()
    page.get_by_label("this is a guess").check()
    expect(page.locator("#answer")).not_to_have_text(known)
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_role("button", name="Start experiment").click()
    expect(page.locator("#started")).to_be_visible()
    made = page.get_by_role("link", name="Watch the experiment").get_attribute("href").rsplit("/", 1)[1]
    assert site.client.status(made)["config"]["family"]["variance"] is None
    visitor.check()


def test_endings_fit_and_can_be_read(site: Site) -> None:
    """A page in each of the new states, on a phone and in the dark."""
    stopped = begin(site, "fits: stopped", max_trials=60, control="a", tolerance="10%")
    play(site.client, stopped, ARMS, random.Random(1))
    lower = begin(site, "fits: lower", delta=0.05, goal="min", tolerance=0.1)
    play(site.client, lower, ARMS, random.Random(1))
    long = begin(site, "fits: running", max_trials=5000, deadline=datetime.now(UTC) + timedelta(days=400))
    play(site.client, long, ARMS, random.Random(1), most=60)
    states = [site.client.status(made)["state"] for made in (stopped, lower, long)]
    assert states == ["stopped", "decided", "running"]
    visitor = site.visitor(width=390)
    for path in (f"/experiments/{stopped}", f"/experiments/{lower}", f"/experiments/{long}"):
        page = visitor.open(path)
        settled(page)
        check_names(page, path)
        page.wait_for_function(f"() => 2 <= ({TICKS}) && ({TICKS}) <= 5")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            check_looks(page, f"{path} in {scheme}")
    visitor.check()
