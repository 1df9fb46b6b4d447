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

from discreet.answers.reconcile.edges import Edges, edges_of, may_tell
from discreet.answers.reconcile.history import history
from discreet.answers.reconcile.numbers import Number, Outside, family_of, regions_of
from discreet.answers.reconcile.told import Cell, Told
from discreet.answers.repeats import Reads
from discreet.curator import Curator, Version
from discreet.inference.reconcile import Domain, Estimate, Known
from discreet.sql.asked import Asked, Output

#: For a question no more than so many of the newest releases are looked at (to read one takes 3 ms), and so many
#: numbers and cells of its own: it should be answered at once. `reconcile` has more time.
_NEWEST = 300
_MOST_NUMBERS = 3_000
_MOST_ASKED = 500

#: A released number that brings less than this share of a variance brings nothing.
_NOTHING = 1e-15


def tell(asked: Asked, *, version: Version, curator: Curator, reads: Reads, without: str | None = None) -> Told | None:
    """What the released answers tell about a question; None where they do not determine every cell of it.

    `without`: a release that is not looked at.

    Answered are counts and sums, whatever HAVING, ORDER BY and LIMIT then do with them. What is computed from several
    of them, an average, is not: the errors of its parts depend on each other.
    """
    if not _plain(asked):
        return None
    domain = Domain.of(version.schema.columns)
    found = history(version, curator=curator, reads=reads, most=_MOST_NUMBERS, newest=_NEWEST)
    return told_by([number for number in found.numbers if number.release != without], asked, domain)


def told_by(numbers: Sequence[Number], asked: Asked, domain: Domain) -> Told | None:
    """What these numbers tell about a question."""
    inquiry = asked.inquiry
    families: dict[str, tuple[list[Number], Edges]] = {}
    knowns: dict[str, Known] = {}
    cells: dict[tuple[int, int], tuple[Cell, ...]] = {}
    for place, index in itertools.product(range(len(inquiry.sets)), range(len(inquiry.statistics))):
        statistic = inquiry.statistics[index]
        family, regions = family_of(statistic), regions_of(inquiry, place, statistic, domain)
        if isinstance(family, Outside) or isinstance(regions, Outside) or len(regions) > _MOST_ASKED:
            return None
        if family not in families:
            own = [number for number in numbers if number.family == family]
            if not own:
                return None
            families[family] = own, edges_of((number.region for number in own), domain)
        of, edges = families[family]
        if not all(may_tell(edges, region, domain) for region in regions):
            return None
        if family not in knowns:
            knowns[family] = Known([number.measured() for number in of], domain)
        estimates = [knowns[family].about(region, family) for region in regions]
        if any(estimate is None for estimate in estimates):
            return None
        cells[place, index] = tuple(_cell(estimate, of) for estimate in estimates if estimate is not None)
    found = Told(asked=asked, cells=cells)
    return found if found.releases else None


def _plain(asked: Asked) -> bool:
    """Whether every number that is shown is a count or a sum, and some is."""
    shown = [output for output in asked.outputs if output.key is None and output.grouping is None]
    return bool(shown) and not asked.inquiry.quantiles and not asked.inquiry.keys and all(map(_is_plain, shown))


def _is_plain(output: Output) -> bool:
    return output.plain is not None


def _cell(estimate: Estimate, numbers: Sequence[Number]) -> Cell:
    least = _NOTHING * estimate.variance
    used = [
        (weight, numbers[place])
        for place, weight in sorted(estimate.weights.items())
        if weight**2 * numbers[place].variance > least
    ]
    return Cell(
        value=estimate.value,
        variance=estimate.variance,
        parts=tuple((weight, number.law, 1) for weight, number in used),
        releases=tuple(dict.fromkeys(number.release for _, number in used)),
    )
