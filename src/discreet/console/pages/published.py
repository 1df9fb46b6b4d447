"""What the owner chose to publish: everybody may read it, without an account, and check it without us.

A release that is not published is not there, for anybody: the same sentence as for one that never was. One that is read
together with earlier ones (`again`) shows their noisy numbers, so it is published with them or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from discreet.bundle import make
from discreet.bundle.claims import claims_of_event, parameters
from discreet.bundle.sheet import Sheet
from discreet.console import answered
from discreet.console.answer import Answer, Download, Grid, Missing, Page, Redirect
from discreet.console.bundles import FIELDS, about_of, bundle_of, bundles_of
from discreet.console.people.published import Publication
from discreet.console.refusing import problem_of, refusal
from discreet.console.routes import Route
from discreet.console.visit import Visit
from discreet.errors import DiscreetError, UsageError

#: Files of a bundle that can be had one by one, and what they are.
KINDS = {
    "parquet": "application/vnd.apache.parquet",
    "yaml": "application/yaml",
    "html": "text/html; charset=utf-8",
    "svg": "image/svg+xml",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
}


def index(visit: Visit) -> Answer:
    """All that is published, the newest first."""
    known = bundles_of(visit).state(visit.desk.project).answers
    found = [_line(visit, each) for each in reversed(visit.people.published.all()) if each.release in known]
    columns = ("release", "name", "table", "published", "variant", "description")
    rows = [[each[name] for name in columns] for each in found]
    return Page(template="published.html", data={"published": found}, table=Grid(columns=columns, rows=rows))


def _line(visit: Visit, publication: Publication) -> dict[str, Any]:
    """A publication in a list: what the ledger says of it, and its own words."""
    project, bundles = visit.desk.project, bundles_of(visit)
    told = bundles.recalled(project, publication.release)
    account = project.ledger.state.account(told.charge.population)
    made_by = bundles.made_by(project, publication.release)
    claims = {} if made_by is None else claims_of_event(made_by, doubled=account.invariant)
    return {
        "release": publication.release,
        "name": publication.fields.get("name", ""),
        "description": publication.fields.get("description", ""),
        "table": told.charge.table,
        "published": publication.data()["published"][:10],
        "variant": claims.get("variant", "not known"),
        "parameters": parameters(claims) if claims else {},
    }


def show(visit: Visit) -> Answer:
    """One release: its card, its rows, its chart, and its files."""
    publication = _publication(visit)
    bundle = bundle_of(visit, publication)
    content = bundle.content
    tables = [_table(sheet) for sheet in content.sheets]
    data = {
        **_line(visit, publication),
        "question": content.text,
        "version": content.version,
        "confidence": float(content.confidence),
        "tables": tables,
        "explanation": bundle.explanation,
        "warnings": list(content.warnings),
        "card": dict(bundle.card["deployment"]),
        "files": {name: len(part) for name, part in bundle.files.items()},
        "key": bundle.key,
    }
    table = answered.grid(tables[0]) if tables else None
    return Page(template="published_release.html", data=data, table=table)


def _table(sheet: Sheet) -> dict[str, Any]:
    data = sheet.to_data()
    return {**data, "sheet": answered.sheet(data), "chart": answered.chart(_drawn(data))}


def _drawn(data: dict[str, Any]) -> dict[str, Any]:
    """What a chart is drawn of: cells of a column are placed by where they begin, not by both of their ends."""
    if [column["name"] for column in data["columns"]] != ["low", "high", "rows"]:
        return data
    return {name: [[row[0], row[2]] for row in data[name]] for name in ("rows", "intervals")} | {
        "columns": [data["columns"][0], data["columns"][2]]
    }


def file(visit: Visit) -> Answer:
    """One file of the bundle."""
    publication = _publication(visit)
    name = visit.params["file"]
    found = bundle_of(visit, publication).files.get(name)
    if found is None:
        raise Missing
    return Download(content=found, media_type=KINDS[name.rpartition(".")[2]], name=f"{publication.release}-{name}")


def archive(visit: Visit) -> Answer:
    """The whole bundle, which `discreet release verify` checks."""
    publication = _publication(visit)
    packed = make.archive(bundle_of(visit, publication).files, name=publication.release)
    return Download(content=packed, media_type="application/zip", name=f"{publication.release}.zip")


def form(visit: Visit) -> Answer:
    """For the owner: what publishing means, and the fields that only people can fill."""
    return _form(visit)


def _form(visit: Visit, *, told: dict[str, str] | None = None, problem: Exception | None = None) -> Page:
    release = _known(visit)
    publication = visit.people.published.find(release)
    fields = told if told is not None else dict(publication.fields) if publication is not None else {}
    data = {
        "release": release,
        "is_published": publication is not None,
        "also": [
            {
                "release": each,
                "is_published": each not in _hidden(visit, release),
                "ticked": each in visit.fields("also"),
            }
            for each in _also(visit, release)
        ],
        "fields": [
            {"name": name, "label": label, "hint": hint, "value": fields.get(name, "")}
            for name, (label, hint) in FIELDS.items()
        ],
        "trouble": None if problem is None else refusal(problem_of(problem)),
    }
    status = 200 if problem is None else problem_of(problem).status
    return Page(template="published_form.html", data=data, status=status)


def begin(visit: Visit) -> Answer:
    """From an answer's page: to the form. Nothing is published yet."""
    return Redirect(to=f"/r/{quote(_known(visit), safe='')}/publish")


def publish(visit: Visit) -> Answer:
    """Publish a release, or change what its card says; with the earlier ones that it shows, if that is ticked."""
    release = _known(visit)
    told = {name: visit.field(name).replace("\r\n", "\n") for name in FIELDS}
    try:
        about_of(told)
        hidden = _hidden(visit, release)
        _refuse_unticked(hidden, visit.fields("also"))
        by = visit.people.roster.get(visit.visitor.name or "")
        fields = {name: text for name, text in told.items() if text.strip()}
        wanted = {**{each: {} for each in hidden}, release: fields}  # earlier ones first: nothing shows what is hidden
        for each, texts in wanted.items():
            bundle_of(visit, Publication(release=each, published=0, by=by.name, fields=texts))  # what cannot be read
        for each, texts in wanted.items():
            visit.people.published.publish(each, by=by, fields=texts)  # is not published
    except DiscreetError as problem:
        return _form(visit, told=told, problem=problem)
    return Redirect(to=f"/r/{quote(release, safe='')}")


def withdraw(visit: Visit) -> Answer:
    """Show it no more, nor what shows its numbers. What was read cannot be taken back."""
    release = _known(visit)
    for each in visit.people.published.all():
        if each.release in visit.desk.project.ledger.state.answers and release in _also(visit, each.release):
            visit.people.published.withdraw(each.release)
    visit.people.published.withdraw(release)
    return Redirect(to="/r")


def _also(visit: Visit, release: str) -> tuple[str, ...]:
    """The earlier releases that one is read together with, and whose numbers it shows."""
    return bundles_of(visit).recalled(visit.desk.project, release).also


def _hidden(visit: Visit, release: str) -> list[str]:
    """Those of them that are not published."""
    return [each for each in _also(visit, release) if visit.people.published.find(each) is None]


def _refuse_unticked(hidden: Sequence[str], ticked: Sequence[str]) -> None:
    if unticked := [each for each in hidden if each not in ticked]:
        raise UsageError(
            f"this is read together with {', '.join(unticked)} and shows those numbers too, which are not published",
            hint="tick that they are published as well, or publish none of them",
        )


def _publication(visit: Visit) -> Publication:
    release = visit.params["release"]
    found = visit.people.published.find(release)
    if found is None or release not in bundles_of(visit).state(visit.desk.project).answers:
        raise Missing
    return found


def _known(visit: Visit) -> str:
    """A release that the ledger holds an answer of."""
    release = visit.params["release"]
    state = visit.desk.project.ledger.refresh()
    if release not in state.charges:
        raise Missing
    if release not in state.answers:
        raise UsageError("this was charged and has no answer, so there is nothing to publish")
    return release


ROUTES = (
    Route(method="GET", path="/r", handler=index, role="public"),
    Route(method="GET", path="/r/{release}/publish", handler=form, role="owner", twins=False),
    Route(method="POST", path="/a/{release}/publish", handler=begin, role="owner"),
    Route(method="POST", path="/r/{release}/publish", handler=publish, role="owner"),
    Route(method="POST", path="/r/{release}/withdraw", handler=withdraw, role="owner"),
    Route(method="GET", path="/r/{release}/files/{file}", handler=file, role="public", twins=False),
    Route(method="GET", path="/r/{release}.zip", handler=archive, role="public", twins=False),
    Route(method="GET", path="/r/{release}", handler=show, role="public"),
)
