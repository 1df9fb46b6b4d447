"""The plan of a description: how its price is split, and how exact it will be. From public facts alone, and free.

One histogram of each column tells everything about it: the share of NULL, quantiles, the share of each value. What is
not declared is bought first: bounds by `answers.bounds`, words by a threshold. docs/decisions/0037 has what was
measured to choose the parts below.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypeVar

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.answers.bounds.end_search import MAGNITUDES, MAGNITUDES_RHO, make_searches
from discreet.answers.bounds.magnitudes import rows_to_rely_on
from discreet.answers.bounds.program_purchase import open_ends, words_price
from discreet.answers.reservation_choice import cheapest_noise, keys_delta, reservations_for
from discreet.errors import Flag, Message, UsageError
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Law
from discreet.kernel.program import pure_epsilon
from discreet.kernel.project_session import Session
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import Discover, least_persons
from discreet.release import Spending
from discreet.schema.column import (
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    domain,
    short_year_notes,
    type_name,
)
from discreet.tables.table_reservation import ReservationTerms, count_caveats

#: Which part of the whole counts rows and persons. Every column gets the same part of the rest.
COUNTS = Fraction(1, 20)

#: Which part of what a column gets finds its bounds, or its words.
BOUNDS = Fraction(2, 5)
WORDS = Fraction(2, 5)

#: The cells of the histogram of a number, date or timestamp.
CELLS = 32

#: The confidence of every interval, and in standard deviations what holds it for sums of any number of cells.
CONFIDENCE = Fraction(95, 100)
DEVIATIONS = 2.12

#: A histogram makes sense where a count of a cell is no more uncertain than this share of the rows.
SENSIBLE = Fraction(1, 20)

#: Noise of a standard deviation beyond this is not drawn.
MOST_NOISE = 5e11

Source = Literal["declared", "bought", "words", "none"]

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """What is measured of one column: where its cells come from, and its shares of the reservation.

    `source`: its values or bounds are declared, or bought, or they are words; or none of it can be known.
    """

    column: Column
    source: Source
    finding: Fraction
    histogram: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionPlan:
    """What a description costs and how exact it will be: what `--plan` shows. Nothing of it is read from data."""

    version: Version
    event: ReservationEvent
    epsilon: Fraction
    columns: tuple[ColumnPlan, ...]
    notes: tuple[str, ...] = ()

    @property
    def unit_rows(self) -> int:
        return self.version.schema.unit.rows

    @property
    def has_persons(self) -> bool:
        return not self.version.schema.unit.is_row

    @property
    def count_share(self) -> Fraction:
        """What the number of rows costs; that of persons costs the same."""
        return COUNTS / (1 + self.has_persons)

    def law(self, share: Fraction, *, rows: int | None = None) -> Law:
        """The noise on counts of which a unit moves at most so many, its own rows by default, for a share."""
        most = self.unit_rows if rows is None else rows
        if self.event.epsilon is not None:
            return DiscreteLaplace(scale=most / (self.event.epsilon * share))
        return DiscreteGaussian(sigma2=Fraction(most**2) / (2 * self.event.rho * share))

    def histogram_law(self, column: ColumnPlan) -> Law:
        """The noise on a cell of a column, at most: what finding its bounds leaves over makes it smaller."""
        return self.law(column.histogram)

    @property
    def words(self) -> list[ColumnPlan]:
        return [each for each in self.columns if each.source == "words"]

    @property
    def bought(self) -> list[ColumnPlan]:
        return [each for each in self.columns if each.source == "bought"]

    def threshold(self, column: ColumnPlan) -> int:
        """So many persons, at least, must share a word of a column for it to be found."""
        epsilon = pure_epsilon(self.event, column.finding)
        delta = self.event.delta / len(self.words)
        is_gaussian = self.event.epsilon is None
        priced = words_price(self.version, column.column.name, epsilon=epsilon, delta=delta, gaussian=is_gaussian)
        (step,) = priced.steps
        assert isinstance(step, Discover)
        return least_persons(step)[0]

    def rows_for_bounds(self, column: ColumnPlan) -> int:
        """From about so many rows, or persons where they have many, bought bounds of a column can be relied on."""
        name = column.column.name
        _, (search,) = make_searches(self.version, {name: open_ends(self.version, name)})
        part = MAGNITUDES if self.event.epsilon is not None else MAGNITUDES_RHO
        return rows_to_rely_on(self.law(column.finding * part / len(search.magnitudes()), rows=1))

    def rows_for_histogram(self, column: ColumnPlan) -> int:
        """From about so many rows on the histogram of a column says more than its noise."""
        return math.ceil(self.histogram_law(column).half_width(CONFIDENCE) / SENSIBLE)

    def quantile_ranks(self, column: ColumnPlan) -> int:
        """How many ranks, at about 95% confidence, the median lies from where it is said to be: the worst quantile."""
        sd = math.sqrt(float(self.histogram_law(column).variance()))
        return math.ceil(DEVIATIONS * sd * math.sqrt(CELLS) / 2)

    @property
    def rows_needed(self) -> int:
        """With fewer rows than about this, some of it will not make sense."""
        return max(
            max(self.rows_for_histogram(each) for each in self.columns),
            max((self.rows_for_bounds(each) for each in self.bought), default=0),
        )

    @property
    def cost(self) -> Spending:
        return Spending(epsilon=self.event.epsilon, rho=self.event.rho, delta=self.event.delta)

    def in_order(self, names: Sequence[str]) -> DescriptionPlan:
        """The plan with its columns as people know them; what is measured does not depend on it."""
        return replace(self, columns=tuple(in_shown_order(self.columns, names, lambda each: each.column.name)))

    def sentences(self) -> list[str]:
        """How many rows it needs, in words."""
        unit = "persons" if self.unit_rows > 1 else "rows"
        lines = []
        if self.bought:
            most = max(self.rows_for_bounds(each) for each in self.bought)
            lines.append(f"with fewer than about {_round_up(most):,} {unit} the bought bounds will be unreliable")
        most = max(self.rows_for_histogram(each) for each in self.columns)
        lines.append(
            f"with fewer than about {_round_up(most):,} rows the histograms and quantiles will be mostly noise"
        )
        if self.words:
            threshold = max(map(self.threshold, self.words))
            unit = "persons" if self.has_persons else "rows"
            lines.append(f"a word is found where about {threshold:,} or more {unit} share it")
        return lines

    def to_data(self) -> dict[str, Any]:
        unit = self.law(self.count_share)
        return {
            "table": self.version.table,
            "version": self.version.number,
            "rows_plus_minus": unit.half_width(CONFIDENCE),
            "persons_plus_minus": self.law(self.count_share, rows=1).half_width(CONFIDENCE)
            if self.has_persons
            else None,
            "rows_needed": _round_up(self.rows_needed),
            "columns": [self._column_data(each) for each in self.columns],
            "notes": [*self.sentences(), *self.notes],
            "epsilon": exact.as_float(self.epsilon, up=True),
            "cost": self.cost.to_data(up=True),
        }

    def _column_data(self, column: ColumnPlan) -> dict[str, Any]:
        is_ordered = isinstance(column.column, NumberColumn | MomentColumn)
        return {
            "column": column.column.name,
            "type": type_name(column.column),
            "source": column.source,
            "plus_minus": self.histogram_law(column).half_width(CONFIDENCE),
            "quantile_ranks": self.quantile_ranks(column) if is_ordered else None,
            "least_persons": self.threshold(column) if column.source == "words" else None,
            "rows_for_bounds": _round_up(self.rows_for_bounds(column)) if column.source == "bought" else None,
            "share": float(column.finding + column.histogram),
        }


def in_shown_order(parts: Sequence[Part], names: Sequence[str], name_of: Callable[[Part], str]) -> list[Part]:
    """Parts about columns in the order of these names, and those without one after them."""
    places = {name.lower(): place for place, name in enumerate(names)}
    return sorted(parts, key=lambda part: places.get(name_of(part).lower(), len(places)))


def _round_up(number: int) -> int:
    """To two digits.

    >>> _round_up(1234), _round_up(87), _round_up(5)
    (1300, 87, 5)
    """
    unit: int = 10 ** max(0, len(str(number)) - 2)
    return -(-number // unit) * unit


def plan_description(terms: ReservationTerms, session: Session) -> DescriptionPlan:
    """What a description of a version costs, and how exact it will be. Free: it looks at no data."""
    version = session.version
    columns = version.schema.columns
    if not columns:
        raise UsageError(f"table {version.table!r} has no columns to describe", hint="declare some in discreet.toml")
    has_keys = keys_delta(session.guarantee, terms.delta) > 0
    has_words = has_keys and any(isinstance(column, TextColumn) for column in columns)
    prices = reservations_for(session.guarantee, terms.epsilon, terms.delta, texts=has_words)
    each = (1 - COUNTS) / len(columns)
    event, noise = cheapest_noise(prices, session, share=each / 2, what="description")
    plan = plan_of(version, event, terms.epsilon)
    if max(float(plan.histogram_law(column).variance()) for column in plan.columns) > MOST_NOISE**2:
        raise UsageError(f"epsilon {exact.show(terms.epsilon)} is too small: the result would be only noise")
    years = short_year_notes(version.schema.columns)
    notes = (*filter(None, [noise]), *_text_notes(plan), *years, *count_caveats(version, session.curator))
    return DescriptionPlan(version=version, event=event, epsilon=terms.epsilon, columns=plan.columns, notes=notes)


def plan_of(version: Version, event: ReservationEvent, epsilon: Fraction) -> DescriptionPlan:
    """The plan by which a reservation is spent."""
    columns = version.schema.columns
    each = (1 - COUNTS) / len(columns)

    def column_plan(column: Column) -> ColumnPlan:
        if isinstance(column, TextColumn):
            finding = each * WORDS if event.delta else Fraction(0)
            source: Source = "words" if event.delta else "none"
        else:
            finding, source = (each * BOUNDS, "bought") if domain(column) is None else (Fraction(0), "declared")
        return ColumnPlan(column=column, source=source, finding=finding, histogram=each - finding)

    return DescriptionPlan(version=version, event=event, epsilon=epsilon, columns=tuple(map(column_plan, columns)))


def _text_notes(plan: DescriptionPlan) -> Iterator[str]:
    names = [each.column.name for each in plan.columns if each.source == "none"]
    if names:
        yield Message(
            f"common words of {', '.join(names)} cannot be found: that takes a threshold, which needs a delta; ",
            Flag("delta", "1e-6"),
            " (the table's budget must have one), or declare the values",
        )
