"""Belief propagation on a junction tree: potentials in, marginals and log Z out, in two passes.

    P(x) = exp(sum of theta over factors) / Z

On the way up each clique takes one exponential a cell; on the way down it only multiplies (see `clique_buffers`).
Buffers are made once and used again. The flat vector of potentials holds the factors one after the other, each in the
axis order of the clique that holds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.axes import Axes, Table, cells_of, shape_of
from discreet.inference.clique_buffers import CliqueBuffers, CliqueTerm
from discreet.inference.junction_tree import JunctionTree

#: Sums of larger potentials round away what their exponentials need.
LARGEST_POTENTIAL = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class FactorSlice:
    """Where a factor's potentials lie in the flat vector; `axes` is their order there, `holder` its clique."""

    axes: Axes
    start: int
    stop: int
    holder: int


class BeliefPropagation:
    """Propagation on one tree with these factors; `allowed` tables (True: possible) rule cells out exactly.

    `fixed`: potentials that are there beside those of the factors, whatever those are.

    State: scratch buffers. What comes out depends on the potentials alone, up to rounding.
    """

    def __init__(
        self,
        tree: JunctionTree,
        factors: Sequence[Axes],
        allowed: Iterable[tuple[Axes, NDArray[np.bool_]]] = (),
        fixed: Iterable[tuple[Axes, Table]] = (),
    ) -> None:
        self.tree = tree
        self.factor_slices = tuple(_factor_slices(tree, factors))
        self.theta = np.zeros(self.factor_slices[-1].stop if self.factor_slices else 0)
        self.marginals = np.zeros(len(self.theta))
        terms = [self._factor_terms(clique) for clique in range(len(tree.cliques))]
        for attributes, table in allowed:
            with np.errstate(divide="ignore"):
                ruled = np.log(np.asarray(table, dtype=np.float64))
            terms[tree.smallest_clique_with(attributes)].append(CliqueTerm(axes=attributes, potential=ruled))
        for attributes, potential in fixed:
            terms[tree.smallest_clique_with(attributes)].append(CliqueTerm(axes=attributes, potential=potential))
        self._buffers = self._build_buffers(terms)
        self.run(self.theta)

    def _factor_terms(self, clique: int) -> list[CliqueTerm]:
        """The factors that this clique holds."""
        return [
            CliqueTerm(
                axes=place.axes,
                potential=self.theta[place.start : place.stop].reshape(shape_of(self.tree.sizes, place.axes)),
                marginal=self.marginals[place.start : place.stop].reshape(shape_of(self.tree.sizes, place.axes)),
            )
            for place in self.factor_slices
            if place.holder == clique
        ]

    def _build_buffers(self, terms: list[list[CliqueTerm]]) -> list[CliqueBuffers]:
        """Stations from the leaves up: a station's message is a part of its parent's sum."""
        buffers: list[CliqueBuffers] = []
        for clique in range(len(self.tree.cliques) - 1, -1, -1):
            axes, separator = self.tree.cliques[clique], self.tree.separators[clique]
            clique_buffers = CliqueBuffers(self.tree.sizes, axes, separator, terms[clique])
            buffers.append(clique_buffers)
            if clique:
                above = CliqueTerm(
                    axes=axes[:separator], potential=clique_buffers.message, marginal=clique_buffers.separator_marginal
                )
                terms[self.tree.parents[clique]].append(above)
        return buffers[::-1]

    def run(self, theta: NDArray[np.float64]) -> float:
        """Set the potentials; afterwards `marginals` holds every factor's marginal. Returns log Z.

        -inf where everything is ruled out, and nan where a potential is beyond `LARGEST_POTENTIAL`; the marginals then
        mean nothing.
        """
        if not np.abs(theta).max(initial=0) <= LARGEST_POTENTIAL:
            return math.nan
        self.theta[:] = theta
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for clique_buffers in reversed(self._buffers):
                clique_buffers.collect_message()
            for clique_buffers in self._buffers:
                clique_buffers.distribute_marginal()
        return float(self._buffers[0].message) if self._buffers else 0.0

    def tables(self) -> list[Table]:
        """The table of each clique as probabilities, by the last run."""
        return [clique_buffers.table() for clique_buffers in self._buffers]


def _factor_slices(tree: JunctionTree, factors: Sequence[Axes]) -> Iterable[FactorSlice]:
    start = 0
    for factor in factors:
        holder = tree.smallest_clique_with(factor)
        stop = start + cells_of(tree.sizes, factor)
        yield FactorSlice(
            axes=tuple(attribute for attribute in tree.cliques[holder] if attribute in factor),
            start=start,
            stop=stop,
            holder=holder,
        )
        start = stop
