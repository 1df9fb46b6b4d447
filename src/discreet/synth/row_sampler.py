"""Rows of codes from a model: cells are sampled, codes drawn in them, and no row that breaks a constraint is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.calibrated_tree import CalibratedTree, condition
from discreet.inference.cell_sampler import sample_cells, sample_cells_in_parts
from discreet.synth import cell_decoder
from discreet.synth.attribute import Attribute
from discreet.synth.code_spans import Codes, cells_of
from discreet.synth.column_differences import apply_differences
from discreet.synth.constraints import PublicConstraints
from discreet.synth.known_counts import KnownCounts, RemainingCounts

#: Rows that break a constraint are drawn anew so often, at least so many at a time.
ROUNDS = 40
AT_LEAST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSampler:
    """A model to draw from, conditioned already on the codes `fixed` of some attributes."""

    attributes: tuple[Attribute, ...]
    constraints: PublicConstraints
    calibrated: CalibratedTree
    fixed: Mapping[int, int]

    @staticmethod
    def of(
        attributes: tuple[Attribute, ...],
        constraints: PublicConstraints,
        calibrated: CalibratedTree,
        fixed: Mapping[int, int],
    ) -> RowSampler:
        """A model given some codes: conditioned exactly on their cells, and on what rules of two columns then say."""
        if fixed:
            calibrated = condition(calibrated, evidence_of(attributes, constraints, fixed))
            if calibrated.total <= 0:
                raise UsageError("the model has no row with the given values", hint="fix fewer values")
        return RowSampler(attributes=attributes, constraints=constraints, calibrated=calibrated, fixed=fixed)

    def sample_rows(
        self, row_count: int, generator: np.random.Generator, *, at_once: int
    ) -> Iterator[dict[str, Codes]]:
        """So many rows, in parts. Counts that are known publicly come out exactly where all rows are drawn."""
        kept = () if self.fixed or row_count != self.constraints.rows else self.constraints.known_counts(self._named)
        remaining = [RemainingCounts(known_counts, self._named) for known_counts in kept]
        _refuse_entangled(kept, self._named)
        for cells in self._cells(row_count, generator, kept, at_once):
            row_codes = self._codes(cells, generator)
            for each in remaining:
                own = [cells[:, self._place(name)].astype(np.int64) for name in each.known_counts.columns]
                row_codes |= each.give(own, generator)
            yield self._repaired(row_codes, generator, {name for known_counts in kept for name in known_counts.columns})
        if not row_count:
            yield {attribute.name: np.zeros(0, dtype=np.int64) for attribute in self.attributes}

    @property
    def _named(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.attributes}

    def _place(self, name: str) -> int:
        return [attribute.name for attribute in self.attributes].index(name)

    def _cells(
        self, row_count: int, generator: np.random.Generator, kept: tuple[KnownCounts, ...], at_once: int
    ) -> Iterator[NDArray[np.unsignedinteger]]:
        keep = [tuple(self._place(name) for name in known_counts.columns) for known_counts in kept]
        if len({place for own in keep for place in own}) == sum(len(own) for own in keep):
            yield from sample_cells_in_parts(self.calibrated, row_count, generator, rows=at_once, keep=keep)
            return
        # Sets that overlap are kept in one part only.
        cells = sample_cells(self.calibrated, row_count, generator, keep=keep)
        for start in range(0, row_count, at_once):
            yield cells[start : start + at_once]

    def _codes(self, cells: NDArray[np.unsignedinteger], generator: np.random.Generator) -> dict[str, Codes]:
        codes = {
            attribute.name: np.full(len(cells), self.fixed[place])
            if place in self.fixed
            else cell_decoder.draw_codes(attribute, cells[:, place], generator)
            for place, attribute in enumerate(self.attributes)
        }
        fixed = frozenset(self.attributes[place].name for place in self.fixed)
        return apply_differences(self._named, codes, generator, fixed=fixed)

    def _repaired(
        self, row_codes: dict[str, Codes], generator: np.random.Generator, counted: set[str]
    ) -> dict[str, Codes]:
        """The rows, mended within their cells; those that cannot be are others, alike in what is given and counted."""
        stay = {self.attributes[place].name for place in self.fixed} | counted
        row_codes, broken = self.constraints.repair_rows(row_codes, self.attributes, generator, fixed=stay)
        rows = np.flatnonzero(broken)
        if not len(rows):
            return row_codes
        row_codes = {name: codes.copy() for name, codes in row_codes.items()}
        places = sorted(self._place(name) for name in stay)
        keys = np.array([row_codes[self.attributes[place].name][rows] for place in places], dtype=np.int64)
        alike, which = np.unique(keys.reshape(len(places), len(rows)), axis=1, return_inverse=True)
        for number in range(alike.shape[1]):
            own = rows[which.ravel() == number]
            given = dict(zip(places, alike[:, number].tolist(), strict=True))
            for name, codes in self._others(given, len(own), generator).items():
                row_codes[name][own] = codes
        return row_codes

    def _others(self, given: Mapping[int, int], count: int, generator: np.random.Generator) -> dict[str, Codes]:
        """Further rows of the model with these codes, that keep the constraints."""
        other = RowSampler.of(self.attributes, self.constraints, self.calibrated, given)
        stay = {self.attributes[place].name for place in given}
        parts: list[dict[str, Codes]] = []
        missing = count
        for _ in range(ROUNDS):
            cells = sample_cells(other.calibrated, 2 * missing + AT_LEAST, generator)
            codes, broken = self.constraints.repair_rows(
                other._codes(cells, generator), self.attributes, generator, fixed=stay
            )
            whole = np.flatnonzero(~broken)[:missing]
            parts.append({name: own[whole] for name, own in codes.items()})
            missing -= len(whole)
            if not missing:
                return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        raise UsageError(
            "the model has too few rows that satisfy the constraints",
            hint="check for constraints that contradict each other or the given values",
        )


def evidence_of(
    attributes: tuple[Attribute, ...], constraints: PublicConstraints, fixed: Mapping[int, int]
) -> dict[int, NDArray[np.bool_]]:
    """What fixed codes leave of each attribute's cells: their own, and of others what a rule then allows."""
    allowed_cells = {
        place: np.arange(attributes[place].size) == _cell(attributes[place], code) for place, code in fixed.items()
    }
    narrow = tuple(
        attribute_of_code(attribute, fixed[place]) if place in fixed else attribute
        for place, attribute in enumerate(attributes)
    )
    for places, allowed in constraints.allowed(narrow):
        free = [place for place in places if place not in fixed]
        left = allowed[tuple(-1 if place in fixed else slice(None) for place in places)]
        if len(free) == 1:
            allowed_cells[free[0]] = allowed_cells.get(free[0], np.True_) & left
        elif not free and not left:
            raise UsageError("the given values break a constraint")
    return allowed_cells


def attribute_of_code(attribute: Attribute, code: int) -> Attribute:
    """The attribute with one code, which is its last cell."""
    low = attribute.edges[0] if code == cell_decoder.NULL else code
    return Attribute(column=attribute.column, edges=(low, low + 1), null=code == cell_decoder.NULL)


def _cell(attribute: Attribute, code: int) -> int:
    return int(cells_of(attribute, np.array([code], dtype=np.int64))[0])


def _refuse_entangled(kept: tuple[KnownCounts, ...], attributes: Mapping[str, Attribute]) -> None:
    """Two known counts that share a column are kept only where the model tells that column's values apart."""
    names = [name for known_counts in kept for name in known_counts.columns]
    for name in {name for name in names if names.count(name) > 1}:
        attribute = attributes[name]
        if attribute.size < attribute.edges[-1] - attribute.edges[0] + attribute.null:
            raise UsageError(
                f"column {name!r} is in two sets of known counts, and the model groups its rare values",
                hint="give one set of counts for all those columns together, or sample a different number of rows",
            )
