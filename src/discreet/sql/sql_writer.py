"""Plan to SQL of any dialect. Everything an engine ever runs for a question is written here, from our own plan.

Numbers and texts are written by us, identifiers are quoted, and no function can fail on a value: see
`emit` for expressions, and here arithmetic on codes that the WHERE clause has already kept within their edges.
One class, and so one file, long as it is: each node of a plan is written by one method beside the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import assert_never

from discreet.accounting.region import NOT_NULL, Region, ValueSet
from discreet.plan.cell_statistics import (
    DistinctCount,
    Inner,
    PersonCount,
    PersonMaximum,
    PersonMean,
    PersonMinimum,
    RowCount,
    Statistic,
    Sum,
)
from discreet.plan.cells import Axis, Cells, KeyWeights
from discreet.plan.expression_facts import reach_of
from discreet.plan.expressions import Code, Expression, TextCode, Words
from discreet.plan.predicate import TRUE, Every, Member, Predicate, within
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, LimitGroups, PerPerson, Plan, Scan, base
from discreet.schema.privacy_unit import OURS
from discreet.sql.dialect import Dialect, DistinctBits
from discreet.sql.emitter import Emitter

#: What the declared table calls the number of a row's person.
PERSON = f"{OURS}person"

#: The number of no person: theirs count from 0.
NOBODY = -1

#: What the table of discovered keys calls the number of a key.
PLACE = f"{OURS}place"

#: A column of so few values is grouped by its dictionary.
_FEW = 2048

#: In so few cells different numbers are counted as bits: a block of a cell then has several of its 256.
_MOST_CELLS_OF_BITS = 64

#: The keys of persons are counted in so many parts, of which one is held at a time.
_PARTS = 4

#: No person has this number.
_MOST_PERSON = 2**31 - 1

#: Sums come back in two halves of 62 bits each.
HALF = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTableNames:
    """What tables are called in the SQL: quoted names for people, table functions for an engine."""

    scan: Callable[[Scan], str]
    persons: Callable[[Scan], str]
    public: Callable[[JoinPublic], str]
    discovered_keys: str = "found"


def key_name(number: int) -> str:
    """What the table of discovered keys calls its columns."""
    return f"{OURS}key {number}"


def display_names(dialect: Dialect) -> SqlTableNames:
    """Tables by their own names, for explain: no path, no key."""
    return SqlTableNames(
        scan=lambda scan: dialect.identifier(scan.table),
        persons=lambda scan: dialect.identifier(f"persons of {scan.table}"),
        public=lambda join: dialect.identifier(join.table),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """A relation: what stands after FROM, and the conditions that go with it."""

    text: str
    conditions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlWriter:
    """Writes questions for one dialect, with what tables are called there."""

    emitter: Emitter
    names: SqlTableNames

    @property
    def dialect(self) -> Dialect:
        return self.emitter.dialect

    def _name(self, name: str) -> str:
        return self.dialect.identifier(name)

    def count(self, cells: Cells, region: Region) -> str:
        """One SELECT of a flat cell number, row-major over the axes, and the statistics of that cell.

        Cells without rows are left out. A sum comes as two numbers, `high` and `low`: high * 2^62 + low.

        Guarantee: a row of a unit outside `region` is in no cell, and each row of the relation is in at most one.
        Because: the region's boxes are ANDed where the table asked about is scanned, and GROUP BY is of one
            expression of that row alone.
        """
        rows = self._relation(cells.plan, region)
        text, conditions = rows.text, list(rows.conditions)
        counted_statistics = [self._counted_column(statistic, cells.statistics) for statistic in cells.statistics]
        filters = {where for _, where in counted_statistics}
        if len(filters) == 1:
            conditions += self._conjuncts(*filters)
        if cells.discovered_axis is not None:
            matches = [
                self.dialect.same(self._plain(of), self._name(key_name(number)), texts=isinstance(of, Words))
                for number, of in enumerate(cells.discovered_axis.of)
            ]
            text += f"\nJOIN {self.names.discovered_keys} ON {' AND '.join(matches)}"
        conditions += [self._within(axis) for axis in cells.axes]
        filter_clauses = ["" if len(filters) == 1 else self._filter(where) for _, where in counted_statistics]
        bits = self._distinct_bits(cells.statistics) if prod(cells.shape) <= _MOST_CELLS_OF_BITS else None
        if bits is not None:
            counts = [count for count, _ in counted_statistics]
            return self._count_bits(cells, bits, counts, filter_clauses, _Rows(text=text, conditions=tuple(conditions)))
        listed: list[str] = []
        for place, (counted, _) in enumerate(counted_statistics):
            filter_clause = filter_clauses[place]
            listed += self._statistic(cells.statistics[place], counted, filter_clause, place)
        if self.dialect.dictionaries and _is_simple(cells):
            return self._by_one_column(cells.axes[0], listed, text, conditions)
        lines = [f"SELECT {', '.join([f'{self._cell(cells)} AS cell', *listed])}", f"FROM {text}", *_where(conditions)]
        if cells.shape:
            lines.append("GROUP BY 1")
        return "\n".join(lines)

    def _distinct_bits(self, statistics: tuple[Statistic, ...]) -> DistinctBits | None:
        """How the one column is counted whose different numbers are; None where there is not one, or another way."""
        columns = set()
        for statistic in statistics:
            match statistic:
                case PersonCount():
                    columns.add(PERSON)
                case DistinctCount(of=Code(column=column, low=int(), high=int(), reach=reach)) if reach < 2**HALF:
                    columns.add(column)
                case DistinctCount():
                    return None
        return self.dialect.distinct_bits(self._name(columns.pop())) if len(columns) == 1 else None

    def _count_bits(
        self, cells: Cells, bits: DistinctBits, counts: list[str], filter_clauses: list[str], rows: _Rows
    ) -> str:
        """`count` in two levels: blocks of numbers in each cell, then cells.

        Guarantee: as `count`, and each number is what one level would bring.
        Because: each row is in one block, whose counts and sums add up; for different numbers see `DistinctBits`.
        """
        listed = [f"{self._cell(cells)} AS cell"] if cells.shape else []
        listed.append(f"{bits.block} AS {self._name(f'{OURS}block')}")
        grouped = ", ".join(str(place + 1) for place in range(len(listed)))
        summed = ["cell" if cells.shape else "0 AS cell"]
        for place, (statistic, filter_clause) in enumerate(zip(cells.statistics, filter_clauses, strict=True)):
            match statistic:
                case RowCount():
                    listed.append(f"count({counts[place]}){filter_clause} AS s{place}")
                    summed.append(f"coalesce(sum(s{place}), 0) AS s{place}")
                case PersonCount() | DistinctCount():
                    names = [f"s{place}_{word}" for word in range(len(bits.bits))]
                    listed += [f"{each}{filter_clause} AS {name}" for each, name in zip(bits.bits, names, strict=True)]
                    summed.append(f"coalesce(sum({bits.size(names)}), 0) AS s{place}")
                case Sum(of=of, centre=centre):
                    total = self._total(of, filter_clause)
                    listed.append(f"CAST({total} AS {self.dialect.huge}) AS s{place}")
                    if centre:
                        listed.append(f"count({self._plain(of)}){filter_clause} AS n{place}")
                    summed += self._halves(f"sum(s{place})", centre, f"coalesce(sum(n{place}), 0)", place)
                case _:
                    assert_never(statistic)
        lines = [f"SELECT {', '.join(listed)}", f"FROM {rows.text}", *_where(list(rows.conditions))]
        blocks = self._derived(_indented([*lines, f"GROUP BY {grouped}"]), "blocks")
        return "\n".join([f"SELECT {', '.join(summed)}", f"FROM {blocks}", *(["GROUP BY 1"] if cells.shape else [])])

    def places(self, plan: Plan, axes: tuple[Axis, ...], region: Region) -> str:
        """Every row that has a cell on each axis, as the numbers of those cells: p0, p1, ...

        Guarantee: a row of a unit outside `region` is left out, and what a row becomes depends on that row alone.
        """
        rows, axes = self._with_searched(self._relation(plan, region), axes)
        listed = [
            f"CAST({self._place(axis)} AS {self.dialect.numbers(axis.size)}) AS p{turn}"
            for turn, axis in enumerate(axes)
        ]
        conditions = [*rows.conditions, *(self._within(axis) for axis in axes)]
        return "\n".join([f"SELECT {', '.join(listed)}", f"FROM {rows.text}", *_where(conditions)])

    def person_places(
        self, plan: Plan, axes: tuple[Axis, ...], codes: tuple[Expression, ...], region: Region, *, null: int
    ) -> str:
        """As `places`, and of each row some codes, c0, c1, ... (`null` where there is none), and its person's number.

        Guarantee: as `places`.
        """
        rows, axes = self._with_searched(self._relation(plan, region), axes)
        listed = [
            *(
                f"CAST({self._place(axis)} AS {self.dialect.numbers(axis.size)}) AS p{turn}"
                for turn, axis in enumerate(axes)
            ),
            *(f"CAST(coalesce({self._plain(of)}, {null}) AS BIGINT) AS c{turn}" for turn, of in enumerate(codes)),
            f"CAST({self._name(PERSON)} AS BIGINT) AS whose",
        ]
        conditions = [*rows.conditions, *(self._within(axis) for axis in axes)]
        return "\n".join([f"SELECT {', '.join(listed)}", f"FROM {rows.text}", *_where(conditions)])

    def _with_searched(self, rows: _Rows, axes: tuple[Axis, ...]) -> tuple[_Rows, tuple[Axis, ...]]:
        """A relation with a column for each computed value whose cell is searched for, and the axes by those columns.

        A search names its value once for each cell: a difference of two columns in 200 cells made 200,000 characters.
        """
        computed: list[str] = []
        by_column = list(axes)
        for turn, axis in enumerate(axes):
            if not isinstance(axis.of, Code) and not _is_even(axis):
                name = f"{OURS}searched {turn}"
                computed.append(f"{self.emitter.expression(axis.of)} AS {self._name(name)}")
                by_column[turn] = replace(axis, of=Code(name, None, None, null=axis.null))
        if not computed:
            return rows, axes
        text = self._with_columns(rows.text, computed, "searched", list(rows.conditions))
        return _Rows(text=text, conditions=()), tuple(by_column)

    def _counted_column(self, statistic: Statistic, others: tuple[Statistic, ...]) -> tuple[str, Predicate]:
        """What a count counts, and its condition. Where a summed column is not NULL, it is a count of that column."""
        if isinstance(statistic, RowCount):
            for other in others:
                if isinstance(other, Sum) and isinstance(other.of, Code) and other.where == TRUE:
                    code = other.of
                    if statistic.where == within(code, NOT_NULL):
                        return self._name(code.column), TRUE
        return "*", statistic.where

    def _by_one_column(self, axis: Axis, listed: list[str], text: str, conditions: list[str]) -> str:
        """Groups by the text of a code, which DuckDB takes from the file's dictionary, and turns back the few keys."""
        assert isinstance(axis.of, Code)
        key = self._name(f"{OURS}key")
        columns = [line.rsplit(" AS ", 1)[1] for line in listed]
        number = Axis(of=Code(f"{OURS}key", None, None, null=axis.null), edges=axis.edges, null=axis.null, labels=())
        inner = [
            f"SELECT CAST({self._name(axis.of.column)} AS VARCHAR) AS {key}, {', '.join(listed)}",
            f"FROM {text}",
            *_where(conditions),
            "GROUP BY 1",
        ]
        return (
            f"SELECT {self._place(number)} AS cell, {', '.join(columns)}\nFROM (\n  "
            + "\n  ".join("\n".join(inner).split("\n"))
            + "\n)"
        )

    def keys(
        self,
        plan: Plan,
        keys: tuple[Expression, ...],
        region: Region,
        *,
        persons: bool,
        weights: KeyWeights | None = None,
    ) -> str:
        """The keys that exist, each with its number of persons, sorted; with `weights`, with what its persons add."""
        rows = self._relation(plan, region)
        if weights is not None:
            if self.dialect.dictionaries and _is_read_quickly(plan, keys):
                return self._weighted_keys_by_parts(rows, keys, weights)
            return self._weighted_keys(rows, keys, weights)
        listed = [f"{self._plain(key)} AS k{place}" for place, key in enumerate(keys)]
        counted = f"count(DISTINCT {self._name(PERSON)})" if persons else "count(*)"
        places = ", ".join(str(place + 1) for place in range(len(keys)))
        return "\n".join(
            [
                f"SELECT {', '.join(listed)}, {counted} AS persons",
                f"FROM {rows.text}",
                *_where(list(rows.conditions)),
                f"GROUP BY {places}",
                f"ORDER BY {', '.join(f'{place + 1} NULLS LAST' for place in range(len(keys)))}",
            ]
        )

    def _weighted_keys(self, rows: _Rows, keys: tuple[Expression, ...], weights: KeyWeights) -> str:
        """Each person once under each key, with how many keys that person has; and by keys the sum of the weights.

        Guarantee: a person with m keys adds the weight of m to each of them, and nothing elsewhere.
        """
        person, number = self._name(PERSON), self._name(f"{OURS}keys")
        listed = [f"{self._plain(key)} AS k{place}" for place, key in enumerate(keys)]
        names = [f"k{place}" for place in range(len(keys))]
        lines = [f"SELECT {', '.join([person, *listed])}", f"FROM {rows.text}", *_where(list(rows.conditions))]
        owned = self._derived(
            self.dialect.distinct(lines, len(listed) + 1, self._name(f"{OURS}all keys")), "owned keys"
        )
        counted = self._derived(
            f"SELECT {', '.join(names)}, count(*) OVER (PARTITION BY {person}) AS {number} FROM {owned}", "counted keys"
        )
        places = ", ".join(str(place + 1) for place in range(len(keys)))
        return "\n".join(
            [
                f"SELECT {', '.join(names)}, CAST({_weight_sum(number, weights)} AS {self.dialect.big}) AS weight",
                f"FROM {counted}",
                f"GROUP BY {places}",
                f"ORDER BY {', '.join(f'{place + 1} NULLS LAST' for place in range(len(keys)))}",
            ]
        )

    def _weighted_keys_by_parts(self, rows: _Rows, keys: tuple[Expression, ...], weights: KeyWeights) -> str:
        """`_weighted_keys` with numbers for keys, a part of the persons after another: what is grouped is small then,
        and a quarter of it is held at a time.

        Guarantee: as `_weighted_keys`.
        Because: equal keys, NULL among them, have one number, and each person is in one part, whole. One more number,
            of nobody, is there: an engine that sees no number would not read the rows again, and how long that takes
            would tell whether somebody meets the conditions.
        """
        person, number, least = self._name(PERSON), self._name(PLACE), self._name(f"{OURS}least")
        keys_of_person, weight = self._name(f"{OURS}keys"), self._name(f"{OURS}weight")
        names = [self._name(key_name(place)) for place in range(len(keys))]
        numbers = self._name(f"{OURS}key numbers")
        listed = ", ".join(f"{self._plain(key)} AS {name}" for key, name in zip(keys, names, strict=True))
        where = " ".join(_where(list(rows.conditions)))
        matches = [
            self.dialect.same(self._plain(key), name, texts=isinstance(key, Words))
            for key, name in zip(keys, names, strict=True)
        ]
        parts = []
        for part in range(_PARTS):
            conditions = " ".join(_where([*rows.conditions, f"{person} % {_PARTS} = {part}"]))
            owned = (
                f"SELECT DISTINCT {person}, {number} FROM {rows.text} "
                f"JOIN {numbers} ON {' AND '.join([*matches, f'{person} > {least}'])} {conditions}"
            )
            counted = f"SELECT {number}, count(*) OVER (PARTITION BY {person}) AS {keys_of_person} FROM ({owned})"
            parts.append(
                f"SELECT {number}, {_weight_sum(keys_of_person, weights)} AS {weight} FROM ({counted}) GROUP BY 1"
            )
        summed = (
            f"SELECT {number}, sum({weight}) AS {weight} FROM (\n  " + "\n  UNION ALL ".join(parts) + "\n) GROUP BY 1"
        )
        return "\n".join(
            [
                f"WITH {numbers} AS MATERIALIZED (",
                f"  SELECT *, CAST(row_number() OVER () AS UINTEGER) AS {number}, {NOBODY} AS {least}",
                f"  FROM (SELECT DISTINCT {listed} FROM {rows.text} {where})",
                f"  UNION ALL SELECT {', '.join(['NULL'] * len(keys))}, 0, {_MOST_PERSON}",
                ")",
                f"SELECT {', '.join(f'{name} AS k{place}' for place, name in enumerate(names))}, "
                f"CAST({weight} AS {self.dialect.big}) AS weight",
                f"FROM ({summed}) JOIN {numbers} USING ({number})",
                f"ORDER BY {', '.join(f'{place + 1} NULLS LAST' for place in range(len(keys)))}",
            ]
        )

    def _relation(self, plan: Plan, region: Region | None) -> _Rows:
        match plan:
            case Scan():
                return _Rows(
                    text=self.names.scan(plan), conditions=() if region is None else tuple(self._sides(region))
                )
            case Filter(source=source, where=where):
                inner = self._relation(source, region)
                return _Rows(text=inner.text, conditions=(*inner.conditions, *self._conjuncts(where)))
            case JoinPublic():
                inner = self._relation(plan.source, region)
                matches = [f"{self._plain(left)} = {self._name(right)}" for left, right in plan.on]
                word = "LEFT JOIN" if plan.outer else "JOIN"
                text = f"{inner.text}\n{word} {self.names.public(plan)} ON {' AND '.join(matches)}"
                return _Rows(text=text, conditions=inner.conditions)
            case JoinPerson():
                return self._join_person(plan, region)
            case PerPerson():
                return _Rows(text=self._per_person(plan, region), conditions=())
            case LimitGroups():
                return self._limit_groups(plan, region)
            case _:
                assert_never(plan)

    def _join_person(self, plan: JoinPerson, region: Region | None) -> _Rows:
        """The same person's rows of another relation; across tables persons meet by their tags.

        One more row, of nobody, is on the other side: an engine that sees no row there would not read this side at all,
        and how long a question runs would tell whether one person meets its conditions.
        """
        inner, other = self._relation(plan.source, region), self._relation(plan.other, None)
        word = "LEFT JOIN" if plan.outer else "JOIN"
        own, theirs = base(plan.source), base(plan.other)
        number = self._name(f"{OURS}person {plan.place}")
        listed = [f"{self._name(PERSON)} AS {number}"]
        listed += [f"{self.emitter.expression(expression)} AS {self._name(name)}" for name, expression in plan.columns]
        lines = [f"SELECT {', '.join(listed)}", f"FROM {other.text}", *_where(list(other.conditions))]
        if not plan.outer:
            lines.append(f"UNION ALL SELECT {', '.join([str(NOBODY), *['NULL'] * len(plan.columns)])}")
        joined = "\n  ".join("\n".join(lines).split("\n"))
        text = inner.text
        left = self._name(PERSON)
        if own != theirs:
            mine, yours = self._name(f"{OURS}mine {plan.place}"), self._name(f"{OURS}theirs {plan.place}")
            pairs = (
                f"SELECT a.number AS {mine}, b.number AS {yours} "
                f"FROM {self.names.persons(own)} AS a JOIN {self.names.persons(theirs)} AS b ON a.tag = b.tag "
                f"UNION ALL SELECT {NOBODY}, {NOBODY}"
            )
            text += f"\n{word} {self._derived(pairs, f'pairs {plan.place}')} ON {left} = {mine}"
            left = yours
        rows = self._derived(f"\n  {joined}\n", f"rows {plan.place}")
        return _Rows(text=f"{text}\n{word} {rows} ON {left} = {number}", conditions=inner.conditions)

    def _derived(self, select: str, name: str) -> str:
        """A SELECT as a table. Its columns are named without it; names of tables in one FROM differ all the same."""
        return self.dialect.derived(select, self._name(f"{OURS}{name}"))

    def _per_person(self, plan: PerPerson, region: Region | None) -> str:
        inner = self._relation(plan.source, region)
        listed = [self._name(PERSON)]
        listed += [f"{self.emitter.expression(expression)} AS {self._name(name)}" for name, expression in plan.keys]
        grouped = ", ".join(str(place + 1) for place in range(len(listed)))
        listed += [f"{self._inner(value)} AS {self._name(name)}" for name, value in plan.values]
        lines = [
            f"SELECT {', '.join(listed)}",
            f"FROM {inner.text}",
            *_where(list(inner.conditions)),
            f"GROUP BY {grouped}",
        ]
        return self._derived(_indented(lines), "rows")

    def _limit_groups(self, plan: LimitGroups, region: Region | None) -> _Rows:
        """The rows with their places among the groups of their person, and among the rows of person and group.

        Guarantee: which rows of a person are kept depends on that person's rows and tag alone, and not on their order.
        Because: windows are partitions by person, which are ordered by hashes of the tag and of what stands there,
            and then by that itself; so equals are equal in all that is counted. The number of a person, which depends
            on others, parts rows and orders nothing.
        """
        inner = self._relation(plan.source, region)
        number, tag = self._name(f"{OURS}limited"), self._name(f"{OURS}tag")
        tags = f"SELECT number AS {number}, tag AS {tag} FROM {self.names.persons(base(plan.source))}"
        person, groups = self._name(PERSON), [self._place(axis) for axis in plan.axes]
        groups += [self._plain(key) for key in plan.keys]
        group_names = [self._name(f"{OURS}group {place}") for place in range(len(groups))]
        listed = [f"{group} AS {name}" for group, name in zip(groups, group_names, strict=True)]
        conditions = [*inner.conditions, *(self._within(axis) for axis in plan.axes)]
        text = f"{inner.text}\nJOIN {self._derived(tags, 'tags')} ON {person} = {number}"
        text = self._with_columns(text, listed, "groups", conditions)
        kept: list[str] = []
        if plan.groups is not None:
            place = self._name(f"{OURS}group place")
            order = _ordered([self.dialect.digest(tag, group_names), *group_names])
            text = self._with_columns(
                text, [f"dense_rank() OVER (PARTITION BY {person} ORDER BY {order}) AS {place}"], "group places"
            )
            kept.append(f"{place} <= {plan.groups}")
        if plan.rows is not None:
            occurrence, place = self._name(f"{OURS}occurrence"), self._name(f"{OURS}row place")
            columns, parted = [self._name(name) for name in plan.columns], ", ".join([person, *group_names])
            order = person  # any: rows count alike
            if columns:
                equal = ", ".join([parted, *columns])
                text = self._with_columns(
                    text, [f"row_number() OVER (PARTITION BY {equal} ORDER BY {person}) AS {occurrence}"], "occurrences"
                )
                order = _ordered([self.dialect.digest(tag, [occurrence, *columns]), occurrence, *columns])
            text = self._with_columns(
                text, [f"row_number() OVER (PARTITION BY {parted} ORDER BY {order}) AS {place}"], "row places"
            )
            kept.append(f"{place} <= {plan.rows}")
        return _Rows(text=text, conditions=tuple(kept))

    def _with_columns(self, text: str, listed: list[str], name: str, conditions: list[str] | None = None) -> str:
        """The rows of a relation with more columns, as a table."""
        lines = [f"SELECT {', '.join(['*', *listed])}", f"FROM {text}", *_where(conditions or [])]
        return self._derived(_indented(lines), name)

    def _inner(self, inner: Inner) -> str:
        """A statistic of one person's rows; within 62 bits it is written as BIGINT."""
        filter_clause = self._filter(inner.where)
        match inner:
            case RowCount():
                return f"count(*){filter_clause}"
            case Sum(of=of):
                return f"CAST({self._total(of, filter_clause)} AS {self.dialect.huge})"
            case DistinctCount(of=of):
                return f"count(DISTINCT {self._plain(of)}){filter_clause}"
            case PersonMinimum(of=of):
                return f"min({self.emitter.expression(of)}){filter_clause}"
            case PersonMaximum(of=of):
                return f"max({self.emitter.expression(of)}){filter_clause}"
            case PersonMean(of=of, finer=finer):
                total = f"(CAST({self._total(of, filter_clause)} AS {self.dialect.huge}) * {finer})"
                number = f"CAST(count({self.emitter.expression(of)}){filter_clause} AS {self.dialect.huge})"
                return self.emitter.floor(total, number, wide=True)
            case _:
                assert_never(inner)

    def _statistic(self, statistic: Statistic, counted: str, filter_clause: str, place: int) -> list[str]:
        match statistic:
            case RowCount():
                return [f"count({counted}){filter_clause} AS s{place}"]
            case PersonCount():
                return [f"count(DISTINCT {self._name(PERSON)}){filter_clause} AS s{place}"]
            case DistinctCount(of=of):
                return [f"count(DISTINCT {self._plain(of)}){filter_clause} AS s{place}"]
            case Sum(of=of, centre=centre):
                number = f"count({self._plain(of)}){filter_clause}"
                return self._halves(self._total(of, filter_clause), centre, number, place)
            case _:
                assert_never(statistic)

    def _halves(self, total: str, centre: int, number: str, place: int) -> list[str]:
        """A total of so many rows' numbers, each less the centre, as two numbers of 62 bits."""
        total = f"coalesce({total}, 0)"
        if centre:  # once for all rows, not once for each
            many = f"CAST({number} AS {self.dialect.huge})"
            total = f"({total} {'-' if centre > 0 else '+'} {many} * {abs(centre)})"
        high = self.dialect.quotient(total, str(2**HALF), wide=True)
        low = self.dialect.remainder(total, str(2**HALF), wide=True)
        return [
            f"CAST({high} AS {self.dialect.big}) AS high{place}",
            f"CAST({low} AS {self.dialect.big}) AS low{place}",
        ]

    def _total(self, of: Expression, filter_clause: str) -> str:
        return self.dialect.total(self.emitter.expression(of), filter_clause, most=reach_of(of.low, of.high))

    def _filter(self, where: Predicate) -> str:
        return "" if where == TRUE else f" FILTER (WHERE {self.emitter.predicate(where)})"

    def _plain(self, expression: Expression) -> str:
        """An expression that is only compared: a column as it is stored."""
        return self._name(expression.column) if isinstance(expression, Code) else self.emitter.expression(expression)

    def _conjuncts(self, predicate: Predicate) -> list[str]:
        """A predicate as conditions that must all hold: one line each, for the reader."""
        parts = predicate.parts if isinstance(predicate, Every) else (predicate,)
        return [self.emitter.predicate(part) for part in parts]

    def _sides(self, region: Region) -> list[str]:
        """A region in the same way. The box of a plain conjunction is that conjunction, and is written once."""
        if len(region.boxes) != 1:
            return [self.emitter.region(region)]
        return [
            self.emitter.allowed(self.emitter.column(name, allowed), allowed)
            for name, allowed in region.boxes[0].sides.items()
        ]

    def _within(self, axis: Axis) -> str:
        """The row has a cell on this axis. Always so in a declared table; without it an index could go astray."""
        return self.emitter.allowed(self._plain(axis.of), ValueSet(((axis.edges[0], axis.edges[-1]),), axis.null))

    def _cell(self, cells: Cells) -> str:
        """The flat cell number: each axis in turn, the last one varying fastest."""
        places = [] if cells.discovered_axis is None else [(self._name(PLACE), cells.discovered_axis.size)]
        places += [(self._place(axis), axis.size) for axis in cells.axes]
        text = ""
        for turn, (place, size) in enumerate(places):
            text = f"{f'({text})' if turn > 1 else text} * {size} + {place}" if turn else place
        return text or "0"

    def _place(self, axis: Axis) -> str:
        """The number of the cell on one axis, for a code within its edges or, if the axis has such a cell, NULL."""
        first, size, bins = axis.edges[0], axis.edges[-1] - axis.edges[0], len(axis.edges) - 1
        wide = (size + 1) * bins >= 2**62 or max(abs(first), abs(axis.edges[-1])) >= 2**62
        code = self._name(axis.of.column) if isinstance(axis.of, Code) else self.emitter.expression(axis.of)
        if isinstance(axis.of, Code):
            code = f"CAST({code} AS {self.dialect.huge if wide else self.dialect.big})"
        else:  # what is wider than 64 bits lies within the edges here, but nothing rests on the order of evaluation
            code = self.dialect.fitting(code, first, axis.edges[-1] - 1, wide=wide)
        steps = f"({code} - {first})" if first > 0 else f"({code} + {-first})" if first < 0 else code
        if _is_even(axis):
            # With edges at first + place * size // bins, the last edge at or below a code is found by
            # one division: place * size // bins <= x  <=>  place * size < (x + 1) * bins.
            if size % bins:
                steps = self.dialect.quotient(f"(({steps} + 1) * {bins} - 1)", str(size), wide=wide)
            elif size > bins:
                steps = self.dialect.quotient(steps, str(size // bins), wide=wide)
            steps = f"CAST({steps} AS {self.dialect.big})" if wide else steps
            return f"coalesce({steps}, {bins})" if axis.null else steps
        name = self._plain(axis.of)
        search = self._search(name, axis.edges, 0, bins)
        return f"CASE WHEN {name} IS NULL THEN {bins} ELSE {search} END" if axis.null else search

    def _search(self, name: str, edges: tuple[int, ...], low: int, high: int) -> str:
        """A binary search for the cell among [low, high), as nested CASEs."""
        if high - low == 1:
            return str(low)
        middle = (low + high) // 2
        below, above = self._search(name, edges, low, middle), self._search(name, edges, middle, high)
        return f"CASE WHEN {name} < {edges[middle]} THEN {below} ELSE {above} END"


def _is_even(axis: Axis) -> bool:
    """Whether the cells are of one size, but for rounding: then one division brings the cell of a code."""
    first, size, bins = axis.edges[0], axis.edges[-1] - axis.edges[0], len(axis.edges) - 1
    return size == bins or all(edge == first + place * size // bins for place, edge in enumerate(axis.edges))


def _is_simple(cells: Cells) -> bool:
    """Whether the groups are the few single values of one stored column."""
    if cells.discovered_axis is not None or len(cells.axes) != 1 or not isinstance(cells.axes[0].of, Code):
        return False
    edges = cells.axes[0].edges
    return len(edges) <= _FEW and edges[-1] - edges[0] == len(edges) - 1


def _is_read_quickly(plan: Plan, keys: tuple[Expression, ...]) -> bool:
    """Whether rows and keys are stored columns under plain conditions, which cost little to read several times."""
    source, where = (plan.source, plan.where) if isinstance(plan, Filter) else (plan, TRUE)
    pieces = where.parts if isinstance(where, Every) else (where,)
    is_plain = isinstance(source, Scan) and not source.roster and all(isinstance(piece, Member) for piece in pieces)
    return is_plain and all(isinstance(key, Code | TextCode) for key in keys)


def _weight_sum(keys: str, weights: KeyWeights) -> str:
    """What persons with so many keys add to each."""
    cases = " ".join(f"WHEN {keys} <= {end} THEN {weight}" for end, weight in weights)
    return f"sum(CASE {cases} ELSE 0 END)"


def _indented(lines: list[str]) -> str:
    """A SELECT, indented to stand in brackets."""
    return "\n  " + "\n  ".join("\n".join(lines).split("\n")) + "\n"


def _ordered(columns: list[str]) -> str:
    return ", ".join(f"{column} NULLS LAST" for column in columns)


def _where(conditions: list[str]) -> list[str]:
    kept = [text for text in dict.fromkeys(conditions) if text != "TRUE"]
    return ["WHERE " + "\n  AND ".join(kept)] if kept else []
