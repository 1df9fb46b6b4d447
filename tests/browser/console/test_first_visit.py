"""From the first link to the first answer, as somebody who has never been here goes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from browser.console.conftest import Coming, Picture
from browser.console.place import Place

pytestmark = pytest.mark.xdist_group("console-flows")

WORDS = "several words are easy to keep"


def found(page: Page, link: str) -> None:
    """Become the first owner."""
    page.goto(f"/setup/{link}")
    page.get_by_label("Your name").fill("Olga")
    page.get_by_label("Password", exact=True).fill(WORDS)
    page.get_by_label("Repeat the password").fill(WORDS)
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Home")


def add(page: Page, name: str) -> str:
    """Add an analyst; their first password."""
    page.get_by_role("link", name="Admin").click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("status")).to_contain_text(f"The password of {name} is")
    return page.get_by_role("status").locator("code").text_content() or ""


def log_in(page: Page, name: str, password: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Log in").click()


def test_first_visit_to_first_answer(coming: Coming, place: Place, picture: Picture) -> None:
    link = place.house.people.setup.link()
    with coming(statuses={401, 404}) as page:
        page.goto("/budget")  # not without a login, which leads back here
        expect(page).to_have_url(re.compile(r"/login\?next=/budget$"))
        expect(page.locator("main")).to_contain_text("There are no accounts yet")
        found(page, link)
        page.goto(f"/setup/{link}")  # good for one owner
        expect(page.get_by_role("heading", level=1)).to_have_text("This link is no longer valid")
        password = add(page, "Ann")
        page.get_by_role("button", name="Log out").click()
        log_in(page, "Ann", "not the password")
        expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
        log_in(page, "Ann", password)
        expect(page.locator(".who")).to_contain_text("Ann")
        expect(page.locator("main")).to_contain_text("Your password was chosen by somebody else")
        page.goto("/ask")  # not before there is a password that nobody else knows
        expect(page).to_have_url(re.compile(r"/me$"))
        page.get_by_label("Current password").fill(password)
        page.get_by_label("New password", exact=True).fill("olive trams in the rain")
        page.get_by_label("Repeat the new password").fill("olive trams in the rain")
        page.get_by_role("button", name="Change password").click()
        expect(page.get_by_role("status")).to_contain_text("Your password was changed")
        expect(page.get_by_role("link", name="Admin")).to_have_count(0)
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Ask").click()
        _first_answer(page, picture)
        page.goto("/")
        expect(page.locator("main")).to_contain_text("SELECT ward, count(*) AS n")
        picture(page, "home")
    assert [charge.analyst for charge in place.house.handle.project.ledger.refresh().charges.values()] == ["Ann"]


def _first_answer(page: Page, picture: Picture) -> None:
    """The price appears before anything is paid, follows what is typed, and the answer tells what it is worth."""
    page.wait_for_load_state()  # until then the box has no editor over it
    question, price = page.get_by_label("Your query, in SQL"), page.locator("#price")
    page.get_by_role("button", name="Use this example").click()
    expect(price).to_contain_text("epsilon 0.1, delta 0")
    expect(price).to_contain_text("n: plus or minus")
    question.fill("SELECT ward, count(*) AS n FROM patients GROUP BY ward")
    page.get_by_label("Epsilon", exact=True).fill("2")
    expect(price).to_contain_text("epsilon 2, delta 0")
    expect(page.locator("#slider-ends")).to_have_text(re.compile(r"more private\s*more precise"))
    slider = page.get_by_label("Privacy or precision")
    slider.press("End")
    expect(page.get_by_label("Epsilon", exact=True)).to_have_value("10")
    slider.press("Home")
    expect(page.get_by_label("Epsilon", exact=True)).to_have_value("0.001")
    expect(price).to_contain_text("epsilon 0.001, delta 0")
    expect(page.locator(".warn, .bad")).to_have_count(0)  # a small epsilon is never a warning
    page.get_by_label("Plus or minus", exact=True).fill("5")
    expect(page.get_by_label("set the precision")).to_be_checked()
    expect(price).to_contain_text(re.compile(r"plus or minus [345]"))
    expect(page.get_by_label("Epsilon", exact=True)).to_have_value(re.compile(r"^0\.5"))  # and the slider follows
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^epsilon 0\.5"))
    expect(page.locator("#confirm")).to_contain_text("charged to Ann")
    page.set_viewport_size({"width": 1040, "height": 700})
    page.evaluate("scrollTo(0, 0)")
    picture(page, "ask")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page).to_have_url(re.compile(r"/a/r-"))
    expect(page.locator("main")).to_contain_text("Confidence intervals at 95%")
    expect(page.locator("svg.chart")).to_be_visible()
    expect(page.get_by_role("group", name="The answer").locator("tbody tr")).to_have_count(5)  # four, and NULL
    expect(page.locator("#cost + dl")).to_contain_text("discrete Laplace noise")
    picture(page, "answer")
