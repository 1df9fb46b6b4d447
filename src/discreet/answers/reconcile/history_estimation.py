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
from operator import and_

from discreet.accounting.region import Box, Region, Value
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate, EstimatedCell
from discreet.answers.reconcile.history import history
from discreet.answers.reconcile.released_numbers import ExclusionReason, ReleasedNumber, family_of, regions_of
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
    released_history = history(version, curator=curator, reads=reads, most=_MOST_NUMBERS, newest=_NEWEST)
    return estimate_from_numbers(
        [number for number in released_history.numbers if number.release not in without], query, domain
    )


def estimate_from_numbers(
    numbers: Sequence[ReleasedNumber], query: ParsedQuery, domain: ColumnDomains
) -> EarlierEstimate | None:
    """What these numbers tell about a question."""
    inquiry = query.inquiry
    families: dict[str, tuple[list[ReleasedNumber], Edges]] = {}
    reconciliations: dict[str, Reconciliation] = {}
    cells: dict[tuple[int, int], tuple[EstimatedCell, ...]] = {}
    for place, index in itertools.product(range(len(inquiry.sets)), range(len(inquiry.statistics))):
        statistic = inquiry.statistics[index]
        family, regions = family_of(statistic), regions_of(inquiry, place, statistic, domain)
        if isinstance(family, ExclusionReason) or isinstance(regions, ExclusionReason) or len(regions) > _MOST_ASKED:
            return None
        if family not in families:
            own = [number for number in numbers if number.family == family]
            if not own:
                return None
            families[family] = own, edges_of((number.region for number in own), domain)
        of, edges = families[family]
        if not all(may_determine(edges, region, domain) for region in regions):
            return None
        if family not in reconciliations:
            reconciliations[family] = Reconciliation([number.measured() for number in of], domain)
        estimates = [reconciliations[family].estimate_of(region, family) for region in regions]
        if any(estimate is None for estimate in estimates):
            return None
        cells[place, index] = tuple(_cell(estimate, of) for estimate in estimates if estimate is not None)
    earlier_estimate = EarlierEstimate(query=query, cells=cells)
    return earlier_estimate if earlier_estimate.releases else None


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
