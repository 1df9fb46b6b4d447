"""The samplers of Canonne, Kamath and Steinke (2020), in whole numbers only, one draw at a time.

Written to be read beside the paper: no float, no margin, no vector. Slow. The tests hold the
vectorised samplers against these; nothing else uses them.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.mechanisms.bits import Bits


def uniform(limit: int, *, bits: Bits) -> int:
    """A uniform whole number in 0 .. limit - 1, by drawing again what is too large."""
    length = (limit - 1).bit_length()
    while True:
        drawn = 0
        for word in bits.words((length + 63) // 64).tolist():
            drawn = drawn << 64 | word
        drawn &= (1 << length) - 1
        if drawn < limit:
            return drawn


def bernoulli(chance: Fraction, *, bits: Bits) -> bool:
    """True with probability `chance`."""
    return uniform(chance.denominator, bits=bits) < chance.numerator


def bernoulli_exp(x: Fraction, *, bits: Bits) -> bool:
    """True with probability exp(-x), x >= 0 (their algorithm 1).

    For x <= 1, flip coins of bias x/1, x/2, x/3, ... until one fails. The first n all succeed with
    probability x^n / n!, so the number of coins flipped is odd with probability
    1 - x + x^2/2! - x^3/3! + ... = exp(-x). A larger x is cut into pieces of 1.
    """
    while x > 1:
        if not bernoulli_exp(Fraction(1), bits=bits):
            return False
        x -= 1
    flips = 1
    while bernoulli(x / flips, bits=bits):
        flips += 1
    return flips % 2 == 1


def laplace(scale: Fraction, *, bits: Bits) -> int:
    """Discrete Laplace, P(k) proportional to exp(-|k| / scale) (their algorithm 2), scale = t / s.

    low + t * high is geometric of scale t; its quotient by s is geometric of scale t / s.
    """
    t, s = scale.numerator, scale.denominator
    while True:
        low = uniform(t, bits=bits)
        if not bernoulli_exp(Fraction(low, t), bits=bits):
            continue
        high = 0
        while bernoulli_exp(Fraction(1), bits=bits):
            high += 1
        magnitude = (low + t * high) // s
        negative = bernoulli(Fraction(1, 2), bits=bits)
        if negative and magnitude == 0:
            continue  # else zero would be counted twice
        return -magnitude if negative else magnitude


def gaussian(sigma2: Fraction, *, bits: Bits) -> int:
    """Discrete Gaussian, P(k) proportional to exp(-k^2 / (2 sigma2)) (their algorithm 3)."""
    t = math.isqrt(math.floor(sigma2)) + 1
    while True:
        proposed = laplace(Fraction(t), bits=bits)
        if bernoulli_exp((abs(proposed) - sigma2 / t) ** 2 / (2 * sigma2), bits=bits):
            return proposed
