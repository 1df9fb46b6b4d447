"""Writing discreet.toml without disturbing what the owner wrote by hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import exact
from discreet.errors import ProjectError

if TYPE_CHECKING:
    from tomlkit import TOMLDocument  # slow to load, and most verbs write nothing here


def add_table(path: Path, name: str, settings: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Append [tables.NAME] and its columns to the file at `path`; comments and order stay."""
    import tomlkit

    document = _parsed(path)
    tables = document.setdefault("tables", tomlkit.table(is_super_table=True))
    table = tomlkit.table()
    for key, value in settings.items():
        table.add(key, _item(value))
    listed = tomlkit.table(is_super_table=True)
    for column, column_settings in columns.items():
        entry = tomlkit.table()
        for key, value in column_settings.items():
            entry.add(key, _item(value))
        listed.add(column, entry)
    if columns:
        table.add("columns", listed)
    tables.add(name, table)
    write(path, document.as_string())


def set_keys(path: Path, name: str, settings: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Set keys of a declared table and of its columns; comments, order and all other keys stay."""
    document = _parsed(path)
    table: Any = document["tables"][name]
    for key, value in settings.items():
        table[key] = _item(value)
    for column, column_settings in columns.items():
        for key, value in column_settings.items():
            table["columns"][column][key] = _item(value)
    write(path, document.as_string())


def set_ledger(path: Path, ledger: str) -> None:
    """Say where the ledger lies from now on; everything else stays."""
    document = _parsed(path)
    project: Any = document.setdefault("project", {})
    project["ledger"] = ledger
    write(path, document.as_string())


def _parsed(path: Path) -> TOMLDocument:
    """The file as it can be edited. What `toml_file` reads, this reads: a byte order mark is skipped."""
    import tomlkit

    return tomlkit.parse(path.read_text(encoding="utf-8-sig"))


def write(path: Path, text: str) -> None:
    """Replace a file whole or not at all."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError as problem:
        beside.unlink(missing_ok=True)
        raise ProjectError(f"cannot write {path.name}: {problem.strerror}") from None


def _item(value: Any) -> Any:
    """A value as TOML; a Fraction as the decimal number it was."""
    import tomlkit

    if isinstance(value, Fraction):
        return tomlkit.value(exact.show(value, digits=40))
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        for key, part in value.items():
            inline.add(key, _item(part))
        return inline
    return tomlkit.item(value)
