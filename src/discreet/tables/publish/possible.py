"""Which cells can be: structural zeros and edit rules over the attributes, and places where nobody is.

Rows that break a rule are left out of every table, of totals too, so that tables mean the rows that keep the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.plan.cells import Axis
from discreet.schema.column import Column
from discreet.schema.schema import closest
from discreet.tables.publish.conditions import condition
from discreet.tables.publish.told import Told, ToldRule

Bools = NDArray[np.bool_]


def possible_cells(told: Told, rules: Sequence[ToldRule], attributes: Mapping[str, tuple[Column, Axis]]) -> Bools:
    """Which combinations of cells of the attributes, flat and row-major, hold a row that keeps every rule.

    A cell is ruled out only where every row that it could hold breaks a rule. Rules that leave nothing are refused.
    """
    ruled = [(rule, _ruled_out(rule, told, attributes)) for rule in rules]
    refuse_nothing_left(
        told, ruled, size=math.prod(axis.size for _, axis in attributes.values()), what="no cell of the attributes"
    )
    out = np.zeros(tuple(axis.size for _, axis in attributes.values()), dtype=np.bool_)
    for _, each in ruled:
        out |= each
    return ~out.reshape(-1)


def cutting(told: Told, rules: Sequence[ToldRule], attributes: Mapping[str, tuple[Column, Axis]]) -> list[str]:
    """Rules that cut through cells, and so rule out less than they say."""
    found = []
    for rule in rules:
        for name, value in (*rule.given.items(), *rule.then.items()):
            column, axis = _named(name, rule, told, attributes)
            told_of = condition(column, value, told, rule.name)
            if not (told_of.within(axis) | told_of.outside(axis)).all():
                found.append(f"{rule.name} cuts through a bin of {column.name!r}: it rules out whole bins only")
    return found


def _ruled_out(rule: ToldRule, told: Told, attributes: Mapping[str, tuple[Column, Axis]]) -> Bools:
    """Cells in which every row breaks the rule: all is within `given`, and for some column of `then` all outside."""
    names = list(attributes)
    shape = tuple(axis.size for _, axis in attributes.values())

    def laid(name: str, value: object, *, within: bool) -> Bools:
        column, axis = _named(name, rule, told, attributes)
        found = condition(column, value, told, rule.name)
        kept = found.within(axis) if within else found.outside(axis)
        place = names.index(column.name)
        return kept.reshape(tuple(-1 if turn == place else 1 for turn in range(len(names))))

    given = np.ones(shape, dtype=np.bool_)
    for name, value in rule.given.items():
        given &= laid(name, value, within=True)
    if not rule.then:
        return given
    broken = np.zeros(shape, dtype=np.bool_)
    for name, value in rule.then.items():
        broken |= laid(name, value, within=False)
    return given & broken


def _named(name: str, rule: ToldRule, told: Told, attributes: Mapping[str, tuple[Column, Axis]]) -> tuple[Column, Axis]:
    found = next((known for own, known in attributes.items() if own.lower() == name.lower()), None)
    if found is None:
        raise told.fault(
            f"{rule.name}: {name[:60]!r} is no attribute of the tables", hint=closest(name, list(attributes))
        )
    return found


def refuse_nothing_left(told: Told, ruled: Sequence[tuple[ToldRule, Bools]], *, size: int, what: str) -> None:
    """Refuse rules that together leave nothing, and name a smallest set of them that does."""

    def nothing(chosen: Sequence[tuple[ToldRule, Bools]]) -> bool:
        out = np.zeros(size, dtype=np.bool_)
        for _, each in chosen:
            out |= each.reshape(-1)
        return bool(out.all())

    if nothing(ruled):
        names = " and ".join(rule.name for rule, _ in smallest(ruled, nothing))
        raise Refused(f"{told.where}: {what} is left by {names}", hint="take one of them away, or say less in it")


def smallest(
    ruled: Sequence[tuple[ToldRule, Bools]], conflict: Callable[[Sequence[tuple[ToldRule, Bools]]], bool]
) -> list[tuple[ToldRule, Bools]]:
    """Some of the rules that are in conflict, none of which can be spared."""
    kept = list(ruled)
    for each in ruled:
        rest = [other for other in kept if other is not each]
        if conflict(rest):
            kept = rest
    return kept
