"""What SQL of a source's value holds, and the small forms that conversions are written with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.sql.spark_dialect import SparkDialect

Family = Literal["boolean", "integer", "decimal", "float", "double", "days", "moment", "text", "uuid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkKind:
    """What SQL of a value holds: for a moment, which is a whole number, its unit and whether it names a zone.

    `precision`, `scale`: the digits and the places of a decimal.
    """

    family: Family
    unit_ns: int = 1000
    zoned: bool = False
    precision: int = 38
    scale: int = 0


WIDE = "DECIMAL(38, 0)"

_BLANKS = "\t\n\v\f\r "

text = SparkDialect().text


def once(value: str, result: str) -> str:
    """`result`, in which n stands for a value that is computed once. It may hold one of these itself."""
    return f"get(transform(array({value}), n -> {result}), 0)"


def matches(value: str, pattern: str) -> str:
    """Whether the whole of a text follows a pattern."""
    covering = text(rf"\A(?:{pattern})\z")
    return f"{value} RLIKE {covering}"


def trimmed(value: str) -> str:
    return f"trim(BOTH {text(_BLANKS)} FROM {value})"
