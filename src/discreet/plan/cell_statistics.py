"""Statistics: whole numbers of a group of rows. The outer ones get noise; the inner ones are of one person's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from discreet.plan.expressions import Expression
from discreet.plan.expressions import to_data as expression_data
from discreet.plan.predicate import TRUE, Predicate
from discreet.plan.predicate import to_data as predicate_data


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCount:
    """How many rows."""

    where: Predicate = TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """The sum of `of` minus `centre` over rows where it is not NULL, in whole grains, rounded down.

    The expression has bounds. A grain above 1 keeps the sums of fine grids and of squares within reach
    of the noise: what is rounded is one sum, not its terms.
    """

    of: Expression
    centre: int = 0
    grain: int = 1
    where: Predicate = TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonCount:
    """How many different persons."""

    where: Predicate = TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class DistinctCount:
    """How many different values that are not NULL."""

    of: Expression
    where: Predicate = TRUE


Statistic = RowCount | Sum | PersonCount | DistinctCount


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonMinimum:
    """The least value of one person's rows."""

    of: Expression
    where: Predicate = TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonMaximum:
    """The largest value of one person's rows."""

    of: Expression
    where: Predicate = TRUE


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonMean:
    """The mean of one person's rows, on a grid `finer` times finer, rounded down."""

    of: Expression
    finer: int
    where: Predicate = TRUE


Inner = RowCount | Sum | DistinctCount | PersonMinimum | PersonMaximum | PersonMean


def statistic_data(statistic: Statistic) -> Any:
    """A statistic as JSON data."""
    match statistic:
        case PersonCount(where=where):
            return ["persons", predicate_data(where)]
        case RowCount() | Sum() | DistinctCount():
            return inner_data(statistic)
        case _:
            assert_never(statistic)


def inner_data(inner: Inner) -> Any:
    """An inner statistic as JSON data."""
    where = predicate_data(inner.where)
    match inner:
        case RowCount():
            return ["rows", where]
        case Sum(of=of, centre=centre, grain=grain):
            return ["sum", expression_data(of), centre, grain, where]
        case DistinctCount(of=of):
            return ["distinct", expression_data(of), where]
        case PersonMinimum(of=of):
            return ["lowest", expression_data(of), where]
        case PersonMaximum(of=of):
            return ["highest", expression_data(of), where]
        case PersonMean(of=of, finer=finer):
            return ["mean", expression_data(of), finer, where]
        case _:
            assert_never(inner)


def statistic_name(statistic: Statistic) -> str:
    """A statistic in words, for explain."""
    match statistic:
        case RowCount():
            return "count of rows"
        case PersonCount():
            return "count of persons"
        case DistinctCount():
            return "count of different values"
        case Sum(centre=centre):
            return "sum" if not centre else "centred sum"
        case _:
            assert_never(statistic)
