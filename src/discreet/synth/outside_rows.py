"""Rows outside bought bounds: cells that widen away from the bounds, which the first histogram counts with all others.

An end that is chosen with little epsilon comes out too near, and nothing in the choice shows it. A noisy histogram of
what lies outside does: a cell that holds more rows than noise explains is taken in (`first_histograms`). Cells more
cost nothing. Before that, a column of many codes is looked at closer: a noisy histogram of even cells between wide
bounds shows where between them rows are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

from discreet.answers.bounds.end_search import EndSearch
from discreet.answers.bounds.round_bounds import first_code, last_code, round_outward, within_century
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.plan.cells import Axis, even_edges
from discreet.schema.column import nullable
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import FAR, FINE_CELLS, Attribute
from discreet.synth.seen_cells import SeenRange, seen_range

#: Columns of more codes than this are looked at closer, in so many cells.
MOST_CODES = FINE_CELLS

#: Bounds that are looked at closer keep a margin of this part of what is seen, where they are a tail.
ZOOM_MARGIN = 1 / 4

#: They are narrowed to cells that hold at least this part of the rows that were seen before, and that are seen alone or
#: no more than so many together: the thin end of a tail belongs to the cells outside.
MOST_OF_ROWS = 0.6
TOGETHER = 8

#: Whole numbers of no more values than this have a cell for each: codes that lie far apart (101, 999) stay apart. Of
#: more than the second, so do a quarter as many beyond each bound: no code that a bound left out is spread over a cell.
MOST_UNITS, FEW_UNITS = 1024, 32

#: The widths of the cells outside, from a bound outward, as parts of what lies between the bounds: in eighths.
OUTWARD = (1, 1, 2, 4, 8, 16, 32, 64, 128)


def zoom(program: Program, searches: Sequence[EndSearch], *, share: Fraction) -> list[EndSearch]:
    """The searches of many codes, with bounds around what stands out of the noise, for this share in all, as one step.

    Guarantee: the step's loss is `share` of the reservation at most, for neighbours under the version's unit.
    Because: cells of one column share no row, so a unit of so many rows moves the counts of a column by no more than
        that, for which `program.law` makes the noise; the shares of the columns add up; the rest is
        post-processing of noisy counts.
    """
    wide = [search for search in searches if _codes(search) > MOST_CODES and search.is_known]
    if not wide:
        return list(searches)
    law = program.law(share / len(searches))
    axes = [zoomed_edges(search) for search in wide]
    table = BinnedTable(
        program,
        tuple(_axis_everywhere(search, edges) for search, edges in zip(wide, axes, strict=True)),
    )
    counted = table.measure([(place,) for place in range(len(wide))], [law] * len(wide), word="describing")
    noisy = [counts[1 : len(edges)] for counts, edges in zip(counted, axes, strict=True)]
    sd = float(law.variance()) ** 0.5
    narrowed = {
        search.column.name: _narrowed(
            search,
            edges,
            counts.tolist(),
            seen_range(counts.astype(float), sd, margin=ZOOM_MARGIN, is_laplace=program.is_pure, most=TOGETHER),
        )
        for search, edges, counts in zip(wide, axes, noisy, strict=True)
    }
    return [narrowed.get(search.column.name, search) for search in searches]


def _axis_everywhere(search: EndSearch, edges: Sequence[int]) -> Axis:
    """These cells between one below, one above and one of NULL: a row outside one axis would count on none."""
    of = column_expression(search.column).expression
    return Axis(of=of, edges=(-FAR, *edges, FAR), null=True, labels=())


def zoomed_edges(search: EndSearch) -> tuple[int, ...]:
    """The cells of a closer look between the bounds of a search."""
    return even_edges(*_ends(search), MOST_CODES)


def _codes(search: EndSearch) -> int:
    low, end = _ends(search)
    return end - low


def _ends(search: EndSearch) -> tuple[int, int]:
    assert search.low is not None and search.high is not None
    return search.low, search.high + 1


def _narrowed(search: EndSearch, edges: Sequence[int], noisy_counts: Sequence[int], seen: SeenRange) -> EndSearch:
    """The search between these cells, where they hold most rows; an end that is declared stays."""
    first, end = seen.first, seen.end
    if sum(noisy_counts[first:end]) < (search.noisy_rows or 0) * MOST_OF_ROWS:
        return search
    low = edges[first] if "low" in search.missing_ends else search.low
    high = edges[end] - 1 if "high" in search.missing_ends else search.high
    return replace(search, low=low, high=high)


def open_attribute(search: EndSearch) -> Attribute:
    """A column between bought bounds, rounded, with cells outside them; none at an end that is declared.

    >>> from discreet.schema.column import NumberColumn
    >>> column = NumberColumn(name="x", type="integer")
    >>> open_attribute(EndSearch(column=column, missing_ends=("high",), codes={}, low=0, high=3)).edges
    (0, 1, 2, 3, 4, 5, 6, 7, 9, 13, 21, 37, 69, 133)
    """
    column = search.column
    assert search.low is not None and search.high is not None
    low, high = round_outward(column, search.low, search.high)
    low = low if column.low is None else column.low
    high = high if column.high is None else column.high
    if column.type == "integer" and FEW_UNITS < high - low < MOST_UNITS // 2:
        margin = (high - low) // 4
        high += margin * ("high" in search.missing_ends)
        low -= min(margin, low if low >= 0 else margin) * ("low" in search.missing_ends)
    widths = [max(1, part * (high - low + 1) // 8) for part in OUTWARD]
    above = [high + 1 + far for far in accumulate(widths)] if "high" in search.missing_ends else []
    below = [low - far for far in accumulate(widths)] if "low" in search.missing_ends else []
    least, most = within_century(column, first_code(column), last_code(column))
    above = list(dict.fromkeys(min(edge, most + 1) for edge in above if high < most))
    below = list(dict.fromkeys(max(edge, least) for edge in below if low > least))
    is_coded = column.type == "integer" and high - low < MOST_UNITS
    cells = MOST_UNITS if is_coded else FINE_CELLS
    edges = (*reversed(below), *even_edges(low, high + 1, cells), *above)
    return Attribute(
        column=replace(column, low=edges[0], high=edges[-1] - 1),
        of=column_expression(column).expression,
        edges=edges,
        null=nullable(column),
        binned=True,
        open=True,
        outer=(len(below), len(above)),
    )
