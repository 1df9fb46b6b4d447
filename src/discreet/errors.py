"""Every error that Discreet raises. Standard library only.

    DiscreetError
    ├── UsageError            2  a wrong flag, number or file
    │   ├── ProjectError         no project here, or discreet.toml cannot be read
    │   └── SchemaError          a declaration that makes no sense
    ├── Refused               3  the question cannot be answered privately as asked; free
    ├── BudgetExceeded        4  the budget does not hold it; free
    ├── LedgerFault           5  the ledger or its store cannot be trusted or written
    │   ├── LedgerTampered       the chain does not verify
    │   ├── LedgerRolledBack     the ledger is older than its anchor
    │   └── LedgerLocked         the owner must act before anything is answered
    ├── StoreFault            5  the store of surveys cannot be read or written
    └── QueryFailed           6  charged, and could not be completed

The number is the exit code of the command line. A message says what, where, how much and
what next, and never holds a datum.
"""

from __future__ import annotations

from typing import ClassVar


class DiscreetError(Exception):
    """The root: one sentence, an optional hint, an exit code."""

    exit_code: ClassVar[int] = 1

    def __init__(self, reason: str, *, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.reason}\n  try: {self.hint}" if self.hint else self.reason


class UsageError(DiscreetError):
    """A wrong flag, number or file. Nothing was charged."""

    exit_code = 2


class ProjectError(UsageError):
    """There is no project here, or its discreet.toml cannot be read."""


class SchemaError(UsageError):
    """A declaration that makes no sense."""


class Refused(DiscreetError):
    """The question cannot be answered privately as asked. Free, and the same on an empty table."""

    exit_code = 3

    def __init__(
        self,
        reason: str,
        *,
        hint: str = "",
        sql: str = "",
        line: int = 1,
        column: int = 1,
        width: int = 1,
    ) -> None:
        super().__init__(reason, hint=hint)
        self.sql = sql
        self.line = line
        self.column = column
        self.width = width

    def excerpt(self) -> str:
        """The line of the question at fault, with carets under the fault."""
        lines = self.sql.splitlines()
        if not 1 <= self.line <= len(lines):
            return ""
        text = lines[self.line - 1].replace("\t", " ")
        carets = "^" * max(1, min(self.width, len(text) - self.column + 1))
        return f"  {text}\n  {' ' * (self.column - 1)}{carets}"

    def __str__(self) -> str:
        parts = [self.reason, self.excerpt(), f"  try: {self.hint}" if self.hint else ""]
        return "\n".join(part for part in parts if part)


class BudgetExceeded(DiscreetError):
    """The budget does not hold this question. Free."""

    exit_code = 4

    def __init__(
        self, reason: str, *, hint: str = "", needed: dict[str, str | None], remaining: dict[str, str | None]
    ) -> None:
        super().__init__(reason, hint=hint)
        self.needed = needed
        self.remaining = remaining


class LedgerFault(DiscreetError):
    """The ledger or its store cannot be trusted or written. Nothing is answered."""

    exit_code = 5


class LedgerTampered(LedgerFault):
    """The chain does not verify: `row` is the first bad sequence number."""

    def __init__(self, reason: str, *, row: int, hint: str = "") -> None:
        super().__init__(reason, hint=hint)
        self.row = row


class LedgerRolledBack(LedgerFault):
    """The ledger is older than its anchor: an old copy was restored, or its end was cut off."""


class LedgerLocked(LedgerFault):
    """The owner must act before anything is answered."""


class StoreFault(DiscreetError):
    """The store of surveys cannot be read or written. Nothing was acknowledged."""

    exit_code = 5


class QueryFailed(DiscreetError):
    """The charged query could not be completed. One constant sentence: a cause could hold a datum."""

    exit_code = 6

    def __init__(self) -> None:
        super().__init__("the charged query could not be completed", hint="ask the data owner to look at the ledger")
