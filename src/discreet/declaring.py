"""Declaring tables: what `discreet add` proposes, and that nobody gets a second budget by a second name.

Budgets belong to people. A source that is declared, or was ever made into a version, under another
population is refused: by the same path, through a link, or as a copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine, Trace
from discreet.engines.fingerprint import fingerprint, shared, trace_of
from discreet.errors import UsageError
from discreet.ledger.records import Version
from discreet.schema.address import DEFAULT, check_address, kind, scheme
from discreet.schema.file import NAME, ProjectFile, read_table
from discreet.schema.schema import Budget, Table, closest

#: Words for people, and for what tells them apart, as columns are called: patient_id, customerNumber, e-mail.
_PEOPLE = re.compile(
    r"(?!(n|num|number|count)_)(.*_)?(person|people|patient|user|customer|client|member|employee|student|pupil|subject|participant|respondent"
    r"|citizen|resident|household|individual|account|owner|voter|passenger|driver|worker|tenant|borrower|guest|visitor"
    r"|subscriber|donor|player|applicant|beneficiary|insured|buyer|seller|cardholder)s?"
    r"(_?(id|ident|identifier|no|nr|num|number|key|code|uid|uuid|guid|hash|name|ref))?"
    r"|(.*_)?(e_?mail|ssn|nhs_number|mrn|passport|phone|username|login|imei|device_id|card_number)(_.*)?"
)
_IDENTIFIER = re.compile(r".+_(id|ids|uid|uuid|guid)")

#: What no column should be called: a number, a date, true or false.
_VALUE = re.compile(r"[-+]?\d+([.,]\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*|true|false", re.IGNORECASE)


def propose(
    source: str,
    *,
    name: str | None,
    person: str | None,
    rows_per_person: int | None,
    budget: Budget | None,
    public: bool,
    population: str | None,
    file: ProjectFile,
    folder: Path,
    engine: Engine,
    check: Callable[[Table], None],
    address: str = DEFAULT,
) -> tuple[str, dict[str, Any], dict[str, dict[str, Any]]]:
    """A name, settings and columns for a new table. The proposal is for the owner, who may edit it.

    Names and types are proposed; bounds and categories never are, for they would be read from data. `check` refuses
    people whom the ledger knows already: their rows do not become public by a second name.
    """
    engine, engines = engine.at(check_address(address, where="--engine")), engine
    told = _relative(Path(source), folder) if _is_path(source, address) else source
    wanted = _name_of(Path(source).name if _is_file(source, address) else source.rpartition(".")[2])
    wanted = wanted if name is None else name
    if not wanted.strip() or not wanted.isprintable() or len(wanted) > 100:
        raise UsageError("a table's name must be printable text of at most 100 characters")
    if any(known.lower() == wanted.lower() for known in file.tables):
        raise UsageError(f"there is a table {wanted!r} already", hint="--name gives it another name")
    if rows_per_person is not None and person is None:
        raise UsageError("--rows-per-person needs a person", hint="--person COLUMN says whose row it is")
    header, found = engine.header(told, folder=folder), engine.trace(told, folder=folder)
    known = {name: _traced(file.raw[name], folder, engines, beside=address) for name in file.tables}
    twin = next((table for name, table in file.tables.items() if shared(known[name], found)), None)
    if twin is not None and (population is None or twin.population != population):
        raise _twin(twin.name, twin.population, declared=twin.population in file.populations)
    if population is not None and population not in file.populations:
        raise UsageError(f"there is no population {population[:60]!r}", hint=_move(population))
    _refuse_person_as_header(found.files[0].name if found.files else told, header.names)
    columns = {column: {"type": type_} for column, type_ in engine.columns(told, folder=folder).items()}
    if person is not None and person not in columns:
        raise UsageError(f"there is no column {person[:60]!r} in the source", hint=closest(person, columns))
    settings: dict[str, Any] = {"source": told} | ({} if address == DEFAULT else {"engine": address})
    if public:
        settings["public"] = True
    elif population is not None:
        settings["population"] = population
    elif budget is not None:
        settings["budget"] = {"epsilon": budget.epsilon, "delta": budget.delta}
    if person is not None:
        settings |= {"person": person} | ({"rows_per_person": rows_per_person} if rows_per_person else {})
        del columns[person]
    table = read_table(wanted, settings | {"columns": columns}, populations={population: {}} if population else {})
    if public:
        check(table)
    return wanted, settings, columns


def protected(table: Table, others: Iterable[Table]) -> list[str]:
    """What the owner should know of whose rows they are, where no person was named. From names alone, never from data.

    The unit is what the guarantee is about: with a person's rows taken for so many persons it protects each row, and
    somebody of many rows hardly at all.
    """
    if table.public or not table.schema.unit.is_row:
        return []
    plain = f"each row of {table.name!r} counts as one person, for no --person was given"
    doubt, column = _doubt([column.name for column in table.schema.columns], others)
    if not doubt:
        return [f"{plain}; where a person has several rows, each row is protected, not each person"]
    return [
        f"{plain}, but {doubt}: if a person can have several rows, say --person {column} (take [tables.{table.name}] "
        f"out of {NAME} and add it again): else each row is protected, not each person"
    ]


def _doubt(names: list[str], others: Iterable[Table]) -> tuple[str, str]:
    """Why a row may not be a person, and the column to name as the person; empty where no name looks so.

    An identifier of who knows what may be one of rows, so that it is not proposed as the person.
    """
    persons = {part.lower(): other.name for other in others for part in other.schema.unit.person}
    for name in names:
        if name.lower() in persons:
            return f"{name!r} is the person of {persons[name.lower()]!r}", name
    for name in names:
        if _PEOPLE.fullmatch(_snake(name)):
            return f"{name!r} looks like it names people", name
    for name in names:
        if _IDENTIFIER.fullmatch(_snake(name)):
            return f"{name!r} looks like an identifier", "COLUMN"
    return "", ""


def _snake(name: str) -> str:
    """A name in small letters with underscores between its words.

    >>> _snake("PatientID"), _snake("customer-Number"), _snake("E-Mail")
    ('patient_id', 'customer_number', 'e_mail')
    """
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()).strip("_")


def refuse_second_budget(
    table: Table,
    *,
    folder: Path,
    versions: Mapping[str, Mapping[int, Version]],
    seal: Callable[[str], str],
    engine: Engine,
) -> None:
    """Refuse a table whose source the ledger knows under another population, whatever discreet.toml says now."""
    found = engine.at(table.engine).trace(table.source, folder=folder)
    mine = set(fingerprint(found, seal=seal)["files"])
    for name, made in versions.items():
        for version in made.values():
            if version.population == table.population:
                continue
            known = _traced(version.schema, folder, engine, beside=table.engine)
            if mine & set(version.source.get("files", [])) or shared(known, found):
                raise _twin(name, version.population, declared=False)


def _twin(name: str, population: str, *, declared: bool) -> UsageError:
    how = f"--population {population} shares its budget" if declared else f"to share its budget, {_move(population)}"
    return UsageError(
        f"this source is declared already, as {name!r}", hint=f"budgets belong to people, not to names; {how}"
    )


def _move(population: str) -> str:
    return f'move the budget to [populations.{population}] in {NAME}, and say population = "{population}" in each table'


def _refuse_person_as_header(shown: str, names: Iterable[str]) -> None:
    """A file without a header would write its first person into discreet.toml as names of columns."""
    if any(_VALUE.fullmatch(name.strip()) for name in names):
        raise UsageError(
            f"the first line of {shown} looks like a row of data, not like names of columns",
            hint="add a header line, or rename columns that are called like a number or a date",
        )


def _traced(declared: Mapping[str, Any], folder: Path, engine: Engine, *, beside: str) -> Trace:
    """By what a declared source is known again. No engine of a third kind is started for it: its rows lie elsewhere.

    One server has many addresses, so those of the same kind are all asked. Files of this machine are the same at all
    of them, and no Spark is started to look at them. A version that the ledger holds has no address, and is known by
    its fingerprint or by its files.
    """
    address = declared.get("engine", DEFAULT)
    if kind(address) == "spark":
        from discreet.engines.spark.source import trace_here

        here = trace_here(declared.get("source", ""), folder=folder)
        if here.files:
            return here
    if address != DEFAULT and (scheme(address) == address or kind(address) != kind(beside)):
        return Trace(same=())
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
        kind(address) != "postgresql" and ("/" in source or source.lower().endswith((".parquet", ".pq", ".csv")))
    )


def _name_of(source: str) -> str:
    """A table's name from its file's: letters, digits and underscores."""
    name = "".join(letter if letter.isalnum() else "_" for letter in source.split(".")[0]).strip("_").lower()
    return name if name and not name[0].isdigit() else f"table_{name}".rstrip("_")
