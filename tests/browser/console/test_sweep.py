"""Every page of the table of routes, in Chromium: no fault, nothing from elsewhere, readable by everybody, at any width.

In the deep tier every address of `furnished`, for each role that may come: laid out at four widths, and read by axe on
a wide window and on a phone, in light and dark. In the fast tier, at a wide window and a phone's width:

- as owner the first address of every page is laid out, and axe reads every sixth page;
- as analyst every third page is laid out, and axe reads every sixth of those;
- as the public every second page, and axe two of them: the login and a publication.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from browser.console import layout
from browser.console.conftest import PHONE, WIDE, Coming, visiting
from browser.console.furnished import COST, FILES, Made, addresses, furnish, pages
from browser.console.place import Place, placed
from discreet.console.visitor import ROLES
from tiers import DEEP, size

#: By role: a page, and what it complains of.
Windows = Callable[[str], tuple[Page, list[str]]]

pytestmark = pytest.mark.xdist_group("console-sweep")

#: WCAG 2.0 and 2.1, A and AA. Colours are looked at by themselves: that takes longer than all the others.
COLOURS = {"resultTypes": ["violations"], "runOnly": ["color-contrast"]}
RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
    "rules": {"color-contrast": {"enabled": False}},
}
#: What differs on a phone; in the deep tier all rules are asked again.
NARROW = size({"resultTypes": ["violations"], "runOnly": ["scrollable-region-focusable"]}, RULES)
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


def look(page: Page, at: str, *, axe: bool = True) -> list[str]:
    """All that is wrong with one page of HTML: how it is laid out, and what axe reads."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    status = page.goto(at).status
    wrong = [] if status == 200 else [f"status {status}"]
    wrong += layout.faults(page)
    if not axe:
        return wrong + unnamed(page)
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
    wrong += [f"on a phone: {each}" for each in faults(page, NARROW)]
    page.evaluate(FEWER)
    wrong += [f"on a phone: {each}" for each in faults(page, COLOURS)]
    page.emulate_media(color_scheme="dark")
    wrong += [f"dark, on a phone: {each}" for each in faults(page, COLOURS)]
    if DEEP:
        page.set_viewport_size(WIDE)
        wrong += [f"dark: {each}" for each in faults(page, COLOURS)]
        page.emulate_media(color_scheme="light")
        wrong += faults(page, COLOURS)
    return wrong


def unnamed(page: Page) -> list[str]:
    headings = page.locator("h1").count()
    wrong = [f"{headings} headings of the first level"] if headings != 1 else []
    text = page.inner_text("body")
    careless = {text[max(0, each.start() - 60) : each.end()] for each in CARELESS.finditer(text)}
    wrong += [f"a careless number: {each}" for each in sorted(careless)]
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
def windows(browser: Browser, place: Place) -> Iterator[Windows]:
    """A window for each role, for all pages: a fresh one for each page would take as long as the looking does."""
    with ExitStack() as opened:

        @cache
        def open_window(role: str) -> tuple[Page, list[str]]:
            return opened.enter_context(visiting(browser, place, role))

        yield open_window


#: Of the owner's own requests.
OWNED = {"/ask/answer/{key}", "/ask/draft/{draft}"}


def cases() -> list[pytest.param]:
    """Every page for each role that may come. Of analysts and the public some in the fast tier, all in the deep one."""
    made = []
    for role, every in (("owner", 1), ("analyst", 3), ("public", 2)):
        allowed = [each.path for each in pages() if ROLES.index(each.role) <= ROLES.index(role)]
        allowed = [path for path in allowed if role == "owner" or path not in OWNED]
        for turn, path in enumerate(allowed):
            in_fast = turn % every == 0
            axe = turn % (6 * every) == 0 if role != "public" else path == "/r/{release}"
            marks = () if in_fast or axe else (pytest.mark.deep,)
            made.append(pytest.param(role, path, axe, marks=marks, id=f"{role}-{path}"))
    return made


@pytest.mark.parametrize(("role", "path", "axe"), cases())
def test_a_page_is_clean(windows: Windows, made: Made, role: str, path: str, axe: bool) -> None:
    page, complaints = windows(role)
    route = next(each for each in pages() if each.path == path)
    wrong = {}
    for at in addresses(made)[path][: size(1, None)]:
        wrong[at] = look(page, at, axe=axe or DEEP)
        wrong[at] += twins(page, at) if route.twins and role == "owner" and (axe or DEEP) else []
    assert not {at: each for at, each in wrong.items() if each}
    assert not complaints, [complaints.pop() for _ in list(complaints)]


@pytest.mark.parametrize(
    "at", ["/login", *(pytest.param(at, marks=pytest.mark.deep) for at in ("/setup/wrong", "/nowhere"))]
)
def test_a_page_outside_the_sweep_is_clean(coming: Coming, at: str) -> None:
    missing = at in ("/setup/wrong", "/nowhere")
    with coming(statuses={404} if missing else set()) as page:
        wrong = look(page, at)
    assert wrong == (["status 404"] if missing else [])


@pytest.mark.deep
def test_what_forms_show_is_clean(windows: Windows, made: Made) -> None:
    """Pages that no address leads to: a refusal, a rehearsal, a secret that is shown once, a verified log."""
    page, complaints = windows("owner")
    wrong = {}
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
    assert not complaints, [complaints.pop() for _ in list(complaints)]


def test_every_page_of_the_table_of_routes_is_looked_at(made: Made) -> None:
    known = addresses(made)
    assert [route.path for route in pages() if route.path not in known] == []
    assert set(known) <= {route.path for route in pages()}
    assert set(FILES).isdisjoint(known)
    assert {path for path, at in known.items() if not at} == {"/login", "/setup/{link}"}


def test_axe_sees_what_is_wrong(coming: Coming) -> None:
    with coming("owner", at="/") as page:
        page.evaluate(AXE)
        page.evaluate("document.querySelector('main').innerHTML += '<img src=\"/assets/icon.svg\"><input>'")
        page.evaluate("document.querySelector('h1').animate({color: ['#eee', '#eee']}, {duration: 1e9})")
        assert {line.partition(":")[0] for line in faults(page, RULES)} >= {"image-alt", "label"}
        assert faults(page, COLOURS)
