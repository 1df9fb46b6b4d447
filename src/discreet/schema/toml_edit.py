"""Writing discreet.toml without disturbing what the owner wrote by hand."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet import exact
from discreet.errors import ProjectError, UsageError
from discreet.schema.toml_file import parse_toml

if TYPE_CHECKING:
    from tomlkit import TOMLDocument  # slow to load, and most verbs write nothing here


def add_table(path: Path, name: str, settings: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]) -> None:
    """Append [tables.NAME] and its columns to the file at `path`; comments and order stay."""
    write(path, text_with_table(path, name, settings, columns))


def text_with_table(
    path: Path,
    name: str,
    settings: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]],
    *,
    populations: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """The text of the file at `path` with [tables.NAME] and its columns appended; comments and order stay.

    `populations`: new ones, which are appended as well.
    """
    return _with_table(_with_populations(_parsed(path), populations or {}), name, settings, columns)


def table_text(
    name: str,
    settings: Mapping[str, Any],
    columns: Mapping[str, Mapping[str, Any]],
    *,
    populations: Mapping[str, Mapping[str, Any]] | None = None,
) -> str:
    """[tables.NAME] and its columns alone, as they would be appended."""
    import tomlkit

    return _with_table(_with_populations(tomlkit.document(), populations or {}), name, settings, columns)


def _with_populations(document: TOMLDocument, populations: Mapping[str, Mapping[str, Any]]) -> TOMLDocument:
    import tomlkit

    for name, settings in populations.items():
        section = tomlkit.table()
        for key, value in settings.items():
            section.add(key, _item(value))
        document.setdefault("populations", tomlkit.table(is_super_table=True)).add(name, section)
    return document


def _with_table(
    document: TOMLDocument, name: str, settings: Mapping[str, Any], columns: Mapping[str, Mapping[str, Any]]
) -> str:
    import tomlkit

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
    return str(document.as_string())


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


def text_without_table(path: Path, name: str) -> str:
    """The file without [tables.NAME] and its columns; comments, order and everything else stay.

    Comments between the table and the next section are kept: they may be about that one.
    """
    text = path.read_bytes().decode("utf-8-sig")
    rest = _data(text)
    del rest["tables"][name]
    for edited in (_without_sections(text, ["tables", name]), _without_entry(text, name)):
        with suppress(UsageError):  # not TOML any more: a line that only looked like a header
            if edited is not None and _data(edited) == rest:
                return edited
    raise ProjectError(
        f"the declaration of {name!r} in {path.name} is written in a way that cannot be removed by a program",
        hint=f"remove it from {path.name} by hand, then run the same command again",
    )


def _data(text: str) -> dict[str, Any]:
    """What a file says; a file without tables has none of them."""
    return {"tables": {}} | parse_toml(text.replace("\r\n", "\n").replace("\r", "\n"), name="the file")


def _without_sections(text: str, place: list[str]) -> str:
    """A text without the sections at and below a place."""
    kept: list[str] = []
    section: list[str] = []
    inside = False
    for line in [*re.findall(r"[^\n]*\n|[^\n]+$", text), ""]:
        header = _header(line)
        if header is not None or not line:
            if inside:  # what stands before the next header belongs to that one
                tail = len(section)
                while tail and (not section[tail - 1].strip() or section[tail - 1].lstrip().startswith("#")):
                    tail -= 1
                section = section[tail:] if any(each.strip() for each in section[tail:]) else []
            kept, section = kept + section, []
            inside = header is not None and header[: len(place)] == place
        section.append(line)
    return "".join(kept)


def _header(line: str) -> list[str] | None:
    """The place that a line opens a section of; None where it is no such line."""
    if not line.lstrip().startswith("["):
        return None
    try:
        data: Any = parse_toml(line.strip(), name="a line")
    except UsageError:
        return None
    place = []
    while isinstance(data, dict) and data:
        ((key, data),) = data.items()
        place.append(key)
    return place


def _without_entry(text: str, name: str) -> str | None:
    """A text whose tables are written in another way than as sections of their own."""
    import tomlkit

    try:
        document: Any = tomlkit.parse(text)
        del document["tables"][name]
        return str(document.as_string())
    except Exception:  # whatever the library makes of such a text: its result is compared, and another way is told
        return None


def set_ledger(path: Path, ledger: str) -> None:
    """Say where the ledger lies from now on; everything else stays."""
    document = _parsed(path)
    project: Any = document.setdefault("project", {})
    project["ledger"] = ledger
    write(path, document.as_string())


def settings_text(settings: Mapping[str, Any]) -> str:
    """Settings as lines of TOML, without a section."""
    import tomlkit

    document = tomlkit.document()
    for key, value in settings.items():
        document.add(key, _item(value))
    return str(document.as_string())


def text_with(path: Path, changes: Mapping[tuple[str, ...], Any]) -> str:
    """The file with other values at some places; None takes one away. Comments, order and everything else stay."""
    import tomlkit

    document: Any = _parsed(path)
    for (*sections, key), value in changes.items():
        place = document
        for section in sections:
            if section not in place and value is None:
                break
            if section not in place:
                place[section] = tomlkit.table(is_super_table=section != sections[-1])
            place = place[section]
        else:
            if value is not None:
                place[key] = _item(value)
            elif key in place:
                del place[key]
    return str(document.as_string())


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
