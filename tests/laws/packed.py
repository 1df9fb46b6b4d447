"""Many neighbours in one job: a declared table beside itself without each person, told apart by a column.

A query costs Spark as much for two hundred neighbours as for one. So a table's variants lie in one: number 0 is the
whole, number v is the whole without person v; persons of two variants are two persons. A question
gets the variant as one key more; each side of a pair then reads its own cells. What is declared is the engine's own
work, and is held against the reference's.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.region import Region
from discreet.engines.engine import ExactCells, ExactKeys, TableLocations
from discreet.engines.keyed_hashes import person_tag
from discreet.engines.spark.lake import LakeManifest, LakePart
from discreet.engines.table_file import PERSON
from discreet.engines.table_location import LakeFolder
from discreet.plan.cells import Axis, Cells
from discreet.plan.expressions import Code
from discreet.plan.relation import PerPerson, Plan, Scan
from engines.conformance.grounds import Shore
from engines.persons_tables import TAG_KEY
from laws.neighbours import Declared, Pair
from laws.worlds import World

VARIANT = "which variant"
_TYPES = {"integer": pa.int32(), "long": pa.int64(), "string": pa.string()}


def everybody(world: World) -> list[tuple[str, ...]]:
    """The persons of a world who have rows of their own."""
    parts = len(world.person)
    rows = [row[:parts] for name in ("visits", "bills") for row in world.sources[name].rows]
    return [tuple(map(str, key)) for key in dict.fromkeys(rows) if None not in key]


@dataclass(frozen=True, kw_only=True)
class Packed:
    """An engine over packed tables; what it has counted is kept for the other sides."""

    ground: Shore
    size: int
    kept: dict = field(default_factory=dict)

    @property
    def axis(self) -> Axis:
        code = Code(VARIANT, 0, self.size - 1, null=False)
        return Axis(of=code, edges=tuple(range(self.size + 1)), null=False, labels=tuple(range(self.size)))

    def cells(self, cells: Cells, region: Region, tables: TableLocations) -> tuple[np.ndarray, ...]:
        """Vectors of shape (keys, variants, the rest)."""
        known = (cells, region)
        if known not in self.kept:
            wide = replace(cells, plan=carried(cells.plan, self.size), axes=(self.axis, *cells.axes))
            exact = self.ground.engine.count(wide, region, tables=tables).exact_values
            found = 1 if cells.discovered_axis is None else cells.discovered_axis.size
            rest = math.prod(axis.size for axis in cells.axes)
            self.kept[known] = tuple(vector.reshape(found, self.size, rest) for vector in exact)
        return self.kept[known]

    def keys(self, plan: Plan, keys, region: Region, persons: bool, tables: TableLocations):
        """Every key that exists, its variant first, and how many have it."""
        known = (plan, keys, region, persons)
        if known not in self.kept:
            wide = (self.axis.of, *keys)
            found = self.ground.engine.keys(carried(plan, self.size), wide, region, persons=persons, tables=tables)
            self.kept[known] = list(zip(found.exact_keys, found.exact_persons.tolist(), strict=True))
        return self.kept[known]


def carried(plan: Plan, size: int) -> Plan:
    """The plan with its variant kept where rows become one for each person."""
    match plan:
        case Scan():
            return plan
        case PerPerson():
            code = Code(VARIANT, 0, size - 1, null=False)
            return replace(plan, source=carried(plan.source, size), keys=((VARIANT, code), *plan.keys))
        case _:
            return replace(plan, source=carried(plan.source, size))


@dataclass(frozen=True, kw_only=True)
class Side:
    """One variant, as an engine that has counted it alone."""

    packed: Packed
    variant: int

    def count(self, cells: Cells, region: Region, *, tables: TableLocations) -> ExactCells:
        return ExactCells(tuple(vector[:, self.variant].ravel() for vector in self.packed.cells(cells, region, tables)))

    def keys(self, plan, keys, region, *, persons, tables, weights=None) -> ExactKeys:
        assert weights is None, "weights depend on all keys of a person, of which a variant has its own"
        found = self.packed.keys(plan, keys, region, persons, tables)
        mine = [(key[1:], count) for key, count in found if key[0] == self.variant]
        return ExactKeys(tuple(key for key, _ in mine), np.array([count for _, count in mine], dtype=np.int64))


@dataclass(frozen=True, kw_only=True)
class Variant(Declared):
    """The tables of one variant."""

    side: Side

    @property
    def engine(self) -> Side:
        return self.side


def pairs(pair: Pair, people: list[tuple[str, ...]], folder: Path) -> list[Pair]:
    """For each person the whole, and the whole without them: all of it in packed tables."""
    ground = pair.whole.ground
    packed = Packed(ground=ground, size=len(people) + 1)
    tags = [person_tag(person, TAG_KEY) for person in people]
    files = {name: _pack(ground, place, tags, folder / f"{name}.lake") for name, place in pair.whole.files.items()}

    def side(variant: int) -> Variant:
        return Variant(ground=ground, files=files, side=Side(packed=packed, variant=variant))

    return [
        replace(
            pair, whole=side(0), less=side(number + 1),
            unit={name: pair.whole.records(name, person) for name in pair.world.sources},
        )
        for number, person in enumerate(people)
    ]  # fmt: skip


def _pack(ground: Shore, place: LakeFolder, tags: list[bytes], target: Path) -> LakeFolder:
    """A declared table's variants as one declared table."""
    stored, side = ground.stored(place), ground.side(place)
    whose = {row["number"]: row["tag"] for row in side}
    told = LakeManifest.read((Path(place.folder) / "manifest.json").read_bytes())
    names = [name for name, _ in told.columns]
    rows, persons = [], []
    for variant, gone in enumerate([None, *tags]):
        start = variant * (max(whose, default=0) + 1)
        rows += [
            {f"c{number}": row[name] for number, name in enumerate(names)}
            | {f"c{len(names)}": variant, "person": start + row[PERSON]}
            for row in stored
            if whose[row[PERSON]] != gone
        ]
        persons += [
            {
                "number": start + row["number"],
                "tag": bytes([row["tag"][0] ^ variant]) + row["tag"][1:],
                "rows": row["rows"],
            }
            for row in side
            if row["tag"] != gone
        ]
    columns = (*told.columns, (VARIANT, "integer"))
    types = [(f"c{number}", _TYPES[type_]) for number, (_, type_) in enumerate(columns)]
    manifest = LakeManifest(
        columns=columns,
        rows=_part(target, "rows-0", rows, [*types, ("person", pa.int64())]),
        persons=_part(
            target, "persons-0", persons, [("number", pa.int64()), ("tag", pa.binary()), ("rows", pa.int64())]
        ),
    )
    (target / "manifest.json").write_bytes(manifest.to_bytes())
    return LakeFolder(folder=str(target))


def _part(target: Path, name: str, rows: list[Mapping], types) -> LakePart:
    (target / name).mkdir(parents=True)
    file = target / name / "part.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(types)), file)
    return LakePart(folder=name, files=((file.name, file.stat().st_size),))
