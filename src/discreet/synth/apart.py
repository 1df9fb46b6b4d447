"""Cells that constraints tell apart: cut where a public fact says so, and never kept together across the cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from discreet.synth.attribute import Attribute
from discreet.synth.decode import NULL
from discreet.synth.known import Known
from discreet.synth.rules import Dependency, Order, Rule, Zero
from discreet.synth.spans import FAR, Codes, Span

#: A constraint that would tell more cells apart than this leaves them as they are: rows are mended all the same.
MOST_APART = 256


def tell_apart(attribute: Attribute, rules: Sequence[Rule], totals: Sequence[Known]) -> Attribute:
    """The attribute, finer where a constraint needs it."""
    classes = [found for found in _classes(attribute.name, rules, totals) if len(found) <= MOST_APART]
    spans = [span for found in classes for span in found]
    if not spans:
        return attribute
    low, high = attribute.edges[0], attribute.edges[-1]
    cuts = {cut for span in spans for first, last in span.intervals for cut in (first, last + 1) if low < cut < high}
    edges = tuple(sorted({*attribute.edges, *cuts}))
    firsts = np.array([*edges[:-1], *([NULL] if attribute.null else [])], dtype=np.int64)
    apart = np.zeros(len(firsts), dtype=np.int64)
    for found in classes:
        which = _which(found, firsts)
        apart = np.unique(apart * (len(found) + 1) + which, return_inverse=True)[1]
    empty: Codes = np.zeros(0, dtype=np.int64)
    return replace(attribute, edges=edges, apart=apart, groups=empty, weights=np.zeros(0))


def _which(classes: Sequence[Span], codes: Codes) -> Codes:
    """The number of the span that holds each code, from 1; 0 for none."""
    found = np.zeros(len(codes), dtype=np.int64)
    for number, span in enumerate(classes, start=1):
        found[span.holds(codes)] = number
    return found


def _classes(name: str, rules: Sequence[Rule], totals: Sequence[Known]) -> Iterator[list[Span]]:
    """For each constraint on a column the sets of codes that it tells apart."""
    for rule in rules:
        match rule:
            case Zero():
                yield from ([span] for column, span in rule.where if column == name)
            case Dependency():
                if name == rule.source:
                    yield [
                        _span(code for code, image in zip(rule.codes, rule.images, strict=True) if image == own)
                        for own in sorted(set(rule.images))
                    ]
                if name == rule.target:
                    yield [_span([image]) for image in sorted(set(rule.images))]
            case Order():
                if name in rule.columns:
                    yield [Span(intervals=(), null=True)]
    for known in totals:
        if name in known.columns:
            place = known.columns.index(name)
            yield [_span([code]) for code in sorted({row[place] for row in known.codes})]


def _span(codes: Iterator[int] | Sequence[int]) -> Span:
    told = list(codes)
    return Span.of([(code, code) for code in told if code > -FAR], null=NULL in told)
