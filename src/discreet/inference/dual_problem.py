"""The dual of a fit, laid out flat: its value, gradient and scaling (see `fit` for the mathematics)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from discreet.errors import UsageError
from discreet.inference.axes import Axes, Table, broadcast_over, cells_of, refuse_large, shape_of
from discreet.inference.belief_propagation import BeliefPropagation, FactorSlice
from discreet.inference.calibrated_tree import CalibratedTree, Clique
from discreet.inference.consistency import make_consistent
from discreet.inference.fit_inputs import FitInputs
from discreet.inference.junction_tree import build_junction_tree
from discreet.inference.lbfgs import Function, Vector, inner_product


class DualProblem:
    """Facts and a propagation over the tree that they make."""

    def __init__(self, facts: FitInputs, strength: float, fixed: Mapping[Axes, Table] | None = None) -> None:
        self.facts = facts
        self._fixed = fixed = fixed or {}
        tree = build_junction_tree(facts.sizes, [*facts.factors, *(axes for axes, _ in facts.allowed)])
        refuse_large(sum(cells_of(facts.sizes, clique) for clique in tree.cliques))
        self._beliefs = BeliefPropagation(tree, facts.factors, facts.allowed, fixed.items())
        self._coarse = CoarseCells(self._beliefs.factor_slices, facts)
        self._possible = self._find_possible()
        variances = [*(variance for _, variance in facts.noisy.values()), *(each.variance for each in facts.coarse)]
        smallest = math.sqrt(min(variances, default=1.0))
        self._noisy = self._flat({axes: values for axes, (values, _) in facts.noisy.items()}, "noisy")
        consistent = make_consistent(facts.noisy, facts.public_counts, facts.total)
        self._values = self._flat(consistent, "centred") * self._possible
        # What is known publicly has no noise: nothing pulls the model from it, and it is met to the finest of the rest.
        variance = self._flat(
            {axes: np.full(values.shape, noise) for axes, (values, noise) in facts.noisy.items()}, "variance"
        )
        self._pull = strength / smallest * variance
        self._deviation = np.where(variance > 0, np.sqrt(variance), smallest)
        self.scaling = 1 / (np.maximum(self._values, 0) + self._deviation + self._pull)

    def _find_possible(self) -> Vector:
        """1 for the cells that nothing rules out, 0 for the others: no potential can change those.

        Because: the propagation has just run with potentials of 0, where a cell has probability 0 only if every way to
        complete it is ruled out.
        """
        if self._beliefs.run(self._beliefs.theta) == -math.inf:
            raise UsageError("the constraints rule out every possible row", hint="check for contradictions")
        self._possible_cells = (self._beliefs.marginals > 0).astype(np.float64)
        return (self._coarse.summed(self._beliefs.marginals) > 0).astype(np.float64)

    def centred_at(self, centre: Vector) -> Function:
        """The function to minimise, pulled to this centre."""

        def function(theta: Vector) -> tuple[float, Vector]:
            away = theta - centre
            pulled = self._pull * away
            log_partition = self._beliefs.run(self._coarse.spread(theta))
            value = (
                self.facts.total * log_partition - inner_product(theta, self._values) + inner_product(away, pulled) / 2
            )
            gradient = self.facts.total * self._coarse.summed(self._beliefs.marginals)
            gradient -= self._values
            gradient += pulled
            return value, gradient

        return function

    def residual(self, gradient: Vector) -> float:
        """The root mean square of the gradient in standard deviations of the noise."""
        scaled = gradient / self._deviation
        return math.sqrt(inner_product(scaled, scaled) / max(float(self._possible.sum()), 1))

    def starting_point(self, potentials: Mapping[Axes, Table]) -> Vector:
        """Potentials to start from: each earlier one goes to the same marginal, or to the smallest that holds it."""
        theta = np.zeros(len(self._beliefs.theta))
        for axes, table in potentials.items():
            holding = [place for place in self._beliefs.factor_slices if set(axes) <= set(place.axes)]
            if holding:
                place = min(holding, key=lambda place: (place.start >= self._coarse.start, place.stop - place.start))
                view = theta[place.start : place.stop].reshape(shape_of(self.facts.sizes, place.axes))
                view += broadcast_over(table - self._fixed.get(axes, 0.0), axes, place.axes)
        return self._coarse.mean(theta) * self._possible

    def potentials(self, theta: Vector) -> dict[Axes, Table]:
        """The potentials by sorted attributes, with those that are fixed."""
        by_attributes: dict[Axes, Table] = {}
        spread = self._coarse.spread(theta)
        for place in self._beliefs.factor_slices:
            table = spread[place.start : place.stop].reshape(shape_of(self.facts.sizes, place.axes))
            order = sorted(range(len(place.axes)), key=place.axes.__getitem__)
            axes = tuple(sorted(place.axes))
            possible = self._possible_cells[place.start : place.stop].reshape(table.shape).transpose(order)
            earlier = by_attributes.get(axes, self._fixed.get(axes, 0.0))
            by_attributes[axes] = (table.transpose(order) + earlier) * possible
        return {**self._fixed, **by_attributes}

    def calibrate(self, theta: Vector) -> tuple[CalibratedTree, float]:
        """The model with these potentials, and how far it is from what was measured, in standard deviations."""
        self._beliefs.run(self._coarse.spread(theta))
        tree = self._beliefs.tree
        cliques = tuple(
            Clique(attributes=attributes, separator=separator, parent=parent, table=table * self.facts.total)
            for attributes, separator, parent, table in zip(
                tree.cliques, tree.separators, tree.parents, self._beliefs.tables(), strict=True
            )
        )
        return CalibratedTree(sizes=self.facts.sizes, total=self.facts.total, cliques=cliques), self._misfit()

    def _misfit(self) -> float:
        """How far the last run is from the noisy values, known and impossible cells left out."""
        cells = (self._possible > 0) & (self._pull > 0)
        model = self.facts.total * self._coarse.summed(self._beliefs.marginals)
        away = (model - self._noisy)[cells] / self._deviation[cells]
        return math.sqrt(inner_product(away, away) / max(len(away), 1))

    def _flat(self, tables: Mapping[Axes, Table], of_coarse: CoarseNumber) -> Vector:
        """Tables by sorted attributes as one vector in the propagation's order; 0 where there is none.

        `of_coarse`: which numbers of the coarser marginals stand behind them.
        """
        flat = np.zeros(len(self._beliefs.theta))
        for place in self._beliefs.factor_slices:
            axes = tuple(sorted(place.axes))
            if axes in tables and place.start < self._coarse.start:
                order = [axes.index(attribute) for attribute in place.axes]
                flat[place.start : place.stop] = tables[axes].transpose(order).ravel()
        return np.concatenate([flat[: self._coarse.start], *self._coarse.numbers(of_coarse)])


#: Of a marginal over coarser cells: what was measured; that, moved to the sum of the rows; the variance of a cell.
CoarseNumber = Literal["noisy", "centred", "variance"]


class CoarseCells:
    """The marginals over coarser cells, last in the flat vector: one potential for all cells of a group.

    Because: the fit depends on a group through its sum alone, so the dual has one variable for each of its sums.
    """

    def __init__(self, slices: Sequence[FactorSlice], facts: FitInputs) -> None:
        self._marginals = facts.coarse
        self._total = facts.total
        own = slices[len(slices) - len(facts.coarse) :]
        self.start = own[0].start if own else (slices[-1].stop if slices else 0)
        numbers, first = [np.zeros(0, dtype=np.int64)], 0
        for place, marginal in zip(own, facts.coarse, strict=True):
            cells = marginal.cells.reshape(shape_of(facts.sizes, marginal.axes))
            numbers.append(first + cells.transpose([marginal.axes.index(each) for each in place.axes]).ravel())
            first += len(marginal.values)
        self._cells = np.concatenate(numbers)
        self._count = first

    def spread(self, theta: Vector) -> Vector:
        """One potential for each finer cell."""
        if not self._count:
            return theta
        return np.concatenate([theta[: self.start], theta[self.start :][self._cells]])

    def summed(self, finer: Vector) -> Vector:
        """The sum of each group."""
        if not self._count:
            return finer
        sums = np.bincount(self._cells, weights=finer[self.start :], minlength=self._count)
        return np.concatenate([finer[: self.start], sums])

    def mean(self, finer: Vector) -> Vector:
        """The mean of each group."""
        if not self._count:
            return finer
        sizes = np.maximum(np.bincount(self._cells, minlength=self._count), 1)
        summed = self.summed(finer)
        summed[self.start :] /= sizes
        return summed

    def numbers(self, kind: CoarseNumber) -> list[Vector]:
        """These numbers of each marginal."""
        if kind == "variance":
            return [np.full(len(each.values), each.variance) for each in self._marginals]
        if kind == "centred":
            return [each.values + (self._total - each.values.sum()) / len(each.values) for each in self._marginals]
        return [each.values for each in self._marginals]
