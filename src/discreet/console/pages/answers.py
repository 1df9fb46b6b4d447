"""Answers: the list of releases, and one of them with all that may be known of it."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import quote

from discreet import exact
from discreet.api import Project
from discreet.console import answered, cited, facts, wording
from discreet.console.answer import Answer, Denied, Grid, Missing, Page, Redirect
from discreet.console.api.files import parquet_file
from discreet.console.asking.released import finite
from discreet.console.asking.wanted import Wanted
from discreet.console.refusing import problem_of, refusal
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.errors import DiscreetError, UsageError
from discreet.ledger.records import Charge
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.recall import Recalled
from discreet.release import Release

#: Releases on one page of the list.
EACH = 25

#: Where a charge names nobody.
NOBODY = "–"

#: Where releases of other kinds have a page of their own.
ELSEWHERE = {
    "model": "/synth/{}", "comparison": "/synth", "ranges": "/tables/{}", "marginals": "/tables/{}",
    "publish": "/tables/{}", "stream": "/tables",
}  # fmt: skip


def index(visit: Visit) -> Answer:
    """All releases, the newest first; of one table or analyst where that is asked."""
    project = visit.desk.project
    table, analyst = visit.asked("table").strip(), visit.asked("analyst").strip()
    charges = list(facts.charges(project))
    found = [each for each in charges if _wanted(each, table, analyst)]
    pages = max(1, -(-len(found) // EACH))
    page = min(_number(visit.asked("page", "1"), "page"), pages)
    shown = [_line(project, each) for each in found[(page - 1) * EACH : page * EACH]]
    data = {
        "releases": shown,
        "count": len(found),
        "page": page,
        "pages": pages,
        "table": table,
        "analyst": analyst,
        "tables": sorted({each.table for each in charges}),
        "analysts": sorted({each.analyst or NOBODY for each in charges}),
    }
    columns = ("release", "kind", "table", "version", "analyst", "time", "price", "asked")
    return Page(
        template="answers.html",
        data=data,
        table=Grid(columns=columns, rows=[[each[name] for name in columns] for each in shown]),
    )


def _wanted(charge: Charge, table: str, analyst: str) -> bool:
    """Whether a charge is of a table and an analyst; the dash stands for nobody named, as it does in the list."""
    return (not table or charge.table == table) and (not analyst or (charge.analyst or NOBODY) == analyst)


def _line(project: Project, charge: Charge) -> dict[str, Any]:
    told = project.recalled(charge.id)
    return {**facts.charge(project, charge), "kind": told.kind, "asked": facts.asked(told, most=200)}


def show(visit: Visit) -> Answer:
    """One release: rows and chart, what was asked, what each clause did, what it cost, how to cite it."""
    return _page(visit)


def _page(visit: Visit, *, problem: Exception | None = None, epsilon: str = "") -> Page:
    project, told = visit.desk.project, _told(visit)
    if _statement(visit) > max(1, len(told.texts)):
        raise Missing
    data, release = _known(visit, project, told), None
    if told.readable:
        try:
            release = _release(visit, told)
        except UsageError as trouble:
            data["unreadable"] = trouble.reason
    if release is not None:
        found = finite(release.to_data())
        data |= {
            **{name: found[name] for name in ("columns", "rows", "intervals", "confidence")},
            "warnings": [wording.plain(each) for each in found["warnings"]],
            "sheet": answered.sheet(found),
            "numbers": answered.numbers(found),
            "number": _number(visit.asked("number", "1"), "number"),
            "chart": answered.chart(found, number=_number(visit.asked("number", "1"), "number")),
            "tree": _tree(project, told, _statement(visit)),
        }
    if problem is not None:
        data["problem_again"] = refusal(problem_of(problem))
    data["epsilon"] = epsilon
    table = None if release is None else answered.grid(data)
    status = 200 if problem is None else problem_of(problem).status
    return Page(template="answer.html", data=data, table=table, status=status)


def _known(visit: Visit, project: Project, told: Recalled) -> dict[str, Any]:
    """What the ledger says of a release of any kind."""
    charge = told.charge
    table = project.file.tables.get(charge.table)
    elsewhere = ELSEWHERE.get(told.kind)
    published = visit.people.published.find(told.id) is not None
    return {
        "release": told.id,
        "kind": told.kind,
        "words": told.words,
        "table": charge.table,
        "version": charge.version,
        "newest": max(project.ledger.state.versions.get(charge.table, {}), default=0),
        "analyst": charge.analyst,
        "time": facts.minute(charge.time),
        "price": exact.as_float(charge.price, up=True),
        "cost": _spending(told),
        "texts": list(told.texts),
        "statement": _statement(visit),
        "also": list(told.also),
        "about": dict(told.about),
        "noise": _noise(project, told),
        "elsewhere": None if elsewhere is None else elsewhere.format(quote(told.id, safe="")),
        "budget": None if table is None else facts.budget(project, table),
        "cite": cited.citation(told, origin=visit.settings.origin),
        "published": published,
        "key": secrets.token_urlsafe(18),
        "stored": visit.asked("stored") == "1",
        "columns": [], "rows": [], "intervals": [], "confidence": None, "warnings": [],
        "sheet": None, "numbers": [], "number": 1, "chart": None, "tree": None, "unreadable": "", "problem_again": None,
    }  # fmt: skip


def _spending(told: Recalled) -> dict[str, Any]:
    """A cost in numbers and words; a Gaussian has no pure epsilon, and says its rho."""
    found = facts.spending(told.cost, up=True)
    if told.cost.epsilon is None and told.cost.rho is not None:
        delta = exact.show(told.cost.delta, up=True)
        found["words"] = f"rho {exact.show(told.cost.rho, up=True)} (no pure epsilon), delta {delta}"
    return found


def _noise(project: Project, told: Recalled) -> list[str]:
    """The laws of the noise that was drawn, as they are stored."""
    if not told.readable:
        return []
    found = []
    for law in project.curator.stored(told.id).laws:
        if isinstance(law, DiscreteLaplace):
            found.append(f"discrete Laplace noise of scale {exact.show(law.scale, up=True)}")
        else:
            sigma = exact.show(exact.sqrt(law.sigma2, up=True), up=True)
            found.append(f"discrete Gaussian noise of standard deviation {sigma}")
    return list(dict.fromkeys(found))


def _tree(project: Project, told: Recalled, statement: int) -> dict[str, Any] | None:
    """What each clause did to the sensitivity; None where the question is of an older version."""
    charge = told.charge
    if charge.version != max(project.ledger.state.versions.get(charge.table, {}), default=0):
        return None
    try:
        found = project.sql(told.texts[statement - 1]).explain(epsilon=charge.price)
    except DiscreetError:
        return None
    parts = found["parts"] or [{"statistic": "the choice", "share": 1.0, **found["sensitivity"]}]
    return {"parts": finite(parts), "region": found["region"], "engine_sql": found["engine_sql"]}


def _told(visit: Visit) -> Recalled:
    try:
        return visit.desk.project.recalled(visit.params["release"])
    except UsageError:
        raise Missing from None


def _release(visit: Visit, told: Recalled) -> Release:
    confidence = visit.asked("confidence").strip() or None
    return visit.desk.project.release(told.id, confidence=confidence, statement=_statement(visit))


def _statement(visit: Visit) -> int:
    return _number(visit.asked("statement", "1"), "statement")


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < len(text) < 7) or int(text) < 1:
        raise Denied(f"{name}: a whole number from 1.", status=400)
    return int(text)


def parquet(visit: Visit) -> Answer:
    """The rows of an answer as Parquet."""
    told = _told(visit)
    if not told.readable:
        raise Missing
    return parquet_file(_release(visit, told))


def again(visit: Visit) -> Answer:
    """Measure it once more, and read both together. Charged, once for its form."""
    told, epsilon = _told(visit), visit.field("epsilon").strip()
    try:
        wanted = Wanted(kind="again", text=told.id, epsilon=epsilon or None)
        key = f"{visit.field('key')}-{wanted.digest().hex()[:16]}"
        outcome = visit.asking.ask(wanted, visit.visitor, key=key, began=visit.began)
    except (DiscreetError, Denied) as problem:
        return _page(visit, problem=problem, epsilon=epsilon)
    return Redirect(to=f"/a/{quote(outcome.releases[0]['release'], safe='')}")


ROUTES = (
    Route(method="GET", path="/a", handler=index, role="analyst"),
    Route(method="GET", path="/a/{release}.parquet", handler=parquet, role="analyst", twins=False),
    Route(method="POST", path="/a/{release}/again", handler=again, role="analyst", gridded=True),
    Route(method="GET", path="/a/{release}", handler=show, role="analyst"),
)
