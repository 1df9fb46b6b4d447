"""The characteristic function of a weighted sum of many discrete Laplace or Gaussian draws.

Both laws' functions are even, positive, of period 2 pi, and fall from 0 to pi:

- Laplace: (1 - r)^2 / (1 - 2 r cos t + r^2) = 1 / (1 + (sin(t/2) / sinh(1/(2 scale)))^2), r = exp(-1/scale);
- Gaussian: Jacobi's third theta function over its value at 0, by its product formula a product of factors
  1 + 2 q cos t + q^2 with 0 < q < 1; by Poisson's formula a sum of Gaussians around the multiples of 2 pi.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.residual_law import Term
from discreet.mechanisms.laplace import DiscreteLaplace

Floats = NDArray[np.float64]

#: From this sigma^2 on Poisson's sum has two terms that matter, below it the masses are few.
_POISSON = 4.0
_PLACES = np.arange(1.0, 25.0)

#: So many numbers are worked on at a time.
_CHUNK = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Characteristic:
    """Weights, numbers of draws and laws' parameters, sorted by kind: (line, 3) each."""

    laplace: Floats
    wide: Floats
    narrow: Floats

    @staticmethod
    def of(terms: Sequence[Term]) -> Characteristic:
        lines: dict[str, list[tuple[float, float, float]]] = {"laplace": [], "wide": [], "narrow": []}
        for weight, count, law in terms:
            if isinstance(law, DiscreteLaplace):
                lines["laplace"].append((weight, count, math.sinh(1 / (2 * float(law.scale))) ** -2))
            else:
                sigma2 = float(law.sigma2)
                lines["wide" if sigma2 >= _POISSON else "narrow"].append((weight, count, sigma2))
        return Characteristic(**{kind: np.array(found).reshape(-1, 3) for kind, found in lines.items()})

    def log(self, times: Floats, *, falling_to: Floats | None = None) -> Floats:
        """The logarithm at some times; with `falling_to` of the draws alone that fall as far as that."""
        found = np.zeros(len(times))
        for lines, own in ((self.laplace, _laplace), (self.wide, _wide), (self.narrow, _narrow)):
            if not len(lines):
                continue
            step = max(1, _CHUNK // (len(lines) * (len(_PLACES) if own is _narrow else 1)))
            for start in range(0, len(times), step):
                some = slice(start, start + step)
                logs = own(np.multiply.outer(lines[:, 0], times[some]), lines[:, 2:])
                if falling_to is not None:
                    logs = np.where(np.multiply.outer(lines[:, 0], falling_to[some]) <= math.pi, logs, 0.0)
                found[some] += lines[:, 1] @ logs
        return found


def _laplace(angles: Floats, inverse: Floats) -> Floats:
    return np.asarray(-np.log1p(np.sin(angles / 2) ** 2 * inverse))


def _wide(angles: Floats, sigma2: Floats) -> Floats:
    """Around the nearest multiple of 2 pi and the next nearest; all others are less than 10^-34 of these."""
    near = np.abs(angles - 2 * math.pi * np.round(angles / (2 * math.pi)))
    others = np.exp(-2 * math.pi * sigma2 * np.maximum(math.pi - near, 0.0))
    return np.asarray(-sigma2 / 2 * near**2 + np.log1p(others))


def _narrow(angles: Floats, sigma2: Floats) -> Floats:
    """1 less the masses times 1 - cos, so that nothing is lost near 0."""
    masses = 2 * np.exp(-(_PLACES**2) / (2 * sigma2))
    missed = np.einsum("ijk,ik->ij", 1 - np.cos(angles[:, :, None] * _PLACES), masses)
    return np.asarray(np.log1p(-missed / (1 + masses.sum(axis=1, keepdims=True))))
