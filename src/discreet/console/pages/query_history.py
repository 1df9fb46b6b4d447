"""One's own history: drafts, and queries that were refused. Nobody else sees them, and one can forget them."""

from __future__ import annotations

from discreet.console.pages.me import current_person
from discreet.console.pages.query_drafts import drafts_of
from discreet.console.people.refused_queries import EACH
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, PageTable, Redirect
from discreet.console.routes import Route


def show(context: RequestContext) -> HandlerResponse:
    """What one tried: what was priced or rehearsed and not asked, and what was refused."""
    person = current_person(context)
    drafts = drafts_of(context.people.drafts, person)
    refused = [each.data() for each in context.people.refused.of(person)]
    data = {
        "drafts": [
            {"draft": name, "sql": each.form.sql, "rehearsed": each.rehearsal is not None}
            for name, each in drafts
            if each.trouble is None
        ],
        "refused": refused,
        "most": EACH,
    }
    columns = ("time", "text", "why")
    rows = [[each[name] for name in columns] for each in refused]
    return Page(template="ask_history.html", data=data, table=PageTable(columns=columns, rows=rows))


def forget(context: RequestContext) -> HandlerResponse:
    """Forget one's own drafts and refused queries."""
    person = current_person(context)
    context.people.refused.forget(person)
    context.people.drafts.forget(person)
    return Redirect(to="/ask/history")


ROUTES = (
    Route(method="GET", path="/ask/history", handler=show, role="analyst"),
    Route(method="POST", path="/ask/history/forget", handler=forget, role="analyst"),
)
