"""What rows_per_person takes away, for several limits, beside the noise that each would bring.

Bought are two histograms: persons by how many rows they have, in wide buckets and in narrow ones. One person moves
each by 1. The wide ones say how many persons lie between two limits, the narrow ones where between them: of persons
with 21 to 50 rows most may have 22 or 48. The rest is arithmetic on noisy numbers (`roster`). No noise of this kind
shows a few persons who own many rows: what is said is said of the others, with how many of these few there may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.answers.bounds.bounds_terms import BoundsTerms
from discreet.answers.bounds.roster_estimate import RosterEstimate, RosterHistogram
from discreet.answers.bounds.row_limit import FAR, LIMITS, ROWS_CODE
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Measurement, NoisyCells
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.weighted_sum import half_width
from discreet.plan.cell_statistics import RowCount
from discreet.plan.cells import Axis
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import Price, price
from discreet.plan.query_sensitivity import reach
from discreet.plan.relation import Scan

CONFIDENCE = Fraction(95, 100)

#: The limits that are compared.
COMPARED = tuple(number * 10**power for power in range(9) for number in (1, 2, 5))

#: The part of epsilon that the narrow buckets get. They need less: they matter where there are many persons.
NARROW = Fraction(1, 4)

#: Most buckets are empty; that any of those at the top shows all the same has a chance of one in so many.
RARELY = 10_000

#: The highest bucket that shows is one of so many that could have been; their doubts add.
CHANCES = 2

#: A limit is recommended where cells are surely no more than so many times as wrong as with any other limit.
SURELY = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Persons with more than `low` rows and at most `high` (None: any number). Noisy. `seen`: more than noise."""

    low: int
    high: int | None
    noisy_persons: int
    seen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitEffect:
    """What a limit would do to a count: the share of rows left out, its noise, and how wrong a cell is in all.

    left_out: between what the share lies, among persons with at most `Truncation.up_to` rows; None where the noise
        leaves it open.
    error: between what the mean distance of one of so many cells from the truth lies, among the same persons.
    """

    rows: int
    declared: bool
    left_out: tuple[float, float] | None
    plus_minus: int
    error: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """Persons by how many rows they have, and what several limits would do. `plus_minus` is of each bucket.

    up_to: so many rows have those who can be seen; None where nobody can. `more`: so many persons may have more than
        that, and what they own is not known. `best`: the limit that the noise lets one recommend, where there is one.
    """

    buckets: tuple[Bucket, ...]
    plus_minus: int
    up_to: int | None
    more: int
    limits: tuple[LimitEffect, ...]
    best: LimitEffect | None


def roster_prices(version: Version, *, epsilon: Fraction) -> tuple[Price, Price]:
    """Persons by how many rows they have, in wide buckets and in narrow ones.

    Guarantee: the losses of both add to epsilon or less.
    Because: one person is one row of the roster, so one count of each moves by 1, and losses add.
    """
    wide, narrow = (
        price(inquiry, reach(inquiry.plan, {version.table: version.schema}), needs={}, epsilon=share)
        for inquiry, share in zip(roster_inquiries(version), (epsilon * (1 - NARROW), epsilon * NARROW), strict=True)
    )
    return wide, narrow


def roster_inquiries(version: Version) -> tuple[Inquiry, Inquiry]:
    """What is measured: persons by how many rows they have, in wide buckets and in narrow ones."""
    plan = Scan(table=version.table, version=version.number, roster=True)
    declared = version.schema.unit.rows
    wide, narrow = (
        Inquiry(plan=plan, sets=((_axis(edges),),), statistics=(RowCount(),))
        for edges in (wide_edges(declared), narrow_edges(declared))
    )
    return wide, narrow


def _axis(edges: Sequence[int]) -> Axis:
    return Axis(of=ROWS_CODE, edges=(1, *(limit + 1 for limit in edges), FAR), null=False, labels=())


def wide_edges(declared: int) -> list[int]:
    """The limits that are compared: round ones, and the declared one."""
    return sorted({*COMPARED, declared})


def narrow_edges(declared: int) -> list[int]:
    """The same, and all limits that could be chosen."""
    return sorted({*LIMITS, *COMPARED, declared})


def truncation_of(wide: Measurement, narrow: Measurement, terms: BoundsTerms, *, declared: int) -> Truncation:
    """What limits would do, from the two noisy histograms."""
    histogram, inner = _histogram(wide, wide_edges(declared)), _histogram(narrow, narrow_edges(declared))
    edges, noisy, law = histogram.edges, histogram.noisy, histogram.law
    hidden = law.half_width(1 - Fraction(1, RARELY * len(noisy)))
    # One person taken for real in the highest bucket would own more rows than all others.
    top = max((place for place, count in enumerate(noisy[: len(edges)]) if count > hidden), default=-1)
    buckets = tuple(
        Bucket(low=low, high=high, noisy_persons=count, seen=place <= top)
        for place, (low, high, count) in enumerate(zip([0, *edges], [*edges, None], noisy, strict=True))
    )
    doubt = (1 - CONFIDENCE) / CHANCES
    width = half_width([(1.0, law, len(noisy) - top - 1)], 1 - 2 * doubt)
    more = max(0, math.floor(sum(noisy[top + 1 :]) + width))
    up_to = edges[top] if top >= 0 else None
    roster = None if up_to is None else RosterEstimate(wide=histogram.up_to(up_to), narrow=inner.up_to(up_to))
    listed = [limit for limit in edges if (up_to is not None and limit <= up_to) or limit == declared]
    limits = tuple(_limit(limit, roster, terms, declared=declared, listed=len(listed)) for limit in listed)
    return Truncation(
        buckets=buckets,
        plus_minus=law.half_width(CONFIDENCE),
        up_to=up_to,
        more=more,
        limits=limits,
        best=_best(limits, terms, more),
    )


def _limit(limit: int, roster: RosterEstimate | None, terms: BoundsTerms, *, declared: int, listed: int) -> LimitEffect:
    """How wrong counts would be, in cells of one size: noise of scale s and a bias b together are off by
    b + s exp(-b / s) in the mean, which grows with b."""
    noise = DiscreteLaplace(scale=limit / terms.for_epsilon)
    scale, doubt = float(noise.scale), (1 - CONFIDENCE) / CHANCES
    share = error = None
    if roster is not None and limit <= roster.wide.edges[-1]:
        share = roster.share(limit, doubt=doubt)
        biases = [rows / terms.cells for rows in roster.beyond(limit, doubt=doubt / listed)]
        low, high = (bias + scale * math.exp(-bias / scale) for bias in biases)
        error = low, high
    return LimitEffect(
        rows=limit,
        declared=limit == declared,
        left_out=None if share is None or share == (0.0, 1.0) or limit == _last(roster) else share,
        plus_minus=noise.half_width(CONFIDENCE),
        error=error,
    )


def _last(roster: RosterEstimate | None) -> int | None:
    """Of those with at most so many rows nobody has more: what such a limit leaves out is what cannot be seen."""
    return None if roster is None else roster.wide.edges[-1]


def _best(limits: Sequence[LimitEffect], terms: BoundsTerms, more: int) -> LimitEffect | None:
    """The limit to recommend; None where the noise does not tell.

    A limit beyond those who are seen is no better, where fewer than cells / epsilon persons have more rows: by each
    further row it adds as much noise to the cells, and takes off no more than a row of each of these persons. And of a
    larger limit, which leaves out less of what these persons own, the difference is added.
    """
    effects = [(each.error, each) for each in limits if each.error is not None]
    if not effects or more > terms.cells / terms.for_epsilon:
        return None
    (_, most), best = min(effects, key=lambda pair: (pair[0][1], pair[1].rows))
    unseen = [(error[0], more * max(0, each.rows - best.rows) / terms.cells) for error, each in effects if each != best]
    return best if all(most + left_out <= SURELY * least for least, left_out in unseen) else None


def _histogram(measured: Measurement, edges: Sequence[int]) -> RosterHistogram:
    (part,) = measured.parts
    assert isinstance(part, NoisyCells)
    (noisy,), (law,) = part.noisy_values, part.laws
    return RosterHistogram(edges=tuple(edges), noisy=tuple(noisy), law=law)
