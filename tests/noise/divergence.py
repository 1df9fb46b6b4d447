"""Hockey-stick divergence in exact arithmetic: sums of Fractions that bound the true value.

delta(epsilon) = sum over outputs of max(0, P(output) - e^epsilon Q(output)). A mechanism is
(epsilon, delta)-differentially private if and only if it is at most delta for P and Q of
neighbours, both ways. Masses come as intervals, so the sum is bounded above and below.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet import exact

#: Masses are rounded outward to whole multiples of 1e-60: integers add a hundred times faster than Fractions.
UNIT = 10**60


def hockey_stick(left, right, epsilon):
    """Bounds on the divergence of two lists of (low, high) masses over the same outputs."""
    least = math.floor(exact.exp(epsilon, up=False) * UNIT)
    most = math.ceil(exact.exp(epsilon, up=True) * UNIT)
    low = high = 0
    for p, q in zip(left, right, strict=True):
        low += max(0, math.floor(p[0] * UNIT) * UNIT - most * math.ceil(q[1] * UNIT))
        high += max(0, math.ceil(p[1] * UNIT) * UNIT - least * math.floor(q[0] * UNIT))
    return Fraction(low, UNIT**2), Fraction(high, UNIT**2)


def shifted(law, shift, reach):
    """The masses of shift + X at -reach .. reach; what lies beyond is bounded by law.tail."""
    return [law.mass_bounds(k - shift) for k in range(-reach, reach + 1)]
