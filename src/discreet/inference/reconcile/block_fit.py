"""Least squares over single numbers and blocks together: weighted sums of several regions, each with noise of its own.

A release of tables measures sums of many cells with weights, so that its cells have errors that depend on each other.
Here its sums come in as they were measured, over the regions of its cells, and nothing is lost or taken for independent
that is not.

Guarantee: as `least_squares`: best linear unbiased estimates of the numbers of all regions, and their exact variances.
Because: with N the relations between regions, every measurement is H N b for the numbers b of the regions without a
    relation; the normal matrix of H N is inverted as a whole. It has an inverse if each block determines its regions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.accounting.region import Region
from discreet.errors import Refused
from discreet.inference.reconcile.column_axes import Floats
from discreet.inference.reconcile.geometry import region_geometry
from discreet.inference.reconcile.measured_number import ColumnDomains, MeasuredNumber, NumberIdentity
from discreet.inference.reconcile.reconciliation import identities_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBlock:
    """`noisy` = `rows` times the numbers of the regions, plus independent noise of these variances."""

    regions: tuple[Region, ...]
    rows: Floats
    noisy: Floats
    variances: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockFit:
    """Of each number, and then of each region of each block, what all of them together say."""

    values: Floats
    standard_errors: Floats
    identities: tuple[NumberIdentity, ...]
    chi_square: float
    degrees: int


def fit_blocks(measured: Sequence[MeasuredNumber], blocks: Sequence[MeasuredBlock], domain: ColumnDomains) -> BlockFit:
    """Fit numbers of one family and blocks of the same family. Refused where a region is not determined."""
    regions = [number.region for number in measured] + [region for block in blocks for region in block.regions]
    geometry = region_geometry(regions, domain)
    bound = {relation.dependent for relation in geometry.relations}
    free = {
        place: column for column, place in enumerate(each for each in range(len(geometry.pieces)) if each not in bound)
    }
    # One line more, of nothing: a region that nobody can be in has the number -1.
    expand = np.zeros((len(geometry.pieces) + 1, len(free)))
    for place, column in free.items():
        expand[place, column] = 1.0
    for relation in geometry.relations:
        for place, numerator in relation.numerators:
            expand[relation.dependent, free[place]] = numerator / relation.denominator
    of_regions = expand[geometry.number]
    design, noisy = _design(measured, blocks, of_regions)
    root = _root(design)
    solved = root @ (root.T @ (design.T @ noisy))
    solved += root @ (root.T @ (design.T @ (noisy - design @ solved)))  # once more, on what is left over
    return BlockFit(
        values=np.asarray(of_regions @ solved),
        standard_errors=np.sqrt(((of_regions @ root) ** 2).sum(axis=1)),
        identities=tuple(identities_of(range(len(regions)), geometry.number.tolist(), geometry.relations)),
        chi_square=float(((noisy - design @ solved) ** 2).sum()),
        degrees=len(noisy) - len(free),
    )


def _design(
    measured: Sequence[MeasuredNumber], blocks: Sequence[MeasuredBlock], of_regions: Floats
) -> tuple[Floats, Floats]:
    """What was measured, over the free regions, in units of its own noise."""
    weights = 1 / np.sqrt(np.array([number.variance for number in measured]))
    parts = [weights[:, None] * of_regions[: len(measured)]]
    noisy = [weights * np.array([float(number.value) for number in measured])]
    start = len(measured)
    for block in blocks:
        own = 1 / np.sqrt(block.variances)
        parts.append((own[:, None] * block.rows) @ of_regions[start : start + len(block.regions)])
        noisy.append(own * block.noisy)
        start += len(block.regions)
    return np.concatenate(parts), np.concatenate(noisy)


def _root(design: Floats) -> Floats:
    """R with R R' the inverse of the normal matrix, scaled first."""
    normal = design.T @ design
    diagonal = np.diagonal(normal)
    if not diagonal.all():
        raise Refused("some of these releases do not determine their own cells", hint="name fewer releases")
    scale = 1 / np.sqrt(diagonal)
    try:
        lower = np.linalg.cholesky(normal * np.outer(scale, scale))
    except np.linalg.LinAlgError:
        raise Refused("some of these releases do not determine their own cells", hint="name fewer releases") from None
    return np.asarray(scale[:, None] * np.linalg.inv(lower).T)
