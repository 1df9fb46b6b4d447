"""A column compared with a literal, as the set of codes for which that is TRUE.

Comparisons are between the declared table's values and the literal: a decimal is on its grid, a
category is its text in byte order. A literal that can never match is a typing error, and said so.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, assert_never

from discreet.accounting.region import NOT_NULL, NOTHING, Allowed
from discreet.errors import Refused
from discreet.schema.column import Boolean, Category, Column, Moment, Number, Text, moment_code, type_name
from discreet.schema.schema import closest

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
#: A literal of the question. None is NULL.
Constant = Fraction | str | bool | None

FLIPPED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def compare(column: Column, operator: Operator, constant: Constant) -> Allowed:
    """The values for which `column operator constant` is TRUE; never NULL."""
    if constant is None:
        return NOTHING
    if operator == "<>":
        equal = compare(column, "=", constant)
        return equal.complement() & NOT_NULL
    match column:
        case Number():
            return _ordered(operator, _number(column, constant) / column.step)
        case Moment():
            return _ordered(operator, _moment(column, constant))
        case Boolean():
            return _boolean(column, operator, constant)
        case Category():
            return _category(column, operator, constant)
        case Text():
            return _text(column, operator, constant)
        case _:
            assert_never(column)


def _ordered(operator: Operator, value: Fraction) -> Allowed:
    """Codes on one side of an exact value, which may lie between two codes.

    Codes are 64-bit: a literal beyond them is moved just outside, so that every engine can read it.
    """
    value = min(max(value, Fraction(-(2**63) - 1)), Fraction(2**63))
    match operator:
        case "=":
            return Allowed.of([int(value)]) if value.denominator == 1 else NOTHING
        case "<":
            return Allowed.interval(None, math.ceil(value))
        case "<=":
            return Allowed.interval(None, math.floor(value) + 1)
        case ">":
            return Allowed.interval(math.floor(value) + 1, None)
        case ">=":
            return Allowed.interval(math.ceil(value), None)
        case _:
            raise AssertionError(operator)


def _number(column: Number, constant: Constant) -> Fraction:
    if isinstance(constant, Fraction):
        return constant
    raise _mismatch(column, constant, hint="write a number, without quotes")


def _moment(column: Moment, constant: Constant) -> Fraction:
    if isinstance(constant, str):
        try:
            return moment_code(constant, column.type)
        except (ValueError, OverflowError):
            pass
    example = "'2026-01-31'" if column.type == "date" else "'2026-01-31 12:00:00'"
    raise _mismatch(column, constant, hint=f"write {example}")


def _boolean(column: Boolean, operator: Operator, constant: Constant) -> Allowed:
    if isinstance(constant, str) and constant.lower() in ("true", "false"):
        constant = constant.lower() == "true"
    if not isinstance(constant, bool) or operator != "=":
        raise _mismatch(column, constant, hint=f"write {column.name} = true, or just {column.name}")
    return Allowed.of([int(constant)])


def _category(column: Category, operator: Operator, constant: Constant) -> Allowed:
    match constant:
        case Fraction() if constant.denominator == 1:
            word = str(int(constant))
        case bool():
            word = str(constant).lower()
        case str():
            word = constant
        case _:
            raise _mismatch(column, constant, hint=closest(str(constant), column.values))
    if operator == "=" and word not in column.values:
        raise Refused(f"{word[:40]!r} is not a declared value of {column.name!r}", hint=closest(word, column.values))
    tests = {
        "=": lambda value: value == word,
        "<": lambda value: value < word,
        "<=": lambda value: value <= word,
        ">": lambda value: value > word,
        ">=": lambda value: value >= word,
    }
    # Python orders text by code point, which is the byte order of UTF-8.
    return Allowed.of(place for place, value in enumerate(column.values) if tests[operator](value))


def _text(column: Text, operator: Operator, constant: Constant) -> Allowed:
    if not isinstance(constant, str):
        raise _mismatch(column, constant, hint=f"write {column.name} = '…'")
    match operator:
        case "=":
            return Allowed.of([constant])
        case "<":
            return Allowed.interval(None, constant)
        case "<=":
            return Allowed.interval(None, constant + "\0")
        case ">":
            return Allowed.interval(constant + "\0", None)
        case ">=":
            return Allowed.interval(constant, None)
        case _:
            raise AssertionError(operator)


def _mismatch(column: Column, constant: Constant, *, hint: str) -> Refused:
    kind = {Fraction: "a number", str: "a text", bool: "true or false"}[type(constant)]
    return Refused(f"{column.name!r} is declared {type_name(column)} and is compared with {kind}", hint=hint)
