"""A session: what every verb that charges needs beside its own words, as one value; and what it is made from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from discreet.accounting.events import Event
from discreet.accounting.filter import Decision
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.kernel.curator import Curator
from discreet.kernel.version import Version
from discreet.ledger.charge_request import UNNAMED, Asker
from discreet.ledger.ledger import Ledger
from discreet.schema.schema import Table
from discreet.sql.catalog import PublicTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A version, the limit of its population, the curator that measures it, and who asks. Holds no data.

    The asker is required: a session that forgot it would charge past a quota. `joined`: the versions of
    the other tables that a query reads.
    """

    version: Version
    guarantee: Guarantee
    curator: Curator
    asker: Asker
    joined: tuple[Version, ...] = ()

    @property
    def versions(self) -> tuple[Version, ...]:
        """All versions that are read, the one that pays first."""
        return (self.version, *self.joined)

    @property
    def ledger(self) -> Ledger:
        return self.curator.ledger

    def preview(self, event: Event, *, region: Region | None = None, booking: bool = True) -> Decision:
        """What the ledger would decide now about an event; about everybody where no region is named. Free."""
        version = self.version
        return self.ledger.preview(
            population=version.population,
            table=version.table,
            version=version.number,
            region=Region.whole() if region is None else region,
            event=event,
            guarantee=self.guarantee,
            booking=booking,
        )

    def epsilon_moved(self, decision: Decision) -> Fraction | None:
        """How far a charge that was previewed would raise the epsilon that is spent."""
        account = self.ledger.state.account_or_new(self.version.population, self.guarantee)
        return account.epsilon_moved((self.version.table, self.version.number), decision)


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
