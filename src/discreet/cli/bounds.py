"""`discreet bounds`: what it prints."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text as RichText

import discreet
from discreet import exact
from discreet.cli import terminal
from discreet.cli.flags import refuse_unwritable_path
from discreet.errors import Flag, Message, UsageError
from discreet.present.cell_text import DASH

if TYPE_CHECKING:
    from discreet.answers.bounds import Bias, BoughtBounds
    from discreet.answers.bounds.truncation import LimitEffect, Truncation

#: What an interval is.
CONFIDENT = "Intervals are 95% confidence intervals of the added noise."

#: More values than this are cut on a screen.
MOST_VALUES = 12


def bounds(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    columns: Annotated[
        list[str] | None, typer.Argument(help="Columns, or rows_per_person. Default: everything that is not declared.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="How much privacy loss to spend.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Delta for finding the values of text columns.")] = None,
    cells: Annotated[
        str, typer.Option("--cells", help="Number of groups in the queries that rows_per_person is chosen for.")
    ] = "50",
    for_epsilon: Annotated[str, typer.Option("--for-epsilon", help="Epsilon of those queries.")] = "1",
    report: Annotated[
        bool, typer.Option("--report", help="Only estimate how much rows_per_person and the bounds cut off.")
    ] = False,
    project: Annotated[
        Path, typer.Option("--project", help="Project folder. Default: the nearest one, here or above.")
    ] = Path("."),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find rows_per_person, bounds and values privately and write them to discreet.toml. Charged."""
    from discreet.schema.project_file import NAME

    opened_project = discreet.open(project)
    if report and delta is not None:
        raise UsageError("--report does not use --delta", hint=Message("leave ", Flag("delta"), " out"))
    if not report:
        refuse_unwritable_path(opened_project.folder / NAME)
    more: dict[str, Any] = {"epsilon": epsilon, "cells": cells, "for_epsilon": for_epsilon}
    with terminal.progress("measuring"):
        if report:
            data, text = bias_output(opened_project.bias(table, columns or (), **more))
        else:
            data, text = bounds_output(opened_project.bounds(table, columns or (), delta=delta, **more))
    terminal.print_result(data, text, as_json=as_json)


def bounds_output(purchase: BoughtBounds) -> tuple[dict[str, Any], list[Any]]:
    """What was found and written down."""
    named = {**{name: {name: value} for name, value in purchase.settings.items()}, **purchase.columns}
    listed = [
        {"name": name, "epsilon": exact.as_float(purchase.shares[name], up=True), **_plain(settings)}
        for name, settings in named.items()
    ]
    data = {
        "table": purchase.table,
        "version": purchase.version,
        "found": listed,
        **_spending(purchase),
        "warnings": list(purchase.warnings),
    }
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in ("found", "value", "at epsilon"):
        table.add_column(name, no_wrap=True)
    for name, settings in named.items():
        table.add_row(RichText(name), RichText(_words(settings)), exact.show(purchase.shares[name], up=True))
    lines: list[Any] = [table, ""] if named else []
    lines += (
        [f"written to discreet.toml, marked as measured; run discreet refresh {purchase.table} to apply it"]
        if named
        else []
    )
    lines += [_cost_line(purchase), *(f"note: {warning}" for warning in purchase.warnings)]
    return data, lines


def _plain(settings: Any) -> dict[str, Any]:
    """Settings as JSON has them."""
    return {key: _number(value) if key != "values" else list(value) for key, value in settings.items()}


def _number(value: Any) -> Any:
    if isinstance(value, Fraction):
        return float(value)
    return value.isoformat() if isinstance(value, date) else value


def _words(settings: Any) -> str:
    if "values" in settings:
        shown = ", ".join(settings["values"][:MOST_VALUES])
        return shown if len(settings["values"]) <= MOST_VALUES else f"{shown}, … ({len(settings['values']):,} in all)"
    if "low" in settings and "high" in settings:
        return f"{_word(settings['low'])} to {_word(settings['high'])}"
    return ", ".join(
        _word(value) if key == "rows_per_person" else f"{key} {_word(value)}" for key, value in settings.items()
    )


def _word(value: Any) -> str:
    if isinstance(value, Fraction):
        return exact.show(value, digits=20)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _spending(purchase: BoughtBounds | Bias) -> dict[str, Any]:
    return {
        "cost": purchase.cost.to_data(up=True),
        "spent": purchase.spent.to_data(up=True),
        "remaining": purchase.remaining.to_data(up=False),
        "releases": list(purchase.releases),
    }


def _cost_line(purchase: BoughtBounds | Bias) -> str:
    if not purchase.cost.epsilon:
        return "stored answers: free"
    left = "" if purchase.remaining.epsilon is None else f"; epsilon {exact.show(purchase.remaining.epsilon)} remains"
    return f"cost {purchase.cost}{left}"


def bias_output(bias: Bias) -> tuple[dict[str, Any], list[Any]]:
    """What limits and bounds take away, for programs and for people."""
    data = {
        "table": bias.table,
        "version": bias.version,
        "persons": _truncation_data(bias),
        "columns": [
            {
                "column": each.column,
                "low": each.low,
                "high": each.high,
                "at_low": each.at_low,
                "at_high": each.at_high,
            }
            for each in bias.clamping
        ],
        **_spending(bias),
    }
    return data, [*_truncation(bias), *_clamping(bias), _cost_line(bias)]


def _truncation_data(bias: Bias) -> dict[str, Any] | None:
    truncation = bias.truncation
    if truncation is None:
        return None
    return {
        "buckets": [
            {"above": each.low, "up_to": each.high, "persons": each.noisy_persons, "seen": each.seen}
            for each in truncation.buckets
        ],
        "plus_minus": truncation.plus_minus,
        "up_to": truncation.up_to,
        "more": truncation.more,
        "cells": bias.terms.cells,
        "for_epsilon": float(bias.terms.for_epsilon),
        "limits": [
            {
                "rows_per_person": each.rows,
                "declared": each.declared,
                "left_out": each.left_out,
                "plus_minus": each.plus_minus,
                "error": each.error,
            }
            for each in truncation.limits
        ],
        "best": None if truncation.best is None else truncation.best.rows,
    }


def _truncation(bias: Bias) -> list[Any]:
    truncation = bias.truncation
    if truncation is None:
        return []
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in ("rows_per_person", "rows left out", "noise of a count", "error of a cell", ""):
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    for each in truncation.limits:
        marks = [
            word for word, applies in (("declared", each.declared), ("recommended", each == truncation.best)) if applies
        ]
        table.add_row(
            f"{each.rows:,}",
            _share(each.left_out),
            f"± {each.plus_minus:,}",
            _error(each, truncation),
            ", ".join(marks),
        )
    terms = bias.terms
    return [
        table,
        "",
        f"For counts by {terms.cells:,} groups at epsilon {exact.show(terms.for_epsilon)}. {CONFIDENT} {DASH} unknown.",
        *_people(truncation),
        *([] if truncation.best else ["The noise is too large to recommend a limit; use a larger --epsilon."]),
        "",
    ]


def _error(limit: LimitEffect, truncation: Truncation) -> str:
    """How wrong a cell is; of the last limit that is seen, what those with more rows own is all that is left out."""
    if limit.error is None:
        return DASH
    low, high = (f"{end:,.0f}" for end in limit.error)
    return f"at least {low}" if low == high and truncation.more else _between(low, high)


def _people(truncation: Truncation) -> list[str]:
    """Of whom the numbers are."""
    if truncation.up_to is None:
        return ["The noise is too large to show how many rows persons have; use a larger --epsilon."]
    return [
        f"The table covers persons with at most {truncation.up_to:,} rows. At most {truncation.more:,} persons have "
        "more; how many of their rows a limit leaves out is unknown."
    ]


def _clamping(bias: Bias) -> list[Any]:
    if not bias.clamping:
        return []
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in ("column", "low", "rows at low", "high", "rows at high"):
        table.add_column(name, justify="left" if name == "column" else "right", no_wrap=True)
    for each in bias.clamping:
        table.add_row(
            RichText(each.column),
            str(each.low),
            _share(each.at_low),
            str(each.high),
            _share(each.at_high),
        )
    return [table, "", f"Rows at a bound either have that value or were moved to it. {CONFIDENT}", ""]


def _share(share: tuple[float, float] | None) -> str:
    from discreet.answers.bounds.share_text import share_text

    return DASH if share is None else share_text(share)


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
