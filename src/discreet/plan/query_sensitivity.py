"""Plan to sensitivity: how far the exact cells move when one privacy unit comes or goes.

Two facts travel up a plan: how many rows of a relation one unit can own, and which columns have one
value over all rows of a unit. The rest is arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from discreet.accounting.region import Region
from discreet.accounting.sensitivity import Sensitivity
from discreet.errors import Refused
from discreet.plan import predicate as predicates
from discreet.plan.axis import Axis
from discreet.plan.cell_statistics import DistinctCount, PersonCount, RowCount, Statistic, Sum
from discreet.plan.expressions import Expression, columns
from discreet.plan.predicate import TRUE, Every, Member, Predicate, Some, Test
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, LimitGroups, PerPerson, Plan, Scan
from discreet.present.cell_text import counted
from discreet.schema.edge_table import refuse_edge_table
from discreet.schema.schema import Schema

#: The most values of one unit that all count(DISTINCT …) of a question may have to remember.
MOST_DISTINCT = 2_000_000

#: What a roster calls how many rows a person has in the source.
ROWS = "rows"

#: The bounds of what is summed stay within this, so that an engine's 128-bit sums never overflow.
MOST_TERM = 2**76

#: Sums that move further than this many steps are cut to grains, of which their sensitivity keeps about as
#: many: noise of that size is drawn exactly, and a grain is nothing beside it.
_FINEST = 2**24


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBound:
    """In at most `groups` groups by these keys a unit has rows, and in each of them at most `rows`. None: no limit.

    `parts`: the same, of each key that is cut the axis: two axes may cut one key into other bins.
    """

    keys: frozenset[Expression]
    parts: frozenset[Axis | Expression]  # without labels
    groups: int | None
    rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitReach:
    """How one privacy unit reaches into a relation.

    rows: the most rows of it that one unit can own.
    constant: the columns that have one value over all rows of a unit.
    narrowing: the columns of the table asked about that a condition here may narrow the region by.
    region: the units that can own any row.
    bound: what limits the groups that a unit is in, and its rows in each.
    """

    rows: int
    constant: frozenset[str]
    narrowing: frozenset[str]
    region: Region
    because: tuple[str, ...]
    bound: GroupBound | None = None


def reach(plan: Plan, schemas: Mapping[str, Schema]) -> UnitReach:
    """How a unit reaches into `plan`.

    Guarantee: adding or removing one unit adds or removes at most `rows` rows of the relation, all of them
        that unit's; on them the `constant` columns agree; and none if the unit is outside `region`.
    Because, node by node: a declared table holds at most rows_per_person rows of a person, which depend on
        that person's rows alone, and its constant columns are enforced (of a table of `ends` neither is true, and it
        is refused). A filter looks at one row. A public table adds at most fan_out rows for one. A join on the
        person multiplies that person's rows by that person's rows. A GROUP BY that holds the person makes rows of
        one person's rows, one for each key. A limit on groups leaves out rows of a person, by that person's rows
        alone (docs/proofs/groups.md).
    """
    match plan:
        case Scan(table=table, roster=roster):
            refuse_edge_table(schemas[table])
            return _roster(schemas[table]) if roster else _scan(schemas[table])
        case Filter(source=source, where=where):
            inner = reach(source, schemas)
            return _replace(inner, region=inner.region & narrowed_region(where, inner.narrowing))
        case JoinPublic():
            return _public(plan, reach(plan.source, schemas))
        case JoinPerson():
            return _person(plan, reach(plan.source, schemas), reach(plan.other, schemas))
        case PerPerson():
            return _per_person(plan, reach(plan.source, schemas))
        case LimitGroups():
            return _limit_groups(plan, reach(plan.source, schemas))
        case _:
            assert_never(plan)


def _scan(schema: Schema) -> UnitReach:
    unit = schema.unit
    if unit.is_row:
        names = frozenset(column.name for column in schema.columns)
        because = (
            "the privacy unit is one row: neighbours differ by one row added or removed",
            "each row enters the declared table independently of the other rows",
        )
    else:
        # Of somebody with one row every column has one value.
        names = frozenset(column.name for column in schema.columns if column.constant or unit.rows == 1)
        because = (
            f"the privacy unit is {unit}: neighbours differ by one person added or removed",
            f"the declared table of {schema.table!r} holds at most {counted(unit.rows, 'row')} per person, "
            "chosen from that person's rows alone",
        )
    return UnitReach(rows=unit.rows, constant=names, narrowing=names, region=Region.whole(), because=because)


def _roster(schema: Schema) -> UnitReach:
    because = (
        f"the privacy unit is {schema.unit}: neighbours differ by one person added or removed",
        "each person is one row of the list of people, and that row depends on that person's rows alone",
    )
    nobody: frozenset[str] = frozenset()
    return UnitReach(rows=1, constant=frozenset({ROWS}), narrowing=nobody, region=Region.whole(), because=because)


def _public(plan: JoinPublic, inner: UnitReach) -> UnitReach:
    most = max(1, plan.fan_out) if plan.outer else plan.fan_out
    keys = frozenset(name for left, _ in plan.on for name in columns(left))
    brought = frozenset(plan.columns) if plan.fan_out <= 1 and keys <= inner.constant else frozenset()
    return _replace(
        inner,
        rows=inner.rows * max(1, most),
        constant=inner.constant | brought,
        because=(
            f"each row joins at most {counted(max(1, most), 'row')} of the public table {plan.table!r}, "
            "which is not protected"
        ),
    )


def _person(plan: JoinPerson, inner: UnitReach, other: UnitReach) -> UnitReach:
    brought = frozenset(name for name, expression in plan.columns if _is_constant(expression, other.constant))
    return _replace(
        inner,
        rows=inner.rows * other.rows,
        constant=inner.constant | brought,
        because=(
            f"joined on the person, {counted(inner.rows, 'row')} of one person and {counted(other.rows, 'row')} of the "
            f"other table make at most {counted(inner.rows * other.rows, 'row')}"
        ),
    )


def _per_person(plan: PerPerson, inner: UnitReach) -> UnitReach:
    alone = all(_is_constant(expression, inner.constant) for _, expression in plan.keys)
    names = [name for name, _ in (*plan.keys, *plan.values)]
    constant = [name for name, expression in plan.keys if _is_constant(expression, inner.constant)]
    rows = 1 if alone else inner.rows
    return UnitReach(
        rows=rows,
        constant=frozenset(names if alone else constant),
        narrowing=frozenset(),
        region=inner.region,
        because=(*inner.because, f"grouped by person, one person has at most {counted(rows, 'row')}"),
    )


def _limit_groups(plan: LimitGroups, inner: UnitReach) -> UnitReach:
    keys = frozenset([*(axis.of for axis in plan.axes), *plan.keys])
    groups = inner.rows if plan.groups is None else min(inner.rows, plan.groups)
    if all(_is_constant(key, inner.constant) for key in keys):
        groups = 1
    rows = min(inner.rows, groups * (inner.rows if plan.rows is None else plan.rows))
    limits = [] if plan.groups is None else [f"in at most {plan.groups:,} groups"]
    limits += [] if plan.rows is None else [f"at most {plan.rows:,} in each group"]
    limited = _replace(
        inner,
        rows=rows,
        because=f"of each person's rows those {' and '.join(limits)} are used, chosen from that person's rows alone",
    )
    return replace(
        limited,
        bound=GroupBound(keys=keys, parts=_unlabelled([*plan.axes, *plan.keys]), groups=plan.groups, rows=plan.rows),
    )


def _replace(
    inner: UnitReach,
    *,
    rows: int | None = None,
    constant: frozenset[str] | None = None,
    region: Region | None = None,
    because: str | None = None,
) -> UnitReach:
    return UnitReach(
        rows=inner.rows if rows is None else rows,
        constant=inner.constant if constant is None else constant,
        narrowing=inner.narrowing,
        region=inner.region if region is None else region,
        because=inner.because if because is None else (*inner.because, because),
    )


def narrowed_region(predicate: Predicate, names: frozenset[str]) -> Region:
    """The region of a predicate, by these columns alone: wider, never narrower.

    Because: a predicate is a monotone AND/OR of its leaves, so a leaf that becomes TRUE can only let more in.
    """
    return predicates.region(_widened(predicate, names))


def _widened(predicate: Predicate, names: frozenset[str]) -> Predicate:
    match predicate:
        case Member(column=column):
            return predicate if column in names else TRUE
        case Test():
            return TRUE
        case Every(parts=parts):
            return Every(tuple(_widened(part, names) for part in parts))
        case Some(parts=parts):
            return Some(tuple(_widened(part, names) for part in parts))
        case _:
            assert_never(predicate)


def _is_constant(expression: Expression, constant: frozenset[str]) -> bool:
    return columns(expression) <= constant


def check_distinct(statistics: Sequence[Statistic], reach: UnitReach) -> None:
    """Refuse to remember more different values than an engine has room for, by public numbers.

    Else a question would fail, or not, by whether a person with many rows is there.
    """
    counted = sum(isinstance(statistic, DistinctCount | PersonCount) for statistic in statistics)
    if counted > 1 and counted * reach.rows > MOST_DISTINCT:
        raise Refused(
            f"{counted} counts of distinct values, with up to {reach.rows:,} rows per person, are too many at once",
            hint="put each of them in its own query",
        )


def region(statistics: Sequence[Statistic], reach: UnitReach) -> Region:
    """Whom a question of these statistics can touch: those of the plan, less those that every FILTER leaves out."""
    filters = Region.union(narrowed_region(statistic.where, reach.narrowing) for statistic in statistics)
    return reach.region & filters


def cells_touched(keys: Sequence[Expression], reach: UnitReach, *, groups: int | None = None) -> int:
    """The most groups that one unit's rows lie in. `groups`: how many there are, where that is known.

    Groups by some of the keys of a limit are at most as many as by all of them.
    """
    if all(_is_constant(key, reach.constant) for key in keys):
        return 1
    bound = reach.bound
    limit = bound.groups if bound is not None and bound.keys.issuperset(keys) else None
    return min(each for each in (reach.rows, groups, limit) if each is not None)


def _unlabelled(parts: Sequence[Axis | Expression]) -> frozenset[Axis | Expression]:
    """What cells are, whatever they are called."""
    return frozenset(replace(part, labels=()) if isinstance(part, Axis) else part for part in parts)


def reach_by_keys(reach: UnitReach, parts: Sequence[Axis | Expression]) -> UnitReach:
    """The reach for groups by these axes and keys: a limit on the rows in a group is one for groups by all of its own.

    Because: in a bin of one axis lie several of a finer axis of the same key, each with as many rows as are allowed.
    """
    if reach.bound is None or reach.bound.parts.issubset(_unlabelled(parts)):
        return reach
    return replace(reach, bound=replace(reach.bound, rows=None))


def sensitivity(statistic: Statistic, reach: UnitReach, *, touched: int) -> Sensitivity:
    """How far the cells of one statistic can move under one unit, which is in at most `touched` of them.

    Guarantee: for neighbours D, D' the exact cells differ by at most l0 entries, l1 in total, l2_squared in
        squared length and linf in any one.
    Because: the unit owns at most `rows` rows of the relation and each row lies in one cell, so a count moves
        by the rows in its cell, rows in total, and furthest when all lie in one, or as many as a limit lets into
        one; a sum moves by at most its largest term for each row, rounded up to a grain in each cell; a number of
        persons moves by 1 in each cell; a number of different values by at most one for each row.

    Where `reach` has a limit on the rows in a group, the cells are those groups, or parts of them (`reach_by_keys`).
    """
    heaped = reach.rows if reach.bound is None or reach.bound.rows is None else min(reach.rows, reach.bound.rows)
    rows = min(reach.rows, touched * heaped)
    match statistic:
        case RowCount():
            return _spread(
                rows, most=heaped, cells=touched, because=(*reach.because, f"count: one person's rows add {rows:,}")
            )
        case PersonCount():
            because = (*reach.because, f"a person is counted once in each of at most {touched:,} groups")
            return Sensitivity(l0=touched, l1=touched, l2_squared=touched, linf=1, because=because)
        case DistinctCount():
            most = (
                f"{rows:,} rows add at most {rows:,} new values" if rows > 1 else "one row adds at most one new value"
            )
            because = (*reach.because, most)
            return _spread(rows, most=heaped, cells=touched, because=because)
        case Sum(grain=grain):
            term = term_of(statistic)
            more = f", and {rows:,} rows at most {rows * term:,}" if rows > 1 else ""
            because = (*reach.because, f"sum: one row adds at most {term:,} steps{more}")
            # floor(a / g) and floor(b / g) differ by at most ceil(|a - b| / g) in each cell.
            cells = min(touched, rows * term)
            total = rows * term if grain == 1 else rows * term // grain + cells
            return _spread(total, most=-(-heaped * term // grain), cells=cells, because=because)
        case _:
            assert_never(statistic)


def _spread(total: int, *, most: int, cells: int, because: tuple[str, ...]) -> Sensitivity:
    """`total` spread over at most `cells` cells, at most `most` in each; longest when it is heaped up."""
    full, rest = divmod(total, most)
    squared = full * most**2 + rest**2
    return Sensitivity(
        l0=min(cells, total),
        l1=min(total, cells * most),
        l2_squared=min(squared, cells * most**2),
        linf=most,
        because=because,
    )


def term_of(statistic: Sum) -> int:
    """The most that one row adds to a sum, in steps."""
    low, high = statistic.of.low, statistic.of.high
    if low is None or high is None:
        raise Refused("a sum needs bounds", hint="declare low and high")
    term = max(abs(low - statistic.centre), abs(high - statistic.centre), 1)
    if term > MOST_TERM:
        raise Refused(
            "the numbers to be summed are too large", hint="declare narrower bounds or a larger step, or use least(…)"
        )
    return term


def with_grain(statistic: Sum, reach: UnitReach) -> Sum:
    """The same sum, cut to a power of two of steps where it moves by very many."""
    grain = 1 << (reach.rows * term_of(statistic) // _FINEST).bit_length()
    return Sum(of=statistic.of, centre=statistic.centre, grain=grain, where=statistic.where)
