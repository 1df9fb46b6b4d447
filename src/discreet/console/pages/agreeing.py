"""Reconcile: the released answers of a table, made to agree with each other. Free."""

from __future__ import annotations

from typing import Any

from discreet.console import facts, forms, kept
from discreet.console.answer import Answer, Grid, Page
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.console.works import works_of
from discreet.errors import DiscreetError

#: So many identities, and answers to choose from, are listed.
LISTED, ANSWERS = 50, 100


def show(visit: Visit) -> Answer:
    """Choose answers, and see what they would be if they agreed."""
    project, name = visit.desk.project, visit.asked("table")
    tables = forms.private_tables(project)
    table = next((each for each in tables if each["name"].lower() == name.lower()), None)
    only = [each for each in visit.query.get("release", ()) if each]
    whole = bool(visit.asked("whole"))
    found, trouble, status = None, None, 200
    if table is not None:
        try:
            with works_of(visit).pricing(visit.visitor):
                found = _agreed(project, table["name"], only, whole=whole)
        except DiscreetError as problem:
            trouble, status = forms.trouble(problem)
    data = {
        "tables": tables,
        "table": table,
        "wish": {"table": name, "releases": only, "whole": whole},
        "answers": [] if table is None else _answers(project, table["name"]),
        "found": found,
        "trouble": trouble,
    }
    grid = _grid({"numbers": [], "words": []} if found is None else found)
    return Page(template="tables_reconcile.html", data=data, table=grid, status=status)


def _agreed(project: Any, name: str, only: list[str], *, whole: bool) -> dict[str, Any]:
    told = project.reconcile(name, only, whole=whole)
    data: dict[str, Any] = kept.plain(told.to_data())
    data["words"] = [line.words() for line in told.lines]
    data["said"] = [told.identity(each) for each in told.identities[:LISTED]]
    return data


def _answers(project: Any, name: str) -> list[dict[str, Any]]:
    """The answers to choose from: those in SQL."""
    found = [facts.charge(project, each) for each in facts.charges(project) if each.table == name]
    return [each for each in found if each["kind"] == "answer" and each["answered"]][:ANSWERS]


def _grid(found: dict[str, Any]) -> Grid:
    names = ("value", "standard_error", "reconciled", "reconciled_error", "whole")
    rows = [
        [each["release"], each["column"], words, *(each[name] for name in names)]
        for each, words in zip(found["numbers"], found["words"], strict=True)
    ]
    return Grid(columns=("release", "column", "number", *names), rows=rows)


ROUTES = (Route(method="GET", path="/tables/reconcile", handler=show, role="analyst"),)
