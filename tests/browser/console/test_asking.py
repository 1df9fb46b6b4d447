"""The editor of /ask: refusals and their rewrites, rehearsals, taking a question back; by keyboard, and without scripts."""

from __future__ import annotations

import re
import time

import pytest
from playwright.sync_api import Page, expect

from browser.console.conftest import PHONE, Coming, Picture
from browser.console.furnished import AGES
from browser.console.place import Place
from discreet.console.asking.asking import Asking
from discreet.engines.stopping import Stopped

pytestmark = pytest.mark.xdist_group("console-flows")

ROWS = "SELECT disease,\n  age\nFROM patients"
#: Playwright waits for a page that is on its way, so the page itself clicks, as soon as somebody could.
CANCELLING = """() => { const button = document.getElementById("cancel");
  const look = setInterval(() => { if (button.checkVisibility()) { clearInterval(look); button.click(); } }, 50); }"""
REWRITTEN = re.compile(r"GROUP BY")


def question(page: Page) -> str:
    return page.get_by_label("Your question, in SQL").input_value()


def test_a_refusal_points_at_its_clause_and_its_rewrite_passes(coming: Coming, picture: Picture) -> None:
    with coming("analyst", at="/ask") as page:
        page.get_by_label("Your question, in SQL").fill(ROWS)
        trouble = page.locator("#trouble")
        expect(trouble).to_contain_text("would show rows of people")
        assert re.search(r"\^+", trouble.locator("pre").text_content() or "")
        expect(page.locator("#confirm")).to_have_text("A refusal is free.")
        picture(page, "refusal")
        trouble.get_by_role("button", name="Show it in the text").click()
        marked = page.evaluate(
            "() => { const t = document.getElementById('sql'); return t.value.slice(t.selectionStart, t.selectionEnd) }"
        )
        assert marked in ("disease", "age")
        trouble.get_by_role("button", name="Use this question").click()
        expect(trouble).to_be_empty()
        assert REWRITTEN.search(question(page))
        expect(page.locator("#price")).to_contain_text("plus or minus")
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page).to_have_url(re.compile(r"/a/r-"))


def test_the_same_without_scripts(coming: Coming) -> None:
    with coming("analyst", at="/ask", java_script_enabled=False, statuses={422}) as page:
        page.get_by_label("Your question, in SQL").fill(ROWS)
        page.get_by_role("button", name="Price it, free").click()
        expect(page.get_by_role("alert")).to_contain_text("would show rows of people")
        page.get_by_role("button", name="Use this question").click()
        assert REWRITTEN.search(question(page))
        expect(page.locator("#price")).to_contain_text("plus or minus")
        page.get_by_label("Epsilon", exact=True).fill("0.3")
        page.get_by_role("button", name="Rehearse, free").click()
        expect(page.get_by_role("heading", name="Rehearsal")).to_be_visible()
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page).to_have_url(re.compile(r"/a/r-"))


def test_a_rehearsal_shows_the_whole_error_and_costs_nothing(coming: Coming, place: Place, picture: Picture) -> None:
    before = place.house.desk.project.ledger.refresh().seq
    with coming("analyst", at="/ask") as page:
        page.get_by_label("Your question, in SQL").fill("SELECT sum(cost) AS total FROM visits")
        page.get_by_role("button", name="Rehearse, free").click()
        told = page.locator("#rehearsal")
        for word in ("Nobody's data were read", "Bounds and lists", "Rows beyond the limit", "Noise"):
            expect(told).to_contain_text(word)
        assert question(page) == "SELECT sum(cost) AS total FROM visits"
        picture(told, "rehearsal")
    assert place.house.desk.project.ledger.refresh().seq == before


def test_a_question_is_taken_back(coming: Coming, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(self, job, project, seal):
        while not job.stop.pulled:
            time.sleep(0.01)
        raise Stopped

    monkeypatch.setattr(Asking, "_paid", endless)
    before = place.house.desk.project.ledger.refresh().seq
    with coming("analyst", at="/ask", statuses={400}) as page:
        page.get_by_label("Your question, in SQL").fill(AGES)
        page.evaluate(CANCELLING)
        page.get_by_role("button", name="Ask", exact=True).click()
        expect(page.locator("#trouble")).to_contain_text("stopped before anything was charged")
        assert question(page) == AGES
        page.goto("/ask/open")
        expect(page.get_by_role("group", name="Questions")).to_contain_text("stopped")
    assert place.house.desk.project.ledger.refresh().seq == before


def test_everything_by_keyboard(coming: Coming, place: Place) -> None:
    with coming("analyst", at="/ask?sql=%20") as page:
        press = page.keyboard.press
        press("Tab")
        expect(page.get_by_role("link", name="To the content")).to_be_focused()
        press("Enter")
        press("Tab")
        field = page.get_by_label("Your question, in SQL")
        expect(field).to_be_focused()
        press("Control+a")
        page.keyboard.type("sel", delay=20)
        words = page.get_by_role("listbox", name="Suggestions")
        expect(words.get_by_role("option", name="SELECT")).to_be_visible()
        press("ArrowDown")
        expect(words.get_by_role("option", name="SELECT")).to_have_attribute("aria-selected", "true")
        assert field.get_attribute("aria-activedescendant") == words.get_by_role("option").first.get_attribute("id")
        press("Enter")
        expect(field).to_have_value("SELECT")
        expect(words).to_be_hidden()
        page.keyboard.type(" count(*) AS n FROM pat", delay=10)
        expect(words.get_by_role("option").first).to_contain_text("patients")
        press("ArrowDown")
        press("Tab")  # takes the word, and stays
        expect(field).to_be_focused()
        page.keyboard.type(" WHERE disease = 'mu", delay=10)
        press("ArrowDown")
        press("Enter")
        expect(field).to_have_value("SELECT count(*) AS n FROM patients WHERE disease = 'mumps'")
        press("Escape")
        _tab_to_ask(page)
        press("Enter")
        expect(page).to_have_url(re.compile(r"/a/r-"))


def _tab_to_ask(page: Page) -> None:
    """On, in the order in which things stand: how exact, then what to do."""
    passed = []
    for _ in range(12):
        page.keyboard.press("Tab")
        passed.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.trim()"))
        if passed[-1] == "Ask":
            break
    assert passed[-1] == "Ask", passed
    assert passed.index("epsilon") < passed.index("within") < passed.index("slider"), passed


def test_jump_by_keyboard(coming: Coming) -> None:
    with coming("analyst", at="/") as page:
        page.keyboard.press("/")
        expect(page.locator("#jump-to")).to_be_focused()
        expect(page.locator("#jump-to")).to_have_value("")
        page.keyboard.type("Patients")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(r"/d/patients$"))
        page.goto("/ask")
        page.get_by_label("Your question, in SQL").press("/")  # in a text it is a letter
        expect(page.get_by_label("Your question, in SQL")).to_be_focused()


def test_dark_mode_changes_the_colours(coming: Coming, picture: Picture) -> None:
    colours = "() => { const s = getComputedStyle(document.body); return [s.backgroundColor, s.color] }"
    with coming("analyst", at="/ask", color_scheme="light") as page:
        light = page.evaluate(colours)
        page.emulate_media(color_scheme="dark")
        dark = page.evaluate(colours)
        assert _brightness(light[0]) > 0.8 > 0.3 > _brightness(light[1])
        assert _brightness(dark[0]) < 0.2 < 0.7 < _brightness(dark[1])
        picture(page, "ask-dark")
        page.set_viewport_size(PHONE)
        picture(page, "ask-phone")


def _brightness(colour: str) -> float:
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return (0.3 * red + 0.59 * green + 0.11 * blue) / 255
