"""Standard output and standard error: what their encoding lacks is spelled out, and what is lost can be had again.

Guarantee: once `prepare` has run, no letter makes a print fail, so none is lost after its charge.
Because: every letter that the encoding lacks goes through `spell_in_ascii`, whose text is ASCII. JSON goes out whole,
    with escapes. `flush_or_raise` handles a full disk and a reader that went away.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO, cast

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text as RichText

from discreet.errors import UsageError

#: The name of the error handler that spells letters out.
HANDLER = "discreet.spelled"
#: Handlers that may fail, or that spell everything as a number.
_REPLACED = ("strict", "surrogateescape", "backslashreplace")

_SPELLED = {
    "±": "+/-",
    "…": "...",
    "×": "x",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "→": "->",
    "•": "*",
    "\u00a0": " ",
    **dict.fromkeys("–—−‐‑─━", "-"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’‚", "'"),
    **dict.fromkeys("│┃", "|"),
}


class OutputLost(UsageError):
    """The output could not be printed. What was charged stays charged, and the answer is stored."""


class ReaderGone(Exception):
    """Whoever read standard output has seen enough. (The parser of flags would turn a BrokenPipeError into code 1.)"""


def spell_in_ascii(text: str) -> str:
    r"""A text in ASCII: signs in letters, bars as #, and other letters as escapes, which keep names apart.

    >>> spell_in_ascii("12 ± 3 ▇▇, Zoë")
    '12 +/- 3 ##, Zo\\xeb'
    """
    return "".join(letter if letter.isascii() else _spell_letter(letter) for letter in text)


def _spell_letter(letter: str) -> str:
    if letter in _SPELLED:
        return _SPELLED[letter]
    if "\u2500" <= letter <= "\u257f":
        return "+"
    if "\u2580" <= letter <= "\u259f":
        return "#"
    if "\u2800" <= letter <= "\u28ff":  # the dots of a spinner
        return "."
    return letter.encode("ascii", "backslashreplace").decode("ascii")


def _replace_unencodable(problem: UnicodeError) -> tuple[str, int]:
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    return spell_in_ascii(problem.object[problem.start : problem.end]), problem.end


codecs.register_error(HANDLER, _replace_unencodable)


def prepare() -> None:
    """Make both streams take every letter. A stream that is closed is replaced by one that goes nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for as long as the process
        elif isinstance(stream, TextIOWrapper) and stream.errors in _REPLACED:
            stream.reconfigure(errors=HANDLER)


def can_encode(text: str) -> bool:
    """Whether standard output's encoding has all of a text's letters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def spell_for_stdout(text: str) -> str:
    """A text as it is where standard output has all of its letters; else in ASCII."""
    return text if can_encode(text) else spell_in_ascii(text)


def write_json(data: Mapping[str, Any]) -> None:
    """Print data as one line of JSON; with escapes where letters do not fit, so nothing of it changes."""
    text = json.dumps(data, ensure_ascii=False)
    print(text if can_encode(text) else json.dumps(data))


def write_lines(parts: list[Any]) -> None:
    """Print texts and tables for people."""
    width = None if sys.stdout.isatty() else 200  # a pipe is no narrow terminal
    console = _Console(highlight=False, soft_wrap=True, width=width)
    for part in parts:
        if isinstance(part, RichTable):
            _fit(part)
        console.print(RichText(part) if isinstance(part, str) else part)


def print_stderr(text: str, *, end: str = "\n") -> None:
    """Print a line on standard error. Where that is gone there is nobody to tell, and the work goes on."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        silence(sys.stderr)


@contextmanager
def flush_or_raise() -> Iterator[None]:
    """What is printed inside has left when it ends; else ReaderGone, or OutputLost."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
        raise ReaderGone from None
    except OSError as problem:
        silence(sys.stdout)
        raise OutputLost(f"cannot write to standard output: {problem.strerror}") from None


def silence(stream: TextIO) -> None:
    """Send the rest of a broken stream nowhere, so that closing it does not fail as well."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def progress_console() -> Console:
    """A console on standard error for what may be lost: it must not end what it tells the progress of."""
    return Console(file=cast(TextIO, _FaultTolerantStream(sys.stderr)))


class _FaultTolerantStream:
    """A stream whose faults do not matter."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Let `flush_or_raise` decide; the library would end the process."""
        raise  # the error that is being handled


def _fit(table: RichTable) -> None:
    """Spell out a table's cells before it is set, so that its columns stay columns."""
    for column in table.columns:
        column.header = _spell_cell(column.header)
        column._cells[:] = [_spell_cell(cell) for cell in column._cells]


def _spell_cell(cell: Any) -> Any:
    plain = cell.plain if isinstance(cell, RichText) else cell
    if not isinstance(plain, str) or can_encode(plain):
        return cell
    return RichText(spell_in_ascii(plain))
