"""A description as one HTML page that needs nothing else. What it says is in `present/templates/description.html`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet import exact
from discreet.present.cell_text import DASH, cell_text
from discreet.present.charts.bar import Bar
from discreet.present.charts.bars import bars
from discreet.present.html import render
from discreet.schema.column import type_name
from discreet.tables.description.description import (
    DescribedColumn,
    DescribedQuantile,
    Description,
    NoisyNumber,
    share_limit,
    share_of,
)

if TYPE_CHECKING:
    from markupsafe import Markup

#: Where its values, or its bounds, come from, in words.
_SOURCES = {
    "declared": "declared",
    "bought": "bought with noise",
    "words": "words found with noise",
    "none": "words cannot be known without a delta",
}


def description_page(description: Description) -> str:
    """The whole page. The template escapes all that comes from a table."""
    cost = description.cost
    facts = {
        "rows": _number(description.rows),
        **({} if description.persons is None else {"persons": _number(description.persons)}),
        "protected unit": f"one {description.unit}",
        "epsilon": exact.show(description.epsilon, up=True),
        "delta": exact.show(cost.delta, up=True) if cost.epsilon is not None else "the budget's, which converts rho",
        "release": description.release,
        "version": f"{description.version:,}",
    }
    return render(
        "description.html",
        title=f"Description of {description.table}",
        facts=facts,
        columns=[_column(each, description.rows) for each in description.columns],
        notes=[*description.notes, *(note for each in description.columns for note in each.notes)],
    )


def _number(number: NoisyNumber) -> str:
    return (
        f"at most {number.high:,} (below noise)"
        if number.value is None
        else f"{number.value:,} ± {number.plus_minus:,}"
    )


def _column(column: DescribedColumn, rows: NoisyNumber) -> dict[str, Any]:
    facts = {"type": type_name(column.column), "bounds or values": _SOURCES[column.source]}
    if column.is_ordered:
        span = f"{cell_text(column.low)} to {cell_text(column.high)}"
        facts["bounds"] = "could not be known" if column.low is None else span
    facts["NULL"] = "not possible" if column.nulls is None else _share(column.nulls, rows)
    if column.others is not None:
        facts["outside of these" if column.is_ordered else "all other values"] = _share(column.others, rows)
    return {
        "name": column.name,
        "facts": facts,
        "quantiles": [_quantile(each) for each in column.quantiles],
        "chart": _chart(column),
    }


def _share(number: NoisyNumber, rows: NoisyNumber) -> str:
    share = share_of(number, rows)
    if share is None or rows.value is None:
        most = "" if rows.value is None else f", at most {share_limit(number, rows)}"
        return f"below noise{most}"
    return f"{share:.1%} ± {number.plus_minus / rows.value:.1%}"


def _quantile(quantile: DescribedQuantile) -> dict[str, str]:
    is_known = not quantile.is_below_noise
    return {
        "share": f"{float(quantile.fraction):.0%}",
        "value": cell_text(quantile.value) if is_known else "below noise",
        "between": f"{cell_text(quantile.low)} to {cell_text(quantile.high)}" if is_known else DASH,
    }


def _chart(column: DescribedColumn) -> Markup | str:
    if not column.cells:
        return ""
    drawn = [_bar(cell.number, cell_text(column.shown(cell))) for cell in column.cells]
    return bars(drawn, title=f"Histogram of {column.name}", ordered=column.is_ordered)


def _bar(number: NoisyNumber, label: str) -> Bar:
    if number.value is None:
        return Bar(label=label, value=None, drowned=True)
    value = number.value
    return Bar(label=label, value=value, low=max(0, value - number.plus_minus), high=value + number.plus_minus)
