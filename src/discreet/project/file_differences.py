"""Where discreet.toml and the ledger differ, in sentences. Public facts: nothing here is read from data."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import Command, DiscreetError, Message, UsageError
from discreet.ledger.records import VersionRecord
from discreet.project.budget import limit_difference
from discreet.project.declaration import refuse_other_unit
from discreet.project.version_records import ENGINE, VersionRecords
from discreet.schema.project_file import NAME, read_table
from discreet.schema.schema import Table

#: Which part of a declaration says whom a version protects.
_UNIT = ("person", "ends", "directed")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDifferences:
    """What the file declares, compared with what the newest versions of its tables were made by."""

    records: VersionRecords

    def warnings(self, name: str) -> list[str]:
        """What differs for one table."""
        table = self.records.file.table(name)
        self.records.ledger.refresh()
        record = self.records.newest_record(table)
        if record is None:
            return []
        notes = []
        if record.schema != self.records.declaration(table):
            notes.append(self._what_changed(table, record))
        if record.population != table.population:
            applies = [] if self.records.ledger.state.is_fixed(record.population) else [self._applies(table)]
            notes.append(
                Message(
                    f"the ledger has {table.name!r} in population {record.population!r}, and queries spend that "
                    f"budget; {NAME} says {table.population!r}: correct the file",
                    *applies,
                )
            )
            return notes  # what the file says of another population's limit is no difference to this one's
        return [*notes, *filter(None, [limit_difference(self.records.ledger_table(table), self.records.ledger)])]

    @staticmethod
    def _applies(table: Table) -> Message:
        return Message(", or run ", Command("refresh", table.name), " to apply it: nothing was released yet")

    def _what_changed(self, table: Table, record: VersionRecord) -> str:
        """Why a version is not as declared: the file has changed, or the step that follows from bounds has."""
        if self._names_others(table, record):
            return Message(
                f"{NAME} declares another `person` for {table.name!r} than the ledger protects, so `",
                Command("refresh", table.name),
                f"` refuses it: declare `person` as in version {record.number}",
            )
        applies = Message("`", Command("refresh", table.name), "` applies it")
        if record.schema != self.records.declaration(table, steps=False):
            return Message(f"{NAME} has changed since version {record.number}; ", applies)
        recorded_schema = read_table(
            table.name, {key: part for key, part in record.schema.items() if key != ENGINE}
        ).schema
        finer = [column.name for column in table.schema.columns if column not in recorded_schema.columns]
        return Message(
            f"version {record.number} rounds {', '.join(finer)} to steps of 0.01, which is coarse for the declared "
            "bounds; Discreet now derives the step from low and high; ",
            applies,
        )

    def _names_others(self, table: Table, version: VersionRecord) -> bool:
        """Whether a changed declaration protects others than the ledger does for good: `refresh` refuses it."""
        declared_now = self.records.declaration(table)
        if all(version.schema.get(key) == declared_now.get(key) for key in _UNIT):
            return False
        try:
            naming = self.records.sources(table).naming
        except DiscreetError:  # `refresh` says what is wrong with the source
            return False
        try:
            refuse_other_unit(table, naming, state=self.records.ledger.state)
        except UsageError:
            return True
        return False
