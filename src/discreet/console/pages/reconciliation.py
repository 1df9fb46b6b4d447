"""Reconcile: the released answers of a table, made to agree with each other. Free."""

from __future__ import annotations

import math
from typing import Any

from discreet.console import forms, public_facts
from discreet.console.jobs import release_store
from discreet.console.jobs.job_queue import job_queue_of
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, PageTable
from discreet.console.routes import Route
from discreet.errors import DiscreetError
from discreet.present.cell_text import cell_text

#: So many identities, and answers to choose from, are listed.
LISTED, ANSWERS = 50, 100
#: So many numbers are drawn, those that moved most; a move below MOVED standard errors is none to people.
DRAWN, MOVED = 15, 0.005
#: Ends of the lines, in standard errors.
_ENDS = 2.0


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
    data["shown"] = [
        [_rounded(each, "value", "standard_error"), _rounded(each, "reconciled", "reconciled_error")]
        for each in data["numbers"]
    ]
    data["chart"], data["moved"] = _chart(data["numbers"])
    data["said"] = [agreement.identity(each) for each in agreement.identities[:LISTED]]
    return data


def _chart(numbers: list[dict[str, Any]]) -> tuple[dict[str, Any] | None, int]:
    """What moved most, in standard errors of its own noise, so that counts and sums share an axis; and how many did."""
    moves = []
    for each in numbers:
        error, after = each["standard_error"], each["reconciled_error"]
        if None in (error, after, each["value"], each["reconciled"]) or error <= 0:
            continue
        moves.append(((each["reconciled"] - each["value"]) / error, after / error, each))
    moved = [move for move in moves if abs(move[0]) >= MOVED]
    moved.sort(key=lambda move: -abs(move[0]))
    pairs = [
        {
            "label": _label(each),
            "before": [-_ENDS, 0.0, _ENDS],
            "after": [move - _ENDS * after, move, move + _ENDS * after],
            "text": f"{_rounded(each, 'value', 'standard_error')} → {_rounded(each, 'reconciled', 'reconciled_error')}",
        }
        for move, after, each in moved[:DRAWN]
    ]
    if not pairs:
        return None, 0
    title = "How far each number moved, in standard errors of its released noise"
    chart = {"chart": "before_after", "title": title, "across": "standard errors from the released number"}
    return {**chart, "pairs": pairs}, len(moved)


def _rounded(number: dict[str, Any], value: str, error: str) -> str:
    """A number and two standard errors, without digits that its noise hides.

    >>> _rounded({"n": -2.37601, "e": 0.46}, "n", "e"), _rounded({"n": 1234.5, "e": 60.0}, "n", "e")
    ('-2.38 ± 0.92', '1,230 ± 120')
    """
    width = _ENDS * number[error]
    places = 1 - math.floor(math.log10(width)) if width > 0 else 2
    shown = f",.{max(places, 0)}f"
    return f"{round(number[value], places):{shown}} ± {round(width, places):{shown}}"


def _label(number: dict[str, Any]) -> str:
    """A number's name with what tells it from others first."""
    keys = ", ".join(map(cell_text, number["keys"].values()))
    return f"{keys or 'all'}: {number['column']} of {number['release']}"


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
