"""Belief propagation on a junction tree: potentials in, marginals and log Z out, in two passes.

    P(x) = exp(sum of theta over factors) / Z

On the way up each clique takes one exponential a cell; on the way down it only multiplies (see `station`). Buffers are
made once and used again. The flat vector of potentials holds the factors one after the other, each in the axis order of
the clique that holds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.axes import Axes, Table, cells_of, shape_of
from discreet.inference.junction import JunctionTree
from discreet.inference.station import Part, Station

#: Sums of larger potentials round away what their exponentials need.
LARGEST = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a factor's potentials lie in the flat vector; `axes` is their order there, `holder` its clique."""

    axes: Axes
    start: int
    stop: int
    holder: int


class Beliefs:
    """Propagation on one tree with these factors; `allowed` tables (True: possible) rule cells out exactly.

    State: scratch buffers. What comes out depends on the potentials alone, up to rounding.
    """

    def __init__(
        self, tree: JunctionTree, factors: Sequence[Axes], allowed: Iterable[tuple[Axes, NDArray[np.bool_]]] = ()
    ) -> None:
        self.tree = tree
        self.places = tuple(_places(tree, factors))
        self.theta = np.zeros(self.places[-1].stop if self.places else 0)
        self.marginals = np.zeros(len(self.theta))
        parts = [self._parts(clique) for clique in range(len(tree.cliques))]
        for attributes, table in allowed:
            with np.errstate(divide="ignore"):
                ruled = np.log(np.asarray(table, dtype=np.float64))
            parts[tree.holder(attributes)].append(Part(axes=attributes, potential=ruled))
        self._stations = self._build(parts)
        self.run(self.theta)

    def _parts(self, clique: int) -> list[Part]:
        """The factors that this clique holds."""
        return [
            Part(
                axes=place.axes,
                potential=self.theta[place.start : place.stop].reshape(shape_of(self.tree.sizes, place.axes)),
                marginal=self.marginals[place.start : place.stop].reshape(shape_of(self.tree.sizes, place.axes)),
            )
            for place in self.places
            if place.holder == clique
        ]

    def _build(self, parts: list[list[Part]]) -> list[Station]:
        """Stations from the leaves up: a station's message is a part of its parent's sum."""
        stations: list[Station] = []
        for clique in range(len(self.tree.cliques) - 1, -1, -1):
            axes, separator = self.tree.cliques[clique], self.tree.separators[clique]
            station = Station(self.tree.sizes, axes, separator, parts[clique])
            stations.append(station)
            if clique:
                above = Part(axes=axes[:separator], potential=station.message, marginal=station.given)
                parts[self.tree.parents[clique]].append(above)
        return stations[::-1]

    def run(self, theta: NDArray[np.float64]) -> float:
        """Set the potentials; afterwards `marginals` holds every factor's marginal. Returns log Z.

        -inf where everything is ruled out, and nan where a potential is beyond `LARGEST`; the marginals then mean
        nothing.
        """
        if not np.abs(theta).max(initial=0) <= LARGEST:
            return math.nan
        self.theta[:] = theta
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            for station in reversed(self._stations):
                station.up()
            for station in self._stations:
                station.down()
        return float(self._stations[0].message) if self._stations else 0.0

    def tables(self) -> list[Table]:
        """The table of each clique as probabilities, by the last run."""
        return [station.table() for station in self._stations]


def _places(tree: JunctionTree, factors: Sequence[Axes]) -> Iterable[Place]:
    start = 0
    for factor in factors:
        holder = tree.holder(factor)
        stop = start + cells_of(tree.sizes, factor)
        yield Place(
            axes=tuple(attribute for attribute in tree.cliques[holder] if attribute in factor),
            start=start,
            stop=stop,
            holder=holder,
        )
        start = stop
