"""Every page of the table of routes, in Chromium: no fault, nothing from elsewhere, readable by everybody, at any width."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from browser.console import layout
from browser.console.conftest import PHONE, WIDE, Coming, visiting
from browser.console.furnished import COST, FILES, Made, addresses, furnish, pages
from browser.console.place import Place, placed
from tiers import DEEP, size

pytestmark = pytest.mark.xdist_group("console-sweep")

#: WCAG 2.0 and 2.1, A and AA. Colours are looked at by themselves: that takes longer than all the others.
COLOURS = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "rules": {"color-contrast": {"enabled": False}},
}
NARROW = {"resultTypes": ["violations"], "runOnly": ["scrollable-region-focusable"]}
#: Numbers as no page writes them: "1 rows", "delta 0.0", "95.0% confidence".
CARELESS = re.compile(
    r"(?<![\d.,±/] )(?<![\d.,])1 (?:rows|persons|people|columns|tables|cells|reports|statements|releases|numbers|answers)\b"
    r"|(?:delta|epsilon) \d+\.0\b|\d\.0% confidence"
)
AXE = Axe().axe_script
#: Rows of a table are alike; and so are neighbours of one kind, as far as colours go.
FEWER_ROWS = (
    "document.querySelectorAll('tbody tr:nth-child(n+4), option:nth-child(n+4)').forEach((each) => each.remove())"
)
FEWER = """() => { for (const parent of document.querySelectorAll("body, body *")) {
  const seen = {};
  for (const child of [...parent.children]) {
    const kind = `${child.localName} ${child.getAttribute("class")}`;
    seen[kind] = (seen[kind] ?? 0) + 1;
    if (seen[kind] > 2 && !child.children.length) child.remove();
  }
} }"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(tmp_path_factory.mktemp("sweep") / "clinic") as found:
        yield found


@pytest.fixture(scope="module")
def made(place: Place) -> Made:
    return furnish(place)


def faults(page: Page, rules: dict[str, list[str]]) -> list[str]:
    """What axe-core has to say, a line for each element."""
    found = page.evaluate("async (rules) => (await axe.run(rules)).violations", rules)
    return [f"{rule['id']}: {' '.join(map(str, node['target']))}" for rule in found for node in rule["nodes"]]


def look(page: Page, at: str) -> list[str]:
    """All that is wrong with one page of HTML."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    status = page.goto(at).status
    wrong = [] if status == 200 else [f"status {status}"]
    wrong += layout.faults(page)
    page.set_viewport_size(WIDE)
    return wrong + seen(page)


def seen(page: Page) -> list[str]:
    """What is wrong with what stands there now: wide and narrow, light and dark."""
    wrong = unnamed(page)
    page.evaluate(AXE)
    page.evaluate(FEWER_ROWS)
    wrong += faults(page, RULES)
    page.set_viewport_size(PHONE)
    width = page.evaluate("Math.max(document.documentElement.scrollWidth, document.body.scrollWidth)")
    wrong += [f"{width} pixels wide on a phone"] if width > PHONE["width"] else []
    wrong += faults(page, NARROW)
    page.evaluate(FEWER)
    wrong += faults(page, COLOURS)
    page.emulate_media(color_scheme="dark")
    return wrong + [f"dark: {each}" for each in faults(page, COLOURS)]


def unnamed(page: Page) -> list[str]:
    headings = page.locator("h1").count()
    wrong = [f"{headings} headings of the first level"] if headings != 1 else []
    wrong += [f"a careless number: {each}" for each in set(CARELESS.findall(page.inner_text("body")))]
    return wrong + ([] if page.title().removesuffix("· Discreet").strip() else ["no title"])


def twins(page: Page, at: str) -> list[str]:
    """What is wrong with the same page for programs: as JSON, which its foot may leave out, and as CSV where it says so."""
    path, _, query = at.partition("?")
    links = {link.text_content(): link.get_attribute("href") for link in page.locator("footer .twins a").all()}
    wrong = [f"{kind} without the query" for kind, href in links.items() if bool(query) != ("?" in href)]
    for kind, href in ({"JSON": f"{path}.json?{query}"} | links).items():
        found = page.request.get(href)
        wrong += [] if found.status == 200 and (kind != "JSON" or found.json()) else [f"{kind}: {found.status}"]
    return wrong


@pytest.fixture(scope="module")
def owned(browser: Browser, place: Place) -> Iterator[tuple[Page, list[str]]]:
    """One browser for all pages: a fresh one for each would take as long as the looking does."""
    with visiting(browser, place, "owner") as (page, found):
        yield page, found


@pytest.mark.thin(12)
@pytest.mark.parametrize("path", [route.path for route in pages()])
def test_a_page_is_clean(owned: tuple[Page, list[str]], made: Made, path: str) -> None:
    """In the fast tier all are laid out without a fault, and axe reads one page in six."""
    page, found = owned
    place, route = next((place, route) for place, route in enumerate(pages()) if route.path == path)
    wrong = {}
    for number, at in enumerate(addresses(made)[path][: size(2, None)]):
        whole = DEEP or (place % 6 == 0 and number == 0)
        wrong[at] = look(page, at) if whole else _laid_out(page, at) + unnamed(page)
        wrong[at] += twins(page, at) if route.twins else []
    assert not {at: told for at, told in wrong.items() if told}
    assert not found, [found.pop() for _ in list(found)]


@pytest.mark.deep
def test_what_analysts_see_is_laid_out(browser: Browser, place: Place, made: Made) -> None:
    """The same pages, of a person with a smaller role: no chart without a size, no blank page, nothing cut.

    In the fast tier one in three of them.
    """
    others = {"/ask/answer/{key}", "/ask/draft/{draft}"}  # of the owner's own requests
    allowed = [route.path for route in pages() if route.role != "owner" and route.path not in others]
    allowed = allowed[:: size(3, 1)]
    with visiting(browser, place, "analyst") as (page, found):
        wrong = {at: _laid_out(page, at) for path in allowed for at in addresses(made)[path]}
    assert not {at: told for at, told in wrong.items() if told}
    assert not found, found


def test_what_everybody_sees_is_laid_out(browser: Browser, place: Place, made: Made) -> None:
    allowed = [route.path for route in pages() if route.role == "public"]
    with visiting(browser, place, "public") as (page, found):
        wrong = {at: _laid_out(page, at) for path in allowed for at in addresses(made)[path]}
    assert len(wrong) > 5 and not {at: told for at, told in wrong.items() if told}
    assert not found, found


def _laid_out(page: Page, at: str) -> list[str]:
    status = page.goto(at).status
    return [*layout.faults(page), *([] if status == 200 else [f"status {status}"])]


@pytest.mark.parametrize(
    "at", ["/login", "/r/{}", *(pytest.param(at, marks=pytest.mark.deep) for at in ("/setup/wrong", "/nowhere"))]
)
def test_a_page_for_everybody_is_clean(coming: Coming, made: Made, at: str) -> None:
    missing = at in ("/setup/wrong", "/nowhere")
    with coming(statuses={404} if missing else set()) as page:
        wrong = look(page, at.format(made.answer))
    assert wrong == (["status 404"] if missing else [])


@pytest.mark.deep
def test_what_forms_show_is_clean(owned: tuple[Page, list[str]], made: Made) -> None:
    """Pages that no address leads to: a refusal, a rehearsal, a secret that is shown once, a verified log."""
    page, wrong = owned[0], {}
    page.goto("/ask")
    page.get_by_label("Your query, in SQL").fill(f"SELECT disease, ward, sex, age FROM patients {'/* long */' * 20}")
    expect(page.locator("#trouble pre")).to_be_visible()
    wrong["a refusal"] = seen(page)
    page.goto("/ask")
    page.get_by_label("Your query, in SQL").fill(COST)
    page.get_by_role("button", name="Rehearse (free)").click()
    expect(page.get_by_role("heading", name="Rehearsal")).to_be_visible()
    wrong["a rehearsal"] = seen(page)
    page.goto("/me")
    page.get_by_label("Purpose").fill("a notebook")
    page.get_by_role("button", name="Create token").click()
    wrong["a token"] = seen(page)
    page.goto(f"/survey/{made.invited}")
    page.get_by_role("button", name="Create tokens").click()
    wrong["enrolment links"] = seen(page)
    page.goto("/admin/tables/new?source=spare.csv")
    page.get_by_label("Epsilon", exact=True).fill("3")
    page.get_by_role("button", name="Preview the table").click()
    expect(page.get_by_role("heading", name="Preview", exact=True)).to_be_visible()
    page.get_by_text("What is written to").click()
    wrong["a declaration"] = [*layout.faults(page), *seen(page)]
    page.goto("/admin/table/visits")
    page.get_by_label("Epsilon", exact=True).fill("200")
    page.get_by_role("button", name="Show the change").click()
    expect(page.get_by_role("heading", name="What changes in discreet.toml")).to_be_visible()
    page.wait_for_load_state()
    wrong["a change"] = [*layout.faults(page), *seen(page)]
    page.goto(f"/tables/{made.described}")
    page.get_by_role("button", name="Write these bounds and words").click()
    expect(page.get_by_role("heading", name="What changes in discreet.toml")).to_be_visible()
    page.wait_for_load_state()
    wrong["what a description found"] = [*layout.faults(page), *seen(page)]
    page.goto("/log")
    page.get_by_role("button", name="Verify the whole ledger").click()
    wrong["a verified log"] = seen(page)
    assert not {at: told for at, told in wrong.items() if told}
    assert not owned[1], [owned[1].pop() for _ in list(owned[1])]


def test_every_page_of_the_table_of_routes_is_looked_at(made: Made) -> None:
    known = addresses(made)
    assert [route.path for route in pages() if route.path not in known] == []
    assert set(known) <= {route.path for route in pages()}
    assert set(FILES).isdisjoint(known)


def test_axe_sees_what_is_wrong(coming: Coming) -> None:
    with coming("owner", at="/") as page:
        page.evaluate(AXE)
        page.evaluate("document.querySelector('main').innerHTML += '<img src=\"/assets/icon.svg\"><input>'")
        page.evaluate("document.querySelector('h1').animate({color: ['#eee', '#eee']}, {duration: 1e9})")
        assert {line.partition(":")[0] for line in faults(page, RULES)} >= {"image-alt", "label"}
        assert faults(page, COLOURS)
