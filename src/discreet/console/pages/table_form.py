"""Adding a table: a file that is uploaded or lies here, or a table of an engine; then the questions, the declaration as
it would be written, and its first version with a report. For owners."""

from __future__ import annotations

import itertools
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discreet.console import forms, public_facts, uploads
from discreet.console.console_text import console_texts
from discreet.console.file_change import FileChange, owner_acts_of
from discreet.console.jobs.job_queue import job_queue_of
from discreet.console.pages import odds
from discreet.console.pages.owner_tables import listing, start_refresh, table_path
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, JsonData, NotFound, Page, Redirect
from discreet.console.routes import Route
from discreet.console.table_answers import (
    BOUNDS,
    MOST_COLUMNS,
    MOST_FIELDS,
    TYPES,
    answered_draft,
    corrections,
    declared_draft,
    form_json,
    layout_of,
)
from discreet.engines.file_source import files_of, stamp_of
from discreet.errors import DiscreetError, UsageError
from discreet.project.project import Project
from discreet.project.table_draft import TableDraft
from discreet.project.unit_notes import unit_notes
from discreet.schema.address import DEFAULT, check_address
from discreet.schema.project_file import NAME
from discreet.schema.source_layout import ENCODINGS, LAYOUT_KEYS, UNDECLARED, SourceLayout
from discreet.schema.toml_edit import text_with

#: Drafts that are kept for the next look.
MOST_DRAFTS = 8
#: Declared columns that the preview says one by one.
MOST_SAID = 100


def start(context: RequestContext) -> HandlerResponse:
    """Where a table comes from; with a source, the questions about it."""
    if not context.query_text("source").strip():
        problem = None
        if context.query_text("file"):
            problem = UsageError(
                "the file was not sent: uploading needs JavaScript, which this browser does not run",
                hint="copy the file into the project folder, and give its path below",
            )
        return _start_page(context, problem=problem)
    source, engine = context.query_text("source"), context.query_text("engine").strip()
    try:
        with job_queue_of(context).pricing_turn(context.visitor):
            draft = _draft(context, context.handle.project, source, engine)
    except DiscreetError as problem:
        return _start_page(context, problem=problem, source=source, engine=engine)
    return _form_page(context, draft, source=source, engine=engine)


def _start_page(
    context: RequestContext, *, problem: DiscreetError | None = None, source: str = "", engine: str = ""
) -> Page:
    project = context.handle.project
    trouble, status = (None, 200) if problem is None else forms.form_error(problem)
    data = {
        "source": source,
        "engine": engine,
        "largest": context.settings.largest_upload,
        "unused": uploads.unused_uploads(project.folder, project.versions.changes.is_source_file),
        "trouble": trouble,
    }
    return Page(template="admin_tables_new.html", data=data, status=status)


def upload(context: RequestContext) -> HandlerResponse:
    """A file, which came while it was stored. Says where to go on, for the script that sent it."""
    assert context.upload is not None
    try:
        source = uploads.keep_upload(context.upload, context.query_text("name"))
    except DiscreetError as problem:
        trouble, status = forms.form_error(problem)
        return JsonData(data=trouble, status=status)
    return JsonData(data={"source": source, "to": f"/admin/tables/new?source={quote(source, safe='')}"})


def declare(context: RequestContext) -> HandlerResponse:
    """The answers: first the declaration as it would be written, then the act."""
    source, engine = context.field("source"), context.field("engine").strip()
    project = context.handle.project
    with job_queue_of(context).pricing_turn(context.visitor):
        try:
            base = _draft(context, project, source, engine)
        except DiscreetError as problem:
            return _start_page(context, problem=problem, source=source, engine=engine)
    if context.field("act") == "fill":  # a code book, or another layout: the form anew, as it is proposed now
        return _form_page(context, base, source=source, engine=engine)
    try:
        with owner_acts_of(context.handle).turn(context.handle) as fresh:
            draft = answered_draft(base, context)
            change = FileChange.of(fresh.folder, fresh.draft_text(draft))
            if context.field("act") != "write" or context.field("shown") != change.digest:
                changed = context.field("act") == "write"
                return _form_page(
                    context, draft, source=source, engine=engine, change=change, project=fresh, changed=changed
                )
            table = fresh.add_draft(draft)
    except DiscreetError as problem:
        return _form_page(context, base, source=source, engine=engine, problem=problem)
    if table.public:
        return Redirect(to=table_path(table.name))
    return start_refresh(context, table.name)


def edit(context: RequestContext) -> HandlerResponse:
    """The declaration of a table, to be corrected."""
    if not context.query_text("table"):
        return listing(context)
    return _edit_page(context, _declared(context.handle.project, context.query_text("table")))


def correct(context: RequestContext) -> HandlerResponse:
    """The corrections: first the lines that change, then the act, and a new version with a report."""
    with owner_acts_of(context.handle).turn(context.handle) as project:
        base = _declared(project, context.field("table"))
        try:
            draft = answered_draft(base, context, declared=True)
            layout = layout_of(context) or UNDECLARED
            draft = draft.replace(settings=dict.fromkeys(LAYOUT_KEYS) | layout.settings())
            change = FileChange.of(project.folder, text_with(project.folder / NAME, corrections(base, draft)))
            if context.field("act") != "write" or context.field("shown") != change.digest:
                changed = context.field("act") == "write"
                return _edit_page(context, draft, preview=_preview(draft, change, project, changed=changed))
            change.write(project.folder)
        except DiscreetError as problem:
            return _edit_page(context, base, problem=problem)
    if draft.settings.get("public"):
        return Redirect(to=table_path(draft.name))
    return start_refresh(context, draft.name)


def _declared(project: Project, name: str) -> TableDraft:
    """A declared table as a draft; with the columns of its source, where that can be read."""
    try:
        table = project.table(name)
    except UsageError:
        raise NotFound from None
    names: tuple[str, ...] = ()
    with suppress(DiscreetError, OSError):
        engine = project.curator.engine.at(table.engine)
        names = engine.header(table.source, folder=project.folder, layout=table.layout).names
    return declared_draft(table, project.file.raw[table.name], names)


def _edit_page(
    context: RequestContext,
    draft: TableDraft,
    *,
    preview: dict[str, Any] | None = None,
    problem: DiscreetError | None = None,
) -> Page:
    trouble, status = (None, 200) if problem is None else forms.form_error(problem)
    sent = context if context.form else None
    data = {
        **_choices(draft),
        "table": draft.name,
        "source": draft.settings["source"],
        "engine": draft.settings.get("engine", ""),
        "form": form_json(draft, context=sent, declared=True),
        "preview": preview,
        "trouble": trouble,
    }
    return Page(template="admin_table_form.html", data=data, status=status)


def _choices(draft: TableDraft) -> dict[str, Any]:
    """What a form about columns offers."""
    candidates = {each.column for each in draft.person_candidates}
    return {
        "candidates": [{"column": each.column, "why": each.why} for each in draft.person_candidates],
        "others": [name for name in draft.source_columns if name not in candidates],
        "read_from_data": list(draft.read_from_data),
        "types": list(TYPES),
        "encodings": list(ENCODINGS),
        "codebook": "",
        "populations": [],
        "table": "",
    }


def _draft(context: RequestContext, project: Project, source: str, engine: str) -> TableDraft:
    """What would be declared if the owner said nothing more."""
    codebook = context.field("codebook").strip()
    where: dict[str, Any] = {"project": project.folder, "folders": context.settings.source_folders}
    if engine in ("", DEFAULT):
        engine, place = "", str(project.folder / uploads.allowed_source(source, **where))
    else:
        place = uploads.allowed_engine_source(source, engine, **where)
    _refuse_many_columns(project, place, engine or DEFAULT, layout_of(context))
    layout = layout_of(context)

    def make() -> TableDraft:
        with _code_book(codebook) as file:
            more: dict[str, Any] = {"codebook": file, "layout": layout, "engine": engine or DEFAULT}
            try:
                return project.draft(place, **more)
            except UsageError:  # a name that is taken is asked for again; anything else is wrong with every name
                return project.draft(place, name=_free_name(project, Path(source).stem), **more)

    if engine:  # its rows change without a sign
        return make()
    files = files_of(place, folder=project.folder)
    key = (place, layout, codebook, stamp_of([*files, project.folder / NAME]))
    return context.handle.singleton(DraftCache, DraftCache).find(key, make)


def _refuse_many_columns(project: Project, source: str, engine: str, layout: SourceLayout | None) -> None:
    """Before anything is proposed, which takes long for many columns."""
    names: tuple[str, ...] = ()
    with suppress(DiscreetError, OSError):  # the draft says what is wrong
        reader = project.curator.engine.at(check_address(engine, where="the address"))
        names = reader.header(source, folder=project.folder, layout=layout or UNDECLARED).names
    if len(names) > MOST_COLUMNS:
        raise UsageError(
            f"the file has {len(names):,} columns, and a page asks about {MOST_COLUMNS:,} at most",
            hint="keep the columns that you need in another file, or declare the table on the command line",
        )


def _free_name(project: Project, stem: str) -> str:
    """A name that no table has."""
    taken = {name.lower() for name in project.file.tables}
    return next(name for number in itertools.count(2) if (name := f"{stem[:60]}_{number}").lower() not in taken)


class DraftCache:
    """The newest drafts: a form is looked at several times, and proposing types of many columns takes a while."""

    def __init__(self) -> None:
        self._drafts: OrderedDict[object, TableDraft] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: object, make: Callable[[], TableDraft]) -> TableDraft:
        """The draft of a source as it is now; made where nobody has looked at it yet."""
        with self._lock:
            draft = self._drafts.get(key)
        if draft is not None:
            return draft
        made = make()
        with self._lock:
            self._drafts[key] = made
            while len(self._drafts) > MOST_DRAFTS:
                self._drafts.popitem(last=False)
        return made

    def close(self) -> None:
        """Nothing is held."""


@contextmanager
def _code_book(text: str) -> Iterator[Path | None]:
    """A code book as a file, for as long as it is read. Its first sign says whether it is TOML or CSV."""
    if not text:
        yield None
        return
    ending = ".toml" if text.lstrip().startswith("[") else ".csv"
    with tempfile.TemporaryDirectory(prefix="discreet-") as folder:
        file = Path(folder) / f"codebook{ending}"
        file.write_text(text + "\n", encoding="utf-8")
        yield file


def _form_page(
    context: RequestContext,
    draft: TableDraft,
    *,
    source: str,
    engine: str,
    change: FileChange | None = None,
    project: Project | None = None,
    changed: bool = False,
    problem: DiscreetError | None = None,
) -> Page:
    trouble, status = (None, 200) if problem is None else forms.form_error(problem)
    sent = context if context.form and context.field("act") != "fill" else None
    file = context.handle.project.file
    data = {
        **_choices(draft),
        "source": source,
        "engine": engine,
        "codebook": context.field("codebook"),
        "form": form_json(draft, context=sent),
        "populations": sorted(file.populations),
        "preview": None if change is None or project is None else _preview(draft, change, project, changed=changed),
        "trouble": trouble,
    }
    return Page(template="admin_table_form.html", data=data, status=status)


def _preview(draft: TableDraft, change: FileChange, project: Project, *, changed: bool) -> dict[str, Any]:
    """How the declaration reads, and the lines that would be written."""
    table = change.read().table(draft.name)
    columns = [public_facts.column_json(column, {}) for column in table.schema.columns[:MOST_SAID]]
    budget = table.budget
    return {
        "changed": changed,
        "unit": public_facts.unit_sentence(table),
        "columns": [{"name": each["name"], "type": each["type"], "words": _domain_words(each)} for each in columns],
        "more": max(0, len(table.schema.columns) - MOST_SAID),
        "notes": console_texts(unit_notes(table, list(project.file.tables.values()))),
        "meaning": None if budget is None else odds.epsilon_meaning(budget.epsilon, budget.delta)["words"],
        "without_budget": not table.public and budget is None,
        "change": change.to_data(),
    }


def _domain_words(column: dict[str, Any]) -> str:
    if column["domain"]:
        return str(column["domain"])
    if column["values"]:
        more = f" and {column['more_values']:,} more" if column["more_values"] else ""
        return ", ".join(column["values"]) + more
    return "no bounds: rows are counted, but this column is not summed up" if column["type"] in BOUNDS else "any text"


ROUTES = (
    Route(method="GET", path="/admin/tables/new", handler=start, role="owner"),
    Route(
        method="POST", path="/admin/tables/new", handler=declare, role="owner", gridded=True, most_fields=MOST_FIELDS
    ),
    Route(method="GET", path="/admin/tables/edit", handler=edit, role="owner"),
    Route(
        method="POST", path="/admin/tables/edit", handler=correct, role="owner", gridded=True, most_fields=MOST_FIELDS
    ),
    Route(method="POST", path="/admin/tables/upload", handler=upload, role="owner", upload=True),
)
