"""A declared table: whose presence is hidden, what its columns are, its hazards, and rows that look like it."""

from __future__ import annotations

from discreet.console import facts, hazards
from discreet.console.answer import Answer, Grid, Missing, Page
from discreet.console.desk import Desk
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.errors import UsageError
from discreet.schema.schema import Table

#: Rows of the look-alike that are made, and of these shown.
MADE, SAMPLE = 200, 10


def show(visit: Visit) -> Answer:
    """All that is declared of a table."""
    project, table = visit.desk.project, _table(visit)
    columns = facts.columns(project, table)
    data = {
        **facts.table_line(project, table),
        "columns": columns,
        "hazards": [] if table.public else hazards.checklist(project, table),
        "warnings": project.warnings(table.name) if visit.visitor.role == "owner" and not table.public else [],
        "sample": None if table.public else _sample(visit, table),
    }
    rows = [
        [each["name"], each["type"], each["domain"] or ", ".join(each["values"]), each["origin"]] for each in columns
    ]
    return Page(template="table.html", data=data, table=Grid(columns=("column", "type", "domain", "origin"), rows=rows))


def _sample(visit: Visit, table: Table) -> dict[str, object]:
    """Rows that are made from the declaration alone."""
    from discreet.rehearse.lookalike import ASSUMED, look_alike, sample

    columns, rows = sample(look_alike(visit.desk.project.file.tables, table.name, rows=MADE), SAMPLE)
    return {"columns": columns, "rows": rows, "assumed": list(ASSUMED)}


def _table(visit: Visit) -> Table:
    try:
        return visit.desk.project.table(visit.params["table"])
    except UsageError:
        raise Missing from None


def _is_table(desk: Desk, name: str) -> bool:
    return any(each.lower() == name.lower() for each in desk.project.file.tables)


ROUTES = (Route(method="GET", path="/d/{table:path}", handler=show, role="analyst", known=_is_table),)
