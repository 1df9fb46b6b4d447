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
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, slots=True)
class Flag:
    """An option that a sentence names. value: what to give it, a sequence for a list; True for a switch to turn on.

    python: what to write in Python, where it is no argument there.
    """

    name: str
    value: object = None
    short: str = ""
    python: str = ""

    @property
    def field(self) -> str:
        """Its name in Python, in forms and in requests."""
        return self.name.replace("-", "_")

    @property
    def value_text(self) -> str:
        """The value as the command line takes it; nothing for a switch or where the sentence names none."""
        if self.value is None or self.value is True:
            return ""
        if isinstance(self.value, Sequence) and not isinstance(self.value, str):
            return ",".join(map(str, self.value))
        return str(self.value)

    def __str__(self) -> str:
        name = f"-{self.short}" if self.short else f"--{self.name}"
        return f"{name} {_shell_word(self.value_text)}" if self.value_text else name

    def in_python(self) -> str:
        """As an argument of a call."""
        argument = self.field if self.value is None else f"{self.field}={_python_value(self.value)}"
        return self.python or argument


@dataclass(frozen=True, slots=True)
class Statement:
    """An SQL query that a sentence proposes."""

    sql: str

    def __str__(self) -> str:
        return self.sql

    in_python = __str__


#: Where Python has a call for a command: its name, and after how many arguments the others are one list.
METHODS = {
    "init": ("discreet.init", 1),
    "add": ("project.add", 1),
    "again": ("project.again", 1),
    "bounds": ("project.bounds", 1),
    "bounds --report": ("project.bias", 1),
    "budget grant": ("project.grant", 1),
    "forget": ("project.forget", 1),
    "infer": ("discreet.infer", 1),
    "ledger acknowledge": ("project.acknowledge", 0),
    "ledger adopt": ("project.adopt", 1),
    "publish": ("project.publish", 1),
    "refresh": ("project.refresh", 1),
    "remove": ("project.remove", 1),
    "sample-data": ("discreet.sample_data", 1),
    "synth fit": ("project.synthesize", 1),
}


@dataclass(frozen=True, slots=True, init=False)
class Command:
    """A command that a sentence proposes: its verb, as `ledger restore`, and its arguments in order.

    >>> print(Command("bounds", "visits", "age", Flag("epsilon", 0.1)))
    discreet bounds visits age --epsilon 0.1
    >>> Command("bounds", "visits", "age", Flag("epsilon", 0.1)).in_python()
    'project.bounds("visits", ["age"], epsilon=0.1)'
    >>> Command("ledger restore", "FILE").in_python()
    'discreet ledger restore FILE'
    """

    verb: str
    arguments: tuple[str | Flag | Statement, ...]

    def __init__(self, verb: str, *arguments: str | Flag | Statement) -> None:
        object.__setattr__(self, "verb", verb)
        object.__setattr__(self, "arguments", arguments)

    def __str__(self) -> str:
        words = [
            f'"{each}"' if isinstance(each, Statement) else str(each) if isinstance(each, Flag) else _shell_word(each)
            for each in self.arguments
        ]
        return " ".join(["discreet", *([self.verb] if self.verb else []), *words])

    def in_python(self) -> str:
        """The call that does the same, by its name alone where the sentence gives no arguments; else the command."""
        flags = [each for each in self.arguments if isinstance(each, Flag)]
        switches = [f" --{each.name}" for each in flags if each.value is True]
        if any(each.short for each in flags) or "".join([self.verb, *switches]) not in METHODS:
            return str(self)
        name, single = METHODS["".join([self.verb, *switches])]
        words = [_python_value(str(each)) for each in self.arguments if not isinstance(each, Flag)]
        listed = [f"[{', '.join(words[single:])}]"] if words[single:] else []
        given = [*words[:single], *listed, *(each.in_python() for each in flags if each.value is not True)]
        return f"{name}({', '.join(given)})" if given or not single else name


def _shell_word(text: str) -> str:
    """A word as a shell takes it: in quotes where it has a space or another sign.

    >>> [_shell_word(text) for text in ("visits", "patient id", "r-…", "30..45")]
    ['visits', "'patient id'", 'r-…', '30..45']
    """
    return text if re.fullmatch(r"[\w…@%+=:,./\[\]-]+", text) else shlex.quote(text)


def _python_value(value: object) -> str:
    """A value in Python; a placeholder, as FILE, stays one.

    >>> [_python_value(value) for value in (0.1, "1e-7", "FILE", "age", ("zip", "age"), True)]
    ['0.1', '1e-7', 'FILE', '"age"', '["zip", "age"]', 'True']
    """
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(_python_value, value))}]"
    text = str(value)
    if not isinstance(value, str) or text.isupper() or re.fullmatch(r"\d+(\.\d+)?(e-?\d+)?", text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


#: What a message is made of.
Piece = str | Flag | Command | Statement


class Message(str):
    """A sentence that names options, commands or queries. As text it is what the command line prints.

    `pieces` has the parts, from which Python and the console make their own text. Formatting or adding text to it gives
    plain text: put one message into another as a piece.

    >>> message = Message(Flag("epsilon", 0.1), ", or run ", Command("refresh", "visits"))
    >>> print(message)
    --epsilon 0.1, or run discreet refresh visits
    >>> message.in_python()
    'epsilon=0.1, or run project.refresh("visits")'
    """

    pieces: tuple[Piece, ...]

    def __new__(cls, *pieces: Piece) -> Message:
        message = super().__new__(cls, "".join(map(str, pieces)))
        message.pieces = tuple(part for each in pieces for part in pieces_of(each))
        return message

    def in_python(self) -> str:
        """With Python's arguments and calls in the place of options and commands."""
        return "".join(each if isinstance(each, str) else each.in_python() for each in self.pieces)


def pieces_of(text: Piece) -> tuple[Piece, ...]:
    """The parts of a message; any other text is its own only part."""
    return text.pieces if isinstance(text, Message) else (text,)


def _in_python(text: str) -> str:
    return text.in_python() if isinstance(text, Message) else text


class DiscreetError(Exception):
    """The base class of all errors: a reason, an optional hint and an exit code.

    Reason and hint are text in the words of the command line, a `Message` where they name options, commands or queries.
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
        return self._joined(_in_python(self.reason), _in_python(self.hint))

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
    return UsageError(f"there is no release {id_[:60]!r}", hint=Message(Command("releases"), " lists them"))


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
