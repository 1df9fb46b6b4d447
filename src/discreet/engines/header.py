"""The names of a source's columns, and which of them a declared name means. No row is read for it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet.errors import SchemaError
from discreet.schema.schema import closest_name_hint

#: Kinds of values, and what their types are called on the engines, before any digit or bracket.
_KINDS = {
    "text": ("string", "large_string", "string_view", "varchar", "character", "char", "text", "bpchar", "utf8"),
    "integer": ("int", "integer", "uint", "bigint", "smallint", "tinyint", "long", "short", "byte"),
    "decimal": ("decimal", "numeric"),
    "float": ("float", "double", "real", "halffloat"),
    "date": ("date",),
    "timestamp": ("timestamp", "timestamp_ntz", "datetime"),
    "boolean": ("bool",),
    "bytes": ("binary", "large_binary", "fixed_size_binary", "bytea", "blob"),
}

#: Every kind that columns hold by which people are identified, as far as it is known. Others are their own types.
KNOWN_KINDS = frozenset(_KINDS) | {"uuid", "hugeint", "time"}


def kind_of_type(type_: str) -> str:
    """The kind of values that a column of a type holds: the same on every engine. An unknown type is its own kind.

    >>> [kind_of_type(each) for each in ("int64", "bigint", "large_string", "character varying(8)", "uuid")]
    ['integer', 'integer', 'text', 'text', 'uuid']
    >>> kind_of_type("dictionary<values=string, indices=int32, ordered=0>"), kind_of_type("interval")
    ('text', 'interval')
    """
    name = type_.lower().removeprefix("dictionary<values=")
    word = re.split(r"[^a-z_]", name)[0]
    for kind, types in _KINDS.items():
        if word in types:
            return kind
    return word


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A source as the owner wrote it, and the names of its columns in their order."""

    shown: str
    names: tuple[str, ...]
    #: The columns' types as the source has them; none where it has none, and all is text.
    types: tuple[str, ...] = ()

    def kind_of(self, name: str) -> str:
        """What a column holds in the source, whatever engine reads it: text in a CSV. No row is read for it."""
        return kind_of_type(self.types[self.place(name)]) if self.types else "text"

    def place(self, name: str) -> int:
        """Which column of the file a declared name means: the same name, or the same but for capital letters."""
        same = [place for place, column_name in enumerate(self.names) if column_name == name]
        places = same or [place for place, column_name in enumerate(self.names) if column_name.lower() == name.lower()]
        if not places:
            raise SchemaError(
                f"{self.shown} has no column {name!r}",
                hint=closest_name_hint(name, [column_name for column_name in self.names if column_name]),
            )
        if len(places) > 1:
            raise SchemaError(
                f"{self.shown} has {len(places)} columns that match {name!r}", hint="give each its own name"
            )
        return places[0]

    def distinct_names(self) -> tuple[str, ...]:
        """The names that can be declared. A column without a name cannot be (a table's unnamed index)."""
        seen: dict[str, str] = {}
        for name in filter(None, self.names):
            if name.lower() in seen:
                raise SchemaError(
                    f"{self.shown}: columns {seen[name.lower()]!r} and {name!r} have the same name if case is ignored",
                    hint="rename one of them",
                )
            seen[name.lower()] = name
        return tuple(seen.values())
