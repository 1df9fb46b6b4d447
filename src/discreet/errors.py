"""Every error that Discreet raises. Standard library only.

    DiscreetError
    ├── UsageError            2  a wrong flag, number or file
    │   ├── ProjectError         no project here, or discreet.toml cannot be read
    │   └── SchemaError          a declaration that is not valid
    ├── Refused               3  the query cannot be answered privately as written; free
    ├── BudgetExceeded        4  the remaining budget is too small; free
    ├── LedgerFault           5  the ledger or its store cannot be trusted or written
    │   ├── LedgerTampered       the chain does not verify
    │   ├── LedgerRolledBack     the ledger is older than its anchor
    │   └── LedgerLocked         the owner must act before anything is answered
    ├── StoreFault            5  the survey store cannot be read or written
    └── QueryFailed           6  charged, but could not be completed

The number is the exit code of the command line. A message says what, where, how much and
what next, and never holds a datum.
"""

from __future__ import annotations

import re
from typing import ClassVar, Literal

#: A flag of the command line, and its value; a flag of a whole command stays one.
_FLAG = re.compile(r"discreet [a-z].*|(?<![\w-])--([a-z][a-z-]*)(?: (?=[\dA-Z])([\w.+-]*\w))?", re.DOTALL)


def in_python(sentence: str) -> str:
    """A sentence with Python's arguments in the place of the command line's flags.

    >>> in_python("--epsilon 0.1, or --within 50; one of the two")
    'epsilon=0.1, or within=50; one of the two'
    >>> in_python("--rows-per-person needs a person, or discreet bounds visits --report")
    'rows_per_person needs a person, or discreet bounds visits --report'
    """

    def instead(flag: re.Match[str]) -> str:
        if flag[1] is None:
            return flag[0]
        return flag[1].replace("-", "_") + (f"={flag[2]}" if flag[2] else "")

    return _FLAG.sub(instead, sentence)


class DiscreetError(Exception):
    """The base class of all errors: a reason, an optional hint and an exit code.

    `str(error)` names Python's arguments; `command_line_text()` names the flags of the command line.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, reason: str, *, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint

    def command_line_text(self) -> str:
        """The reason and the hint, as the command line prints them."""
        return self._joined(self.reason, self.hint)

    def __str__(self) -> str:
        return self._joined(in_python(self.reason), in_python(self.hint))

    def _joined(self, reason: str, hint: str) -> str:
        return f"{reason}\n  try: {hint}" if hint else reason


class UsageError(DiscreetError):
    """A wrong flag, number or file. Nothing was charged."""

    exit_code = 2


def no_release(id_: str) -> UsageError:
    """Nothing is stored under this name: it is a derived answer's, or nobody's."""
    if re.fullmatch(r"d-[0-9a-f]{12}", id_):
        return UsageError(
            f"{id_!r} is a derived answer: it was computed from stored releases without a new charge, "
            "so it is not stored itself and has no bundle",
            hint="use the releases that it was computed from; its note and its 'from' name them",
        )
    return UsageError(f"there is no release {id_[:60]!r}", hint="discreet ledger show lists them")


class MissingPackage(UsageError):
    """A required package is not installed. The hint says how to install it."""


class ProjectError(UsageError):
    """There is no project here, or its discreet.toml cannot be read."""


class SchemaError(UsageError):
    """A declaration is not valid."""


class Refused(DiscreetError):
    """The query cannot be answered privately as written. Free, and the same on an empty table."""

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
        """The line of the query that is refused, with carets under the part at fault."""
        lines = self.sql.splitlines()
        if not 1 <= self.line <= len(lines):
            return ""
        text = lines[self.line - 1].replace("\t", " ")
        carets = "^" * max(1, min(self.width, len(text) - self.column + 1))
        return f"  {text}\n  {' ' * (self.column - 1)}{carets}"

    def _joined(self, reason: str, hint: str) -> str:
        parts = [reason, self.excerpt(), f"  try: {hint}" if hint else ""]
        return "\n".join(part for part in parts if part)


#: The limits that can refuse a charge: the population's epsilon or rho, its delta for keys, an analyst's quota.
Binding = Literal["loss", "keys", "quota"]


class BudgetExceeded(DiscreetError):
    """The remaining budget is too small for this request. Nothing was charged."""

    exit_code = 4

    def __init__(
        self,
        reason: str,
        *,
        hint: str = "",
        needed: dict[str, str | None],
        remaining: dict[str, str | None],
        binding: Binding | None = None,
    ) -> None:
        super().__init__(reason, hint=hint)
        self.needed = needed
        self.remaining = remaining
        #: Which limit is too small, where the ledger said so; what could be asked instead depends on it.
        self.binding = binding


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
    """The survey store cannot be read or written. Nothing was acknowledged."""

    exit_code = 5


class QueryFailed(DiscreetError):
    """The charged query could not be completed. The cause is never shown: it could reveal private data."""

    exit_code = 6

    def __init__(self) -> None:
        super().__init__("the charged query could not be completed", hint="ask the data owner to look at the ledger")
