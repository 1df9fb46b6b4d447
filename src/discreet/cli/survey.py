"""`discreet survey`: ask people who trust nobody. Their own devices add the noise."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import exact
from discreet.cli import period_output, survey_output, terminal
from discreet.cli.extras import require_extra
from discreet.cli.flags import (
    HERE,
    CardAboutFile,
    CardDescription,
    CardIntendedUse,
    CardName,
    Confidence,
    Folder,
    Json,
)
from discreet.cli.verb_app import VerbApp
from discreet.errors import Flag, Message, Refused, UsageError

if TYPE_CHECKING:
    from discreet.surveys.collector.survey_definition import Survey
    from discreet.surveys.collector.survey_store import SurveyStore
    from discreet.surveys.protocols.collection_periods import CollectionPeriods

survey_app = VerbApp(
    no_args_is_help=True, help="Surveys by local differential privacy: answers are randomized before they are sent."
)

#: Beyond this epsilon an answer is not sent before its respondent has said how much may be lost.
MOST_UNCONFIRMED_EPSILON = 5

Id = Annotated[str, typer.Argument(metavar="ID", help="The survey's id.")]
StoreAddress = Annotated[
    str | None,
    typer.Option("--store", help="postgresql://user@host/database or a file. Default: the project's .discreet folder."),
]


@survey_app.command()
def new(
    question: Annotated[str, typer.Argument(help="The question for the respondents.")],
    choices: Annotated[str | None, typer.Option("--choices", help="Possible answers, separated by commas.")] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Epsilon that one answer costs its respondent: 1.1, or 'ln 3'.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="How answers are randomized. Default: the best protocol.")
    ] = None,
    asker: Annotated[str, typer.Option("--asker", help="Who asks; shown to respondents beside the question.")] = "",
    minimum: Annotated[int, typer.Option("--minimum", help="Do not estimate from fewer reports than this.")] = 20,
    tokens: Annotated[bool, typer.Option("--tokens", help="Require an enrolment token for each report.")] = False,
    low: Annotated[str | None, typer.Option("--low", help="Answers are numbers: the smallest.")] = None,
    high: Annotated[str | None, typer.Option("--high", help="Answers are numbers: the largest.")] = None,
    step: Annotated[str | None, typer.Option("--step", help="Answers are numbers: the grid.")] = None,
    words: Annotated[bool, typer.Option("--words", help="Answers can be any word.")] = False,
    people: Annotated[
        int, typer.Option("--people", help="Expected number of respondents; used to choose the protocol.", min=1)
    ] = 10000,
    every: Annotated[
        str | None, typer.Option("--every", help="Collect again and again: every hour, day or week.")
    ] = None,
    donations: Annotated[
        int | None, typer.Option("--donations", help="With --every: most donations of a device per period. Default: 1.")
    ] = None,
    periods: Annotated[
        int | None, typer.Option("--periods", help="With --every: number of periods. Default: 30.")
    ] = None,
    coins: Annotated[
        str | None,
        typer.Option("--coins", help="With --every: memoized (an answer is randomized once; default) or fresh."),
    ] = None,
    store: StoreAddress = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Create a survey. Reports which protocol was chosen, and why."""
    from discreet.surveys.collector.randomizer_design import FIXED_EPSILON, AnswerDomain, design_randomizer
    from discreet.surveys.collector.survey_definition import Survey

    if epsilon is None and protocol != FIXED_EPSILON:
        raise UsageError("Say how much epsilon one answer costs its respondent.", hint=Message(Flag("epsilon", 1.1)))
    listed = None if choices is None else tuple(choice.strip() for choice in choices.split(","))
    answers = AnswerDomain(choices=listed, low=low, high=high, step=step, words=words)
    made = design_randomizer(answers, epsilon=epsilon, protocol=protocol, people=people)
    again = _collection_periods(every, donations=donations, periods=periods, coins=coins)
    survey = Survey.new(question, made.randomizer, minimum=minimum, token=tokens, asker=asker.strip(), periods=again)
    _store(store, project, make=True).make(survey)
    data, text = survey_output.new_output(survey, made.because)
    terminal.print_result(data, text, as_json=as_json)
    terminal.print_notes(survey_output.weak_protection_notes(made.randomizer.epsilon))


def _collection_periods(
    every: str | None, *, donations: int | None, periods: int | None, coins: str | None
) -> CollectionPeriods | None:
    """The periods that the flags describe; None for a survey that each device answers once."""
    from discreet.surveys.protocols.collection_periods import DEFAULT_PERIODS, MEMOIZED, CollectionPeriods

    if every is None:
        for name, value in (("donations", donations), ("periods", periods), ("coins", coins)):
            if value is not None:
                raise UsageError(
                    f"{name} is only for surveys that are collected again and again.",
                    hint=Message(Flag("every", "day"), " makes one"),
                )
        return None
    return CollectionPeriods.beginning(
        time.time(),
        every=every,
        donations=1 if donations is None else donations,
        periods=DEFAULT_PERIODS if periods is None else periods,
        coins=MEMOIZED if coins is None else coins,
    )


@survey_app.command()
def answer(
    id_: Id,
    value: Annotated[
        str | None,
        typer.Argument(
            help="The true answer. It does not leave this machine. Without it: show what an answer would cost."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")] = False,
    url: Annotated[
        str | None, typer.Option("--url", help="URL of a collector. Default: the store on this machine.")
    ] = None,
    token: Annotated[str | None, typer.Option("--token", help="Enrolment token, if the survey needs one.")] = None,
    device: Annotated[
        Path | None,
        typer.Option("--device", help="Folder of the respondent's device. Default: one in the state folder."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", help="Your own limit on new answers per period.", min=1)
    ] = None,
    period: Annotated[float, typer.Option("--period", help="Length of the period in days.", min=0.001, max=36_500)] = 1,
    lifetime: Annotated[
        str | None, typer.Option("--lifetime", help="Your own limit on the epsilon of all answers ever.")
    ] = None,
    store: StoreAddress = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Randomize one answer, show what is sent, and send it. The same answer always gives the same bytes."""
    from discreet.ledger.filesystem import state_root
    from discreet.surveys.device.report_sender import CollectorTarget, ReportTarget, StoreTarget, report_document
    from discreet.surveys.device.respondent_device import Device

    target: ReportTarget = CollectorTarget(url) if url is not None else StoreTarget(_store(store, project))
    survey = target.survey(id_)
    if survey.closed:
        raise Refused("This survey is closed.")
    if survey.token and token is None:
        raise UsageError(
            "This survey needs an enrolment token.", hint=Message(Flag("token"), ", from the link that you were given")
        )
    if value is None:
        data, text = survey_output.terms_output(survey)
        terminal.print_result(data, text, as_json=as_json)
        return
    if lifetime is None:
        _require_agreement(survey)
    phone, days = Device(device or state_root() / "device"), timedelta(days=period)
    if survey.periods is None:
        given = phone.answer(survey.id, survey.randomizer, value, limit=limit, period=days, lifetime=lifetime)
        donated = None
    else:
        donated = phone.donate(
            survey.id, survey.randomizer, survey.periods, value, limit=limit, period=days, lifetime=lifetime
        )
        given = donated.donation
    report_text = report_document(survey, given.id, given.report, token=token)
    if donated is not None and not dry_run:
        phone.leaving(donated)
    acknowledgement = None if dry_run else target.send(survey, report_text)
    if donated is not None and acknowledgement is not None:
        phone.arrived(donated)
    data, text = survey_output.answer_output(survey, given, acknowledgement, donated)
    terminal.print_result(data, text, as_json=as_json)


def _require_agreement(survey: Survey) -> None:
    """What gives hardly any protection is not sent before its respondent has said how much may be lost."""
    total = survey.randomizer.epsilon if survey.periods is None else survey.periods.loss(survey.randomizer).survey
    if total <= MOST_UNCONFIRMED_EPSILON:
        return
    cost = exact.show(total, up=True)
    reason = (
        f"An answer would cost epsilon {cost}, which gives hardly any protection."
        if survey.periods is None
        else f"Over its {survey.periods.periods:,} periods this survey can cost this device epsilon {cost}, which "
        "gives hardly any protection."
    )
    raise UsageError(reason, hint=Message(Flag("lifetime", "E"), " agrees to a total of up to E"))


@survey_app.command()
def estimate(
    id_: Id,
    confidence: Confidence = "0.95",
    fakes: Annotated[
        int | None, typer.Option("--fakes", help="Show how far this many fake reports could move an estimate.")
    ] = None,
    words: Annotated[Path | None, typer.Option("--words", help="File of the words to estimate, one per line.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", help="period: estimate each period, and the changes between them.")
    ] = None,
    store: StoreAddress = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Estimate the answers from the reports, with intervals. Refused below the survey's minimum."""
    from discreet.surveys.collector.results import summary, takes_words, tally_survey

    kept = _store(store, project)
    survey = kept.survey(id_)
    word_list = None if words is None else survey_output.words_of(words)
    if word_list is None and takes_words(survey.randomizer):
        raise UsageError("This survey takes any word: list the words to estimate.", hint=Message(Flag("words", "FILE")))
    level = float(exact.probability(confidence, name="confidence"))
    if by not in (None, "period") or (by is not None and survey.periods is None):
        raise UsageError(
            "This survey has no periods: it is estimated as a whole."
            if by == "period"
            else f"An estimate can be by period, not by {str(by)[:40]!r}."
        )
    if survey.periods is not None:
        _estimate_periods(kept, survey, level, word_list, fakes, as_json=as_json)
        return
    with terminal.progress("estimating"):
        estimates = summary(survey, tally_survey(kept, survey), confidence=level, fakes=fakes, words=word_list)
    if estimates.get("waiting"):
        raise Refused(
            estimates.get("because")
            or f"{estimates['n']:,} reports are too few: this survey needs {survey.minimum:,} to be estimated.",
            hint="wait for more answers",
        )
    terminal.print_result(
        {"survey": survey.id, **estimates}, survey_output.estimate_lines(survey, estimates), as_json=as_json
    )


def _estimate_periods(
    store: SurveyStore, survey: Survey, confidence: float, words: list[str] | None, fakes: int | None, *, as_json: bool
) -> None:
    """Each period by itself, and the changes."""
    from discreet.surveys.collector.period_results import PeriodTallies, period_summary
    from discreet.surveys.collector.results import tally_new_reports

    if fakes is not None:
        raise UsageError("How far fake reports move an estimate is not computed for periods.")
    tallies = PeriodTallies(survey.randomizer)
    with terminal.progress("estimating"):
        tally_new_reports(store, survey, tallies)
        estimates = period_summary(survey, tallies, confidence=confidence, words=words)
    if all(each["waiting"] for each in estimates["periods"]):
        raise Refused(
            f"No period has enough reports yet: each needs {survey.minimum:,} to be estimated.",
            hint="wait for more answers",
        )
    terminal.print_result(
        {"survey": survey.id, **estimates}, period_output.period_lines(survey, estimates), as_json=as_json
    )


@survey_app.command()
def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 means all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 picks a free one.")] = 8000,
    rate: Annotated[
        float | None, typer.Option("--rate", help="Reports per second from one address; 0 means no limit.", min=0)
    ] = None,
    store: StoreAddress = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Serve the page for respondents, live results and the collector."""
    require_extra("survey", verb="survey serve")
    from discreet.surveys.collector.http_server import bind_socket, serve_collector, url_of

    kept = _store(store, project, make=True)
    with bind_socket(host, port) as listening:
        data, text = survey_output.serve_output(url_of(listening), kept.surveys())
        terminal.print_result(data, text, as_json=as_json)
        sys.stdout.flush()
        try:
            serve_collector(kept, listening, rate=rate)
        except KeyboardInterrupt:
            print("stopped; every acknowledged report is stored", file=sys.stderr)
        finally:
            kept.close()


@survey_app.command()
def close(id_: Id, store: StoreAddress = None, project: Folder = HERE, as_json: Json = False) -> None:
    """Close a survey permanently: it accepts no more reports."""
    kept = _store(store, project)
    kept.end(id_)
    reports = kept.count(id_)
    text = f"closed {id_} with {reports:,} reports, permanently"
    terminal.print_result({"survey": id_, "closed": True, "n": reports}, text, as_json=as_json)


@survey_app.command(short_help="Show a survey's card for the registry of deployments.")
def card(
    id_: Id,
    name: CardName = None,
    description: CardDescription = None,
    intended_use: CardIntendedUse = None,
    about: CardAboutFile = None,
    store: StoreAddress = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show a survey's card: what it costs its respondents and who is trusted, with the registry's keys."""
    from discreet.bundle import card_yaml
    from discreet.bundle.about import NOT_STATED, About
    from discreet.surveys.collector.survey_card import card_of_survey

    survey = _store(store, project).survey(id_)
    about_survey = About.from_flags(about, name=name, description=description, intended_use=intended_use)
    about_survey = about_survey.completed(name=survey.question, curators=(survey.asker,) if survey.asker else ())
    shown = card_of_survey(
        survey,
        product=about_survey.product(data_product_type="Summary statistics", day=survey.created[:10]),
        resources=about_survey.resources,
        justification=about_survey.justification or NOT_STATED,
    )
    terminal.print_result(shown, card_yaml.write(shown).splitlines(), as_json=as_json)


@survey_app.command(name="list")
def list_(store: StoreAddress = None, project: Folder = HERE, as_json: Json = False) -> None:
    """List the surveys."""
    kept = _store(store, project)
    data, text = survey_output.list_output([(survey, kept.count(survey.id)) for survey in kept.surveys()])
    terminal.print_result(data, text, as_json=as_json)


@survey_app.command()
def tokens(
    id_: Id,
    n: Annotated[int, typer.Option("-n", "--number", help="Number of tokens.", min=1, max=1_000_000)],
    url: Annotated[str, typer.Option("--url", help="URL where the survey is served, for the links.")] = "",
    store: StoreAddress = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Create enrolment tokens, each valid for one report. They are shown only once."""
    from discreet.surveys.collector.enrolment import enrol

    kept = _store(store, project)
    survey = kept.survey(id_)
    made = enrol(kept, survey, n)
    data: dict[str, Any] = {"survey": id_, "tokens": made}
    terminal.print_result(data, [f"{url.rstrip('/')}/s/{id_}#token={each}" for each in made], as_json=as_json)


def _store(place: str | None, project: Path, *, make: bool = False) -> SurveyStore:
    from discreet.surveys.collector.store_location import open_survey_store

    return open_survey_store(place, project, make=make)
