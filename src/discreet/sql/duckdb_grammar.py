"""A second opinion on syntax: DuckDB's own parser, which reads a question's text and never runs it.

The first parser forgives: `BETWEEN 3 5`, a GROUP BY that breaks off, parentheses that nobody closed. What it
guesses was not asked, so whatever DuckDB's grammar does not know is refused. The database behind it is empty,
cannot reach a file and cannot be told to: of a statement only the parse is asked for.
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.sql.text_limits import SyntaxFault

if TYPE_CHECKING:
    import duckdb

#: What to write instead of some words that DuckDB does not know.
_INSTEAD = {"symmetric": "x BETWEEN least(a, b) AND greatest(a, b)"}

_UNCLOSED = "a quote or a comment is not closed"


def syntax_fault(text: str) -> SyntaxFault | None:
    """The first fault in the syntax of a text, or None where it has none. The text is bounded already."""
    import duckdb

    try:
        # A cursor is a connection of its own, so that threads do not meet.
        with _database().cursor() as cursor:
            cursor.extract_statements(text)
    except duckdb.Error as problem:
        return _locate_fault(text, _parse_error_json(str(problem)))
    return None


#: By process: after a fork it is made anew.
_databases: dict[int, duckdb.DuckDBPyConnection] = {}


def _database() -> duckdb.DuckDBPyConnection:
    """An empty database for its grammar.

    A parent's is never closed in a child, not even when the interpreter ends: its threads did not live through it,
    and closing would wait for them. So it keeps one reference for ever.
    """
    import duckdb

    process = os.getpid()
    if process in _databases:
        return _databases[process]
    for parent in [number for number in list(_databases) if number != process]:
        if parents := _databases.pop(parent, None):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(parents))
    made = duckdb.connect(
        ":memory:",
        config={
            "threads": 1,
            "enable_external_access": "false",
            "python_enable_replacements": "false",
            "autoload_known_extensions": "false",
            "autoinstall_known_extensions": "false",
            "errors_as_json": "true",
            "lock_configuration": "true",
        },
    )
    return _databases.setdefault(process, made)  # of two threads the first one's stays


def _locate_fault(text: str, error_fields: Mapping[str, Any]) -> SyntaxFault:
    """The fault that DuckDB tells of. It counts bytes, and we count characters."""
    message = str(error_fields.get("exception_message", ""))
    if "depth" in message:
        return SyntaxFault(reason="this query is too complex", hint="make it shorter")
    first, size = (
        str(error_fields.get("position", "")),
        str(error_fields.get("location", "")).strip("[]").split(",")[-1],
    )
    if not first.isdigit() or not size.isdigit():
        # A rule beside the grammar, about an aggregate or a clause; DuckDB says which, of the text alone.
        return SyntaxFault(reason=f"cannot parse this SQL: {message.splitlines()[0][:70] if message else '?'}")
    written = text.encode()
    start, end = (len(written[:place].decode(errors="ignore")) for place in (int(first), int(first) + int(size)))
    words = text[start:end][:30]
    reason = f"syntax error at {words!r}" if words else _UNCLOSED
    return SyntaxFault(reason=reason, hint=_INSTEAD.get(words.lower(), ""), start=start, end=end)


def _parse_error_json(problem: str) -> dict[str, Any]:
    """What an error says of itself."""
    begins = problem.find("{")
    try:
        error_fields = json.loads(problem[begins:]) if begins >= 0 else {}
    except ValueError:
        return {}
    return error_fields if isinstance(error_fields, dict) else {}
