"""Whose rows they are, for making a table of persons: the way to the person, two keys, and who was forgotten."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from discreet.engines.table_file import check_declarable
from discreet.schema.person_path import check_path
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table

KEY_BYTES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """A table of persons with all that decides which rows are whose, and which are kept."""

    table: Table
    path: tuple[Table, ...] = ()
    key: bytes = field(repr=False)
    tag_key: bytes = field(repr=False)
    forgotten: frozenset[bytes] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        check_declarable(self.table.schema)
        check_path(self.table, self.path)
        # No default: whoever can guess the keys can find a known person's tag, and know which rows were kept.
        if len(self.key) != KEY_BYTES or len(self.tag_key) != KEY_BYTES:
            raise ValueError(f"persons need two keys of {KEY_BYTES} bytes")

    @staticmethod
    def of(
        table: Table,
        *,
        path: tuple[Table, ...] = (),
        key: bytes | None,
        tag_key: bytes | None,
        forgotten: Collection[bytes] = (),
    ) -> Ownership | None:
        """Of a table of persons; none where each row is one."""
        if table.schema.unit.is_row:
            return None
        return Ownership(table=table, path=path, key=key or b"", tag_key=tag_key or b"", forgotten=frozenset(forgotten))

    @property
    def schema(self) -> Schema:
        return self.table.schema

    @property
    def unit(self) -> PrivacyUnit:
        return self.table.schema.unit

    @property
    def person(self) -> tuple[str, ...]:
        """The columns that name a person, in the last table of the way."""
        return (self.table, *self.path)[-1].schema.unit.person

    @property
    def constants(self) -> tuple[int, ...]:
        """The places of the columns that have one value for a person."""
        return tuple(place for place, column in enumerate(self.schema.columns) if column.constant)
