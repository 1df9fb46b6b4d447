"""How wide noise is, and how a noisy number and its interval are shown: recomputed, so that nobody chooses any of it.

A shown number is the noisy one times a multiple, rounded to two digits of its half width at 95%. The ends of its
interval lie a half width at the stated confidence away. Both are recomputed as they were computed: whole numbers in
whole numbers, others in the same IEEE operations. What is left open is said where it is.
"""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Any

from measured import beyond, logarithm, power, ratio
from relation import Broken, Open, text

#: At which a number's digits are chosen, whatever confidence its interval is told at.
DIGITS_AT = Fraction(5, 100)
#: Tails are computed to more than 35 digits here, and by Discreet to more than 30: where both ends of this lie on one
#: side of the doubt there is one half width, and where they do not, two.
TINY = Fraction(1, 10**30)
#: Discreet sums the tail of a discrete Gaussian of a smaller variance, and bounds that of others by erfc.
SUMMED, MOST_VARIANCE = 64, 10**26


def half_widths(law: dict[str, Any], doubt: Fraction) -> list[Any]:
    """The smallest width that noise leaves with no more than this doubt: one, or two where digits do not tell.

    Of several noises together the width that their intervals state, which was compared with them.
    """
    if "parts" in law:
        return [law["width"]]
    return _half_widths(law["kind"], text(law.get("scale", law.get("sigma2"))).strip('"'), doubt)


@lru_cache(maxsize=4096)
def _half_widths(kind: str, size: str, doubt: Fraction) -> list[int]:
    if not 0 < doubt < 1:
        raise Broken("an invalid confidence")
    if kind == "discrete-laplace":  # P(|X| > q) = 2 r^(q + 1) / (1 + r) with r = e^(-1 / scale)
        scale = ratio(size)
        far = [scale * logarithm(2 / (doubt * (1 + power(-1 / scale, up=not up))), up=up) for up in (False, True)]
        return sorted({max(0, math.ceil(each) - 1) for each in far})
    sigma2 = ratio(size)
    if not 0 < sigma2 <= MOST_VARIANCE or doubt < Fraction(1, 10**20):
        raise Open("the noise or the confidence is too large or too small to compute widths here")
    root = math.sqrt(2 * float(sigma2))
    low, high = 0, 1 + math.ceil(22 * root)
    while low < high:  # about there
        middle = (low + high) // 2
        low, high = (low, middle) if math.erfc((middle + 0.5) / root) <= float(doubt) else (middle + 1, high)
    there = [doubt * (1 + sign * TINY) for sign in (-1, 1)]
    return sorted({next(far for far in count(max(0, low - 3)) if tail(sigma2, far) <= most) for most in there})


@lru_cache(maxsize=4096)
def tail(sigma2: Fraction, width: int) -> Fraction:
    """P(|X| > width) of a discrete Gaussian, as far as Discreet certifies it: of a larger variance by erfc."""
    if sigma2 >= SUMMED:
        return 2 * beyond((width + Fraction(1, 2)) ** 2 / (2 * sigma2))
    masses = [power(-k * k / (2 * sigma2), up=True) for k in range(width + 60 + 25 * math.isqrt(int(sigma2) + 1))]
    return 2 * sum(masses[width + 1 :], Fraction(0)) / (1 + 2 * sum(masses[1:]))


def ends_of(noisy: Any, far: Any, times: Fraction, threshold: int | None) -> tuple[Any, Any] | None:
    """The interval of a noisy number times a multiple; of one that was shown by a threshold it begins at 1, mostly."""
    if threshold is not None:
        if times <= 0:
            return None
        low, high = noisy - far if noisy > threshold + far else 1, noisy + far
        return (low, high) if times == 1 else (float(low * times), float(high * times))
    if times == 1:
        return noisy - far, noisy + far
    middle, size = 0.0 + float(times) * float(noisy), abs(float(times)) * float(far)
    return middle - size, middle + size


def is_interval(told: Any, shown: Any, wanted: tuple[Any, Any] | None) -> bool:
    """Whether an interval is this one. It always holds the number: where the noise is nothing beside the last digit of
    a float, and the number was computed in another order, the number itself is the end."""
    if told is None or wanted is None:
        return told is wanted
    own = [(end, min(end, shown)) if turn == 0 else (end, max(end, shown)) for turn, end in enumerate(wanted)]
    return len(told) == 2 and all(repr(end) in map(repr, each) for end, each in zip(told, own, strict=True))


def is_shown(told: list[tuple[Any, Any, Any]], times: Fraction) -> bool | None:
    """Whether numbers are noisy ones times a multiple, with the digits that their noise leaves meaningful.

    `told`: shown numbers, noisy ones and their laws. A multiple is computed in floats, in an order that only the text
    of the question says: all rows in one of these two, or else None, if no number is off by more than four last places.
    """
    if times == 1 and all(type(noisy) is int for _, noisy, _ in told):
        return all(type(shown) is int and shown in whole_numbers(noisy, law) for shown, noisy, law in told)
    if not all(type(shown) is float for shown, _, _ in told):
        return False
    product = [0.0 + float(times) * float(noisy) for _, noisy, _ in told]
    nearest = [float(times * Fraction(noisy)) for _, noisy, _ in told]
    for values in (product, nearest):
        pairs = zip(told, values, strict=True)
        if all(repr(shown) in floats(value, noisy, law, times) for (shown, noisy, law), value in pairs):
            return True
    around = [[middle + turn * math.ulp(middle) for turn in range(-4, 5)] for middle in nearest]
    rows = zip(told, around, strict=True)
    is_near = all(any(repr(own[0]) in floats(each, *own[1:], times) for each in nine) for own, nine in rows)
    return None if is_near else False


def whole_numbers(noisy: int, law: dict[str, Any]) -> set[int]:
    """A noisy number to two digits of its half width; what lies half way goes to the even side."""
    units = {10 ** max(0, len(str(far)) - 2) for far in half_widths(law, DIGITS_AT)}
    return {round(Fraction(noisy, unit)) * unit for unit in units}


def floats(value: float, noisy: float, law: dict[str, Any], times: Fraction) -> set[str]:
    """A value to two digits of half of what lies between its ends, as text; where they are one, as it is.

    There is one, but where the logarithm of that half is a whole number but for the last places of a float, in which
    the logarithms of two machines may differ.
    """
    found = set[str]()
    for far in half_widths(law, DIGITS_AT):
        middle, size = 0.0 + float(times) * float(noisy), abs(float(times)) * float(far)
        found |= near(value, min(middle - size, value), max(middle + size, value))
    return found


def near(value: float, low: float, high: float) -> set[str]:
    """A value to two digits of half of what lies between two ends, still between them; where they are one, as it is."""
    if high == low:
        return {repr(value + 0.0)}
    return {repr(min(max(each, low), high) + 0.0) for each in to_digits(value, (high - low) / 2)}


def to_digits(value: float, size: float) -> list[float]:
    """A value to two digits of a size."""
    log = math.log10(size)
    powers = {math.floor(log - 4 * math.ulp(log)), math.floor(log + 4 * math.ulp(log))}
    return [digits(value, 1 - each) for each in powers]


def digits(value: float, places: int) -> float:
    """A float rounded to so many decimals, as Discreet does it; negative ones are tens, hundreds."""
    if places < 0:
        return float(round(value / 10.0**-places)) * 10.0**-places
    return float(round(value * 10.0**places)) / 10.0**places if places <= 300 else value
