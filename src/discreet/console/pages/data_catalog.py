"""Data: the tables there are, their columns, what may be asked of each, and what is left to ask it with."""

from __future__ import annotations

from typing import Any

from discreet.console import public_facts
from discreet.console.pages.vocabulary import example_query
from discreet.console.population_meters import population_meters, table_lines
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, PageTable
from discreet.console.routes import Route
from discreet.project.project import Project
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn
from discreet.schema.schema import Table

_COLUMNS = ("table", "column", "type", "domain", "uses")


def show(context: RequestContext) -> HandlerResponse:
    """All tables with their columns."""
    project = context.handle.project
    lines = table_lines(project)
    tables = [{**line, **_more_facts(project, project.file.tables[line["name"]])} for line in lines]
    rows = [
        [table["name"], each["name"], each["type"], each["domain"] or ", ".join(each["values"]), each["uses"]]
        for table in tables
        for each in table["column_list"]
    ]
    data = {"tables": tables, "populations": population_meters(lines)}
    return Page(template="data.html", data=data, table=PageTable(columns=_COLUMNS, rows=rows))


def _more_facts(project: Project, table: Table) -> dict[str, Any]:
    declared = {column.name: column for column in table.schema.columns}
    return {
        "column_list": [
            {**each, "uses": "join with it, free" if table.public else column_uses(declared[each["name"]])}
            for each in public_facts.columns_json(project, table)
        ],
        "example": "" if table.public or table.budget is None else example_query(project, table.name),
    }


def column_uses(column: Column) -> str:
    """What a question may do with a column, as its declaration allows."""
    match column:
        case CategoryColumn() | BooleanColumn():
            return "count by it, filter"
        case NumberColumn() if column.low is not None and column.high is not None:
            return "sum, average, quantiles, histogram, filter"
        case MomentColumn() if column.low is not None and column.high is not None:
            return "count by day, month or year, quantiles, filter"
        case NumberColumn() | MomentColumn():
            return "filter; it needs bounds for sums, averages and groups"
    return "count distinct values; groups are shown if enough people share them"


ROUTES = (Route(method="GET", path="/d", handler=show, role="analyst"),)
