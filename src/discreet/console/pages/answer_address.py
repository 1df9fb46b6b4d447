"""What the address of an answer says: which release, which of its statements, at which confidence."""

from __future__ import annotations

from discreet.console.request_context import RequestContext
from discreet.console.responses import NotFound, RequestDenied
from discreet.errors import UsageError
from discreet.project.recall import RecalledRelease
from discreet.release import Release


def recalled_at(context: RequestContext) -> RecalledRelease:
    """The release of the path."""
    try:
        return context.handle.project.recall(context.params["release"])
    except UsageError:
        raise NotFound from None


def release_at(context: RequestContext, recalled_release: RecalledRelease) -> Release:
    """Its numbers, of the statement and at the confidence that are asked for."""
    confidence = context.query_text("confidence").strip() or None
    return context.handle.project.release(recalled_release.id, confidence=confidence, statement=statement_at(context))


def statement_at(context: RequestContext) -> int:
    """Which statement of a batch, from 1."""
    return whole_number_at(context, "statement")


def whole_number_at(context: RequestContext, name: str) -> int:
    """A whole number of the query, at least 1, which it is where none is given."""
    text = context.query_text(name, "1")
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 7) or int(text) < 1:
        raise RequestDenied(f"{name} must be a whole number, at least 1.", status=400)
    return int(text)


def shows_all_rows(context: RequestContext) -> bool:
    """Whether a page shows all rows, and not the first."""
    return context.query_text("rows") == "all"
