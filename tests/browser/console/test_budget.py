"""A budget that is spent: what is said, how more is asked for, and that the question then passes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from browser.console.conftest import Coming, Picture
from browser.console.place import Place, placed

pytestmark = pytest.mark.xdist_group("console-flows")

QUESTION = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("budget") / "clinic", epsilon="1") as found:
        yield found


def test_spent_asked_for_and_granted(coming: Coming, place: Place, picture: Picture) -> None:
    with place.hand("analyst") as analyst:
        for name in ("disease", "ward"):
            analyst.ask(f"SELECT {name}, count(*) AS n FROM patients GROUP BY {name}", epsilon="0.4")
    with coming("analyst", at="/ask", statuses={402}) as page:
        page.get_by_label("Your query, in SQL").fill(QUESTION)
        page.get_by_label("Epsilon", exact=True).fill("0.5")
        trouble = page.locator("#trouble")
        expect(trouble).to_contain_text("0.5")  # what it costs, and what is left
        expect(trouble).to_contain_text("remaining")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("remaining")
        expect(page.get_by_role("alert").get_by_role("button", name="Use epsilon 0.2")).to_be_visible()
        picture(page, "spent")
        page.get_by_role("alert").get_by_role("link", name="request more budget").click()
        page.get_by_label("Table", exact=True).select_option("patients")
        page.get_by_label("Additional epsilon").fill("1")
        page.get_by_label("Reason").fill("We plan next year's beds.")
        page.get_by_role("button", name="Send the request").click()
        expect(page.get_by_role("article")).to_contain_text("Waiting for an owner's decision.")
    with coming("owner", at="/budget") as page:
        request = page.get_by_role("article")
        expect(request).to_contain_text("ann requests epsilon 1 more for patients")
        expect(request).to_contain_text("We plan next year's beds.")
        expect(request.get_by_label("New limit, epsilon")).to_have_value("2")
        picture(page, "budget")
        picture(request, "request")
        request.get_by_label("Message to").fill("Gladly.")
        box = request.get_by_role("checkbox")
        if box.count():
            box.check()
        request.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("group", name="Decided requests")).to_contain_text("Gladly.")
        expect(page.locator("#population-1 + dl")).to_contain_text("epsilon 2, delta 1e-06")
    with coming("analyst", at="/ask") as page:
        page.get_by_label("Your query, in SQL").fill(QUESTION)
        page.get_by_label("Epsilon", exact=True).fill("0.5")
        expect(page.locator("#price")).to_contain_text("epsilon 0.5, delta 0")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page).to_have_url(re.compile(r"/a/r-"))


@pytest.mark.deep
def test_an_offer_that_fits_what_is_left_is_taken(coming: Coming, place: Place) -> None:
    with coming("analyst", at="/ask") as page:
        page.get_by_label("Your query, in SQL").fill("SELECT avg(age) AS mean FROM patients")
        page.get_by_label("Epsilon", exact=True).fill("50")
        trouble = page.locator("#trouble")
        expect(trouble.get_by_role("button", name=re.compile("Use "))).to_be_visible()
        trouble.get_by_role("button", name=re.compile("Use ")).click()
        expect(trouble).to_be_empty()
        expect(page.locator("#price")).to_contain_text("Remaining afterwards")


@pytest.mark.deep
def test_the_log_is_verified(coming: Coming, picture: Picture) -> None:
    with coming("owner", at="/log") as page:
        page.get_by_role("button", name="Verify the whole ledger").click()
        expect(page.get_by_role("status")).to_contain_text("entries verified")
        page.set_viewport_size({"width": 1000, "height": 640})
        picture(page, "log")
