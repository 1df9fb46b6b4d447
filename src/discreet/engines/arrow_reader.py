"""Arrow files (.arrow, .feather), as batches of rows with their types.

Guarantee: a row depends on that row of the file alone.
Because: values come as they are; one that the engines cannot read is put into a form that they can, one by one, as in
    a Parquet file (`repaired_sources`). A file whose parts do not fit together is damaged as a whole: that is checked
    before a value is read. Columns of lists, structures and bytes are left out, by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather

from discreet.engines.content_fault import ContentFault
from discreet.errors import UsageError

#: Milliseconds of a day, and the number of days that stands for infinity.
_DAY, _FAR = 86_400_000, 2**31 - 1


def arrow_columns(file: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The columns of a file with their types; and those that are no columns."""
    with _translate_damage(file), pa.memory_map(str(file)) as stream:
        schema = _table(stream).schema if _is_first_feather(file) else pa.ipc.open_file(stream).schema
    if len(set(schema.names)) < len(schema.names):
        raise UsageError(f"{file.name}: two columns have the same name", hint="rename one of them")
    columns = {field.name: _read_type(field.type) for field in schema}
    left_out = tuple(name for name, type_ in columns.items() if type_ is None)
    return {name: type_ for name, type_ in columns.items() if type_ is not None}, left_out


def arrow_batches(file: Path, names: Sequence[str]) -> Iterator[Any]:
    """These columns of all rows."""
    with _translate_damage(file), pa.memory_map(str(file)) as stream:
        if _is_first_feather(file):
            batches = iter(_table(stream).to_batches())
        else:
            reader = pa.ipc.open_file(stream)
            batches = map(reader.get_batch, range(reader.num_record_batches))
        for batch in batches:
            columns = [_checked(batch.column(name)) for name in names]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))


def _read_type(type_: Any) -> Any:
    """The type that a column is read as; None for what no column can be made of."""
    types = pa.types
    if types.is_dictionary(type_):
        return _read_type(type_.value_type)
    if types.is_null(type_):
        return pa.string()
    if types.is_float16(type_):
        return pa.float32()
    if types.is_date64(type_):
        return pa.date32()
    if types.is_decimal(type_):
        return type_ if type_.precision <= 38 else None
    read = (
        types.is_boolean(type_), types.is_integer(type_), types.is_floating(type_), types.is_date(type_),
        types.is_timestamp(type_), types.is_time(type_), _is_text(type_), type_ == pa.uuid(),
    )  # fmt: skip
    return type_ if any(read) else None


def _is_text(type_: Any) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))


def _checked(column: Any) -> Any:
    """A column whose parts fit together. Texts need not be UTF-8: that is a matter of one value."""
    if pa.types.is_dictionary(column.type):
        words = _checked(column.dictionary)
        column.indices.validate(full=True)
        return pa.DictionaryArray.from_arrays(column.indices, words, safe=True).dictionary_decode()
    if pa.types.is_null(column.type) or pa.types.is_float16(column.type):
        return column.cast(_read_type(column.type))
    if pa.types.is_date64(column.type):
        return _whole_days(column)
    if pa.types.is_time(column.type):  # one outside the day is a matter of one value, too
        whole = pa.int32() if column.type.bit_width == 32 else pa.int64()
        column.view(whole).validate(full=True)
        return column
    if _is_text(column.type):
        plain = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(column.type, pa.binary_view())
        column.view(plain).validate(full=True)
        return column
    column.validate(full=True)
    return column


def _whole_days(column: Any) -> Any:
    """Dates in milliseconds as days; NULL for one that is no whole day, or beyond 32 bits of them."""
    count = column.view(pa.int64())
    count.validate(full=True)
    days = pc.divide(count, _DAY)
    is_day = pc.and_(pc.equal(pc.multiply(days, _DAY), count), pc.less(pc.abs(days), _FAR))
    return pc.if_else(is_day, days, pa.scalar(None, pa.int64())).cast(pa.int32()).view(pa.date32())


def _table(stream: Any) -> Any:
    """A file of the first Feather format."""
    return pyarrow.feather.read_table(stream)


def _is_first_feather(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(4) == b"FEA1"


@contextmanager
def _translate_damage(file: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError, ValueError):
        raise ContentFault(f"{file.name} cannot be read as Arrow: it is damaged", hint="save it again") from None
