"""A calibrated junction tree: cliques of attributes whose tables agree wherever they overlap.

The tables are the model. Whatever a model is asked (a marginal, a conditional, rows) follows from them:

    P(all) = product of clique tables / product of separator tables
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.inference.axes import (
    Axes,
    Table,
    broadcast_over,
    cells_of,
    check_attributes,
    product,
    ratio,
    refuse_large,
    shape_of,
    sum_to,
)

#: How far, as a share of the total, two tables of one model may disagree: rounding, with room.
AGREEMENT = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Clique:
    """One table of the model.

    Its attributes are those it shares with its parent (the first `separator` of them), then those that are new.
    `parent` is the place of its parent among the cliques; -1 for the root.
    """

    attributes: Axes
    separator: int
    parent: int
    table: Table

    def __post_init__(self) -> None:
        table = np.asarray(self.table, dtype=np.float64).view()
        if len(set(self.attributes)) != len(self.attributes) or table.ndim != len(self.attributes):
            raise ValueError(f"a clique's table needs one axis per attribute: {self.attributes}, {table.shape}")
        if not 0 <= self.separator < len(self.attributes) or self.parent < -1:
            raise ValueError(f"a clique needs at least one new attribute: {self.attributes}, {self.separator}")
        if not table.size or not np.isfinite(table).all() or table.min() < 0:
            raise ValueError("a clique's table must hold finite, non-negative numbers")
        table.flags.writeable = False
        object.__setattr__(self, "table", table)

    @property
    def shared(self) -> Axes:
        """The attributes shared with the parent."""
        return self.attributes[: self.separator]

    @property
    def new(self) -> Axes:
        """The attributes that no clique nearer the root has."""
        return self.attributes[self.separator :]

    def separator_table(self) -> Table:
        """The table summed down to the separator."""
        return sum_to_separator(self.table, self.separator)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedTree:
    """A model: a tree of cliques, parents before children, that agree on their separators and each sum to `total`.

    Every attribute is new in exactly one clique, so the cliques that hold it hang together (the running intersection).
    Parts of the model that are independent are joined by empty separators.
    """

    sizes: tuple[int, ...]
    total: float
    cliques: tuple[Clique, ...]

    def __post_init__(self) -> None:
        new = sorted(attribute for clique in self.cliques for attribute in clique.new)
        if new != list(range(len(self.sizes))):
            raise ValueError("every attribute must be new in exactly one clique")
        if not 0 <= self.total < np.inf:
            raise ValueError(f"a total must be finite and non-negative, got {self.total}")
        for place, clique in enumerate(self.cliques):
            self._check(place, clique)

    def _check(self, place: int, clique: Clique) -> None:
        if clique.table.shape != shape_of(self.sizes, clique.attributes):
            raise ValueError(f"the table of clique {place} does not have the shape of its attributes")
        if (clique.parent == -1) != (place == 0) or clique.parent >= place:
            raise ValueError("the root must come first, and parents before their children")
        slack = AGREEMENT * self.total
        if clique.parent == -1:
            agreed = abs(clique.table.sum() - self.total) <= slack and clique.separator == 0
        else:
            above = self.cliques[clique.parent]
            agreed = set(clique.shared) <= set(above.attributes) and bool(
                (np.abs(clique.separator_table() - sum_to(above.table, above.attributes, clique.shared)) <= slack).all()
            )
        if not agreed:
            raise ValueError(f"clique {place} does not agree with its parent")

    @property
    def cells(self) -> int:
        """How many cells the model's tables have together."""
        return sum(clique.table.size for clique in self.cliques)

    def with_tables(self, tables: Sequence[Table]) -> CalibratedTree:
        """The same tree with other tables; the root's says what the total is."""
        cliques = tuple(
            Clique(attributes=clique.attributes, separator=clique.separator, parent=clique.parent, table=table)
            for clique, table in zip(self.cliques, tables, strict=True)
        )
        total = float(tables[0].sum()) if cliques else self.total
        return CalibratedTree(sizes=self.sizes, total=total, cliques=cliques)

    def project(self, attributes: Sequence[int]) -> Table:
        """The expected counts of any set of attributes, its axes in the order asked.

        Sets outside every clique are found by elimination over the part of the tree that joins them.
        """
        targets = check_attributes(self.sizes, attributes)
        refuse_large(cells_of(self.sizes, targets))
        if not self.cliques:
            return np.array(self.total)
        below = self._below(targets)
        top = self._top(targets, below)
        messages: dict[int, list[tuple[Table, Axes]]] = {}
        for place in range(len(self.cliques) - 1, top, -1):
            clique = self.cliques[place]
            if below[place] and self._under(place, top):
                conditional = ratio(
                    clique.table, broadcast_over(clique.separator_table(), clique.shared, clique.attributes)
                )
                keep = (*clique.shared, *sorted(below[place]))
                message = _multiply_messages(conditional, clique.attributes, messages.pop(place, []), keep), keep
                messages.setdefault(clique.parent, []).append(message)
        marginal = _multiply_messages(
            self.cliques[top].table, self.cliques[top].attributes, messages.get(top, []), targets
        )
        return np.array(marginal, order="C")

    def _below(self, targets: Axes) -> list[set[int]]:
        """For each clique those wanted that are new in it or further from the root."""
        below = [set(clique.new) & set(targets) for clique in self.cliques]
        for place in range(len(self.cliques) - 1, 0, -1):
            below[self.cliques[place].parent] |= below[place]
        return below

    def _top(self, targets: Axes, below: list[set[int]]) -> int:
        """The clique furthest from the root such that it and what hangs below it hold all that is wanted."""
        top = 0
        for place, clique in enumerate(self.cliques):
            if clique.parent == top and below[place] | set(clique.attributes) >= set(targets):
                top = place
        return top

    def _under(self, place: int, top: int) -> bool:
        while place > top:
            place = self.cliques[place].parent
        return place == top


def _multiply_messages(table: Table, axes: Axes, messages: list[tuple[Table, Axes]], keep: Axes) -> Table:
    """The product of a table and its messages, summed down to `keep`."""
    for turn, (message, message_axes) in enumerate(messages):
        later = {attribute for _, others in messages[turn + 1 :] for attribute in others}
        table, axes = product(table, axes, message, message_axes, {*keep, *later})
    return sum_to(table, axes, keep)


def condition(calibrated: CalibratedTree, evidence: Mapping[int, ArrayLike]) -> CalibratedTree:
    """The model given evidence: for an attribute, how much weight (or whether any) each of its values keeps.

    Exact: every joint cell is multiplied by its weights. The total becomes the mass of the evidence, 0 where the
    model holds it impossible.
    """
    weights = {attribute: _weights(calibrated.sizes, attribute, given) for attribute, given in evidence.items()}
    cliques = calibrated.cliques
    tables = [clique.table.copy() for clique in cliques]
    for clique, table in zip(cliques, tables, strict=True):
        for attribute in weights.keys() & set(clique.new):
            table *= broadcast_over(weights[attribute], (attribute,), clique.attributes)
    propagate(cliques, tables, [clique.separator_table() for clique in cliques])
    return calibrated.with_tables(tables)


def propagate(cliques: Sequence[Clique], tables: list[Table], separators: Sequence[Table]) -> None:
    """Calibrate again, in place, tables that agreed on these separators before they were multiplied by some weights.

    Tables alone count: what `cliques` hold is not read, only how they hang together.
    """
    collected = list(separators)
    for place in range(len(cliques) - 1, 0, -1):
        clique = cliques[place]
        above = cliques[clique.parent].attributes
        changed = sum_to_separator(tables[place], clique.separator)
        tables[clique.parent] *= broadcast_over(ratio(changed, collected[place]), clique.shared, above)
        collected[place] = changed
    for place in range(1, len(cliques)):
        clique = cliques[place]
        agreed = sum_to(tables[clique.parent], cliques[clique.parent].attributes, clique.shared)
        tables[place] *= broadcast_over(ratio(agreed, collected[place]), clique.shared, clique.attributes)


def sum_to_separator(table: Table, separator: int) -> Table:
    """A clique's table summed down to its separator."""
    return np.asarray(table.sum(axis=tuple(range(separator, table.ndim))))


def _weights(sizes: tuple[int, ...], attribute: int, given: ArrayLike) -> NDArray[np.float64]:
    weights = np.asarray(given, dtype=np.float64)
    check_attributes(sizes, (attribute,))
    if weights.shape != (sizes[attribute],) or not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"evidence about attribute {attribute} needs one finite, non-negative weight for each value")
    return weights
