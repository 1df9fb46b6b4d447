"""The respondent's page and the results page in a real browser, against a collector that pretends."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Page, expect

from browser.conftest import Opened
from browser.server import Pretender, pretending
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.unary import OptimisedUnary

FRUIT = ["apple", "pear", "plum", "fig", "kiwi"]
#: So many coins that two draws agree once in far more than a million times.
MANY = [f"choice {place}" for place in range(200)]


@pytest.fixture
def drinks() -> Iterator[Pretender]:
    """The lecture's survey: two choices, epsilon 1.1."""
    with pretending(Pretender(RandomizedResponse(["yes", "no"], epsilon="1.1"))) as served:
        yield served


@pytest.fixture
def many() -> Iterator[Pretender]:
    with pretending(Pretender(OptimisedUnary(MANY, epsilon="2"))) as served:
        yield served


def flip(page: Page, choice: str = "yes") -> str:
    """Choose, flip, and return the bytes that are shown."""
    page.get_by_label(choice, exact=True).check()
    page.get_by_role("button", name="Flip the coin").click()
    expect(page.get_by_role("heading", name="This is what will be sent")).to_be_focused()
    return page.locator("#bytes").text_content() or ""


def flip_many(page: Page, choice: str) -> str:
    page.get_by_label("Your true answer").select_option(choice)
    page.get_by_role("button", name="Flip the coins").click()
    expect(page.get_by_role("heading", name="This is what will be sent")).to_be_focused()
    return page.locator("#bytes").text_content() or ""


def test_what_is_shown_is_what_is_sent_and_nothing_else(drinks: Pretender, opened: Opened) -> None:
    with opened(f"{drinks.address}/s/drinks") as page:
        expect(page.get_by_role("heading", level=1)).to_have_text("Did you go out drinking over the weekend?")
        shown = flip(page)
        assert drinks.posted == []  # nothing leaves before the button
        said = ["yes", "no"][int(shown, 16)]
        expect(page.locator("#report")).to_have_text(f"“{said}”")
        expect(page.locator(".coin")).to_have_text(said)
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_focused()
        expect(page.locator("#sent")).to_have_text(f"“{said}”")
        (posted,) = drinks.posted
        assert set(posted) == {"version", "survey", "id", "report"}
        assert (posted["version"], posted["survey"]) == (1, "drinks")
        assert len(bytes.fromhex(posted["id"])) == 16
        assert base64.urlsafe_b64decode(posted["report"] + "==").hex() == shown
        kept = page.evaluate("JSON.stringify({...localStorage})")
        assert "yes" not in kept and "no" not in json.loads(kept)
    (headers,) = drinks.headers
    assert not {"Cookie", "Referer"} & set(headers)


@pytest.mark.deep
def test_why_it_is_deniable_is_said_in_numbers(drinks: Pretender, opened: Opened) -> None:
    made = RandomizedResponse(["yes", "no"], epsilon="1.1")
    truth, lie = (f"{float(chance):.0%}" for chance in made.chances)
    with opened(f"{drinks.address}/s/drinks") as page:
        said = ["yes", "no"][int(flip(page), 16)]
        same, other = (truth, lie) if said == "yes" else (lie, truth)
        expect(page.locator("#deniable")).to_contain_text(
            f"Someone whose true answer is “no” sends this same report {other} of the time; "
            f"someone whose true answer is “yes”, {same} of the time."
        )
        expect(page.locator("#epsilon")).to_contain_text("by a factor of at most 3.01: from even odds to 75.1% sure")
        expect(page.locator("#epsilon")).to_contain_text("epsilon 1.1: good")


def test_a_reload_or_a_second_look_flips_no_new_coins(many: Pretender, opened: Opened) -> None:
    with opened(f"{many.address}/s/drinks") as page:
        first = flip_many(page, "choice 3")
        page.get_by_role("button", name="Back").click()
        assert flip_many(page, "choice 4") != first
        page.get_by_role("button", name="Back").click()
        assert flip_many(page, "choice 3") == first
        expect(page.locator("#lifetime")).to_contain_text("costs epsilon 2. ")
        expect(page.locator("#lifetime")).to_contain_text(" cost 4 together.")
        page.reload()
        assert flip_many(page, "choice 3") == first


def test_offline_is_said_and_the_retry_sends_the_same_bytes(many: Pretender, opened: Opened) -> None:
    with opened(f"{many.address}/s/drinks") as page:
        shown = flip_many(page, "choice 3")
        page.context.set_offline(True)
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_role("status")).to_have_text(
            "You seem to be offline. Try again: the same bytes will be sent."
        )
        page.context.set_offline(False)
        page.get_by_role("button", name="Send again").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    (posted,) = many.posted
    report = posted["report"]
    assert base64.urlsafe_b64decode(report + "=" * (-len(report) % 4)).hex() == shown


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("answer", "sentence", "button"),
    [
        ((409, {"error": "This survey is closed."}), "This survey is closed.", "Not sent"),
        (
            (429, {"error": "Too many at once; wait a minute."}),
            "Too many at once; wait a minute.",
            "Send again",
        ),
        ((503, {}), "The survey did not accept the answer.", "Send again"),
    ],
)
def test_a_refusal_is_one_sentence(drinks: Pretender, opened: Opened, answer, sentence: str, button: str) -> None:
    drinks.answer = answer
    with opened(f"{drinks.address}/s/drinks") as page:
        flip(page)
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_role("status")).to_have_text(sentence)
        expect(page.get_by_role("button", name=button)).to_be_visible()


def test_an_answer_that_came_twice_counts_once_and_is_remembered(drinks: Pretender, opened: Opened) -> None:
    drinks.answer = (409, {"accepted": 0, "repeated": 1, "error": "Counted before."})
    with opened(f"{drinks.address}/s/drinks") as page:
        flip(page)
        page.get_by_role("button", name="Send this").click()
        expect(page.locator("#arrived")).to_have_text("This answer arrived before; it counts once.")
        page.reload()
        expect(page.locator("#arrived")).to_have_text("You have already answered; your answer counts once.")
        expect(page.locator("form")).to_be_hidden()


def test_what_cannot_be_asked_says_so(drinks: Pretender, opened: Opened) -> None:
    with opened(f"{drinks.address}/s/other") as page:
        expect(page.get_by_role("status")).to_have_text("There is no such survey.")
    drinks.survey["closed"] = True
    with opened(f"{drinks.address}/s/drinks") as page:
        expect(page.get_by_role("status")).to_have_text("This survey is closed.")
        expect(page.locator("form")).to_be_hidden()


def test_a_survey_that_lies_about_its_noise_is_refused(drinks: Pretender, opened: Opened) -> None:
    drinks.survey["randomizer"]["numbers"]["lie"] //= 10
    with opened(f"{drinks.address}/s/drinks") as page:
        expect(page.get_by_role("status")).to_have_text("The survey's numbers cost more privacy than it claims.")
        expect(page.locator("form")).to_be_hidden()


def test_a_browser_that_forgets_flips_nothing(drinks: Pretender, opened: Opened) -> None:
    with opened(f"{drinks.address}/s/drinks") as page:
        page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('quota'); }; }")
        page.get_by_label("yes", exact=True).check()
        page.get_by_role("button", name="Flip the coin").click()
        expect(page.get_by_role("status")).to_contain_text("does not let the page store its coins")
        expect(page.locator("#review")).to_be_hidden()


def test_keys_are_enough(drinks: Pretender, opened: Opened) -> None:
    with opened(f"{drinks.address}/s/drinks") as page:
        expect(page.get_by_label("yes", exact=True)).to_be_visible()
        for key in ("Tab", "Space", "ArrowDown", "Tab", "Enter"):
            page.keyboard.press(key)
        expect(page.get_by_role("heading", name="This is what will be sent")).to_be_focused()
        for key in ("Tab", "Tab", "Enter"):
            page.keyboard.press(key)
        expect(page.get_by_role("heading", name="Thank you")).to_be_focused()
    assert len(drinks.posted) == 1


def test_no_answer_and_no_invitation_are_asked_for(drinks: Pretender, opened: Opened) -> None:
    drinks.survey["token"] = True
    with opened(f"{drinks.address}/s/drinks") as page:
        page.get_by_role("button", name="Flip the coin").click()
        expect(page.get_by_role("status")).to_have_text("Please choose an answer first.")
        page.get_by_label("no", exact=True).check()
        page.get_by_role("button", name="Flip the coin").click()
        expect(page.get_by_role("status")).to_have_text("This survey needs your invitation code.")
        page.get_by_label("Your invitation code").fill("abc")
        flip(page)
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    with opened(f"{drinks.address}/s/drinks#token=xyz") as page:
        flip(page)
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
    assert [posted["token"] for posted in drinks.posted] == ["abc", "xyz"]


def test_a_request_to_anybody_else_is_seen(drinks: Pretender, opened: Opened) -> None:
    elsewhere = "http://127.0.0.2:9/"

    def is_refused(message: ConsoleMessage) -> bool:
        return "Content Security" in message.text

    for act in (
        f"fetch({elsewhere!r}).catch(() => 0)",
        f"void (new Image().src = {elsewhere!r})",
        "document.cookie = 'a=b'",
    ):
        with pytest.raises(AssertionError), opened(f"{drinks.address}/s/drinks") as page:  # noqa: PT012
            expect(page.get_by_label("yes", exact=True)).to_be_visible()
            with page.expect_console_message(is_refused) if elsewhere in act else nullcontext():
                page.evaluate(act)


def test_markup_in_a_question_is_text(opened: Opened) -> None:
    evil = "<img src=x onerror=alert(1)>"
    with (
        pretending(Pretender(RandomizedResponse([evil, "no"], epsilon="1"), question=evil)) as served,
        opened(f"{served.address}/s/drinks") as page,
    ):
        flip(page, evil)
        expect(page.get_by_role("heading", level=1)).to_have_text(evil)
        assert page.locator("img").count() == 0


#: The least contrast of any text on the page with what is behind it, by the web's accessibility rules.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const found = parse(getComputedStyle(node).backgroundColor);
      if (found[3] !== 0) return found;
    }
    return [255, 255, 255];
  };
  let least = 21;
  for (const node of document.querySelectorAll("main *, footer *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.checkVisibility() || node.matches(".coin, option")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    least = Math.min(least, (a + 0.05) / (b + 0.05));
  }
  return least;
}"""


@pytest.mark.thin(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_can_be_read(drinks: Pretender, opened: Opened, scheme: str) -> None:
    def fits(page: Page) -> None:
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate(CONTRAST) >= 4.5

    drinks.results = RESULTS
    size = {"width": 320, "height": 640}
    with opened(f"{drinks.address}/s/drinks", viewport=size, color_scheme=scheme) as page:
        expect(page.get_by_label("yes", exact=True)).to_be_visible()
        fits(page)
        flip(page)
        fits(page)
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_role("heading", name="Thank you")).to_be_visible()
        fits(page)
        page.get_by_role("link", name="See the results").click()
        expect(page.locator("#n")).to_have_text("1,234")
        fits(page)


RESULTS = {
    "n": 1234,
    "minimum": 20,
    "closed": False,
    "estimates": [
        {"choice": "yes", "share": 0.312, "interval": [0.257, 0.367]},
        {"choice": "no", "share": 0.688, "interval": [0.633, 0.743]},
    ],
    "plus_minus": 0.055,
    "halve": 3702,
    "fakes": {"reports": 12, "could_move": 0.0195},
    "epsilon": 1.1,
}


@pytest.mark.deep
def test_results_come_by_themselves(drinks: Pretender, opened: Opened) -> None:
    with opened(f"{drinks.address}/s/drinks/results") as page:
        expect(page.locator("#still")).to_contain_text("7 answers of 20")
        drinks.results = RESULTS
        expect(page.locator("#bars li").first).to_contain_text("yes31% 26% to 37%")
        expect(page.locator("#plus-minus")).to_have_text("± 5.5 points")
        expect(page.locator("#halve")).to_have_text("about 3,702 more answers")
        expect(page.locator("#fakes-label")).to_have_text("12 fake answers")
        expect(page.locator("#fakes")).to_have_text("could change it by 1.95 points")
        wide = page.locator("#bars i").first.evaluate("node => node.clientWidth / node.parentElement.clientWidth")
        assert wide == pytest.approx(0.312, abs=0.01)
        drinks.results = {**RESULTS, "n": 5000, "closed": True}
        expect(page.locator("#n")).to_have_text("5,000")
        expect(page.locator("#state")).to_have_text("Final results")


def test_a_mean_is_shown_with_its_range(drinks: Pretender, opened: Opened) -> None:
    drinks.results = {**RESULTS, "estimates": {"mean": 171.23, "interval": [168.9, 173.5]}, "plus_minus": 2.3}
    with opened(f"{drinks.address}/s/drinks/results") as page:
        expect(page.locator("#mean")).to_have_text("171.2 on average (168.9 to 173.5)")
        expect(page.locator("#plus-minus")).to_have_text("± 2.3")


DAYS = {"by": "period", "every": "day", "n": 1603, "minimum": 20, "closed": True, "waiting": False, "epsilon": 1.1}


def day(number: int, share: float) -> dict[str, Any]:
    """One day of a survey with periods, as results.json has it."""
    estimates = [
        {"choice": "yes", "share": share, "interval": [share - 0.05, share + 0.05]},
        {"choice": "<i>no", "share": 1 - share, "interval": [0.95 - share, 1.05 - share]},
    ]
    return {"period": number, "begin": f"2026-11-{17 + number}", "n": 400, "waiting": False, "estimates": estimates}


def test_days_are_drawn_as_lines_with_bands_and_have_a_trend(drinks: Pretender, opened: Opened) -> None:
    gap = {"period": 3, "begin": "2026-11-20", "n": 3, "waiting": True}
    days = {
        **DAYS,
        "periods": [day(1, 0.2), day(2, 0.25), gap, day(4, 0.35), day(5, 0.4)],
        "trends": [{"choice": "yes", "slope": 0.05, "interval": [0.021, 0.08], "population": None}],
    }
    drinks.results = days
    with opened(f"{drinks.address}/s/drinks/results") as page:
        expect(page.locator("figure figcaption")).to_have_text(["yes", "<i>no"])
        chart = page.locator("svg.period-chart").first
        expect(chart).to_have_attribute("aria-label", "yes by day: 20% on 2026-11-18 to 40% on 2026-11-22")
        assert [chart.locator(kind).count() for kind in ("polyline", "polygon", "circle")] == [2, 2, 4]
        heights = chart.locator("circle").evaluate_all("dots => dots.map((dot) => Number(dot.getAttribute('cy')))")
        assert heights == sorted(heights, reverse=True)  # what rises goes up
        assert chart.locator("circle title").first.text_content() == "2026-11-18: 20% (15% to 25%)"
        expect(page.locator(".trends li")).to_have_text(["yes: +5 points each day (+2.1 to +8)"])
        expect(page.locator("#periods table tr")).to_have_count(1 + 2 * 4 + 1)


def test_one_day_has_no_chart_and_no_trend(drinks: Pretender, opened: Opened) -> None:
    drinks.results = {
        **DAYS,
        "periods": [day(1, 0.2)],
        "trends": [],
    }
    with opened(f"{drinks.address}/s/drinks/results") as page:
        expect(page.locator("#periods table")).to_contain_text("20%")
        expect(page.locator("svg.period-chart")).to_have_count(0)
        expect(page.locator(".trends")).to_have_count(0)
