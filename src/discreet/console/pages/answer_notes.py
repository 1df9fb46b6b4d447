"""Names, tags and notes of answers: written by who asked, and by owners; read by all who may ask."""

from __future__ import annotations

from urllib.parse import quote

from discreet.console.pages.answer_address import recalled_at
from discreet.console.pages.answers import may_note
from discreet.console.pages.me import current_person
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Redirect, RequestDenied
from discreet.console.routes import Route


def write(context: RequestContext) -> HandlerResponse:
    """Write what a release is called. Empty fields remove what was there."""
    recalled_release = recalled_at(context)
    if not may_note(context, recalled_release):
        raise RequestDenied("Only who asked a query, and owners, may name its answer.", status=403)
    context.people.notes.write(
        recalled_release.id,
        by=current_person(context),
        name=context.field("name"),
        tags=context.field("tags"),
        note=context.field("note").replace("\r\n", "\n"),
        shown=context.field("shown"),
    )
    return Redirect(to=f"/a/{quote(recalled_release.id, safe='')}")


ROUTES = (Route(method="POST", path="/a/{release}/notes", handler=write, role="analyst"),)
