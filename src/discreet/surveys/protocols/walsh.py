"""The Walsh-Hadamard transform: a sum for every row of the matrix of signs, in m log m steps."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.int64, np.float64)


def transform(array: NDArray[Number], axis: int = -1) -> NDArray[Number]:
    """`array` times the matrix of `signs`, along an axis whose length is a power of two.

    Twice the transform is the length times the array: the matrix is its own inverse but for that.

    >>> transform(np.array([1, 2, 3, 4], dtype=np.int64)).tolist()
    [10, -2, -4, 0]
    """
    transformed = np.array(np.moveaxis(array, axis, 0), order="C")
    length = transformed.shape[0]
    if length < 1 or length & (length - 1):
        raise ValueError(f"the length must be a power of two, got {length}")
    half = 1
    while half < length:
        pairs = transformed.reshape(length // (2 * half), 2, half, *transformed.shape[1:])
        left, right = pairs[:, 0], pairs[:, 1]
        difference = left - right
        left += right
        right[...] = difference
        half *= 2
    return np.moveaxis(transformed, 0, axis)


def signs(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the matrix has -1 there: an odd number of places where both row and column have a 1 bit.

    >>> signs(np.array([0, 1, 1, 3]), np.array([3, 1, 2, 3])).tolist()
    [False, True, False, False]
    """
    return np.asarray(np.bitwise_count(rows & columns) & 1, dtype=np.bool_)
