"""The lessons in a browser: they can be moved by keys, and their arithmetic is that of the package."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from browser.console.conftest import Coming

pytestmark = pytest.mark.xdist_group("console-flows")


def drag(page: Page, label: str, keys: dict[str, int]) -> None:
    """Move a slider by keys alone."""
    page.get_by_label(label).focus()
    for key, times in keys.items():
        for _ in range(times):
            page.keyboard.press(key)


def test_lessons_are_played_by_keys(coming: Coming) -> None:
    with coming("public", at="/learn/anonymity") as page:
        expect(page.locator("[data-said]")).to_contain_text("people are alone")
        drag(page, "The hospital publishes of birth dates", {"End": 1})
        drag(page, "and of ZIP codes", {"End": 1})
        expect(page.locator("[data-said]")).to_contain_text("0% of people are alone")
        page.goto("/learn/block")
        for _ in range(7):
            page.get_by_role("button", name="Correct one person").click()
        expect(page.locator("[data-said]")).to_contain_text("Every number fits.")
        page.locator("#seven").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("[data-said]")).to_contain_text("of 14 numbers fit.")
        page.get_by_label("How old is the oldest").fill("84")
        page.get_by_role("button", name="Check").click()
        expect(page.locator("#question")).to_contain_text("Right.")
