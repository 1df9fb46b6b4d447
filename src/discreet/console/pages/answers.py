"""Answers: one release with all that may be known of it."""

from __future__ import annotations

import re
import secrets
from typing import Any
from urllib.parse import quote

from discreet import exact
from discreet.console import public_facts
from discreet.console.answer_index import excerpt
from discreet.console.api.release_files import parquet_file
from discreet.console.chart_file import chart_file
from discreet.console.console_text import console_texts, page_sentence
from discreet.console.error_responses import error_report_of, page_problem
from discreet.console.jobs.query_request import QueryRequest
from discreet.console.jobs.release_json import without_infinities
from discreet.console.pages import release_view
from discreet.console.pages.answer_address import recalled_at, release_at, shows_all_rows, statement_at, whole_number_at
from discreet.console.pages.answer_list import Line, answer_lines
from discreet.console.request_context import RequestContext
from discreet.console.responses import Download, HandlerResponse, NotFound, Page, Redirect, RequestDenied
from discreet.console.routes import Route
from discreet.errors import DiscreetError, UsageError
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.present import charts
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease, noise_laws

#: Letters of a question that are a title.
TITLE = 160
#: Earlier and later answers to the same question that stand on a page.
SAME = 10
#: Others that are offered for a comparison, and letters of their questions.
OTHERS, SHOWN = 30, 80

#: Where releases of other kinds have a page of their own.
OTHER_PAGES = {
    "model": "/synth/{}", "comparison": "/synth", "ranges": "/tables/{}", "marginals": "/tables/{}",
    "publish": "/tables/{}", "description": "/tables/{}", "stream": "/tables",
}  # fmt: skip

#: Letters that mean something to BibTeX.
_SPECIAL = re.compile(r"[\\{}$&#^_~%]")
_SPELT = {"\\": r"\textbackslash ", "^": r"\^{}", "~": r"\~{}"}


def show(context: RequestContext) -> HandlerResponse:
    """One release: rows and chart, what was asked, what each clause did, what it cost, how to cite it."""
    return _page(context)


def _page(context: RequestContext, *, problem: Exception | None = None, epsilon: str = "", within: str = "") -> Page:
    project, recalled_release = context.handle.project, recalled_at(context)
    if statement_at(context) > max(1, len(recalled_release.texts)):
        raise NotFound
    data, release = _release_facts(context, project, recalled_release), None
    if recalled_release.is_readable:
        try:
            release = release_at(context, recalled_release)
        except UsageError as trouble:
            data["unreadable"] = page_sentence(trouble.reason)
    if release is not None:
        release_json = without_infinities(release.to_data(best=True))
        data |= {
            **{name: release_json[name] for name in ("columns", "rows", "intervals", "confidence")},
            "warnings": console_texts(release_json["warnings"]),
            "best": release_json["best"],
            "has_best": bool(release_view.best_places(release_json)),
            "shows_best": context.query_text("best") == "1",
            "sheet": release_view.page_sheet(
                release_json, best=context.query_text("best") == "1", every=shows_all_rows(context)
            ),
            "single": release_view.single_number(release_json),
            "shown_confidence": context.query_text("confidence").strip(),
            "numbers": release_view.chart_numbers(release_json),
            "number": whole_number_at(context, "number"),
            "chart": release_view.release_chart(release_json, number=whole_number_at(context, "number")),
            "tree": _sensitivity_tree(project, recalled_release, statement_at(context)),
        }
    if problem is not None:
        data["problem_again"] = page_problem(error_report_of(problem))
    data |= {"epsilon": epsilon, "within": within}
    table = None if release is None else release_view.file_table(data)
    status = 200 if problem is None else error_report_of(problem).status
    return Page(template="answer.html", data=data, table=table, status=status)


def _release_facts(context: RequestContext, project: Project, recalled_release: RecalledRelease) -> dict[str, Any]:
    """What the ledger says of a release of any kind."""
    charge = recalled_release.charge
    table = project.file.tables.get(charge.table)
    elsewhere = OTHER_PAGES.get(recalled_release.kind)
    published = context.people.published.find(recalled_release.id) is not None
    note = context.people.notes.find(recalled_release.id)
    return {
        "release": recalled_release.id,
        **_title(recalled_release, note.name),
        "note": note.data(),
        "may_note": may_note(context, recalled_release),
        **_other_answers(context, recalled_release),
        "origin": context.settings.origin,
        "kind": recalled_release.kind,
        "words": recalled_release.words,
        "table": charge.table,
        "version": charge.version,
        "newest": max(project.ledger.state.versions.get(charge.table, {}), default=0),
        "analyst": charge.analyst,
        "time": public_facts.to_minute(charge.time),
        "price": exact.as_float(charge.price, up=True),
        "cost": _spending(recalled_release),
        "texts": list(recalled_release.texts),
        "statement": statement_at(context),
        "also": list(recalled_release.also),
        "refines": project.ledger.state.refinements.refined(recalled_release.id),
        "refined_by": project.ledger.state.refinements.refined_by.get(recalled_release.id),
        "about": dict(recalled_release.about),
        "noise": _noise(project, recalled_release),
        "elsewhere": None if elsewhere is None else elsewhere.format(quote(recalled_release.id, safe="")),
        "budget": None if table is None else public_facts.budget_json(project, table),
        "cite": citation(recalled_release, origin=context.settings.origin),
        "published": published,
        "key": secrets.token_urlsafe(18),
        "stored": context.query_text("stored") == "1",
        "source_changed": _source_changed(context, project, recalled_release),
        "best": [], "has_best": False, "shows_best": False,
        "columns": [], "rows": [], "intervals": [], "confidence": None, "warnings": [],
        "single": None, "shown_confidence": "", "sheet": None,
        "numbers": [], "number": 1, "chart": None, "tree": None, "unreadable": "", "problem_again": None,
    }  # fmt: skip


def _title(recalled_release: RecalledRelease, name: str) -> dict[str, Any]:
    """What stands over an answer: its name, else its question, else what it is."""
    question = public_facts.query_excerpt(recalled_release, most=TITLE)
    is_sql = bool(recalled_release.texts)
    return {
        "title": name or (question if is_sql else question[:1].upper() + question[1:]),
        "is_sql": is_sql and not name,
    }


def may_note(context: RequestContext, recalled_release: RecalledRelease) -> bool:
    """Whether a visitor may name an answer: its author, by the name that it was charged to, and every owner."""
    author = recalled_release.charge.analyst
    is_author = author is not None and author == context.visitor.analyst
    return context.visitor.via == "session" and (is_author or context.visitor.may("owner"))


def _other_answers(context: RequestContext, recalled_release: RecalledRelease) -> dict[str, Any]:
    """Answers to the same question, and others that it may be compared with; the newest first."""
    same: list[Line] = []
    others: list[Line] = []
    for line in answer_lines(context) if recalled_release.is_readable else ():
        charge, entry, _ = line
        if len(same) >= SAME and len(others) >= OTHERS:
            break
        if charge.id != recalled_release.id and entry.is_readable and charge.table == recalled_release.charge.table:
            (same if entry.texts == recalled_release.texts else others).append(line)
    return {
        "same": [_other_answer(line) for line in same[:SAME]],
        "others": [_other_answer(line) for line in others[:OTHERS]],
    }


def _other_answer(line: Line) -> dict[str, Any]:
    charge, entry, note = line
    return {
        "release": charge.id,
        "words": note.name or excerpt(entry.question, SHOWN),
        "version": charge.version,
        "time": public_facts.to_minute(charge.time),
    }


def _source_changed(context: RequestContext, project: Project, recalled_release: RecalledRelease) -> bool:
    """Whether the source changed since this answer was measured. Only owners are told (docs/decisions/0032).

    Not for an answer about an older version: the page already says that there is a newer one, which is public.
    """
    charge = recalled_release.charge
    is_newest = charge.version == max(project.ledger.state.versions.get(charge.table, {}), default=0)
    if not context.visitor.may("owner") or not is_newest or charge.table not in project.file.tables:
        return False
    return bool(project.changed_sources([charge.table]))


def _spending(recalled_release: RecalledRelease) -> dict[str, Any]:
    """What it cost the budget, in numbers and words."""
    return public_facts.spending_json(recalled_release.cost, up=True)


def _noise(project: Project, recalled_release: RecalledRelease) -> list[str]:
    """The laws of the noise that was drawn, as they are stored."""
    if not recalled_release.is_readable:
        return []
    law_words = []
    for law in noise_laws(recalled_release.id, curator=project.curator):
        if isinstance(law, DiscreteLaplace):
            law_words.append(f"discrete Laplace noise with scale {exact.show(law.scale, up=True)}")
        else:
            sigma = exact.show(exact.sqrt(law.sigma2, up=True), up=True)
            law_words.append(f"discrete Gaussian noise of standard deviation {sigma}")
    return list(dict.fromkeys(law_words))


def _sensitivity_tree(project: Project, recalled_release: RecalledRelease, statement: int) -> dict[str, Any] | None:
    """What each clause did to the sensitivity; None where the question is of an older version."""
    charge = recalled_release.charge
    if charge.version != max(project.ledger.state.versions.get(charge.table, {}), default=0):
        return None
    try:
        explanation = project.sql(recalled_release.texts[statement - 1]).explain(epsilon=charge.price)
    except DiscreetError:
        return None
    parts = explanation["parts"] or [{"statistic": "the choice", "share": 1.0, **explanation["sensitivity"]}]
    return {
        "parts": without_infinities(parts),
        "region": explanation["region"],
        "engine_sql": explanation["engine_sql"],
    }


def parquet(context: RequestContext) -> HandlerResponse:
    """The rows of an answer as Parquet."""
    recalled_release = recalled_at(context)
    if not recalled_release.is_readable:
        raise NotFound
    return parquet_file(release_at(context, recalled_release))


def chart_svg(context: RequestContext) -> HandlerResponse:
    """The chart of an answer as a file: the number and the confidence that its page shows."""
    recalled_release = recalled_at(context)
    if not recalled_release.is_readable:
        raise NotFound
    release_json = without_infinities(release_at(context, recalled_release).to_data())
    chart = release_view.release_chart(release_json, number=whole_number_at(context, "number"))
    if chart is None:
        raise NotFound
    content = chart_file(charts.draw(chart)).encode()
    return Download(content=content, media_type="image/svg+xml", name=f"{recalled_release.id}.svg")


def again(context: RequestContext) -> HandlerResponse:
    """Make it more precise. Charged, once for its form."""
    recalled_release, epsilon, within = (
        recalled_at(context),
        *(context.field(name).strip() for name in ("epsilon", "within")),
    )
    try:
        query_request = QueryRequest(
            kind="again", text=recalled_release.id, epsilon=epsilon or None, within=within or None
        )
        key = f"{context.field('key')}-{query_request.digest().hex()[:16]}"
        outcome = context.queries.ask(query_request, context.visitor, key=key, began=context.began)
    except (DiscreetError, RequestDenied) as problem:
        return _page(context, problem=problem, epsilon=epsilon, within=within)
    return Redirect(to=f"/a/{quote(outcome.releases[0]['release'], safe='')}")


def citation(recalled_release: RecalledRelease, *, origin: str) -> dict[str, Any]:
    """How a release is cited: as text and as BibTeX, by public facts of the ledger.

    `origin`: where the console is reached.
    """
    charge = recalled_release.charge
    day, where = charge.time[:10], f"{origin}/r/{recalled_release.id}"
    cost = _cost_words(recalled_release)
    title = f"Release {recalled_release.id}: {recalled_release.words} of table {charge.table}, version {charge.version}"
    sentence = (
        f"Release {recalled_release.id}: {recalled_release.words}. Table {charge.table!r}, version {charge.version}, "
        f"{day}. "
        f"Differentially private at {cost}. Made with Discreet. {where} (if published)"
    )
    lines = [
        f"@misc{{discreet-{re.sub('[^a-zA-Z0-9-]', '', recalled_release.id)},",
        f"  title = {{{_plain_bibtex(title)}}},",
        f"  year = {{{day[:4]}}},",
        f"  note = {{{_plain_bibtex(f'Differentially private at {cost}; measured {day} with Discreet')}}},",
        f"  howpublished = {{\\url{{{where}}}}},",
        "}",
    ]
    return {"text": sentence, "bibtex": "\n".join(lines)}


def _cost_words(recalled_release: RecalledRelease) -> str:
    cost = recalled_release.cost_of_numbers
    delta = f"delta {exact.show(cost.delta, up=True)}"
    if cost.epsilon is not None:
        return f"epsilon {exact.show(cost.epsilon, up=True)}, {delta}"
    return f"rho {exact.show(cost.rho or cost.delta, up=True)} (zero-concentrated), {delta}"


def _plain_bibtex(text: str) -> str:
    """Without what BibTeX would read as its own."""
    return _SPECIAL.sub(lambda special: _SPELT.get(special[0], f"\\{special[0]}"), text)


ROUTES = (
    Route(method="GET", path="/a/{release}.parquet", handler=parquet, role="analyst", twins=False),
    Route(method="GET", path="/a/{release}.svg", handler=chart_svg, role="analyst", twins=False),
    Route(method="POST", path="/a/{release}/again", handler=again, role="analyst", gridded=True),
    Route(method="GET", path="/a/{release}", handler=show, role="analyst"),
)
