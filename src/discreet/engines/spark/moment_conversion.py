"""How a source's days and moments become codes and texts, as Spark SQL: see `conversion`, which they belong to."""

from __future__ import annotations

from discreet.engines.spark.value_kinds import WIDE, SparkKind, matches, once, text, trimmed
from discreet.schema.column import MomentColumn

_DAY_US = 86_400_000_000
_MOST_MS = (2**63 - 1) // 1000
_INFINITE = f"({2**63 - 1}, -{2**63 - 1})"  # what other engines write for the infinities

_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,9})?)?"
_ZONE = r"(?:Z|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)"
_MOMENT = rf"{_DAY}(?:[ T]{_TIME}{_ZONE}?)?"


def moment_sql(column: MomentColumn, value: str, kind: SparkKind) -> str:
    """The code of a moment: days, or microseconds, since 1970."""
    if kind.family == "days":
        days = f"CASE WHEN {value} NOT IN ({2**31 - 1}, -{2**31 - 1}) THEN CAST({value} AS {WIDE}) END"
        return days if column.type == "date" else f"({days}) * {_DAY_US}"
    micros = _micros(value, kind)
    return micros if column.type == "timestamp" else once(micros, _floor("n", _DAY_US))


def _floor(number: str, divisor: int) -> str:
    """A number of 64 bits over a positive constant, rounded down."""
    return f"({number} DIV {divisor} - CASE WHEN {number} % {divisor} < 0 THEN 1 ELSE 0 END)"


def _micros(value: str, kind: SparkKind) -> str:
    """Microseconds since 1970, 64 bits wide."""
    if kind.family != "moment":
        return _read_micros(value)
    finite = f"{value} NOT IN {_INFINITE}"
    match kind.unit_ns:
        case 1:
            return f"CASE WHEN {finite} THEN {_floor(value, 1000)} END"
        case 1000:
            return f"CASE WHEN {finite} THEN {value} END"
        case _:  # milliseconds; beyond 64 bits of microseconds there is no calendar
            near = f"{value} BETWEEN -{_MOST_MS} AND {_MOST_MS}"
            return f"CASE WHEN {near} THEN least(greatest({value}, -{_MOST_MS}), {_MOST_MS}) * 1000 END"


def _read_micros(value: str) -> str:
    """A moment from its digits; NULL for a day that its month has not."""
    number = "coalesce(try_cast({} AS BIGINT), 0)"
    seconds = (
        f"{number.format('substr(n, 12, 2)')} * 3600 + {number.format('substr(n, 15, 2)')} * 60"
        f" + CASE WHEN substr(n, 17, 1) = ':' THEN {number.format('substr(n, 18, 2)')} ELSE 0 END"
    )
    after_point = text(r"\.([0-9]+)")
    fraction = number.format(f"rpad(substr(regexp_extract(n, {after_point}, 1), 1, 6), 6, '0')")
    zone = f"replace(regexp_extract(substr(n, 17), {text('[+-][0-9:]+$')}, 0), ':', '')"
    east = once(
        zone,
        f"({number.format('substr(n, 2, 2)')} * 3600 + {number.format('substr(n, 4, 2)')} * 60)"
        " * CASE WHEN n LIKE '-%' THEN -1 ELSE 1 END",
    )
    days = "CAST(unix_date(try_cast(substr(n, 1, 10) AS DATE)) AS BIGINT)"
    micros = f"({days} * 86400 + {seconds} - {east}) * 1000000 + {fraction}"
    return once(trimmed(value), f"CASE WHEN {matches('n', _MOMENT)} THEN {micros} END")


def day_word(days: str) -> str:
    """A day within the years 1 to 9999 as 2026-01-31."""
    return f"date_format(date_from_unix_date(try_cast({days} AS INT)), 'yyyy-MM-dd')"


def moment_word(value: str, kind: SparkKind) -> str:
    """A moment as text, with a fraction where it has one and +00 where it names a zone; '?' outside the calendar."""
    days, rest = _floor("n", _DAY_US), f"((n % {_DAY_US}) + {_DAY_US}) % {_DAY_US}"
    clock = (
        f"lpad(CAST({rest} DIV 3600000000 AS STRING), 2, '0') || ':'"
        f" || lpad(CAST({rest} DIV 60000000 % 60 AS STRING), 2, '0') || ':'"
        f" || lpad(CAST({rest} DIV 1000000 % 60 AS STRING), 2, '0')"
    )
    fraction = (
        f"CASE WHEN {rest} % 1000000 = 0 THEN '' ELSE '.' ||"
        f" trim(TRAILING '0' FROM lpad(CAST({rest} % 1000000 AS STRING), 6, '0')) END"
    )
    shown = f"{day_word(days)} || ' ' || {clock} || {fraction} || '{'+00' if kind.zoned else ''}'"
    inside = "n BETWEEN -62135596800000000 AND 253402300799999999"
    text_sql = once(_micros(value, kind), f"CASE WHEN {inside} THEN {shown} ELSE '?' END")
    return f"CASE WHEN {value} IS NOT NULL THEN {text_sql} END"
