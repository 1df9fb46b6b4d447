"""Rows of codes that keep their rules, within the cells that the model gave them.

A model knows rules as far as its cells can express them; within a bin, or a group of rare values, a code is drawn
that may break one. Such codes are drawn anew from the same cells, among those that keep it. Rows for which that does
not come to rest are told, and their owner takes others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import NULL
from discreet.synth.code_spans import FAR, Codes, CodeSpan, WeightedIntervals, cells_of, fine_of, intervals_in_cell
from discreet.synth.rules import ColumnOrder, Dependency, Rule, StructuralZero

#: How often all rules are gone through; two rules on one column can undo each other's work a few times.
SWEEPS = 12

#: How often both ends of an order are drawn before they take the ends of their cells.
TRIES = 8


def repair_rows(
    rules: Sequence[Rule],
    attributes: Mapping[str, Attribute],
    codes: Mapping[str, Codes],
    generator: np.random.Generator,
    *,
    fixed: Collection[str] = (),
) -> tuple[dict[str, Codes], NDArray[np.bool_]]:
    """Codes in the same cells that keep the rules, and which rows still break one. `fixed` columns stay as they are."""
    repaired_codes = dict(codes)
    broken = broken_rows(rules, codes)
    rows = np.flatnonzero(broken)
    if not len(rows):
        return repaired_codes, broken
    names = {name for rule in rules for name in rule.columns}
    work = _Repair(attributes, {name: codes[name][rows] for name in names}, generator, frozenset(fixed))
    for _ in range(SWEEPS):
        for rule in rules:
            work.repair(rule)
        if not broken_rows(rules, work.codes).any():
            break
    for name in names:
        repaired_codes[name] = codes[name].copy()
        repaired_codes[name][rows] = work.codes[name]
    broken[rows] = broken_rows(rules, work.codes)
    return repaired_codes, broken


def broken_rows(rules: Sequence[Rule], codes: Mapping[str, Codes]) -> NDArray[np.bool_]:
    """Which rows break a rule."""
    length = len(next(iter(codes.values()))) if codes else 0
    broken = np.zeros(length, dtype=np.bool_)
    for rule in rules:
        broken |= rule.broken(codes)
    return broken


class _Repair:
    """Rows under repair: their codes, and the cells in which these must stay."""

    def __init__(
        self,
        attributes: Mapping[str, Attribute],
        codes: dict[str, Codes],
        generator: np.random.Generator,
        fixed: frozenset[str],
    ) -> None:
        self.attributes = attributes
        self.codes = {name: column.copy() for name, column in codes.items()}
        self.cells = {name: cells_of(attributes[name], column) for name, column in codes.items()}
        self.generator = generator
        self.fixed = fixed

    def repair(self, rule: Rule) -> None:
        """Draw anew, once, the codes of rows that break this rule."""
        rows = np.flatnonzero(rule.broken(self.codes))
        if not len(rows):
            return
        match rule:
            case StructuralZero():
                self._leave_zero(rule, rows)
            case Dependency():
                self._follow(rule, rows)
            case ColumnOrder():
                self._order(rule, rows)

    def _leave_zero(self, rule: StructuralZero, rows: Codes) -> None:
        """Take one column, any that can, out of what is ruled out."""
        for turn in self.generator.permutation(len(rule.where)):
            name, span = rule.where[turn]
            if name not in self.fixed:
                rows = rows[~self._draw(name, rows, span.others())]

    def _draw(self, name: str, rows: Codes, within: CodeSpan) -> NDArray[np.bool_]:
        """Draw a column's codes anew within a span; which rows have one there."""
        done = np.zeros(len(rows), dtype=np.bool_)
        for (cell,), own in _groups([self.cells[name][rows]]):
            among = intervals_in_cell(self.attributes[name], cell, within)
            if not among.empty:
                self.codes[name][rows[own]] = among.draw(len(own), self.generator)
                done[own] = True
        return done

    def _follow(self, rule: Dependency, rows: Codes) -> None:
        """The target takes its image where that lies in its cell; else the source one whose image does."""
        target = self.attributes[rule.target]
        images, _ = rule.images_of(self.codes[rule.source][rows])
        if rule.target not in self.fixed:
            near = cells_of(target, images) == self.cells[rule.target][rows]
            self.codes[rule.target][rows[near]] = images[near]
            rows = rows[~near]
        if rule.source in self.fixed:
            return
        target_values = self.codes[rule.target] if rule.target in self.fixed else self.cells[rule.target]
        source_codes = np.array(rule.codes, dtype=np.int64)
        ends = np.array(rule.images, dtype=np.int64)
        at = cells_of(self.attributes[rule.source], source_codes)
        to = ends if rule.target in self.fixed else cells_of(target, ends)
        for (cell, end), own in _groups([self.cells[rule.source][rows], target_values[rows]]):
            fitting = np.flatnonzero((at == cell) & (to == end))
            if len(fitting):
                place = fitting[self._weighted(self.attributes[rule.source], source_codes[fitting], len(own))]
                self.codes[rule.source][rows[own]] = source_codes[place]
                if rule.target not in self.fixed:
                    self.codes[rule.target][rows[own]] = ends[place]
            else:
                self._free(rule, rows[own])

    def _free(self, rule: Dependency, rows: Codes) -> None:
        """The source takes a code that leaves the target free, where its cell has one."""
        bound = CodeSpan.of([(code, code) for code in rule.codes if code > -FAR], null=rule.codes[0] < -FAR)
        self._draw(rule.source, rows, bound.others())

    def _weighted(self, attribute: Attribute, codes: Codes, count: int) -> Codes:
        """So many places among codes, by the weight that each has in its fine cell."""
        fine = fine_of(attribute, codes)
        edges = np.array(attribute.edges, dtype=np.int64)
        widths = np.append(attribute.mass_between(edges[:-1], edges[1:]), 1)
        own = np.ones(len(codes))
        own[codes != NULL] = attribute.mass_between(codes[codes != NULL], codes[codes != NULL] + 1)
        weights = attribute.weights[fine] * own / np.maximum(widths[fine], 1e-300)
        chances = weights / weights.sum() if weights.sum() > 0 else np.full(len(codes), 1 / len(codes))
        return self.generator.choice(len(codes), size=count, p=chances)

    def _order(self, rule: ColumnOrder, rows: Codes) -> None:
        """Draw both ends from what can be in order, until they are."""
        for (low_cell, high_cell), own in _groups([self.cells[rule.low][rows], self.cells[rule.high][rows]]):
            lows = self._ends(rule.low, low_cell, rows[own])
            highs = self._ends(rule.high, high_cell, rows[own])
            least, most = lows.lows.min(initial=FAR), highs.highs.max(initial=-FAR)
            if least == FAR or most == -FAR or rule.most_low(int(most)) < least:
                self._missing(rule, rows[own])
                continue
            before = CodeSpan.of([(-FAR, rule.most_low(int(most)))])
            after = CodeSpan.of([(rule.least_high(int(least)), FAR)])
            self._draw_pair(rule, rows[own], before, after)

    def _ends(self, name: str, cell: int, rows: Codes) -> WeightedIntervals:
        """What an end can be: all of its cell but NULL, or where it is fixed the codes that it has."""
        if name not in self.fixed:
            return intervals_in_cell(self.attributes[name], cell, CodeSpan.of([(-FAR, FAR)]))
        codes = np.unique(self.codes[name][rows])
        return WeightedIntervals(lows=codes, highs=codes, weights=np.ones(len(codes)))

    def _draw_pair(self, rule: ColumnOrder, rows: Codes, before: CodeSpan, after: CodeSpan) -> None:
        low, high = rule.low not in self.fixed, rule.high not in self.fixed
        for turn in range(TRIES + 1):
            if low:
                self._draw(rule.low, rows, before)
            if high:
                self._draw(rule.high, rows, after)
            # What luck has not brought in order, the ends of the cells do.
            if low and turn == TRIES:
                self.codes[rule.low][rows] = self._pieces_at(rule.low, rows, before).lows.min()
            if high and turn == TRIES:
                self.codes[rule.high][rows] = self._pieces_at(rule.high, rows, after).highs.max()
            rows = rows[rule.broken({name: self.codes[name][rows] for name in rule.columns})]
            if not len(rows):
                return

    def _pieces_at(self, name: str, rows: Codes, within: CodeSpan) -> WeightedIntervals:
        return intervals_in_cell(self.attributes[name], int(self.cells[name][rows[0]]), within)

    def _missing(self, rule: ColumnOrder, rows: Codes) -> None:
        """Where no codes are in order, one end must be NULL."""
        for name in rule.columns:
            if name not in self.fixed:
                rows = rows[~self._draw(name, rows, CodeSpan(intervals=(), null=True))]


def _groups(keys: Sequence[Codes]) -> Iterator[tuple[tuple[int, ...], Codes]]:
    """Rows with the same keys: the keys, and their places."""
    if not len(keys[0]):
        return
    order = np.lexsort(keys[::-1])
    sorted_keys = np.stack([key[order] for key in keys])
    cuts = np.flatnonzero((np.diff(sorted_keys, axis=1) != 0).any(axis=0)) + 1
    for places in np.split(order, cuts):
        yield tuple(int(key[places[0]]) for key in keys), places
