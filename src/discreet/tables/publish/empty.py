"""Places where nobody is: zeros and rules about levels of the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.tables.publish.places import Coded
from discreet.tables.publish.possible import refuse_nothing_left
from discreet.tables.publish.told import Told, ToldRule

Bools = NDArray[np.bool_]


def split_rules(told: Told) -> tuple[list[ToldRule], list[ToldRule]]:
    """Rules about attributes, and rules about places. One about both is refused."""
    levels = {name.lower() for name in told.level_names[1:]}
    cells: list[ToldRule] = []
    places: list[ToldRule] = []
    for rule in told.rules:
        about = [name.lower() in levels for name in (*rule.given, *rule.then)]
        if any(about) and not all(about):
            raise told.fault(
                f"{rule.name} is about places and attributes at once",
                hint="say it of attributes alone, or of levels alone",
            )
        (places if all(about) else cells).append(rule)
    return cells, places


def empty_places(told: Told, rules: Sequence[ToldRule], coded: Coded) -> Bools:
    """Which values of the axes are left out: ruled out, or without a known place where those are left out.

    Refused where nothing is left.
    """
    hierarchy = told.hierarchy
    unknown = np.zeros(coded.size, dtype=np.bool_)
    if hierarchy is not None and not hierarchy.elsewhere:
        unknown = coded.unknown()
    if unknown.all():
        raise told.fault("no place is known", hint="look at the public table, or at the values of the column")
    ruled = [(rule, _ruled_out(rule, told, coded) | unknown) for rule in rules]
    refuse_nothing_left(told, ruled, size=coded.size, what="no place")
    out = unknown.copy()
    for _, each in ruled:
        out |= each
    return out


def _ruled_out(rule: ToldRule, told: Told, coded: Coded) -> Bools:
    given = _meant(rule.given, rule, told, coded)
    return given & ~_meant(rule.then, rule, told, coded) if rule.then else given


def _meant(conditions: Mapping[str, Any], rule: ToldRule, told: Told, coded: Coded) -> Bools:
    """Values of the axes whose labels at every level that is named are among those listed."""
    names = [name.lower() for name in told.level_names[1:]]
    found = np.ones(coded.size, dtype=np.bool_)
    for name, value in conditions.items():
        level = names.index(name.lower())
        listed = value if isinstance(value, list | tuple) else [value]
        wanted = {None if each == {"null": True} else str(each) for each in listed}
        known = [None if label is None else str(label) for label in coded.labels[level]]
        strange = sorted(str(each) for each in wanted - set(known))
        if strange or not wanted:
            raise told.fault(f"{rule.name}: there is no {name} {strange[0][:60] if strange else ''!r}")
        found &= np.array([label in wanted for label in known], dtype=np.bool_)[coded.codes[level]]
    return found
