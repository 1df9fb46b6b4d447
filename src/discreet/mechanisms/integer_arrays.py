"""Arrays of integers, exact or noisy: which ones noise can be added to, and sums that never wrap round."""

from __future__ import annotations

from operator import index

import numpy as np
from numpy.typing import NDArray

#: Exact or noisy integers: int64, or Python's unbounded ints in an object array.
Integers = NDArray[np.int64] | NDArray[np.object_]


def add_integers(exact: Integers, noise: NDArray[np.int64]) -> Integers:
    """exact + noise, as int64 if `exact` is int64 and every sum fits, else as Python ints.

    Whether a sum fits is a property of the noisy value, so the width of the answer tells nothing
    more than the answer does. Nothing here depends on the data but through the noisy values.
    """
    if exact.dtype == np.object_:
        return _add_unbounded(exact, noise)
    total = np.add(exact, noise, out=np.empty(noise.shape, dtype=np.int64))  # wraps, silently
    # A sum overflowed where both terms have the sign that the sum has not.
    if np.any((total ^ exact) & (total ^ noise) < 0):
        return _add_unbounded(exact, noise)
    return total


def _add_unbounded(exact: Integers, noise: NDArray[np.int64]) -> NDArray[np.object_]:
    """The sums as Python ints.

    `index` matters: a numpy integer inside an object array would wrap, a float would be cut.
    """
    pairs = zip(exact.ravel().tolist(), noise.ravel().tolist(), strict=True)
    total: NDArray[np.object_] = np.empty(noise.size, dtype=object)
    total[:] = [index(part) + shift for part, shift in pairs]
    return total.reshape(noise.shape)


def check_integers(exact: Integers) -> Integers:
    """`exact` if it is an array of integers that noise can be added to, narrower ones widened."""
    if exact.dtype == np.object_ or exact.dtype == np.int64:
        return exact
    if exact.dtype.kind == "i" or (exact.dtype.kind == "u" and exact.dtype.itemsize < 8):
        return exact.astype(np.int64)
    raise TypeError(f"noise is added to int64 or to Python ints, not to {exact.dtype}")
