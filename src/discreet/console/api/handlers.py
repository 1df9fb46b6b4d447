"""The HTTP API: the same acts as the pages', for programs. And the page that lists them."""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, Literal, TypedDict, Unpack

from discreet import exact
from discreet.console import public_facts
from discreet.console.api import models, network_handlers
from discreet.console.api.openapi import openapi_document
from discreet.console.api.operations import CSV, PARQUET, RELEASE, ApiOperation, QueryParameter
from discreet.console.api.release_files import csv_file, parquet_file
from discreet.console.jobs.query_service import QueryOutcome
from discreet.console.jobs.release_json import release_data, without_infinities
from discreet.console.people.roster import ROLES, Person
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, JsonData, NotFound, Page, PageTable, RequestDenied
from discreet.console.routes import Route
from discreet.project.project import Project
from discreet.release import Release

#: Releases in one list, and how many where nothing is said.
MOST, USUAL = 1000, 100
_BASE = "/api/v1"


def explain(context: RequestContext) -> HandlerResponse:
    """Price a question."""
    return JsonData(
        data=without_infinities(context.queries.explain(context.body.to_query_request(), context.visitor).data)
    )


def query(context: RequestContext) -> HandlerResponse:
    """Answer a question, once for its key."""
    return _outcome_json(
        context.queries.ask(context.body.to_query_request(), context.visitor, key=context.key, began=context.began)
    )


def again(context: RequestContext) -> HandlerResponse:
    """Measure a release once more."""
    query_request = context.body.to_query_request(_charged_release(context, context.handle.project))
    return _outcome_json(context.queries.ask(query_request, context.visitor, key=context.key, began=context.began))


def _outcome_json(outcome: QueryOutcome) -> HandlerResponse:
    return JsonData(data=outcome.releases[0], headers={"idempotency-replayed": str(outcome.replayed).lower()})


def releases(context: RequestContext) -> HandlerResponse:
    """What was charged, the newest first."""
    project = context.handle.project
    most, before = _count(context.query_text("limit", str(USUAL))), context.query_text("before")
    table, analyst = context.query_text("table"), context.query_text("analyst")
    charges = public_facts.charges(project)
    if before:
        charges = itertools.islice(itertools.dropwhile(lambda each: each.id != before, charges), 1, None)
    matching_charges = (
        each for each in charges if (not table or each.table == table) and (not analyst or each.analyst == analyst)
    )
    listed = list(itertools.islice(matching_charges, most + 1))
    following = listed[most - 1].id if len(listed) > most else None
    return JsonData(
        data={"releases": [public_facts.charge_json(project, each) for each in listed[:most]], "next": following}
    )


def release(context: RequestContext) -> HandlerResponse:
    """An answer, as it is stored."""
    return JsonData(data=release_data(_stored_release(context)))


def release_csv(context: RequestContext) -> HandlerResponse:
    """An answer as CSV."""
    return csv_file(_stored_release(context))


def release_parquet(context: RequestContext) -> HandlerResponse:
    """An answer as Parquet."""
    return parquet_file(_stored_release(context))


def _stored_release(context: RequestContext) -> Release:
    project = context.handle.project
    confidence = context.query_text("confidence") or None
    statement = context.query_text("statement", "1")
    if not (statement.isascii() and statement.isdigit() and len(statement) < 5):
        raise RequestDenied("statement must be the number of a statement in the batch, from 1.", status=400)
    return project.release(_charged_release(context, project), confidence=confidence, statement=int(statement))


def _charged_release(context: RequestContext, project: Project) -> str:
    """The release in the path, where there is one."""
    id_ = context.params["release"]
    if id_ not in project.ledger.refresh().charges:
        raise NotFound
    return id_


def budget(context: RequestContext) -> HandlerResponse:
    """Where the budgets stand."""
    project = context.handle.project
    budgets = {
        table.name: public_facts.budget_json(project, table)
        for table in project.file.tables.values()
        if not table.public
    }
    return JsonData(
        data=without_infinities(
            {"tables": {name: table_budget for name, table_budget in budgets.items() if table_budget is not None}}
        )
    )


def tables(context: RequestContext) -> HandlerResponse:
    """The declared tables and their columns."""
    project = context.handle.project
    declared_tables = [_table(project, name) for name in project.file.tables]
    return JsonData(data={"tables": declared_tables})


def _table(project: Project, name: str) -> dict[str, Any]:
    table = project.file.tables[name]
    line = public_facts.table_line(project, table)
    keys = ("name", "public", "population", "version", "unit")
    return {**{key: line[key] for key in keys}, "columns": public_facts.columns_json(project, table)}


def tokens(context: RequestContext) -> HandlerResponse:
    """One's own tokens."""
    people = context.people
    own_tokens = people.tokens.all(_person(context))
    return JsonData(data={"tokens": [token.data(people.clock()) for token in own_tokens]})


def new_token(context: RequestContext) -> HandlerResponse:
    """A token, of no more than the role of the one that asks."""
    body, people = context.body, context.people
    own: Literal["analyst", "owner"] = "owner" if context.visitor.may("owner") else "analyst"
    role = body.role or own
    if ROLES.index(role) > ROLES.index(own):
        raise RequestDenied("A token cannot create a token with a higher role than its own.", status=403)
    parent = None if context.visitor.token is None else people.tokens.get(context.visitor.token)
    text, made = people.tokens.make(_person(context), label=body.label, days=body.days, role=role, parent=parent)
    return JsonData(data={**made.data(people.clock()), "token": text}, status=201)


def revoke(context: RequestContext) -> HandlerResponse:
    """End one of one's own tokens."""
    people, number = context.people, context.params["number"]
    own = {str(token.number): token for token in people.tokens.all(_person(context))}
    if number not in own:
        raise NotFound
    if not context.visitor.may(own[number].role):  # else whoever stole a small one could shut out its person's programs
        raise RequestDenied("A token cannot revoke a token with a higher role than its own.", status=403)
    return JsonData(data=people.tokens.revoke(own[number].number).data(people.clock()))


def _person(context: RequestContext) -> Person:
    return context.people.roster.get(context.visitor.name or "")


def jobs(context: RequestContext) -> HandlerResponse:
    """Questions on their way."""
    return JsonData(data={"jobs": context.queries.jobs(context.visitor)})


def cancel(context: RequestContext) -> HandlerResponse:
    """Stop a question at its next tick."""
    return JsonData(data=context.queries.cancel(context.params["job"], context.visitor))


def requests(context: RequestContext) -> HandlerResponse:
    """Wishes for more budget."""
    mine = [
        each for each in context.people.requests.all() if context.visitor.may("owner") or _is_own(context, each.person)
    ]
    return JsonData(data={"requests": [each.data() for each in mine]})


def _is_own(context: RequestContext, person: str) -> bool:
    return person.casefold() == (context.visitor.name or "").casefold()


def new_request(context: RequestContext) -> HandlerResponse:
    """Ask an owner for more budget."""
    body = context.body
    table = context.handle.project.private(body.table)
    epsilon = exact.number(models.text_of(body.epsilon), name="epsilon")
    made = context.people.requests.ask(_person(context), table=table.name, epsilon=epsilon, why=body.why)
    return JsonData(data=made.data(), status=201)


def openapi_json(context: RequestContext) -> HandlerResponse:
    """The OpenAPI document."""
    return JsonData(data=_document())


def page(context: RequestContext) -> HandlerResponse:
    """The list of routes, for people."""
    listed = [
        {
            "method": entry.route.method,
            "path": entry.route.path,
            "role": entry.route.role,
            "lines": entry.route.lines,
            "keyed": entry.keyed,
        }
        for entry in API_OPERATIONS
    ]
    names = ("method", "path", "role", "lines", "keyed")
    grid = PageTable(columns=names, rows=[[each[name] for name in names] for each in listed])
    return Page(template="api.html", data={"routes": listed, "origin": context.settings.origin}, table=grid)


def _count(limit_text: str) -> int:
    if not (limit_text.isascii() and limit_text.isdigit() and len(limit_text) <= 4 and 1 <= int(limit_text) <= MOST):
        raise RequestDenied(f"limit must be a number from 1 to {MOST}.", status=400)
    return int(limit_text)


_CONFIDENCE = QueryParameter(
    name="confidence",
    lines="The confidence of the intervals, as decimal text. Default: the confidence of the query.",
    schema={"type": "string", "maxLength": 60},
)
_STATEMENT = QueryParameter(
    name="statement", lines="Statement of a batch, from 1.", schema={"type": "integer", "minimum": 1, "maximum": 9999}
)
_LIST = (
    QueryParameter(name="limit", lines="At most this many.", schema={"type": "integer", "minimum": 1, "maximum": MOST}),
    QueryParameter(name="before", lines="Continue after this release.", schema={"type": "string"}),
    QueryParameter(name="table", lines="Only releases of this table.", schema={"type": "string"}),
    QueryParameter(name="analyst", lines="Only releases of this analyst.", schema={"type": "string"}),
)


class _OperationFacts(TypedDict, total=False):
    """What is said of an operation beside its route: see `ApiOperation`."""

    status: int
    refusals: tuple[int, ...]
    query: tuple[QueryParameter, ...]
    params: dict[str, dict[str, Any]]
    keyed: bool
    media_type: str


def _operation(
    method: Literal["GET", "POST", "DELETE"],
    path: str,
    handler: Any,
    returns: Any,
    lines: str,
    *,
    body: Any = None,
    gridded: bool = False,
    role: Literal["public", "analyst"] = "analyst",
    **more: Unpack[_OperationFacts],
) -> ApiOperation:
    route = Route(
        method=method,
        path=_BASE + path,
        handler=handler,
        role=role,
        api=True,
        body=body,
        returns=returns,
        lines=lines,
        gridded=gridded,
    )
    return ApiOperation(route=route, **more)


_READ: dict[str, Any] = {"params": RELEASE, "query": (_CONFIDENCE, _STATEMENT), "refusals": (409,)}
_PAID: dict[str, Any] = {"gridded": True, "keyed": True, "refusals": (402, 409)}
_NUMBER = {"number": {"type": "integer", "minimum": 1}}

API_OPERATIONS = (
    _operation(
        "POST", "/explain", explain, models.ExplanationModel,
        "Explain what a query would cost, and why. Free; no data is read.",
        body=models.ExplainBody, refusals=(402, 409),
    ),
    _operation(
        "POST", "/query", query, models.ReleaseModel,
        "Answer a query. It is charged before anything is counted; a repeat is free.",
        body=models.QueryBody, **_PAID,
    ),
    _operation(
        "POST", "/graph/plan", network_handlers.plan, models.NetworkPlanModel,
        "Price statistics of a network. Free; no edge is read.",
        body=models.NetworkBody, refusals=(402, 409),
    ),
    _operation(
        "POST", "/graph", network_handlers.measure, models.NetworkStatisticsModel,
        "Measure statistics of a network. It is charged before anything is counted; a repeat is free.",
        body=models.NetworkBody, gridded=True, refusals=(402, 409),
    ),
    _operation("GET", "/releases", releases, models.ReleasesModel, "List the releases, newest first.", query=_LIST,
           refusals=(409,)),
    _operation("GET", "/releases/{release}.csv", release_csv, None, "Get an answer as CSV.", media_type=CSV, **_READ),
    _operation("GET", "/releases/{release}.parquet", release_parquet, None, "Get an answer as Parquet.",
           media_type=PARQUET, **_READ),
    _operation("GET", "/releases/{release}", release, models.ReleaseModel, "Get a stored answer.", **_READ),
    _operation(
        "POST", "/releases/{release}/again", again, models.ReleaseModel,
        "Make an earlier answer more precise. Charged.",
        body=models.AgainBody, params=RELEASE, **_PAID,
    ),
    _operation("GET", "/budget", budget, models.BudgetsModel,
           "Get the limit, spent and remaining budget of every private table.", refusals=(409,)),
    _operation("GET", "/tables", tables, models.TablesModel, "List the tables and their columns.", refusals=(409,)),
    _operation("GET", "/tokens", tokens, models.TokensModel, "List your tokens."),
    _operation("POST", "/tokens", new_token, models.NewTokenModel, "Create a token. It is shown once.",
           body=models.TokenBody, status=201),
    _operation("DELETE", "/tokens/{number}", revoke, models.TokenModel, "Revoke one of your tokens.", params=_NUMBER),
    _operation("GET", "/jobs", jobs, models.JobsModel, "List your running queries, and the last that ended."),
    _operation("DELETE", "/jobs/{job}", cancel, models.StoppingModel,
           "Stop a query at the next tick of the time grid. What was charged stays charged.",
           params={"job": {"type": "string", "maxLength": 100}}),
    _operation("GET", "/requests", requests, models.RequestsModel, "List your requests for more budget."),
    _operation("POST", "/requests", new_request, models.RequestModel, "Ask an owner for more budget.",
           body=models.RequestBody, status=201),
    _operation("GET", "/openapi.json", openapi_json, None, "Get this document.", role="public"),
)  # fmt: skip


@cache
def _document() -> dict[str, Any]:
    return openapi_document(API_OPERATIONS)


ROUTES = (
    *(entry.route for entry in API_OPERATIONS),
    Route(method="GET", path="/api", handler=page, role="public"),
)
