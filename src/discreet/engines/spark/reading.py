"""As what Spark reads the columns of a source: everything that is a moment as a whole number.

A Parquet file's TIMESTAMP of milliseconds would fail where its microseconds leave 64 bits, one of nanoseconds is
refused, and dates that leave Spark fail in Python. Read as the whole numbers that the file holds, none of them can.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from discreet.engines.spark.kinds import Kind

_UNITS = {"s": 10**6, "ms": 10**6, "us": 1000, "ns": 1}  # a file holds seconds as milliseconds

#: Spark's types by the names that they have in its catalogs.
_NAMED = {
    "boolean": ("boolean", Kind(family="boolean")),
    "tinyint": ("byte", Kind(family="integer")),
    "smallint": ("short", Kind(family="integer")),
    "int": ("integer", Kind(family="integer")),
    "bigint": ("long", Kind(family="integer")),
    "float": ("float", Kind(family="float")),
    "double": ("double", Kind(family="double")),
    "string": ("string", Kind(family="text")),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A column: the type that Spark is told, the SQL of its value, its kind, and what the owner is told it holds.

    `kind` is None for what no declared column can be made of. `exact`: its text names one value, so that it can say
    whose a row is. `proposed`: the type for `discreet add`.
    """

    type: str
    kind: Kind | None
    shown: str
    form: str = "{}"
    exact: bool = False
    proposed: str = "text"

    def value(self, column: str) -> str:
        """SQL of the value of a column."""
        return self.form.format(column)


def of_arrow(kind: Any, *, shown: str, old_timestamp: bool) -> Reading:
    """How a column of a Parquet file is read, by the type that Arrow gives it; `old_timestamp`: an INT96."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return of_arrow(kind.value_type, shown=shown, old_timestamp=old_timestamp)
    if types.is_timestamp(kind):
        zoned = kind.tz is not None
        if old_timestamp:
            form = "unix_micros({})"
            return _reading("timestamp", Kind(family="moment", zoned=zoned), shown, form=form, proposed="timestamp")
        found = Kind(family="moment", unit_ns=_UNITS[kind.unit], zoned=zoned)
        return _reading("long", found, shown, proposed="timestamp")
    if types.is_date(kind):
        return _reading("integer", Kind(family="days"), shown, exact=True, proposed="date")
    if types.is_decimal(kind):
        return _decimal(kind.precision, kind.scale, shown)
    if kind == pa.uuid():
        return _reading("binary", Kind(family="uuid"), shown, exact=True)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _reading("string", Kind(family="text"), shown, exact=True)
    if types.is_uint64(kind):
        return _decimal(20, 0, shown)
    if types.is_integer(kind):
        wider = {"uint8": "short", "uint16": "integer", "uint32": "long"}
        named = {"int8": "byte", "int16": "short", "int32": "integer", "int64": "long"} | wider
        return _reading(named[str(kind)], Kind(family="integer"), shown, exact=True, proposed="integer")
    if types.is_boolean(kind):
        return _reading("boolean", Kind(family="boolean"), shown, exact=True, proposed="boolean")
    if types.is_float32(kind) or types.is_float64(kind):
        single = types.is_float32(kind)
        found = Kind(family="float") if single else Kind(family="double")
        return _reading("float" if single else "double", found, shown, proposed="decimal")
    return _reading("binary", None, shown)


def of_spark(field: Any) -> Reading:
    """How a column of a catalog's table, or of files elsewhere, is read, by the type that Spark gives it."""
    name = field.dataType.simpleString()
    declared = str(field.metadata.get("__CHAR_VARCHAR_TYPE_STRING", ""))
    if declared.startswith("char"):  # read with blanks that its writer may not have written
        return _reading("string", None, declared)
    if name in _NAMED:
        told, kind = _NAMED[name]
        exact = kind.family not in ("float", "double")
        proposed = {"boolean": "boolean", "integer": "integer", "text": "text"}.get(kind.family, "decimal")
        return _reading(told, kind, name, exact=exact, proposed=proposed)
    if name.startswith("string collate "):
        # Equal to the owner where the bytes differ: as whose row it is, it would be two persons.
        return _reading("string", Kind(family="text"), name, form="({} COLLATE UTF8_BINARY)")
    if match := re.fullmatch(r"decimal\((\d+),(\d+)\)", name):
        return _decimal(int(match[1]), int(match[2]), name)
    if name == "date":
        return _reading("date", Kind(family="days"), name, form="unix_date({})", exact=True, proposed="date")
    if name in ("timestamp", "timestamp_ntz"):
        zoned = name == "timestamp"
        form = "unix_micros({})" if zoned else "unix_micros(CAST({} AS TIMESTAMP))"
        return _reading(name, Kind(family="moment", zoned=zoned), name, form=form, proposed="timestamp")
    return _reading("binary", None, name)


def _reading(type_: str, kind: Kind | None, shown: str, **more: Any) -> Reading:
    return Reading(type=type_, kind=kind, shown=shown, **more)


def _decimal(precision: int, scale: int, shown: str) -> Reading:
    if precision > 38 or scale < 0:
        return _reading("binary", None, shown)
    proposed = "integer" if scale == 0 else "decimal"
    kind = Kind(family="decimal", scale=scale)
    return _reading(f"decimal({precision},{scale})", kind, shown, exact=scale == 0, proposed=proposed)
