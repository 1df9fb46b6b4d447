"""Sixty payloads in every text that somebody may leave here: nothing of them runs, and nothing is made by them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlencode

import pytest
from playwright.sync_api import Page, expect

from browser.console.conftest import Coming
from browser.console.hostile import LINE, PAYLOADS, POPULATION, TABLE, Filled, fill, project, quoted
from browser.console.place import Place, placed
from discreet.console import render
from tiers import size

pytestmark = [pytest.mark.xdist_group("console-hostile")]

#: What calls of a payload do.
CAUGHT = "window.__hits = 0; window.__xss = () => { window.__hits += 1; };"
#: What a page holds that no template of ours has.
PROBE = """() => {
  const found = window.__hits ? [`${window.__hits} payloads ran`] : [];
  const strange = ["x-x", "img", "iframe", "object", "embed", "base", "math", "style", "audio", "video", "marquee", "template"];
  const ours = (url) => URL.canParse(url, location.href) && new URL(url, location.href).origin === location.origin;
  for (const node of document.querySelectorAll("*")) {
    const name = node.localName;
    if (strange.includes(name)) found.push(`<${name}>`);
    if (name === "script" && !/^\\/(assets|static)\\//.test(node.getAttribute("src") ?? "")) found.push("a script");
    if (name === "link" && !/^\\/(assets|static)\\//.test(node.getAttribute("href"))) found.push("a link");
    if (name === "meta" && node.httpEquiv) found.push("a meta");
    for (const { name: attribute, value } of node.attributes) {
      if (attribute === "style" && node.closest(".cm-editor")) continue; // set by the editor's script, a property at a time
      if (/^on|^style$|^srcdoc$|^data-x$/.test(attribute)) found.push(`${name} ${attribute}`);
      if (/^(href|src|action|formaction|xlink:href)$/.test(attribute) && (!ours(value) || /^\\s*[a-z]*script:/i.test(value))) {
        found.push(`${name} ${attribute}=${value}`);
      }
    }
  }
  const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
  if (new Set(ids).size !== ids.length) found.push("an id twice");
  return found;
}"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with placed(project(tmp_path_factory.mktemp("hostile") / "clinic")) as found:
        yield found


@pytest.fixture(scope="module")
def filled(place: Place) -> Filled:
    return fill(place)


def probed(page: Page, at: str) -> list[str]:
    page.goto(at)
    return page.evaluate(PROBE)


def stored(filled: Filled) -> list[str]:
    """Every page that shows what was left here."""
    table = quote(TABLE, safe="")
    return [
        "/", f"/d/{table}", f"/ask?table={table}", "/jobs", "/a", f"/a/{filled.counts}", f"/a/{filled.aliased}",
        f"/a/{filled.marginals}", f"/a/{filled.tables}", f"/a/{filled.model}", "/budget", "/log", "/r",
        f"/r/{filled.counts}", f"/r/{filled.counts}/publish", "/tables", f"/tables/{filled.marginals}",
        f"/tables/{filled.tables}", f"/tables/new/histogram?table={table}&columns=word&epsilon=1",
        f"/tables/new/marginals?table={table}&columns=word&epsilon=1", f"/tables/reconcile?table={table}", "/synth",
        f"/synth/{filled.model}", f"/synth/new?table={table}&columns=word&model=independent&epsilon=1", "/survey",
        *(f"/survey/{id_}" for id_ in filled.surveys[:2]), *(f"/s/{id_}" for id_ in filled.surveys[:2]),
        f"/survey/{filled.surveys[0]}/sheet", f"/s/{filled.surveys[0]}/results", "/me", "/admin", "/admin/tokens",
        "/admin/denials", "/jump?to=x",
    ]  # fmt: skip


def reflected(filled: Filled) -> list[str]:
    """Every page that shows what its address says."""
    fields = {
        "/jump": ["to"],
        "/ask": ["sql", "epsilon", "within", "confidence", "delta"],
        "/a": ["table", "analyst"],
        "/log": ["table", "analyst", "kind"],
        "/tables/new/histogram": ["table", "columns", "epsilon"],
        "/tables/new/ranges": ["table", "column", "between"],
        "/tables/new/marginals": ["table", "columns", "epsilon"],
        "/tables/new/network": ["table", "nodes", "by", "only"],
        "/tables/reconcile": ["table", "release"],
        "/synth/new": ["table", "columns", "model"],
        "/survey/new": ["question", "asker", "choices", "protocol", "minimum"],
        f"/a/{filled.counts}": ["confidence"],
        f"/tables/{filled.marginals}": ["t", "between"],
    }
    return [f"{path}?{urlencode(dict.fromkeys(names, LINE[:2_500]))}" for path, names in fields.items()]


def test_what_was_left_here_runs_nowhere(coming: Coming, filled: Filled) -> None:
    with coming("owner") as page:
        page.context.add_init_script(CAUGHT)
        wrong = {at: told for at in stored(filled)[:: size(2, 1)] if (told := probed(page, at))}
    assert wrong == {}


def test_every_name_of_a_table_has_its_page_and_its_twins(coming: Coming, filled: Filled) -> None:
    """Whatever letters it is of: slashes, question marks and fragments are letters like others."""
    with coming("owner") as page:
        page.context.add_init_script(CAUGHT)
        for name in (*PAYLOADS[3 :: size(20, 8)], *(text for text in PAYLOADS if "?" in text or "#" in text)):
            assert probed(page, f"/d/{quote(name, safe='')}") == []
            assert name in page.get_by_role("heading", level=1).text_content()
            for link in page.locator("footer a").all():
                assert page.request.get(link.get_attribute("href")).status == 200, name


def test_what_an_address_says_runs_nowhere(coming: Coming, filled: Filled) -> None:
    with coming("owner", statuses={400, 404, 422}) as page:
        page.context.add_init_script(CAUGHT)
        wrong = {at[:60]: told for at in reflected(filled)[:: size(2, 1)] if (told := probed(page, at))}
    assert wrong == {}


def test_nor_for_who_is_not_logged_in(coming: Coming, filled: Filled) -> None:
    with coming(statuses={401}) as page:
        page.context.add_init_script(CAUGHT)
        wrong = {at: told for at in ("/r", f"/r/{filled.counts}") if (told := probed(page, at))}
        page.goto("/login")
        page.get_by_label("Name").fill(PAYLOADS[13])
        page.get_by_label("Password").fill("nobody's password")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_label("Name")).to_have_value(PAYLOADS[13])
        wrong |= {"/login": told} if (told := page.evaluate(PROBE)) else {}
    assert wrong == {}


def test_what_scripts_show_is_text(coming: Coming, filled: Filled) -> None:
    """The words offered while typing, the price, and a refusal's place."""
    with coming("owner") as page:
        page.context.add_init_script(CAUGHT)
        page.goto("/ask")
        field = page.get_by_label("Your query, in SQL")
        field.fill("SELECT count(*) FROM ")
        for typed in ("<", '"', "'", "&", "{"):
            field.press_sequentially(typed)
            field.press("Control+ ")
        field.fill(f"SELECT {PAYLOADS[0]} FROM t")
        expect(page.locator("#trouble pre")).to_be_visible()
        assert page.evaluate(PROBE) == []
        field.fill(f"SELECT {quoted(PAYLOADS[1])}, count(*) AS n FROM {quoted(TABLE)} GROUP BY {quoted(PAYLOADS[1])}")
        expect(page.locator("#confirm")).to_contain_text(POPULATION)
        assert page.evaluate(PROBE) == []


def test_the_texts_are_there(place: Place, filled: Filled) -> None:
    """Else nothing was tried: the pages show the payloads, as text."""
    assert len(set(PAYLOADS)) == len(PAYLOADS) == 60
    with place.hand("owner") as owner:
        for at in ("/index.json", f"/a/{filled.counts}.json", f"/r/{filled.counts}.json", "/ask.json", "/budget.json"):
            text = owner.client.get(at).json()
            assert PAYLOADS[0] in str(text), at
    assert filled.people >= 50
    assert filled.tokens >= 50
    assert len(filled.surveys) >= 55


def test_a_page_that_does_not_escape_is_caught(coming: Coming, filled: Filled, monkeypatch: pytest.MonkeyPatch) -> None:
    made = render._environment()
    monkeypatch.setattr(made, "autoescape", False)
    made.cache.clear()
    try:
        with pytest.raises(AssertionError), coming("owner") as page:  # the browser complains of what it did not run
            assert "<x-x>" in probed(page, "/")
    finally:
        made.cache.clear()
