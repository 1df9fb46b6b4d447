"""Public nodes: the keys of a public table, which number a network's nodes, and an attribute that sorts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import Value
from discreet.errors import Flag, Message, UsageError
from discreet.graph.graph_source import digest
from discreet.schema.column import CategoryColumn, Column, Label, NumberColumn, TextColumn, type_name
from discreet.schema.schema import closest_name_hint
from discreet.sql.catalog import PublicTable

#: An attribute with more values than this is no grouping: the mixing matrix has their square.
MOST_GROUPS = 256

#: What a column of keys is called, where several columns would do.
_KEYS = ("id", "node", "key", "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicNodes:
    """Nodes that everybody may know. Nothing here is secret, and nothing of it is protected.

    keys: in the codes of the ends; nodes that no end can name have none, and no edges. count: of all nodes.
    by, labels, groups: an attribute, its values, and the place among them of each node that has a key. sizes: how many
    nodes, with and without a key, have each value.
    """

    table: str
    key: str
    keys: tuple[Value, ...] = field(repr=False)
    count: int
    by: str | None = None
    labels: tuple[Label, ...] = ()
    groups: tuple[int, ...] = field(default=(), repr=False)
    sizes: tuple[int, ...] = ()

    @property
    def codes(self) -> NDArray[np.int64]:
        """The group of each node."""
        return np.array(self.groups, dtype=np.int64)

    def to_data(self) -> dict[str, Any]:
        """What it is, for the digest of a question: another content is another question."""
        return {
            "table": self.table,
            "key": self.key,
            "by": self.by,
            "nodes": self.count,
            "content": [digest(self.keys), digest(self.groups), digest(self.labels)],
        }


def public_nodes(
    public: PublicTable, end: Column, ends: Sequence[str], *, key: str | None, by: str | None
) -> PublicNodes:
    """The nodes of a public table for edges whose ends are declared like `end`. Reads public facts alone."""
    if not any(public.codes.values()):
        raise UsageError(
            f"public table {public.name!r} has no rows, so it names no nodes",
            hint=Message("leave ", Flag("nodes"), " out: then the nodes are those with an edge"),
        )
    column = _column(public, key) if key is not None else _key(public, ends)
    rows = _rows(public, column)
    coded = _coded(public, column, end, rows)
    kept = [place for place, code in enumerate(coded) if code is not None]
    labels, groups = ((), ()) if by is None else _groups(public, _column(public, by), rows)
    sizes = np.bincount(np.array(groups, dtype=np.int64), minlength=len(labels)).tolist()
    return PublicNodes(
        table=public.name,
        key=column.name,
        keys=tuple(code for code in coded if code is not None),
        count=len(rows),
        by=None if by is None else _column(public, by).name,
        labels=tuple(labels),
        groups=tuple(groups[place] for place in kept) if by is not None else (),
        sizes=tuple(sizes),
    )


def _column(public: PublicTable, name: str) -> Column:
    column = next((each for each in public.columns if each.name.lower() == name.lower()), None)
    if column is None:
        hint = closest_name_hint(name, [each.name for each in public.columns])
        raise UsageError(f"public table {public.name!r} has no column {name[:60]!r}", hint=hint)
    return column


def _key(public: PublicTable, ends: Sequence[str]) -> Column:
    """The column that names each node once."""
    unique = [each for each in public.columns if _is_unique(public, each)]
    if len(unique) != 1:
        named = {name.lower() for name in (*_KEYS, *ends)}
        unique = [each for each in unique if each.name.lower() in named]
    if len(unique) != 1:
        raise UsageError(
            f"name the column of {public.name!r} that identifies each node once", hint=Message(Flag("key", "COLUMN"))
        )
    return unique[0]


def _is_unique(public: PublicTable, column: Column) -> bool:
    present_codes = [code for code in public.codes[column.name] if code is not None]
    return bool(present_codes) and len(set(present_codes)) == len(present_codes)


def _rows(public: PublicTable, key: Column) -> list[int]:
    """The rows that have a key."""
    if not _is_unique(public, key):
        raise UsageError(
            f"column {key.name!r} of public table {public.name!r} does not identify each node once: it has a repeated "
            "value, or no value",
            hint=Message(Flag("key", "COLUMN"), " to name another column"),
        )
    return [row for row, code in enumerate(public.codes[key.name]) if code is not None]


def _coded(public: PublicTable, key: Column, end: Column, rows: Sequence[int]) -> list[Value | None]:
    """The keys in the codes of the ends; None where no end can be that node."""
    codes = public.codes[key.name]
    if isinstance(end, NumberColumn) and isinstance(key, NumberColumn):
        low, high = (-(2**60) if end.low is None else end.low), (2**60 if end.high is None else end.high)
        step = key.step  # a million fractions take seconds
        numbers = (int(codes[row] or 0) for row in rows)
        wholes = [
            number * step.numerator // step.denominator
            if step.denominator == 1 or number * step.numerator % step.denominator == 0
            else None
            for number in numbers
        ]
        return [whole if whole is not None and low <= whole <= high else None for whole in wholes]
    if isinstance(end, TextColumn | CategoryColumn) and isinstance(key, TextColumn | CategoryColumn):
        words = [_word(key, codes[row]) for row in rows]
        if isinstance(end, TextColumn):
            return list(words)
        places = {word: place for place, word in enumerate(end.values)}
        return [places.get(word) for word in words]
    raise UsageError(
        f"column {key.name!r} of {public.name!r} is {type_name(key)} and the ends of edges are {type_name(end)}: "
        "no node would have an edge",
        hint="declare them with the same type in discreet.toml",
    )


def _word(column: TextColumn | CategoryColumn, code: Value | None) -> str:
    return str(code) if isinstance(column, TextColumn) else column.values[int(code or 0)]


def _groups(public: PublicTable, column: Column, rows: Sequence[int]) -> tuple[list[Label], list[int]]:
    """The values of an attribute, sorted, NULL last; and the place of each row's."""
    codes = public.codes[column.name]
    group_codes: list[Any] = sorted({codes[row] for row in rows} - {None})
    if any(codes[row] is None for row in rows):
        group_codes.append(None)
    if len(group_codes) > MOST_GROUPS:
        raise UsageError(
            f"column {column.name!r} of {public.name!r} has {len(group_codes):,} values; "
            f"the maximum is {MOST_GROUPS:,}",
            hint="use an attribute with fewer values",
        )
    places = {code: place for place, code in enumerate(group_codes)}
    labels = [
        None if code is None else code if isinstance(column, TextColumn) else column.label(int(code))
        for code in group_codes
    ]
    return labels, [places[codes[row]] for row in rows]
