"""A version of a declared table, and where versions lie."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine, TableLocations
from discreet.engines.stop_signal import unstoppable
from discreet.engines.table_location import TableLocation
from discreet.errors import Command, DiscreetError, Message, UsageError
from discreet.ledger.chain import DAY_S
from discreet.ledger.ledger import Ledger
from discreet.plan.relation import Scan
from discreet.schema.address import DEFAULT
from discreet.schema.schema import Schema

#: Counted from the day in a name: a making that takes longer enters no version; what began still earlier, and no ledger
#: names, is nobody's. The day between is for clocks that differ.
_LONGEST_S = 6 * DAY_S
_ORPHANED_S = 7 * DAY_S

#: A version's name: of its table's name, for people; its ledger; a day soon after its making began, in seconds; its
#: table's name again, for machines; chance. With `-tags` behind it, it fits into the 63 bytes that PostgreSQL has for a
#: name.
_NAME = re.compile(r"[A-Za-z0-9_]{0,16}-[a-z2-7]{16}-([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{8}(?:\.[a-z]+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One declared table that exists: its number, its schema as the ledger holds it, and whose budget it is.

    `file` is its name on the engine, whose address is `engine`.
    """

    table: str
    number: int
    population: str
    schema: Schema
    file: str
    engine: str = DEFAULT

    @property
    def scan(self) -> Scan:
        """The version in a plan."""
        return Scan(table=self.table, version=self.number)


def locate_tables(
    version_of_scan: Mapping[Scan, Version], publics: Mapping[int, Any], *, engine: Engine, folder: Path
) -> TableLocations:
    """Where the versions of a question's scans lie. A question is asked of one engine."""
    addresses = {version.engine for version in version_of_scan.values()}
    if len(addresses) != 1:
        raise UsageError(
            "the query joins tables that are on different engines",
            hint=Message("declare them on one engine in discreet.toml, then run ", Command("refresh")),
        )
    files = {
        scan: engine.at(version.engine).place(version.file, folder=folder) for scan, version in version_of_scan.items()
    }
    return TableLocations(files=files, publics=publics, engine=addresses.pop())


def new_version_name(table: str, *, ledger: str, ending: str) -> str:
    """A name for a version, which no other has: see `_NAME`. `ledger`: its id.

    Of when its making begins it holds a midnight in the next two days, one of two by chance: the ledger shows names and
    when rows were written, and the second at which a making began would tell how long it took.
    """
    day = (int(time.time()) + secrets.randbelow(DAY_S)) // DAY_S * DAY_S + DAY_S
    slug = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in table)[:16]
    return f"{slug}-{ledger}-{day:08x}{_digest(table)}{secrets.token_hex(4)}{ending}"


def is_named_after(name: str, table: str) -> bool:
    """Whether a version of this name is one of that table.

    >>> is_named_after(new_version_name("visits 2026", ledger="abcdefghijklmnop", ending=".lake"), "visits 2026")
    True
    """
    parsed_name = _NAME.fullmatch(name)
    return parsed_name is not None and parsed_name[2] == _digest(table)


def is_orphaned(name: str) -> bool:
    """Whether the making of a version of this name is over, one way or the other: it began long ago."""
    parsed_name = _NAME.fullmatch(name)
    return parsed_name is not None and time.time() - int(parsed_name[1], 16) > _ORPHANED_S


def check_in_time(name: str) -> None:
    """Refuse to enter a version whose making took so long that another machine may take it for nobody's."""
    parsed_name = _NAME.fullmatch(name)
    if parsed_name is None or time.time() - int(parsed_name[1], 16) > _LONGEST_S:
        raise UsageError(
            f"making the table took more than {_LONGEST_S // DAY_S} days, so it was stopped",
            hint="use a smaller source or a larger engine",
        )


def drop_unless_entered(name: str, *, ledger: Ledger, engine: Engine, target: TableLocation) -> None:
    """Remove the table of a version that something kept from being entered.

    Guarantee: a table that a version names is never dropped.
    Because: the ledger is read again first, for what failed may have failed just after the commit. Where it cannot be
        read, the table stays; what stays no ledger names, and `orphaned_tables` looks after it.
    """
    with suppress(DiscreetError, OSError), unstoppable():
        if not is_entered(name, ledger=ledger):
            engine.drop(target)


def is_entered(name: str, *, ledger: Ledger) -> bool:
    """Whether the ledger has a version of this name."""
    versions = ledger.refresh().versions.values()
    return any(version.file == name for made in versions for version in made.values())


def _digest(table: str) -> str:
    return hashlib.sha256(table.encode()).hexdigest()[:8]
