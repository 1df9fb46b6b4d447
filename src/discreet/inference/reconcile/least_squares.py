"""Weighted least squares: the numbers nearest to what was measured that satisfy every identity.

Guarantee: values are the best linear unbiased estimates of the true numbers, and `variances` their exact variances
    (as far as floats carry), if the noises are independent with mean 0 and the stated variances.
Because: (Gauss and Markov) true numbers are N b for the numbers b of the regions without a relation, N holding the
    relations' coefficients; the estimate is N M N' W z with W the inverse variances and M = (N' W N)^-1, which is
    the covariance of b. No variance is a difference, so none loses its digits.

Numbers that no relation links are fitted apart: a relation is one of few regions, so the systems stay small.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.inference.reconcile.column_axes import Floats, Integers
from discreet.inference.reconcile.region_factor import RegionRelation, inverted

#: Smaller variances than this share of the largest one that they are linked with count as this much.
_LEAST_SHARE = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRegions:
    """Regions that relations link. `free`: those without one; `members`: all; `expand`: members from free ones;
    `root`: R with R R' the covariance of the free ones."""

    free: Integers
    members: Integers
    expand: Floats
    root: Floats

    def spread(self) -> Floats:
        """S with S S' the covariance of the members."""
        return self.expand @ self.root


@dataclass(frozen=True, slots=True, kw_only=True)
class LeastSquaresFit:
    """Of each region its value and variance; `group`: of each region its Linked, `place`: and where among its free ones
    (-1 if it has a relation)."""

    values: Floats
    variances: Floats
    linked: tuple[LinkedRegions, ...]
    group: Integers
    place: Integers
    weights: Floats

    def combined(self, terms: Mapping[int, float]) -> tuple[float, float, dict[int, float]]:
        """Value and variance of a combination of regions without relations, and its weights on what was measured."""
        value, variance, weights = 0.0, 0.0, dict[int, float]()
        by_group: dict[int, list[int]] = {}
        for region in terms:
            by_group.setdefault(int(self.group[region]), []).append(region)
        for number, regions in by_group.items():
            linked = self.linked[number]
            places = self.place[regions]
            amounts = np.array([terms[region] for region in regions])
            half = amounts @ linked.root[places]
            on_members = (linked.expand @ (linked.root @ half)) * self.weights[linked.members]
            value += float(amounts @ self.values[regions])
            variance += float(half @ half)
            weights |= dict(zip(linked.members.tolist(), on_members.tolist(), strict=True))
        return value, variance, weights


def fit_regions(relations: Sequence[RegionRelation], noisy: Floats, variances: Floats) -> LeastSquaresFit:
    """Fit the different regions' noisy numbers."""
    group = _groups(relations, len(noisy))
    weights = 1.0 / _comparable(variances, group)
    values, fitted = noisy.copy(), variances.copy()
    place = np.full(len(noisy), -1, dtype=np.int64)
    by_group: dict[int, list[RegionRelation]] = {}
    for relation in relations:
        by_group.setdefault(int(group[relation.dependent]), []).append(relation)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(int(group.max(initial=-1)) + 2))
    linked = []
    for number, (low, high) in enumerate(itertools.pairwise(bounds.tolist())):
        group_regions = _linked(order[low:high], by_group.get(number, []), weights)
        linked.append(group_regions)
        place[group_regions.free] = np.arange(len(group_regions.free))
        if number in by_group:
            spread = group_regions.spread()
            members = group_regions.members
            # From numbers that agree already: large ones keep their digits, only the correction is computed.
            start = group_regions.expand @ noisy[group_regions.free]
            values[members] = start + spread @ (spread.T @ (weights[members] * (noisy[members] - start)))
            fitted[members] = (spread * spread).sum(axis=1)
    return LeastSquaresFit(
        values=values, variances=fitted, linked=tuple(linked), group=group, place=place, weights=weights
    )


def _comparable(variances: Floats, group: Integers) -> Floats:
    """Variances for weights: of those that are linked none is so small beside the largest that digits are lost.

    The estimates stay unbiased whatever the weights are; a number that is next to exact is one still.
    """
    largest = np.zeros(int(group.max(initial=-1)) + 1)
    np.maximum.at(largest, group, variances)
    return np.maximum(variances, _LEAST_SHARE * largest[group])


def _linked(members: Integers, relations: Sequence[RegionRelation], weights: Floats) -> LinkedRegions:
    bound = {relation.dependent for relation in relations}
    free = np.array([member for member in members.tolist() if member not in bound], dtype=np.int64)
    row = {member: number for number, member in enumerate(members.tolist())}
    column = {member: number for number, member in enumerate(free.tolist())}
    expand = np.zeros((len(members), len(free)))
    for member, number in column.items():
        expand[row[member], number] = 1.0
    for relation in relations:
        for place, numerator in relation.numerators:
            expand[row[relation.dependent], column[place]] = numerator / relation.denominator
    return LinkedRegions(free=free, members=members, expand=expand, root=_root(expand, weights[members]))


def _root(expand: Floats, weights: Floats) -> Floats:
    """R with R R' = (N' W N)^-1. Scaled to ones on the diagonal first, so that very different variances do no harm."""
    normal: Floats = expand.T @ (weights[:, None] * expand)
    scale: Floats = 1.0 / np.sqrt(np.diagonal(normal))
    lower: Floats = np.linalg.cholesky(normal * np.outer(scale, scale)).astype(np.float64)
    return np.asarray(scale[:, None] * inverted(lower).T)


def _groups(relations: Sequence[RegionRelation], size: int) -> Integers:
    """Of each region the number of its group: two are in one if a chain of relations links them."""
    parent = list(range(size))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for relation in relations:
        for place, _ in relation.numerators:
            parent[root(place)] = root(relation.dependent)
    roots = {place: number for number, place in enumerate(dict.fromkeys(root(place) for place in range(size)))}
    return np.array([roots[root(place)] for place in range(size)], dtype=np.int64)
