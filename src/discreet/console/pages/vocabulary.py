"""What may be named in a question: tables, columns, values; and a first question as an example."""

from __future__ import annotations

from typing import Any

from discreet.console import public_facts
from discreet.project.project import Project
from discreet.schema.column import BooleanColumn, CategoryColumn
from discreet.schema.schema import Table

#: So many values of a category are offered while typing.
_VALUES = 60


def table_vocabulary(project: Project, table: Table) -> dict[str, Any]:
    """What may be named in a question about a table, and what is left of its budget."""
    columns = [
        {
            "name": column.name,
            "values": list(column.values[:_VALUES]) if isinstance(column, CategoryColumn) else [],
            "boolean": isinstance(column, BooleanColumn),
        }
        for column in table.schema.columns
    ]
    unit = table.schema.unit
    return {
        "name": table.name,
        "public": table.public,
        "columns": columns,
        "keys": [*unit.person, *unit.on, *unit.ends],
        "budget": public_facts.budget_json(project, table),
    }


def example_query(project: Project, table_name: str) -> str:
    """A first question: how many rows by a column whose values are known."""
    private = [table for table in project.file.tables.values() if not table.public]
    table = next((each for each in private if each.name.lower() == table_name.lower()), private[0] if private else None)
    if table is None:
        return ""
    name = _quoted(table.name)
    key = next(
        (column.name for column in table.schema.columns if isinstance(column, CategoryColumn | BooleanColumn)), None
    )
    if key is None:
        return f"SELECT count(*) AS n\nFROM {name}"
    return f"SELECT {_quoted(key)}, count(*) AS n\nFROM {name}\nGROUP BY {_quoted(key)}"


def _quoted(name: str) -> str:
    plain = name.isascii() and name.isidentifier() and name == name.lower()
    return name if plain else '"' + name.replace('"', '""') + '"'
