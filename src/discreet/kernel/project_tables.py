"""What verbs need of a project: its tables, their versions and limits, and who asks; and sessions over them."""

from __future__ import annotations

from typing import Protocol

from discreet.accounting.guarantee import Guarantee
from discreet.kernel.curator import Curator
from discreet.kernel.session import Session
from discreet.kernel.version import Version
from discreet.ledger.charge_request import UNNAMED, Asker
from discreet.schema.schema import Table
from discreet.sql.catalog import PublicTable


class TableVersions(Protocol):
    """The versions of declared tables, those with ends among them."""

    def newest(self, name: str) -> Version:
        """The newest version of a table; the first one is made when it is first needed."""

    def peek(self, name: str) -> Version:
        """The newest version, or what the first would be."""


class ProjectTables(Protocol):
    """The declared tables of a project: `discreet.project.Project` has what is listed here."""

    @property
    def curator(self) -> Curator: ...

    @property
    def versions(self) -> TableVersions: ...

    def table(self, name: str) -> Table:
        """A declared table by name."""

    def private(self, name: str) -> Table:
        """A declared table that is not public."""

    def public(self, name: str) -> PublicTable:
        """Read a declared public table."""

    def asker(self, analyst: str | None, key: str | None = None) -> Asker:
        """The analyst who asks, and their quota."""

    def version(self, name: str) -> Version:
        """The newest version, made where there is none. Refuses tables with ends."""

    def peek_version(self, name: str) -> Version:
        """The newest version, or what the first would be. Refuses tables with ends."""

    def guarantee(self, name: str) -> Guarantee:
        """The limit of a table's population."""


def open_session(project: ProjectTables, name: str, asker: Asker) -> Session:
    """A session over the newest version of a table; the first one is made where there is none."""
    version = project.version(name)
    return Session(version=version, guarantee=project.guarantee(name), curator=project.curator, asker=asker)


def quote_session(project: ProjectTables, name: str) -> Session:
    """A session for a price. Free: no version is made, and nobody asks."""
    version = project.peek_version(name)
    return Session(version=version, guarantee=project.guarantee(name), curator=project.curator, asker=UNNAMED)
