"""Where ranges of a column may begin and end: told before anything is paid for. Read off declarations alone."""

from __future__ import annotations

from typing import Any

from discreet.present.cell_text import cell_text
from discreet.schema.column import Column
from discreet.schema.schema import Table
from discreet.tables.ranges.ruler import Ruler, ruler_of

#: More bins than this are not listed one by one.
MOST_LISTED = 40


def cuts_by_column(table: Table, names: list[str]) -> dict[str, dict[str, Any]]:
    """For each of some ordered columns: whether bins cut it, where they begin, and ranges that can be asked for."""
    columns = {column.name: column for column in table.schema.columns}
    return {name: column_cuts(columns[name]) for name in names}


def column_cuts(column: Column) -> dict[str, Any]:
    """One column; its values lie in single cells, or in the bins that are declared.

    >>> from discreet.schema.column import NumberColumn
    >>> age = NumberColumn(name="age", type="integer", low=0, high=99, step=1, edges=(0, 18, 65, 100))
    >>> column_cuts(age)["examples"]
    ['18..64', '..17', '65..']
    """
    ruler = ruler_of(column)
    binned = getattr(column, "edges", None) is not None
    begins = [cell_text(ruler.low(cell)) for cell in range(min(ruler.cells, MOST_LISTED))] if binned else []
    more = ruler.cells - len(begins) if binned else 0
    return {"binned": binned, "begins": begins, "more": more, "examples": _examples(ruler)}


def _examples(ruler: Ruler) -> list[str]:
    """A range in the middle, one below it and one above it, each from edge to edge."""
    first, last = ruler.cells // 3, max(ruler.cells // 3, 2 * ruler.cells // 3 - 1)
    examples = [f"{cell_text(ruler.low(first))}..{cell_text(ruler.high(last))}"]
    if first > 0:
        examples.append(f"..{cell_text(ruler.high(first - 1))}")
    if last + 1 < ruler.cells:
        examples.append(f"{cell_text(ruler.low(last + 1))}..")
    return examples
