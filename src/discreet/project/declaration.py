"""Declaring tables: what `discreet add` proposes, and that nobody gets a second budget by a second name.

Budgets belong to people. A source that is declared, or was ever made into a version, under another
population is refused: by the same path, through a link, or as a copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine, SourceTrace
from discreet.engines.fingerprint import fingerprint, is_same_source, trace_of
from discreet.errors import Command, Flag, Message, UsageError
from discreet.ledger.owner_acts import is_unit_correction, refuse_other_naming, why_fixed
from discreet.ledger.records import VersionRecord
from discreet.ledger.state import LedgerState
from discreet.project.unit_notes import shared_budget_hint
from discreet.schema.address import DEFAULT, check_address, engine_kind, scheme
from discreet.schema.edge_table import refuse_other_engine
from discreet.schema.person_identity import Naming, describe, same_persons, sources_of
from discreet.schema.project_file import NAME, ProjectFile, read_table
from discreet.schema.schema import Budget, Table, closest_name_hint
from discreet.schema.source_layout import UNDECLARED, SourceLayout

#: What no column should be called: a number, a date, true or false.
_VALUE = re.compile(r"[-+]?\d+([.,]\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|true|false", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWish:
    """What the owner says of a new table: its source, and perhaps a name, whose rows they are, and whose budget.

    `address`: of the engine that holds the source.
    """

    source: str
    name: str | None = None
    person: str | None = None
    rows_per_person: int | None = None
    ends: tuple[str, str] | None = None
    budget: Budget | None = None
    public: bool = False
    population: str | None = None
    address: str = DEFAULT
    layout: SourceLayout = UNDECLARED


def propose_table(
    wish: TableWish, *, file: ProjectFile, folder: Path, engine: Engine, check: Callable[[Table], None]
) -> tuple[str, dict[str, Any], dict[str, dict[str, Any]]]:
    """A name, settings and columns for a new table. The proposal is for the owner, who may edit it.

    Names and types are proposed; bounds and categories never are, for they would be read from data. `check` refuses
    people whom the ledger knows already: their rows do not become public by a second name.
    """
    from discreet.engines.layout_detection import detect_layout  # with all that opens packed files

    source, address, person, ends = wish.source, wish.address, wish.person, wish.ends
    public, population, rows_per_person = wish.public, wish.population, wish.rows_per_person
    engine, engines = engine.at(check_address(address, where="--engine")), engine
    source_name = _relative(Path(source), folder) if _is_path(source, address) else source
    table_name = _name_of(Path(source).name if _is_file(source, address) else source.rpartition(".")[2])
    table_name = table_name if wish.name is None else wish.name
    if not table_name.strip() or not table_name.isprintable() or len(table_name) > 100:
        raise UsageError("a table's name must be printable text of at most 100 characters")
    if any(each.lower() == table_name.lower() for each in file.tables):
        raise UsageError(
            f"table {table_name!r} is already declared",
            hint=Message("edit its declaration in discreet.toml; use ", Flag("name"), " for a table with other rows"),
        )
    if rows_per_person is not None and person is None and ends is None:
        raise UsageError(
            Message(Flag("rows-per-person"), " needs a person"),
            hint=Message(Flag("person", "COLUMN"), ", which identifies a person"),
        )
    if ends is not None and (person is not None or public):
        raise UsageError(
            Message(
                Flag("ends"),
                " cannot be combined with ",
                Flag("person"),
                " or ",
                Flag("public"),
                ": both ends are protected persons",
            )
        )
    trace = engine.trace(source_name, folder=folder)
    layout = detect_layout(source_name, folder=folder, given=wish.layout) if address == DEFAULT else wish.layout
    header = engine.header(source_name, folder=folder, layout=layout)
    declared_traces = {name: _trace_declared(file.raw[name], folder, engines, beside=address) for name in file.tables}
    twin = next((table for name, table in file.tables.items() if is_same_source(declared_traces[name], trace)), None)
    if twin is not None and (population is None or twin.population != population):
        raise _already_declared(twin.name, twin.population, declared=twin.population in file.populations)
    if population is not None and population not in file.populations:
        raise UsageError(f"there is no population {population[:60]!r}", hint=shared_budget_hint(population))
    _refuse_person_as_header(trace.files[0].name if trace.files else source_name, header.names)
    columns = {
        column: dict(proposed) for column, proposed in engine.columns(source_name, folder=folder, layout=layout).items()
    }
    if person is not None and person not in columns and "," in person:
        raise _several_person_columns(person)
    for person_column in (*(() if person is None else (person,)), *(ends or ())):
        if person_column not in columns:
            raise UsageError(
                f"there is no column {person_column[:60]!r} in the source",
                hint=closest_name_hint(person_column, columns),
            )
    settings: dict[str, Any] = {"source": source_name} | ({} if address == DEFAULT else {"engine": address})
    settings |= layout.settings()
    if public:
        settings["public"] = True
    elif population is not None:
        settings["population"] = population
    elif wish.budget is not None:
        settings["budget"] = {"epsilon": wish.budget.epsilon, "delta": wish.budget.delta}
    if person is not None:
        settings |= {"person": person} | ({"rows_per_person": rows_per_person} if rows_per_person else {})
        del columns[person]
    if ends is not None:
        refuse_other_engine(table_name, address)
        settings |= {"ends": list(ends)} | ({"rows_per_person": rows_per_person} if rows_per_person else {})
        columns = {}  # of an edge nothing but its ends can be asked
    table = read_table(table_name, settings | {"columns": columns}, populations={population: {}} if population else {})
    if public:
        check(table)
    return table_name, settings, columns


def refuse_other_unit(table: Table, naming: Naming, *, state: LedgerState) -> None:
    """Refuse a table whose unit is not the one that its population protects, once something was released about it.

    What was answered under that one protects no other. While nothing was, the owner corrects it freely.
    """
    unit = state.units.get(table.population)
    if not state.is_fixed(table.population) or unit is None:
        return
    if unit != ("row" if table.schema.unit.is_row else "person"):
        raise UsageError(
            f"population {table.population!r} protects each {unit}. {why_fixed(state, table.population)}, so this "
            "cannot change",
            hint="declare `person` as before; the released answers do not protect another unit",
        )
    refuse_other_naming(state, table.population, table.name, naming)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSources:
    """The sources of a table that is to be made, its own first, then those on the way to its persons.

    `seal`: by which the ledger knows files again.
    """

    tables: tuple[Table, ...]
    naming: Naming
    folder: Path
    engine: Engine
    seal: Callable[[str], str]

    def shared_with(self, version: VersionRecord) -> Iterator[tuple[Naming, Naming]]:
        """For every source that a version shares with these: who its persons are here, and there."""
        version_sources = sources_of(version.table, version.schema, version.source)
        for place, table in enumerate(self.tables):
            trace = self.engine.at(table.engine).trace(table.source, folder=self.folder)
            mine = set(fingerprint(trace, seal=self.seal)["files"])
            for declared, files, naming in version_sources:
                there = _trace_declared(declared, self.folder, self.engine, beside=table.engine)
                if mine & files or is_same_source(there, trace):
                    yield self.naming[place:], naming


def refuse_second_unit(sources: TableSources, *, state: LedgerState) -> None:
    """Refuse a table that identifies the people of one source otherwise than another table of its population does.

    Guarantee: a source has one kind of person, by whatever names it is declared, so that what its tables lose adds up
        for the same persons.
    Because: every table made from it, or through it, is compared with all versions of others that are not stale; one
        that corrects itself makes the others stale, which are then compared with it before they can be asked.
    """
    table = sources.tables[0]
    if is_unit_correction(state, table.population, table.name, sources.naming):
        return
    for name, made in state.versions.items():
        for version in made.values():
            if name == table.name or version.population != table.population or state.is_stale(version):
                continue
            for here, there in sources.shared_with(version):
                if not same_persons(here, there):
                    raise UsageError(
                        f"{table.name!r} and {name!r} have the same source but identify its people differently: by "
                        f"{describe(here)} and by {describe(there)}. One limit cannot hold for both",
                        hint=f"declare the same `person` in both tables; if you change {name!r}, refresh it first",
                    )


def refuse_forgotten_sources(table: Table, *, state: LedgerState) -> None:
    """Refuse a new table while a restored ledger does not know the sources of those that it forgot."""
    newest_number = {name: max(made) for name, made in state.versions.items()}
    forgotten = [
        name
        for name, number in state.largest_versions.items()
        if number > max(newest_number.get(name, 0), state.removed.get(name, 0))
    ]
    if table.name not in state.versions and table.name not in forgotten and forgotten:
        raise UsageError(
            f"the ledger was restored from a backup, which does not contain the source of {forgotten[0]!r}",
            hint=Message("run ", Command("refresh", forgotten[0]), " first, from the same source as before"),
        )


def refuse_needed_table(name: str, tables: Mapping[str, Table], *, charges: Collection[object]) -> None:
    """Refuse to remove a table that another one refers to, or a public one that answers may have been grouped by."""
    for other in tables.values():
        if other.schema.unit.through is not None and other.schema.unit.through.lower() == name.lower():
            raise UsageError(
                f"{other.name!r} identifies its persons through {name!r}, so {name!r} cannot be removed",
                hint=Message("run ", Command("remove", other.name), " first"),
            )
    if tables[name].public and charges:
        raise UsageError(
            f"{name!r} is public, and answers were released that may have used it, so it cannot be removed: those "
            "answers could not be read again",
            hint="leave the table in place: a public table costs nothing",
        )


def refuse_second_budget(
    sources: TableSources, *, versions: Mapping[str, Mapping[int, VersionRecord]], is_fixed: Callable[[str], bool]
) -> None:
    """Refuse a table whose source, or one on its way, the ledger knows under another population.

    Whatever discreet.toml says now. A public table has no population: rows that are private under any are not public,
    by whatever name. is_fixed: whether something was released about a population, so that no table leaves it.
    """
    table = sources.tables[0]
    for name, made in versions.items():
        for version in made.values():
            other = table.public or version.population != table.population
            if other and any(sources.shared_with(version)):
                raise _ledger_has_source(name, version.population, table, fixed=is_fixed(version.population))


def _ledger_has_source(name: str, population: str, table: Table, *, fixed: bool) -> UsageError:
    removal = Message(
        "; or, because nothing was released about its people yet, run ", Command("remove", name), " first"
    )
    other = "" if fixed else removal
    if table.public:
        return UsageError(
            f"{NAME} declares {table.name!r} as public, but the ledger has its source as the private table {name!r} of "
            f"population {population!r}",
            hint=Message(f"the same rows cannot be private and public; name another source for {table.name!r}", other),
        )
    return UsageError(
        f"the ledger has this source as {name!r} in population {population!r}, but {NAME} says {table.population!r}",
        hint=Message(
            "the same people have one budget, whatever the table is called; to share it, ",
            shared_budget_hint(population),
            other,
        ),
    )


def _already_declared(name: str, population: str, *, declared: bool) -> UsageError:
    how = (
        Message("use ", Flag("population", population), " to share its budget")
        if declared
        else f"to share its budget, {shared_budget_hint(population)}"
    )
    return UsageError(
        f"this source is already declared as {name!r}",
        hint=Message("the same people have one budget, whatever the table is called; ", how),
    )


def _several_person_columns(person: str) -> UsageError:
    """Why a list is no column, and what a list of columns means where it is one."""
    parts = [part.strip()[:60] for part in person.split(",") if part.strip()][:4]
    listed = ", ".join(f'"{part}"' for part in parts)
    return UsageError(
        Message(Flag("person"), f" takes one column, got {person[:60]!r}"),
        hint=f"only one kind of person is protected: give the column that identifies them; if all these columns "
        f"together identify one person, write person = [{listed}] in {NAME}",
    )


def _refuse_person_as_header(shown: str, names: Iterable[str]) -> None:
    """A file without a header would write its first person into discreet.toml as names of columns."""
    if any(_VALUE.fullmatch(name.strip()) for name in names):
        raise UsageError(
            f"the first line of {shown} looks like a row of data, not like column names",
            hint="add a header line, or rename columns whose names look like a number or a date",
        )


def _trace_declared(declared: Mapping[str, Any], folder: Path, engine: Engine, *, beside: str) -> SourceTrace:
    """By what a declared source is known again. No engine of a third kind is started for it: its rows lie elsewhere.

    One server has many addresses, so those of the same kind are all asked. Files of this machine are the same at all
    of them, and no Spark is started to look at them. A version that the ledger holds has no address, and is known by
    its fingerprint or by its files.
    """
    address = declared.get("engine", DEFAULT)
    if engine_kind(address) == "spark":
        from discreet.engines.spark.spark_source import trace_here

        here = trace_here(declared.get("source", ""), folder=folder)
        if here.files:
            return here
    if address != DEFAULT and (scheme(address) == address or engine_kind(address) != engine_kind(beside)):
        return SourceTrace(same=())
    return trace_of(declared.get("source", ""), folder=folder, engine=engine.at(address))


def _relative(path: Path, folder: Path) -> str:
    """A source as the project's file names it: relative to the project folder where it lies inside."""
    whole = path if path.is_absolute() else Path.cwd() / path
    try:
        return str(whole.relative_to(folder))
    except ValueError:
        return str(whole)


def _is_path(source: str, address: str) -> bool:
    """Whether a source names files of this machine, not a table of an engine's."""
    return _is_file(source, address) and (address == DEFAULT or "://" not in source)


def _is_file(source: str, address: str) -> bool:
    """Whether a source names files, here or in a lake: by a slash, or by how it ends."""
    return address == DEFAULT or (
        engine_kind(address) != "postgresql" and ("/" in source or source.lower().endswith((".parquet", ".pq", ".csv")))
    )


def _name_of(source: str) -> str:
    """A table's name from its file's: letters, digits and underscores."""
    name = "".join(letter if letter.isalnum() else "_" for letter in source.split(".")[0]).strip("_").lower()
    return name if name and not name[0].isdigit() else f"table_{name}".rstrip("_")
