"""The road of a sampler through a model: which attributes are given when, and which are then drawn.

Any clique can be the root. A step is one clique seen from there: what it shares with the clique before it is given, the
rest is new. Cliques that bring nothing new are passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from discreet.inference.axes import Axes, Table, sum_to
from discreet.inference.calibrated_tree import CalibratedTree


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingStep:
    """Draw `new` given `given`; the axes of `table` are the given ones, then the new ones, in this order."""

    given: Axes
    new: Axes
    table: Table

    def table_up_to(self, attribute: int) -> Table:
        """The table summed over the attributes that are drawn after this one."""
        axes = (*self.given, *self.new)
        return sum_to(self.table, axes, axes[: axes.index(attribute) + 1])


def sampling_steps(
    calibrated: CalibratedTree, *, root: int = 0, eager: Mapping[int, int] | None = None
) -> tuple[SamplingStep, ...]:
    """The steps from this root, each after the one that gives what it needs.

    Within a step the attributes with the highest number in `eager` are drawn first; otherwise as the clique has them.
    """
    cliques = calibrated.cliques
    neighbours: list[list[tuple[int, Collection[int]]]] = [[] for _ in cliques]
    for place, clique in enumerate(cliques):
        if clique.parent >= 0:
            neighbours[place].append((clique.parent, clique.shared))
            neighbours[clique.parent].append((place, clique.shared))
    steps = []
    road: list[tuple[int, int, Collection[int]]] = [(root, -1, ())] if cliques else []
    for place, origin, shared in road:
        axes = cliques[place].attributes
        given = tuple(attribute for attribute in axes if attribute in shared)
        new = [attribute for attribute in axes if attribute not in shared]
        new.sort(key=lambda attribute: -(eager or {}).get(attribute, 0))
        if new:
            order = [axes.index(attribute) for attribute in (*given, *new)]
            steps.append(SamplingStep(given=given, new=tuple(new), table=cliques[place].table.transpose(order)))
        road.extend((near, place, common) for near, common in neighbours[place] if near != origin)
    return tuple(steps)
