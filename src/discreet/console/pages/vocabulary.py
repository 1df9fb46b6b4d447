"""What may be named in a question: tables, columns, values; and a first question as an example."""

from __future__ import annotations

import re
from typing import Any

from discreet.console import public_facts
from discreet.project.project import Project
from discreet.schema.column import BooleanColumn, CategoryColumn, type_name
from discreet.schema.schema import Table

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")
#: Words that are no names unless they are quoted.
_RESERVED = frozenset(
    (
        *("all", "and", "any", "as", "asc", "between", "by", "case", "cast", "create", "cross", "current_date"),
        *("delete", "desc", "distinct", "drop", "else", "end", "except", "exists", "extract", "false", "fetch"),
        *(
            "filter",
            "for",
            "from",
            "full",
            "grant",
            "group",
            "grouping",
            "having",
            "in",
            "inner",
            "insert",
            "intersect",
        ),
        *("interval", "into", "is", "join", "lateral", "left", "like", "limit", "natural", "not", "null", "offset"),
        *("on", "or", "order", "outer", "over", "partition", "pivot", "primary", "qualify", "references", "right"),
        *("select", "set", "some", "table", "tablesample", "then", "to", "true", "union", "unique", "update", "using"),
        *("values", "when", "where", "window", "with"),
    )
)
#: So many values of a category are offered while typing.
_VALUES = 60


def table_vocabulary(project: Project, table: Table) -> dict[str, Any]:
    """What may be named in a question about a table, and what is left of its budget."""
    columns = [
        {
            "name": column.name,
            "sql": quoted_name(column.name),
            "type": type_name(column),
            "domain": public_facts.column_json(column, {})["domain"],
            "values": list(column.values[:_VALUES]) if isinstance(column, CategoryColumn) else [],
            "labels": dict(column.labels[:_VALUES]) if isinstance(column, CategoryColumn) else {},
            "boolean": isinstance(column, BooleanColumn),
        }
        for column in table.schema.columns
    ]
    unit = table.schema.unit
    return {
        "name": table.name,
        "sql": quoted_name(table.name),
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
    name = quoted_name(table.name)
    key = next(
        (column.name for column in table.schema.columns if isinstance(column, CategoryColumn | BooleanColumn)), None
    )
    if key is None:
        return f"SELECT count(*) AS n\nFROM {name}"
    return f"SELECT {quoted_name(key)}, count(*) AS n\nFROM {name}\nGROUP BY {quoted_name(key)}"


def quoted_name(name: str) -> str:
    """A name as SQL writes it: plain where it may be.

    >>> quoted_name("age"), quoted_name("Age"), quoted_name("order")
    ('age', '"Age"', '"order"')
    """
    plain = _PLAIN_NAME.fullmatch(name) is not None and name not in _RESERVED
    return name if plain else '"' + name.replace('"', '""') + '"'
