"""The log: the ledger's rows, the newest first, whether all of them hold together, and all of them as a file."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from discreet.console.pages import ledger_rows
from discreet.console.pages.log_index import IndexedRow, LogIndex, read_entries
from discreet.console.render import text
from discreet.console.request_context import RequestContext
from discreet.console.responses import DeferredRows, Download, HandlerResponse, Page, PageTable, RequestDenied
from discreet.console.routes import Route
from discreet.ledger.chain import LedgerEntry
from discreet.ledger.state import LedgerState

#: Rows on a page.
EACH = 50

#: Verifying reads the whole ledger: one at a time.
_VERIFYING = threading.Lock()


def show(context: RequestContext) -> HandlerResponse:
    """A page of rows, of one table, kind or analyst where that is asked."""
    return _page(context, None)


def verify(context: RequestContext) -> HandlerResponse:
    """Verify everything anew, from the disk."""
    if not _VERIFYING.acquire(blocking=False):
        raise RequestDenied("Somebody else is verifying the ledger; try again in a moment.", status=429, wait_s=5)
    try:
        report = context.handle.project.verify()
    finally:
        _VERIFYING.release()
    report_data = {
        "sound": report.sound,
        "rows": report.rows,
        "row": report.row,
        "problem": report.problem,
        "warnings": list(report.warnings) if context.visitor.may("owner") else [],
    }
    return _page(context, report_data)


def _page(context: RequestContext, verified: dict[str, Any] | None) -> Page:
    owner, ledger = context.visitor.may("owner"), context.handle.project.ledger
    state = ledger.refresh()
    filters = {name: context.query_text(name).strip() for name in ("table", "kind", "analyst")}
    lines = [_subject(row, owner=owner) for row in context.handle.singleton(LogIndex, LogIndex).rows(ledger)]
    shown = [
        each["row"]
        for each in reversed(lines)
        if all(not filter_text or each[name] == filter_text for name, filter_text in filters.items())
    ]

    def read(numbers: Sequence[int]) -> list[dict[str, Any]]:
        entries = reversed(list(read_entries(ledger, numbers[::-1])))
        return [ledger_rows.row_json(entry, state, owner=owner) for entry in entries]

    pages = max(1, -(-len(shown) // EACH))
    page = min(_page_number(context), pages)
    data = {
        "rows": read(shown[(page - 1) * EACH : page * EACH]),
        "count": len(shown),
        "page": page,
        "pages": pages,
        "wanted": filters,
        "tables": sorted({each["table"] for each in lines if each["table"]}),
        "kinds": sorted({each["kind"] for each in lines}),
        "analysts": sorted({each["analyst"] for each in lines if each["analyst"]}),
        "verified": verified,
        "head": state.seq,
    }
    columns = ("row", "kind", "time", "table", "analyst", "release", "epsilon", "words")
    most = shown[: context.settings.most_rows]
    rows = DeferredRows(lambda: [[each[name] for name in columns] for each in read(most)])
    return Page(template="log.html", data=data, table=PageTable(columns=columns, rows=rows))


def _subject(row: IndexedRow, *, owner: bool) -> dict[str, Any]:
    """What a filter compares: what the visitor sees of a row."""
    kind = ledger_rows.shown_kind(row.kind, owner=owner)
    return {"row": row.seq, "kind": kind, "table": row.table if kind == row.kind else None, "analyst": row.analyst}


def export(context: RequestContext) -> HandlerResponse:
    """Every row, as JSON lines."""
    owner, state, ledger_entries = context.visitor.may("owner"), *_rows(context)
    content = "".join(text(ledger_rows.export_row(entry, state, owner=owner)) for entry in ledger_entries)
    return Download(content=content.encode(), media_type="application/jsonl", name="ledger.jsonl")


def _rows(context: RequestContext) -> tuple[LedgerState, list[LedgerEntry]]:
    ledger = context.handle.project.ledger
    return ledger.refresh(), list(ledger.entries())


def _page_number(context: RequestContext) -> int:
    page_text = context.query_text("page", "1")
    if not (page_text.isascii() and page_text.isdecimal() and 0 < len(page_text) < 8) or int(page_text) < 1:
        raise RequestDenied("page must be a whole number, at least 1.", status=400)
    return int(page_text)


ROUTES = (
    Route(method="GET", path="/log/ledger.jsonl", handler=export, role="analyst", twins=False),
    Route(method="POST", path="/log/verify", handler=verify, role="analyst"),
    Route(method="GET", path="/log", handler=show, role="analyst"),
)
