"""Which cells can be: structural zeros and edit rules over the attributes, and places where nobody is.

Rows that break a rule are left out of every table, of totals too, so that tables mean the rows that keep the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refused
from discreet.plan.cells import Axis
from discreet.schema.column import Column
from discreet.schema.schema import closest_name_hint
from discreet.tables.publish.place_hierarchy import CodedPlaces
from discreet.tables.publish.plan_file import PlanRule, PublicationPlan
from discreet.tables.publish.rule_conditions import read_condition

Bools = NDArray[np.bool_]


def possible_cells(
    plan: PublicationPlan, rules: Sequence[PlanRule], attributes: Mapping[str, tuple[Column, Axis]]
) -> Bools:
    """Which combinations of cells of the attributes, flat and row-major, hold a row that keeps every rule.

    A cell is ruled out only where every row that it could hold breaks a rule. Rules that leave nothing are refused.
    """
    ruled = [(rule, _ruled_out(rule, plan, attributes)) for rule in rules]
    refuse_nothing_left(
        plan, ruled, size=math.prod(axis.size for _, axis in attributes.values()), what="no cell of the attributes"
    )
    out = np.zeros(tuple(axis.size for _, axis in attributes.values()), dtype=np.bool_)
    for _, each in ruled:
        out |= each
    return ~out.reshape(-1)


def bin_cutting_warnings(
    plan: PublicationPlan, rules: Sequence[PlanRule], attributes: Mapping[str, tuple[Column, Axis]]
) -> list[str]:
    """Rules that cut through cells, and so rule out less than they say."""
    warnings = []
    for rule in rules:
        for name, value in (*rule.given.items(), *rule.then.items()):
            column, axis = _named(name, rule, plan, attributes)
            rule_condition = read_condition(column, value, plan, rule.name)
            if not (rule_condition.within(axis) | rule_condition.outside(axis)).all():
                warnings.append(f"{rule.name} splits a bin of {column.name!r}, but it can only rule out whole bins")
    return warnings


def _ruled_out(rule: PlanRule, plan: PublicationPlan, attributes: Mapping[str, tuple[Column, Axis]]) -> Bools:
    """Cells in which every row breaks the rule: all is within `given`, and for some column of `then` all outside."""
    names = list(attributes)
    shape = tuple(axis.size for _, axis in attributes.values())

    def laid(name: str, value: object, *, within: bool) -> Bools:
        column, axis = _named(name, rule, plan, attributes)
        rule_condition = read_condition(column, value, plan, rule.name)
        kept = rule_condition.within(axis) if within else rule_condition.outside(axis)
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


def _named(
    name: str, rule: PlanRule, plan: PublicationPlan, attributes: Mapping[str, tuple[Column, Axis]]
) -> tuple[Column, Axis]:
    attribute = next((column_axis for own, column_axis in attributes.items() if own.lower() == name.lower()), None)
    if attribute is None:
        raise plan.fault(
            f"{rule.name}: {name[:60]!r} is not an attribute of the tables",
            hint=closest_name_hint(name, list(attributes)),
        )
    return attribute


def refuse_nothing_left(
    plan: PublicationPlan, ruled: Sequence[tuple[PlanRule, Bools]], *, size: int, what: str
) -> None:
    """Refuse rules that together leave nothing, and name a smallest set of them that does."""

    def nothing(chosen: Sequence[tuple[PlanRule, Bools]]) -> bool:
        out = np.zeros(size, dtype=np.bool_)
        for _, each in chosen:
            out |= each.reshape(-1)
        return bool(out.all())

    if nothing(ruled):
        names = " and ".join(rule.name for rule, _ in smallest(ruled, nothing))
        raise Refused(f"{plan.where}: {what} remains after {names}", hint="remove or relax one of them")


def smallest(
    ruled: Sequence[tuple[PlanRule, Bools]], conflict: Callable[[Sequence[tuple[PlanRule, Bools]]], bool]
) -> list[tuple[PlanRule, Bools]]:
    """Some of the rules that are in conflict, none of which can be spared."""
    kept = list(ruled)
    for each in ruled:
        rest = [other for other in kept if other is not each]
        if conflict(rest):
            kept = rest
    return kept


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
    ruled = [(rule, _ruled_out_places(rule, plan, coded) | unknown) for rule in rules]
    refuse_nothing_left(plan, ruled, size=coded.size, what="no place")
    out = unknown.copy()
    for _, each in ruled:
        out |= each
    return out


def _ruled_out_places(rule: PlanRule, plan: PublicationPlan, coded: CodedPlaces) -> Bools:
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
