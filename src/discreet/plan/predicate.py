"""Predicates in one normal form: AND and OR of "this column takes one of these values".

SQL's three-valued logic ends at the reader: a comparison becomes the set of values for which it is
TRUE (NULL is in it only for IS NULL), and NOT is pushed down to the comparisons, each of which
knows the set for which it is FALSE. What is left is two-valued, so equal predicates get equal
forms and every predicate is a union of boxes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from discreet.accounting.region import MOST_BOXES, Allowed, Box, Region, Value, hull


@dataclass(frozen=True, slots=True)
class Member:
    """The column takes an allowed value."""

    column: str
    allowed: Allowed


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold. No part at all: true."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds. No part at all: false."""

    parts: tuple[Predicate, ...]


Predicate = Member | Every | Some
TRUE = Every(())
FALSE = Some(())


def member(column: str, allowed: Allowed, domain: Allowed) -> Predicate:
    """A comparison, cut to the values the column can take; TRUE or FALSE where that settles it."""
    inside = allowed & domain
    if inside.empty:
        return FALSE
    return TRUE if inside == domain else Member(column, inside)


def every(parts: Iterable[Predicate]) -> Predicate:
    """AND, flattened, one set a column, sorted."""
    sets: dict[str, Allowed] = {}
    rest: list[Predicate] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Every) else (part,):
            if isinstance(piece, Member):
                known = sets.get(piece.column)
                sets[piece.column] = piece.allowed if known is None else known & piece.allowed
            else:
                rest.append(piece)
    if FALSE in rest or any(allowed.empty for allowed in sets.values()):
        return FALSE
    return _only(Every(_ordered([Member(name, allowed) for name, allowed in sets.items()], rest)))


def some(parts: Iterable[Predicate], domains: Mapping[str, Allowed]) -> Predicate:
    """OR, flattened, one set a column, sorted. `domains` tells when a set has become everything."""
    found: dict[str, list[Allowed]] = {}
    rest: list[Predicate] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Some) else (part,):
            if isinstance(piece, Member):
                found.setdefault(piece.column, []).append(piece.allowed)
            else:
                rest.append(piece)
    sets = {name: Allowed.union(alloweds) for name, alloweds in found.items()}
    if TRUE in rest or any(allowed == domains[name] for name, allowed in sets.items()):
        return TRUE
    return _only(Some(_ordered([Member(name, allowed) for name, allowed in sets.items()], rest)))


def _ordered(members: list[Member], rest: list[Predicate]) -> tuple[Predicate, ...]:
    """Members by column, then the rest by their written form, doubles dropped."""
    members.sort(key=lambda piece: piece.column)
    return (*members, *sorted(dict.fromkeys(rest), key=lambda piece: repr(to_data(piece))))


def _only(predicate: Every | Some) -> Predicate:
    return predicate.parts[0] if len(predicate.parts) == 1 else predicate


def holds(predicate: Predicate, record: Mapping[str, Value | None]) -> bool:
    """Whether a record satisfies the predicate: the definition that engines must agree with."""
    match predicate:
        case Member(column=column, allowed=allowed):
            return record[column] in allowed
        case Every(parts=parts):
            return all(holds(part, record) for part in parts)
        case Some(parts=parts):
            return any(holds(part, record) for part in parts)
        case _:
            assert_never(predicate)


def region(predicate: Predicate) -> Region:
    """The records a predicate can touch. Exact up to MOST_BOXES boxes, wider beyond, never narrower."""
    return Region.of(_boxes(predicate))


def _boxes(predicate: Predicate) -> list[Box]:
    match predicate:
        case Member(column=column, allowed=allowed):
            return [Box({column: allowed})]
        case Some(parts=parts):
            return _few([box for part in parts for box in _boxes(part)])
        case Every(parts=parts):
            boxes = [Box()]
            for part in parts:
                met = [left & right for left in boxes for right in _boxes(part)]
                boxes = _few([box for box in met if not box.empty])
            return boxes
        case _:
            assert_never(predicate)


def _few(boxes: list[Box]) -> list[Box]:
    return [hull(boxes)] if len(boxes) > MOST_BOXES else boxes


def to_data(predicate: Predicate) -> Any:
    """The predicate as JSON data: what the question's hash is taken of."""
    match predicate:
        case Member(column=column, allowed=allowed):
            return [column, [list(run) for run in allowed.runs], allowed.null]
        case Every(parts=parts):
            return {"every": [to_data(part) for part in parts]}
        case Some(parts=parts):
            return {"some": [to_data(part) for part in parts]}
        case _:
            assert_never(predicate)
