"""Plans: where the rows of a question come from. A closed union; a new node is unsound until `reach` knows it.

A relation's rows belong to persons (or are persons, where the unit is a row). Its columns go by
names: a scan's are the declared ones; what a join brings along, and what is computed for each
person, has a name of our own, which no declared column can have. So a name that is not ours is always
a column of the table asked about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_never

from discreet.plan.axis import Axis
from discreet.plan.cell_statistics import Inner, inner_data
from discreet.plan.expressions import Expression
from discreet.plan.expressions import to_data as expression_data
from discreet.plan.predicate import Predicate
from discreet.plan.predicate import to_data as predicate_data
from discreet.schema.privacy_unit import OURS


def joined_column_name(place: int, name: str) -> str:
    """What a join calls a column that it brings along; `place` is the join's number."""
    return f"{OURS}{place}.{name}"


def match_column_name(place: int, number: int) -> str:
    """What a join with a public table calls the columns that it is joined on."""
    return f"{OURS}on {place}.{number}"


def computed_column_name(number: int) -> str:
    """What is computed for each person."""
    return f"{OURS}own {number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One version of a declared table; or its roster: one row for each person, with how many `rows` the source has."""

    table: str
    version: int
    roster: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Rows that satisfy a predicate."""

    source: Plan
    where: Predicate


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPublic:
    """Rows joined with a public table: each meets at most `fan_out` of its rows, which is exact, public and free.

    `columns` name what it brings along; `on` pairs an expression over the source with the coded column
    that it must equal. `content` is the hash of the coded public rows: another content is another question. `size`
    is how many there are.
    """

    source: Plan
    place: int
    table: str
    content: str
    columns: tuple[str, ...]
    on: tuple[tuple[Expression, str], ...]
    fan_out: int
    size: int
    outer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinPerson:
    """Rows joined with the rows that the same person has in another relation of the same population.

    `columns` name what the other relation brings along.
    """

    source: Plan
    place: int
    other: Plan
    columns: tuple[tuple[str, Expression], ...]
    outer: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PerPerson:
    """One row for each person and each value of `keys`: statistics of that person's own rows, exact."""

    source: Plan
    keys: tuple[tuple[str, Expression], ...]
    values: tuple[tuple[str, Inner], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitGroups:
    """Of each person's rows those in at most `groups` groups, and in each of them at most `rows` rows.

    A group is a cell of `axes` and a value of each of `keys`; rows outside of an axis are in none, and left out. Which
    groups and rows of a person are kept is told by hashes of that person's tag and of what they hold (`keyed_hashes`):
    of a row, what it holds in `columns`, which are all that is counted of rows. None: no limit.
    """

    source: Plan
    axes: tuple[Axis, ...]
    keys: tuple[Expression, ...]
    groups: int | None
    rows: int | None
    columns: tuple[str, ...]


Plan = Scan | Filter | JoinPublic | JoinPerson | PerPerson | LimitGroups


def base(plan: Plan) -> Scan:
    """The scan of the table that the question asks about: its leftmost one."""
    while not isinstance(plan, Scan):
        plan = plan.source
    return plan


def scans(plan: Plan) -> list[Scan]:
    """Every scan, the table asked about first."""
    match plan:
        case Scan():
            return [plan]
        case JoinPerson(source=source, other=other):
            return [*scans(source), *scans(other)]
        case Filter(source=source) | JoinPublic(source=source) | PerPerson(source=source) | LimitGroups(source=source):
            return scans(source)
        case _:
            assert_never(plan)


def public_tables(plan: Plan) -> list[str]:
    """The public tables that a question joins, each once."""
    match plan:
        case Scan():
            return []
        case JoinPublic(source=source, table=table):
            return list(dict.fromkeys([*public_tables(source), table]))
        case JoinPerson(source=source, other=other):
            return list(dict.fromkeys([*public_tables(source), *public_tables(other)]))
        case Filter(source=source) | PerPerson(source=source) | LimitGroups(source=source):
            return public_tables(source)
        case _:
            assert_never(plan)


def to_data(plan: Plan) -> Any:
    """The plan as JSON data; equal plans have equal data."""
    match plan:
        case Scan(table=table, version=version):
            return {"roster" if plan.roster else "scan": table, "version": version}
        case Filter(source=source, where=where):
            return {"filter": predicate_data(where), "of": to_data(source)}
        case JoinPublic():
            return {
                "public": [plan.table, plan.content, plan.outer],
                "columns": list(plan.columns),
                "on": [[expression_data(left), right] for left, right in plan.on],
                "of": to_data(plan.source),
            }
        case JoinPerson():
            return {
                "person": to_data(plan.other),
                "outer": plan.outer,
                "columns": [[name, expression_data(expression)] for name, expression in plan.columns],
                "of": to_data(plan.source),
            }
        case PerPerson():
            return {
                "per-person": [[name, inner_data(inner)] for name, inner in plan.values],
                "by": [[name, expression_data(expression)] for name, expression in plan.keys],
                "of": to_data(plan.source),
            }
        case LimitGroups():
            return {
                "limit": [plan.groups, plan.rows],
                "axes": [axis.to_data() for axis in plan.axes],
                "keys": [expression_data(key) for key in plan.keys],
                "columns": list(plan.columns),
                "of": to_data(plan.source),
            }
        case _:
            assert_never(plan)
