"""What a description found, as discreet.toml gets it: only what it does not declare already."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.schema.column import type_name
from discreet.schema.schema import Table

Settings = Mapping[str, Mapping[str, Any]]


def undeclared_settings(
    described: Settings, types: Mapping[str, str], *, table: Table, declared: Settings
) -> dict[str, dict[str, Any]]:
    """The settings of each column that are not declared. A column that has another type by now is left alone.

    `described`: what a description found. `types`: what each column was then. `declared`: columns in discreet.toml.
    """
    columns: dict[str, dict[str, Any]] = {}
    for name, settings in described.items():
        column = table.schema.column(name)
        if column is None or type_name(column) != types[name]:
            continue
        raw = declared.get(column.name, {})
        fresh = {key: value for key, value in settings.items() if key == "type" or key not in raw}
        if set(fresh) - {"type", "measured"}:
            columns[column.name] = {**fresh, "measured": settings["measured"]}
    return columns
