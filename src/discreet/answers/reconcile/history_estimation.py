"""From the history of a table to what it tells about a question: best linear unbiased estimates, or nothing.

Guarantee: where something is told, each cell's estimate is a weighted sum of released numbers whose expectation is the
    exact number, for every table that fits the declaration; and `parts` is the law of its error.
Because: regions are exact, so what holds between their indicator functions holds between the exact
    numbers; `inference.reconcile` proves each such relation before it uses it; and the noises of released numbers are
    independent, with mean 0 and the laws that were stored with them.

A quick no comes first: most questions have a corner that no released answer has (`may_determine`), and then nothing
released determines them.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from operator import and_, is_

from discreet.accounting.region import Box, Region, Value
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate, EstimatedCell
from discreet.answers.reconcile.history import history
from discreet.answers.reconcile.released_numbers import ExclusionReason, ReleasedNumber, family_of, regions_of
from discreet.answers.reconcile.released_tables import MOST_WORK, ReleasedTable
from discreet.answers.repeats import Reads
from discreet.inference.reconcile import ColumnDomains, NumberEstimate, Reconciliation
from discreet.kernel.curator import Curator, Version
from discreet.sql.parsed_query import OutputColumn, ParsedQuery

#: For a question no more than so many of the newest releases are looked at (to read one takes 3 ms), and so many
#: numbers and cells of its own: it should be answered at once. `reconcile` has more time.
_NEWEST = 300
_MOST_NUMBERS = 3_000
_MOST_ASKED = 500

#: A released number that brings less than this share of a variance brings nothing.
_NOTHING = 1e-15

Edge = tuple[str, Value | None]
#: For each edge the boxes that have it, as bits.
Edges = dict[Edge, int]

#: So many corners of a question are looked at.
_MOST_CORNERS = 64


def estimate_from_history(
    query: ParsedQuery, *, version: Version, curator: Curator, reads: Reads, without: Collection[str] = ()
) -> EarlierEstimate | None:
    """What the released answers tell about a question; None where they do not determine every cell of it.

    `without`: releases that are not looked at.

    Answered are counts and sums, whatever HAVING, ORDER BY and LIMIT then do with them. What is computed from several
    of them, an average, is not: the errors of its parts depend on each other.
    """
    if not _plain(query):
        return None
    domain = ColumnDomains.of(version.schema.columns)
    released_history = history(
        version, curator=curator, reads=reads, most=_MOST_NUMBERS, newest=_NEWEST, with_tables=True
    )
    return estimate_from_numbers(
        [number for number in released_history.numbers if number.release not in without],
        query,
        domain,
        tables=[table for table in released_history.tables if table.release not in without],
    )


def estimate_from_numbers(
    numbers: Sequence[ReleasedNumber],
    query: ParsedQuery,
    domain: ColumnDomains,
    *,
    tables: Sequence[ReleasedTable] = (),
) -> EarlierEstimate | None:
    """What these numbers and tables tell about a question.

    Of a cell that several releases tell, each by itself, the estimates are combined: their noises are independent.
    """
    inquiry = query.inquiry
    from_numbers = _estimates_of(numbers, domain)
    cells: dict[tuple[int, int], tuple[EstimatedCell, ...]] = {}
    repeats = True
    for place, index in itertools.product(range(len(inquiry.sets)), range(len(inquiry.statistics))):
        statistic = inquiry.statistics[index]
        family, regions = family_of(statistic), regions_of(inquiry, place, statistic, domain)
        if isinstance(family, ExclusionReason) or isinstance(regions, ExclusionReason) or len(regions) > _MOST_ASKED:
            return None
        from_tables = [
            table_estimate
            for table in tables
            if table.family == family and table.sums.work * len(regions) <= MOST_WORK
            if (table_estimate := _from_table(table, regions, domain)) is not None
        ]
        own = from_numbers.cells(regions, family)
        repeats = repeats and any(is_shown for _, is_shown in from_tables)
        estimates = [estimated_cells for estimated_cells, _ in from_tables] + ([] if own is None else [own])
        if not estimates:
            return None
        cells[place, index] = tuple(map(_combined, zip(*estimates, strict=True)))
    earlier_estimate = EarlierEstimate(query=query, cells=cells, repeats=repeats)
    return earlier_estimate if earlier_estimate.releases else None


class _NumberEstimates:
    """What single released numbers tell: their geometry is made where a question may need it."""

    def __init__(self, numbers: Sequence[ReleasedNumber], domain: ColumnDomains) -> None:
        self._numbers = tuple(numbers)
        self._domain = domain
        self._families: dict[str, tuple[list[ReleasedNumber], Edges]] = {}
        self._reconciliations: dict[str, Reconciliation] = {}

    def are_of(self, numbers: Sequence[ReleasedNumber], domain: ColumnDomains) -> bool:
        """Whether they come from these very numbers, in this order, and this domain."""
        return len(numbers) == len(self._numbers) and all(map(is_, numbers, self._numbers)) and domain == self._domain

    def cells(self, regions: Sequence[Region], family: str) -> tuple[EstimatedCell, ...] | None:
        """An estimate for each region, or None where one is not determined."""
        if family not in self._families:
            own = [number for number in self._numbers if number.family == family]
            self._families[family] = own, edges_of((number.region for number in own), self._domain)
        of, edges = self._families[family]
        if not of or not all(may_determine(edges, region, self._domain) for region in regions):
            return None
        if family not in self._reconciliations:
            self._reconciliations[family] = Reconciliation([number.measured() for number in of], self._domain)
        estimates = [self._reconciliations[family].estimate_of(region, family) for region in regions]
        if any(estimate is None for estimate in estimates):
            return None
        return tuple(_cell(estimate, of) for estimate in estimates if estimate is not None)


#: The estimates that were last needed: whoever types a query prices it again and again over the same history, whose
#: least squares take up to a second. They are looked up by the numbers themselves, so they cannot be out of date.
_LAST: list[_NumberEstimates] = []
_MOST_KEPT = 2


def _estimates_of(numbers: Sequence[ReleasedNumber], domain: ColumnDomains) -> _NumberEstimates:
    """The estimates of these numbers: those that are kept, where they are of the same."""
    kept = list(_LAST)
    estimates = next((each for each in kept if each.are_of(numbers, domain)), None)
    if estimates is None:
        estimates = _NumberEstimates(numbers, domain)
    _LAST[:] = [estimates, *(each for each in kept if each is not estimates)][:_MOST_KEPT]
    return estimates


def _from_table(
    table: ReleasedTable, regions: Sequence[Region], domain: ColumnDomains
) -> tuple[tuple[EstimatedCell, ...], bool] | None:
    """What a release of tables tells about each region, and whether it shows them all; None where one is not told."""
    cells, shown = [], True
    for region in regions:
        estimate = table.estimate(region, domain)
        if estimate is None:
            return None
        cells.append(estimate[0])
        shown = shown and estimate[1]
    return tuple(cells), shown


def _combined(estimates: Sequence[EstimatedCell]) -> EstimatedCell:
    """Independent estimates of one number, the most exact first."""
    return reduce(EstimatedCell.with_estimate, sorted(estimates, key=lambda each: each.variance))


def _plain(query: ParsedQuery) -> bool:
    """Whether every number that is shown is a count or a sum, and some is."""
    shown = [output for output in query.outputs if output.key is None and output.grouping is None]
    return bool(shown) and not query.inquiry.quantiles and not query.inquiry.keys and all(map(_is_plain, shown))


def _is_plain(output: OutputColumn) -> bool:
    return output.plain is not None


def _cell(estimate: NumberEstimate, numbers: Sequence[ReleasedNumber]) -> EstimatedCell:
    least = _NOTHING * estimate.variance
    used = [
        (weight, numbers[place])
        for place, weight in sorted(estimate.weights.items())
        if weight**2 * numbers[place].variance > least
    ]
    return EstimatedCell(
        value=estimate.value,
        variance=estimate.variance,
        parts=tuple((weight, number.law, 1) for weight, number in used),
        releases=tuple(dict.fromkeys(number.release for _, number in used)),
    )


def edges_of(regions: Iterable[Region], domain: ColumnDomains) -> Edges:
    """Every place, inside its column's domain, at which boxes of these regions begin or end."""
    box_bits: Edges = {}
    for place, box in enumerate(box for region in regions for box in region.boxes):
        for edges in _edges(box, domain):
            for edge in edges:
                box_bits[edge] = box_bits.get(edge, 0) | 1 << place
    return box_bits


def may_determine(edges: Edges, region: Region, domain: ColumnDomains) -> bool:
    """Whether regions with these edges may determine a region. False is sure, true is not.

    Because: take the difference of a function of records across an edge of each of several columns at once. Of a single
    box it is 1 or -1 at its own corner there, and 0 of every box that lacks one of those edges. So a combination of
    boxes, none of which has them all, is not that box.
    """
    if len(region.boxes) != 1 or region.boxes[0].empty:
        return True
    sides = _edges(region.boxes[0], domain)
    corners = itertools.islice(itertools.product(*sides), _MOST_CORNERS)
    return all(reduce(and_, (edges.get(edge, 0) for edge in corner), -1) for corner in corners)


def _edges(box: Box, domain: ColumnDomains) -> list[list[Edge]]:
    """The edges of a box, for each column that has some."""
    inner_edges = []
    for column, allowed in box.sides.items():
        possible = domain.possible(column)
        ends = {end for run in possible.runs for end in run}
        inner_edges.append([(column, end) for run in (allowed & possible).runs for end in run if end not in ends])
    return [edges for edges in inner_edges if edges]
