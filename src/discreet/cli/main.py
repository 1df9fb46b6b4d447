"""The command line: parses, calls the facade, prints. No arithmetic, no SQL.

Exit codes: 0 answered; 2 wrong usage; 3 refused; 4 budget exceeded; 5 ledger or store fault;
6 the charged query could not be completed; 130 stopped by the keyboard; 141 whoever read the output went away.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import __version__
from discreet.cli import interruption, standard_streams, terminal
from discreet.cli.anonymize import anonymize
from discreet.cli.attacks import attack_app
from discreet.cli.audit import audit
from discreet.cli.bounds import bounds
from discreet.cli.called_verb import app_for
from discreet.cli.check import check
from discreet.cli.flags import (
    HERE,
    Analyst,
    Confidence,
    Delta,
    Epsilon,
    Folder,
    Ignored,
    Json,
    Within,
    refuse_unwritable_output,
    require_one_price,
)
from discreet.cli.graph import graph_app
from discreet.cli.histogram import histogram
from discreet.cli.ledger import ledger_app
from discreet.cli.marginals import marginals
from discreet.cli.owner_verbs import add, forget, init, refresh
from discreet.cli.people import people_app
from discreet.cli.publish import publish
from discreet.cli.ranges import ranges
from discreet.cli.reconcile import reconcile
from discreet.cli.release import release
from discreet.cli.serve import serve
from discreet.cli.survey import survey_app
from discreet.cli.synth import synth_app
from discreet.errors import BudgetExceeded, DiscreetError, Refused, UsageError
from discreet.ledger.receipts import collect_receipts

if TYPE_CHECKING:
    from discreet.engines.stop_signal import StopSignal
    from discreet.project.project import Project

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Differential privacy: SQL, tables and synthetic data under a privacy budget.",
)
app.add_typer(ledger_app, name="ledger", short_help="The ledger: verify, list, unlock, back up or move it.")
app.add_typer(synth_app, name="synth", short_help="Synthetic data: fit a model, sample rows, inspect it.")
app.add_typer(survey_app, name="survey", short_help="Surveys whose answers are randomized before they are sent.")
app.add_typer(people_app, name="people")
app.add_typer(attack_app, name="attack", short_help="Attack weak protections, and measure how often they break.")
app.add_typer(graph_app, name="graph")


#: Stopped by the keyboard, as shells count it.
STOPPED = 130
#: Whoever read standard output closed it, as shells count it.
READER_GONE = 141
#: The root of what the parser raises; typer shows only its leaves.
_WRONG_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


#: For the list of verbs, whose lines are short; `VERB --help` tells the whole. Others fit as they are.
_SHORT = {
    "add": "Declare a table in discreet.toml: column names and types.",
    "refresh": "Make a new version of a table from its source.",
    "explain": "Show what a query would cost, and its expected error.",
    "again": "Measure an earlier query again and combine the answers.",
    "budget": "Show limit, spent and remaining; `grant` raises a limit.",
    "demo": "Tour a generated clinic, until its budget runs out.",
    "forget": "Erase a person from a table and tables that refer to it.",
    "bounds": "Find rows_per_person, bounds and values privately.",
    "ranges": "Answer ranges and quantiles of a column from one release.",
    "marginals": "Measure all tables of up to --order columns, consistently.",
    "release": "Write a release as a bundle; `verify` checks one.",
    "serve": "Serve the console in a browser.",
    "audit": "Measure the epsilon of the installed code.",
}

for _of_the_owner in (init, add, refresh):
    app.command(short_help=_SHORT.get(_of_the_owner.__name__))(_of_the_owner)


@app.command(short_help=_SHORT["explain"])
def explain(
    sql: Annotated[str, typer.Argument(help="The SQL query.")],
    epsilon: Epsilon = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    delta: Delta = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show what a query would cost, its expected error, and why. Free."""
    import discreet

    require_one_price(epsilon, within)
    opened_project = discreet.open(project)
    with _with_owner_notes(opened_project):
        explanation = opened_project.sql(sql).explain(
            epsilon=epsilon, within=within, confidence=confidence, delta=delta
        )
    terminal.print_result(explanation.data, str(explanation), as_json=as_json)


@app.command()
def query(
    sql: Annotated[str | None, typer.Argument(help="The SQL query.")] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="File of several SQL statements, answered as one batch.")
    ] = None,
    epsilon: Epsilon = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    delta: Delta = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore the stored answer; draw new noise and charge again.")
    ] = False,
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write the rows to this CSV file.")] = None,
    parquet: Annotated[Path | None, typer.Option("--parquet", help="Also write the rows to this Parquet file.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Charge the budget and answer a query."""
    import discreet

    require_one_price(epsilon, within)
    opened_project = discreet.open(project)
    for path in (csv, parquet):
        refuse_unwritable_output(path, opened_project)
    if (sql is None) == (file is None):
        raise UsageError("give one query, or a file of queries with -f", hint='discreet query "SELECT count(*) FROM t"')
    if file is not None:
        if csv is not None or parquet is not None or fresh:
            raise UsageError("a batch has several answers: --csv, --parquet and --fresh work only with a single query")
        with _with_owner_notes(opened_project), terminal.progress("answering", engines=_engines(opened_project)):
            releases = opened_project.batch(
                _read(file), epsilon=epsilon, within=within, confidence=confidence, delta=delta, analyst=analyst
            )
        parts = [
            part
            for release in releases
            for part in terminal.answer_lines(release, opened_project.budget(release.table))
        ]
        terminal.print_result({"answers": [release.to_data() for release in releases]}, parts, as_json=as_json)
        return
    assert sql is not None
    with _with_owner_notes(opened_project), terminal.progress("answering", engines=_engines(opened_project)):
        release = opened_project.sql(sql).ask(
            epsilon=epsilon, within=within, confidence=confidence, delta=delta, analyst=analyst, fresh=fresh
        )
    terminal.save_rows(release, csv=csv, parquet=parquet)
    terminal.print_result(
        release.to_data(), terminal.answer_lines(release, opened_project.budget(release.table)), as_json=as_json
    )


@app.command(short_help=_SHORT["again"])
def again(
    release: Annotated[str, typer.Argument(help="An earlier release: r-…")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="How much more privacy loss to spend on it.")],
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Measure an earlier query again and combine the answers. Charged."""
    import discreet

    opened_project = discreet.open(project)
    with _with_owner_notes(opened_project), terminal.progress("answering", engines=_engines(opened_project)):
        answered = opened_project.again(release, epsilon=epsilon, confidence=confidence, analyst=analyst)
    terminal.print_result(
        answered.to_data(), terminal.answer_lines(answered, opened_project.budget(answered.table)), as_json=as_json
    )


@app.command(short_help=_SHORT["budget"])
def budget(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE] | grant TABLE", help="A table. Default: all tables.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="With grant: the new limit.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="With grant: the new delta.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show limit, spent and remaining. `budget grant TABLE --epsilon E` raises a limit to E."""
    import discreet
    from discreet.project.budget import limit_difference, outdated_budget_line

    opened_project = discreet.open(project)
    arguments = list(words or [])
    granting = arguments[:1] == ["grant"]
    if granting:
        if len(arguments) != 2 or epsilon is None:
            raise UsageError(
                "budget grant needs a table and a new limit",
                hint="discreet budget grant patients --epsilon 5",
            )
        opened_project.grant(arguments[1], epsilon=epsilon, delta=delta)
        arguments = arguments[1:]
    elif epsilon is not None or delta is not None or len(arguments) > 1:
        raise UsageError(
            "--epsilon and --delta work only with budget grant, and only one table can be named",
            hint="discreet budget grant patients --epsilon 5",
        )
    names = [opened_project.table(name).name for name in arguments] or [
        name for name, table in opened_project.file.tables.items() if not table.public and table.budget is not None
    ]
    data, text = terminal.budgets_output({name: opened_project.budget(name) for name in names})
    lines = [
        line
        for name in names
        if granting and (line := outdated_budget_line(opened_project.ledger_table(name), opened_project.ledger))
    ]
    differences = [
        limit_difference(opened_project.ledger_table(name), opened_project.ledger) for name in names if lines
    ]
    terminal.print_notes([note for name in names for note in opened_project.warnings(name) if note not in differences])
    terminal.print_result(
        data, [*text, *(f"  also write it to discreet.toml: {line}" for line in lines)], as_json=as_json
    )


@app.command(short_help=_SHORT["demo"])
def demo(project: Ignored = HERE, as_json: Json = False) -> None:
    """Tour a generated clinic: an answer, a repeat, two disjoint groups, a budget that runs out."""
    from discreet.cli.demo import tour

    tour(call, as_json=as_json)


@app.command()
def version(project: Ignored = HERE, as_json: Json = False) -> None:
    """Print the version."""
    terminal.print_result({"version": __version__}, __version__, as_json=as_json)


# After those above, so that help begins with what one begins with.
for _verb_of_its_own in (
    forget,
    bounds,
    histogram,
    ranges,
    marginals,
    publish,
    reconcile,
    release,
    serve,
    anonymize,
    check,
    audit,
):
    app.command(short_help=_SHORT.get(_verb_of_its_own.__name__))(_verb_of_its_own)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"cannot read {str(file)!r}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{str(file)!r} is not UTF-8 text") from None


def _engines(project: Project) -> list[str]:
    """Where tables of a project lie."""
    return [table.engine for table in project.file.tables.values()]


@contextmanager
def _with_owner_notes(project: Project) -> Iterator[None]:
    """Tell the owner what has changed, whether the question is answered or refused."""
    try:
        yield
    finally:
        private = [name for name, table in project.file.tables.items() if not table.public]
        terminal.print_notes([note for name in private for note in project.warnings(name)])


def call(words: list[str]) -> int:
    """Run the command line; return the exit code."""
    standard_streams.prepare()
    if words in (["--version"], ["-V"]):
        words = ["version"]
    as_json = "--json" in words
    with collect_receipts() as receipts:
        return _run_verb(words, receipts, as_json=as_json)


def _run_verb(words: list[str], receipts: list[str], *, as_json: bool) -> int:
    """Run a verb, and tell what stopped it. `receipts`: the charges that it asked for."""
    try:
        with interruption.stop_on_interrupt() as stop:
            code = _unless_stopped(stop, words)
        with standard_streams.flush_or_raise():  # what a verb printed by itself
            pass
    except standard_streams.OutputLost as problem:
        charges = interruption.charges_line(words, receipts)
        standard_streams.print_stderr(f"{problem.reason}{charges}\n  try: {interruption.retry_hint(words)}")
        return problem.exit_code
    except DiscreetError as problem:
        terminal.print_failure(problem, failure_data(problem), as_json=as_json)
        return problem.exit_code
    except _WRONG_USAGE as problem:
        if not words or words in _GROUPS:  # no verb: the message is the help text
            with suppress(standard_streams.OutputLost, standard_streams.ReaderGone), standard_streams.flush_or_raise():
                print(problem.format_message())
            return 2
        wrong = UsageError(
            problem.format_message().strip() or "a verb is missing",
            hint=f"discreet {_verb(words)} --help".replace("  ", " "),
        )
        terminal.print_failure(wrong, failure_data(wrong), as_json=as_json)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except standard_streams.ReaderGone:
        return READER_GONE
    except Exception as problem:  # a defect of ours: its text could hold anything, so it is not shown
        if os.environ.get("DISCREET_DEBUG"):
            raise
        charges = interruption.charges_line(words, receipts)
        defect = DiscreetError(
            f"internal error ({type(problem).__name__}){charges}",
            hint="the owner can set DISCREET_DEBUG=1 to see where",
        )
        terminal.print_failure(defect, failure_data(defect), as_json=as_json)
        return defect.exit_code
    if code == STOPPED:
        standard_streams.print_stderr(f"stopped{interruption.charges_line(words, receipts)}")
    return code if isinstance(code, int) else 0


def _unless_stopped(stop: StopSignal, words: list[str]) -> Any:
    """What the verb returns; an error that comes of being stopped by the keyboard is told as that."""
    try:
        return app_for(app, words)(words, standalone_mode=False, prog_name="discreet")  # an Exit inside is returned
    except Exception:
        if stop.is_requested:
            return STOPPED
        raise


def failure_data(problem: DiscreetError) -> dict[str, Any]:
    """An error as JSON data; the keys of a refusal are a contract."""
    data: dict[str, Any] = {"accepted": False, "reason": problem.reason, "hint": problem.hint}
    if isinstance(problem, Refused):
        data |= {"line": problem.line, "column": problem.column}
    if isinstance(problem, BudgetExceeded):
        data |= {"needed": _floats(problem.needed), "remaining": _floats(problem.remaining)}
    return data


def _verb(words: list[str]) -> str:
    """As much of what was typed as is a verb."""
    if not words or words[0] not in _VERBS:
        return ""
    return " ".join(words[:2]) if words[1:2] and words[1] in _PARTS.get(words[0], ()) else words[0]


#: Verbs that are only the beginning of one.
_GROUPS = [[group.name] for group in app.registered_groups]
_PARTS = {
    group.name: {
        command.name or command.callback.__name__
        for command in group.typer_instance.registered_commands
        if command.callback
    }
    for group in app.registered_groups
    if group.name and group.typer_instance
}
_VERBS = {command.callback.__name__ for command in app.registered_commands if command.callback} | {
    name for (name,) in _GROUPS if name
}


def _floats(amounts: dict[str, str | None]) -> dict[str, float | None]:
    return {name: None if text is None else float(text) for name, text in amounts.items()}
