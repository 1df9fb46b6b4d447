"""Constraints: public facts that a model keeps exactly. Structural zeros, dependencies, order, known totals.

They hold in two places. `on` says them of the cells of a model, which inference keeps at probability 0 and at the
known counts; `repair_rows` says them of rows, for what cells cannot express. No row that breaks one comes out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import NULL
from discreet.synth.code_spans import FAR, Codes, CodeSpan
from discreet.synth.known_counts import KnownCounts
from discreet.synth.row_repair import repair_rows
from discreet.synth.rules import ColumnOrder, Dependency, Rule, StructuralZero, possible_differences, table_of

#: A constraint that would tell more cells apart than this leaves them as they are: rows are mended all the same.
MOST_APART = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLimits:
    """Constraints on the cells of one model: see `inference.fit`."""

    total: float
    allowed: tuple[tuple[tuple[int, ...], NDArray[np.bool_]], ...] = ()
    totals: tuple[tuple[tuple[int, ...], NDArray[np.float64]], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicConstraints:
    """What is known publicly. `rows`: the exact number of rows, where it is public."""

    zeros: tuple[StructuralZero, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    orders: tuple[ColumnOrder, ...] = ()
    totals: tuple[KnownCounts, ...] = ()
    rows: int | None = None

    def __post_init__(self) -> None:
        for known_counts in self.totals:
            if self.rows is None:
                object.__setattr__(self, "rows", known_counts.rows)
            if known_counts.rows != self.rows:
                raise UsageError(
                    f"the known counts of {', '.join(known_counts.columns)} sum to {known_counts.rows:,}, not to "
                    f"{self.rows:,} rows",
                    hint="list every value that occurs in the known counts, including NULL",
                )
        if self.rows is not None and self.rows < 0:
            raise UsageError(f"the number of rows must be 0 or more, got {self.rows:,}")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """What every row keeps."""
        return (*self.zeros, *self.dependencies, *self.orders)

    def on(self, attributes: Sequence[Attribute], total: float) -> CellLimits:
        """The constraints on the model's cells. A rule about a column that is not modelled binds nothing."""
        places = {attribute.name: place for place, attribute in enumerate(attributes)}
        named = {attribute.name: attribute for attribute in attributes}
        return CellLimits(
            total=total if self.rows is None else float(self.rows),
            allowed=self.allowed(attributes),
            totals=tuple(
                (tuple(places[name] for name in known_counts.columns), known_counts.table(named))
                for known_counts in self.known_counts(named)
            ),
        )

    def allowed(self, attributes: Sequence[Attribute]) -> tuple[tuple[tuple[int, ...], NDArray[np.bool_]], ...]:
        """For each rule the attributes that it is about, and which of their cells together hold a row that keeps it.

        A difference says nothing of a NULL that its columns cannot have.
        """
        places = {attribute.name: place for place, attribute in enumerate(attributes)}
        named = {attribute.name: attribute for attribute in attributes}
        never_null = [zero.columns[0] for zero in self.zeros if zero.is_never_null]
        possible = {
            (place,): possible_differences(attribute, named, never_null)
            for place, attribute in enumerate(attributes)
            if attribute.between is not None
        }
        return (
            *((tuple(places[name] for name in rule.columns), table_of(rule, named)) for rule in self._rules(named)),
            *(
                (axes, np.bincount(attributes[axes[0]].groups, weights=fine) > 0)
                for axes, fine in possible.items()
                if not fine.all()
            ),
        )

    def prepare_attributes(self, attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
        """The attributes with fine cells, kept apart, that can express the constraints: the fit is nearer to them.

        Rows keep every constraint without it, too; but fewer have to be mended. From public facts alone.
        """
        return tuple(separate_cells(attribute, self.rules, self.totals) for attribute in attributes)

    def known_counts(self, names: Collection[str]) -> tuple[KnownCounts, ...]:
        """The known counts of columns that are modelled."""
        return tuple(known_counts for known_counts in self.totals if set(known_counts.columns) <= set(names))

    def repair_rows(
        self,
        codes: Mapping[str, Codes],
        attributes: Sequence[Attribute],
        generator: np.random.Generator,
        *,
        fixed: Collection[str] = (),
    ) -> tuple[dict[str, Codes], NDArray[np.bool_]]:
        """Rows in the same cells that keep every rule, and which of them cannot: those are not to be shown.

        `fixed` columns stay as they are.
        """
        named = {attribute.name: attribute for attribute in attributes}
        return repair_rows(self._rules(named), named, codes, generator, fixed=fixed)

    def _rules(self, names: Collection[str]) -> list[Rule]:
        return [rule for rule in self.rules if set(rule.columns) <= set(names)]

    def to_data(self) -> dict[str, Any]:
        """The constraints as JSON data, in codes."""
        return {
            "zeros": [
                [[name, list(map(list, span.intervals)), span.null] for name, span in zero.where] for zero in self.zeros
            ],
            "dependencies": [
                [each.source, each.target, list(each.codes), list(each.images)] for each in self.dependencies
            ],
            "orders": [[each.low, each.high, each.low_scale, each.high_scale] for each in self.orders],
            "totals": [[list(each.columns), list(map(list, each.codes)), list(each.counts)] for each in self.totals],
            "rows": self.rows,
        }

    @staticmethod
    def from_saved(data: Any) -> PublicConstraints:
        """What `to_data` wrote. Raises ValueError, TypeError or KeyError where it is something else."""
        return PublicConstraints(
            zeros=tuple(
                StructuralZero(where=tuple((_name(name), _span(intervals, null)) for name, intervals, null in zero))
                for zero in data["zeros"]
            ),
            dependencies=tuple(
                Dependency(source=_name(source), target=_name(target), codes=_wholes(codes), images=_wholes(images))
                for source, target, codes, images in data["dependencies"]
            ),
            orders=tuple(
                ColumnOrder(low=_name(low), high=_name(high), low_scale=_scale(one), high_scale=_scale(other))
                for low, high, one, other in data["orders"]
            ),
            totals=tuple(
                KnownCounts(
                    columns=tuple(map(_name, columns)), codes=tuple(map(_wholes, codes)), counts=_wholes(counts)
                )
                for columns, codes, counts in data["totals"]
            ),
            rows=None if data["rows"] is None else _wholes([data["rows"]])[0],
        )


def _name(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a constraint does not name a column")
    return value


def _wholes(values: Any) -> tuple[int, ...]:
    if any(type(value) is not int or not -(2**63) <= value < 2**63 for value in values):
        raise ValueError("a constraint has a code that is not a whole number")
    return tuple(values)


def _scale(value: Any) -> int:
    if type(value) is not int or not 1 <= value <= 2**62:
        raise ValueError("an order constraint has no valid step")
    return value


def _span(intervals: Any, null: Any) -> CodeSpan:
    ends = tuple(_wholes(interval) for interval in intervals)
    if any(len(end) != 2 for end in ends) or not isinstance(null, bool):
        raise ValueError("a range in a constraint has no ends")
    return CodeSpan(intervals=tuple((low, high) for low, high in ends), null=null)


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
                        _span_of_codes(
                            code for code, image in zip(rule.codes, rule.images, strict=True) if image == own
                        )
                        for own in sorted(set(rule.images))
                    ]
                if name == rule.target:
                    yield [_span_of_codes([image]) for image in sorted(set(rule.images))]
            case ColumnOrder():
                if name in rule.columns:
                    yield [CodeSpan(intervals=(), null=True)]
    for known_counts in totals:
        if name in known_counts.columns:
            place = known_counts.columns.index(name)
            yield [_span_of_codes([code]) for code in sorted({row[place] for row in known_counts.codes})]


def _span_of_codes(codes: Iterator[int] | Sequence[int]) -> CodeSpan:
    code_list = list(codes)
    return CodeSpan.of([(code, code) for code in code_list if code > -FAR], null=NULL in code_list)
