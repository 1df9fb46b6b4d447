"""The one reader of TOML files that people write: opened, parsed and checked here, with one clear sentence where
something is wrong.

    read_toml             a file as a mapping; its numbers are exact
    parse_toml            a text as a mapping
    mapping               refuse what is not a table of settings
    refuse_unknown_keys   refuse a key that nobody reads, and name the closest one that somebody does
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.errors import UsageError
from discreet.schema.schema import closest_name_hint

#: No file that a person writes is larger.
MOST_BYTES = 2**26


def read_toml(
    path: Path, *, most_bytes: int = MOST_BYTES, error: type[UsageError] = UsageError, missing: UsageError | None = None
) -> dict[str, Any]:
    """A file as a mapping. `missing`: the error where there is no such file."""
    content = _read_bytes(path, most_bytes=most_bytes, error=error, missing=missing)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{path.name} is not valid TOML: it is not UTF-8 text") from None
    return parse_toml(text.replace("\r\n", "\n").replace("\r", "\n"), name=path.name, error=error)


def read_text(path: Path, *, most_bytes: int = MOST_BYTES) -> str:
    """The text of a file that is no TOML, and stands beside one or for one."""
    try:
        return _read_bytes(path, most_bytes=most_bytes, error=UsageError, missing=None).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path.name} is not UTF-8 text") from None


def _read_bytes(path: Path, *, most_bytes: int, error: type[UsageError], missing: UsageError | None) -> bytes:
    try:
        with path.open("rb") as stream:
            content = stream.read(most_bytes + 1)
    except FileNotFoundError:
        raise (missing or error(f"there is no file {str(path)!r}")) from None
    except OSError as problem:
        raise error(f"{path.name} cannot be read: {problem.strerror}") from None
    if len(content) > most_bytes:
        raise error(f"{path.name} is larger than {most_bytes:,} bytes")
    return content


_TOML_HINT = 'correct that line; texts are in quotes, as in source = "patients.csv", and each [section] stands once'


def parse_toml(text: str, *, name: str, error: type[UsageError] = UsageError) -> dict[str, Any]:
    """A text as a mapping: numbers as they were written, never as floats."""
    try:
        return tomllib.loads(text, parse_float=_number)
    except (ValueError, RecursionError) as problem:
        raise error(f"{name} is not valid TOML: {str(problem)[:200]}", hint=_TOML_HINT) from None
    except UsageError as problem:
        raise error(f"{name}: {problem.reason}") from None


def _number(text: str) -> Fraction:
    """A TOML float, exactly. NaN, infinities and endless exponents are no numbers here."""
    return exact.number(text.replace("_", ""), name="a number")


def mapping(entry: Any, *, where: str, error: type[UsageError] = UsageError, hint: str = "") -> Mapping[str, Any]:
    """The entry, which must be a table. `where`: what it is, for a sentence."""
    if not isinstance(entry, Mapping):
        raise error(f"{where} must be a table of settings", hint=hint)
    return entry


def refuse_unknown_keys(
    entry: Any, keys: Collection[str], *, where: str, error: type[UsageError] = UsageError
) -> Mapping[str, Any]:
    """The entry, which must be a table with no other keys than these.

    manual/settings.py finds every key that is documented by the calls of this function.
    """
    table = mapping(entry, where=where, error=error)
    for key in table:
        if key not in keys:
            raise error(f"{where} has an unknown key {str(key)[:60]!r}", hint=closest_name_hint(str(key), keys))
    return table
