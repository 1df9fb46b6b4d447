"""Synthetic data: fit a model, for a price that is told before; look at it and sample from it, free, for ever."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from discreet.api import Project
from discreet.console import fitting, forms, released
from discreet.console.answer import Answer, Download, Grid, Missing, Page, Redirect
from discreet.console.pages import under_way
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.console.works import Progress, works_of
from discreet.errors import DiscreetError
from discreet.synth.kept import keep

AREA = "synth"


def listing(visit: Visit) -> Answer:
    """The fits of each table, and those under way."""
    project = visit.desk.project
    fits = released.listed(project, ("model",))
    files = fitting.files(project.folder)
    for each in fits:
        each["kept"] = each["release"] in files
    others = [{"name": name} for name in files if name.startswith("random-")]
    data = {
        "fits": fits,
        "random": others,
        "works": works_of(visit).listed(visit.visitor, AREA),
        "tables": forms.private_tables(project),
    }
    names = ("release", "table", "version", "time")
    rows = [[*(each[name] for name in names), each["about"].get("model")] for each in fits]
    grid = Grid(columns=(*names, "model"), rows=rows)
    return Page(template="synth.html", data=data, table=grid)


def form(visit: Visit) -> Answer:
    """A form for a fit; with an epsilon, its price. Free."""
    wish = fitting.wish_of(visit.query)
    trouble, status, quoted = None, 200, None
    if wish["table"] and (wish["epsilon"] or wish["model"] == "random"):
        try:
            with works_of(visit).pricing(visit.visitor):
                quoted = fitting.quoted(visit.desk.project, wish)
        except DiscreetError as problem:
            trouble, status = forms.trouble(problem)
    return _form(visit, wish, quoted=quoted, trouble=trouble, status=status)


def _form(
    visit: Visit,
    wish: dict[str, Any],
    *,
    quoted: dict[str, Any] | None = None,
    trouble: dict[str, Any] | None = None,
    status: int = 200,
) -> Page:
    project = visit.desk.project
    tables = forms.private_tables(project)
    table = next((each for each in tables if each["name"].lower() == wish["table"].lower()), None)
    data = {
        "tables": tables,
        "table": table,
        "models": fitting.MODELS,
        "wish": wish,
        "quote": quoted,
        "trouble": trouble,
    }
    return Page(template="synth_new.html", data=data, status=status)


def fit(visit: Visit) -> Answer:
    """Pay for a fit. The same fit again is free."""
    wish = fitting.wish_of(visit.form)
    project, analyst = visit.desk.project, visit.visitor.analyst
    try:
        with works_of(visit).pricing(visit.visitor):
            fitting.quoted(project, wish)  # what cannot be is told beside the form

        def act(tell: Progress) -> str:
            model = fitting.fitted(project, wish, analyst=analyst, progress=tell)
            return f"/synth/{quote(keep(project.folder, model).stem, safe='')}"

        words = f"a model of {wish['table']}"
        return Redirect(to=_done(visit, act, words=words, key=_key("fit", wish)))
    except DiscreetError as problem:
        trouble, status = forms.trouble(problem)
        return _form(visit, wish, trouble=trouble, status=status)


def _done(visit: Visit, act: Callable[[Progress], str], *, words: str, key: str) -> str:
    works = works_of(visit)
    return works.awaited(works.start(visit.visitor, act, area=AREA, words=words, key=key))


def _key(verb: str, wish: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps([verb, wish], sort_keys=True).encode()).hexdigest()


def show(visit: Visit) -> Answer:
    """A model: where it is from, what it is good for, how to have rows of it."""
    project = visit.desk.project
    with works_of(visit).pricing(visit.visitor):  # the first look at a model takes a while
        found = fitting.find(project.folder, visit.params["release"])
    if found is None:
        return _not_kept(project, visit.params["release"])
    data = {
        **found.page(),
        "most": visit.settings.most_rows,
        "trouble": None,
        "comparisons": fitting.comparisons(project.folder, found.name),
    }
    return Page(template="synth_model.html", data=data, table=found.grid())


def _not_kept(project: Project, id_: str) -> Page:
    """A fit that the ledger knows and whose model lies elsewhere."""
    told = released.recalled(project, id_)
    if told.kind != "model":
        raise Missing
    return Page(template="synth_elsewhere.html", data={"fit": released.line(project, told)})


def _model(visit: Visit) -> fitting.Found:
    with works_of(visit).pricing(visit.visitor):
        found = fitting.find(visit.desk.folder, visit.params["release"])
    if found is None:
        raise Missing
    return found


def sample(visit: Visit) -> Answer:
    """Rows of a model, as a file. Free."""
    found, most = _model(visit), visit.settings.most_rows
    rows = forms.whole(visit.asked("n", "1000"), "the number of rows", least=1, most=most)
    column = visit.asked("column").strip()
    given = {column: forms.told(visit.asked("value"))} if column else {}
    with works_of(visit).pricing(visit.visitor):  # free, and yet work for a processor
        grid = found.sample(rows, given)
        return released.download(grid, visit.asked("format", "csv"), f"{found.name}-sample")


def model_file(visit: Visit) -> Answer:
    """The model itself, to be used elsewhere. It holds noisy numbers and public facts alone."""
    found = _model(visit)
    return Download(content=found.path.read_bytes(), media_type="application/octet-stream", name=found.path.name)


def compare(visit: Visit) -> Answer:
    """Pay to know how far a model is from its table."""
    found, project, analyst = _model(visit), visit.desk.project, visit.visitor.analyst
    epsilon = forms.number(visit.field("epsilon"), "epsilon")
    delta = forms.number(visit.field("delta"), "delta")
    to = f"/synth/{quote(found.name, safe='')}"

    def act(tell: Progress) -> str:
        tell("comparing", 0.0)
        told = project.compare(found.model, epsilon=epsilon, delta=delta, analyst=analyst)
        fitting.keep_comparison(project.folder, found.name, told)
        return f"{to}#compared"

    key = _key("compare", {"model": found.name, "epsilon": epsilon, "delta": delta})
    return Redirect(to=_done(visit, act, words=f"a comparison of {found.name} with its table", key=key))


ROUTES = (
    Route(method="GET", path="/synth", handler=listing, role="analyst"),
    Route(method="GET", path="/synth/new", handler=form, role="analyst"),
    Route(method="POST", path="/synth/new", handler=fit, role="analyst", gridded=True),
    *under_way.routes(AREA),
    Route(method="GET", path="/synth/{release}/sample", handler=sample, role="analyst", twins=False),
    Route(method="GET", path="/synth/{release}/model", handler=model_file, role="analyst", twins=False),
    Route(method="POST", path="/synth/{release}/compare", handler=compare, role="analyst", gridded=True),
    Route(method="GET", path="/synth/{release}", handler=show, role="analyst"),
)
