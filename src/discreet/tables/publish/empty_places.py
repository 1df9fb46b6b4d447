"""Places where nobody is: zeros and rules about levels of the hierarchy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.tables.publish.place_hierarchy import CodedPlaces
from discreet.tables.publish.plan_file import PlanRule, PublicationPlan
from discreet.tables.publish.possible_cells import refuse_nothing_left

Bools = NDArray[np.bool_]


def split_rules(plan: PublicationPlan) -> tuple[list[PlanRule], list[PlanRule]]:
    """Rules about attributes, and rules about places. One about both is refused."""
    levels = {name.lower() for name in plan.level_names[1:]}
    cells: list[PlanRule] = []
    places: list[PlanRule] = []
    for rule in plan.rules:
        about = [name.lower() in levels for name in (*rule.given, *rule.then)]
        if any(about) and not all(about):
            raise plan.fault(
                f"{rule.name} mixes places and attributes",
                hint="name only attributes in a rule, or only levels",
            )
        (places if all(about) else cells).append(rule)
    return cells, places


def empty_places(plan: PublicationPlan, rules: Sequence[PlanRule], coded: CodedPlaces) -> Bools:
    """Which values of the axes are left out: ruled out, or without a known place where those are left out.

    Refused where nothing is left.
    """
    hierarchy = plan.hierarchy
    unknown = np.zeros(coded.size, dtype=np.bool_)
    if hierarchy is not None and not hierarchy.elsewhere:
        unknown = coded.unknown()
    if unknown.all():
        raise plan.fault("no place is known", hint="check the public table and the declared values of the column")
    ruled = [(rule, _ruled_out(rule, plan, coded) | unknown) for rule in rules]
    refuse_nothing_left(plan, ruled, size=coded.size, what="no place")
    out = unknown.copy()
    for _, each in ruled:
        out |= each
    return out


def _ruled_out(rule: PlanRule, plan: PublicationPlan, coded: CodedPlaces) -> Bools:
    given = _meant(rule.given, rule, plan, coded)
    return given & ~_meant(rule.then, rule, plan, coded) if rule.then else given


def _meant(conditions: Mapping[str, Any], rule: PlanRule, plan: PublicationPlan, coded: CodedPlaces) -> Bools:
    """Values of the axes whose labels at every level that is named are among those listed."""
    names = [name.lower() for name in plan.level_names[1:]]
    is_meant = np.ones(coded.size, dtype=np.bool_)
    for name, value in conditions.items():
        level = names.index(name.lower())
        listed = value if isinstance(value, list | tuple) else [value]
        listed_labels = {None if each == {"null": True} else str(each) for each in listed}
        level_labels = [None if label is None else str(label) for label in coded.labels[level]]
        strange = sorted(str(each) for each in listed_labels - set(level_labels))
        if strange or not listed_labels:
            raise plan.fault(f"{rule.name}: there is no {name} {strange[0][:60] if strange else ''!r}")
        is_meant &= np.array([label in listed_labels for label in level_labels], dtype=np.bool_)[coded.codes[level]]
    return is_meant
