"""Reconcile: the released answers of a table, made to agree with each other. Free."""

from __future__ import annotations

from typing import Any

from discreet.console import forms, public_facts
from discreet.console.jobs import release_store
from discreet.console.jobs.job_queue import job_queue_of
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, PageTable
from discreet.console.routes import Route
from discreet.errors import DiscreetError

#: So many identities, and answers to choose from, are listed.
LISTED, ANSWERS = 50, 100


def show(context: RequestContext) -> HandlerResponse:
    """Choose answers, and see what they would be if they agreed."""
    project, name = context.handle.project, context.query_text("table")
    tables = forms.private_tables(project)
    table = next((each for each in tables if each["name"].lower() == name.lower()), None)
    only = [each for each in context.query.get("release", ()) if each]
    whole = bool(context.query_text("whole"))
    agreement, trouble, status = None, None, 200
    if table is not None:
        try:
            with job_queue_of(context).pricing_turn(context.visitor):
                agreement = _agreement_json(project, table["name"], only, whole=whole)
        except DiscreetError as problem:
            trouble, status = forms.form_error(problem)
    data = {
        "tables": tables,
        "table": table,
        "wish": {"table": name, "releases": only, "whole": whole},
        "answers": [] if table is None else _answers(project, table["name"]),
        "found": agreement,
        "trouble": trouble,
    }
    grid = _grid({"numbers": [], "words": []} if agreement is None else agreement)
    return Page(template="tables_reconcile.html", data=data, table=grid, status=status)


def _agreement_json(project: Any, name: str, only: list[str], *, whole: bool) -> dict[str, Any]:
    agreement = project.reconcile(name, only, whole=whole)
    data: dict[str, Any] = release_store.to_json(agreement.to_data())
    data["words"] = [line.words() for line in agreement.lines]
    data["said"] = [agreement.identity(each) for each in agreement.identities[:LISTED]]
    return data


def _answers(project: Any, name: str) -> list[dict[str, Any]]:
    """The answers to choose from: those in SQL."""
    charges = [public_facts.charge_json(project, each) for each in public_facts.charges(project) if each.table == name]
    return [each for each in charges if each["kind"] == "answer" and each["answered"]][:ANSWERS]


def _grid(agreement: dict[str, Any]) -> PageTable:
    names = ("value", "standard_error", "reconciled", "reconciled_error", "whole")
    rows = [
        [each["release"], each["column"], words, *(each[name] for name in names)]
        for each, words in zip(agreement["numbers"], agreement["words"], strict=True)
    ]
    return PageTable(columns=("release", "column", "number", *names), rows=rows)


ROUTES = (Route(method="GET", path="/tables/reconcile", handler=show, role="analyst"),)
