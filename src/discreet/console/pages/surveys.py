"""Surveys: make one, see what its reports say, give out tokens, print a sheet, close it.

Respondents have pages of their own (jobs/survey_host.py). Here are those of the people who ask.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from discreet import exact
from discreet.bundle import card_yaml
from discreet.bundle.about import NOT_STATED, About
from discreet.console import forms
from discreet.console.jobs.job_queue import job_queue_of
from discreet.console.jobs.survey_host import survey_host_of
from discreet.console.pages import survey_protocols
from discreet.console.request_context import RequestContext
from discreet.console.responses import Download, HandlerResponse, Page, PageTable, Redirect
from discreet.console.routes import Route
from discreet.errors import DiscreetError, UsageError
from discreet.present.cell_text import DASH, percent
from discreet.surveys.collector.enrolment import enrol
from discreet.surveys.collector.period_results import periods_lines
from discreet.surveys.collector.randomizer_design import (
    EXPECTED_PEOPLE,
    NOT_IN_BROWSERS,
    AnswerDomain,
    design_randomizer,
)
from discreet.surveys.collector.results import takes_words
from discreet.surveys.collector.survey_card import card_of_survey
from discreet.surveys.collector.survey_definition import MINIMUM, WEAK_EPSILON, Survey
from discreet.surveys.protocols.collection_periods import (
    DEFAULT_PERIODS,
    MEMOIZED,
    MOST_DONATIONS,
    MOST_PERIODS,
    CollectionPeriods,
)

#: Given out at once, and asked about at once.
MOST_TOKENS, MOST_WORDS = 1_000, 1_000
#: So many choices are shown as respondents will see them.
LISTED = 12
#: What the form suggests, until its owner says another: good protection, and a few hundred people say something.
EPSILON = "1"
#: So many enrolment links at once have a QR code each.
MOST_QR = 200
#: The answers of a survey with periods that have a chart each.
MOST_PERIOD_CHARTS = 8
#: Estimates from fewer reports move with each of them, and say next to nothing.
FEW = 10


def listing(context: RequestContext) -> HandlerResponse:
    """The surveys, the newest first."""
    store = survey_host_of(context.handle).store
    survey_rows = [
        {**_survey_facts(context, survey), "received": store.count(survey.id)} for survey in reversed(store.surveys())
    ]
    names = ("survey", "question", "protocol", "epsilon", "received", "closed", "created")
    grid = PageTable(columns=names, rows=[[each[name] for name in names] for each in survey_rows])
    return Page(template="survey.html", data={"surveys": survey_rows}, table=grid)


def _survey_facts(context: RequestContext, survey: Survey) -> dict[str, Any]:
    """What everybody may know of a survey."""
    randomizer = survey.randomizer
    origin = context.settings.origin
    return {
        "survey": survey.id,
        "question": survey.question,
        "asker": survey.asker,
        "protocol": randomizer.protocol,
        "epsilon": exact.as_float(randomizer.epsilon, up=True),
        "epsilon_words": exact.show(randomizer.epsilon, up=True),
        "bytes": survey.report_width,
        "minimum": survey.minimum,
        "tokens": survey.token,
        "closed": survey.closed,
        "created": survey.created,
        "browser": randomizer.protocol not in NOT_IN_BROWSERS,
        "weak": randomizer.epsilon >= WEAK_EPSILON,
        "choices": list(getattr(randomizer, "choices", ())),
        "words": takes_words(randomizer),
        "link": f"{origin}/s/{survey.id}",
        "results_link": f"{origin}/s/{survey.id}/results",
        "again": periods_lines(survey),
        "loopback": context.settings.loopback,
    }


def form(context: RequestContext) -> HandlerResponse:
    """A form for a survey; once it says enough, how its answers would be noised, and why."""
    wish = _survey_wish(context.query)
    design_json, trouble, status = None, None, 200
    if context.query:
        try:
            design_json = _design_json(wish)
        except DiscreetError as problem:
            trouble, status = forms.form_error(problem)
    return _form(wish, design_json=design_json, trouble=trouble, status=status)


def _form(wish: dict[str, Any], *, design_json: Any = None, trouble: Any = None, status: int = 200) -> Page:
    data = {
        "wish": wish,
        "protocols": survey_protocols.protocol_groups(),
        "design": design_json,
        "trouble": trouble,
        "few": FEW,
    }
    return Page(template="survey_new.html", data=data, status=status)


def _survey_wish(texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    def one(name: str) -> str:
        return texts.get(name, ("",))[0].strip()

    return {
        "question": one("question"),
        "asker": one("asker"),
        "kind": one("kind") or "choices",
        "choices": one("choices"),
        "epsilon": forms.number_text(one("epsilon") if "epsilon" in texts else EPSILON, "epsilon"),
        **{name: forms.number_text(one(name), name) for name in ("low", "high", "step")},
        "protocol": one("protocol"),
        "minimum": one("minimum") or str(MINIMUM),
        "people": one("people") or str(EXPECTED_PEOPLE),
        "tokens": bool(one("tokens")),
        "every": one("every"),
        "donations": one("donations") or "1",
        "periods": one("periods") or str(DEFAULT_PERIODS),
        "coins": one("coins") or MEMOIZED,
    }


def _answers(wish: Mapping[str, Any]) -> AnswerDomain:
    """What an answer can be, as the form says; fields of another kind of answer count nothing."""
    match wish["kind"]:
        case "yes-no":
            return AnswerDomain(choices=("yes", "no"))
        case "choices":
            lines = (line.strip() for line in wish["choices"].splitlines())
            return AnswerDomain(choices=tuple(line for line in lines if line))
        case "number":
            return AnswerDomain(low=wish["low"], high=wish["high"], step=wish["step"])
        case "words":
            return AnswerDomain(words=True)
    raise UsageError("Choose what an answer can be: one of several choices, a number, or any word.")


def _make_survey(wish: Mapping[str, Any]) -> tuple[Survey, str]:
    """The survey that a form describes, not kept yet; and why its answers are noised so."""
    people = forms.whole_number(wish["people"], "the number of people", least=1, most=10**9)
    survey_design = design_randomizer(
        _answers(wish), epsilon=wish["epsilon"], protocol=wish["protocol"] or None, people=people
    )
    minimum = forms.whole_number(wish["minimum"], "the minimum number of reports", least=1, most=10**9)
    survey = Survey.new(
        wish["question"],
        survey_design.randomizer,
        minimum=minimum,
        token=wish["tokens"],
        asker=wish["asker"],
        periods=_periods(wish),
    )
    return survey, survey_design.because


def _periods(wish: Mapping[str, Any]) -> CollectionPeriods | None:
    """The periods that a form describes; None for a survey that each device answers once."""
    if not wish["every"]:
        return None
    return CollectionPeriods.beginning(
        time.time(),
        every=wish["every"],
        donations=forms.whole_number(wish["donations"], "the number of donations", least=1, most=MOST_DONATIONS),
        periods=forms.whole_number(wish["periods"], "the number of periods", least=1, most=MOST_PERIODS),
        coins=wish["coins"],
    )


def _design_json(wish: Mapping[str, Any]) -> dict[str, Any]:
    survey, because = _make_survey(wish)
    return {
        "protocol": survey.randomizer.protocol,
        "words": survey_protocols.protocol_words(survey.randomizer.protocol),
        "because": because.removesuffix("."),
        "epsilon": exact.as_float(survey.randomizer.epsilon, up=True),
        "epsilon_words": exact.show(survey.randomizer.epsilon, up=True),
        "bytes": survey.report_width,
        "again": periods_lines(survey),
        "browser": survey.randomizer.protocol not in NOT_IN_BROWSERS,
        "weak": survey.randomizer.epsilon >= WEAK_EPSILON,
        "few": survey.minimum < FEW,
        "choices": list(getattr(survey.randomizer, "choices", ()))[:LISTED],
        "more": max(0, len(getattr(survey.randomizer, "choices", ())) - LISTED),
    }


def make(context: RequestContext) -> HandlerResponse:
    """Make a survey."""
    wish = _survey_wish(context.form)
    try:
        survey, _ = _make_survey(wish)
        survey_host_of(context.handle).store.make(survey)
    except DiscreetError as problem:
        trouble, status = forms.form_error(problem)
        return _form(wish, trouble=trouble, status=status)
    return Redirect(to=f"/survey/{survey.id}")


def show(context: RequestContext) -> HandlerResponse:
    """A survey, and what its reports say so far: in steps of its minimum, so that no two looks differ by one report."""
    surveys = survey_host_of(context.handle)
    survey = surveys.find(context.params["survey"])
    words = list(dict.fromkeys(line.strip() for line in context.query_text("words").splitlines() if line.strip()))
    trouble, status, results = None, 200, surveys.results(survey)
    if words and takes_words(survey.randomizer):
        try:
            if len(words) > MOST_WORDS:
                raise UsageError(f"at most {MOST_WORDS:,} words can be estimated at once")
            with job_queue_of(context).pricing_turn(context.visitor):
                results = surveys.word_estimates(survey, words)
        except DiscreetError as problem:
            trouble, status = forms.form_error(problem)
    owner = context.visitor.may("owner")
    data = {
        **_survey_facts(context, survey),
        "results": {"waiting": False, **results},
        "lines": [_line(each) for each in results.get("estimates", ())],
        "period_lines": _period_rows(results),
        "period_charts": _period_charts(results),
        "trend_lines": _trend_rows(results),
        "asked": words[:MOST_WORDS],
        "chart": _chart(results),
        "enrolled": dict(zip(("given", "used"), surveys.store.tokens(survey.id), strict=True))
        if owner and survey.token
        else None,
        "trouble": trouble,
    }
    return Page(template="survey_one.html", data=data, table=_grid(results), status=status)


def _chart(results: Mapping[str, Any]) -> dict[str, Any] | None:
    """Shares in percent, with their intervals."""
    if not results.get("estimates"):
        return None
    bars = []
    for each in results["estimates"]:
        low, high = (None, None) if each["interval"] is None else (100 * end for end in each["interval"])
        text = percent(each["share"])
        bars.append({"label": each["choice"], "value": 100 * each["share"], "low": low, "high": high, "text": text})
    return {"chart": "bars", "title": "Estimated shares in percent", "bars": bars}


def _line(each: Mapping[str, Any]) -> list[str]:
    """An estimate, for people."""
    ends = DASH if each["interval"] is None else " to ".join(map(percent, each["interval"]))
    return [each["choice"], percent(each["share"]), ends]


def _period_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """A row for each period and choice, for people."""
    rows = []
    for period in results.get("periods", ()):
        head = [period["begin"], f"{period['n']:,}"]
        if period["waiting"]:
            rows.append([*head, DASH, "too few reports", DASH])
        elif "mean" in period:
            rows.append(
                [*head, "mean", f"{period['mean']:.5g}", " to ".join(f"{end:.5g}" for end in period["interval"])]
            )
        else:
            rows += [[*head, *_line(each)] for each in period["estimates"]]
    return rows


def _period_charts(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for each answer over the periods, with the band of its intervals; broken where a period waits.

    Bands that cover each other cannot be read: there is a chart for each of the first answers.
    """
    periods = results.get("periods", ())
    if sum(not each["waiting"] for each in periods) < 2:
        return []
    points: dict[str, list[dict[str, Any]]] = {}
    for each in periods:
        for label, *_ in _period_cells(each) if not each["waiting"] else ():
            points.setdefault(label, [])
    labels = list(points)[:MOST_PERIOD_CHARTS]
    for each in periods:
        cells = {} if each["waiting"] else {label: numbers for label, *numbers in _period_cells(each)}
        for label in labels:
            value, low, high = cells.get(label, (None, None, None))
            unit = 100 if label else 1
            numbers = [None if number is None else unit * number for number in (value, low, high)]
            points[label].append(dict(zip(("x", "value", "low", "high"), [each["period"], *numbers], strict=True)))
    return [
        {
            "chart": "lines",
            "title": f"{label or 'Mean'} by {results['every']}",
            "across": results["every"],
            "up": f"{label}, in percent" if label else "mean",
            "zero": bool(label),
            "series": [{"name": label or "mean", "points": points[label]}],
        }
        for label in labels
    ]


def _trend_rows(results: Mapping[str, Any]) -> list[list[str]]:
    """The slope of each answer and its intervals, for people."""
    rows = []
    for each in results.get("trends", ()):
        is_share = "choice" in each
        texts = [
            DASH if numbers is None else " to ".join(_signed(number, is_share) for number in numbers)
            for numbers in ((each["slope"],), each["interval"], each["population"])
        ]
        rows.append([each.get("choice", "mean"), *texts])
    return rows


def _signed(number: float, is_share: bool) -> str:
    """A change: of a share in percentage points."""
    return f"{100 * number:+.2f}" if is_share else f"{number:+.5g}"


def _grid(results: Mapping[str, Any]) -> PageTable | None:
    if "periods" in results:
        columns = ("period", "begin", "n", "choice", "estimate", "low", "high")
        rows = [
            [period["period"], period["begin"], period["n"], *cells]
            for period in results["periods"]
            if not period["waiting"]
            for cells in _period_cells(period)
        ]
        return PageTable(columns=columns, rows=rows)
    if "mean" in results:
        return PageTable(columns=("mean", "low", "high"), rows=[[results["mean"], *results["interval"]]])
    if "estimates" not in results:
        return None
    rows = [[each["choice"], each["share"], *(each["interval"] or (None, None))] for each in results["estimates"]]
    return PageTable(columns=("choice", "share", "low", "high"), rows=rows)


def _period_cells(period: Mapping[str, Any]) -> list[list[Any]]:
    if "mean" in period:
        return [["", period["mean"], *period["interval"]]]
    return [[each["choice"], each["share"], *(each["interval"] or (None, None))] for each in period["estimates"]]


def close(context: RequestContext) -> HandlerResponse:
    """Close a survey, for good."""
    surveys = survey_host_of(context.handle)
    survey = surveys.find(context.params["survey"])
    surveys.store.end(survey.id)
    return Redirect(to=f"/survey/{survey.id}")


def tokens(context: RequestContext) -> HandlerResponse:
    """Give out enrolment tokens. They are shown now, and never again."""
    surveys = survey_host_of(context.handle)
    survey = surveys.find(context.params["survey"])
    many = forms.whole_number(context.field("n"), "the number of tokens", least=1, most=MOST_TOKENS)
    made = enrol(surveys.store, survey, many)
    facts = _survey_facts(context, survey)
    data = {**facts, "codes": made, "links": [f"{facts['link']}#token={each}" for each in made], "most_qr": MOST_QR}
    return Page(template="survey_tokens.html", data=data)


def sheet(context: RequestContext) -> HandlerResponse:
    """A sheet to print, for respondents."""
    survey = survey_host_of(context.handle).find(context.params["survey"])
    return Page(template="survey_sheet.html", data=_survey_facts(context, survey))


def card(context: RequestContext) -> HandlerResponse:
    """The survey's card, as `survey card` writes it: what a device loses and who is trusted."""
    survey = survey_host_of(context.handle).find(context.params["survey"])
    about = About().completed(name=survey.question, curators=(survey.asker,) if survey.asker else ())
    shown = card_of_survey(
        survey,
        product=about.product(data_product_type="Summary statistics", day=survey.created[:10]),
        resources=about.resources,
        justification=NOT_STATED,
    )
    content = card_yaml.write(shown).encode()
    return Download(content=content, media_type="application/yaml", name=f"card-{survey.id}.yaml")


ROUTES = (
    Route(method="GET", path="/survey", handler=listing, role="analyst"),
    Route(method="GET", path="/survey/new", handler=form, role="owner"),
    Route(method="POST", path="/survey/new", handler=make, role="owner"),
    Route(method="POST", path="/survey/{survey}/close", handler=close, role="owner"),
    Route(method="POST", path="/survey/{survey}/tokens", handler=tokens, role="owner"),
    Route(method="GET", path="/survey/{survey}/sheet", handler=sheet, role="analyst"),
    Route(method="GET", path="/survey/{survey}/card", handler=card, role="analyst"),
    Route(method="GET", path="/survey/{survey}", handler=show, role="analyst"),
)
