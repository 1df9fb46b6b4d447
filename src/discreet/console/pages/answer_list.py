"""The list of answers: searched, sorted, and named as people named them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from discreet.console import public_facts
from discreet.console.answer_index import AnswerIndex, IndexedAnswer, excerpt
from discreet.console.pages.answer_address import whole_number_at
from discreet.console.people.answer_notes import AnswerNote
from discreet.console.project_handle import ProjectHandle
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, PageTable
from discreet.console.routes import Route
from discreet.ledger.records import ChargeRecord
from discreet.present.cell_text import DASH

#: Releases on one page of the list.
EACH = 25
#: Letters of a question that the list shows, and of a search.
SHOWN, LONGEST_SEARCH = 200, 200
#: Where a charge names nobody.
NOBODY = DASH
_COLUMNS = ("release", "kind", "table", "version", "analyst", "time", "price", "asked", "name", "tags")

#: By which word the list is sorted; the newest come first where two are equal.
SORTS: Mapping[str, str] = {
    "newest": "newest first",
    "oldest": "oldest first",
    "price": "highest price first",
    "table": "by table",
    "name": "by name",
}

Line = tuple[ChargeRecord, IndexedAnswer, AnswerNote]
#: What stands beside an answer of which nobody wrote anything.
_NO_NOTE = AnswerNote(release="")
_KEYS: Mapping[str, Callable[[Line], Any]] = {
    "oldest": lambda line: line[0].seq,
    "price": lambda line: -line[0].moved.numerator / line[0].moved.denominator,
    "table": lambda line: line[0].table.casefold(),
    "name": lambda line: (not line[2].name, line[2].name.casefold()),
}


def index(context: RequestContext) -> HandlerResponse:
    """All releases, the newest first; or those that a search, a table, an analyst or a tag leave, sorted."""
    wish = {name: context.query_text(name).strip() for name in ("table", "analyst", "tag")}
    wish["q"] = context.query_text("q").strip()[:LONGEST_SEARCH]
    wish["sort"] = context.query_text("sort") if context.query_text("sort") in SORTS else "newest"
    everything = answer_lines(context)
    lines = [line for line in everything if _matches(line, wish)]
    if wish["sort"] in _KEYS:
        lines.sort(key=_KEYS[wish["sort"]])
    pages = max(1, -(-len(lines) // EACH))
    page = min(whole_number_at(context, "page"), pages)
    project = context.handle.project
    shown = [
        {
            **public_facts.charge_json(project, charge),
            "kind": entry.kind,
            "asked": excerpt(entry.question, SHOWN),
            "name": note.name,
            "tags": list(note.tags),
            "noted": bool(note.note),
        }
        for charge, entry, note in lines[(page - 1) * EACH : page * EACH]
    ]
    data = {
        "releases": shown,
        "count": len(lines),
        "all": len(everything),
        "page": page,
        "pages": pages,
        **wish,
        "sorts": dict(SORTS),
        "tables": sorted({charge.table for charge, _, _ in everything}),
        "analysts": sorted({charge.analyst or NOBODY for charge, _, _ in everything}),
        "tags": sorted({tag for _, _, note in everything for tag in note.tags}),
    }
    rows = [[", ".join(each[name]) if name == "tags" else each[name] for name in _COLUMNS] for each in shown]
    return Page(template="answers.html", data=data, table=PageTable(columns=_COLUMNS, rows=rows))


def answer_lines(context: RequestContext) -> list[Line]:
    """Every release with its question and its note, the newest first."""
    project, notes = context.handle.project, context.people.notes.all()
    charges = list(public_facts.charges(project))
    entries = answer_index_of(context.handle).look_up(project, charges)
    return [(charge, entry, notes.get(charge.id, _NO_NOTE)) for charge, entry in zip(charges, entries, strict=True)]


def answer_index_of(handle: ProjectHandle) -> AnswerIndex:
    """The one index of a console."""
    return handle.singleton(AnswerIndex, AnswerIndex)


def _matches(line: Line, wish: Mapping[str, str]) -> bool:
    """Whether a line is one that is looked for; the dash stands for nobody named, as it does in the list."""
    charge, entry, note = line
    if wish["table"] and charge.table != wish["table"]:
        return False
    if wish["analyst"] and (charge.analyst or NOBODY) != wish["analyst"]:
        return False
    if wish["tag"] and wish["tag"] not in note.tags:
        return False
    if not wish["q"]:
        return True
    parts = (
        charge.id,
        charge.table,
        charge.analyst or "",
        entry.kind,
        entry.question,
        note.name,
        note.note,
        *note.tags,
    )
    whole = search_form("\n".join(parts))
    return all(word in whole for word in search_form(wish["q"]).split())


def search_form(text: str) -> str:
    """A text as it is searched: capitals and accents make no difference.

    >>> search_form("ZÜRICH, Straße"), search_form("Zu\u0308rich")
    ('zurich, strasse', 'zurich')
    """
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


ROUTES = (Route(method="GET", path="/a", handler=index, role="analyst"),)
