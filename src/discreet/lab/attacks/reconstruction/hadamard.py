"""Hadamard queries (Dwork and Yekhanin): as many questions as people, undone by one fast transform."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def size(people: int) -> int:
    """How many queries there are: the power of two at or above the number of people.

    >>> size(2048), size(2049)
    (2048, 4096)
    """
    return 1 << max(0, people - 1).bit_length()


def counts(bits: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The exact answers: query j counts the bits at the places where row j of the Hadamard matrix is +1.

    Row 0 is all ones: everybody. Places beyond the last person hold nobody.
    """
    padded = np.zeros(size(len(bits)))
    padded[: len(bits)] = bits
    doubled: NDArray[np.float64] = transform(padded) + padded.sum()
    return doubled / 2


def estimate(answers: NDArray[np.float64], people: int) -> NDArray[np.float64]:
    """The bits, as numbers near 0 and 1, from noisy answers.

    Because: 2 answer_j - answer_0 is (H x)_j plus noise, and H H = size * I. Noise in the total reaches nobody but the
        first person; each other's comes from all answers at once, divided by the root of their number.
    """
    products = 2 * answers - answers[0]
    return transform(products)[:people] / len(answers)


def transform(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The Walsh-Hadamard transform, n log n.

    >>> transform(np.array([1.0, 0.0, 1.0, 0.0])).tolist()
    [2.0, 2.0, 0.0, 0.0]
    """
    transformed, width = values.astype(np.float64), 1
    while width < len(transformed):
        pairs = transformed.reshape(-1, 2, width)
        transformed = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        width *= 2
    return transformed
