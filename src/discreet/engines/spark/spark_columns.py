"""As what Spark reads the columns of a source: everything that is a moment as a whole number.

A Parquet file's TIMESTAMP of milliseconds would fail where its microseconds leave 64 bits, one of nanoseconds is
refused, and dates that leave Spark fail in Python. Read as the whole numbers that the file holds, none of them can.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from discreet.engines.spark.value_kinds import SparkKind

_UNITS = {"s": 10**6, "ms": 10**6, "us": 1000, "ns": 1}  # a file holds seconds as milliseconds

#: Spark's types by the names that they have in its catalogs.
_NAMED = {
    "boolean": ("boolean", SparkKind(family="boolean")),
    "tinyint": ("byte", SparkKind(family="integer")),
    "smallint": ("short", SparkKind(family="integer")),
    "int": ("integer", SparkKind(family="integer")),
    "bigint": ("long", SparkKind(family="integer")),
    "float": ("float", SparkKind(family="float")),
    "double": ("double", SparkKind(family="double")),
    "string": ("string", SparkKind(family="text")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkColumn:
    """A column: the type that Spark is told, the SQL of its value, its kind, and what the owner is told it holds.

    `kind` is None for what no declared column can be made of. `exact`: its text names one value, so that it can say
    whose a row is. `proposed`: the type for `discreet add`.
    """

    type: str
    kind: SparkKind | None
    shown: str
    form: str = "{}"
    exact: bool = False
    proposed: str = "text"

    def value(self, column: str) -> str:
        """SQL of the value of a column."""
        return self.form.format(column)


def column_of_arrow(kind: Any, *, shown: str, old_timestamp: bool) -> SparkColumn:
    """How a column of a Parquet file is read, by the type that Arrow gives it; `old_timestamp`: an INT96."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return column_of_arrow(kind.value_type, shown=shown, old_timestamp=old_timestamp)
    if types.is_timestamp(kind):
        zoned = kind.tz is not None
        if old_timestamp:
            form = "unix_micros({})"
            return _column("timestamp", SparkKind(family="moment", zoned=zoned), shown, form=form, proposed="timestamp")
        column_kind = SparkKind(family="moment", unit_ns=_UNITS[kind.unit], zoned=zoned)
        return _column("long", column_kind, shown, proposed="timestamp")
    if types.is_date(kind):
        return _column("integer", SparkKind(family="days"), shown, exact=True, proposed="date")
    if types.is_decimal(kind):
        return _decimal(kind.precision, kind.scale, shown)
    if kind == pa.uuid():
        return _column("binary", SparkKind(family="uuid"), shown, exact=True)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _column("string", SparkKind(family="text"), shown, exact=True)
    if types.is_uint64(kind):
        return _decimal(20, 0, shown)
    if types.is_integer(kind):
        wider = {"uint8": "short", "uint16": "integer", "uint32": "long"}
        named = {"int8": "byte", "int16": "short", "int32": "integer", "int64": "long"} | wider
        return _column(named[str(kind)], SparkKind(family="integer"), shown, exact=True, proposed="integer")
    if types.is_boolean(kind):
        return _column("boolean", SparkKind(family="boolean"), shown, exact=True, proposed="boolean")
    if types.is_float32(kind) or types.is_float64(kind):
        single = types.is_float32(kind)
        column_kind = SparkKind(family="float") if single else SparkKind(family="double")
        return _column("float" if single else "double", column_kind, shown, proposed="decimal")
    return _column("binary", None, shown)


def column_of_spark(field: Any) -> SparkColumn:
    """How a column of a catalog's table, or of files elsewhere, is read, by the type that Spark gives it."""
    name = field.dataType.simpleString()
    declared = str(field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", ""))
    if declared.startswith("char"):  # read with blanks that its writer may not have written
        return _column("string", None, declared)
    if name in _NAMED:
        type_name, kind = _NAMED[name]
        exact = kind.family not in ("float", "double")
        proposed = {"boolean": "boolean", "integer": "integer", "text": "text"}.get(kind.family, "decimal")
        return _column(type_name, kind, name, exact=exact, proposed=proposed)
    if name.startswith("string collate "):
        # Equal to the owner where the bytes differ: as whose row it is, it would be two persons.
        return _column("string", SparkKind(family="text"), name, form="({} COLLATE UTF8_BINARY)")
    if match := re.fullmatch(r"decimal\((\d+),(\d+)\)", name):
        return _decimal(int(match[1]), int(match[2]), name)
    if name == "date":
        return _column("date", SparkKind(family="days"), name, form="unix_date({})", exact=True, proposed="date")
    if name in ("timestamp", "timestamp_ntz"):
        zoned = name == "timestamp"
        form = "unix_micros({})" if zoned else "unix_micros(CAST({} AS TIMESTAMP))"
        return _column(name, SparkKind(family="moment", zoned=zoned), name, form=form, proposed="timestamp")
    return _column("binary", None, name)


def _column(
    type_: str,
    kind: SparkKind | None,
    shown: str,
    *,
    form: str = "{}",
    exact: bool = False,
    proposed: str = "text",
) -> SparkColumn:
    return SparkColumn(type=type_, kind=kind, shown=shown, form=form, exact=exact, proposed=proposed)


def _decimal(precision: int, scale: int, shown: str) -> SparkColumn:
    if precision > 38 or scale < 0:
        return _column("binary", None, shown)
    proposed = "integer" if scale == 0 else "decimal"
    kind = SparkKind(family="decimal", precision=precision, scale=scale)
    return _column(f"decimal({precision},{scale})", kind, shown, exact=scale == 0, proposed=proposed)
