"""The log: the ledger's rows, the newest first, whether all of them hold together, and all of them as a file."""

from __future__ import annotations

import threading
from typing import Any

from discreet.console import entries
from discreet.console.answer import Answer, Denied, Download, Grid, Page
from discreet.console.render import text
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.ledger.chain import Entry
from discreet.ledger.state import State

#: Rows on a page.
EACH = 50

#: Verifying reads the whole ledger: one at a time.
_VERIFYING = threading.Lock()


def show(visit: Visit) -> Answer:
    """A page of rows, of one table, kind or analyst where that is asked."""
    return _page(visit, None)


def verify(visit: Visit) -> Answer:
    """Verify everything anew, from the disk."""
    if not _VERIFYING.acquire(blocking=False):
        raise Denied("Somebody verifies it just now; look again in a moment.", status=429, wait_s=5)
    try:
        report = visit.desk.project.verify()
    finally:
        _VERIFYING.release()
    found = {
        "sound": report.sound,
        "rows": report.rows,
        "row": report.row,
        "problem": report.problem,
        "warnings": list(report.warnings) if visit.visitor.may("owner") else [],
    }
    return _page(visit, found)


def _page(visit: Visit, verified: dict[str, Any] | None) -> Page:
    owner, state, found = visit.visitor.may("owner"), *_rows(visit)
    wanted = {name: visit.asked(name).strip() for name in ("table", "kind", "analyst")}
    lines = [entries.line(entry, state, owner=owner) for entry in reversed(found)]
    shown = [each for each in lines if all(not told or each[name] == told for name, told in wanted.items())]
    pages = max(1, -(-len(shown) // EACH))
    page = min(_page_number(visit), pages)
    data = {
        "rows": shown[(page - 1) * EACH : page * EACH],
        "count": len(shown),
        "page": page,
        "pages": pages,
        "wanted": wanted,
        "tables": sorted({each["table"] for each in lines if each["table"]}),
        "kinds": sorted({each["kind"] for each in lines}),
        "analysts": sorted({each["analyst"] for each in lines if each["analyst"]}),
        "verified": verified,
        "head": state.seq,
    }
    columns = ("row", "kind", "time", "table", "analyst", "release", "epsilon", "words")
    most = shown[: visit.settings.most_rows]
    grid = Grid(columns=columns, rows=[[each[name] for name in columns] for each in most])
    return Page(template="log.html", data=data, table=grid)


def export(visit: Visit) -> Answer:
    """Every row, as JSON lines."""
    owner, state, found = visit.visitor.may("owner"), *_rows(visit)
    content = "".join(text(entries.whole(entry, state, owner=owner)) for entry in found)
    return Download(content=content.encode(), media_type="application/jsonl", name="ledger.jsonl")


def _rows(visit: Visit) -> tuple[State, list[Entry]]:
    ledger = visit.desk.project.ledger
    return ledger.refresh(), list(ledger.entries())


def _page_number(visit: Visit) -> int:
    told = visit.asked("page", "1")
    if not (told.isascii() and told.isdecimal() and 0 < len(told) < 8) or int(told) < 1:
        raise Denied("page: a whole number from 1.", status=400)
    return int(told)


ROUTES = (
    Route(method="GET", path="/log/ledger.jsonl", handler=export, role="analyst", twins=False),
    Route(method="POST", path="/log/verify", handler=verify, role="analyst"),
    Route(method="GET", path="/log", handler=show, role="analyst"),
)
