"""What of Arrow's types and values a table of PostgreSQL can hold."""

import pyarrow as pa

from engines.persons_tables import File

DAY = 86_400_000_000
#: The days that a date can hold there, and what a timestamp can: from 4714 BC on.
DATES = (-2_440_588, 2_145_031_948)
MOMENTS = (-2_440_588 * DAY, 106_751_990 * DAY)
NAME_BYTES = 63


def has_type(type_: pa.DataType) -> bool:
    """Whether there is a type that holds the same values."""
    return not (pa.types.is_timestamp(type_) and type_.unit == "ns")


def held(value: object, type_: pa.DataType) -> bool:
    """Whether this value is one there."""
    if isinstance(value, str):
        return "\0" not in value
    if not isinstance(value, int) or isinstance(value, bool):
        return True
    if pa.types.is_date(type_):
        return DATES[0] <= value <= DATES[1]
    return not pa.types.is_timestamp(type_) or MOMENTS[0] <= value * (1000 if type_.unit == "ms" else 1) <= MOMENTS[1]


def unheld(file: File) -> str:
    """Why PostgreSQL cannot hold these rows; nothing where it can."""
    if unnamed := [name for name in file.names if len(name.encode()) > NAME_BYTES or not name or "\0" in name]:
        return f"it cuts or refuses the names {unnamed}"
    for place, type_ in enumerate(file.types or (pa.string(),) * len(file.names)):
        if not has_type(type_):
            return f"it has no type for {type_}"
        if not all(held(row[place], type_) for row in file.rows):
            return f"a value of {type_} is none of its own"
    return ""
