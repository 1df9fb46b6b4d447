"""What rows_per_person takes away, for several limits, beside the noise that each would bring.

Bought are two histograms: persons by how many rows they have, in wide buckets and in narrow ones. One person moves
each by 1. The wide ones say how many persons lie between two limits, the narrow ones how many rows these have in the
mean: of persons with 21 to 50 rows most may have 22 or 48. The rest is arithmetic on noisy numbers. No noise of this
kind shows a few persons who own many rows, so what they own is a guess, and is called one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from discreet.answers.bounds.limit import FAR, LIMITS, ROWS_CODE
from discreet.answers.bounds.terms import Terms
from discreet.curator import Version
from discreet.measurement import Law, Measurement, NoisyCells
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.cells import Axis
from discreet.plan.inquiry import Inquiry
from discreet.plan.price import Price, price
from discreet.plan.relation import Scan
from discreet.plan.stability import reach
from discreet.plan.statistics import Rows

CONFIDENCE = Fraction(95, 100)

#: The limits that are compared.
COMPARED = tuple(number * 10**power for power in range(9) for number in (1, 2, 5))

#: The part of epsilon that the narrow buckets get. They need less: they matter where there are many persons.
NARROW = Fraction(1, 4)

#: To the persons of a bucket so many are added, in standard deviations of a narrow one's noise, who are spread as if
#: nothing were known. Where noise drowns the others, these decide.
IMAGINED = 2

#: Most buckets are empty; that any of those at the top shows all the same has a chance of one in so many.
RARELY = 10_000

#: Above the buckets that show, so many more tell by their sum whether there is anybody.
TELLING = 3

#: The exponent of a tail is not guessed outside of this: nearer to 1 the rows of a few persons would be everything.
EXPONENTS = (1.25, 6.0)

#: What is left out is called a guess where so much of all rows is one: what the tail has beyond the limit.
GUESSED = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Persons with more than `low` rows and at most `high` (None: any number). Noisy. `seen`: more than noise.

    mean: how many rows such a person has, from the narrow buckets.
    """

    low: int
    high: int | None
    noisy_persons: int
    mean: float
    seen: bool

    def beyond(self, limit: int) -> float:
        """The rows that they have beyond a limit, which lies between buckets: all are beyond it or none."""
        return self.noisy_persons * (self.mean - limit) if limit <= self.low else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What a limit would do to a count: the share of rows left out, its noise, and how wrong a cell is in all.

    left_out: None where nothing can be said. error: the mean distance of one of so many cells from the truth.
    guessed: what lies beyond this limit is not seen, or too much of it, and follows the tail of what is.
    """

    rows: int
    declared: bool
    left_out: float | None
    plus_minus: int
    error: float
    guessed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncation:
    """Persons by how many rows they have, and what several limits would do. `plus_minus` is of each bucket."""

    buckets: tuple[Bucket, ...]
    plus_minus: int
    limits: tuple[Limit, ...]

    @property
    def best(self) -> Limit:
        """The limit with the smallest error, the smallest of equals."""
        return min(self.limits, key=lambda limit: (limit.error, limit.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """Persons above the buckets that show: by a power law, (start / rows)^exponent of them have more rows."""

    start: float
    persons: float
    exponent: float

    def beyond(self, limit: int) -> float:
        """The rows that they have beyond a limit."""
        ratio = min(1.0, self.start / limit) if limit else 1.0
        above: float = self.start * ratio ** (self.exponent - 1) / (self.exponent - 1)
        return self.persons * (max(0.0, self.start - limit) + above)


def roster_prices(version: Version, *, epsilon: Fraction) -> tuple[Price, Price]:
    """Persons by how many rows they have, in wide buckets and in narrow ones.

    Guarantee: the losses of both add to epsilon or less.
    Because: one person is one row of the roster, so one count of each moves by 1, and losses add.
    """
    plan = Scan(table=version.table, version=version.number, roster=True)
    declared = version.schema.unit.rows
    wide, narrow = (
        price(
            Inquiry(plan=plan, sets=((_axis(edges),),), statistics=(Rows(),)),
            reach(plan, {version.table: version.schema}),
            needs={},
            epsilon=share,
        )
        for edges, share in ((wide_edges(declared), epsilon * (1 - NARROW)), (narrow_edges(declared), epsilon * NARROW))
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


def truncation(wide: Measurement, narrow: Measurement, terms: Terms, *, declared: int) -> Truncation:
    """What limits would do, from the two noisy histograms."""
    noisy, law = _cells(wide)
    edges = wide_edges(declared)
    hidden = law.half_width(1 - Fraction(1, RARELY * len(noisy)))
    # One person taken for real in the highest bucket would own more rows than all others. Below the first bucket that
    # shows, noise is as likely to add as to take away, and all are taken as they are.
    top = max((place for place, count in enumerate(noisy) if count > hidden), default=-1)
    means = _means(narrow, declared=declared)
    buckets = tuple(
        Bucket(low=low, high=high, noisy_persons=count, mean=mean, seen=place <= top)
        for place, (low, high, count, mean) in enumerate(zip([0, *edges], [*edges, None], noisy, means, strict=True))
    )
    tail = tail_of(buckets, top)
    listed = [limit for place, limit in enumerate(edges) if place <= top + TELLING or limit == declared]
    return Truncation(
        buckets=buckets,
        plus_minus=law.half_width(CONFIDENCE),
        limits=tuple(_limit(limit, buckets, tail, terms, declared=declared) for limit in listed),
    )


def tail_of(buckets: Sequence[Bucket], top: int) -> Tail | None:
    """Who may lie above the highest bucket that shows: a few, by the sum of the next ones, thinning out as below.

    Where numbers thin out faster and faster, so do they here.
    """
    start = buckets[top].high
    persons = sum(bucket.noisy_persons for bucket in buckets[top + 1 : top + 1 + TELLING])
    if top < 0 or start is None or persons <= 0:
        return None
    # How many have more rows than each edge below, from `start` down.
    above = {start: persons}
    for bucket in buckets[top::-1]:
        persons += bucket.noisy_persons
        above[bucket.low] = persons
    middle = next((edge for edge in above if 2 * edge <= start), 0)
    lower = next((edge for edge in above if 2 * edge <= middle), 0)
    near, far = _exponent(above, middle, start), _exponent(above, lower, middle)
    least, most = EXPONENTS
    return Tail(start=start, persons=above[start], exponent=min(most, max(least, near, 2 * near - far)))


def _exponent(above: Mapping[int, int], low: int, high: int) -> float:
    """Of the power law between two edges; 0 where there is none."""
    if low == 0 or above[low] <= above[high] or above[high] <= 0:
        return 0.0
    return math.log(above[low] / above[high]) / math.log(high / low)


def _limit(limit: int, buckets: Sequence[Bucket], tail: Tail | None, terms: Terms, *, declared: int) -> Limit:
    """How wrong counts would be, in cells of one size: noise of scale s and a bias b together are off by
    b + s exp(-b / s) in the mean."""
    seen = [bucket for bucket in buckets if bucket.seen]
    above = [0.0 if tail is None else tail.beyond(each) for each in (limit, 0)]
    beyond = max(0.0, above[0] + sum(bucket.beyond(limit) for bucket in seen))
    rows = above[1] + sum(bucket.beyond(0) for bucket in seen)
    noise = DiscreteLaplace(scale=limit / terms.for_epsilon)
    scale, bias = float(noise.scale), beyond / terms.cells
    return Limit(
        rows=limit,
        declared=limit == declared,
        left_out=min(1.0, beyond / rows) if rows > 0 else None,
        plus_minus=noise.half_width(CONFIDENCE),
        error=bias + scale * math.exp(-bias / scale),
        guessed=above[0] > GUESSED * rows or all(bucket.high is not None and bucket.high <= limit for bucket in seen),
    )


def _cells(measured: Measurement) -> tuple[Sequence[int], Law]:
    (part,) = measured.parts
    assert isinstance(part, NoisyCells)
    (noisy,), (law,) = part.noisy_values, part.laws
    return noisy, law


def _means(narrow: Measurement, *, declared: int) -> list[float]:
    """How many rows a person of each wide bucket has in the mean, by the narrow ones inside of it."""
    noisy, law = _cells(narrow)
    inner, outer = narrow_edges(declared), wide_edges(declared)
    imagined = IMAGINED * math.sqrt(law.variance())
    ends = [0, *(inner.index(edge) + 1 for edge in outer), len(noisy)]
    found = []
    for (low, high), (first, end) in zip(pairwise([0, *outer, 2 * inner[-1]]), pairwise(ends), strict=True):
        guess, persons, rows = _guess(low, high), sum(noisy[first:end]), 0.0
        for count, (least, most) in zip(noisy[first:end], pairwise([low, *inner[first : end - 1], high]), strict=True):
            rows += count * _guess(least, most)
        mean = (rows + imagined * guess) / (persons + imagined) if persons > 0 else guess
        found.append(min(float(high), max(low + 1.0, mean)))
    return found


def _guess(low: int, high: int) -> float:
    """How many rows persons with more than `low`, up to `high`, have in the mean, if r rows are as common as 1 / r."""
    return (high - low) / _harmonic(low, high)


def _harmonic(low: int, high: int) -> float:
    """The sum of 1 / r over low < r <= high."""
    if high - low <= 1000:
        return sum(1 / number for number in range(low + 1, high + 1))
    return math.log((high + 0.5) / (low + 0.5))  # to a millionth
