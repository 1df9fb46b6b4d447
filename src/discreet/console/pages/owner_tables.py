"""For owners: each table's source, versions and last report; refresh, budget, forgetting a person, removing a table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from discreet.accounting.guarantee import large_limit_sentence
from discreet.console import forms, public_facts, uploads
from discreet.console.console_text import page_sentence
from discreet.console.file_change import FileChange, owner_acts_of
from discreet.console.jobs.job_queue import Progress, StopTerms, job_queue_of
from discreet.console.jobs.owner_reports import (
    OwnerReport,
    failed_report,
    forget_report,
    owner_reports_of,
    refresh_report,
)
from discreet.console.pages import job_progress, odds
from discreet.console.project_handle import ProjectHandle
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.engines.stop_signal import MakingStopped
from discreet.errors import DiscreetError, UsageError
from discreet.project.budget import budget_of, raised_limit
from discreet.project.project import Project
from discreet.project.version_notes import remove_output, retire_output
from discreet.schema.address import DEFAULT
from discreet.schema.project_file import NAME
from discreet.schema.schema import Table
from discreet.schema.toml_edit import text_with, text_without_table

AREA = "admin/tables"

#: What a person who may stop the making of a version is told beforehand.
_REFRESH_NOTE = "Nothing is charged, and the version in use stays in use until the new one is complete."


def listing(context: RequestContext) -> HandlerResponse:
    """Every table, where its rows come from, and uploaded files that no table is made from."""
    return _listing(context)


def _listing(
    context: RequestContext, *, done: OwnerReport | None = None, problem: DiscreetError | None = None
) -> HandlerResponse:
    project = context.handle.project
    tables = [_line(project, table) for table in project.file.tables.values()]
    trouble, status = (None, 200) if problem is None else forms.form_error(problem)
    data = {
        "tables": tables,
        "unused": uploads.unused_uploads(project.folder, project.versions.changes.is_source_file),
        "works": job_queue_of(context).open_jobs(context.visitor, AREA),
        "problem_of_file": context.handle.problem,
        "done": None if done is None else done.to_data(),
        "trouble": trouble,
    }
    names = ("name", "source", "public", "population", "version")
    rows = [[each[name] for name in names] for each in tables]
    return Page(template="admin_tables.html", data=data, table=PageTable(columns=names, rows=rows), status=status)


def _line(project: Project, table: Table) -> dict[str, Any]:
    return {
        **public_facts.table_line(project, table),
        "source": table.source,
        "engine": "" if table.engine == DEFAULT else table.engine,
    }


def show(context: RequestContext) -> HandlerResponse:
    """One table: all that an owner may do about it."""
    return _table_page(context, _table(context.handle.project, context.params["table"]))


def _table_page(context: RequestContext, table: Table, *, problem: DiscreetError | None = None, at: str = "") -> Page:
    project = context.handle.project
    report = owner_reports_of(context.handle).find(table.name)
    trouble, status = (None, 200) if problem is None else forms.form_error(problem)
    unit = table.schema.unit
    versions = [] if table.public else _versions(project, table)
    data = {
        **_line(project, table),
        "warnings": [] if table.public else [_plain_sentence(each) for each in project.warnings(table.name)],
        "changed": _changed(project, table),
        "versions": versions,
        "report": None if report is None else report.to_data(),
        "person": list(unit.person),
        "fixed": project.ledger.state.is_fixed(table.population),
        "kept_because": _kept_because(project, table),
        "is_retirable": _is_retirable(project, table),
        "works": job_queue_of(context).open_jobs(context.visitor, AREA),
        "trouble": None if trouble is None else {**trouble, "at": at},
    }
    names = ("version", "made", "columns", "charges")
    rows = [[each[name] for name in names] for each in versions]
    return Page(template="admin_table.html", data=data, table=PageTable(columns=names, rows=rows), status=status)


def _plain_sentence(text: str) -> str:
    """A sentence of the library as a page says it, without marks of code."""
    return page_sentence(text).replace("`", "")


#: Beside what retiring a table deletes.
_RELEASES_STAY = "Its releases stay readable, and what was spent stays spent if the table is declared again."


def _is_retirable(project: Project, table: Table) -> bool:
    """Whether something was released about a table, so that it can be taken out of use but not removed."""
    try:
        return bool(project.versions.retirable_table(table.name))
    except DiscreetError:
        return False


def _kept_because(project: Project, table: Table) -> str:
    """Why a table cannot be removed, and what to do instead; nothing where it can be."""
    try:
        project.versions.removable_table(table.name)
    except DiscreetError as problem:
        return " ".join(_plain_sentence(each) for each in (problem.reason, problem.hint) if each)
    return ""


def _versions(project: Project, table: Table) -> list[dict[str, Any]]:
    """The versions that the ledger has, the newest first, and how much was charged about each."""
    state = project.ledger.refresh()
    charges = [each.version for each in state.charges.values() if each.table == table.name]
    return [
        {
            "version": number,
            "made": public_facts.to_minute(record.time),
            "population": record.population,
            "columns": len(record.schema.get("columns", {})),
            "charges": charges.count(number),
        }
        for number, record in sorted(state.versions.get(table.name, {}).items(), reverse=True)
    ]


def _changed(project: Project, table: Table) -> bool | None:
    """Whether the source is not what the newest version was made from; None where that is not known."""
    with suppress(DiscreetError, OSError):
        changed = project.changed_sources([table.name])
        return None if changed is None else bool(changed)
    return None


def refresh(context: RequestContext) -> HandlerResponse:
    """Make a new version from the source, in the background."""
    table = _table(context.handle.project, context.field("table"))
    force = context.field("force") == "yes"
    return start_refresh(context, table.name, force=force)


def start_refresh(context: RequestContext, name: str, *, force: bool = False) -> Redirect:
    """The job that makes a version, and where to go next."""

    def stopped() -> DiscreetError:
        return context.handle.project.versions.stopped(name)

    return _start(
        context,
        name,
        lambda project: refresh_report(project, name, force=force),
        words=f"a new version of {name}",
        key=f"refresh {name} {force}",
        failed="No version was made",
        stop_terms=StopTerms(note=_REFRESH_NOTE, halted=stopped, withdrawn=stopped),
    )


def _start(
    context: RequestContext,
    name: str,
    act: Callable[[Project], OwnerReport],
    *,
    words: str,
    key: str,
    failed: str,
    stop_terms: StopTerms | None = None,
) -> Redirect:
    """A job, and where to go next."""
    handle, queue = context.handle, job_queue_of(context)

    def run(tell: Progress) -> str:
        tell("reading", 0.0)
        try:
            report = act(handle.project.reread())
        except MakingStopped as problem:
            owner_reports_of(handle).keep(failed_report(name, problem, title="Stopped"))
            raise
        except DiscreetError as problem:  # told on the table's page, beside what can be done about it
            report = failed_report(name, problem, title=failed)
        owner_reports_of(handle).keep(report)
        return f"{table_path(name)}#report"

    job = queue.start(context.visitor, run, area=AREA, words=words, key=key, stop_terms=stop_terms)
    return Redirect(to=queue.next_path(job))


def table_path(name: str) -> str:
    """The address of a table's page for owners."""
    return f"/admin/table/{quote(name, safe='')}"


def remove(context: RequestContext) -> HandlerResponse:
    """Take a table away: first what would change, then the act."""
    return _take_away(context, is_retired=False)


def retire(context: RequestContext) -> HandlerResponse:
    """Take a table out of use, and keep its releases: first what would change, then the act."""
    return _take_away(context, is_retired=True)


def _take_away(context: RequestContext, *, is_retired: bool) -> HandlerResponse:
    word = "retire" if is_retired else "remove"
    with owner_acts_of(context.handle).turn(context.handle) as project:
        table = _table(project, context.field("table"))
        try:
            versions = project.versions
            name = versions.retirable_table(table.name) if is_retired else versions.removable_table(table.name)
            change = FileChange.of(project.folder, text_without_table(project.folder / NAME, name))
            if context.field("shown") != change.digest:
                made = len(project.ledger.state.versions.get(name, {}))
                stored = f" and deletes {made} stored version{'s' * (made != 1)}" if made else ""
                return change_page(
                    table_path(name),
                    title=f"{word.capitalize()} {name}",
                    sentences=[
                        f"This takes the declaration of {name} out of {NAME}{stored}. The source stays where it is.",
                        _RELEASES_STAY if is_retired else "It cannot be undone.",
                    ],
                    change=change,
                    act=f"/admin/tables/{word}",
                    fields={"table": name},
                    button=f"{word.capitalize()} it",
                )
            _, text = retire_output(project.retire(name)) if is_retired else remove_output(project.remove(name))
        except DiscreetError as problem:
            return _table_page(context, table, problem=problem, at="remove")
    owner_reports_of(context.handle).forget(name)
    return _listing(
        context, done=OwnerReport(table=name, title=f"{word}d".capitalize(), lines=tuple(text.splitlines()))
    )


def forget(context: RequestContext) -> HandlerResponse:
    """Erase a person: first what that means, then the act."""
    project = context.handle.project
    table = _table(project, context.field("table"))
    person = tuple(text.strip() for text in context.fields("person"))
    try:
        if not all(person):
            raise UsageError("give the value that identifies the person", hint="spell it as in the source")
        project.versions.erasure.refuse_forgetting(table.name, person)
    except DiscreetError as problem:
        return _table_page(context, table, problem=problem, at="forget")
    if context.field("sure") != "yes":
        return change_page(
            table_path(table.name),
            title="Erase a person",
            sentences=[
                f"This erases {' and '.join(person)} from every stored version of {table.name}, and of tables that "
                "refer to it. Later versions leave this person out.",
                "Earlier answers and their cost stay. The source is not changed: delete the person there yourself.",
                "It cannot be undone.",
            ],
            act="/admin/tables/forget",
            fields={"table": table.name, "person": list(person), "sure": "yes"},
            button="Erase this person for good",
        )
    key = hashlib.sha256("\n".join((table.name, *person)).encode()).hexdigest()
    return _start(
        context,
        table.name,
        lambda fresh: forget_report(fresh, table.name, person),
        words=f"erasing a person from {table.name}",
        key=f"forget {key}",
        failed="Nobody was erased",
    )


def budget(context: RequestContext) -> HandlerResponse:
    """Set or raise the limit of a table's people: first what would change, then the act."""
    with owner_acts_of(context.handle).turn(context.handle) as project:
        table = _table(project, context.field("table"))
        epsilon = forms.number_text(context.field("epsilon"), "epsilon")
        delta = forms.number_text(context.field("delta"), "delta")
        try:
            change, sentences = _budget_change(project, table, epsilon, delta)
            if context.field("shown") != change.digest:
                return change_page(
                    table_path(table.name),
                    title=f"The budget of {table.population}",
                    sentences=sentences,
                    change=change,
                    act="/admin/tables/budget",
                    fields={"table": table.name, "epsilon": epsilon or "", "delta": delta or ""},
                    button="Set this budget",
                )
            fixed = project.ledger.state.is_fixed(table.population)
            if fixed:
                project.grant(table.name, epsilon=epsilon, delta=delta)
            change.write(project.folder)
        except DiscreetError as problem:
            return _table_page(context, table, problem=problem, at="budget")
    if fixed or table.name not in project.ledger.state.versions:
        return Redirect(to=table_path(table.name))
    return start_refresh(context, table.name)  # which applies it, while nothing was released


def _budget_change(
    project: Project, table: Table, epsilon: str | None, delta: str | None
) -> tuple[FileChange, list[str]]:
    """The line of the file that says a limit, and what the limit means."""
    if table.public:
        raise UsageError(f"{table.name!r} is public and has no budget")
    if epsilon is None:
        raise UsageError("give an epsilon", hint="a smaller epsilon is more private: 3 is a common choice")
    state = project.ledger.refresh()
    old = table.budget
    if state.is_fixed(table.population):
        limit = raised_limit(project.ledger_table(table.name), project.ledger, epsilon=epsilon, delta=delta)
        new_epsilon, new_delta = limit.epsilon, limit.delta
        sentences = [
            f"This raises the limit of {table.population}, for every analyst. A limit cannot be lowered again."
        ]
    else:
        wish = budget_of(epsilon, delta if delta is not None or old is None else old.delta)
        assert wish is not None
        new_epsilon, new_delta = wish.epsilon, wish.delta
        sentences = [
            f"This is the limit of {table.population}, for every analyst. After the first answer it only rises."
        ]
    raw = project.file.raw[table.name]
    place = ("populations", table.population) if "population" in raw else ("tables", table.name)
    value = {"epsilon": new_epsilon, "delta": new_delta}
    if old is not None and old.delta_keys is not None:
        value["delta_keys"] = old.delta_keys
    text = text_with(project.folder / NAME, {(*place, "budget"): value})
    sentences.append(odds.epsilon_meaning(new_epsilon, new_delta)["words"])
    if large_limit := large_limit_sentence(new_epsilon):
        sentences.append(f"{large_limit[:1].upper()}{large_limit[1:]}.")
    return FileChange.of(project.folder, text), sentences


def discard(context: RequestContext) -> HandlerResponse:
    """Delete an uploaded file that no table is made from."""
    project = context.handle.project
    try:
        uploads.delete_upload(project.folder, context.field("source"), project.versions.changes.is_source_file)
    except DiscreetError as problem:
        return _listing(context, problem=problem)
    return Redirect(to="/admin/tables")


def change_page(
    back: str,
    *,
    title: str,
    sentences: list[str],
    act: str,
    fields: dict[str, Any],
    button: str,
    change: FileChange | None = None,
) -> Page:
    """What would change, and the button that does it."""
    data = {
        "title": title,
        "sentences": sentences,
        "change": None if change is None else change.to_data(),
        "act": act,
        "fields": fields,
        "button": button,
        "back": back,
    }
    return Page(template="admin_change.html", data=data)


def _table(project: Project, name: str) -> Table:
    try:
        return project.table(name)
    except UsageError:
        raise NotFound from None


def _is_table(handle: ProjectHandle, name: str) -> bool:
    return any(each.lower() == name.lower() for each in handle.project.file.tables)


ROUTES = (
    Route(method="GET", path="/admin/tables", handler=listing, role="owner"),
    Route(method="POST", path="/admin/tables/refresh", handler=refresh, role="owner", gridded=True),
    Route(method="POST", path="/admin/tables/remove", handler=remove, role="owner"),
    Route(method="POST", path="/admin/tables/retire", handler=retire, role="owner"),
    Route(method="POST", path="/admin/tables/forget", handler=forget, role="owner", gridded=True),
    Route(method="POST", path="/admin/tables/budget", handler=budget, role="owner", gridded=True),
    Route(method="POST", path="/admin/tables/discard", handler=discard, role="owner"),
    *job_progress.routes(AREA, role="owner"),
    Route(method="GET", path="/admin/table/{table:path}", handler=show, role="owner", is_declared_name=_is_table),
)
