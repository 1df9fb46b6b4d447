"""What the declared limits take away, estimated privately: rows beyond rows_per_person, numbers beyond their bounds.

A noise interval does not speak of either. Here both stand side by side, so that a person can choose.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.guarantee import Guarantee
from discreet.answers.bounds.buying import Terms
from discreet.answers.bounds.limit import FAR, ROWS_CODE
from discreet.answers.bounds.purse import Purse
from discreet.answers.bounds.wishes import ROWS_PER_PERSON, named, refuse_other_persons
from discreet.answers.sql import spending
from discreet.curator import Curator, Version
from discreet.errors import UsageError
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.cells import Axis
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import Price, price
from discreet.plan.relation import Scan
from discreet.plan.stability import reach
from discreet.plan.statistics import Rows
from discreet.release import Measurement, NoisyCells, Spending
from discreet.schema.column import Column, Label, Moment, Number
from discreet.schema.schema import Table
from discreet.sql.typed import typed

CONFIDENCE = Fraction(95, 100)

#: The limits that are compared.
COMPARED = tuple(number * 10**power for power in range(9) for number in (1, 2, 5))

#: Buckets at the top are empty, as a rule; that any of them shows all the same has a chance of one in so many.
RARELY = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Persons with more than `low` rows and at most `high` (None: any number). Noisy."""

    low: int
    high: int | None
    noisy_persons: int
    seen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a limit would do to a count: the share of rows left out, its noise, and how wrong a cell is in all.

    `left_out` is None where nothing can be said. `error` is the mean distance of one of so many cells from the truth.
    """

    rows: int
    declared: bool
    left_out: float | None
    plus_minus: int
    error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """Persons by how many rows they have, and what several limits would do. `unseen`: so many persons may hide above."""

    buckets: tuple[Bucket, ...]
    plus_minus: int
    unseen: int
    limits: tuple[Limit, ...]

    @property
    def best(self) -> Limit:
        """The limit with the smallest error, the smallest of equals."""
        return min(self.limits, key=lambda limit: (limit.error, limit.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clamping:
    """The share of a column's rows that lie at, or were moved to, each bound; None where noise hides all rows."""

    column: str
    low: Label
    high: Label
    at_low: float | None
    at_high: float | None
    plus_minus: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bias:
    """Truncation, where there are persons, and clamping of each column, with their price."""

    table: str
    version: int
    terms: Terms
    truncation: Truncation | None
    clamping: tuple[Clamping, ...]
    cost: Spending
    spent: Spending
    remaining: Spending
    releases: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is to be judged: the limit of rows, and columns with bounds."""

    persons: bool
    columns: tuple[Number | Moment, ...]


def estimate(judged: Judged, terms: Terms, *, version: Version, guarantee: Guarantee, curator: Curator) -> Bias:
    """What limits and bounds take away.

    Guarantee: the losses of all charges add to terms.epsilon or less.
    Because: the roster and each column get equal shares of it, and losses add.
    """
    persons, columns = judged.persons, judged.columns
    share = terms.epsilon / (persons + len(columns))
    text = f"discreet bounds {version.table} --report"
    purse = Purse(curator=curator, version=version, guarantee=guarantee, text=text)
    clamped = _clamped_price(version, columns, epsilon=share * len(columns)) if columns else None
    truncation: Truncation | None = None
    clamping: tuple[Clamping, ...] = ()
    if persons:
        coming = [] if clamped is None else [clamped.event]
        found = purse.buy(_roster_price(version, epsilon=share), coming=coming)
        truncation = _truncation(found, terms, declared=version.schema.unit.rows)
    if clamped is not None:
        clamping = _clamping(purse.buy(clamped), columns)
    standing = curator.ledger.standing(version.population)
    return Bias(
        table=version.table,
        version=version.number,
        terms=terms,
        truncation=truncation,
        clamping=clamping,
        cost=purse.cost,
        spent=spending(standing.spent),
        remaining=spending(standing.remaining),
        releases=tuple(purse.releases),
    )


def judged(table: Table, version: Version, names: Sequence[str]) -> Judged:
    """What is asked about: of the columns named, else of all that have bounds, as the version declares them."""
    refuse_other_persons(table, version)
    chosen = named(table, names)
    persons = ROWS_PER_PERSON in chosen
    if persons and version.schema.unit.is_row:
        raise UsageError(f"in {table.name!r} each row is one person, and none is left out")
    columns = [version.schema.column(column.name) for column in chosen if not isinstance(column, str)]
    if any(column is None or not _bounded(column) for column in columns):
        raise UsageError(
            "only the bounds of numbers, dates and timestamps can be judged, in the version that has them",
            hint=f"discreet bounds {table.name} COLUMN finds bounds; discreet refresh {table.name} applies them",
        )
    if not names:
        persons = not version.schema.unit.is_row
        columns = [column for column in version.schema.columns if _bounded(column)]
    if not persons and not columns:
        raise UsageError(
            f"nothing in {table.name!r} is limited or bounded, so nothing is lost", hint="declare low and high"
        )
    return Judged(persons=persons, columns=tuple(one for one in columns if isinstance(one, Number | Moment)))


def _bounded(column: Column) -> bool:
    if not isinstance(column, Number | Moment) or column.low is None or column.high is None:
        return False
    return column.low < column.high


def _edges(declared: int) -> list[int]:
    """The limits that are compared: round ones, and the declared one."""
    return sorted({*COMPARED, declared})


def _roster_price(version: Version, *, epsilon: Fraction) -> Price:
    """Persons by how many rows they have: one person is one row of the roster, so one count moves by 1."""
    plan = Scan(table=version.table, version=version.number, roster=True)
    edges = tuple(limit + 1 for limit in _edges(version.schema.unit.rows))
    axis = Axis(of=ROWS_CODE, edges=(1, *edges, FAR), null=False, labels=())
    return price(
        Inquiry(plan=plan, sets=((axis,),), statistics=(Rows(),)),
        reach(plan, {version.table: version.schema}),
        needs={},
        epsilon=epsilon,
    )


def _truncation(measured: Measurement, terms: Terms, *, declared: int) -> Truncation:
    (part,) = measured.parts
    assert isinstance(part, NoisyCells)
    (noisy,), (law,) = part.noisy_values, part.laws
    edges = _edges(declared)
    hidden = law.half_width(1 - Fraction(1, RARELY * len(noisy)))
    # From the top down, what is no larger than noise is taken for nobody: one person more in the highest bucket would
    # own more rows than all others. Below the first that shows, noise is as likely to add as to take away.
    top = max((place for place, count in enumerate(noisy) if count > hidden), default=-1)
    buckets = [
        Bucket(low=low, high=high, noisy_persons=count, seen=place <= top)
        for place, (low, high, count) in enumerate(zip([0, *edges], [*edges, None], noisy, strict=True))
    ]
    listed = [limit for place, limit in enumerate(edges) if place <= max(top, 0) + 1 or limit == declared]
    limits = [_limit(limit, buckets, terms, declared=limit == declared) for limit in listed]
    return Truncation(
        buckets=tuple(buckets), plus_minus=law.half_width(CONFIDENCE), unseen=hidden, limits=tuple(limits)
    )


def _limit(limit: int, buckets: Sequence[Bucket], terms: Terms, *, declared: bool) -> Limit:
    """How wrong counts would be. Cells of one size are assumed; with noise of scale s, a bias b and Laplace noise
    together are off by b + s exp(-b / s) in the mean."""
    beyond = max(0.0, sum(bucket.noisy_persons * _excess(bucket, limit) for bucket in buckets if bucket.seen))
    rows = sum(bucket.noisy_persons * _excess(bucket, 0) for bucket in buckets if bucket.seen)
    noise = DiscreteLaplace(scale=limit / terms.for_epsilon)
    scale, bias = float(noise.scale), beyond / terms.cells
    return Limit(
        rows=limit,
        declared=declared,
        left_out=min(1.0, beyond / rows) if rows > 0 else None,
        plus_minus=noise.half_width(CONFIDENCE),
        error=bias + scale * math.exp(-bias / scale),
    )


def _excess(bucket: Bucket, limit: int) -> float:
    """How many rows beyond a limit a person of a bucket has in the mean, if r rows are as common as 1 / r.

    A limit lies between buckets, so that they are all beyond it or none.
    """
    high = bucket.high if bucket.high is not None else 2 * bucket.low
    if high <= limit:
        return 0.0
    return (high - bucket.low) / _harmonic(bucket.low, high) - limit


def _harmonic(low: int, high: int) -> float:
    """The sum of 1 / r over low < r <= high."""
    if high - low <= 1000:
        return sum(1 / number for number in range(low + 1, high + 1))
    return math.log((high + 0.5) / (low + 0.5))  # to a millionth, for low >= 1


def _clamped_price(version: Version, columns: Sequence[Number | Moment], *, epsilon: Fraction) -> Price:
    """For each column the rows at its low, between, and at its high bound: one histogram, which a row enters once."""
    plan = Scan(table=version.table, version=version.number)
    axes = [
        Axis(of=typed(column).expression, edges=_clamped_edges(column), null=False, labels=()) for column in columns
    ]
    return price(
        Inquiry(plan=plan, sets=tuple((axis,) for axis in axes), statistics=(Rows(),)),
        reach(plan, {version.table: version.schema}),
        needs={},
        epsilon=epsilon,
    )


def _clamped_edges(column: Number | Moment) -> tuple[int, ...]:
    assert column.low is not None and column.high is not None
    return tuple(sorted({column.low, column.low + 1, column.high, column.high + 1}))


def _clamping(measured: Measurement, columns: Sequence[Number | Moment]) -> tuple[Clamping, ...]:
    found = []
    for part, column in zip(measured.parts, columns, strict=True):
        assert isinstance(part, NoisyCells) and column.low is not None and column.high is not None
        (noisy,), (law,) = part.noisy_values, part.laws
        total, half = sum(noisy), law.half_width(CONFIDENCE)
        told = total > 2 * half
        found.append(
            Clamping(
                column=column.name,
                low=column.label(column.low),
                high=column.label(column.high),
                at_low=min(1.0, max(0.0, noisy[0] / total)) if told else None,
                at_high=min(1.0, max(0.0, noisy[-1] / total)) if told else None,
                plus_minus=half / total if told else None,
            )
        )
    return tuple(found)
