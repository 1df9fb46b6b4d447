"""`discreet survey`: ask people who trust nobody. Their own devices add the noise."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import exact
from discreet.cli import survey_output, terminal
from discreet.cli.extras import require_extra
from discreet.cli.flags import HERE, Confidence, Folder, Json
from discreet.cli.verb_app import VerbApp
from discreet.errors import Flag, Message, Refused, UsageError

if TYPE_CHECKING:
    from discreet.surveys.collector.survey_store import SurveyStore

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
    survey = Survey.new(question, made.randomizer, minimum=minimum, token=tokens, asker=asker.strip())
    _store(store, project, make=True).make(survey)
    data, text = survey_output.new_output(survey, made.because)
    terminal.print_result(data, text, as_json=as_json)
    terminal.print_notes(survey_output.weak_protection_notes(made.randomizer.epsilon))


@survey_app.command()
def answer(
    id_: Id,
    value: Annotated[str, typer.Argument(help="The true answer. It does not leave this machine.")],
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
    if survey.randomizer.epsilon > MOST_UNCONFIRMED_EPSILON and lifetime is None:
        cost = exact.show(survey.randomizer.epsilon, up=True)
        raise UsageError(
            f"An answer would cost epsilon {cost}, which gives hardly any protection.",
            hint=Message(Flag("lifetime", "E"), " agrees to a total of up to E"),
        )
    given = Device(device or state_root() / "device").answer(
        survey.id, survey.randomizer, value, limit=limit, period=timedelta(days=period), lifetime=lifetime
    )
    report_text = report_document(survey, given.id, given.report, token=token)
    acknowledgement = None if dry_run else target.send(survey, report_text)
    data, text = survey_output.answer_output(survey, given, acknowledgement)
    terminal.print_result(data, text, as_json=as_json)


@survey_app.command()
def estimate(
    id_: Id,
    confidence: Confidence = "0.95",
    fakes: Annotated[
        int | None, typer.Option("--fakes", help="Show how far this many fake reports could move an estimate.")
    ] = None,
    words: Annotated[Path | None, typer.Option("--words", help="File of the words to estimate, one per line.")] = None,
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
    with terminal.progress("estimating"):
        level = float(exact.probability(confidence, name="confidence"))
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
