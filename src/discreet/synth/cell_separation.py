"""Cells that constraints tell apart: cut where a public fact says so, and never kept together across the cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import NULL
from discreet.synth.code_spans import FAR, Codes, CodeSpan
from discreet.synth.known_counts import KnownCounts
from discreet.synth.rules import ColumnOrder, Dependency, Rule, StructuralZero

#: A constraint that would tell more cells apart than this leaves them as they are: rows are mended all the same.
MOST_APART = 256


def separate_cells(attribute: Attribute, rules: Sequence[Rule], totals: Sequence[KnownCounts]) -> Attribute:
    """The attribute, finer where a constraint needs it."""
    classes = [
        class_spans
        for class_spans in _spans_by_constraint(attribute.name, rules, totals)
        if len(class_spans) <= MOST_APART
    ]
    spans = [span for class_spans in classes for span in class_spans]
    if not spans:
        return attribute
    low, high = attribute.edges[0], attribute.edges[-1]
    cuts = {cut for span in spans for first, last in span.intervals for cut in (first, last + 1) if low < cut < high}
    edges = tuple(sorted({*attribute.edges, *cuts}))
    firsts = np.array([*edges[:-1], *([NULL] if attribute.null else [])], dtype=np.int64)
    apart = np.zeros(len(firsts), dtype=np.int64)
    for class_spans in classes:
        which = _span_numbers(class_spans, firsts)
        apart = np.unique(apart * (len(class_spans) + 1) + which, return_inverse=True)[1]
    empty: Codes = np.zeros(0, dtype=np.int64)
    return replace(attribute, edges=edges, apart=apart, groups=empty, weights=np.zeros(0))


def _span_numbers(classes: Sequence[CodeSpan], codes: Codes) -> Codes:
    """The number of the span that holds each code, from 1; 0 for none."""
    numbers = np.zeros(len(codes), dtype=np.int64)
    for number, span in enumerate(classes, start=1):
        numbers[span.holds(codes)] = number
    return numbers


def _spans_by_constraint(name: str, rules: Sequence[Rule], totals: Sequence[KnownCounts]) -> Iterator[list[CodeSpan]]:
    """For each constraint on a column the sets of codes that it tells apart."""
    for rule in rules:
        match rule:
            case StructuralZero():
                yield from ([span] for column, span in rule.where if column == name)
            case Dependency():
                if name == rule.source:
                    yield [
                        _span(code for code, image in zip(rule.codes, rule.images, strict=True) if image == own)
                        for own in sorted(set(rule.images))
                    ]
                if name == rule.target:
                    yield [_span([image]) for image in sorted(set(rule.images))]
            case ColumnOrder():
                if name in rule.columns:
                    yield [CodeSpan(intervals=(), null=True)]
    for known_counts in totals:
        if name in known_counts.columns:
            place = known_counts.columns.index(name)
            yield [_span([code]) for code in sorted({row[place] for row in known_counts.codes})]


def _span(codes: Iterator[int] | Sequence[int]) -> CodeSpan:
    code_list = list(codes)
    return CodeSpan.of([(code, code) for code in code_list if code > -FAR], null=NULL in code_list)
