"""A version of a declared table, and where versions lie."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.engines.engine import Engine, Tables
from discreet.errors import UsageError
from discreet.plan.relation import Scan
from discreet.schema.address import DEFAULT
from discreet.schema.schema import Schema


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


def lying(meant: Mapping[Scan, Version], publics: Mapping[int, Any], *, engine: Engine, folder: Path) -> Tables:
    """Where the versions of a question's scans lie. A question is asked of one engine."""
    addresses = {version.engine for version in meant.values()}
    if len(addresses) != 1:
        raise UsageError(
            "the question joins tables that lie on different engines",
            hint="declare them on one engine, in discreet.toml, and refresh",
        )
    files = {scan: engine.at(version.engine).place(version.file, folder=folder) for scan, version in meant.items()}
    return Tables(files=files, publics=publics, engine=addresses.pop())


def new_name(table: str, *, ending: str) -> str:
    """A name for a version, which no other has: of its table's name, for people, and of chance, for machines."""
    slug = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in table)[:40]
    return f"{slug}-{secrets.token_hex(8)}{ending}"
