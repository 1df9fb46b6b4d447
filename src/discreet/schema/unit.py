"""Whose presence is hidden."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import SchemaError


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """One row, or all rows that share one value of `person`.

    Neighbours differ by one unit added or removed.
    """

    person: tuple[str, ...] = ()
    through: str | None = None
    rows: int = 1

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise SchemaError(
                f"rows_per_person must be at least 1, got {self.rows}",
                hint="it bounds how many rows one person may contribute",
            )
        if not self.person and self.rows != 1:
            raise SchemaError("rows_per_person needs a person", hint='person = "patient_id"')

    @property
    def is_row(self) -> bool:
        return not self.person

    def __str__(self) -> str:
        return "one row" if self.is_row else f"all rows of one {' + '.join(self.person)}"
