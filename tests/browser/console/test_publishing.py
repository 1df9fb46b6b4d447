"""Published by an owner, read by everybody: the card, the files, and a bundle that verifies."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from browser.console.conftest import Coming, Picture
from browser.console.furnished import COUNTS
from browser.console.place import Place
from discreet.bundle.verification import verify

pytestmark = pytest.mark.xdist_group("console-flows")


def test_publish_and_read_logged_out(coming: Coming, place: Place, picture: Picture, tmp_path: Path) -> None:
    with place.hand("owner") as owner:
        release = owner.ask(COUNTS, epsilon="1")
    with coming(statuses={404}) as page:
        page.goto(f"/r/{release}")  # not before it is published
        expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    with coming("owner", at=f"/a/{release}") as page:
        page.get_by_role("button", name="Publish").click()
        page.get_by_label("Name", exact=True).fill("Diseases of the clinic")
        page.get_by_label("Description").fill("How many patients have each disease.")
        page.get_by_label("Curators").fill("The clinic\nIts statistician")
        expect(page.locator("#preview")).to_contain_text("Its statistician")  # before it is published
        page.get_by_role("button", name="Publish").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Diseases of the clinic")
    with coming(at="/") as page:
        expect(page).to_have_url(re.compile(r"/r$"))
        page.get_by_role("link", name="Diseases of the clinic").click()
        expect(page.locator("svg.chart")).to_be_visible()
        expect(page.locator("#card ~ details").first).to_contain_text("Its statistician")
        expect(page.locator("dl.facts").first).to_contain_text("epsilon 1")
        expect(page.get_by_role("button", name="Withdraw")).to_have_count(0)
        picture(page, "published")
        with page.expect_download() as begun:
            page.get_by_role("link", name="The whole bundle (ZIP)").click()
        begun.value.save_as(tmp_path / "bundle.zip")
        with page.expect_download() as begun:
            page.get_by_role("link", name=re.compile(r"\.csv$")).first.click()
        assert "mumps" in Path(begun.value.path()).read_text()
        key = re.search(r"--key (\S+)", page.locator("#check ~ pre").first.text_content() or "")[1]
    assert zipfile.is_zipfile(tmp_path / "bundle.zip")
    assert verify(tmp_path / "bundle.zip", key=key).sound
    with coming("owner", at=f"/r/{release}", dialogs=True) as page:
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Withdraw").click()
        expect(page.locator("main")).to_contain_text("Nothing is published yet.")


def test_the_preview_follows_what_was_typed_early_and_survives_a_busy_server(coming: Coming, place: Place) -> None:
    with place.hand("owner") as owner:
        release = owner.ask(COUNTS, epsilon="1")
    held_back: list[Route] = []
    refused: list[str] = []

    def busy_once(route: Route) -> None:
        if route.request.method == "POST" and not refused:
            refused.append(route.request.url)
            route.fulfill(status=429, body="busy")
        else:
            route.continue_()

    with coming("owner", statuses={429}) as page:
        page.route("**/publish.js*", lambda route: held_back.append(route))
        page.route("**/publish", busy_once)
        page.goto(f"/r/{release}/publish", wait_until="commit")
        page.get_by_label("Curators").fill("Typed before the script ran")
        expect(page.locator("#preview")).not_to_contain_text("Typed before")
        assert held_back
        held_back.pop().continue_()
        expect(page.locator("#preview")).to_contain_text("Typed before the script ran")
        assert refused
        page.get_by_label("Curators").fill("Typed after it")
        expect(page.locator("#preview")).to_contain_text("Typed after it")
