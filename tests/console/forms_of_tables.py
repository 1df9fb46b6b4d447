"""What an owner does about tables, without a browser: upload, answer the questions, look, write."""

from __future__ import annotations

import re
from html import unescape

from console.house import ORIGIN

HEADERS = {"origin": ORIGIN, "sec-fetch-site": "same-origin", "content-type": "application/octet-stream"}


def upload(browser, name, content, **headers):
    """Send a file, as the page's script does."""
    sent = {**HEADERS, "x-csrf": browser.csrf, **headers}
    return browser.client.post("/admin/tables/upload", params={"name": name}, content=content, headers=sent)


def fields_of(html):
    """All that a browser would send of the page's own form, button aside."""
    form = re.search(r'<form[^>]*id="declaration".*?</form>', html, re.DOTALL)[0]
    found = {}
    for tag in re.finditer(
        r"<input([^>]*)>|<textarea([^>]*)>(.*?)</textarea>|<select([^>]*)>(.*?)</select>", form, re.DOTALL
    ):
        marks = tag[1] or tag[2] or tag[4]
        name = re.search(r'name="([^"]+)"', marks)
        if name is None or ('type="checkbox"' in marks and " checked" not in marks):
            continue
        value = re.search(r'value="([^"]*)"', marks)
        text = value[1] if value else ""
        if tag[2]:
            text = tag[3]
        elif tag[4]:
            chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', tag[5]) or re.search(
                r'<option(?: value="([^"]*)")?>([^<]*)', tag[5]
            )
            text = chosen[2] if chosen[1] is None else chosen[1]
        found[name[1]] = unescape(text)
    return {name: text for name, text in found.items() if name != "csrf"}


def digest_of(response):
    """What a page brings back of the change that it showed."""
    found = re.search(r'name="shown" value="(\w+)"', response.text)
    assert found, (response.status_code, words(response)[:900])
    return found[1]


def words(response):
    """The words of a page."""
    return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.text)))


def declare(browser, at, **answers):
    """Answer the questions of a page, look, and write; where that led."""
    page = browser.get(at)
    assert page.status_code == 200, words(page)[:900]
    form = fields_of(page.text) | answers
    looked = browser.post("/admin/tables/new", form | {"act": "preview"})
    assert looked.status_code == 200, words(looked)[:900]
    return browser.post("/admin/tables/new", form | {"act": "write", "shown": digest_of(looked)})
