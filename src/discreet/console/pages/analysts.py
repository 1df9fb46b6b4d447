"""Quotas: what each analyst may spend in all, as discreet.toml sets it. For owners."""

from __future__ import annotations

from typing import Any

from discreet import exact
from discreet.console import forms
from discreet.console.file_change import FileChange, owner_acts_of
from discreet.console.pages.owner_tables import change_page
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.errors import DiscreetError, UsageError
from discreet.project.project import Project
from discreet.schema.project_file import NAME
from discreet.schema.toml_edit import text_with

PATH = "/admin/analysts"
LONGEST_NAME = 60


def show(context: RequestContext) -> HandlerResponse:
    """Every analyst with a quota, and who is charged under its name."""
    return _page(context)


def _page(
    context: RequestContext, *, problem: DiscreetError | None = None, form_texts: dict[str, str] | None = None
) -> Page:
    project = context.handle.project
    trouble, status = (None, 200) if problem is None else forms.form_error(problem)
    people = [person for person in context.people.roster.all() if not person.disabled]
    quotas = [
        {
            "analyst": name,
            "epsilon": exact.show(quota, digits=12),
            "people": [
                person.name for person in people if (person.analyst or person.name).casefold() == name.casefold()
            ],
        }
        for name, quota in project.file.analysts.items()
    ]
    named = {name.casefold() for name in project.file.analysts}
    without = sorted(
        {person.analyst or person.name for person in people if (person.analyst or person.name).casefold() not in named}
    )
    data: dict[str, Any] = {
        "quotas": quotas,
        "without": without,
        "said": {"analyst": "", "epsilon": ""} | (form_texts or {}),
        "trouble": trouble,
    }
    rows = [[each["analyst"], each["epsilon"], ", ".join(each["people"])] for each in quotas]
    grid = PageTable(columns=("analyst", "epsilon", "people"), rows=rows)
    return Page(template="admin_analysts.html", data=data, table=grid, status=status)


def change(context: RequestContext) -> HandlerResponse:
    """Set a quota, or take one away: first what would change, then the act."""
    form_texts = {"analyst": context.field("analyst").strip(), "epsilon": context.field("epsilon").strip()}
    with owner_acts_of(context.handle).turn(context.handle) as project:
        try:
            file_change, sentences = _quota_change(project, form_texts["analyst"], form_texts["epsilon"])
            if context.field("shown") != file_change.digest:
                return change_page(
                    PATH,
                    title=f"The quota of {form_texts['analyst']}",
                    sentences=sentences,
                    change=file_change,
                    act=PATH,
                    fields=form_texts,
                    button="Write it",
                )
            file_change.write(project.folder)
        except DiscreetError as problem:
            return _page(context, problem=problem, form_texts=form_texts)
    return Redirect(to=PATH)


def _quota_change(project: Project, analyst: str, epsilon: str) -> tuple[FileChange, list[str]]:
    """The lines that set a quota; without an epsilon, those that take it away."""
    if not analyst or len(analyst) > LONGEST_NAME or not analyst.isprintable():
        raise UsageError(f"an analyst's name must be printable text of at most {LONGEST_NAME} characters")
    quotas = project.file.analysts
    name = next((each for each in quotas if each.casefold() == analyst.casefold()), analyst)
    if not epsilon:
        if name not in quotas:
            raise UsageError(f"{name!r} has no quota", hint="give an epsilon to set one")
        sentences = [f"This takes away the quota of {name}."]
        if len(quotas) == 1:
            sentences.append("No other quota is set: everybody may then spend whatever the budget holds.")
            changes: dict[tuple[str, ...], Any] = {("analysts",): None}
        else:
            sentences.append("Others have quotas, so who is charged under this name cannot ask any more.")
            changes = {("analysts", name): None}
        return FileChange.of(project.folder, text_with(project.folder / NAME, changes)), sentences
    number = forms.number_text(epsilon, "epsilon")
    quota = exact.positive(number, name="epsilon", most=exact.MAX_BUDGET_EPSILON)
    sentences = [f"{name} may spend epsilon {exact.show(quota)} in all, of whatever the budget holds."]
    if not quotas:
        sentences.append("It is the first quota: from now on only analysts who have one can ask. That includes you.")
    text = text_with(project.folder / NAME, {("analysts", name, "epsilon"): quota})
    return FileChange.of(project.folder, text), sentences


ROUTES = (
    Route(method="GET", path=PATH, handler=show, role="owner"),
    Route(method="POST", path=PATH, handler=change, role="owner"),
)
