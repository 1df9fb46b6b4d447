"""Rows outside bought bounds: cells that widen away from the bounds, which the first histogram counts with all others.

An end that is chosen with little epsilon comes out too near, and nothing in the choice shows it. A noisy histogram of
what lies outside does: a cell that holds more rows than noise explains is taken in (`first_histograms`). Cells more
cost nothing. Before that, a column of many codes is looked at closer: a noisy histogram of even cells between wide
bounds shows where between them rows are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from discreet.answers.bounds.end_search import EndSearch
from discreet.answers.bounds.round_bounds import first_code, last_code, round_outward, within_century
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.plan.cells import Axis, even_edges
from discreet.schema.column import NumberColumn, nullable
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import FAR, FINE_CELLS, Attribute
from discreet.synth.fine_cells import has_octaves
from discreet.synth.noisy_histogram import NoisyHistogram
from discreet.synth.seen_cells import SeenRange, seen_range

#: Columns of more codes than this are looked at closer, in so many cells.
MOST_CODES = FINE_CELLS

#: Bounds that are looked at closer keep a margin of this part of what is seen, where they are a tail.
ZOOM_MARGIN = 1 / 4

#: They are narrowed to cells that hold at least this part of the rows that were seen before; of numbers, which have
#: tails, the second but for noise; that are at most this part of all; and that are seen alone or no more than so many
#: together: the thin end of a tail belongs to the cells outside.
LEAST_OF_ROWS, MOST_OF_ROWS = 0.6, 0.9
MOST_OF_CELLS = 0.5
TOGETHER = 8

#: Whole numbers of no more values than this have a cell for each: codes that lie far apart (101, 999) stay apart. Of
#: more than the second, so do a quarter as many beyond each bound: no code that a bound left out is spread over a cell.
MOST_UNITS, FEW_UNITS = 1025, 32

#: Few codes hold the rows where those that noise alone shows with this chance, in any cell, have this part of them.
#: A range of so many times as many values is looked at for them. Where cells hold several codes, these must be so many.
CODE_CHANCE, MOST_IN_CODES, MOST_UNIT_RANGES, FEWEST_CODES = 0.05, 0.6, 4, 3

#: The widths of the cells outside, from a bound outward, as parts of what lies between the bounds: in eighths.
OUTWARD = (1, 1, 2, 4, 8, 16, 32, 64, 128)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoomedSearch:
    """A search after a closer look. `has_few_codes`: single codes hold most rows, so that each has a cell."""

    search: EndSearch
    has_few_codes: bool = False


def zoom(program: Program, searches: Sequence[EndSearch], *, share: Fraction) -> list[ZoomedSearch]:
    """The searches of many codes, with bounds around what stands out of the noise, for this share in all, as one step.

    Guarantee: the step's loss is `share` of the reservation at most, for neighbours under the version's unit.
    Because: cells of one column share no row, so a unit of so many rows moves the counts of a column by no more than
        that, for which `program.law` makes the noise; the shares of the columns add up; the rest is
        post-processing of noisy counts.
    """
    wide = [search for search in searches if search.is_known and _is_looked_at(search)]
    if not wide:
        return [ZoomedSearch(search=search) for search in searches]
    law = program.law(share / len(searches))
    axes = [zoomed_edges(search) for search in wide]
    table = BinnedTable(
        program,
        tuple(_axis_everywhere(search, edges) for search, edges in zip(wide, axes, strict=True)),
    )
    counted = table.measure([(place,) for place in range(len(wide))], [law] * len(wide), word="describing")
    zoomed = {
        search.column.name: _looked_at(
            search,
            edges,
            NoisyHistogram(
                values=counts[1 : len(edges)].astype(np.float64),
                variance=float(law.variance()),
                is_laplace=program.is_pure,
            ),
        )
        for search, edges, counts in zip(wide, axes, counted, strict=True)
    }
    return [zoomed.get(search.column.name, ZoomedSearch(search=search)) for search in searches]


def _looked_at(search: EndSearch, edges: Sequence[int], noisy: NoisyHistogram) -> ZoomedSearch:
    """A search with nearer bounds; not where few codes hold the rows: a rarer one may lie far from the others."""
    is_by_codes = len(edges) - 1 == _codes(search)
    has_few_codes = search.column.type == "integer" and _holds_few_codes(noisy, search, is_by_codes=is_by_codes)
    if has_few_codes and is_by_codes:
        return ZoomedSearch(search=search, has_few_codes=True)
    counts = noisy.values
    if len(counts) > MOST_CODES:
        edges, counts = _coarser(edges, counts)
    sd = noisy.sd * math.sqrt(len(noisy.values) / len(counts))
    seen = seen_range(counts, sd, margin=ZOOM_MARGIN, is_laplace=noisy.is_laplace, most=TOGETHER)
    narrowed = _narrowed(search, edges, counts, seen, sd)
    if has_few_codes and _codes(narrowed) <= MOST_UNITS:
        return ZoomedSearch(search=_with_units(narrowed, search), has_few_codes=True)
    return ZoomedSearch(search=search if has_widening_cells(search) else narrowed)


def _holds_few_codes(noisy: NoisyHistogram, search: EndSearch, *, is_by_codes: bool) -> bool:
    """Whether single cells that stand out of the noise hold most rows; of cells of several codes, some beside none."""
    clear = noisy.values > noisy.deviations(CODE_CHANCE / len(noisy.values)) * noisy.sd
    if not is_by_codes:
        beside = np.concatenate([[False], clear, [False]])
        clear &= ~beside[:-2] & ~beside[2:]
        if clear.sum() < FEWEST_CODES:
            return False
    return float(noisy.values[clear].sum()) > MOST_IN_CODES * (search.noisy_rows or 0)


def _with_units(narrowed: EndSearch, search: EndSearch) -> EndSearch:
    """Bounds as far out as there are cells for single codes, within those before a closer look."""
    (low, _), (least, most) = _ends(narrowed), _ends(search)
    high = min(most, low + MOST_UNITS)
    return replace(narrowed, low=max(least, min(low, high - MOST_UNITS)), high=high - 1)


def _coarser(edges: Sequence[int], counts: NDArray[np.float64]) -> tuple[list[int], NDArray[np.float64]]:
    """The same counts in about a quarter as many cells."""
    starts = np.arange(0, len(counts), math.ceil(len(counts) / MOST_CODES))
    return [*(edges[place] for place in starts.tolist()), edges[-1]], np.add.reduceat(counts, starts)


def _axis_everywhere(search: EndSearch, edges: Sequence[int]) -> Axis:
    """These cells between one below, one above and one of NULL: a row outside one axis would count on none."""
    of = column_expression(search.column).expression
    return Axis(of=of, edges=(-FAR, *edges, FAR), null=True, labels=())


def zoomed_edges(search: EndSearch) -> tuple[int, ...]:
    """The cells of a closer look between the bounds of a search."""
    return even_edges(*_ends(search), MOST_UNITS if _has_units(search) else MOST_CODES)


def has_widening_cells(search: EndSearch) -> bool:
    """Whether it is a whole number whose cells widen away from 0: then ends by powers of two cost little, and nearer
    ones may cut a tail. A decimal is more often a price, of which a nearer bound shows more.
    """
    low, end = _ends(search)
    return search.column.type == "integer" and end - low > FINE_CELLS and has_octaves(low, end)


def _is_looked_at(search: EndSearch) -> bool:
    """Whether a closer look may show nearer ends, or that there are few codes and where they are."""
    may_have_codes = search.column.type == "integer" and _codes(search) <= MOST_UNITS * MOST_UNIT_RANGES
    return _codes(search) > MOST_CODES and (may_have_codes or not has_widening_cells(search))


def _has_units(search: EndSearch) -> bool:
    """Whether every whole number may have a cell of its own."""
    return search.column.type == "integer" and _codes(search) <= MOST_UNITS


def _codes(search: EndSearch) -> int:
    low, end = _ends(search)
    return end - low


def _ends(search: EndSearch) -> tuple[int, int]:
    assert search.low is not None and search.high is not None
    return search.low, search.high + 1


def _narrowed(
    search: EndSearch, edges: Sequence[int], counts: NDArray[np.float64], seen: SeenRange, sd: float
) -> EndSearch:
    """The search between these cells, where they hold most rows; an end that is declared stays."""
    first, end = seen.first, seen.end
    rows, all_rows = float(counts[first:end].sum()), search.noisy_rows or 0
    if rows < all_rows * LEAST_OF_ROWS:
        return search
    is_number = isinstance(search.column, NumberColumn)
    if is_number and rows + sd * math.sqrt(end - first) < all_rows * MOST_OF_ROWS:
        return search
    if end - first > MOST_OF_CELLS * len(counts):
        return search
    low = edges[first] if "low" in search.missing_ends else search.low
    high = edges[end] - 1 if "high" in search.missing_ends else search.high
    return replace(search, low=low, high=high)


def open_attribute(search: EndSearch, *, has_few_codes: bool = False) -> Attribute:
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
    if column.type == "integer" and has_few_codes:
        low, high = search.low, search.high
    elif column.type == "integer" and FEW_UNITS < high - low < MOST_UNITS // 2:
        margin = (high - low) // 4
        if high - low < FINE_CELLS:
            margin = min(margin, (FINE_CELLS - (high - low) - 1) // 2)
        high += margin * ("high" in search.missing_ends)
        low -= min(margin, low if low >= 0 else margin) * ("low" in search.missing_ends)
    widths = [max(1, part * (high - low + 1) // 8) for part in OUTWARD]
    above = [high + 1 + far for far in accumulate(widths)] if "high" in search.missing_ends else []
    below = [low - far for far in accumulate(widths)] if "low" in search.missing_ends else []
    least, most = within_century(column, first_code(column), last_code(column))
    above = list(dict.fromkeys(min(edge, most + 1) for edge in above if high < most))
    below = list(dict.fromkeys(max(edge, least) for edge in below if low > least))
    cells = MOST_UNITS if has_few_codes else FINE_CELLS
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
