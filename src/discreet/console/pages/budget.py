"""Budgets: what is left, who spent what and when, requests for more, and the owner's grants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.console import facts, odds
from discreet.console.answer import Answer, Grid, Missing, Page, Redirect
from discreet.console.burning import NOBODY, Burned, burning_of, thinned
from discreet.console.people.requests import Request
from discreet.console.refusing import problem_of, refusal
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.errors import DiscreetError, UsageError
from discreet.schema.schema import Table
from discreet.standing import lag

#: Windows beside the lifetime, in days.
WINDOWS = (7, 30, 365)

#: Decided requests that are still shown.
DECIDED = 20


def show(visit: Visit) -> Answer:
    """Every population: its chart, who spent what, and what was asked for."""
    return _page(visit)


def _page(visit: Visit, *, problem: Exception | None = None, at: str = "", told: dict[str, str] | None = None) -> Page:
    """The page. `at`: the form that the problem is told beside, for there are several on it."""
    populations = _populations(visit)
    requests = visit.people.requests.all()
    mine = [each for each in requests if visit.visitor.may("owner") or each.person == visit.visitor.name]
    waiting = [each for each in mine if each.state == "open"]
    if at.startswith("request-") and at not in [f"request-{each.number}" for each in waiting]:
        at = ""  # its form is not there any more
    data = {
        "populations": populations,
        "open": [_asked(visit, each) for each in waiting],
        "decided": [each.data() for each in mine if each.state != "open"][:DECIDED],
        "tables": [{"name": table.name, "population": table.population} for table in _private(visit)],
        "windows": list(WINDOWS),
        "plain": exact.as_float(odds.PLAIN, up=False),
        "told": dict.fromkeys(("table", "epsilon", "why", "grant_table", "grant_epsilon"), "") | (told or {}),
        "trouble": None if problem is None else {**refusal(problem_of(problem)), "at": at},
    }
    rows = [
        [each["population"], who["who"], window, who["windows"][window]["questions"], who["windows"][window]["epsilon"]]
        for each in populations
        for who in each["who"]
        for window in who["windows"]
    ]
    grid = Grid(columns=("population", "who", "window", "questions", "epsilon"), rows=rows)
    status = 200 if problem is None else problem_of(problem).status
    return Page(template="budget.html", data=data, table=grid, status=status)


def _private(visit: Visit) -> list[Table]:
    return [table for table in visit.desk.project.file.tables.values() if not table.public and table.budget is not None]


def _populations(visit: Visit) -> list[dict[str, Any]]:
    project, acts = visit.desk.project, burning_of(visit)
    now = datetime.fromtimestamp(visit.people.clock(), UTC)
    found: dict[str, dict[str, Any]] = {}
    for table in _private(visit):
        if table.population in found:
            found[table.population]["tables"].append(table.name)
            continue
        own = acts.get(table.population, [])
        budget = facts.budget(project, table)
        assert budget is not None
        found[table.population] = {
            **budget,
            "tables": [table.name],
            "meaning": _meaning(visit, table),
            "chart": {
                "chart": "burn_down",
                "title": f"What was left of {table.population}'s budget",
                "steps": [each.step() for each in thinned(own)],
            },
            "who": _who(own, now),
            "lag": lag(table, project.ledger) if visit.visitor.may("owner") else None,
        }
    return list(found.values())


def _who(acts: list[Burned], now: datetime) -> list[dict[str, Any]]:
    """Who paid what, in each window and in all. Prices add up; what people lose is bounded by `spent`, not by these."""
    names = sorted(
        {act.who for act in acts if act.kind == "charge"}, key=lambda name: (name == NOBODY, name.casefold())
    )
    return [
        {
            "who": name,
            "windows": {
                _window(days): _paid([act for act in acts if act.who == name and _within(act, now, days)])
                for days in (*WINDOWS, None)
            },
        }
        for name in names
    ]


def _window(days: int | None) -> str:
    return "lifetime" if days is None else f"{days} days"


def _within(act: Burned, now: datetime, days: int | None) -> bool:
    return days is None or datetime.fromisoformat(act.when) >= now - timedelta(days=days)


def _paid(acts: list[Burned]) -> dict[str, Any]:
    total = sum((act.price for act in acts), Fraction(0))
    return {"questions": len(acts), "epsilon": exact.as_float(total, up=True)}


def _asked(visit: Visit, request: Request) -> dict[str, Any]:
    """An open request, and what approving it would mean."""
    data = request.data()
    try:
        table = visit.desk.project.table(request.table)
        old = visit.desk.project.guarantee(table.name).epsilon
    except DiscreetError:
        return {**data, "population": None, "limit": None, "new_limit": None, "meaning": None}
    new = old + request.epsilon
    return {
        **data,
        "population": table.population,
        "limit": exact.show(old),
        "new_limit": exact.show(new, digits=12),
        "meaning": _meaning(visit, table, new),
    }


def _meaning(visit: Visit, table: Table, epsilon: Fraction | None = None) -> dict[str, Any]:
    """What a limit means for each of a table's people: the one that holds, or another."""
    project = visit.desk.project
    account = project.ledger.state.accounts.get(table.population)
    held = project.guarantee(table.name)
    changes = account is not None and account.invariant
    return odds.meaning(held.epsilon if epsilon is None else epsilon, held.delta, changes=changes)


def ask(visit: Visit) -> Answer:
    """An analyst asks for more."""
    told = {name: visit.field(name).strip() for name in ("table", "epsilon", "why")}
    try:
        table = visit.desk.project.table(told["table"])
        if table.public or table.budget is None:
            raise UsageError(f"{table.name!r} has no budget")
        person = visit.people.roster.get(visit.visitor.name or "")
        visit.people.requests.ask(person, table=table.name, epsilon=told["epsilon"], why=told["why"])
    except DiscreetError as problem:
        return _page(visit, problem=problem, at="ask", told=told)
    return Redirect(to="/budget#requests")


def approve(visit: Visit) -> Answer:
    """The owner raises the limit to the number that they were shown, or another, and says so to whoever asked."""
    by = visit.people.roster.get(visit.visitor.name or "")
    try:
        wanted = _limit(visit)
        visit.people.requests.approve(
            _number(visit), by=by, word=visit.field("word"), act=lambda request: _grant(visit, request.table, wanted)
        )
    except DiscreetError as problem:
        return _page(visit, problem=problem, at=f"request-{_number(visit)}")
    return Redirect(to="/budget#requests")


def decline(visit: Visit) -> Answer:
    """The owner says no, with a word."""
    by = visit.people.roster.get(visit.visitor.name or "")
    try:
        visit.people.requests.decline(_number(visit), by=by, word=visit.field("word"))
    except DiscreetError as problem:
        return _page(visit, problem=problem, at=f"request-{_number(visit)}")
    return Redirect(to="/budget#requests")


def grant(visit: Visit) -> Answer:
    """The owner raises a limit without having been asked."""
    told = {"grant_table": visit.field("table"), "grant_epsilon": visit.field("epsilon")}
    try:
        _grant(visit, visit.desk.project.table(visit.field("table")).name, _limit(visit))
    except DiscreetError as problem:
        return _page(visit, problem=problem, at="grant", told=told)
    return Redirect(to="/budget")


def _limit(visit: Visit) -> Fraction:
    """The new limit; one that is large only from somebody who has read what it means."""
    wanted = exact.positive(visit.field("epsilon"), name="the new limit", most=exact.MAX_BUDGET_EPSILON)
    if wanted > odds.PLAIN and visit.field("understood") != "yes":
        raise UsageError(
            f"a limit of epsilon {exact.show(wanted)} is large. {odds.meaning(wanted)['words']}",
            hint="tick the box that says you have read this, or grant less",
        )
    return wanted


def _grant(visit: Visit, table: str, wanted: Fraction) -> None:
    """Raise the limit to a number. Where it is that number already, an approval that broke off is done again."""
    project = visit.desk.project
    if project.guarantee(table).epsilon != wanted:
        project.grant(table, epsilon=wanted)


def _number(visit: Visit) -> int:
    text = visit.params["number"]
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise Missing
    return int(text)


ROUTES = (
    Route(method="GET", path="/budget", handler=show, role="analyst"),
    Route(method="POST", path="/budget/requests", handler=ask, role="analyst"),
    Route(method="POST", path="/budget/requests/{number}/approve", handler=approve, role="owner"),
    Route(method="POST", path="/budget/requests/{number}/decline", handler=decline, role="owner"),
    Route(method="POST", path="/budget/grant", handler=grant, role="owner"),
)
