"""Questions that do as much work for one person as Discreet accepts, for `./do bench work`.

Each family is a function of a size: more expressions, longer texts, more rows met. `largest` finds the largest size at
which the question is still accepted. The WHERE of each keeps the target's rows alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from discreet.errors import Refused
from discreet.plan.work_bound import unit_work
from discreet.schema.column import CategoryColumn, Column, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.sql.catalog import CatalogTable, PublicTable
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_query

#: The age that only the target has.
TARGET = 120
POPULATION = "people"
#: Beyond so many expressions planning takes so long that what rows add drowns in it.
MOST_SIZE = 40

COLUMNS: tuple[Column, ...] = (
    NumberColumn(name="age", type="integer", low=0, high=TARGET),
    NumberColumn(name="cost", type="integer", low=-1_000_000, high=1_000_000),
    NumberColumn(name="wide", type="integer", low=-(2**59), high=2**59),
    CategoryColumn(name="kind", values=("a", "b", "c", "d")),
    MomentColumn(name="day", type="date", low=18_000, high=19_000),
    TextColumn(name="note"),
)


def _public(name: str, codes: Mapping[str, Iterable[int]]) -> PublicTable:
    listed = {column: tuple(values) for column, values in codes.items()}
    columns = tuple(
        NumberColumn(name=column, type="integer", low=min(values), high=max(values))
        for column, values in listed.items()
    )
    return PublicTable(name=name, columns=columns, codes=listed)


def catalog(rows: int, *, public: int = 1000) -> dict[str, CatalogTable]:
    """A private table of persons with so many rows each; `ones`, all of one key; `ages`, one row for each."""
    visits = Schema(table="visits", columns=COLUMNS, unit=PrivacyUnit(person=("pid",), rows=rows))
    found = {"visits": CatalogTable(schema=visits, population=POPULATION)}
    for table in (
        _public("ones", {"one": [1] * public, "v": range(public)}),
        _public("many", {"n": range(public), "v": range(public)}),
    ):
        schema = Schema(table=table.name, columns=table.columns, unit=PrivacyUnit())
        found[table.name] = CatalogTable(schema=schema, public=lambda table=table: table)
    return found


def _listed(size: int, form: Callable[[int], str]) -> str:
    return ", ".join(f"{form(place)} AS c{place}" for place in range(size))


def _alone(size: int, form: Callable[[int], str], *, source: str = "visits v") -> str:
    return f"SELECT {_listed(size, form)} FROM {source} WHERE v.age = {TARGET}"


def _ones(size: int, form: Callable[[int], str]) -> str:
    """Rows that meet `size` rows of a public table of one key, by a few expressions."""
    return f"SELECT {_listed(4, form)} FROM visits v JOIN (SELECT * FROM ones WHERE v < {size}) o ON 1 = o.one WHERE v.age = {TARGET}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Questions of one shape. `rows`: of a person."""

    name: str
    rows: int
    question: Callable[[int], str]
    public: int = 1000


FAMILIES = (
    Family(name="sums", rows=1, question=lambda n: _alone(n, lambda i: f"sum((v.cost + {i}) * {i + 2})")),
    Family(name="quotients", rows=1, question=lambda n: _alone(n, lambda i: f"sum(floor(v.cost / (v.age + {i}.5)))")),
    Family(name="wide numbers", rows=1, question=lambda n: _alone(n, lambda i: f"sum(v.wide % (v.age * v.age + {i + 1}))")),
    Family(name="FILTER", rows=1, question=lambda n: _alone(n, lambda i: f"count(*) FILTER (WHERE v.cost % {i + 5000} = 1)")),
    Family(name="count(DISTINCT)", rows=1, question=lambda n: _alone(n, lambda i: f"count(DISTINCT v.cost + {i})")),
    Family(name="dates", rows=1, question=lambda n: _alone(n, lambda i: f"sum(year(v.day + {i % 100}) * {i + 1})")),
    Family(name="CASE", rows=1, question=lambda n: _alone(n, lambda i: f"sum(CASE WHEN v.cost % {i + 5000} = {i} THEN 1 WHEN v.cost * 3 > v.age + {i} THEN 2 ELSE 3 END)")),
    Family(name="lower", rows=1, question=lambda n: _alone(n, lambda i: f"count(*) FILTER (WHERE lower(v.note) LIKE '%x{i}%')")),
    Family(name="upper, trim, substr", rows=1, question=lambda n: _alone(n, lambda i: f"sum(least(length(trim(upper(substr(v.note, {i + 1})))), 1000))")),
    Family(name="LIKE", rows=1, question=lambda n: _alone(n, lambda i: f"count(*) FILTER (WHERE v.note LIKE '%a{'_' * (i % 9)}a%ab{i}%')")),
    Family(name="LIKE of many parts", rows=1, question=lambda n: _alone(n, lambda i: f"count(*) FILTER (WHERE v.note LIKE '%a_%a_%a_%a_%a_%a{i}b')")),
    Family(name="LIKE of a long part", rows=1, question=lambda n: _alone(1, lambda i: f"count(*) FILTER (WHERE v.note LIKE '%{'a' * (8 * n)}b%')")),
    Family(name="grouping sets", rows=1, question=lambda n: f"{_alone(n, lambda i: f'sum(v.cost * v.age + {i})')} GROUP BY CUBE (age, kind, day)"),
    Family(name="medians", rows=1, question=lambda n: _alone(n, lambda i: f"median(v.cost + {i} * v.age)")),
    Family(name="many rows", rows=1000, question=lambda n: _alone(n, lambda i: f"sum((v.cost + {i}) * {i + 2})")),
    Family(name="many rows, texts", rows=20, question=lambda n: _alone(n, lambda i: f"count(*) FILTER (WHERE lower(v.note) LIKE '%a{i}%')")),
    Family(name="public rows of one key", rows=1, public=12_000, question=lambda n: _ones(n * 100, lambda i: f"sum((v.cost + o.v) * {i + 2})")),
    Family(name="public rows of one key, texts", rows=1, question=lambda n: _ones(n, lambda i: f"sum(least(length(lower(v.note)), o.v + {i}))")),
    Family(name="public rows to hash", rows=1, public=90_000, question=lambda n: f"SELECT count(*) FROM visits v JOIN many m ON v.age = m.n WHERE v.age = {TARGET}"),
    Family(name="self-join", rows=90, question=lambda n: f"SELECT {_listed(n, lambda i: f'sum(a.cost + b.age * {i + 2})')} FROM visits a JOIN visits b ON a.pid = b.pid WHERE a.age = {TARGET}"),
    Family(name="self-join of three", rows=15, question=lambda n: f"SELECT {_listed(n, lambda i: f'sum(a.cost + b.age * {i + 2})')} FROM visits a JOIN visits b ON a.pid = b.pid JOIN visits c ON a.pid = c.pid WHERE a.age = {TARGET}"),
    Family(name="grouped by person", rows=1000, question=lambda n: f"SELECT sum(x0) FROM (SELECT pid, {', '.join(f'max(cost + {i}) AS x{i}' for i in range(n))} FROM visits WHERE age = {TARGET} GROUP BY pid) p"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Worst:
    """The largest question of a family, and what one person can add to it by the plan."""

    family: Family
    text: str
    asked: ParsedQuery
    work_ns: int


def largest(family: Family) -> Worst:
    """The largest accepted question of a family."""
    known = catalog(family.rows, public=family.public)
    low, high, best = 1, MOST_SIZE, parse_query(family.question(1), known)
    text = family.question(1)
    while low < high:
        middle = (low + high + 1) // 2
        try:
            best, text, low = parse_query(family.question(middle), known), family.question(middle), middle
        except Refused:
            high = middle - 1
    return Worst(family=family, text=text, asked=best, work_ns=unit_work(best.inquiry, best.schemas))
