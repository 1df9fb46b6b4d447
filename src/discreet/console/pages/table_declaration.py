"""A declared table: whose presence is hidden, what its columns are, its hazards, and rows that look like it."""

from __future__ import annotations

from discreet.console import public_facts
from discreet.console.console_text import console_texts
from discreet.console.pages import hazards
from discreet.console.project_handle import ProjectHandle
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, PageTable
from discreet.console.routes import Route
from discreet.errors import UsageError
from discreet.schema.schema import Table

#: Rows of the look-alike that are made, and of these shown.
MADE, SAMPLE = 200, 10


def show(context: RequestContext) -> HandlerResponse:
    """All that is declared of a table."""
    project, table = context.handle.project, _table(context)
    columns = public_facts.columns_json(project, table)
    data = {
        **public_facts.table_line(project, table),
        "columns": columns,
        "hazards": [] if table.public else hazards.checklist(project, table),
        "warnings": console_texts(project.warnings(table.name))
        if context.visitor.role == "owner" and not table.public
        else [],
        "sample": None if table.public else _sample(context, table),
    }
    rows = [
        [each["name"], each["type"], each["domain"] or ", ".join(each["values"]), each["origin"]] for each in columns
    ]
    return Page(
        template="table.html", data=data, table=PageTable(columns=("column", "type", "domain", "origin"), rows=rows)
    )


def _sample(context: RequestContext, table: Table) -> dict[str, object]:
    """Rows that are made from the declaration alone."""
    from discreet.rehearse.lookalike import ASSUMED, look_alike, sample

    columns, rows = sample(look_alike(context.handle.project.file.tables, table.name, rows=MADE), SAMPLE)
    return {"columns": columns, "rows": rows, "assumed": list(ASSUMED)}


def _table(context: RequestContext) -> Table:
    try:
        return context.handle.project.table(context.params["table"])
    except UsageError:
        raise NotFound from None


def _is_table(handle: ProjectHandle, name: str) -> bool:
    return any(each.lower() == name.lower() for each in handle.project.file.tables)


ROUTES = (Route(method="GET", path="/d/{table:path}", handler=show, role="analyst", is_declared_name=_is_table),)
