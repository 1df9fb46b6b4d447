"""The manual's pages, as the console serves them: Markdown of docs/, rendered without scripts or foreign loads.

Guarantee: nothing outside the manual's folder is served, and no text of a page becomes markup or a script.
Because: pages and pictures are looked up in a list of the folder's files by their whole names, so no address is ever
    joined to a path; HTML in Markdown is escaped, and comments are left out.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from markupsafe import Markup

import discreet

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

#: What a picture of the manual may be.
PICTURES = {".png": "image/png", ".svg": "image/svg+xml"}
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_ANCHOR = re.compile(r'<h[1-6] id="([^"]*)"')


@cache
def folder() -> Path | None:
    """Where the manual lies: beside the sources of a checkout, or in the installed package."""
    package = Path(discreet.__file__).parent
    checkout = package.parent.parent
    places = [checkout / "docs"] if (checkout / "pyproject.toml").is_file() else []
    return next((place for place in (*places, package / "docs") if (place / "index.md").is_file()), None)


@cache
def page_paths() -> Mapping[str, Path]:
    """Every page by its name, such as concepts/budgets."""
    root = folder()
    if root is None:
        return {}
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.md"))}


@cache
def picture_paths() -> Mapping[str, Path]:
    """Every picture by its name, such as pictures/ask.png."""
    root = folder()
    if root is None:
        return {}
    return {
        path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*")) if path.suffix.lower() in PICTURES
    }


@cache
def markdown_of(page: str) -> str:
    """The text of a page; KeyError where there is none."""
    return page_paths()[page].read_text(encoding="utf-8")


@cache
def title_of(page: str) -> str:
    """What a page's first heading says, without marks."""
    first = re.search(r"^# (.+)$", markdown_of(page), re.MULTILINE)
    return re.sub(r"[`*_]", "", first[1]) if first else page


@lru_cache(maxsize=256)
def html_of(page: str) -> Markup:
    """A page as HTML. Links between pages lead to /help, pictures come from there, and links to sources are words."""
    parser = _parser()
    tokens = parser.parse(markdown_of(page))
    _anchor_headings(tokens)
    for token in tokens:
        if "right" in str(token.attrs.pop("style", "")):  # of a cell; pages have no styles of their own
            token.attrs["class"] = "number"
        if token.children:
            token.children = list(_resolved(token.children, page))
    return Markup(parser.renderer.render(tokens, parser.options, {}))  # noqa: S704 - escaped by the renderer


def anchors_of(page: str) -> set[str]:
    """What can stand after # in an address of a page."""
    return set(_ANCHOR.findall(html_of(page)))


def address_of(target: str, page: str) -> str | None:
    """Where a link of a page leads in the console; None where the manual has no such page.

    >>> address_of("https://example.org/x", "start"), address_of("#asking", "graphs")
    ('https://example.org/x', '#asking')
    >>> address_of("javascript:alert(1)", "start") is None
    True
    """
    if target.startswith("#"):
        return target
    if _SCHEME.match(target):
        return target if target.startswith(("https://", "http://", "mailto:")) else None
    path, mark, anchor = target.partition("#")
    name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    page_name, is_page, _ = name.rpartition(".md")
    if is_page and page_name in page_paths():
        return f"/help/{quote(page_name)}{mark}{anchor}"
    return f"/help/files/{quote(name)}" if name in picture_paths() else None


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.add_render_rule("html_block", _escaped_html)
    parser.add_render_rule("html_inline", _escaped_html)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    return parser


def _escaped_html(self: object, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
    """HTML as words. A comment is for the tests that run the page, and is left out."""
    text = tokens[index].content
    return "" if text.lstrip().startswith("<!--") and "-->" in text else escape(text)


def _table_open(self: object, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
    return '<div class="wide" tabindex="0" role="group" aria-label="Table">\n<table>\n'


def _table_close(self: object, tokens: Sequence[Token], index: int, options: object, env: object) -> str:
    return "</table>\n</div>\n"


def _anchor_headings(tokens: Sequence[Token]) -> None:
    """Headings get the ids that the manual's site gives them."""
    given: set[str] = set()
    for token, inline in pairwise(tokens):
        if token.type == "heading_open":
            words = "".join(each.content for each in inline.children or ())
            slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower())
            number = 0
            while (id_ := f"{slug}_{number}" if number else slug) in given:
                number += 1
            given.add(id_)
            token.attrs["id"] = id_


def _resolved(children: Sequence[Token], page: str) -> Iterator[Token]:
    """The parts of a paragraph with the console's addresses; a link or a picture that it has not got is its words."""
    is_link = True
    for token in children:
        if token.type == "link_open":
            address = address_of(str(token.attrs["href"]), page)
            is_link = address is not None
            if address is None:
                continue
            token.attrs["href"] = address
            if not address.startswith(("/", "#")):
                token.attrs["rel"] = "noopener noreferrer"
        elif token.type == "link_close" and not is_link:
            is_link = True
            continue
        elif token.type == "image":
            address = address_of(str(token.attrs["src"]), page)
            if address is None or not address.startswith("/help/files/"):
                token.type, token.tag, token.content = "text", "", f"[picture: {token.content}]"
                token.attrs, token.children = {}, None
            else:
                token.attrs["src"] = address
                token.attrs["loading"] = "lazy"
        yield token
