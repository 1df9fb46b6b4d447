"""The verbs of a query: `discreet explain` prices it, free; `query`, also called `ask`, charges the budget and answers;
`again` makes an earlier answer more precise.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import discreet
from discreet.accounting.events import ReservationEvent
from discreet.cli import terminal
from discreet.cli.flags import (
    HERE,
    Analyst,
    AtMost,
    Best,
    Confidence,
    Delta,
    Epsilon,
    Folder,
    Fresh,
    GroupsPerPerson,
    Json,
    NoInterval,
    NoNull,
    Overwrite,
    RowsPerPersonPerGroup,
    ShareOfGroups,
    Within,
    require_one_price,
)
from discreet.cli.row_file import Format, OldCsv, OldParquet, Output, row_files
from discreet.errors import Command, Message, Statement, UsageError
from discreet.project.version_notes import changed_source_note

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.project.question import Question
    from discreet.release import Release


BatchFile = Annotated[
    Path | None, typer.Option("-f", "--file", help="File of several SQL statements, answered as one batch.")
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", help="With -f: how much each statement matters, such as 1,3,1. Default: all the same."),
]


def explain(
    sql: Annotated[str | None, typer.Argument(help="The SQL query.")] = None,
    file: BatchFile = None,
    epsilon: Epsilon = None,
    within: Within = None,
    share_of_groups: ShareOfGroups = None,
    at_most: AtMost = None,
    confidence: Confidence = "0.95",
    delta: Delta = None,
    groups_per_person: GroupsPerPerson = None,
    rows_per_person_per_group: RowsPerPersonPerGroup = None,
    no_interval: NoInterval = False,
    weight: Weight = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show what a query would cost, its expected error, and why. Free."""
    require_one_price(epsilon, within, share_of_groups=share_of_groups, at_most=at_most)
    opened_project = discreet.open(project)
    _require_one_source(sql, file, weight)
    terms: dict[str, Any] = {"epsilon": epsilon, "within": within, "confidence": confidence, "delta": delta}
    with terminal.with_owner_notes(opened_project):
        explanation = (
            opened_project.explain_batch(_read(file), **terms, weights=weight)
            if file is not None
            else opened_project.sql(
                sql or "", groups_per_person=groups_per_person, rows_per_person_per_group=rows_per_person_per_group
            ).explain(**terms, share_of_groups=share_of_groups, at_most=at_most, interval=not no_interval)
        )
    terminal.print_result(explanation.data, str(explanation), as_json=as_json)


def query(
    sql: Annotated[str | None, typer.Argument(help="The SQL query.")] = None,
    file: BatchFile = None,
    epsilon: Epsilon = None,
    within: Within = None,
    share_of_groups: ShareOfGroups = None,
    at_most: AtMost = None,
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    delta: Delta = None,
    groups_per_person: GroupsPerPerson = None,
    rows_per_person_per_group: RowsPerPersonPerGroup = None,
    weight: Weight = None,
    fresh: Fresh = False,
    best: Best = False,
    no_null: NoNull = False,
    no_interval: NoInterval = False,
    output: Output = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    csv: OldCsv = None,
    parquet: OldParquet = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Charge the budget and answer a query. `discreet ask` is the same verb."""
    require_one_price(epsilon, within, share_of_groups=share_of_groups, at_most=at_most)
    opened_project = discreet.open(project)
    files = row_files(output, format_, opened_project, overwrite=overwrite, csv=csv, parquet=parquet)
    _require_one_source(sql, file, weight)
    terms: dict[str, Any] = {"epsilon": epsilon, "within": within, "confidence": confidence, "delta": delta}
    terms["analyst"] = analyst
    if file is not None:
        if files or fresh:
            raise UsageError("a batch has several answers: --output and --fresh work only with a single query")
        if groups_per_person or rows_per_person_per_group:
            raise UsageError(
                "in a batch each query sets its own limits", hint="write -- groups per person: 5 before a query"
            )
        if share_of_groups is not None or at_most is not None or no_interval or (within or "").strip().endswith("%"):
            raise UsageError("--for, --at-most, --no-interval and a percentage work only with a single query")
        _answer_batch(opened_project, file, terms | {"weights": weight}, best=best, no_null=no_null, as_json=as_json)
        return
    assert sql is not None
    engines = terminal.engines_of(opened_project)
    with terminal.with_owner_notes(opened_project), terminal.progress("answering", engines=engines):
        question = opened_project.sql(
            sql, groups_per_person=groups_per_person, rows_per_person_per_group=rows_per_person_per_group
        )
        unmade = [] if analyst is not None else _unmade_tables(opened_project, question)
        release = question.ask(
            **terms, fresh=fresh, share_of_groups=share_of_groups, at_most=at_most, interval=not no_interval
        )
    release = release.without_null_groups() if no_null else release
    wrote = terminal.save_rows(release, files, best=best)
    data, notes = _answer_data(opened_project, question, release, analyst=analyst, with_best=best or as_json)
    first = [terminal.first_version_note(opened_project, name) for name in unmade]
    lines = terminal.answer_lines(release, opened_project.budget(release.table), best=best)
    terminal.print_result(data, [*lines, *wrote], as_json=as_json)
    terminal.print_notes([*first, *notes])


def _require_one_source(sql: str | None, file: Path | None, weight: str | None) -> None:
    """One query, or a file of them; weights are for the latter."""
    if (sql is None) == (file is None):
        raise UsageError(
            "give one query, or a file of queries with -f",
            hint=Message(Command("query", Statement("SELECT count(*) FROM t"))),
        )
    if weight is not None and file is None:
        raise UsageError("--weight works only with a file of queries")


def _answer_batch(
    project: Project, file: Path, terms: dict[str, Any], *, best: bool, no_null: bool, as_json: bool
) -> None:
    """Answer the statements of a file."""
    from discreet.answers.workload.statement_notes import statement_title
    from discreet.sql.query_text import split_statements

    with (
        terminal.with_owner_notes(project),
        terminal.progress("answering", engines=terminal.engines_of(project)),
    ):
        text = _read(file)
        unmade = _unmade_tables(project, *(project.sql(statement) for statement in split_statements(text)))
        answered = project.batch(text, **terms)
    releases = [release.without_null_groups() if no_null else release for release in answered]
    questions = [project.sql(statement) for statement in split_statements(text)]
    answers, notes = [], [terminal.first_version_note(project, name) for name in unmade]
    for question, release in zip(questions, releases, strict=True):
        data, changed = _answer_data(project, question, release, analyst=terms["analyst"], with_best=best or as_json)
        answers.append({"title": statement_title(question.query.text), **data})
        notes += changed
    terminal.print_result(
        _batch_data(project, answers, releases), _batch_lines(project, questions, releases, best=best), as_json=as_json
    )
    terminal.print_notes(notes)


def _batch_lines(project: Project, questions: list[Question], releases: list[Release], *, best: bool) -> list[Any]:
    """The answers of a batch for people, each under its title. What was measured as one has one price."""
    from discreet.answers.workload.statement_notes import statement_title
    from discreet.project.explained_batch import is_together, total_cost

    together = is_together(releases)
    lines: list[Any] = []
    for number, (question, release) in enumerate(zip(questions, releases, strict=True), start=1):
        lines += [*([""] if lines else []), f"{number}. {statement_title(question.query.text)}"]
        lines += (
            terminal.table_lines(release, best=best)
            if together
            else terminal.answer_lines(release, project.budget(release.table), best=best)
        )
    if not together:
        total = total_cost(releases)
        price = f"cost {total} in total" if any(not release.cached for release in releases) else "stored answers: free"
        return [*lines, "", f"All {len(releases):,} statements: {price}."]
    own = next(release for release in releases if isinstance(release.event, ReservationEvent))
    price = "stored answers: free" if own.cached else f"cost {total_cost(releases)} in total"
    legends = list(dict.fromkeys(map(terminal.legend_line, releases)))
    notes = dict.fromkeys(f"note: {warning}" for release in releases for warning in release.warnings)
    return [
        *lines,
        "",
        max(legends, key=len),
        *(terminal.best_legend(releases) if best else []),
        f"{price}; {terminal.spent_words(project.budget(own.table))}. Release {own.id}, version {own.version}.",
        f"measured together: {project.recall(own.id).about['words']}",
        *notes,
    ]


def _batch_data(project: Project, answers: list[dict[str, Any]], releases: list[Release]) -> dict[str, Any]:
    """The answers of a batch as JSON data, and what they cost together."""
    from discreet.project.explained_batch import is_together, total_cost

    own = next((release for release in releases if isinstance(release.event, ReservationEvent)), None)
    last = releases[-1]
    return {
        "answers": answers,
        "statements": answers,
        "cost": total_cost(releases).to_data(up=True),
        "spent": last.spent.to_data(up=True),
        "remaining": last.remaining.to_data(up=False),
        "strategy": "apart" if own is None else project.recall(own.id).about["words"],
        "together": is_together(releases),
    }


def _unmade_tables(project: Project, *questions: Question) -> list[str]:
    """The private tables of these questions whose first version an answer makes, and whose limit it fixes."""
    state = project.ledger.refresh()
    names = dict.fromkeys(scan.table for question in questions for scan in question.query.tables)
    private = [project.table(name) for name in names if not project.table(name).public]
    return [each.name for each in private if each.name not in state.versions and not state.is_fixed(each.population)]


def _answer_data(
    project: Project, question: Question, release: Release, *, analyst: str | None, with_best: bool
) -> tuple[dict[str, Any], list[str]]:
    """An answer as JSON data, and notes; both with what only the owner is told."""
    tables = [scan.table for scan in question.query.tables]
    changed = terminal.changed_since(release, project, tables, analyst=analyst)
    data = {**release.to_data(best=with_best), "source_changed": None if changed is None else bool(changed)}
    return data, [changed_source_note(name) for name in changed or ()]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"cannot read {str(file)!r}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{str(file)!r} is not UTF-8 text") from None


def again(
    release: Annotated[str, typer.Argument(help="An earlier release: r-…")],
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="How much more epsilon to spend on it.")] = None,
    within: Annotated[
        str | None, typer.Option("--within", help="Spend just enough for every number to be within ±W.")
    ] = None,
    confidence: Confidence = "0.95",
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Make an earlier answer more precise. Charged. You pay only the difference to what was paid, or for a new
    measurement that is combined with the earlier one, whichever costs the budget less.
    """
    opened_project = discreet.open(project)
    engines = terminal.engines_of(opened_project)
    with terminal.with_owner_notes(opened_project), terminal.progress("answering", engines=engines):
        answered = opened_project.again(release, epsilon=epsilon, within=within, confidence=confidence, analyst=analyst)
    terminal.print_result(
        answered.to_data(best=as_json),
        terminal.answer_lines(answered, opened_project.budget(answered.table)),
        as_json=as_json,
    )
