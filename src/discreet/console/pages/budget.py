"""Budgets: what is left, who spent what and when, requests for more, and the owner's grants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.console import public_facts
from discreet.console.error_responses import error_report_of, page_problem
from discreet.console.pages import odds
from discreet.console.pages.budget_forecast import forecast_json
from discreet.console.pages.budget_history import NOBODY, BudgetChange, budget_history_of, chart_steps, thin_changes
from discreet.console.people.budget_requests import BudgetRequest
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.errors import DiscreetError, UsageError
from discreet.project.budget import outdated_budget_line
from discreet.schema.schema import Table

#: Windows beside the lifetime, in days.
WINDOWS = (7, 30, 365)

#: Decided requests that are still shown.
DECIDED = 20


def show(context: RequestContext) -> HandlerResponse:
    """Every population: its chart, who spent what, and what was asked for."""
    return _page(context)


def _page(
    context: RequestContext, *, problem: Exception | None = None, at: str = "", form_texts: dict[str, str] | None = None
) -> Page:
    """The page. `at`: the form that the problem is told beside, for there are several on it."""
    populations = _populations(context)
    requests = context.people.requests.all()
    mine = [each for each in requests if context.visitor.may("owner") or each.person == context.visitor.name]
    waiting = [each for each in mine if each.state == "open"]
    if at.startswith("request-") and at not in [f"request-{each.number}" for each in waiting]:
        at = ""  # its form is not there any more
    data = {
        "populations": populations,
        "open": [_open_request(context, each) for each in waiting],
        "decided": [each.data() for each in mine if each.state != "open"][:DECIDED],
        "tables": [{"name": table.name, "population": table.population} for table in _private(context)],
        "windows": list(WINDOWS),
        "plain": exact.as_float(odds.LARGEST_PLAIN_EPSILON, up=False),
        "told": dict.fromkeys(("table", "epsilon", "why", "grant_table", "grant_epsilon"), "") | (form_texts or {}),
        "trouble": None if problem is None else {**page_problem(error_report_of(problem)), "at": at},
    }
    rows = [
        [each["population"], who["who"], window, who["windows"][window]["questions"], who["windows"][window]["epsilon"]]
        for each in populations
        for who in each["who"]
        for window in who["windows"]
    ]
    grid = PageTable(columns=("population", "who", "window", "questions", "epsilon"), rows=rows)
    status = 200 if problem is None else error_report_of(problem).status
    return Page(template="budget.html", data=data, table=grid, status=status)


def _private(context: RequestContext) -> list[Table]:
    return [
        table for table in context.handle.project.file.tables.values() if not table.public and table.budget is not None
    ]


def _populations(context: RequestContext) -> list[dict[str, Any]]:
    project, acts = context.handle.project, budget_history_of(context)
    now = datetime.fromtimestamp(context.people.clock(), UTC)
    populations: dict[str, dict[str, Any]] = {}
    for table in _private(context):
        if table.population in populations:
            populations[table.population]["tables"].append(table.name)
            continue
        own = acts.get(table.population, [])
        budget = public_facts.budget_json(project, table)
        assert budget is not None
        forecast = forecast_json(own, own[-1].remaining if own else project.guarantee(table.name).epsilon, now)
        populations[table.population] = {
            **budget,
            "tables": [table.name],
            "meaning": _meaning(context, table),
            "chart": {
                "chart": "burn_down",
                "title": f"Remaining budget of {table.population}",
                "steps": chart_steps(thin_changes(own)),
                "forecast": forecast["line"],
            },
            "forecast": forecast,
            "who": _spending_by_analyst(own, now),
            "all": _windows_json(own, now),
            "lag": outdated_budget_line(table, project.ledger) if context.visitor.may("owner") else None,
        }
    return list(populations.values())


def _spending_by_analyst(acts: list[BudgetChange], now: datetime) -> list[dict[str, Any]]:
    """Who paid what, in each window and in all. What each query cost the budget adds up."""
    payers = {act.payer: act.kind == "charge" for act in acts if act.kind == "charge" or act.cost}
    names = sorted(payers, key=lambda name: (not payers[name], name == NOBODY, name.casefold()))
    own: dict[str, list[BudgetChange]] = {name: [] for name in names}
    for act in acts:
        if act.payer in own:
            own[act.payer].append(act)
    return [{"who": name, "windows": _windows_json(own[name], now)} for name in names]


def _windows_json(acts: list[BudgetChange], now: datetime) -> dict[str, Any]:
    """Sums of each window. An act is added once, to the shortest window that it is in; longer ones go on from there.

    Texts of moments sort as the moments do: all are ISO texts in UTC.
    """
    rest, data, spent, questions = acts, {}, Fraction(0), 0
    for days in (*WINDOWS, None):
        since = "" if days is None else (now - timedelta(days=days)).isoformat()
        within = [act for act in rest if act.when >= since]
        rest = [act for act in rest if act.when < since]
        spent += exact.total(act.cost for act in within)
        questions += sum(act.kind == "charge" for act in within)
        data[_window(days)] = {"questions": questions, "epsilon": exact.as_float(spent, up=True)}
    return data


def _window(days: int | None) -> str:
    return "lifetime" if days is None else f"{days} days"


def _open_request(context: RequestContext, request: BudgetRequest) -> dict[str, Any]:
    """An open request, and what approving it would mean."""
    data = request.data()
    try:
        table = context.handle.project.table(request.table)
        old = context.handle.project.guarantee(table.name).epsilon
    except DiscreetError:
        return {**data, "population": None, "limit": None, "new_limit": None, "meaning": None}
    new = old + request.epsilon
    return {
        **data,
        "population": table.population,
        "limit": exact.show(old),
        "new_limit": exact.show(new, digits=12),
        "meaning": _meaning(context, table, new),
    }


def _meaning(context: RequestContext, table: Table, epsilon: Fraction | None = None) -> dict[str, Any]:
    """What a limit means for each of a table's people: the one that holds, or another."""
    project = context.handle.project
    account = project.ledger.state.accounts.get(table.population)
    guarantee = project.guarantee(table.name)
    changes = account is not None and account.invariant
    return odds.epsilon_meaning(guarantee.epsilon if epsilon is None else epsilon, guarantee.delta, changes=changes)


def ask(context: RequestContext) -> HandlerResponse:
    """An analyst asks for more."""
    form_texts = {name: context.field(name).strip() for name in ("table", "epsilon", "why")}
    try:
        table = context.handle.project.table(form_texts["table"])
        if table.public or table.budget is None:
            raise UsageError(f"{table.name!r} has no budget")
        person = context.people.roster.get(context.visitor.name or "")
        context.people.requests.ask(person, table=table.name, epsilon=form_texts["epsilon"], why=form_texts["why"])
    except DiscreetError as problem:
        return _page(context, problem=problem, at="ask", form_texts=form_texts)
    return Redirect(to="/budget#requests")


def approve(context: RequestContext) -> HandlerResponse:
    """The owner raises the limit to the number that they were shown, or another, and says so to whoever asked."""
    by = context.people.roster.get(context.visitor.name or "")
    try:
        new_limit = _limit(context)
        context.people.requests.approve(
            _number(context),
            by=by,
            word=context.field("word"),
            act=lambda request: _grant(context, request.table, new_limit),
        )
    except DiscreetError as problem:
        return _page(context, problem=problem, at=f"request-{_number(context)}")
    return Redirect(to="/budget#requests")


def decline(context: RequestContext) -> HandlerResponse:
    """The owner says no, with a word."""
    by = context.people.roster.get(context.visitor.name or "")
    try:
        context.people.requests.decline(_number(context), by=by, word=context.field("word"))
    except DiscreetError as problem:
        return _page(context, problem=problem, at=f"request-{_number(context)}")
    return Redirect(to="/budget#requests")


def grant(context: RequestContext) -> HandlerResponse:
    """The owner raises a limit without having been asked."""
    form_texts = {"grant_table": context.field("table"), "grant_epsilon": context.field("epsilon")}
    try:
        _grant(context, context.handle.project.table(context.field("table")).name, _limit(context))
    except DiscreetError as problem:
        return _page(context, problem=problem, at="grant", form_texts=form_texts)
    return Redirect(to="/budget")


def _limit(context: RequestContext) -> Fraction:
    """The new limit; one that is large only from somebody who has read what it means."""
    new_limit = exact.positive(context.field("epsilon"), name="the new limit", most=exact.MAX_BUDGET_EPSILON)
    if new_limit > odds.LARGEST_PLAIN_EPSILON and context.field("understood") != "yes":
        raise UsageError(
            f"a limit of epsilon {exact.show(new_limit)} is large. {odds.epsilon_meaning(new_limit)['words']}",
            hint="tick the box that says you have read this, or grant less",
        )
    return new_limit


def _grant(context: RequestContext, table: str, new_limit: Fraction) -> None:
    """Raise the limit to a number. Where it is that number already, an approval that broke off is done again."""
    project = context.handle.project
    if project.guarantee(table).epsilon != new_limit:
        project.grant(table, epsilon=new_limit)


def _number(context: RequestContext) -> int:
    text = context.params["number"]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise NotFound
    return int(text)


ROUTES = (
    Route(method="GET", path="/budget", handler=show, role="analyst"),
    Route(method="POST", path="/budget/requests", handler=ask, role="analyst"),
    Route(method="POST", path="/budget/requests/{number}/approve", handler=approve, role="owner"),
    Route(method="POST", path="/budget/requests/{number}/decline", handler=decline, role="owner"),
    Route(method="POST", path="/budget/grant", handler=grant, role="owner"),
)
