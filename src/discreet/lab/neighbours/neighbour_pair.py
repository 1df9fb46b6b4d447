"""Two neighbours, declared by a real engine: tables, and the same tables without one unit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine, TableLocations
from discreet.engines.keyed_hashes import person_tag
from discreet.engines.memory import MemoryEngine
from discreet.engines.public_table_loader import load_public_table
from discreet.engines.table_file import PERSON
from discreet.engines.table_location import TableLocation
from discreet.lab.neighbours.engine_site import TAG_KEY, EngineSite, FileSite, contents, declare_table
from discreet.lab.neighbours.source_rows import GeneratedTable, World
from discreet.schema.schema import Table
from discreet.sql.catalog import Catalog, CatalogTable, PublicTable
from discreet.sql.parsed_query import ParsedQuery


@dataclass(frozen=True, kw_only=True)
class DeclaredSide:
    """The declared tables of one of two neighbours."""

    ground: EngineSite
    files: Mapping[str, TableLocation]

    @property
    def engine(self) -> Engine:
        return self.ground.engine

    @staticmethod
    def make(sources: Mapping[str, GeneratedTable], ground: EngineSite) -> DeclaredSide:
        """Lay the sources and declare them."""
        laid = {name: replace(source.table, source=ground.lay(source.file, name)) for name, source in sources.items()}
        files = {}
        for name, source in sources.items():
            path = tuple(laid[step.name] for step in source.path)
            _, files[name] = declare_table(ground, laid[name], path)
        return DeclaredSide(ground=ground, files=files)

    def rows(self, table: str) -> tuple[Counter[Any], Mapping[bytes, int]]:
        """The declared rows under the tags of their persons, and how many rows everybody has."""
        return contents(self.ground, self.files[table], persons=PERSON in self._columns(table))

    def _columns(self, table: str) -> set[str]:
        return {name for row in self.ground.stored(self.files[table])[:1] for name in row}

    def tables(self, query: ParsedQuery) -> TableLocations:
        """Where the tables of a question lie."""
        return TableLocations(files={scan: self.files[scan.table] for scan in query.tables}, publics=query.publics)

    def records(self, table: str, person: tuple[str, ...]) -> list[dict[str, Any]]:
        """The declared rows of a person."""
        tag = person_tag(person, TAG_KEY)
        numbers = {row["number"] for row in self.ground.side(self.files[table]) if row["tag"] == tag}
        return [row for row in self.ground.stored(self.files[table]) if row[PERSON] in numbers]

    def forget(self) -> None:
        """Take the tables away."""
        for place in self.files.values():
            self.engine.drop(place)


def catalog_of(world: World, folder: Path) -> dict[str, CatalogTable]:
    """What questions may name: the same for both neighbours."""
    catalog = {
        name: CatalogTable(schema=source.schema, population=source.table.population)
        for name, source in world.sources.items()
    }
    for name, source in world.publics.items():
        source.write(folder)
        catalog[name] = _public(source.table, folder)
    return catalog


def _public(table: Table, folder: Path) -> CatalogTable:
    loaded: PublicTable = load_public_table(table, folder=folder, engine=MemoryEngine())
    return CatalogTable(schema=table.schema, public=lambda: loaded)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two neighbours, declared, and what may be asked about them; the first of them as the reference has it, too.

    `changed`: a third, in which the unit has other rows.
    """

    world: World
    catalog: Catalog
    whole: DeclaredSide
    less: DeclaredSide
    reference: DeclaredSide
    unit: Mapping[str, list[dict[str, Any]]]
    changed: DeclaredSide | None = None

    @staticmethod
    def make(
        world: World,
        folder: Path,
        engine: Engine | EngineSite,
        *,
        both: bool = True,
        catalog: Catalog | None = None,
        changed: bool = False,
    ) -> Pair:
        """`engine`: one of files, or the site of any. Not `both`: only the whole is declared, to be packed.

        `catalog`: what questions may name, where it is more than the world's tables.
        """
        ground: Any = engine if hasattr(engine, "lay") else FileSite(name="files", engine=engine, folder=folder)
        whole = DeclaredSide.make(world.sources, ground)
        if world.person is None:
            ((name, source),) = world.sources.items()
            alone = DeclaredSide.make({name: replace(source, rows=(world.row or (),))}, ground)
            unit = {name: ground.stored(alone.files[name])}
            alone.forget()
        else:
            unit = {name: whole.records(name, world.person) for name in world.sources}
        reference_site = FileSite(name="memory", engine=MemoryEngine(), folder=folder)
        reference = DeclaredSide.make(world.sources, reference_site)
        for name in world.sources:
            if whole.rows(name) != reference.rows(name):
                whole.forget()
                raise NeighbourViolation(f"the engine and the reference declare another {name}")
        return Pair(
            world=world,
            catalog=catalog_of(world, folder) if catalog is None else catalog,
            whole=whole,
            less=DeclaredSide.make(world.neighbour(), ground) if both else whole,
            reference=reference,
            unit=unit,
            changed=DeclaredSide.make(world.other(), ground) if changed else None,
        )

    def forget(self) -> None:
        """Take all tables away."""
        for side in (self.whole, self.less, self.reference, self.changed):
            if side is not None:
                side.forget()


class NeighbourViolation(AssertionError):
    """A question on two neighbours did what its price rules out. `ratio`: of what moved to what was claimed."""

    def __init__(self, reason: str, *, ratio: float | None = None) -> None:
        super().__init__(reason)
        self.reason, self.ratio = reason, ratio


def require(holds: object, reason: str, *, ratio: float | None = None) -> None:
    """Raise the violation unless it holds."""
    if not holds:
        raise NeighbourViolation(reason, ratio=ratio)
