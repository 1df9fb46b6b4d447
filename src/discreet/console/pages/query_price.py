"""What a question would cost and how wrong its answer would be, for a page; or why it is refused, and where. Free."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.answers.affordability import budget_refusal as exceeded
from discreet.answers.explain import explain
from discreet.answers.query_quote import quote
from discreet.console.console_text import page_hint
from discreet.console.error_responses import error_report_of, page_problem
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.jobs.query_service import QueryService
from discreet.console.jobs.release_json import without_infinities
from discreet.console.pages import query_offers
from discreet.console.pages.closed_queries import closed_by
from discreet.console.pages.column_precision import at_column_precision, precision_columns
from discreet.console.pages.query_drafts import QueryDraft
from discreet.errors import DiscreetError, Refused
from discreet.project.budget import counts_left
from discreet.project.project import Project
from discreet.project.question import wish_of
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_batch
from discreet.sql.query_text import split_statements


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceContext:
    """Who asks for a price. column: the one that a plus or minus is for. drafts: what else they may want to ask."""

    analyst: str | None = None
    column: str = ""
    drafts: Sequence[tuple[str, QueryDraft]] = ()


def price_query(
    query_request: QueryRequest, project: Project, asking: QueryService, about: PriceContext
) -> dict[str, Any]:
    """The price of a question, in numbers and in sentences; a refusal with its place and what to try.

    A column that the query does not have any more is none: the plus or minus is then for every column, and so it says.
    """
    columns = precision_columns(project, query_request.text)
    column = about.column if about.column in columns else ""
    chosen = {"columns": columns, "column": column}
    try:
        settled = at_column_precision(query_request, column, project)
        price = (_batch if settled.kind == "batch" else _single)(settled, project, asking)
        closes = _closes(price, settled, project, about)
        linked, confirm = _linked(price, column), _confirm(price, about.analyst)
        return {"accepted": True, **price, **chosen, "closes": closes, "linked": linked, "confirm": confirm}
    except DiscreetError as problem:
        return {"accepted": False, **chosen, "problem": editor_error(problem, query_request.text, project)}


def _closes(
    price: Mapping[str, Any], query_request: QueryRequest, project: Project, about: PriceContext
) -> list[dict[str, str]]:
    """What the budget allows now and not after it; nothing of a batch, or where earlier answers make it cheaper."""
    after = price["remaining_after"]
    if query_request.kind != "query" or price["free"] or price["known"] or after is None:
        return []
    return closed_by(query_request, project, left=after["epsilon"], analyst=about.analyst, drafts=about.drafts)


def _confirm(price: Mapping[str, Any], analyst: str | None) -> str:
    """What a click will do, before it is done."""
    if price["free"]:
        return f"This query is free: {price['free']}."
    after = price["remaining_after"]
    left = "" if after is None else f" Remaining after it: {after['words']}."
    who = analyst or "an unnamed analyst"
    if _moves_nothing(price["cost"]):
        why = "other people have been queried more"
        return f"This query costs nothing of the budget of {price['whose']}: {why}. It is recorded for {who}.{left}"
    return f"This query costs {price['cost']['words']} of the budget of {price['whose']}, charged to {who}.{left}"


def _linked(price: Mapping[str, Any], column: str) -> dict[str, str]:
    """The price, and the error of the chosen column or the widest one, as the form's two fields say them.

    Empty where one is not known beforehand.
    """
    errors = [each for each in price["errors"] if each["column"] == column] if column else []
    widths = [each["plus_minus"] for each in errors or price["errors"]]
    epsilon = price["cost"]["epsilon"] or price["cost"].get("budget")
    return {
        "epsilon": f"{epsilon:.6g}" if epsilon else "",
        "within": "" if not widths or None in widths else _width_text(max(widths)),
    }


def _width_text(width: float) -> str:
    return f"{width:.4g}" if width < 1000 else f"{width:.0f}"


def _counts(project: Project, table: str, after: int | None) -> dict[str, int] | None:
    """About how many counts within 50 there is room for, now and after a query."""
    declared_table = project.table(table)
    if declared_table.public or declared_table.budget is None or after is None:
        return None
    now = counts_left(declared_table, project.ledger)
    return {"now": now, "after": min(after, now)}


def _plan(data: Mapping[str, Any]) -> dict[str, Any]:
    """How a batch is measured, and each statement's error beside what it would be for the same price by itself."""
    names = ("title", "measured", "noise")
    statements = [{name: each[name] for name in names} for each in data["statements"]]
    return {"together": data["together"], "strategy": data["strategy"], "statements": statements}


def _single(query_request: QueryRequest, project: Project, asking: QueryService) -> dict[str, Any]:
    data = without_infinities(
        _price_new_draw(query_request, project) if query_request.fresh else asking.explain(query_request).data
    )
    table = project.sql(query_request.text).query.table
    return {
        "cost": _with_words(data["cost"]),
        "free": _why_free(data),
        "repeat": None if data["stored"] is None else data["stored"]["release"],
        "spent_after": _with_words(data["spent_after"]),
        "remaining_after": _with_words(data["remaining_after"]),
        "counts": _counts(project, table, data.get("counts_after")),
        "whose": project.peek_version(table).population,
        "errors": _errors(data),
        "known": _earlier_answers_words(data["told"]),
        "steps": data["steps"],
        "because": data["because"],
        "region": data["region"],
        "parts": data["parts"] or [{"statistic": "the choice", "share": 1.0, **data["sensitivity"]}],
        "cells": data["cells"],
        "gaussian": any("Gaussian" in (each["mechanism"] or "") for each in data["noise"]),
        "engine_sql": data["engine_sql"],
        "statements": 1,
        "plan": None,
    }


def _price_new_draw(query_request: QueryRequest, project: Project) -> dict[str, Any]:
    """What a new draw costs, whatever is stored or follows from other answers."""
    statement = project.sql(query_request.text).query
    wish = wish_of(query_request.epsilon, query_request.within, query_request.confidence, query_request.delta)
    version, ledger = project.peek_version(statement.table), project.ledger
    quoted = quote(statement, wish, version=version, guarantee=project.guarantee(statement.table), ledger=ledger)
    if not quoted.decision.accepted:
        raise exceeded(quoted, wish, ledger)
    return explain(quoted, None, confidence=wish.confidence, ledger=ledger)


def _batch(query_request: QueryRequest, project: Project, asking: QueryService) -> dict[str, Any]:
    """Of several statements: together they cost one epsilon, or, each within a width, at most what each would alone."""
    batch = parse_batch(query_request.text, project.versions.catalog())
    explanations = []
    if query_request.within is not None:
        for text in split_statements(query_request.text):
            alone = QueryRequest(
                text=text, within=query_request.within, confidence=query_request.confidence, delta=query_request.delta
            )
            explanations.append(without_infinities(asking.explain(alone).data))
        most = sum(each["cost"]["budget"] for each in explanations)
        cost = {"epsilon": most, "words": f"at most epsilon {most:.6g} in total"}
    else:
        return _planned(query_request, project, batch)
    return {
        "cost": cost,
        "free": "",
        "repeat": None,
        "spent_after": None,
        "remaining_after": None,
        "counts": None,
        "whose": _whose(project, batch),
        "errors": [_error(each, explanations[0]["confidence"]) for data in explanations for each in data["noise"]],
        "known": "",
        "steps": [],
        "because": "numbers that several statements share are measured once; "
        "statements about different people cost only the largest of their prices",
        "region": "",
        "parts": [],
        "cells": None,
        "gaussian": False,
        "engine_sql": "",
        "statements": len(batch),
        "plan": None,
    }


def _whose(project: Project, batch: Sequence[ParsedQuery]) -> str:
    return ", ".join(dict.fromkeys(project.peek_version(each.table).population for each in batch))


def _planned(query_request: QueryRequest, project: Project, batch: Sequence[ParsedQuery]) -> dict[str, Any]:
    """Of several statements for one epsilon: how they are measured, and the error of each."""
    data = without_infinities(
        project.explain_batch(
            query_request.text,
            epsilon=query_request.epsilon,
            confidence=query_request.confidence,
            delta=query_request.delta,
        ).data
    )
    charged = "it was charged earlier" if data["already_charged"] else ""
    noise = [
        (f"{number}. {each['title']}: {column['column']}", column)
        for number, each in enumerate(data["statements"], start=1)
        for column in each["noise"]
    ]
    return {
        "cost": _with_words(data["cost"]),
        "free": charged,
        "repeat": None,
        "spent_after": _with_words(data["spent"]),
        "remaining_after": _with_words(data["remaining"]),
        "counts": None,
        "whose": _whose(project, batch),
        "errors": [_error({**column, "column": name}, data["confidence"]) for name, column in noise],
        "known": "",
        "steps": [data["strategy"]],
        "because": data["because"],
        "region": "",
        "parts": [],
        "cells": None,
        "gaussian": data["together"] and data["cost"]["epsilon"] is None,
        "engine_sql": "",
        "statements": len(batch),
        "plan": _plan(data),
    }


def _with_words(cost: Mapping[str, Any]) -> dict[str, Any]:
    """A cost with its sentence; delta is always said, unless nothing is charged at all."""
    if _moves_nothing(cost):
        return {**cost, "words": "nothing: other people have been queried more"}
    epsilon = f"epsilon {cost.get('budget', cost['epsilon']):.6g}"
    return {**cost, "words": f"{epsilon}, delta {cost['delta']:.6g}"}


def _moves_nothing(cost: Mapping[str, Any]) -> bool:
    """Whether a new draw leaves what is spent as it is: those whom it asks about have lost less than others."""
    return cost.get("budget") == 0 and cost["epsilon"] != 0 and not cost["delta"]


def _why_free(data: Mapping[str, Any]) -> str:
    """Why it costs nothing, where it does."""
    if data["stored"] is not None:
        return f"release {data['stored']['release']} already answers it, and a repeat is free"
    if data["told"] is not None and data["told"]["enough"]:
        return f"it follows from {', '.join(data['told']['releases'][:5])}, which were paid for"
    if data["already_charged"]:
        return "it was charged earlier, but the program ended before the answer was stored"
    return ""


def _earlier_answers_words(derivation: Mapping[str, Any] | None) -> str:
    if derivation is None or derivation["enough"]:
        return ""
    return f"Earlier answers already give it within {derivation['plus_minus']:,.4g}; only the rest is charged"


def _errors(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How wrong the columns may be; of a stored answer how wrong it is."""
    stored = data["stored"]
    if stored is None or stored["plus_minus"] is None:
        return [_error(each, data["confidence"]) for each in data["noise"]]
    often = f"with {100 * data['confidence']:g}% confidence"
    words = f"the stored numbers: plus or minus {_at_most(stored['plus_minus'])} or less, {often}"
    return [{"column": "", "plus_minus": stored["plus_minus"], "words": words}]


def _error(noise: Mapping[str, Any], confidence: float) -> dict[str, Any]:
    """How wrong a column may be by its noise."""
    often = f"with {100 * confidence:g}% confidence"
    if noise["plus_minus"] is not None:
        words = f"{noise['column']}: plus or minus {_at_most(noise['plus_minus'])} or less, {often}"
    elif noise.get("ranks") is not None:
        words = f"{noise['column']}: at most {noise['ranks']:,.4g} rows from its rank, {often}"
    else:
        words = f"{noise['column']}: its error depends on the data, and is shown with the answer"
    return {"column": noise["column"], "plus_minus": noise["plus_minus"], "words": words}


def _at_most(width: float) -> str:
    """A width in three digits, rounded up: the error is no larger than it.

    >>> _at_most(648.1077), _at_most(6), _at_most(0.6105471), _at_most(1234.5), _at_most(0.0)
    ('649', '6', '0.611', '1,240', '0')
    """
    places = 2 - math.floor(math.log10(width)) if width > 0 else 0
    unit = 10.0**-places
    rounded = math.ceil(width / unit - 1e-9) * unit
    return f"{rounded:,.{max(places, 0)}f}".rstrip("0").rstrip(".") if places > 0 else f"{rounded:,.0f}"


def editor_error(problem: Exception, text: str, project: Project) -> dict[str, Any]:
    """An error beside the editor: its place in the whole text, and what can be taken from its hint."""
    error_data = page_problem(error_report_of(problem))
    start = None
    if isinstance(problem, Refused):
        start = query_offers.refusal_offset(problem, text)
        error_data["line"] = text.count("\n", 0, start) + 1
        error_data["column"] = start - text.rfind("\n", 0, start)
    return {
        **error_data,
        "hint": page_hint(error_report_of(problem).hint, labels=query_offers.LABELS),
        "start": start,
        "status": error_report_of(problem).status,
        "offers": query_offers.offers(problem, text, start, project),
    }
