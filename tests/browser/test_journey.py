import random
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.visitor import Site, play, saved


@pytest.mark.system
@pytest.mark.slow_without_jit
def test_from_the_plan_to_the_report(site: Site, tmp_path: Path) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    page.get_by_label("Name", exact=True).fill("Checkout button")
    page.get_by_label("Number of arms", exact=True).fill("3")
    page.get_by_label("Smallest difference that matters").check()
    page.get_by_label("Mean of the other arms", exact=True).fill("10")
    page.get_by_label("Best arm is better by", exact=True).fill("80")
    page.get_by_label("Chance of a wrong answer", exact=True).fill("0.01")
    expect(page.locator("#meaning")).to_contain_text("0.01 %, however traffic changes, if arms are shown as drawn")
    page.get_by_label("My traffic changes over time").uncheck()
    expect(page.locator("#meaning")).to_contain_text("at most 0.01 % if every arm keeps its mean.")
    page.get_by_label("My traffic changes over time").check()
    expect(page.locator("#meaning")).to_contain_text("however traffic changes")
    page.get_by_role("button", name="Start experiment").click()
    expect(page.get_by_role("heading", name="“Checkout button” has started")).to_be_visible()
    experiment = page.get_by_role("link", name="Watch the experiment").get_attribute("href").rsplit("/", 1)[1]
    code = page.locator("#code pre").first.inner_text()
    assert f'client.ask("{experiment}", serve_winner=True, unit=visitor)' in code
    assert "who comes back sees the same variant" in page.locator("#code").inner_text()
    below = page.locator("#form").bounding_box()["y"]
    assert page.locator("#started").bounding_box()["y"] < below  # at the top of the page

    page.get_by_role("link", name="Watch the experiment").click()
    expect(page.locator("#live")).to_have_text("Live")
    expect(page.locator("#trials")).to_have_text("0")
    rates, rng = {"A": 0.1, "B": 0.1, "C": 0.9}, random.Random(1)
    play(site.client, experiment, rates, rng, most=30)  # so many that every arm is drawn
    expect(page.locator("#trials")).to_have_text("30")  # nobody has reloaded the page
    expect(page.locator("#arms tr")).to_have_count(3)
    for chart in ("shares", "means", "evidence", "trials-chart"):
        expect(page.locator(f"#{chart} .main-svg").first).to_be_visible()

    play(site.client, experiment, rates, rng)
    expect(page.locator("#sentence")).to_contain_text("“C” is best")
    expect(page.locator("#state")).to_have_text("Decided")
    expect(page.locator("#live")).to_have_text("Finished")
    check_report(visitor.page, saved(page, "#report", tmp_path))
    log = saved(page, "#csv", tmp_path).read_text().splitlines()
    assert log[0].startswith("sequence,at,kind")
    visitor.check()


def check_report(page: Page, report: Path) -> None:
    """The report is self-contained: it opens from disk with its charts."""
    other = page.context.new_page()
    other.goto(report.as_uri())
    expect(other.locator("body")).to_contain_text("“C” is best")
    expect(other.locator(".main-svg").first).to_be_visible()
    other.close()


@pytest.mark.system
def test_the_plan_can_be_made_with_the_keyboard_alone(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    expect(page.locator("#answer")).to_contain_text("trials")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "#name")
    page.keyboard.press("Control+a")
    page.keyboard.type("By hand")
    tab_to(page, "#arms-slider")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#rows .arm")).to_have_count(5)
    before = page.locator("#answer").inner_text()
    tab_to(page, "#floor-slider")
    page.keyboard.press("Home")
    expect(page.locator("#price-of")).to_have_text("0 trials")
    page.keyboard.press("End")
    expect(page.locator("#floor")).to_have_value("20")
    expect(page.locator("#answer")).not_to_have_text(before)
    expect(page.locator("#start")).to_be_enabled()
    tab_to(page, "#start")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#started")).to_be_focused()
    tab_to(page, "#watch")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="By hand")).to_be_visible()
    visitor.check()


def tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the Tab key does not reach {selector}")


@pytest.mark.system
def test_what_cannot_be_planned_is_explained(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    expect(page.locator("#answer")).to_contain_text("trials")
    page.get_by_label("Every arm gets at least", exact=True).fill("40")
    expect(page.get_by_role("alert")).to_have_text("4 floors of 40 % add up to 160 %; at most 25 % each is possible.")
    check_nothing_is_offered(page)
    page.get_by_label("Every arm gets at least", exact=True).fill("10")
    expect(page.locator("#start")).to_be_enabled()
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#price .main-svg").first).to_be_visible()
    visitor.check()


def check_nothing_is_offered(page: Page) -> None:
    """Results of an older form would be mistaken for those of this one."""
    for name in ("answer", "price-of", "without-floors", "heuristic"):
        expect(page.locator(f"#{name}")).to_have_text("–")
    expect(page.locator("#strip")).to_have_text(page.locator("#problem").inner_text())
    assert page.locator("#price .main-svg, #allocation .main-svg, #shares tr").count() == 0
    expect(page.locator("#start")).to_be_disabled()


def test_mistakes_name_the_arm_in_the_units_of_the_form(site: Site) -> None:
    visitor = site.visitor()
    page, alert = visitor.open("/plan"), visitor.page.get_by_role("alert")
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_label("Mean of arm 2", exact=True).fill("150")
    expect(alert).to_have_text("The mean of “B” must be greater than 0 % and less than 100 %, not 150 %.")
    page.get_by_label("Mean of arm 2", exact=True).fill("12")
    expect(alert).to_contain_text("“B” and “D” share the highest mean; one arm must be best")
    page.get_by_label("Mean of arm 2", exact=True).fill("")
    expect(alert).to_have_text("Enter the mean of “B”.")
    page.get_by_label("Mean of arm 2", exact=True).fill("15")
    page.get_by_label("Label of arm 3").fill("A")
    expect(alert).to_have_text("Two arms have the label “A”.")
    page.get_by_label("Label of arm 3").fill("C")
    page.get_by_label("One floor per arm").check()
    page.get_by_label("Floor of arm 1", exact=True).fill("45")
    expect(alert).to_have_text("The floors add up to 105 %; at most 100 % is possible.")
    page.get_by_label("Also limit each arm with a ceiling").check()
    page.get_by_label("Floor of arm 1", exact=True).fill("20")
    page.get_by_label("Ceiling of arm 4", exact=True).fill("10")
    expect(alert).to_have_text("The floor of “D” (20 %) is above its ceiling (10 %).")
    page.get_by_label("Number of arms", exact=True).fill("13")
    expect(alert).to_have_text("The number of arms must be a whole number from 2 to 12.")
    visitor.check()


def test_what_the_service_refuses_leaves_no_results(site: Site) -> None:
    visitor = site.visitor(expected=("422",))
    page = visitor.open("/plan")
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_label("One floor per arm").check()
    for arm, floor in enumerate(("50", "50", "0", "0"), 1):
        page.get_by_label(f"Floor of arm {arm}", exact=True).fill(floor)
    expect(page.get_by_role("alert")).to_contain_text("nothing is left for 'C'")
    check_nothing_is_offered(page)
    visitor.check()


def test_one_trial_is_not_trials(site: Site) -> None:
    visitor = site.visitor()
    trials = dict.fromkeys(("expected", "proved", "without_floors", "heuristic", "drift_proof"), 1.0)
    figures = {name: {"data": [], "layout": {}} for name in ("price", "allocation")}
    planned = {"trials": trials, "price": {"trials": 0.2, "ratio": 1.0}, "days": None, "allocation": []}
    planned |= {"regret": {"until_decision": 0.5, "floors": 0.2}, "quantiles": {"p50": 1.0, "p90": 1.0}}
    planned |= {
        "stop": "drift_proof",
        "stops": {"proved": {"kind": "mixture"}, "drift_proof": {"kind": "design_based"}},
    }
    planned |= {"figures": figures, "drifts": True, "experiment": {}}
    visitor.page.route("**/v1/plan", lambda route: route.fulfill(json=planned))
    page = visitor.open("/plan")
    expect(page.locator("#answer")).to_have_text("About 1 trial")
    expect(page.locator("#price-of")).to_have_text("1 trial")
    expect(page.locator("#heuristic")).to_have_text("1 trial")
    visitor.check()


CHANGE_AND_START = """(value) => {
  const [field, start] = ["floor", "start"].map((id) => document.getElementById(id));
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  start.click();
  return start.ariaDisabled;
}"""


@pytest.mark.system
def test_only_what_the_form_says_now_can_be_started(site: Site) -> None:
    visitor = site.visitor()
    page, posted = visitor.page, []
    page.on("request", lambda request: posted.append(request) if request.url.endswith("/v1/experiments") else None)
    visitor.open("/plan")
    expect(page.locator("#start")).to_be_enabled()
    for value in ("20", "15", "10"):  # the answer to the first comes while the last one waits
        assert page.evaluate(CHANGE_AND_START, value) == "true"
    expect(page.locator("#start")).to_be_enabled()
    assert posted == []
    page.locator("#start").click()
    expect(page.locator("#started")).to_be_visible()
    assert [request.post_data_json["floors"] for request in posted] == [{"kind": "constant", "floor": 0.1}]
    visitor.check()


@pytest.mark.system
def test_an_empty_field_is_not_zero(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_label("Every arm gets at least", exact=True).fill("")
    expect(page.get_by_role("alert")).to_have_text("Enter the floor.")
    expect(page.locator("#start")).to_be_disabled()
    visitor.check()


@pytest.mark.system
def test_the_answer_follows_the_slider_while_it_is_dragged(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    expect(page.locator("#answer")).to_contain_text("trials")
    for chart in ("price", "allocation"):  # else they move the slider when they come
        expect(page.locator(f"#{chart} .main-svg").first).to_be_visible()
    page.locator("#delta-slider").scroll_into_view_if_needed()
    box = page.locator("#delta-slider").bounding_box()
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 10, height)
    page.mouse.down()
    for step in range(1, 5):  # the button stays down
        before = page.locator("#answer").inner_text()
        page.mouse.move(box["x"] + box["width"] * step / 6, height)
        expect(page.locator("#answer")).not_to_have_text(before)
    page.mouse.up()
    visitor.check()


@pytest.mark.system
def test_every_family_and_way_of_planning_works(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    for family in ("gaussian", "bounded", "poisson", "exponential", "bernoulli"):
        page.locator("#family").select_option(family)
        expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
        expect(page.get_by_role("alert")).to_be_hidden()
    page.get_by_label("Smallest difference that matters").check()
    page.get_by_label("Expected mean of each arm").check()
    page.get_by_label("One floor per arm").check()
    page.get_by_label("Also limit each arm with a ceiling").check()
    page.get_by_label("Mean of arm 2", exact=True).fill("30")
    page.get_by_label("Floor of arm 1", exact=True).fill("5")
    page.get_by_label("Ceiling of arm 2", exact=True).fill("50")
    page.get_by_label("Label of arm 2").fill("Blue")
    page.get_by_role("button", name="Remove arm 1").click()
    expect(page.locator("#rows .arm")).to_have_count(3)
    expect(page.get_by_label("Label of arm 1")).to_have_value("Blue")
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#allocation")).to_contain_text("Blue")
    page.get_by_text("Shares as a table").click()
    expect(page.locator("#shares tr").first).to_contain_text("Blue")
    visitor.check()


@pytest.mark.system
def test_revenue_is_bounded_and_says_for_which_rewards_it_is_proved(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    offered = page.locator("#family option")
    expect(offered.filter(has_text="revenue")).to_have_attribute("value", "bounded")
    page.locator("#family").select_option("gaussian")
    expect(page.locator("#family-hint")).to_contain_text("Revenue does not")
    expect(page.locator("#meaning")).to_contain_text("rewards vary no more than normal ones of the declared")
    page.get_by_label("this is a guess").check()
    expect(page.locator("#family-hint")).to_contain_text("Approximate for skewed rewards such as revenue")
    expect(page.locator("#meaning")).to_contain_text("rewards are normal, which revenue is not")
    page.locator("#family").select_option("bounded")
    page.get_by_label("Largest possible reward").fill("5")
    expect(page.get_by_role("alert")).to_contain_text("must be greater than 0 and less than 5")
    page.get_by_label("Largest possible reward").fill("40")
    expect(page.get_by_role("alert")).to_contain_text("the standard deviation is less than 16.8")
    page.get_by_label("Largest possible reward").fill("400")
    expect(page.locator("#meaning")).to_contain_text("depend on arms drawn after it and every reward is from 0 to 400.")
    page.get_by_role("button", name="Start experiment").click()
    expect(page.locator("#started")).to_be_visible()
    made = page.get_by_role("link", name="Watch the experiment").get_attribute("href").rsplit("/", 1)[1]
    family = site.client.status(made)["config"]["family"]
    assert (family["kind"], family["low"], family["high"]) == ("bounded", 0.0, 400.0)
    visitor.check()


@pytest.mark.system
def test_more_has_the_window_the_cycle_the_visitors_and_the_flag(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/plan")
    page.get_by_text("More: window, cycle, visitors, flag").click()
    page.get_by_label("My traffic changes over time").uncheck()
    page.get_by_label("A trial without a reward counts as").fill("0")
    expect(page.get_by_role("alert")).to_have_text("What a trial without a reward counts as needs a window.")
    page.get_by_label("Window: rewards count at the age of").fill("2")
    page.get_by_label("Unit of the window").select_option("hours")
    page.get_by_label("Decide", exact=True).select_option("at the end of whole weeks")
    page.get_by_label("Share of the visitors who take part").fill("50")
    page.get_by_label("After the end, visitors who come back see").select_option("the winner")
    page.get_by_label("A visitor who earns several times has earned").select_option("the last")
    page.get_by_label("Feature flag").fill("no spaces")
    expect(page.get_by_role("alert")).to_contain_text("The flag must be letters")
    page.get_by_label("Feature flag").fill("checkout-of-tests")
    expect(page.locator("#start")).to_be_enabled()
    page.get_by_role("button", name="Start experiment").click()
    expect(page.locator("#started")).to_be_visible()
    assert "client.reward(" in page.locator("#code pre").first.inner_text()
    expect(page.locator("#code")).to_contain_text("when the window of 2 hours is over")
    made = page.get_by_role("link", name="Watch the experiment").get_attribute("href").rsplit("/", 1)[1]
    config = site.client.status(made)["config"]
    names = ("report_after", "silence", "cycle", "enrol", "after_stop", "earnings", "flag")
    assert [config[name] for name in names] == [7200.0, 0.0, "7d", 0.5, "move", "last", "checkout-of-tests"]
    visitor.check()
