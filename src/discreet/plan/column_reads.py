"""What an answer depends on: the expressions of its plan, and the declared columns that they read by value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from discreet.accounting.region import NOT_NULL, ValueSet
from discreet.plan.cell_statistics import Inner, PersonCount, RowCount, Statistic
from discreet.plan.expressions import Code, Every, Expression, Member, Predicate, Some, Test, columns, leaves
from discreet.plan.inquiry import Inquiry
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, LimitGroups, PerPerson, Plan, Scan
from discreet.schema.column import domain
from discreet.schema.schema import Schema

Node = Expression | Predicate


def nodes_used(inquiry: Inquiry) -> list[tuple[Plan, Node]]:
    """Each expression and predicate that the answer depends on, with the relation whose columns it names."""
    nodes = [node for statistic in inquiry.statistics for node in _own(statistic)]
    nodes += [node for quantile in inquiry.quantiles for node in (quantile.axis.of, quantile.where)]
    nodes += [*(axis.of for axes in inquiry.sets for axis in axes), *inquiry.keys]
    return [*((inquiry.plan, node) for node in nodes), *_below(inquiry.plan, _names(nodes))]


def columns_read(inquiry: Inquiry, schemas: Mapping[str, Schema]) -> list[tuple[str, str]]:
    """The declared columns, as table and name, whose values an answer depends on. Being NULL or not is no value."""
    read_places: set[tuple[str, str]] = set()
    for plan, node in nodes_used(inquiry):
        parts = leaves(node) if isinstance(node, Member | Test | Every | Some) else [node]
        for part in parts:
            places = [place for name in columns(part) if (place := _source(plan, name)) is not None]
            if not (isinstance(part, Member) and _passes_any_value(part.allowed, places, schemas)):
                read_places.update(places)
    return sorted(read_places)


def columns_named(inquiry: Inquiry) -> list[tuple[str, str]]:
    """The declared columns that an answer depends on in any way: by value, or by being NULL."""
    places = [_source(plan, name) for plan, node in nodes_used(inquiry) for name in columns(node)]
    return sorted({place for place in places if place is not None})


def _passes_any_value(allowed: ValueSet, places: Sequence[tuple[str, str]], schemas: Mapping[str, Schema]) -> bool:
    """Whether a test lets every value of a column pass, or none, and looks at NULL alone."""
    if not allowed.runs or allowed.runs == NOT_NULL.runs:
        return True
    declared_columns = [schemas[table].column(name) for table, name in places if table in schemas]
    ends = [domain(column) for column in declared_columns if column is not None]
    whole = [ValueSet.interval(*each) for each in ends if each is not None]
    return bool(whole) and all((allowed & each).runs == each.runs for each in whole)


def _own(statistic: Statistic | Inner) -> list[Node]:
    return [statistic.where] if isinstance(statistic, RowCount | PersonCount) else [statistic.of, statistic.where]


def _names(nodes: Iterable[Node]) -> frozenset[str]:
    return frozenset(name for node in nodes for name in columns(node))


def _below(plan: Plan, names: frozenset[str]) -> Iterator[tuple[Plan, Node]]:
    """What the relation itself is made by, where these of its columns are read."""
    match plan:
        case Scan():
            return
        case Filter(source=source, where=where):
            yield source, where
            yield from _below(source, names | columns(where))
        case JoinPublic(source=source, on=on):
            nodes: list[Node] = [left for left, _ in on]
            yield from ((source, node) for node in nodes)
            yield from _below(source, names | _names(nodes))
        case JoinPerson(source=source, other=other):
            nodes = [expression for name, expression in plan.columns if name in names]
            yield from ((other, node) for node in nodes)
            yield from _below(source, names)
            yield from _below(other, _names(nodes))
        case PerPerson(source=source, keys=keys, values=values):
            nodes = [expression for _, expression in keys]
            nodes += [node for name, inner in values if name in names for node in _own(inner)]
            yield from ((source, node) for node in nodes)
            yield from _below(source, _names(nodes))
        case LimitGroups(source=source, axes=axes, keys=keys):
            nodes = [*(axis.of for axis in axes), *keys]
            nodes += [] if plan.rows is None else [Code(name, None, None, null=True) for name in plan.columns]
            yield from ((source, node) for node in nodes)
            yield from _below(source, names | _names(nodes))
        case _:
            assert_never(plan)


def _source(plan: Plan, name: str) -> tuple[str, str] | None:
    """The declared column that a relation calls so; None for what is public or was computed."""
    match plan:
        case Scan(table=table, roster=roster):
            return None if roster else (table, name)
        case Filter(source=source) | LimitGroups(source=source):
            return _source(source, name)
        case JoinPublic(source=source, columns=brought):
            return None if name in brought else _source(source, name)
        case JoinPerson(source=source, columns=pairs):
            return None if name in dict(pairs) else _source(source, name)
        case PerPerson():
            return None
        case _:
            assert_never(plan)
