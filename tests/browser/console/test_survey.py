"""A survey: made by the owner, answered on a phone by somebody whom nobody knows, and read again."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from browser.console.conftest import PHONE, Coming, Picture
from browser.console.furnished import survey
from browser.console.place import Place
from discreet.console.jobs.survey_host import survey_host_of

pytestmark = pytest.mark.xdist_group("console-flows")


def test_made_answered_on_a_phone_and_counted(coming: Coming, place: Place, picture: Picture) -> None:
    with coming("owner", at="/survey") as page:
        page.get_by_role("link", name="Make a survey").click()
        page.get_by_label("Question", exact=True).fill("Did you dance?")
        page.get_by_label("Choices", exact=True).fill("yes\nno")
        page.get_by_label("Who asks").fill("The city clinic")
        expect(page.get_by_label("Epsilon per answer")).to_have_value("1")
        page.get_by_label("Epsilon per answer").fill("1.0986")
        page.get_by_label("Minimum number of reports").fill("1")
        page.get_by_role("button", name="Preview").click()
        expect(page.locator("section.card")).to_contain_text("1 byte")
        expect(page.get_by_role("group", name="As respondents see it")).to_contain_text("The city clinic asks.")
        expect(page.locator(".warn")).to_contain_text("say almost nothing")
        picture(page, "survey-new")
        page.get_by_role("button", name="Make this survey").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Did you dance?")
        link = page.locator(".invitation a").first.get_attribute("href")
        made = page.url.rpartition("/")[2]
        with coming(viewport=PHONE, has_touch=True, is_mobile=True) as phone:
            phone.goto(link)
            expect(phone.locator("#asker")).to_have_text("The city clinic asks.")
            phone.get_by_label("yes", exact=True).check()
            phone.get_by_role("button", name="Flip the coin").click()
            expect(phone.get_by_role("heading", name="This is what will be sent")).to_be_visible()
            assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            picture(phone, "survey-phone")
            phone.get_by_role("button", name="Send this").click()
            expect(phone.get_by_role("heading", name="Thank you")).to_be_visible()
            assert phone.context.cookies() == []
        assert survey_host_of(place.house.handle).store.count(made) == 1
        while "1 report so far" not in page.locator("main").inner_text():  # results rest for a moment
            page.reload()


@pytest.mark.deep
def test_results_and_closing(coming: Coming, place: Place, picture: Picture) -> None:
    made = survey(place, reports=400)
    with coming("owner", at=f"/survey/{made}", dialogs=True) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        expect(page.locator("svg.chart")).to_be_visible()
        picture(page, "survey")
        page.get_by_role("button", name="Close the survey").click()
        expect(page.locator("main .tag").first).to_have_text("closed")
    with coming("analyst", at=f"/survey/{made}") as page:
        expect(page.locator("table").first).to_contain_text("yes")
        expect(page.get_by_role("button", name="Close the survey")).to_have_count(0)
