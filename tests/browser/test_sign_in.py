import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Site

pytestmark = pytest.mark.system


def test_a_key_signs_in_and_the_button_signs_out(site: Site) -> None:
    visitor = site.visitor(role=None, expected=("401",))
    page = visitor.open("/plan")
    assert "/sign-in" in page.url
    page.get_by_label("Key").fill(site.key("reader"))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/plan")
    expect(page.locator("#who")).to_have_text("the reader (reader)")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    visitor.open("/experiments")
    assert "/sign-in" in page.url
    visitor.check()


def test_a_wrong_key_is_said_to_be_wrong(site: Site) -> None:
    visitor = site.visitor(role=None, expected=("401",))
    page = visitor.open("/sign-in?next=/plan")
    page.get_by_label("Key").fill("fb_0123456789ab_not-a-key-at-all")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("This key is unknown")
    assert page.context.cookies() == []
    page.get_by_label("Key").fill(site.key("admin"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/plan")
    visitor.check()


def test_an_expired_key_is_said_to_have_expired(site: Site) -> None:
    page = site.visitor(role=None).open("/sign-in?expired=1")
    expect(page.get_by_role("alert")).to_have_text("This key has expired. Ask for a new one.")


def test_scripts_cannot_read_the_key(site: Site) -> None:
    visitor = site.visitor(role=None)
    page = visitor.open("/sign-in")
    page.get_by_label("Key").fill(site.key("reader"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/experiments")
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert page.evaluate("document.cookie") == ""
    assert cookie["value"] not in site.key("reader")
    visitor.check()


@pytest.mark.parametrize(
    "target", ["/%5Cevil.example", "/%09/evil.example/x", "//evil.example", "https://evil.example", "javascript:stop()"]
)
def test_whoever_is_signed_in_is_led_nowhere_else(site: Site, target: str) -> None:
    visitor = site.visitor()
    with visitor.page.expect_response("**/v1/session"):
        page = visitor.open(f"/sign-in?next={target}")
    page.evaluate("fetch('/v1/session').then((response) => response.text())")  # by then the page would have left
    assert page.url.startswith(f"{site.base}/sign-in")
    visitor.check()


def test_whoever_is_signed_in_goes_on(site: Site) -> None:
    visitor = site.visitor()
    visitor.open("/sign-in?next=/plan%3Fx%3D1")
    visitor.page.wait_for_url("**/plan?x=1")
    expect(visitor.page.locator("#answer")).to_contain_text("trials")
    visitor.check()


def test_the_wait_is_a_number(site: Site) -> None:
    page = site.visitor(role=None).open("/sign-in?wait=call%20this%20number")
    expect(page.get_by_role("alert")).to_contain_text("Try again in 60 seconds.")


def test_a_link_may_have_the_key_which_is_only_confirmed(site: Site) -> None:
    visitor = site.visitor(role=None)
    page = visitor.open(f"/sign-in#{site.keys['admin']}")
    expect(page.get_by_role("button", name="Sign in")).to_be_focused()
    assert "fb_" not in page.url
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Experiments")).to_be_visible()
    visitor.check()


def test_help_has_the_words_and_the_calls(site: Site) -> None:
    visitor = site.visitor()
    page = visitor.open("/experiments")
    page.get_by_role("link", name="Glossary").click()
    expect(page.locator("#glossary + dl")).to_contain_text("Sample ratio")
    expect(page.locator("#calls tr", has_text="POST /v1/experiments/{experiment}/ask")).to_contain_text("writer")
    visitor.check()
