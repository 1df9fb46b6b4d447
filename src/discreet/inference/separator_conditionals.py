"""What lies behind the edges of a calibrated tree, seen from each clique: conditionals, many attributes at a time.

From a clique, every attribute that it does not hold lies behind exactly one of its edges, and depends on the clique
through that edge's separator alone. So P(attribute | separator), for all attributes behind an edge, stacked side by
side into one matrix, says everything; and it is found from the stacks of the next clique by one matrix product each.

A stack has as many cells as its separator times all that lies behind. Where the stacks of a model would be too large
together, the largest depend on less: an attribute is left out of the separator, as if what lies behind did not depend
on it once the others are known. What is read off stacks is then an approximation, with exact margins; so no model is
too large to be asked, and `has_approximate_conditionals` says which is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.axes import Axes, Table, broadcast_over, cells_of, product, ratio, sum_to
from discreet.inference.calibrated_tree import CalibratedTree
from discreet.inference.summation_tree import marginal

#: The axis of a stack: the values of its attributes one after the other. No attribute has a negative number.
STACK = -1

#: The stacks of a model have at most so many cells together (512 MB), as far as leaving out attributes helps.
MOST_BEHIND = 2**26


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalStack:
    """P(attribute | separator) for several attributes: axes are the separator's, and then the stack."""

    separator: Axes
    table: Table
    starts: dict[int, int]
    stops: dict[int, int]

    def restricted_to(self, attributes: list[int]) -> ConditionalStack:
        """These attributes only."""
        if len(attributes) == len(self.starts):
            return self
        if len(attributes) == 1:
            (alone,) = attributes
            view = self.table[..., self.starts[alone] : self.stops[alone]]
            return ConditionalStack(
                separator=self.separator, table=view, starts={alone: 0}, stops={alone: view.shape[-1]}
            )
        pieces = [self.table[..., self.starts[attribute] : self.stops[attribute]] for attribute in attributes]
        return stack_conditionals(self.separator, dict(zip(attributes, pieces, strict=True)))


def stack_conditionals(separator: Axes, pieces: dict[int, Table]) -> ConditionalStack:
    """Conditionals side by side."""
    starts: dict[int, int] = {}
    stops: dict[int, int] = {}
    width = 0
    for attribute, piece in pieces.items():
        starts[attribute], width = width, width + piece.shape[-1]
        stops[attribute] = width
    return ConditionalStack(
        separator=separator, table=np.concatenate(list(pieces.values()), axis=-1), starts=starts, stops=stops
    )


class CliqueMarginals:
    """Marginals of one clique's table, each summed from the smallest that was made before and holds it."""

    def __init__(self, axes: Axes, table: Table) -> None:
        self._axes = axes
        self._made: dict[Axes, Table] = {axes: table}

    def of(self, attributes: set[int]) -> tuple[Table, Axes]:
        """The marginal, and its axes: the clique's order."""
        keep = tuple(attribute for attribute in self._axes if attribute in attributes)
        if keep not in self._made:
            from_axes = min(
                (axes for axes in self._made if attributes <= set(axes)), key=lambda axes: self._made[axes].size
            )
            self._made[keep] = marginal(self._made[from_axes], from_axes, keep)
        return self._made[keep], keep


class EdgeConditionals:
    """The tree seen from each clique: its edges, what is behind each, and the stacks, made when first asked for.

    An edge is a neighbour and what the two share. `separators`, by child and parent: what stacks depend on of that.
    """

    def __init__(self, calibrated: CalibratedTree) -> None:
        self.calibrated = calibrated
        cliques = calibrated.cliques
        self.edges: list[list[tuple[int, Axes]]] = [[] for _ in cliques]
        for place, clique in enumerate(cliques):
            if clique.parent >= 0:
                self.edges[place].append((clique.parent, clique.shared))
                self.edges[clique.parent].append((place, clique.shared))
        self._attributes_behind = {
            (place, neighbour): self._find_attributes_behind(place, neighbour)
            for place, near in enumerate(self.edges)
            for neighbour, _ in near
        }
        self.separators = self._narrow_separators()
        self._stacks: dict[tuple[int, int], ConditionalStack] = {}

    def _find_attributes_behind(self, place: int, neighbour: int) -> list[int]:
        """The attributes behind the edge from one clique to another: those that the first does not hold."""
        clique_attributes = set(self.calibrated.cliques[place].attributes)
        reached: dict[int, None] = {}
        waiting = [(place, neighbour)]
        while waiting:
            before, here = waiting.pop()
            reached |= dict.fromkeys(self.calibrated.cliques[here].attributes)
            waiting += [(here, after) for after, _ in self.edges[here] if after != before]
        return [attribute for attribute in reached if attribute not in clique_attributes]

    def _narrow_separators(self) -> dict[tuple[int, int], Axes]:
        """What is shared over each edge; of the largest edge less its largest attribute, until all are small."""
        sizes, cliques = self.calibrated.sizes, self.calibrated.cliques
        separators = {
            (place, clique.parent): clique.shared for place, clique in enumerate(cliques) if clique.parent >= 0
        }

        def cells(edge: tuple[int, int]) -> int:
            behind = (*self._attributes_behind[edge], *self._attributes_behind[edge[::-1]])
            return cells_of(sizes, separators[edge]) * sum(sizes[attribute] for attribute in behind)

        stack_cells = {edge: cells(edge) for edge in separators}
        while sum(stack_cells.values()) > MOST_BEHIND and any(separators.values()):
            edge = max((edge for edge, shared in separators.items() if shared), key=stack_cells.__getitem__)
            largest = max(separators[edge], key=lambda attribute: (sizes[attribute], attribute))
            separators[edge] = tuple(attribute for attribute in separators[edge] if attribute != largest)
            stack_cells[edge] = cells(edge)
        return separators

    def edge_by_attribute(self, place: int) -> list[int]:
        """For each attribute which edge of this clique it lies behind; -1 for those the clique holds."""
        edge_numbers = [-1] * len(self.calibrated.sizes)
        for number, (neighbour, _) in enumerate(self.edges[place]):
            for attribute in self._attributes_behind[place, neighbour]:
                edge_numbers[attribute] = number
        return edge_numbers

    def stack(self, place: int, number: int) -> ConditionalStack:
        """All that is behind the edge of this number of this clique."""
        waiting = [(place, self.edges[place][number][0])]
        while waiting:  # Not a recursion: a tree may be deeper than Python's stack.
            origin, here = waiting[-1]
            missing = [(here, after) for after, _ in self.edges[here] if after != origin]
            missing = [edge for edge in missing if edge not in self._stacks]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if (origin, here) not in self._stacks:
                self._stacks[origin, here] = self._build(origin, here)
        return self._stacks[place, self.edges[place][number][0]]

    def _separator(self, one: int, other: int) -> Axes:
        return self.separators[max(one, other), min(one, other)]

    def _build(self, origin: int, here: int) -> ConditionalStack:
        """The stack behind the edge from `origin` to `here`, from those behind the other edges of `here`."""
        clique = self.calibrated.cliques[here]
        separator = self._separator(origin, here)
        margins = CliqueMarginals(clique.attributes, clique.table)
        pieces: dict[int, Table] = {}
        for neighbour, _ in self.edges[here]:
            if neighbour != origin:
                behind = self._stacks[here, neighbour]
                table, axes = product(
                    *margins.of({*separator, *behind.separator}),
                    behind.table,
                    (*behind.separator, STACK),
                    {*separator, STACK},
                )
                table = sum_to(table, axes, (*separator, STACK))
                pieces |= {
                    attribute: table[..., behind.starts[attribute] : behind.stops[attribute]]
                    for attribute in behind.starts
                }
        origin_attributes = self.calibrated.cliques[origin].attributes
        for attribute in clique.attributes:
            if attribute not in origin_attributes:
                table, axes = margins.of({*separator, attribute})
                pieces[attribute] = sum_to(table, axes, (*separator, attribute))
        joint = stack_conditionals(separator, pieces)
        mass = sum_to(*margins.of(set(separator)), separator)
        return ConditionalStack(
            separator=separator,
            table=ratio(joint.table, broadcast_over(mass, separator, (*separator, STACK))),
            starts=joint.starts,
            stops=joint.stops,
        )


def has_approximate_conditionals(calibrated: CalibratedTree) -> bool:
    """Whether the model's stacks are approximations."""
    separators = EdgeConditionals(calibrated).separators
    return any(shared != calibrated.cliques[place].shared for (place, _), shared in separators.items())
