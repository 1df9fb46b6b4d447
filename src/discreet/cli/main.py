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
from discreet.cli import show, stopped, streams
from discreet.cli.anonymize import anonymize
from discreet.cli.attacks import attack_app
from discreet.cli.audit import audit
from discreet.cli.bounds import bounds
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
    one_of,
    writable,
)
from discreet.cli.graph import graph_app
from discreet.cli.histogram import histogram
from discreet.cli.ledger import ledger_app
from discreet.cli.marginals import marginals
from discreet.cli.owning import add, forget, init, refresh
from discreet.cli.people import people_app
from discreet.cli.publish import publish
from discreet.cli.ranges import ranges
from discreet.cli.reconcile import reconcile
from discreet.cli.release import release
from discreet.cli.serve import serve
from discreet.cli.survey import survey_app
from discreet.cli.synth import synth_app
from discreet.errors import BudgetExceeded, DiscreetError, Refused, UsageError
from discreet.ledger.receipts import collected

if TYPE_CHECKING:
    from discreet.api import Project
    from discreet.engines.stopping import Stop

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Learn about the many without learning about the one.",
)
app.add_typer(ledger_app, name="ledger", short_help="The ledger: check, list, unlock, back up, move it.")
app.add_typer(synth_app, name="synth", short_help="Synthetic data: fit a model, sample rows, inspect it.")
app.add_typer(survey_app, name="survey", short_help="Surveys whose answers are noised before they are sent.")
app.add_typer(people_app, name="people")
app.add_typer(attack_app, name="attack", short_help="Break what does not protect, and see how often.")
app.add_typer(graph_app, name="graph")


#: Stopped by the keyboard, as shells count it.
STOPPED = 130
#: Whoever read standard output closed it, as shells count it.
READER_GONE = 141
#: The root of what the parser raises; typer shows only its leaves.
_WRONG_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


#: For the list of verbs, whose lines are short; `VERB --help` tells the whole. Others fit as they are.
_SHORT = {
    "add": "Declare a table: its names and types, in discreet.toml.",
    "refresh": "Make a new version of a table from its source.",
    "explain": "What a question would cost, and how exact it would be.",
    "again": "Measure an earlier question once more, and combine.",
    "budget": "Limit, spent and remaining; `grant` raises a limit.",
    "demo": "The tour: a generated clinic, until its budget runs out.",
    "forget": "Erase a person from a table and those reached through it.",
    "bounds": "Buy rows_per_person, bounds and values privately.",
    "ranges": "Intervals and quantiles of a column from one release.",
    "marginals": "All tables of up to --order columns, consistent.",
    "release": "Write a release as a bundle; `verify` checks one.",
    "serve": "Serve the console in a browser.",
    "audit": "Measure the epsilon of what is installed.",
}

for _of_the_owner in (init, add, refresh):
    app.command(short_help=_SHORT.get(_of_the_owner.__name__))(_of_the_owner)


@app.command(short_help=_SHORT["explain"])
def explain(
    sql: Annotated[str, typer.Argument(help="The question.")],
    epsilon: Epsilon = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    delta: Delta = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Say what a question would cost, how exact it would be, and why. Free."""
    import discreet

    one_of(epsilon, within)
    found = discreet.open(project)
    with _noted(found):
        told = found.sql(sql).explain(epsilon=epsilon, within=within, confidence=confidence, delta=delta)
    show.out(told.data, str(told), as_json=as_json)


@app.command()
def query(
    sql: Annotated[str | None, typer.Argument(help="The question.")] = None,
    file: Annotated[Path | None, typer.Option("-f", "--file", help="Several statements, as one batch.")] = None,
    epsilon: Epsilon = None,
    within: Within = None,
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    delta: Delta = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Draw anew, and pay, even if it was answered before.")] = False,
    csv: Annotated[Path | None, typer.Option("--csv", help="Also write the rows here.")] = None,
    parquet: Annotated[Path | None, typer.Option("--parquet", help="Also write the rows here.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Charge the budget and answer."""
    import discreet

    one_of(epsilon, within)
    found = discreet.open(project)
    for path in (csv, parquet):
        writable(path, found)
    if (sql is None) == (file is None):
        raise UsageError("ask one question, or a batch with -f", hint='discreet query "SELECT count(*) FROM t"')
    if file is not None:
        if csv is not None or parquet is not None or fresh:
            raise UsageError("a batch has several answers: --csv, --parquet and --fresh go with one question")
        with _noted(found), show.progress("asking", engines=_engines(found)):
            releases = found.batch(
                _read(file), epsilon=epsilon, within=within, confidence=confidence, delta=delta, analyst=analyst
            )
        parts = [part for release in releases for part in show.answer(release, found.budget(release.table))]
        show.out({"answers": [release.to_data() for release in releases]}, parts, as_json=as_json)
        return
    assert sql is not None
    with _noted(found), show.progress("asking", engines=_engines(found)):
        release = found.sql(sql).ask(
            epsilon=epsilon, within=within, confidence=confidence, delta=delta, analyst=analyst, fresh=fresh
        )
    show.save(release, csv=csv, parquet=parquet)
    show.out(release.to_data(), show.answer(release, found.budget(release.table)), as_json=as_json)


@app.command(short_help=_SHORT["again"])
def again(
    release: Annotated[str, typer.Argument(help="An earlier release: r-…")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="How much more to spend on it.")],
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Measure an earlier question once more and combine the answers. Charged."""
    import discreet

    found = discreet.open(project)
    with _noted(found), show.progress("asking", engines=_engines(found)):
        answered = found.again(release, epsilon=epsilon, confidence=confidence, analyst=analyst)
    show.out(answered.to_data(), show.answer(answered, found.budget(answered.table)), as_json=as_json)


@app.command(short_help=_SHORT["budget"])
def budget(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[TABLE] | grant TABLE", help="A table, else all.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="With grant: the new limit.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="With grant: the new delta.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Limit, spent and remaining; `budget grant TABLE --epsilon E` raises a limit to E."""
    import discreet
    from discreet.standing import difference, lag

    found = discreet.open(project)
    asked = list(words or [])
    granting = asked[:1] == ["grant"]
    if granting:
        if len(asked) != 2 or epsilon is None:
            raise UsageError(
                "budget grant needs a table and a new limit",
                hint="discreet budget grant patients --epsilon 5",
            )
        found.grant(asked[1], epsilon=epsilon, delta=delta)
        asked = asked[1:]
    elif epsilon is not None or delta is not None or len(asked) > 1:
        raise UsageError("--epsilon goes with grant", hint="discreet budget grant patients --epsilon 5")
    names = [found.table(name).name for name in asked] or [
        name for name, table in found.file.tables.items() if not table.public and table.budget is not None
    ]
    data, text = show.budgets({name: found.budget(name) for name in names})
    lines = [line for name in names if granting and (line := lag(found.held(name), found.ledger))]
    known = [difference(found.held(name), found.ledger) for name in names if lines]
    show.notes([note for name in names for note in found.warnings(name) if note not in known])
    show.out(data, [*text, *(f"  write it into discreet.toml too: {line}" for line in lines)], as_json=as_json)


@app.command(short_help=_SHORT["demo"])
def demo(project: Ignored = HERE, as_json: Json = False) -> None:
    """The tour: a generated clinic, an answer, a repeat, a disjoint pair, a budget running out."""
    from discreet.cli.demo import tour

    tour(call, as_json=as_json)


@app.command()
def version(project: Ignored = HERE, as_json: Json = False) -> None:
    """Print the version."""
    show.out({"version": __version__}, __version__, as_json=as_json)


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
def _noted(project: Project) -> Iterator[None]:
    """Tell the owner what has changed, whether the question is answered or refused."""
    try:
        yield
    finally:
        private = [name for name, table in project.file.tables.items() if not table.public]
        show.notes([note for name in private for note in project.warnings(name)])


def call(words: list[str]) -> int:
    """Run the command line; return the exit code."""
    streams.prepare()
    if words in (["--version"], ["-V"]):
        words = ["version"]
    as_json = "--json" in words
    with collected() as receipts:
        return _called(words, receipts, as_json=as_json)


def _called(words: list[str], receipts: list[str], *, as_json: bool) -> int:
    """Run a verb, and tell what stopped it. `receipts`: the charges that it asked for."""
    try:
        with stopped.by_keyboard() as stop:
            code = _unless_stopped(stop, words)
        with streams.delivered():  # what a verb printed by itself
            pass
    except streams.OutputLost as problem:
        charges = stopped.charged(words, receipts)
        streams.say(f"{problem.reason}{charges}\n  try: {stopped.way_back(words)}")
        return problem.exit_code
    except DiscreetError as problem:
        show.failure(problem, failure_data(problem), as_json=as_json)
        return problem.exit_code
    except _WRONG_USAGE as problem:
        if not words or words in _GROUPS:  # no verb: the message is the help text
            with suppress(streams.OutputLost, streams.ReaderGone), streams.delivered():
                print(problem.format_message())
            return 2
        wrong = UsageError(
            problem.format_message().strip() or "a verb is missing",
            hint=f"discreet {_verb(words)} --help".replace("  ", " "),
        )
        show.failure(wrong, failure_data(wrong), as_json=as_json)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except streams.ReaderGone:
        return READER_GONE
    except Exception as problem:  # a defect of ours: its text could hold anything, so it is not shown
        if os.environ.get("DISCREET_DEBUG"):
            raise
        charges = stopped.charged(words, receipts)
        defect = DiscreetError(
            f"something went wrong that should not have ({type(problem).__name__}){charges}",
            hint="DISCREET_DEBUG=1 shows the owner where",
        )
        show.failure(defect, failure_data(defect), as_json=as_json)
        return defect.exit_code
    if code == STOPPED:
        streams.say(f"stopped{stopped.charged(words, receipts)}")
    return code if isinstance(code, int) else 0


def _unless_stopped(stop: Stop, words: list[str]) -> Any:
    """What the verb returns; an error that comes of being stopped by the keyboard is told as that."""
    try:
        return app(words, standalone_mode=False, prog_name="discreet")  # an Exit inside is returned
    except Exception:
        if stop.pulled:
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
