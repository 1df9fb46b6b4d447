"""Declaring tables: what `discreet add` proposes, and that nobody gets a second budget by a second name.

Budgets belong to people. A source that is declared, or was ever made into a version, under another
population is refused: by the same path, through a link, or as a copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.engines.engine import Engine, SourceTrace
from discreet.engines.fingerprint import fingerprint, is_same_source, trace_of
from discreet.engines.reference_proposal import ROWS_LOOKED_AT
from discreet.errors import Command, Flag, Message, UsageError
from discreet.ledger.owner_acts import is_unit_correction, refuse_other_naming, why_fixed
from discreet.ledger.records import VersionRecord
from discreet.ledger.state import LedgerState
from discreet.project.code_book import CodeBook
from discreet.project.person_candidates import named_candidates, with_repeated
from discreet.project.short_years import with_last_years
from discreet.project.table_draft import TableDraft, table_name_of
from discreet.project.unit_notes import shared_budget_hint
from discreet.schema.address import DEFAULT, check_address, engine_kind, scheme
from discreet.schema.grid_step import with_steps
from discreet.schema.person_identity import Naming, describe, same_persons, sources_of
from discreet.schema.project_file import NAME, ProjectFile, read_table
from discreet.schema.schema import Budget, Table, closest_name_hint
from discreet.schema.source_layout import UNDECLARED, SourceLayout

#: What no column should be called: a number, a date, true or false.
_VALUE = re.compile(r"[-+]?\d+([.,]\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|true|false", re.IGNORECASE)


_TYPES_READ = (
    f"types were read from the first {ROWS_LOOKED_AT:,} rows of the data, or from the file if it stores types; bounds "
    "and words are never read"
)
_REPEATS_READ = f"which columns repeat was read from the first {ROWS_LOOKED_AT:,} rows of the data"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWish:
    """What the owner says of a new table: its source, and perhaps a name, whose rows they are, and whose budget.

    `address`: of the engine that holds the source. `looks_for_persons`: whether rows of a file are read for columns
    that repeat; the owner is told so. `person`: the column that identifies the person of each row, or {"through":
    table, "on": column} where rows refer to rows of another table.
    """

    source: str
    name: str | None = None
    person: str | Mapping[str, str] | None = None
    rows_per_person: int | None = None
    ends: tuple[str, str] | None = None
    budget: Budget | None = None
    public: bool = False
    population: str | None = None
    address: str = DEFAULT
    layout: SourceLayout = UNDECLARED
    looks_for_persons: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTables:
    """What a new table is compared with: the declared ones, where their files lie, and who can read them.

    `check` refuses people whom the ledger knows already: their rows do not become public by a second name.
    """

    file: ProjectFile
    folder: Path
    engine: Engine
    check: Callable[[Table], None]


def draft_table(
    wish: TableWish, declared: DeclaredTables, *, codebook: str | PathLike[str] | CodeBook | None = None
) -> TableDraft:
    """A draft of a new table, with what a code book says of it. Refused where it could not be declared."""
    if codebook is None:
        draft = propose_table(wish, declared)
    else:
        book = codebook if isinstance(codebook, CodeBook) else CodeBook.read(codebook)
        draft = propose_table(wish if wish.person or wish.ends else replace(wish, rows_per_person=None), declared)
        if wish.rows_per_person is not None:  # the book may name the person
            draft = draft.replace(settings={"rows_per_person": wish.rows_per_person})
        draft = book.apply(draft)
    check_draft(draft, declared)
    return draft


def propose_table(wish: TableWish, declared: DeclaredTables) -> TableDraft:
    """A name, settings and columns for a new table. The proposal is for the owner, who may edit it.

    Names and types are proposed; bounds and categories never are, for they would be read from data. Of years of two
    digits, the one that they end with is: by the name of the column and today's year (`short_years`).
    """
    from discreet.engines.layout_detection import detect_layout  # with all that opens packed files

    source, address, person, ends = wish.source, wish.address, wish.person, wish.ends
    public, population, rows_per_person = wish.public, wish.population, wish.rows_per_person
    folder = declared.folder
    engine = declared.engine.at(check_address(address, where="--engine"))
    source_name = _relative(Path(source), folder) if _is_path(source, address) else source
    table_name = table_name_of(Path(source).name if _is_file(source, address) else source.rpartition(".")[2])
    table_name = table_name if wish.name is None else wish.name
    _check_name(table_name, declared.file)
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
    new_population = None if public else _new_population(wish, declared.file)
    _check_source(trace, address, population, declared, is_new=new_population is not None)
    _refuse_person_as_header(trace.files[0].name if trace.files else source_name, header.names)
    columns = with_last_years(engine.columns(source_name, folder=folder, layout=layout))
    settings: dict[str, Any] = {"source": source_name} | ({} if address == DEFAULT else {"engine": address})
    settings |= layout.settings()
    if public:
        settings["public"] = True
    elif population is not None:
        settings["population"] = population
    elif (shared := _population_through(wish, declared.file)) is not None:
        settings["population"] = shared
    elif wish.budget is not None:
        settings["budget"] = {"epsilon": wish.budget.epsilon, "delta": wish.budget.delta}
    if person is not None:
        settings |= {"person": person if isinstance(person, str) else dict(person)} | (
            {"rows_per_person": rows_per_person} if rows_per_person else {}
        )
    if ends is not None:
        settings |= {"ends": list(ends)} | ({"rows_per_person": rows_per_person} if rows_per_person else {})
    candidates = list(named_candidates(columns, declared.file.tables.values()))
    if wish.looks_for_persons and address == DEFAULT:
        rows = engine.rows(source_name, list(columns), folder=folder, layout=layout)
        candidates = with_repeated(candidates, columns, islice(rows, ROWS_LOOKED_AT))
    return TableDraft(
        name=table_name,
        settings=settings,
        columns=columns,
        source_columns=tuple(columns),
        person_candidates=tuple(candidates),
        read_from_data=(_TYPES_READ, *([_REPEATS_READ] if wish.looks_for_persons else [])),
        public_facts=() if new_population is None else (_new_population_words(population, new_population),),
        new_population=new_population,
    )


def _population_through(wish: TableWish, file: ProjectFile) -> str | None:
    """The population of the table that persons are reached through, where it is one that tables can share."""
    if wish.budget is not None or not isinstance(wish.person, Mapping):
        return None
    through = wish.person.get("through", "").lower()
    populations = [table.population for name, table in file.tables.items() if name.lower() == through]
    return populations[0] if populations and populations[0] in file.populations else None


def _new_population(wish: TableWish, file: ProjectFile) -> dict[str, Any] | None:
    """The budget of a population that is declared with the table; None where it has none, or one that is declared."""
    name, budget = wish.population, wish.budget
    if name is None or budget is None:
        return None
    same = [each for each in sorted(file.populations) if each.lower() == name.lower()]
    if same:
        raise UsageError(
            f"there is already a population {same[0]!r}, which has its own budget",
            hint=Message("leave ", Flag("epsilon"), " and ", Flag("delta"), " out; the table shares that budget"),
        )
    if not name.strip() or not name.isprintable() or len(name) > 100:
        raise UsageError("a population's name must be printable text of at most 100 characters")
    for table in file.tables.values():
        if table.population.lower() == name.lower():
            raise UsageError(
                f"{table.name!r} has a budget of its own under the name {table.population!r}",
                hint=f"to share it, {shared_budget_hint(table.population)}",
            )
    return {"epsilon": budget.epsilon, "delta": budget.delta}


def _new_population_words(name: str | None, budget: Mapping[str, Any]) -> str:
    delta = f", delta {exact.show(budget['delta'])}" if budget["delta"] else ""
    return (
        f"population {name!r} is new: all answers about its people together may spend epsilon "
        f"{exact.show(budget['epsilon'])}{delta}"
    )


def once_each_population(drafts: Iterable[TableDraft]) -> Iterator[TableDraft]:
    """Drafts that are declared together: the first of those that share a new population declares it."""
    declared: dict[str, Mapping[str, Any]] = {}
    for draft in drafts:
        population = draft.settings.get("population")
        is_second = population in declared and declared[population] == draft.new_population
        if draft.new_population is not None and population is not None:
            declared.setdefault(population, draft.new_population)
        yield replace(draft, new_population=None) if is_second else draft


def check_draft(draft: TableDraft, declared: DeclaredTables) -> Table:
    """The table that a draft declares, once it is sure that it may be: the owner may have changed all of it."""
    _check_name(draft.name, declared.file)
    address, population = draft.settings.get("engine", DEFAULT), draft.settings.get("population")
    engine = declared.engine.at(check_address(address, where="--engine"))
    is_new = draft.new_population is not None
    if is_new and population in declared.file.populations:
        raise UsageError(f"there is already a population {population!r}, which has its own budget")
    trace = engine.trace(draft.settings["source"], folder=declared.folder)
    _check_source(trace, address, population, declared, is_new=is_new)
    person = draft.settings.get("person")
    if isinstance(person, str) and person not in draft.source_columns and "," in person:
        raise _several_person_columns(person)
    on = [str(person.get("on"))] if isinstance(person, Mapping) else []
    for person_column in (*draft.identity_columns, *on, *draft.settings.get("ends", ())):
        if person_column not in draft.source_columns:
            raise UsageError(
                f"there is no column {person_column[:60]!r} in the source",
                hint=closest_name_hint(person_column, draft.source_columns),
            )
    settings = {**draft.settings, "columns": draft.declared_columns}
    table = read_table(draft.name, with_steps(settings), populations={population: {}} if population else {})
    if table.public:
        declared.check(table)
    return table


def _check_name(name: str, file: ProjectFile) -> None:
    if not name.strip() or not name.isprintable() or len(name) > 100:
        raise UsageError("a table's name must be printable text of at most 100 characters")
    if any(each.lower() == name.lower() for each in file.tables):
        raise UsageError(
            f"table {name!r} is already declared",
            hint=Message("edit its declaration in discreet.toml; use ", Flag("name"), " for a table with other rows"),
        )


def _check_source(
    trace: SourceTrace, address: str, population: str | None, declared: DeclaredTables, *, is_new: bool
) -> None:
    """Refuse a source that is declared already, but for the same population, and a population that is not declared.

    is_new: the population is declared with the table.
    """
    file = declared.file
    for name, table in file.tables.items():
        other = _trace_declared(file.raw[name], declared.folder, declared.engine, beside=address)
        if is_same_source(other, trace) and (population is None or table.population != population):
            raise _already_declared(name, table.population, declared=table.population in file.populations)
    if population is not None and population not in file.populations and not is_new:
        raise _no_population(population, file)


def _no_population(name: str, file: ProjectFile) -> UsageError:
    """A population that is not declared: perhaps the name of another, or of a table with a budget of its own."""
    own = [table.population for table in file.tables.values() if table.population.lower() == name.lower()]
    if own and own[0] not in file.populations:
        hint = Message(f"to share the budget of table {own[0]!r}, {shared_budget_hint(own[0])}")
    elif others := closest_name_hint(name, file.populations):
        hint = Message(others if others.endswith("?") else f"{others};", " ", Flag("epsilon", 1), " makes a new one")
    else:
        hint = Message(Flag("epsilon", 1), " makes it, with this budget")
    return UsageError(f"there is no population {name[:60]!r}", hint=hint)


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
