"""What expressions and predicates mean: plain Python, slow and obvious. Every engine must agree with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import assert_never

from discreet.accounting.region import Value
from discreet.plan.calendar import part_of, start_of
from discreet.plan.expressions import (
    Absolute,
    BitLength,
    Choose,
    Code,
    Every,
    Expression,
    First,
    Greatest,
    Least,
    Length,
    Like,
    Lookup,
    Lower,
    Member,
    Null,
    Number,
    Over,
    Part,
    Plus,
    Predicate,
    Remainder,
    Root,
    Sides,
    Some,
    Start,
    Substr,
    Test,
    TextCode,
    Times,
    Trim,
    Upper,
    Whole,
    Words,
)
from discreet.plan.interval import quotient, remainder
from discreet.plan.like_pattern import matcher

Record = Mapping[str, Value | None]
Records = Sequence[Record]


def value(expression: Expression, record: Record) -> Value | None:
    """The value of an expression on a record of codes and texts. Never fails on a record within its bounds."""
    return values(expression, [record])[0]


def values(expression: Expression, records: Records) -> Sequence[Value | None]:
    """The value on each of several records, which do not matter to each other."""
    return words(expression, records) if isinstance(expression, Words) else numbers(expression, records)


def holds(predicate: Predicate, record: Record) -> bool:
    """Whether a record satisfies a predicate."""
    return holds_for_each(predicate, [record])[0]


def holds_for_each(predicate: Predicate, records: Records) -> list[bool]:
    """Whether each of several records satisfies a predicate."""
    match predicate:
        case Member(column=column, allowed=allowed):
            return [record[column] in allowed for record in records]
        case Test(of=of, allowed=allowed):
            return [operand in allowed for operand in values(of, records)]
        case Every(parts=parts):
            return _folded(all, [holds_for_each(part, records) for part in parts], len(records))
        case Some(parts=parts):
            return _folded(any, [holds_for_each(part, records) for part in parts], len(records))
        case _:
            assert_never(predicate)


def numbers(expression: Number, records: Records) -> list[int | None]:
    """The values of a whole-number expression. NULL is None."""
    match expression:
        case Code(column=column):
            return [_code(record[column]) for record in records]
        case Null():
            return [None] * len(records)
        case Whole(value=literal):
            return [literal] * len(records)
        case Plus() | Times() | Over() | Remainder():
            pairs = zip(numbers(expression.left, records), numbers(expression.right, records), strict=True)
            return [None if one is None or two is None else _arithmetic(expression, one, two) for one, two in pairs]
        case Absolute(of=of):
            return [None if operand is None else abs(operand) for operand in numbers(of, records)]
        case Root(of=of):
            return [None if operand is None else math.isqrt(operand) for operand in numbers(of, records)]
        case BitLength(of=of):
            return [None if operand is None else operand.bit_length() for operand in numbers(of, records)]
        case Least(parts=parts):
            return [min(given, default=None) for given in _given(parts, records)]
        case Greatest(parts=parts):
            return [max(given, default=None) for given in _given(parts, records)]
        case First(parts=parts):
            return [next(iter(given), None) for given in _given(parts, records)]
        case Choose(cases=cases, otherwise=otherwise):
            return _chosen(cases, otherwise, records)
        case Lookup(code=code, table=table, first=first):
            return [None if operand is None else table[operand - first] for operand in numbers(code, records)]
        case Part(unit=unit, day=day):
            return [None if operand is None else part_of(unit, operand) for operand in numbers(day, records)]
        case Start(unit=unit, day=day):
            return [None if operand is None else start_of(unit, operand) for operand in numbers(day, records)]
        case Length(text=text):
            return [None if operand is None else len(operand) for operand in words(text, records)]
        case Like(text=text, pattern=pattern):
            test = matcher(pattern)
            return [None if operand is None else int(test(operand)) for operand in words(text, records)]
        case _:
            assert_never(expression)


def words(expression: Words, records: Records) -> list[str | None]:
    """The values of a text expression."""
    match expression:
        case TextCode(column=column):
            return [_text(record[column]) for record in records]
        case Lower(text=text):
            return [None if operand is None else lower(operand) for operand in words(text, records)]
        case Upper(text=text):
            return [None if operand is None else upper(operand) for operand in words(text, records)]
        case Trim(text=text, sides=sides, characters=characters):
            return [None if operand is None else trim(operand, sides, characters) for operand in words(text, records)]
        case Substr(text=text, start=start, length=length):
            return [None if operand is None else substr(operand, start, length) for operand in words(text, records)]
        case _:
            assert_never(expression)


def lower(text: str) -> str:
    """Small letters, one for one: Unicode's simple mapping, without regard to what stands beside a letter.

    >>> lower("ΑΣ"), len(lower("İ"))
    ('ασ', 1)
    """
    return "".join("i" if letter == "İ" else letter.lower() for letter in text)


def upper(text: str) -> str:
    """Capital letters, one for one."""
    return "".join(_capital(letter) for letter in text)


def _capital(letter: str) -> str:
    # Where the capital is written as several letters, Unicode's simple mapping is its title form, or none.
    for form in (letter.upper(), letter.title()):
        if len(form) == 1:
            return form
    return "ẞ" if letter == "ß" else letter


def trim(text: str, sides: Sides, characters: str) -> str:
    """Without the given characters at its ends. (Python strips blanks if told to strip none.)"""
    if not characters:
        return text
    text = text if sides == "trailing" else text.lstrip(characters)
    return text if sides == "leading" else text.rstrip(characters)


def substr(text: str, start: int, length: int | None) -> str:
    """The characters from number `start` on; below 0 it counts from the end, and may begin before the text."""
    first = start - 1 if start > 0 else len(text) + start
    last = len(text) if length is None else first + length
    return text[max(first, 0) : max(last, 0)]


def _arithmetic(expression: Plus | Times | Over | Remainder, left: int, right: int) -> int | None:
    match expression:
        case Plus():
            return left + right
        case Times():
            return left * right
        case Over(rounding=rounding):
            return None if right == 0 else quotient(left, right, rounding)
        case Remainder():
            return None if right == 0 else remainder(left, right)
        case _:
            assert_never(expression)


def _given(parts: tuple[Number, ...], records: Records) -> list[list[int]]:
    """For each record, the values of the parts that are not NULL."""
    rows = zip(*(numbers(part, records) for part in parts), strict=True)
    return [[each for each in row if each is not None] for row in rows]


def _chosen(cases: tuple[tuple[Predicate, Number], ...], otherwise: Number, records: Records) -> list[int | None]:
    results = numbers(otherwise, records)
    for condition, chosen in reversed(cases):
        triples = zip(holds_for_each(condition, records), numbers(chosen, records), results, strict=True)
        results = [one if holds else other for holds, one, other in triples]
    return results


def _folded(fold: Callable[[Iterable[bool]], bool], parts: list[list[bool]], size: int) -> list[bool]:
    return [fold(row) for row in zip(*parts, strict=True)] if parts else [fold(())] * size


def _code(stored: Value | None) -> int | None:
    if isinstance(stored, str):
        raise TypeError("expected a code, got text")
    return stored


def _text(stored: Value | None) -> str | None:
    if isinstance(stored, int):
        raise TypeError("expected text, got a code")
    return stored
