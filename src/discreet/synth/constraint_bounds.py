"""Ends of columns whose bounds are not declared, as far as public constraints tell them.

Known counts name every value that occurs, so they declare the column: nothing is bought. Bounds that are bought can
miss what a constraint needs; they are stretched until every constraint can be kept, so that no fit ends in a
contradiction after it was paid for. From public facts and bought, noisy ones alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from discreet.answers.bounds.round_bounds import first_code, last_code
from discreet.errors import UsageError
from discreet.inference.fit import fit
from discreet.plan.cells import even_edges
from discreet.schema.column import Column, MomentColumn, NumberColumn, nullable
from discreet.sql.typed_expression import column_expression
from discreet.synth.attribute import FINE_CELLS, Attribute, attribute_of
from discreet.synth.cell_choice import MOST_BINS
from discreet.synth.cell_decoder import NULL
from discreet.synth.code_spans import FAR
from discreet.synth.constraints import PublicConstraints
from discreet.synth.known_counts import KnownCounts
from discreet.synth.rules import ColumnOrder, Dependency, Rule, StructuralZero


def open_ended_attribute(column: NumberColumn | MomentColumn, low: int, high: int) -> Attribute:
    """A column between ends that are not declared: what lies beyond is counted in the cells at the ends."""
    return Attribute(
        column=replace(column, low=low, high=high),
        of=column_expression(column).expression,
        edges=even_edges(low, high + 1, FINE_CELLS),
        null=nullable(column),
        binned=True,
        open=True,
    )


def attributes_from_totals(columns: Sequence[Column], totals: Sequence[KnownCounts]) -> dict[str, Attribute]:
    """The columns without bounds that known counts declare."""
    attributes = {}
    for column in columns:
        if isinstance(column, NumberColumn | MomentColumn) and attribute_of(column) is None:
            code_lists = [_codes(each, column.name) for each in totals if column.name in each.columns]
            if code_lists:
                codes = [code for codes in code_lists for code in codes] or [_least_of(column)]
                attributes[column.name] = open_ended_attribute(column, min(codes), max(codes))
    return attributes


def _codes(known_counts: KnownCounts, name: str) -> list[int]:
    """The values that occur by known counts, without NULL."""
    place = known_counts.columns.index(name)
    return [
        row[place]
        for row, count in zip(known_counts.codes, known_counts.counts, strict=True)
        if count and row[place] != NULL
    ]


def _least_of(column: NumberColumn | MomentColumn) -> int:
    """Any code, for a column that is NULL everywhere."""
    return next((end for end in (column.low, column.high) if end is not None), 0)


def refuse_contradiction(
    constraints: PublicConstraints, columns: Sequence[Column], from_constraints: Mapping[str, Attribute]
) -> None:
    """Refuse what no table could keep, before anything is paid: a column without bounds may have any value here."""
    check_satisfiable(constraints, provisional_attributes(columns, from_constraints))


def provisional_attributes(columns: Sequence[Column], from_constraints: Mapping[str, Attribute]) -> list[Attribute]:
    """The columns as attributes before any is bought: where bounds are missing, of any value. Text is left out."""
    attributes = [from_constraints.get(column.name) or attribute_of(column) or _unbounded(column) for column in columns]
    return [attribute for attribute in attributes if attribute is not None]


def check_satisfiable(constraints: PublicConstraints, attributes: Sequence[Attribute]) -> None:
    """Raise UsageError where no rows of these attributes keep the constraints."""
    if constraints.rules or constraints.totals:
        prepared = constraints.prepare_attributes([_coarse(attribute) for attribute in attributes])
        limits = constraints.on(prepared, 1.0)
        fit([attribute.size for attribute in prepared], (), limits.total, allowed=limits.allowed, totals=limits.totals)


def _unbounded(column: Column) -> Attribute | None:
    """A column of any value, as far as an end is not declared; None for text, which no rule is about."""
    return open_ended_attribute(column, *_limits(column)) if isinstance(column, NumberColumn | MomentColumn) else None


def _limits(column: NumberColumn | MomentColumn) -> tuple[int, int]:
    """The least and the greatest code that it can have."""
    low = first_code(column) if column.low is None else column.low
    return low, last_code(column) if column.high is None else column.high


def _coarse(attribute: Attribute) -> Attribute:
    """A column of open ends in as many cells as the model makes of it at most, before constraints cut it further."""
    if not attribute.open:
        return attribute
    return _with_edges(attribute, even_edges(attribute.edges[0], attribute.edges[-1], MOST_BINS))


def stretch_to_constraints(
    constraints: PublicConstraints, attributes: Sequence[Attribute], columns: Sequence[Column]
) -> tuple[Attribute, ...]:
    """The attributes, prepared for constraints, with bought ends stretched as far as the constraints need it.

    What a dependency goes to is there in any case. Where that leaves no possible row, ends go to wherever a constraint
    tells values apart, which leaves none only where there is none (`refuse_contradiction`).
    """
    stretched = [_stretch(attribute, _images(attribute.name, constraints.dependencies)) for attribute in attributes]
    try:
        if any(attribute.open for attribute in stretched):
            check_satisfiable(constraints, list(map(_within_bounds, stretched)))
    except UsageError:
        stretched = _stretch_to_cuts(constraints.rules, stretched, columns)
    return constraints.prepare_attributes(stretched)


def _within_bounds(attribute: Attribute) -> Attribute:
    """A column without the cells outside its bought bounds: there are hardly any rows."""
    below, above = attribute.outer
    if not attribute.open or not (below or above):
        return attribute
    return replace(_with_edges(attribute, attribute.edges[below : len(attribute.edges) - above]), outer=(0, 0))


def _images(name: str, dependencies: Iterable[Dependency]) -> list[int]:
    return [image for each in dependencies if each.target == name for image in each.images if image != NULL]


def _stretch_to_cuts(
    rules: Sequence[Rule], attributes: Sequence[Attribute], columns: Sequence[Column]
) -> list[Attribute]:
    """Columns of open ends that reach to both sides of every cut of a rule, and to what they are ordered with."""
    stretched = {attribute.name: attribute for attribute in attributes}
    limits = {column.name: _limits(column) for column in columns if isinstance(column, NumberColumn | MomentColumn)}
    for _ in range(1 + sum(isinstance(rule, ColumnOrder) for rule in rules)):  # along a chain of orders, link by link
        for name, attribute in stretched.items():
            if attribute.open:
                low, high = limits[name]
                codes = [code for rule in rules for code in _cuts(rule, name, stretched) if abs(code) < FAR]
                stretched[name] = _stretch(attribute, [min(max(code, low), high) for code in codes])
    return list(stretched.values())


def _cuts(rule: Rule, name: str, attributes: Mapping[str, Attribute]) -> list[int]:
    """Codes on both sides of every place where a rule tells values of a column apart."""
    if name not in rule.columns or not set(rule.columns) <= set(attributes):
        return []
    match rule:
        case StructuralZero():
            intervals = dict(rule.where)[name].intervals
            return [code for low, high in intervals for code in (low - 1, low, high, high + 1)]
        case Dependency():
            codes = rule.codes if name == rule.source else rule.images
            return [near for code in codes if code != NULL for near in (code - 1, code, code + 1)]
        case ColumnOrder():
            if name == rule.low:
                return [rule.most_low(attributes[rule.high].edges[0])]
            return [rule.least_high(attributes[rule.low].edges[-1] - 1)]


def _stretch(attribute: Attribute, codes: Sequence[int]) -> Attribute:
    """The attribute with cells as far as these codes, where its ends are open."""
    low, high = attribute.edges[0], attribute.edges[-1]
    beyond = {min([low, *codes]), max([high - 1, *codes]) + 1} - {low, high}
    return (
        _with_edges(attribute, tuple(sorted({*attribute.edges, *beyond}))) if attribute.open and beyond else attribute
    )


def _with_edges(attribute: Attribute, edges: tuple[int, ...]) -> Attribute:
    """The same column with other fine cells."""
    assert isinstance(attribute.column, NumberColumn | MomentColumn)
    column = replace(attribute.column, low=edges[0], high=edges[-1] - 1)
    none = np.zeros(0, dtype=np.int64)
    return replace(attribute, column=column, edges=edges, apart=none, groups=none, weights=np.zeros(0))
