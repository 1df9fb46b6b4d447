"""The lessons in a browser: they can be moved by keys, and their arithmetic is that of the package."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from browser.console.conftest import Coming, Picture

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
        drag(page, "Birth dates are published as", {"End": 1})
        drag(page, "ZIP codes are published with", {"End": 1})
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


def test_the_game_is_won_by_a_ledger_and_lost_without(coming: Coming, picture: Picture) -> None:
    with coming("public", at="/learn/game") as page:
        said = page.locator("[data-said]")
        expect(said).to_contain_text("You have not won: a count is not within")
        page.locator("#march").fill("0.3")
        page.locator("#april").fill("0.3")
        expect(said).to_contain_text("is more than the limit")
        page.get_by_label("new noise each time").press("ArrowDown")
        expect(said).to_contain_text("2 answers for March and 1 for April")
        page.get_by_label("the stored answer, free").check()
        expect(said).to_contain_text("You have won, with epsilon 0.4 left.")
        page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
        picture(page, "lesson")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("phones", "Corrected for flips"),
        ("friends", "the number of links is larger by 8"),
        ("bayes", "this network misplaces"),
    ],
)
def test_a_lesson_speaks(coming: Coming, name: str, words: str) -> None:
    with coming("public", at=f"/learn/{name}") as page:
        expect(page.locator("[data-said]")).to_contain_text(words)
        for slider in page.locator("input[type=range]").all():
            slider.press("ArrowRight")
        expect(page.locator("[data-said]")).to_contain_text(words.split(" 8")[0])
        page.locator("[data-do]").last.click()
