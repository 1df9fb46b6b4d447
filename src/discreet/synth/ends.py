"""Ends of columns whose bounds are not declared, as far as public constraints tell them.

Known counts name every value that occurs, so they declare the column: nothing is bought. Bounds that are bought can
miss what a constraint needs; they are stretched until every constraint can be kept, so that no fit ends in a
contradiction after it was paid for. From public facts and bought, noisy ones alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.answers.bounds.rounding import first_code, last_code
from discreet.errors import UsageError
from discreet.inference.fit import fit
from discreet.schema.column import Column, Moment, Number
from discreet.sql.typed import typed
from discreet.synth.attribute import FINE_CELLS, Attribute, attribute_of, even_edges
from discreet.synth.constraints import Constraints
from discreet.synth.decode import NULL
from discreet.synth.first import MOST_BINS
from discreet.synth.known import Known
from discreet.synth.rules import Dependency, Order, Rule, Zero
from discreet.synth.spans import FAR


def opened(column: Number | Moment, low: int, high: int) -> Attribute:
    """A column between ends that are not declared: what lies beyond is counted in the cells at the ends."""
    return Attribute(
        column=replace(column, low=low, high=high),
        of=typed(column).expression,
        edges=even_edges(low, high + 1, FINE_CELLS),
        null=True,
        binned=True,
        open=True,
    )


def told_by_totals(columns: Sequence[Column], totals: Sequence[Known]) -> dict[str, Attribute]:
    """The columns without bounds that known counts declare."""
    found = {}
    for column in columns:
        if isinstance(column, Number | Moment) and attribute_of(column) is None:
            known = [_codes(each, column.name) for each in totals if column.name in each.columns]
            if known:
                codes = [code for codes in known for code in codes] or [_least_of(column)]
                found[column.name] = opened(column, min(codes), max(codes))
    return found


def _codes(known: Known, name: str) -> list[int]:
    """The values that occur by known counts, without NULL."""
    place = known.columns.index(name)
    return [row[place] for row, count in zip(known.codes, known.counts, strict=True) if count and row[place] != NULL]


def _least_of(column: Number | Moment) -> int:
    """Any code, for a column that is NULL everywhere."""
    return next((end for end in (column.low, column.high) if end is not None), 0)


def refuse_contradiction(constraints: Constraints, columns: Sequence[Column], told: Mapping[str, Attribute]) -> None:
    """Refuse what no table could keep, before anything is paid: a column without bounds may have any value here."""
    keep(constraints, standing_for(columns, told))


def standing_for(columns: Sequence[Column], told: Mapping[str, Attribute]) -> list[Attribute]:
    """The columns as attributes before any is bought: where bounds are missing, of any value. Text is left out."""
    found = [told.get(column.name) or attribute_of(column) or _unbounded(column) for column in columns]
    return [attribute for attribute in found if attribute is not None]


def keep(constraints: Constraints, attributes: Sequence[Attribute]) -> None:
    """Raise UsageError where no rows of these attributes keep the constraints."""
    if constraints.rules or constraints.totals:
        prepared = constraints.prepared([_coarse(attribute) for attribute in attributes])
        limits = constraints.on(prepared, 1.0)
        fit([attribute.size for attribute in prepared], (), limits.total, allowed=limits.allowed, totals=limits.totals)


def _unbounded(column: Column) -> Attribute | None:
    """A column of any value, as far as an end is not declared; None for text, which no rule is about."""
    return opened(column, *_limits(column)) if isinstance(column, Number | Moment) else None


def _limits(column: Number | Moment) -> tuple[int, int]:
    """The least and the greatest code that it can have."""
    low = first_code(column) if column.low is None else column.low
    return low, last_code(column) if column.high is None else column.high


def _coarse(attribute: Attribute) -> Attribute:
    """A column of open ends in as many cells as the model makes of it at most, before constraints cut it further."""
    if not attribute.open:
        return attribute
    return _cut(attribute, even_edges(attribute.edges[0], attribute.edges[-1], MOST_BINS))


def reaching(
    constraints: Constraints, attributes: Sequence[Attribute], columns: Sequence[Column]
) -> tuple[Attribute, ...]:
    """The attributes, prepared for constraints, with bought ends stretched as far as the constraints need it.

    What a dependency goes to is there in any case. Where that leaves no possible row, ends go to wherever a constraint
    tells values apart, which leaves none only where there is none (`refuse_contradiction`).
    """
    found = [_stretched(attribute, _images(attribute.name, constraints.dependencies)) for attribute in attributes]
    try:
        if any(attribute.open for attribute in found):
            keep(constraints, found)
    except UsageError:
        found = _told_apart(constraints.rules, found, columns)
    return constraints.prepared(found)


def _images(name: str, dependencies: Iterable[Dependency]) -> list[int]:
    return [image for each in dependencies if each.target == name for image in each.images if image != NULL]


def _told_apart(rules: Sequence[Rule], attributes: Sequence[Attribute], columns: Sequence[Column]) -> list[Attribute]:
    """Columns of open ends that reach to both sides of every cut of a rule, and to what they are ordered with."""
    found = {attribute.name: attribute for attribute in attributes}
    limits = {column.name: _limits(column) for column in columns if isinstance(column, Number | Moment)}
    for _ in range(1 + sum(isinstance(rule, Order) for rule in rules)):  # along a chain of orders, link by link
        for name, attribute in found.items():
            if attribute.open:
                low, high = limits[name]
                codes = [code for rule in rules for code in _cuts(rule, name, found) if abs(code) < FAR]
                found[name] = _stretched(attribute, [min(max(code, low), high) for code in codes])
    return list(found.values())


def _cuts(rule: Rule, name: str, attributes: Mapping[str, Attribute]) -> list[int]:
    """Codes on both sides of every place where a rule tells values of a column apart."""
    if name not in rule.columns or not set(rule.columns) <= set(attributes):
        return []
    match rule:
        case Zero():
            intervals = dict(rule.where)[name].intervals
            return [code for low, high in intervals for code in (low - 1, low, high, high + 1)]
        case Dependency():
            codes = rule.codes if name == rule.source else rule.images
            return [near for code in codes if code != NULL for near in (code - 1, code, code + 1)]
        case Order():
            if name == rule.low:
                return [rule.most_low(attributes[rule.high].edges[0])]
            return [rule.least_high(attributes[rule.low].edges[-1] - 1)]


def _stretched(attribute: Attribute, codes: Sequence[int]) -> Attribute:
    """The attribute with cells as far as these codes, where its ends are open."""
    low, high = attribute.edges[0], attribute.edges[-1]
    beyond = {min([low, *codes]), max([high - 1, *codes]) + 1} - {low, high}
    return _cut(attribute, tuple(sorted({*attribute.edges, *beyond}))) if attribute.open and beyond else attribute


def _cut(attribute: Attribute, edges: tuple[int, ...]) -> Attribute:
    """The same column with other fine cells."""
    assert isinstance(attribute.column, Number | Moment)
    column = replace(attribute.column, low=edges[0], high=edges[-1] - 1)
    none = np.zeros(0, dtype=np.int64)
    return replace(attribute, column=column, edges=edges, apart=none, groups=none, weights=np.zeros(0))
