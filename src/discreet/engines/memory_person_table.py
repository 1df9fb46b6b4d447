"""Tables of persons in plain Python: the readable twin of `persons` and `through`, which it must equal.

Read it to know whose a row is, which rows are kept, and what a constant is. Everybody is ranked here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from discreet.accounting.region import Value
from discreet.engines import file_source as sources
from discreet.engines.dominant_person import find_dominant_person
from discreet.engines.duckdb_conversion import DAMAGED
from discreet.engines.engine import DeclarationOutcome
from discreet.engines.file_reader import typed_schema
from discreet.engines.file_source import FileSource
from discreet.engines.keyed_hashes import person_secret, person_tag, row_digest
from discreet.engines.memory_values import (
    is_clamped,
    is_lost,
    is_missing_mark,
    rounding_notes_of,
    rounding_parts,
    stored_code,
)
from discreet.engines.missing_values import declared_marks, is_missing
from discreet.engines.ownership import Ownership
from discreet.engines.rounding_notes import is_rounded
from discreet.engines.source_values import SourceMoment, SourceValue, source_rows
from discreet.engines.table_file import PERSON, arrow_schema, new_pair, persons_schema
from discreet.errors import SchemaError
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.schema.schema import Schema

#: A person, or the value of a path's columns: the texts of the parts.
KeyTexts = tuple[str, ...]
Codes = tuple[Value | None, ...]


def declare_persons(ownership: Ownership, *, folder: Path, target: Path) -> DeclarationOutcome:
    """Make the declared table and its side file."""
    chain = list(sources.find_tables((ownership.table, *ownership.path), folder=folder))
    schema, limit = ownership.schema, ownership.unit.rows
    with new_pair(target) as (stream, beside), ExitStack() as stack:
        for source in chain:
            stack.enter_context(source.ensure_unchanged())
        owned = [
            (given, person)
            for given, person in _rows_with_person(ownership, chain)
            if person is None or person_tag(person, ownership.tag_key) not in ownership.forgotten
        ]
        persons: dict[KeyTexts, list[Codes]] = defaultdict(list)
        for given, person in owned:
            if person is not None:
                persons[person].append(tuple(map(stored_code, schema.columns, given)))
        kept = {person: _kept(person, coded, ownership) for person, coded in persons.items()}
        _write(kept, schema, stream)
        tags = [person_tag(person, ownership.tag_key) for person in persons]
        write_persons(tags, [len(coded) for coded in persons.values()], beside)
    return DeclarationOutcome(
        **_conversion_counts(schema, [given for given, _ in owned]),
        exact_rows=sum(map(len, kept.values())),
        exact_truncated=sum(max(len(coded) - limit, 0) for coded in persons.values()),
        exact_without_person=sum(person is None for _, person in owned),
        exact_persons=len(persons),
        exact_dominant=find_dominant_person(
            min(((person, len(coded)) for person, coded in persons.items()), key=_most_first, default=None),
            persons=len(persons),
            rows=sum(map(len, persons.values())),
        ),
    )


def _most_first(owned: tuple[KeyTexts, int]) -> tuple[int, list[bytes]]:
    """The order of persons by their rows, and then by their keys, bytewise."""
    return -owned[1], [part.encode() for part in owned[0]]


def _kept(person: KeyTexts, coded: list[Codes], ownership: Ownership) -> list[Codes]:
    """The rows of a person that stand first, all with the constants of the very first."""
    secret = person_secret(person, ownership.key)
    seen: Counter[Codes] = Counter()
    digests = []
    for codes in coded:
        seen[codes] += 1
        digests.append(row_digest(secret, codes, seen[codes]))
    ranked = [codes for _, codes in sorted(zip(digests, coded, strict=True), key=lambda pair: pair[0])]
    first = ranked[0]
    return [
        tuple(first[place] if place in ownership.constants else code for place, code in enumerate(codes))
        for codes in ranked[: ownership.unit.rows]
    ]


def _rows_with_person(
    ownership: Ownership, chain: list[FileSource]
) -> Iterator[tuple[list[SourceValue], KeyTexts | None]]:
    """The declared values of each row with each person whose it is; with None where it is nobody's."""
    tables = (ownership.table, *ownership.path)
    places = [chain[0].place(column.name) for column in ownership.schema.columns]
    marks = [declared_marks(table.null) for table in tables]
    links: dict[KeyTexts, set[KeyTexts]] | None = None
    for depth in range(len(chain) - 1, 0, -1):
        own = ownership.person if links is None else tables[depth].schema.unit.on
        reached_links: dict[KeyTexts, set[KeyTexts]] = defaultdict(set)
        on = tables[depth - 1].schema.unit.on
        for key, mine in zip(
            keys(chain[depth], on, marks=marks[depth]), keys(chain[depth], own, marks=marks[depth]), strict=True
        ):
            if key is not None:
                reached_links[key] |= _persons_of_key(mine, links)
        links = reached_links
    own = ownership.person if links is None else ownership.unit.on
    for row, mine in zip(source_rows(chain[0]), keys(chain[0], own, marks=marks[0]), strict=True):
        for person in _persons_of_key(mine, links) or [None]:
            yield [row[place] for place in places], person


def _persons_of_key(key: KeyTexts | None, links: dict[KeyTexts, set[KeyTexts]] | None) -> set[KeyTexts]:
    """The persons whom a key reaches: itself where there are no links, nobody where a part of it is NULL."""
    if key is None:
        return set()
    return {key} if links is None else links.get(key, set())


def keys(source: FileSource, columns: tuple[str, ...], *, marks: Sequence[str]) -> Iterator[KeyTexts | None]:
    """These columns of each row, as texts; None where one is NULL, or a mark that stands for nobody."""
    places = [source.place(column) for column in columns]
    _check_types(source, places)
    for row in source_rows(source):
        texts = [_text(row[place], marks) for place in places]
        yield None if None in texts else tuple(str(text) for text in texts)


def _text(value: SourceValue, marks: Sequence[str]) -> str | None:
    """A part of a key as `keyed` says; None for what is missing or damaged, and a date outside the years 1 to 9999."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, SourceMoment):
        return None if value.shown == "?" else value.shown
    return None if is_missing(value, marks) or DAMAGED in str(value) else str(value)


def _check_types(source: FileSource, places: Iterable[int]) -> None:
    """Whose a row is must be exact: no fractions, no moments, no bytes."""
    if source.is_text:
        return
    schema = typed_schema(source)
    for place in places:
        kind: Any = schema.types[place]
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        texts = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        whole = pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)
        if not (texts or whole or pa.types.is_boolean(kind) or pa.types.is_date(kind) or kind == pa.uuid()):
            raise SchemaError(
                f"{source.names[place]!r} of {source.shown} holds {kind}, which does not identify people exactly",
                hint="store ids as text or as whole numbers",
            )


def _conversion_counts(schema: Schema, given: list[list[SourceValue]]) -> dict[str, Any]:
    """What did not fit, what was clamped and what was rounded, over all rows."""
    columns = list(enumerate(schema.columns))
    return {
        "exact_nulled": {column.name: sum(is_lost(column, row[place]) for row in given) for place, column in columns},
        "exact_marked": {
            column.name: sum(is_missing_mark(column, row[place]) for row in given) for place, column in columns
        },
        "exact_clamped": {
            column.name: sum(is_clamped(column, row[place]) for row in given)
            for place, column in columns
            if isinstance(column, NumberColumn | MomentColumn)
        },
        "exact_rounded": rounding_notes_of(
            {
                column: [rounding_parts(column, row[place]) for row in given]
                for place, column in columns
                if is_rounded(column)
            }
        ),
    }


def _write(kept: dict[KeyTexts, list[Codes]], schema: Schema, stream: Any) -> None:
    names = [*(column.name for column in schema.columns), PERSON]
    records = [
        dict(zip(names, (*codes, number), strict=True)) for number, coded in enumerate(kept.values()) for codes in coded
    ]
    pq.write_table(pa.Table.from_pylist(records, schema=arrow_schema(schema)), stream)


def write_persons(tags: list[bytes], counts: list[int], stream: Any) -> None:
    columns = {"number": list(range(len(tags))), "tag": tags, "rows": counts}
    pq.write_table(pa.table(columns, schema=persons_schema()), stream)
