"""The owner's acts, inside a section: a population is opened, a limit raised, a version entered, somebody forgotten."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

from discreet.accounting.guarantee import Guarantee
from discreet.errors import Command, Message, UsageError
from discreet.ledger.account import check_rise
from discreet.ledger.entry_checks import check_name
from discreet.ledger.journal import Journal
from discreet.ledger.records import VersionRecord
from discreet.ledger.state import LedgerState
from discreet.schema.person_identity import Naming, describe, naming_of, same_persons, sources_of


def declare_population(
    journal: Journal, state: LedgerState, population: str, guarantee: Guarantee, *, unit: Literal["row", "person"]
) -> None:
    """Open an account, or find it as it was opened; while nothing was released, its unit may be corrected."""
    name, data = check_name(population, what="a population's name"), guarantee.to_data()
    account = state.accounts.get(name)
    if account is None:
        journal.append("population", {"population": name, "guarantee": data, "unit": unit})
    elif state.units.get(name, unit) != unit and state.is_fixed(name):
        raise UsageError(
            f"population {name!r} protects each {state.units[name]}. {why_fixed(state, name)}, so this cannot change",
            hint="declare `person` as before",
        )
    elif account.guarantee.to_data() != data:
        raise UsageError(
            f"population {name!r} is already declared with another budget",
            hint=Message(Command("budget grant"), " raises a limit"),
        )
    elif state.units.get(name, unit) != unit:
        journal.append("population", {"population": name, "guarantee": data, "unit": unit})


def why_fixed(state: LedgerState, population: str, *, whom: str = "it") -> str:
    """Why a population stays as it is, as the beginning of a sentence."""
    account = state.account(population)
    if account.charges or account.invariant:
        return f"Answers about {whom} were released"
    if account.sealed is not None:
        return f"The ledger was adopted without its state folder, so answers about {whom} may have been released"
    if account.restored:
        return f"The ledger was restored from an old copy, so answers about {whom} may have been released"
    return f"A person was erased from {whom}"


def correct_limit(journal: Journal, state: LedgerState, population: str, guarantee: Guarantee) -> None:
    """Set another limit, larger or smaller, while nothing was released about the people; see `LedgerState._correct`."""
    account = state.account(population)
    if account.guarantee.to_data() == guarantee.to_data():
        return
    if state.is_fixed(population):
        because = why_fixed(state, population, whom=f"population {population!r}")
        raise UsageError(
            f"{because}, so its limit can only be raised",
            hint=Message("correct discreet.toml, or run ", Command("budget grant"), " to raise the limit"),
        )
    unit = state.units.get(population, "row")
    journal.append("population", {"population": population, "guarantee": guarantee.to_data(), "unit": unit})


def remove_table(journal: Journal, state: LedgerState, table: str) -> tuple[VersionRecord, ...]:
    """Take a table out of its population, while nothing was released about the people; its versions as they were."""
    refuse_fixed_table(state, table)
    population = state.population_of_table.get(table)
    if population is None:
        return ()
    versions = tuple(state.versions.get(table, {}).values())
    body = {"population": population, "guarantee": state.account(population).guarantee.to_data()}
    journal.append("population", body | {"unit": state.units.get(population, "row"), "removed": [table]})
    return versions


def refuse_fixed_table(state: LedgerState, table: str) -> None:
    """Refuse to remove a table about whose people something was released."""
    population = state.population_of_table.get(table)
    if population is not None and state.is_fixed(population):
        because = why_fixed(state, population, whom=f"population {population!r}")
        raise UsageError(
            f"{because}, so its table {table!r} cannot be removed: the ledger must remember which people are in its "
            "source, or they could get a second budget",
            hint=Message("run ", Command("retire", table), ": it takes the table out of use, and keeps its releases"),
        )


def raise_limit(journal: Journal, state: LedgerState, population: str, guarantee: Guarantee) -> None:
    """Raise a limit."""
    account = state.account(population)
    check_rise(account.guarantee, guarantee)
    if account.guarantee.to_data() == guarantee.to_data():
        raise UsageError(f"{population!r} already has that limit")
    journal.append("grant", {"population": population, "guarantee": guarantee.to_data()})


def add_version(
    journal: Journal,
    state: LedgerState,
    body: dict[str, Any],
    *,
    number: int | None,
    forgotten: tuple[Sequence[str], Collection[str]] | None,
) -> int:
    """Enter a version under the next number; see `Ledger.add_version`."""
    table, population = body["table"], body["population"]
    state.account(population)
    following = state.next_version(table)
    if state.population_of_table.get(table, population) != population:
        raise UsageError(f"table {table!r} belongs to another population and cannot leave it: budgets belong to people")
    if number is not None and number != following:
        raise UsageError(f"version {number} of {table!r} is not the next version, which is {following}")
    if forgotten is not None and set(state.tombstones(forgotten[0])) - set(forgotten[1]):
        raise UsageError(
            f"a person was forgotten in {table!r} while it was made", hint=Message("run ", Command("refresh", table))
        )
    naming = naming_of(table, body["schema"], body["source"])
    refuse_other_naming(state, population, table, naming)
    refuse_shared_source(state, body, is_unit_correction=is_unit_correction(state, population, table, naming))
    journal.append("version", {**body, "version": following})
    return following


def refuse_other_naming(state: LedgerState, population: str, table: str, naming: Naming) -> None:
    """Refuse a version that identifies people otherwise than before, once something was released about them."""
    unit = state.protected_units.get(population)
    other = None if unit is None or not state.is_fixed(population) else unit.conflict(table, naming)
    if unit is None or other is None:
        return
    by = describe(unit.namings[other])
    because = why_fixed(state, population, whom=f"population {population!r}")
    raise UsageError(
        f"{other!r} identifies people by {by}. {because}, so this cannot change: the limit is a promise to these "
        "people",
        hint="declare `person` as before, with the same column names and types; rows_per_person may change",
    )


def is_unit_correction(state: LedgerState, population: str, table: str, naming: Naming) -> bool:
    """Whether a version corrects whom its population protects: all others are stale from then on."""
    unit = state.protected_units.get(population)
    return unit is not None and not state.is_fixed(population) and unit.conflict(table, naming) is not None


def refuse_shared_source(state: LedgerState, body: dict[str, Any], *, is_unit_correction: bool) -> None:
    """Refuse a source that another table has under another population, or with other persons.

    By sealed files alone, and under the lock: of two processes that make such tables at once, one is refused.
    """
    mine = sources_of(body["table"], body["schema"], body["source"])
    for name, made in state.versions.items():
        for version in made.values() if name != body["table"] else ():
            pairs = [(own, other) for own in mine for other in sources_of(name, version.schema, version.source)]
            both = [(own[2], other[2]) for own, other in pairs if own[1] & other[1]]
            if both and version.population != body["population"]:
                raise UsageError(
                    f"{body['table']!r} has the same source as {name!r}, which is in population {version.population!r}",
                    hint=f'these are the same people, so share their budget: population = "{version.population}"',
                )
            if is_unit_correction or state.is_stale(version):
                continue
            if any(not same_persons(*namings) for namings in both):
                raise UsageError(
                    f"{body['table']!r} and {name!r} have the same source but identify its people differently",
                    hint="declare the same `person` in both tables",
                )


def refuse_stale(state: LedgerState, table: str, version: int) -> None:
    """Refuse to read a version that identifies people by what was corrected since it was made."""
    made = state.version(table, version)
    if state.is_stale(made):
        raise UsageError(
            f"version {version} of {table!r} identifies people by {describe(made.naming)}, but `person` was changed "
            "later, in this table or in another table of its population",
            hint=Message("ask the owner to run ", Command("refresh", table)),
        )


def forget(journal: Journal, state: LedgerState, tables: Sequence[str], tag: bytes, *, key: str) -> None:
    """Enter a tombstone; also where all of the tables have it and an erasure begins anew, for rows may still go."""
    body = {"tables": sorted(set(tables)), "tag": tag.hex(), "key": key}
    has_all = all(tag.hex() in state.forgotten.get(table, {}) for table in tables)
    if not has_all or tag.hex() not in state.refinements.erasing:
        journal.append("forget", body)


def end_forget(journal: Journal, tables: Sequence[str], tag: bytes, *, key: str) -> None:
    """Enter that a person's rows are gone; see `Refinements`."""
    journal.append("forget", {"tables": sorted(set(tables)), "tag": tag.hex(), "key": key, "erased": True})
