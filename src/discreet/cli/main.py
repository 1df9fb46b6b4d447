"""The command line: parses, calls the facade, prints. No arithmetic, no SQL.

Exit codes: 0 answered; 2 wrong usage; 3 refused; 4 budget exceeded; 5 ledger or store fault;
6 the charged query could not be completed; 130 stopped by the keyboard; 141 whoever read the output went away.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import __version__
from discreet.cli import interruption, standard_streams, terminal
from discreet.cli.anonymize import anonymize
from discreet.cli.attacks import attack_app
from discreet.cli.audit_group import audit_app
from discreet.cli.bounds import bounds
from discreet.cli.budget_group import budget_app
from discreet.cli.check import check
from discreet.cli.describe import describe
from discreet.cli.flags import HERE, Ignored, Json
from discreet.cli.graph import graph_app
from discreet.cli.histogram import histogram
from discreet.cli.infer import infer
from discreet.cli.ledger import ledger_app
from discreet.cli.listings import releases, tables
from discreet.cli.marginals import marginals
from discreet.cli.owner_verbs import add, forget, init, refresh, remove, retire
from discreet.cli.people import people_app
from discreet.cli.publish import publish
from discreet.cli.query import again, explain, query
from discreet.cli.ranges import ranges
from discreet.cli.reconcile import reconcile
from discreet.cli.rehearse import rehearse
from discreet.cli.release import release_app
from discreet.cli.sample_data import sample_data
from discreet.cli.serve import serve
from discreet.cli.stream import stream_app
from discreet.cli.survey import survey_app
from discreet.cli.synth import synth_app
from discreet.cli.verb_app import VerbApp, app_for
from discreet.engines.stop_signal import MakingStopped
from discreet.errors import BudgetExceeded, Command, DiscreetError, Flag, Message, Refused, UsageError
from discreet.ledger.receipts import collect_receipts

if TYPE_CHECKING:
    from discreet.engines.stop_signal import StopSignal

app = VerbApp(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Differential privacy: SQL, tables and synthetic data under a privacy budget.",
)
app.add_typer(budget_app, name="budget", short_help="Show limit, spent and remaining; `grant` raises a limit.")
app.add_typer(release_app, name="release", short_help="Write a release as a bundle; `verify` checks one.")
app.add_typer(stream_app, name="stream", short_help="Running totals of a table that grows, charged once.")
app.add_typer(ledger_app, name="ledger", short_help="The ledger: verify, show, unlock, back up or move it.")
app.add_typer(synth_app, name="synth", short_help="Synthetic data: fit a model, sample rows, inspect it.")
app.add_typer(survey_app, name="survey", short_help="Surveys whose answers are randomized before they are sent.")
app.add_typer(people_app, name="people")
app.add_typer(attack_app, name="attack", short_help="Attack weak protections, and measure how often they break.")
app.add_typer(graph_app, name="graph")
app.add_typer(audit_app, name="audit", short_help="Measure the epsilon of the installed code, or test queries.")


#: Stopped by the keyboard, as shells count it.
STOPPED = 130
#: Whoever read standard output closed it, as shells count it.
READER_GONE = 141
#: The root of what the parser raises; typer shows only its leaves.
_WRONG_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


#: For the list of verbs, whose lines are short; `VERB --help` tells the whole. Others fit as they are.
_SHORT = {
    "add": "Declare a table in discreet.toml: column names and types.",
    "tables": "List the declared tables, with version and budget.",
    "releases": "List what was released: when, what, for how much.",
    "refresh": "Make a new version of a table from its source.",
    "remove": "Remove a table before the first answer about its people.",
    "retire": "Take a table out of use; its releases stay.",
    "explain": "Show what a query would cost, and its expected error.",
    "rehearse": "Run a query on made-up rows, free: its error and price.",
    "again": "Make an earlier answer more precise.",
    "query": "Charge the budget and answer a query.",
    "demo": "Tour a generated clinic, until its budget runs out.",
    "sample-data": "Write generated tables with code books, to learn with.",
    "forget": "Erase a person from a table and tables that refer to it.",
    "bounds": "Find rows_per_person, bounds and values privately.",
    "describe": "Describe every column privately, for one price.",
    "ranges": "Answer ranges and quantiles of a column from one release.",
    "marginals": "Measure all tables of up to --order columns, consistently.",
    "infer": "Make noisy or published tables agree, and sample rows.",
    "serve": "Serve the console in a browser.",
}


def demo(
    keep: Annotated[
        Path | None, typer.Option("--keep", help="Leave the clinic's files and project in this folder.")
    ] = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Tour a generated clinic: an answer, a repeat, two disjoint groups, a budget that runs out."""
    from discreet.cli.demo import tour

    tour(call, keep=keep, as_json=as_json)


def version(project: Ignored = HERE, as_json: Json = False) -> None:
    """Print the version."""
    terminal.print_result({"version": __version__}, __version__, as_json=as_json)


# In the order of the help text, which begins with what one begins with.
for _verb_function in (
    *(
        init,
        add,
        tables,
        refresh,
        explain,
        rehearse,
        query,
        again,
        releases,
        demo,
        sample_data,
        version,
        remove,
        retire,
        forget,
        bounds,
        describe,
        histogram,
        ranges,
        marginals,
        publish,
    ),
    *(reconcile, infer, serve, anonymize, check),
):
    _verb_name = _verb_function.__name__.replace("_", "-")
    app.command(_verb_name, short_help=_SHORT.get(_verb_name))(_verb_function)
app.command("ask", hidden=True)(query)


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
    except MakingStopped as problem:
        standard_streams.print_stderr(problem.reason)
        return STOPPED
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
            hint=Message(Command(_verb(words), Flag("help", True))),
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
    except SystemExit as ended:  # of shell completion, which has printed everything
        return ended.code
    except MakingStopped:
        raise
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
_VERBS = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback} | {
    name for (name,) in _GROUPS if name
}


def _floats(amounts: dict[str, str | None]) -> dict[str, float | None]:
    return {name: None if text is None else float(text) for name, text in amounts.items()}
