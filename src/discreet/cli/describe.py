"""`discreet describe`: a private profile of every column, its plan, its page, and what of it is declared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text

import discreet
from discreet import exact
from discreet.cli import terminal
from discreet.cli.confirmation import Yes
from discreet.cli.flags import (
    HERE,
    Analyst,
    Epsilon,
    Folder,
    Fresh,
    Json,
    Overwrite,
    refuse_overwriting,
    refuse_unwritable_output,
    refuse_unwritable_path,
)
from discreet.errors import Flag, Message, UsageError
from discreet.present.cell_text import DASH, cell_text, visible_text

if TYPE_CHECKING:
    from discreet.project.project import BudgetStatus, Project
    from discreet.tables.description.description import DescribedColumn, Description, NoisyNumber
    from discreet.tables.description.description_plan import DescriptionPlan

#: So many words of a column are shown, each of so many letters; the page and --json have them all.
_WORDS, _LETTERS = 4, 16

#: Heights of a small histogram.
_BLOCKS = "▁▂▃▄▅▆▇█"


def describe(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    epsilon: Epsilon = None,
    delta: Annotated[
        str | None,
        typer.Option("--delta", help="Delta of the guarantee; common words of text need one. 0: none."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show the price, the expected error and the rows it needs. Free.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it as an HTML page to this file.")
    ] = None,
    overwrite: Overwrite = False,
    write: Annotated[
        bool, typer.Option("--write", help="Write bounds and values that are not declared to discreet.toml.")
    ] = False,
    yes: Yes = False,
    analyst: Analyst = None,
    fresh: Fresh = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Describe every column privately: NULL, bounds, quantiles, words, a histogram. Charged once; a repeat is free."""
    from discreet.schema.project_file import NAME

    if epsilon is None:
        raise UsageError("say how much to spend", hint=Message(Flag("epsilon", 1)))
    if analyst is not None and (write or yes):
        raise UsageError("only the owner declares columns, not an analyst", hint=Message("leave out ", Flag("write")))
    opened_project = discreet.open(project)
    if plan:
        planned = opened_project.describe_plan(table, epsilon=epsilon, delta=delta)
        terminal.print_result(planned.to_data(), _plan_lines(planned), as_json=as_json)
        return
    if output is not None:
        refuse_unwritable_output(output, opened_project)
        refuse_overwriting(output, overwrite=overwrite)
    if write or yes:
        refuse_unwritable_path(opened_project.folder / NAME)
    with terminal.progress("measuring"):
        made = opened_project.describe(table, epsilon=epsilon, delta=delta, analyst=analyst, fresh=fresh)
    if output is not None:
        from discreet.tables.description.description_page import description_page

        with terminal.explain_write_failure("the page is"):
            output.write_text(description_page(made), encoding="utf-8")
    lines = [] if as_json else _lines(made, opened_project.budget(table))
    declared = opened_project.declare_described(made) if write or yes else None
    if declared is None and not as_json and analyst is None and _is_asked(made):
        terminal.print_result({}, lines, as_json=False)
        lines = []
        declared = opened_project.declare_described(made) if _agrees(made, opened_project) else None
    lines += [] if as_json else _declared_lines(made, declared)
    terminal.print_result({**made.to_data(), "declared": declared or []} if as_json else {}, lines, as_json=as_json)


def _is_asked(made: Description) -> bool:
    """Whether somebody sits at a terminal, and there is something to write."""
    return bool(made.settings) and sys.stdin.isatty() and sys.stderr.isatty()


def _agrees(made: Description, project: Project) -> bool:
    names = ", ".join(made.settings)
    return typer.confirm(f"Write what was found of {names} to discreet.toml?", err=True)


def _declared_lines(made: Description, declared: list[str] | None) -> list[str]:
    if declared:
        names = ", ".join(map(visible_text, declared))
        return [f"written to discreet.toml: {names}; run discreet refresh {made.table} to apply it"]
    if declared is None and made.settings:
        return [f"not declared yet: {', '.join(map(visible_text, made.settings))}; --write puts it into discreet.toml"]
    return [] if declared is None else ["everything that was found is declared already"]


def _plan_lines(planned: DescriptionPlan) -> list[Any]:
    data = planned.to_data()
    rich_table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in ("column", "type", "bounds or values", "a count", "median", "needs"):
        rich_table.add_column(name, justify="right" if name in ("a count", "median") else "left", no_wrap=True)
    words = {"declared": "declared", "bought": "bought", "words": "common words", "none": "not possible"}
    for each in data["columns"]:
        needs = []
        if each["rows_for_bounds"]:
            needs.append(f"{each['rows_for_bounds']:,} {'persons' if planned.unit_rows > 1 else 'rows'} for bounds")
        if each["least_persons"]:
            needs.append(f"{each['least_persons']:,} {'persons' if planned.has_persons else 'rows'} for a word")
        rich_table.add_row(
            Text(visible_text(each["column"])),
            each["type"],
            words[each["source"]],
            f"± {each['plus_minus']:,}",
            DASH if each["quantile_ranks"] is None else f"± {each['quantile_ranks']:,} ranks",
            ", ".join(needs),
        )
    persons = "" if data["persons_plus_minus"] is None else f", of persons ± {data['persons_plus_minus']:,}"
    return [
        rich_table,
        "",
        f"The number of rows: ± {data['rows_plus_minus']:,}{persons}. All at 95% confidence.",
        *(f"note: {note}" for note in data["notes"]),
        f"price: epsilon {exact.show(planned.epsilon, up=True)} in all; this plan charged nothing",
    ]


def _lines(made: Description, budget_status: BudgetStatus) -> list[Any]:
    rich_table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in ("column", "type", "NULL", "bounds", "5%", "25%", "50%", "75%", "95%", "histogram"):
        rich_table.add_column(name, justify="right" if name in ("NULL",) or "%" in name else "left", no_wrap=True)
    with_words = []
    for column in made.columns:
        bounds = DASH if column.low is None else f"{cell_text(column.low)} to {cell_text(column.high)}"
        if column.is_ordered and column.low is None:
            bounds = "not known"
        quantiles = [DASH if each.value is None else cell_text(each.value) for each in column.quantiles] or [DASH] * 5
        rich_table.add_row(
            Text(visible_text(column.name)),
            made_type(column),
            _null_text(column, made.rows),
            bounds,
            *quantiles,
            _small_histogram(column),
        )
        if not column.is_ordered:
            with_words.append(f"{visible_text(column.name)}: {_values_text(column, made.rows)}")
    persons = "" if made.persons is None else f", {_number_text(made.persons)} persons"
    price = "stored release: free" if made.cached else f"cost {made.cost}"
    return [
        f"{made.table}: {_number_text(made.rows)} rows{persons}",
        "",
        rich_table,
        "",
        *with_words,
        "· in a histogram, and <: below noise. 95% intervals of all numbers are in the page (-o) and in --json.",
        f"{price}; {terminal.spent_words(budget_status)}. Release {made.release}, version {made.version}.",
        *(f"note: {note}" for note in (*made.notes, *(note for each in made.columns for note in each.notes))),
    ]


def made_type(column: DescribedColumn) -> str:
    """Its type, as discreet.toml has it."""
    from discreet.schema.column import type_name

    return type_name(column.column)


def _number_text(number: NoisyNumber) -> str:
    if number.value is None:
        return f"at most {number.high:,} (below noise)"
    return f"{number.value:,} ± {number.plus_minus:,}"


def _null_text(column: DescribedColumn, rows: NoisyNumber) -> str:
    from discreet.tables.description.description import share_limit

    if column.nulls is None:
        return "none"
    if rows.value is None:
        return DASH
    if column.nulls.value is None:
        return f"< {share_limit(column.nulls, rows)}"
    return f"{min(1.0, column.nulls.value / rows.value):.1%}"


def _values_text(column: DescribedColumn, rows: NoisyNumber) -> str:
    """The most common values, with their shares."""
    from discreet.tables.description.description import share_of

    common = column.common
    if not common:
        return "no value is above the noise" if column.cells else "words are not known"
    parts = []
    for cell in common[:_WORDS]:
        share = share_of(cell.number, rows)
        word = visible_text(cell_text(column.shown(cell)))
        word = word if len(word) <= _LETTERS else f"{word[: _LETTERS - 1]}…"
        parts.append(word if share is None else f"{word} {share:.1%}")
    hidden = len(column.cells) - len(common[:_WORDS])
    return ", ".join(parts) + (f", and {hidden:,} more" if hidden else "")


def _small_histogram(column: DescribedColumn) -> str:
    numbers = [cell.number for cell in column.cells][:32]
    most = max((number.noisy_value for number in numbers), default=0)
    return "".join(
        "·" if number.is_below_noise else _BLOCKS[min(7, 8 * number.noisy_value // (most + 1))] for number in numbers
    )
