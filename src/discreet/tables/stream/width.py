"""How far a weighted sum of noise lies from zero: half widths that are proved, and hardly wider than they must be.

For Z = sum of u_i X_i, the X_i independent and discrete, of the law of every number drawn.

Guarantee: P(|Z| <= half_width(u)) >= confidence, up to the rounding of float64.
Because: (1) X_i can be drawn together with a continuous Y_i of the same name and parameter so that |X_i - Y_i| <= 1:
    for k >= 0, P(Y > k + 1) <= P(X > k) <= P(Y > k). For Laplace by r = exp(-1/scale): P(X > k) = r^(k+1) / (1 + r) and
    P(Y > k) = r^k / 2. For Gauss since the density falls: P(X > k) lies between its integrals from k + 1 and from k,
    divided by the normaliser, which is at least sqrt(2 pi) sigma and exceeds it by a factor below
    1 + 3 exp(-2 pi^2 sigma^2), which float64 does not see from sigma = 2 on; smaller ones are refused.
    So |Z - W| <= |u|_1 with W the sum of the u_i Y_i.
    (2) W is Gaussian; or it is a sum of Laplace variables, symmetric and unimodal, and adding an independent Gaussian G
    makes an interval around zero less likely (Anderson 1955): a half width of W + G serves W. G is there because it
    makes the characteristic function vanish quickly, so that it can be inverted by a short sum.
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace

#: The standard deviation of G, in units of W's: it widens an interval by about 0.05^2 / 2.
_BLUR = 0.05
#: The distribution is wrapped round a circle of so many standard deviations; less than 1e-15 of it lies farther out.
_CIRCLE = 60.0
#: Beyond blur * frequency = 8 the characteristic function is below exp(-32).
_LAST = 8.0 / _BLUR


def deviation(reading: NDArray[np.float64], law: DiscreteLaplace | DiscreteGaussian) -> float:
    """The standard deviation of the weighted sum."""
    return math.sqrt(law.variance() * float(reading @ reading))


def half_width(reading: NDArray[np.float64], law: DiscreteLaplace | DiscreteGaussian, confidence: Fraction) -> float:
    """Half the width of an interval around an estimate that holds what is estimated with this confidence."""
    length, away = float(np.sqrt(reading @ reading)), float(np.abs(reading).sum())
    if isinstance(law, DiscreteGaussian):
        if law.sigma2 < 4:
            raise ValueError("noise so narrow that its law is not near a Gaussian's")
        doubt = float((1 - confidence) / 2)
        return -NormalDist().inv_cdf(doubt) * math.sqrt(float(law.sigma2)) * length + away
    weights, times = _grouped(reading / length)
    return _laplace_quantile(weights, times, float(confidence)) * float(law.scale) * length + away


def _grouped(weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The sizes of weights that are not zero, those that are equal to 9 digits as one, taken as the largest of them."""
    sizes = np.sort(np.abs(weights[weights != 0]))
    new = np.concatenate([[True], sizes[1:] > sizes[:-1] * (1 + 1e-9)])
    groups = np.flatnonzero(new)
    ends = np.append(groups[1:], sizes.size)
    return sizes[ends - 1], ends - groups


def _laplace_quantile(weights: NDArray[np.float64], times: NDArray[np.int64], confidence: float) -> float:
    """The q with P(|W + G| <= q) = confidence, for W a sum of Laplace variables of scale 1 and weights of length 1.

    P(|W + G| <= q) = q/c + sum over k >= 1 of (2 / (pi k)) sin(pi k q / c) phi(pi k / c) on a circle from -c to c.
    """
    deviation = math.sqrt(2.0 * float(weights**2 @ times))
    circle = _CIRCLE * deviation / 2
    count = math.ceil(_LAST * _CIRCLE / (2 * math.pi))
    number = np.arange(1, count + 1)
    frequency = math.pi * number / circle
    logarithm = np.log1p(np.outer(weights**2, frequency**2)).T @ times + 0.5 * (_BLUR * deviation * frequency) ** 2
    terms = 2.0 / (math.pi * number) * np.exp(-logarithm)
    low, high = 0.0, circle / 2
    for _ in range(50):
        middle = (low + high) / 2
        if middle / circle + float(np.sin(frequency * middle) @ terms) < confidence:
            low = middle
        else:
            high = middle
    return high
