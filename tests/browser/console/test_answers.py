"""What people do with an answer in a browser: copy it, keep its picture, read it on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from browser.console.conftest import PHONE, Coming
from browser.console.place import Place

pytestmark = pytest.mark.xdist_group("console-flows")

COUNTS = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"


def test_an_answer_is_copied_drawn_and_read_on_a_phone(coming: Coming, place: Place) -> None:
    with place.hand("analyst") as analyst:
        release = analyst.ask(COUNTS)
        analyst.ask("SELECT sex, ward, disease, count(*) AS people FROM patients GROUP BY sex, ward, disease")
    with coming("analyst", at=f"/a/{release}", permissions=["clipboard-read", "clipboard-write"]) as page:
        copied = {}
        for what in ("Copy the SQL", "Copy the numbers", "Copy the link", "Copy a curl command"):
            page.get_by_role("button", name=what).click()
            copied[what] = page.evaluate("navigator.clipboard.readText()")
        assert copied["Copy the SQL"] == COUNTS and copied["Copy the link"] == page.url
        assert re.fullmatch(r"disease\tn\nflu\t\d+ ± \d+\n(.+\t.+\n){2}NULL\t[^(\n]+", copied["Copy the numbers"])
        assert copied["Copy a curl command"].startswith('curl -H "Authorization: Bearer $TOKEN" "http')
        with page.expect_download() as download:
            page.get_by_role("link", name="PNG").click()
        assert download.value.path().read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
        page.set_viewport_size(PHONE)
        page.goto("/a")
        expect(page.locator("table.as-cards")).to_have_count(1)
        expect(page.locator("table.as-cards tbody td").first).to_have_attribute("data-label", "Table")
        expect(page.get_by_role("link", name="Data", exact=True)).to_be_hidden()
        page.get_by_role("button", name="Menu").click()
        page.get_by_role("link", name="Data", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Data")
        page.goto("/ask")
        above = page.locator("#price").bounding_box(), page.get_by_role("button", name="Ask", exact=True).bounding_box()
        assert above[0] and above[1] and above[0]["y"] + above[0]["height"] <= above[1]["y"]
