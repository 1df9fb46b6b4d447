"""For owners: a description of a table. Its plan, free; its price, once; and what it found written to discreet.toml."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import quote

from discreet.console import forms
from discreet.console.file_change import FileChange, owner_acts_of
from discreet.console.jobs import table_description
from discreet.console.jobs.job_queue import Progress, job_queue_of
from discreet.console.pages import release_list
from discreet.console.pages.owner_tables import AREA, change_page, table_path
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, Redirect
from discreet.console.routes import Route
from discreet.errors import DiscreetError, UsageError
from discreet.project.project import Project
from discreet.schema.project_file import NAME

Wish = dict[str, Any]


def plan(context: RequestContext) -> HandlerResponse:
    """A form; with an epsilon, the plan and its price. Free."""
    wish = table_description.wish_of(context.query)
    project = context.handle.project
    _private_name(project, wish)
    if not wish["epsilon"]:
        return _form(context, wish)
    try:
        with job_queue_of(context).pricing_turn(context.visitor):
            return _form(context, wish, quoted=table_description.quote_description(project, wish))
    except DiscreetError as problem:
        return _form(context, wish, problem=problem)


def _form(
    context: RequestContext, wish: Wish, *, quoted: dict[str, Any] | None = None, problem: DiscreetError | None = None
) -> Page:
    project = context.handle.project
    name = _private_name(project, wish)
    trouble, status = (None, 200) if problem is None else forms.form_error(problem)
    made = [each for each in release_list.list_releases(project, ("description",)) if each["table"] == name]
    data = {
        "table": next(each for each in forms.private_tables(project) if each["name"] == name),
        "wish": wish,
        "quote": quoted,
        "made": made,
        "newest": max(project.ledger.state.versions.get(name, {}), default=0),
        "trouble": trouble,
    }
    return Page(template="admin_describe.html", data=data, status=status)


def _private_name(project: Project, wish: Wish) -> str:
    try:
        return project.private(wish["table"]).name
    except UsageError:
        raise NotFound from None


def pay(context: RequestContext) -> HandlerResponse:
    """Pay for a description. The same again is free."""
    wish = table_description.wish_of(context.form)
    project, analyst, queue = context.handle.project, context.visitor.analyst, job_queue_of(context)
    name = _private_name(project, wish)

    def act(tell: Progress) -> str:
        tell("measuring", 0.1)
        return table_description.measure_description(project, wish, analyst=analyst)

    key = hashlib.sha256(json.dumps(["describe", wish], sort_keys=True).encode()).hexdigest()
    try:
        with queue.pricing_turn(context.visitor):
            table_description.quote_description(project, wish)  # what cannot be is told beside the form
        job = queue.start(context.visitor, act, area=AREA, words=f"a description of {name}", key=key)
        return Redirect(to=queue.next_path(job))
    except DiscreetError as problem:
        return _form(context, wish, problem=problem)


def declare(context: RequestContext) -> HandlerResponse:
    """Write what a description found to discreet.toml: first what would change, then the act."""
    with owner_acts_of(context.handle).turn(context.handle) as project:
        release = release_list.recall_release(project, context.field("release"))
        text = table_description.declared_text(project, release) if release.kind == "description" else None
        back = f"/tables/{quote(release.id, safe='')}"
        if text is None:
            return Redirect(to=back)
        name = release.charge.table
        change = FileChange.of(project.folder, text)
        if context.field("shown") != change.digest:
            return change_page(
                back,
                title=f"Declare what was found of {name}",
                sentences=[
                    f"This writes the bounds and words that the description found to {NAME}. They have noise, and are "
                    "marked with the epsilon that they were measured for.",
                    "They apply to the next version: refresh the table afterwards.",
                ],
                change=change,
                act="/admin/tables/describe/declare",
                fields={"release": release.id},
                button="Write it",
            )
        change.write(project.folder)
    return Redirect(to=table_path(name))


ROUTES = (
    Route(method="GET", path="/admin/tables/describe", handler=plan, role="owner"),
    Route(method="POST", path="/admin/tables/describe", handler=pay, role="owner", gridded=True),
    Route(method="POST", path="/admin/tables/describe/declare", handler=declare, role="owner"),
)
