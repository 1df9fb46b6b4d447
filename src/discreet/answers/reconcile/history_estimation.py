"""From the history of a table to what it tells about a question: best linear unbiased estimates, or nothing.

Guarantee: where something is told, each cell's estimate is a weighted sum of released numbers whose expectation is the
    exact number, for every table that fits the declaration; and `parts` is the law of its error.
Because: regions are exact (exactly.py), so what holds between their indicator functions holds between the exact
    numbers; `inference.reconcile` proves each such relation before it uses it; and the noises of released numbers are
    independent, with mean 0 and the laws that were stored with them.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from discreet.answers.reconcile.earlier_estimate import EarlierEstimate, EstimatedCell
from discreet.answers.reconcile.history import history
from discreet.answers.reconcile.region_edges import Edges, edges_of, may_determine
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


def estimate_from_history(
    query: ParsedQuery, *, version: Version, curator: Curator, reads: Reads, without: str | None = None
) -> EarlierEstimate | None:
    """What the released answers tell about a question; None where they do not determine every cell of it.

    `without`: a release that is not looked at.

    Answered are counts and sums, whatever HAVING, ORDER BY and LIMIT then do with them. What is computed from several
    of them, an average, is not: the errors of its parts depend on each other.
    """
    if not _plain(query):
        return None
    domain = ColumnDomains.of(version.schema.columns)
    released_history = history(version, curator=curator, reads=reads, most=_MOST_NUMBERS, newest=_NEWEST)
    return estimate_from_numbers(
        [number for number in released_history.numbers if number.release != without], query, domain
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
