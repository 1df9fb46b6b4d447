"""Sampled values as text, in the way in which their columns are declared to be written: 4/18/47, 1.234,50.

What is written so is read back as the same value by the same declaration (`engines/canonical_text.py`). Symbols beside
a number are left out: they say nothing, and a declaration does not say on which side they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.schema.column import EPOCH, Column, MomentColumn, NumberColumn
from discreet.schema.value_format import MONTHS, MomentFormat, NumberFormat, touches_digits
from discreet.synth.cell_decoder import string_column

if TYPE_CHECKING:
    import pyarrow as pa


def written_rows(rows: pa.Table, columns: Sequence[Column]) -> pa.Table:
    """Rows with the values of columns that have a format as texts; all others as they are."""
    by_name = {column.name: column for column in columns}
    for place, name in enumerate(rows.column_names):
        texts = _written_column(rows.column(place), by_name.get(name))
        if texts is not None:
            rows = rows.set_column(place, name, texts)
    return rows


def _written_column(values: pa.ChunkedArray, column: Column | None) -> Any:
    import pyarrow.types as types

    match column:
        case MomentColumn(format=MomentFormat() as form) if types.is_date(values.type) or types.is_timestamp(
            values.type
        ):
            unit = timedelta(days=1) if types.is_date(values.type) else timedelta(microseconds=1)
            return _by_value(values, lambda code: written_moment(EPOCH + int(code) * unit, form))
        case NumberColumn(format=NumberFormat() as number_form, step=step) if has_marks(number_form):
            return _by_value(
                values, lambda value: written_number(round(Fraction(value) / step) * step, step, number_form)
            )
    return None


def has_marks(form: NumberFormat) -> bool:
    """Whether numbers are written with other marks than a point before the fraction."""
    return form.decimal != "." or bool(form.thousands)


def _by_value(values: pa.ChunkedArray, write: Callable[[Any], str]) -> Any:
    """Each value as text, written once for all rows that have it; NULL stays NULL."""
    import pyarrow as pa
    import pyarrow.types as types

    if types.is_date(values.type) or types.is_timestamp(values.type):
        values = values.cast(pa.int32() if types.is_date(values.type) else pa.int64())
    encoded = values.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return string_column([write(each) for each in encoded.dictionary.to_pylist()]).take(encoded.indices)


def written_moment(moment: datetime, form: MomentFormat) -> str:
    """A moment in a format.

    >>> written_moment(datetime(1947, 4, 8), MomentFormat(words="%m/%d/%y", unpadded=("%m", "%d")))
    '4/8/47'
    >>> written_moment(datetime(1947, 4, 8, 15, 5), MomentFormat(words="%d. %B %Y %I:%M %p"))
    '08. April 1947 03:05 PM'
    """
    parts, text = form.parts(), ""
    month = MONTHS[moment.month - 1].capitalize()
    values = {
        "%d": f"{moment.day:02}",
        "%m": f"{moment.month:02}",
        "%Y": f"{moment.year:04}",
        "%y": f"{moment.year % 100:02}",
        "%b": month[:3],
        "%B": month,
        "%H": f"{moment.hour:02}",
        "%I": f"{(moment.hour - 1) % 12 + 1:02}",
        "%M": f"{moment.minute:02}",
        "%S": f"{moment.second:02}",
        "%f": f"{moment.microsecond:06}",
        "%p": "AM" if moment.hour < 12 else "PM",
    }
    for place, part in enumerate(parts):
        word = values.get(part, part)
        short = part in form.unpadded and not touches_digits(parts, place)
        text += str(int(word)) if short else word
    return text


def written_number(value: Fraction, step: Fraction, form: NumberFormat) -> str:
    """A number in a format, with as many digits after the mark as its step has.

    >>> written_number(Fraction(-12345, 10), Fraction(1, 100), NumberFormat(decimal=",", thousands="."))
    '-1.234,50'
    """
    digits = next(count for count in range(13) if (step * 10**count).denominator == 1)
    whole, rest = divmod(int(abs(value) * 10**digits), 10**digits)
    grouped = f"{whole:,}".replace(",", form.thousands)
    fraction = f"{form.decimal}{rest:0{digits}}" if digits else ""
    return f"{'-' if value < 0 else ''}{grouped}{fraction}"
