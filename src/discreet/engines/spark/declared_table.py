"""Makes the declared table on Spark: the SELECT of `engines.declared_table_sql`, written as Parquet, then counted for
the owner.

Guarantee: the stored form of a row depends on that row and the declaration alone.
Because: each expression of `conversion` looks at one value of the row; a category's list is joined by equality on a key
    without doubles, so a row meets at most one entry; nothing else is joined, sorted, grouped or counted over.
Persons with many rows are made in `persons`, from the same SELECT.

Spark may run a task twice. What is told to the owner is therefore counted by a query of its own over the same files,
and the rows that were written are counted where they lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Unpack

from discreet.engines.declared_table_sql import EVERYTHING, MARK, NULLED, ConversionForms, RowSelection, select_sql
from discreet.engines.engine import DeclarationOutcome, PersonCounts
from discreet.engines.rounding_notes import is_rounded, make_rounding_notes
from discreet.engines.spark.broadcast_table import broadcast_frame
from discreet.engines.spark.conversion import missing_sql, raw_sql, storage, takes, word_sql
from discreet.engines.spark.lake import LakeManifest, LakeTable
from discreet.engines.spark.session import SparkSession
from discreet.engines.spark.spark_source import SparkSource
from discreet.engines.spark.value_kinds import WIDE, SparkKind
from discreet.engines.stop_signal import check_stop
from discreet.engines.table_file import check_declarable
from discreet.errors import DiscreetError, SchemaError, UsageError
from discreet.schema.column import CategoryColumn, Column, MomentColumn, NumberColumn, type_name
from discreet.schema.schema import Schema

#: How Spark makes codes of values.
FORMS = ConversionForms(raw=raw_sql, word=word_sql, storage=storage, missing=missing_sql, wide=WIDE)

#: What the source is called in the SQL.
SOURCE = "discreet_source"

_TYPES = {"INT": "integer", "BIGINT": "long", "STRING": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedSource:
    """Where the declared columns stand in the source s, and of what kind they are."""

    session: SparkSession
    schema: Schema
    source: SparkSource
    values: list[str]
    kinds: list[SparkKind]

    def select(self, selection: RowSelection = EVERYTHING) -> str:
        return select_sql(self.schema, self.values, self.kinds, source=SOURCE, forms=FORMS, selection=selection)


def declare(session: SparkSession, schema: Schema, source: SparkSource, *, target: LakeTable) -> DeclarationOutcome:
    """Make the declared table of `source` at `target`, where each row is a unit."""
    check_declarable(schema)
    prepared = prepare_source(session, schema, source)
    with translate_spark_errors(source), target.making() as mark, views(prepared):
        rows = f"rows-{mark}"
        write(session.sql(prepared.select(RowSelection(with_counts=False))), target, rows, columns=len(schema.columns))
        manifest = LakeManifest(columns=stored_types(schema), rows=target.part(rows))
        owner_counts = count_for_owner(prepared, prepared.select())
        if target.rows(session, manifest).count() != owner_counts["rows"]:
            raise rows_lost(source.shown)
        source.check_unchanged()
        target.commit(manifest)
    return declaration_outcome(schema, owner_counts, exact_rows=owner_counts["rows"])


def prepare_source(session: SparkSession, schema: Schema, source: SparkSource) -> PreparedSource:
    """Refuse a column that is gone, or of a type that the declared one cannot be made of. Reads no row."""
    places = [source.place(column.name) for column in schema.columns]
    kinds = [_kind(column, source, place) for column, place in zip(schema.columns, places, strict=True)]
    values = [source.spark_columns[place].value(f"s.c{place}") for place in places]
    return PreparedSource(session=session, schema=schema, source=source, values=values, kinds=kinds)


def _kind(column: Column, source: SparkSource, place: int) -> SparkKind:
    reading = source.spark_columns[place]
    if reading.kind is None or not takes(column, reading.kind):
        raise SchemaError(
            f"column {column.name!r} is declared {type_name(column)}, but it is {reading.shown} in {source.shown}",
            hint="declare another type, or convert the source",
        )
    return reading.kind


def stored_types(schema: Schema) -> tuple[tuple[str, str], ...]:
    """The columns of a declared table, with what Spark calls their types."""
    return tuple((column.name, _TYPES[storage(column)]) for column in schema.columns)


@contextmanager
def views(prepared: PreparedSource, *, further: Sequence[int] = ()) -> Iterator[None]:
    """The source, with the columns of `further` places too, and each category's list, as tables of the session."""
    import pyarrow as pa

    session, source = prepared.session, prepared.source
    places = {source.place(column.name) for column in prepared.schema.columns} | set(further)
    frames = {SOURCE: source.frame(session, sorted(places))}
    for place, column in enumerate(prepared.schema.columns):
        if isinstance(column, CategoryColumn):
            codes = pa.array(range(len(column.values)), pa.int64())
            table = pa.table({"word": pa.array(column.values, pa.string()), "code": codes})
            frames[f"list_{place}"] = broadcast_frame(session, table)
    with temporary_views(session, frames):
        yield


@contextmanager
def temporary_views(session: SparkSession, frames: dict[str, Any]) -> Iterator[None]:
    """Data frames as tables of the session, by name."""
    try:
        for name, frame in frames.items():
            frame.createOrReplaceTempView(name)
        yield
    finally:
        for name in frames:
            with suppress(Exception):  # where Spark has died there is nothing left to drop, and something else to say
                session.catalog.dropTempView(name)


def write(frame: Any, target: LakeTable, folder: str, *, columns: int, beside: Sequence[str] = ()) -> None:
    """Write the stored columns, by their places, and others by name, into a new folder of a table."""
    listed = [f"stored_{place} AS c{place}" for place in range(columns)]
    frame.selectExpr(*listed, *beside).write.mode("error").parquet(f"{target.folder}/{folder}")


def count_for_owner(
    prepared: PreparedSource, select: str, *, further: Mapping[str, str] | None = None
) -> dict[str, int]:
    """The counts for the owner: rows, and by place what was nulled, clamped and rounded; and `further` ones by name."""
    counts = {"rows": "count(*)", **(further or {})}
    for place, column in enumerate(prepared.schema.columns):
        counts[f"nulled_{place}"] = f"count_if(unread_{place} = {NULLED})"
        counts[f"marked_{place}"] = f"count_if(unread_{place} = {MARK})"
        if is_rounded(column):
            counts[f"clamped_{place}"] = f"count_if(moved_{place} = -1)"
            counts[f"rounded_{place}"] = f"count_if(moved_{place} > 0)"
            counts[f"most_{place}"] = f"greatest(coalesce(max(moved_{place}), 0), 0)"
        elif isinstance(column, NumberColumn | MomentColumn):
            counts[f"clamped_{place}"] = f"count_if(clamped_{place})"
    listed = ", ".join(f"{sql} AS {name}" for name, sql in counts.items())
    [row] = prepared.session.sql(f"SELECT {listed} FROM ({select})").toArrow().to_pylist()
    return {name: int(row[name]) for name in counts}


def declaration_outcome(
    schema: Schema, owner_counts: dict[str, int], *, exact_rows: int, **counts: Unpack[PersonCounts]
) -> DeclarationOutcome:
    """What the owner is told."""
    columns = list(enumerate(schema.columns))
    moves = {
        column: (owner_counts[f"rounded_{place}"], owner_counts[f"most_{place}"])
        for place, column in columns
        if isinstance(column, NumberColumn) and is_rounded(column)
    }
    return DeclarationOutcome(
        exact_rows=exact_rows,
        exact_nulled={column.name: owner_counts[f"nulled_{place}"] for place, column in columns},
        exact_clamped={
            column.name: owner_counts[f"clamped_{place}"]
            for place, column in columns
            if f"clamped_{place}" in owner_counts
        },
        exact_rounded=make_rounding_notes(moves),
        exact_marked={column.name: owner_counts[f"marked_{place}"] for place, column in columns},
        **counts,
    )


def rows_lost(shown: str) -> UsageError:
    """What was written is not what was read: somebody writes to the source, or an executor to another disk."""
    return UsageError(
        f"{shown} changed while it was read, or what was read of it was not written",
        hint="try again when nothing writes to the source; every executor must see it, and the folder of declared "
        "tables, by the same path",
    )


@contextmanager
def translate_spark_errors(source: SparkSource) -> Iterator[None]:
    """Turns what Spark says into one sentence: its own may quote cells."""
    try:
        yield
    except DiscreetError:
        raise
    except Exception:
        check_stop()
        raise UsageError(
            f"Spark could not make the declared table of {source.shown}",
            hint="check that every file is complete, that every executor sees it, and that there is enough disk space "
            "and memory",
        ) from None
