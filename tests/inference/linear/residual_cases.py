"""Small domains, parts and variances, and their least squares by dense algebra."""

from __future__ import annotations

import itertools
import math
from functools import reduce

import numpy as np
from hypothesis import strategies as st

from discreet.inference.linear.residual_part import ResidualPart, subsets


def marginal(sizes, axes):
    """The matrix that takes a flat table over all axes to its marginal."""
    factors = [np.eye(size) if axis in axes else np.ones((1, size)) for axis, size in enumerate(sizes)]
    return reduce(np.kron, factors, np.eye(1))


def rows(sizes, part):
    return part.strategy(sizes).matrix().astype(float) @ marginal(sizes, part.axes)


def solution(sizes, parts, variances):
    """The matrix from all noisy numbers to least-squares cells, and the covariance of those."""
    stacked = np.concatenate([rows(sizes, part) for part in parts])
    precision = np.concatenate([np.full(len(rows(sizes, p)), 1 / v) for p, v in zip(parts, variances, strict=True)])
    inverse = np.linalg.pinv(stacked.T @ (precision[:, None] * stacked), rcond=1e-11)
    return inverse @ stacked.T * precision, inverse


def cells(sizes, axes):
    return math.prod(sizes[axis] for axis in axes)


@st.composite
def cases(draw):
    """Sizes, parts that tell every residual of `axes`, variances, and `axes`."""
    sizes = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    big = [axis for axis, size in enumerate(sizes) if size > 1]
    possible = [ResidualPart(axes=axes, centred=centred) for axes in subsets(big) for centred in subsets(axes)]
    axes = tuple(sorted(draw(st.sets(st.sampled_from(range(len(sizes)))))))
    parts = draw(st.lists(st.sampled_from(possible), max_size=5, unique=True))
    told = {subset for part in parts for subset in part.subsets()}
    own = tuple(axis for axis in axes if sizes[axis] > 1)
    missing = [subset for subset in subsets(own) if subset not in told]
    parts += [ResidualPart(axes=subset, centred=subset) for subset in missing]
    variances = [draw(st.sampled_from([0.25, 1.0, 3.0, 40.0])) for _ in parts]
    return sizes, parts, variances, axes


def expanded(terms):
    """Every draw's weight times its law's standard deviation, heaviest first."""
    found = itertools.chain(*([weight * math.sqrt(law.variance())] * count for weight, law, count in terms))
    return sorted(found, reverse=True)
