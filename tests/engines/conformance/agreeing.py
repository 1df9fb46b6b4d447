"""What must be the same on two engines: what is stored, what the owner is told, and every cell of a question."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from discreet.accounting.region import Region
from discreet.engines.engine import TableLocations
from discreet.engines.table_location import TableLocation
from discreet.plan.cells import DiscoveredAxis
from discreet.plan.price import Discover, price
from discreet.schema.schema import Schema, Table
from discreet.sql.catalog import Catalog
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_query
from engines.conformance.grounds import Ground, contents, declared
from engines.persons_tables import File

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A table, its rows, and the tables on the way to its persons, nearest first; and what stands for nobody."""

    schema: Schema
    file: File
    path: tuple["Declaration", ...] = ()
    null: tuple[str, ...] | None = None

    def table(self, ground: Ground) -> Table:
        """The table, its source laid."""
        source = ground.lay(self.file, self.schema.table)
        return Table(schema=self.schema, source=source, population="people", budget=None, null=self.null)

    def declare(self, ground: Ground, forgotten=()):
        path = tuple(step.table(ground) for step in self.path)
        return declared(ground, self.table(ground), path, forgotten)

    def gap(self, ground: Ground) -> str:
        return next((why for each in (self, *self.path) if (why := ground.gap(each.file))), "")


def agree(
    reference: Ground, ground: Ground, declaration: Declaration, forgotten=()
) -> tuple[TableLocation, TableLocation]:
    """The same table on both; where it lies on each."""
    places = []
    found = []
    for each in (reference, ground):
        making, place = declaration.declare(each, forgotten)
        places.append(place)
        found.append((making, *contents(each, place, persons=not declaration.schema.unit.is_row)))
    if isinstance(places[1], Path):
        assert pq.read_schema(places[1]).equals(pq.read_schema(places[0]))
    for told, one, two in zip(("told", "rows", "persons"), *found, strict=True):
        assert two == one, f"{told} of {declaration.schema.table} on {ground.name}"
    return places[0], places[1]


def outcome(ground: Ground, asked: ParsedQuery, places: Mapping[str, TableLocation], *, region: bool) -> list[Any]:
    """All that an engine says for a question: keys, and the exact vectors of each step."""
    terms = {"epsilon": EPSILON, "gaussian": False, "delta": DELTA, "weigh_keys": True}
    priced = price(asked.inquiry, asked.reach, needs=asked.needs, **terms)
    tables = TableLocations(files={scan: places[scan.table] for scan in asked.tables}, publics=asked.publics)
    within = priced.region if region else Region.whole()
    said: list[Any] = []
    keys: DiscoveredAxis | None = None
    for step in priced.steps:
        if isinstance(step, Discover):
            for weights in dict.fromkeys([None, step.weights]):
                known = ground.engine.keys(
                    step.plan, step.keys, within, persons=step.persons, tables=tables, weights=weights
                )
                said.append(list(zip(known.exact_keys, known.exact_persons.tolist(), strict=True)))
            keys = DiscoveredAxis(of=step.keys, keys=known.exact_keys)
            continue
        exact = ground.engine.count(replace(step.cells, discovered_axis=keys), within, tables=tables).exact_values
        said.append([[int(each) for each in vector] for vector in exact])
    return said


def same_answers(
    reference: Ground,
    ground: Ground,
    text: str,
    catalog: Catalog,
    places: Mapping[str, tuple[TableLocation, TableLocation]],
) -> list[Any]:
    """The same keys and cells of one question on both, which are given back."""
    asked = parse_query(text, catalog)
    wanted = outcome(reference, asked, {name: pair[0] for name, pair in places.items()}, region=False)
    found = outcome(ground, asked, {name: pair[1] for name, pair in places.items()}, region=True)
    assert found == wanted, f"{ground.name}: {text}"
    return wanted
