"""One clique of a belief propagation, with its buffers.

Up: A = the potentials, the children's messages and a shift for each row, spread and added along the summation tree;
E = exp(A), in place; sums of E. The message is log(row sums) - shift. Down: rows are scaled to what the parent gives.

The shift is minus the clique's message of the last run. Potentials move little between two runs, so a row of E sums to
about 1 and no pass over the table is spent on finding each row's largest cell; where a sum leaves the safe range after
all, the rows' own maxima are found and the clique is done again. A row that is ruled out altogether is dead: its
message is -inf.

An exponential takes ten times as long as a product. Where the potentials have few cells beside the table, each is
exponentiated by itself, and E is their product, spread along the same tree. Of a large root that is the product of
three tables only sums are wanted, and E is not written before somebody asks for it (see `triangle_sums`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.axes import Axes, Table, broadcast_over, shape_of
from discreet.inference.summation_tree import SummationNode, plan_sums, sum_into
from discreet.inference.triangle_sums import TriangleFactor, TriangleSums, plan_triangle

#: A row's sum of exponentials outside this range is found again from the row's own maximum.
SMALLEST, LARGEST = 1e-100, 1e100

#: Exponentials are multiplied where the largest potentials add up to at most this. No product is then above exp(400),
#: and what rounds to 0 on the way is less than exp(-708 + 400), which beside a row's sum of 1e-100 is nothing.
MOST_REACH = 400.0

#: They are multiplied in tables of so many times the cells that the potentials have together, or more.
FEW_CELLS = 2

#: The additions, or products, that bring all into the table: left, right and where it goes.
Steps = list[tuple[Table, Table, Table]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CliqueTerm:
    """Something over some axes of a clique: a potential to add on the way up, a marginal to fill on the way down."""

    axes: Axes
    potential: Table
    marginal: Table | None = None


class CliqueBuffers:
    """A clique and its buffers: `message` goes to the parent, which fills `given`, the marginal of the separator."""

    def __init__(self, sizes: Sequence[int], axes: Axes, separator: int, parts: Sequence[CliqueTerm]) -> None:
        shared = axes[:separator]
        self.message, self.separator_marginal = np.zeros(shape_of(sizes, shared)), np.ones(shape_of(sizes, shared))
        self._shift, self._scale = np.zeros_like(self.message), np.ones_like(self.message)
        self._dead = np.zeros_like(self.message)
        self._settled = False
        nodes = plan_sums(sizes, axes, [*(part.axes for part in parts), shared])
        self._buffers, self._copies = _buffers(sizes, nodes, parts)
        self._table = self._buffers[0]
        self._rows = self._buffers[_node_over(nodes, shared)]
        terms = [*parts, CliqueTerm(axes=shared, potential=self._shift)]
        self._additions = _steps(nodes, [(term.axes, term.potential) for term in terms], self._table, neutral=0.0)
        self._factors: list[tuple[Table, Table]] = []
        self._products: Steps = []
        if FEW_CELLS * sum(term.potential.size for term in terms) <= self._table.size:
            self._factors = [(term.potential, np.empty(term.potential.shape)) for term in terms]
            factors = [(term.axes, factor) for term, (_, factor) in zip(terms, self._factors, strict=True)]
            self._products = _steps(nodes, factors, self._table, neutral=1.0)
        self._plan_sums(nodes, shared)
        self._scaled = [self._by_row(self._buffers[place]) for place in self._early]
        # The table itself is scaled only where something is read from it afterwards.
        self._whole = any(part.axes == axes and part.marginal is not None for part in parts) or any(
            node.parent == 0 and place in self._late for place, node in enumerate(nodes)
        )
        if self._whole:
            self._scaled.append(self._by_row(self._table))
        self._written = True
        self._triangle = None if separator or self._whole else self._plan_triangle(nodes)

    def _plan_triangle(self, nodes: Sequence[SummationNode]) -> TriangleSums | None:
        """Sums without the table, where it is written by two products, of the three tables that are summed from it."""
        children = [place for place, node in enumerate(nodes) if node.parent == 0]
        writing = [step for step in self._products if step[2] is self._table]
        if len(writing) != 2 or len(children) != 3:
            return None
        operands = [*writing[0][:2], writing[1][1]]
        factors = []
        for place in children:
            shape = broadcast_over(self._buffers[place], nodes[place].axes, nodes[0].axes).shape
            tables = [operand for operand in operands if operand.shape == shape]
            if len(tables) != 1:
                return None
            axes, marginal = nodes[place].axes, self._buffers[place]
            factors.append(TriangleFactor(axes=axes, table=tables[0].reshape(marginal.shape), marginal=marginal))
        return plan_triangle(self._table.size, factors)

    def _plan_sums(self, nodes: Sequence[SummationNode], shared: Axes) -> None:
        """Marginals that hold the separator are summed on the way up and scaled later; the others after scaling."""
        sums = {
            place: sum_into(self._buffers[node.parent], nodes[node.parent].axes, self._buffers[place], node.axes)
            for place, node in enumerate(nodes)
            if place
        }
        self._early = [place for place in sums if set(shared) <= set(nodes[place].axes)]
        self._late = [place for place in sums if place not in self._early]
        self._sums_up = [step for place in self._early for step in sums[place]]
        self._sums_after_triangle = [step for place in self._early if nodes[place].parent for step in sums[place]]
        self._sums_down = [step for place in self._late for step in sums[place]]

    def _by_row(self, table: Table) -> Table:
        """A view of a table that holds the separator: one row for each of its cells."""
        return table.reshape(self.message.size, -1)

    def collect_message(self) -> None:
        """Find `message` from the potentials and the children's messages."""
        self._exponentials()
        if not (self._settled and self._rows.min() > SMALLEST and self._rows.max() < LARGEST):
            self._settle()
        np.log(self._rows, out=self.message)
        self.message -= self._shift
        np.negative(self.message, out=self._shift)
        if self._dead.any():
            self.message[self._dead > 0] = -np.inf

    def _exponentials(self) -> None:
        sums = self._sums_up
        self._written = True
        if self._is_product_safe():
            for potential, factor in self._factors:
                np.exp(potential, out=factor)
            self._written = self._triangle is None
            for left, right, out in self._products:
                if self._written or out is not self._table:
                    np.multiply(left, right, out=out)
            if self._triangle is not None:
                self._triangle.fill()
                sums = self._sums_after_triangle
        else:
            self._add()
            np.exp(self._table, out=self._table)
        for source, target in sums:
            np.einsum("ijk->ik", source, out=target)
        self._rows += self._dead

    def _is_product_safe(self) -> bool:
        """Whether the table is made as a product, and no factor is so large that another could be lost beside it."""
        if not self._products:
            return False
        return sum(max(0.0, float(potential.max())) for potential, _ in self._factors) <= MOST_REACH

    def _add(self) -> None:
        for left, right, out in self._additions:
            np.add(left, right, out=out)

    def _settle(self) -> None:
        """Shift each row by its own maximum, and learn which rows are dead."""
        self._shift[...] = 0
        self._add()
        largest = self._by_row(self._table).max(axis=1).reshape(self.message.shape)
        self._dead[...] = np.isneginf(largest)
        np.negative(largest, out=self._shift, where=self._dead == 0)
        self._exponentials()
        self._settled = True

    def distribute_marginal(self) -> None:
        """Scale to what the parent gave, and fill the marginals."""
        np.divide(self.separator_marginal, self._rows, out=self._scale)
        scale = self._scale.reshape(-1, 1)
        for table in self._scaled:
            table *= scale
        for source, target in self._sums_down:
            np.einsum("ijk->ik", source, out=target)
        for source, target in self._copies:
            np.copyto(target, source)

    def table(self) -> Table:
        """The clique's probabilities, by the last run."""
        if not self._written:
            for left, right, out in self._products:
                if out is self._table:
                    np.multiply(left, right, out=out)
            self._written = True
        if self._whole:
            return self._table.copy()
        return (self._by_row(self._table) * self._scale.reshape(-1, 1)).reshape(self._table.shape)


def _node_over(nodes: Sequence[SummationNode], axes: Axes) -> int:
    return next(place for place, node in enumerate(nodes) if set(node.axes) == set(axes))


def _buffers(
    sizes: Sequence[int], nodes: Sequence[SummationNode], parts: Sequence[CliqueTerm]
) -> tuple[list[Table], list[tuple[Table, Table]]]:
    """A buffer for each node: the marginal that is to be filled where there is one; and what is then to be copied."""
    buffers: list[Table] = []
    copies: list[tuple[Table, Table]] = []
    for node in nodes:
        marginals = [part.marginal for part in parts if part.axes == node.axes and part.marginal is not None]
        buffers.append(marginals[0] if marginals else np.zeros(shape_of(sizes, node.axes)))
        copies += [(buffers[-1], other) for other in marginals[1:]]
    return buffers, copies


def _steps(
    nodes: Sequence[SummationNode], terms: Sequence[tuple[Axes, Table]], table: Table, *, neutral: float
) -> Steps:
    """The additions, or products, in order, that bring every term into the table: smallest nodes first.

    `neutral`: what changes nothing, where there is only one term.
    """
    operands: list[list[Table]] = [[] for _ in nodes]
    for axes, values in terms:
        place = _node_over(nodes, axes)
        operands[place].append(broadcast_over(values, axes, nodes[place].axes))
    steps: Steps = []
    for place in range(len(nodes) - 1, -1, -1):
        node, node_operands = nodes[place], operands[place]
        if place and not node_operands:
            continue
        out = (
            node_operands[0]
            if place and len(node_operands) == 1
            else _join_operands(node_operands, table if place == 0 else None, steps, neutral)
        )
        if place:
            operands[node.parent].append(broadcast_over(out, node.axes, nodes[node.parent].axes))
    return steps


def _join_operands(operands: list[Table], out: Table | None, steps: Steps, neutral: float) -> Table:
    """All operands in one, as steps; what is small is joined before what is large."""
    first, *rest = sorted(operands, key=lambda operand: operand.size)
    if out is None:
        out = np.zeros(np.broadcast_shapes(*(operand.shape for operand in operands)))
    if not rest:
        rest = [np.full((), neutral)]
    steps.append((first, rest[0], out))
    steps += [(out, operand, out) for operand in rest[1:]]
    return out
