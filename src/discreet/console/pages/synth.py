"""Synthetic data: fit a model, for a price that is told before; look at it and sample from it, free, for ever."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from discreet.console import forms
from discreet.console.jobs import model_fit, person_models
from discreet.console.jobs.job_queue import Progress, job_queue_of
from discreet.console.pages import job_progress, release_list
from discreet.console.request_context import RequestContext
from discreet.console.responses import Download, HandlerResponse, NotFound, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.errors import DiscreetError
from discreet.project.project import Project
from discreet.synth.model_folder import save_in_project

AREA = "synth"


def listing(context: RequestContext) -> HandlerResponse:
    """The fits of each table, and those under way."""
    project = context.handle.project
    fits = release_list.list_releases(project, ("model",))
    files, persons = model_fit.model_files(project.folder), person_models.person_files(project.folder)
    for each in fits:
        each["kept"] = each["release"] in files or each["release"] in persons
    others = [{"name": name} for name in files if name.startswith("random-")]
    data = {
        "fits": fits,
        "random": others,
        "works": job_queue_of(context).open_jobs(context.visitor, AREA),
        "tables": forms.private_tables(project),
    }
    names = ("release", "table", "version", "time")
    rows = [[*(each[name] for name in names), each["about"].get("model")] for each in fits]
    grid = PageTable(columns=(*names, "model"), rows=rows)
    return Page(template="synth.html", data=data, table=grid)


def form(context: RequestContext) -> HandlerResponse:
    """A form for a fit; with an epsilon, its price. Free."""
    wish = model_fit.fit_wish(context.query)
    trouble, status, quoted = None, 200, None
    if wish["table"] and (wish["epsilon"] or wish["model"] == "random"):
        try:
            with job_queue_of(context).pricing_turn(context.visitor):
                quoted = _quote(context.handle.project, wish)
        except DiscreetError as problem:
            trouble, status = forms.form_error(problem)
    return _form(context, wish, quoted=quoted, trouble=trouble, status=status)


def _quote(project: Project, wish: dict[str, Any]) -> dict[str, Any]:
    return model_fit.quote_fit(project, wish, quote_persons=person_models.quote_persons)


def _form(
    context: RequestContext,
    wish: dict[str, Any],
    *,
    quoted: dict[str, Any] | None = None,
    trouble: dict[str, Any] | None = None,
    status: int = 200,
) -> Page:
    project = context.handle.project
    tables = forms.private_tables(project)
    table = next((each for each in tables if each["name"].lower() == wish["table"].lower()), None)
    can_persons = table is not None and person_models.has_persons(project, table["name"])
    data = {
        "tables": tables,
        "table": table,
        "models": [*model_fit.MODELS, *([model_fit.PERSONS_MODEL] if can_persons else [])],
        "wish": wish,
        "quote": quoted,
        "trouble": trouble,
    }
    return Page(template="synth_new.html", data=data, status=status)


def fit(context: RequestContext) -> HandlerResponse:
    """Pay for a fit. The same fit again is free."""
    wish = model_fit.fit_wish(context.form)
    project, analyst = context.handle.project, context.visitor.analyst
    try:
        with job_queue_of(context).pricing_turn(context.visitor):
            _quote(project, wish)  # what cannot be is told beside the form

        def act(tell: Progress) -> str:
            model = model_fit.fit_model(project, wish, analyst=analyst, progress=tell)
            saved = save_in_project(project.folder, model).name.removesuffix(".npz").removesuffix(".persons")
            return f"/synth/{quote(saved, safe='')}"

        words = f"a model of {wish['table']}"
        return Redirect(to=_run_job(context, act, words=words, key=_key("fit", wish)))
    except DiscreetError as problem:
        trouble, status = forms.form_error(problem)
        return _form(context, wish, trouble=trouble, status=status)


def _run_job(context: RequestContext, act: Callable[[Progress], str], *, words: str, key: str) -> str:
    job_queue = job_queue_of(context)
    return job_queue.next_path(job_queue.start(context.visitor, act, area=AREA, words=words, key=key))


def _key(verb: str, wish: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps([verb, wish], sort_keys=True).encode()).hexdigest()


def show(context: RequestContext) -> HandlerResponse:
    """A model: where it is from, what it is good for, how to have rows of it."""
    project = context.handle.project
    with job_queue_of(context).pricing_turn(context.visitor):  # the first look at a model takes a while
        stored_model = model_fit.find_model(project.folder, context.params["release"])
        stored_persons = person_models.find_person_model(project.folder, context.params["release"])
    if stored_model is None:
        return (
            _show_persons(context, stored_persons) if stored_persons else _not_kept(project, context.params["release"])
        )
    data = {
        **stored_model.page(),
        "most": context.settings.most_rows,
        "trouble": None,
        "comparisons": model_fit.stored_comparisons(project.folder, stored_model.name),
        "others": [name for name in model_fit.model_files(project.folder) if name != stored_model.name],
    }
    return Page(template="synth_model.html", data=data, table=stored_model.grid())


def _show_persons(context: RequestContext, stored: person_models.StoredPersonModel) -> Page:
    """A model of persons: which questions about persons it answers well, and how to have persons of it."""
    data = {**stored.page(), "most": context.settings.most_rows, "seed": secrets.randbelow(10**9)}
    return Page(template="synth_persons.html", data=data, table=stored.grid())


def beside(context: RequestContext) -> HandlerResponse:
    """Two models on one page. Free."""
    project = context.handle.project
    with job_queue_of(context).pricing_turn(context.visitor):
        stored_models = [
            model_fit.find_model(project.folder, name)
            for name in (context.params["release"], context.query_text("other"))
        ]
        first, second = stored_models
        if first is None or second is None:
            raise NotFound
        data = model_fit.beside_json(first, second)
    comparisons = [model_fit.stored_comparisons(project.folder, name) for name in data["names"]]
    data |= {"comparisons": comparisons, "compared": any(comparisons)}
    rows = [[each["words"], *each["texts"]] for each in data["facts"]]
    return Page(
        template="synth_beside.html", data=data, table=PageTable(columns=("fact", "first", "second"), rows=rows)
    )


def _not_kept(project: Project, id_: str) -> Page:
    """A fit that the ledger knows and whose model lies elsewhere."""
    recalled_release = release_list.recall_release(project, id_)
    if recalled_release.kind != "model":
        raise NotFound
    return Page(template="synth_elsewhere.html", data={"fit": release_list.release_line(project, recalled_release)})


def _stored_model(context: RequestContext) -> model_fit.StoredModel:
    with job_queue_of(context).pricing_turn(context.visitor):
        stored_model = model_fit.find_model(context.handle.folder, context.params["release"])
    if stored_model is None:
        raise NotFound
    return stored_model


def _any_stored_model(context: RequestContext) -> model_fit.StoredModel | person_models.StoredPersonModel:
    """The model that is meant, of rows or of persons."""
    with job_queue_of(context).pricing_turn(context.visitor):
        stored = person_models.find_person_model(context.handle.folder, context.params["release"])
    return _stored_model(context) if stored is None else stored


def sample(context: RequestContext) -> HandlerResponse:
    """Rows of a model, as a file. Free."""
    stored_model, most = _any_stored_model(context), context.settings.most_rows
    rows = forms.whole_number(context.query_text("n", "1000"), "the number of rows", least=1, most=most)
    column = context.query_text("column").strip()
    given = {column: forms.text_or_none(context.query_text("value"))} if column else {}
    file_format, name = context.query_text("format", "csv"), f"{stored_model.name}-sample"
    written = file_format == "csv"  # as the source writes it; the others have types
    with job_queue_of(context).pricing_turn(context.visitor):  # free, and yet work for a processor
        if isinstance(stored_model, model_fit.StoredModel):
            grid = stored_model.sample(rows, given, written=written)
        else:
            table = context.query_text("table") or stored_model.tables[0]
            if table not in stored_model.tables:
                raise NotFound
            seed = forms.whole_number(context.query_text("seed", "0"), "the seed", least=0, most=10**9)
            grid = stored_model.sample(rows, given, table=table, seed=seed, written=written)
            name = f"{name}-{table}"
        return release_list.table_download(grid, file_format, name)


def model_file(context: RequestContext) -> HandlerResponse:
    """The model itself, to be used elsewhere. It holds noisy numbers and public facts alone."""
    stored_model = _any_stored_model(context)
    return Download(
        content=stored_model.path.read_bytes(), media_type="application/octet-stream", name=stored_model.path.name
    )


def compare(context: RequestContext) -> HandlerResponse:
    """Pay to know how far a model is from its table."""
    stored_model, project, analyst = _stored_model(context), context.handle.project, context.visitor.analyst
    epsilon = forms.number_text(context.field("epsilon"), "epsilon")
    delta = forms.number_text(context.field("delta"), "delta")
    to = f"/synth/{quote(stored_model.name, safe='')}"

    def act(tell: Progress) -> str:
        tell("comparing", 0.0)
        comparison = project.compare(stored_model.model, epsilon=epsilon, delta=delta, analyst=analyst)
        model_fit.store_comparison(project.folder, stored_model.name, comparison)
        return f"{to}#compared"

    key = _key("compare", {"model": stored_model.name, "epsilon": epsilon, "delta": delta})
    return Redirect(to=_run_job(context, act, words=f"a comparison of {stored_model.name} with its table", key=key))


ROUTES = (
    Route(method="GET", path="/synth", handler=listing, role="analyst"),
    Route(method="GET", path="/synth/new", handler=form, role="analyst"),
    Route(method="POST", path="/synth/new", handler=fit, role="analyst", gridded=True),
    *job_progress.routes(AREA),
    Route(method="GET", path="/synth/{release}/sample", handler=sample, role="analyst", twins=False),
    Route(method="GET", path="/synth/{release}/beside", handler=beside, role="analyst"),
    Route(method="GET", path="/synth/{release}/model", handler=model_file, role="analyst", twins=False),
    Route(method="POST", path="/synth/{release}/compare", handler=compare, role="analyst", gridded=True),
    Route(method="GET", path="/synth/{release}", handler=show, role="analyst"),
)
