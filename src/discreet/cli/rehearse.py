"""`discreet rehearse`: a query on made-up or modelled rows: its answer, its error and its price. Free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

import discreet
from discreet.cli import terminal
from discreet.cli.flags import (
    HERE,
    AtMost,
    Confidence,
    Delta,
    Epsilon,
    Folder,
    Json,
    ShareOfGroups,
    Within,
    require_one_price,
)
from discreet.present.cell_text import DASH, cell_text

if TYPE_CHECKING:
    from discreet.rehearse.rehearsal import Rehearsal

#: More groups than this are cut on a screen; --json has more.
_MOST_GROUPS = 20


def rehearse(
    sql: Annotated[str, typer.Argument(help="The SQL query.")],
    epsilon: Epsilon = None,
    within: Within = None,
    share_of_groups: ShareOfGroups = None,
    at_most: AtMost = None,
    confidence: Confidence = "0.95",
    delta: Delta = None,
    rows: Annotated[int | None, typer.Option("--rows", help="How many rows a made-up table has.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Run a query on rows that are made up from the declaration, or from a model or past releases: the answer, its
    error and its price. Free: nothing private is read.
    """
    from discreet.answers.wished_precision import precision_of
    from discreet.project.question import wish_of
    from discreet.rehearse.rehearsal import rehearse_wish

    require_one_price(epsilon, within, share_of_groups=share_of_groups, at_most=at_most)
    wish = (
        wish_of(epsilon, None, confidence, delta)
        if within is None
        else precision_of(within, share_of_groups=share_of_groups, at_most=at_most, confidence=confidence)
    )
    rehearsal = rehearse_wish(discreet.open(project), sql, wish, rows=rows)
    terminal.print_result(rehearsal.to_data(), rehearsal_lines(rehearsal), as_json=as_json)


def rehearsal_lines(rehearsal: Rehearsal) -> list[Any]:
    """A rehearsal for people: of each number one draw beside the exact one, and how large errors are."""
    heads = [*rehearsal.names]
    for name in rehearsal.columns:
        heads += [name, "exactly", "error"]
    rows = []
    for key, numbers in list(zip(rehearsal.keys, rehearsal.numbers, strict=True))[:_MOST_GROUPS]:
        cells = [cell_text(each) for each in key]
        for number in numbers:
            exactly = number.kept if number.plain is None else number.plain
            error = number.noise() if number.plain is None else number.error()
            cells += [_shown(number.draws[0]), _shown(exactly), _shown(error)]
        rows.append(cells)
    widths = [max(len(line[place]) for line in [heads, *rows]) for place in range(len(heads))]
    keys = len(rehearsal.names)
    lines: list[Any] = []
    for line in [heads, *rows]:
        aligned = [
            cell.ljust(size) if place < keys else cell.rjust(size)
            for place, (cell, size) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
    if len(rehearsal.keys) > _MOST_GROUPS:
        lines.append(f"… {len(rehearsal.keys) - _MOST_GROUPS:,} more groups; --json has more")
    lines.append("")
    for place, name in enumerate(rehearsal.columns):
        sizes = rehearsal.sizes(place)
        parts = ", ".join(f"{part} {_shown(sizes[part])}" for part in ("clamping", "truncation", "noise"))
        lines.append(f"{name}: error about {_shown(sizes['error'])} ({parts})")
    made = ", ".join(f"{count:,} rows of {name}" for name, count in rehearsal.rows.items())
    lines += [f"Ran on {rehearsal.on}: {made}. Nothing was charged; the real query would cost {rehearsal.cost}."]
    return lines + [f"note: {note}" for note in rehearsal.notes]


def _shown(number: float | None) -> str:
    if number is None:
        return DASH
    return f"{number:,}" if isinstance(number, int) else f"{number:,.4g}"
