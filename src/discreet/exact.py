"""Exact numbers: Fractions in, outward rounding out. Standard library only.

Spent is rounded up, remaining down; nothing here is ever rounded to the nearest. Logarithm,
exponential and square root come from `decimal`, whose results are correctly rounded at the
context's precision, so one step outward from them is a proved bound.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from discreet.errors import UsageError

#: The ledger's integer units: epsilon in 1e-9, rho in 1e-12, delta in 1e-18.
EPSILON_UNITS = 10**9
RHO_UNITS = 10**12
DELTA_UNITS = 10**18

#: What the ledger stores for a pure loss that has no bound (a Gaussian's). Any real sum is smaller.
UNBOUNDED = 10**18

#: No question costs less or more than this, no budget is larger than that. Beyond is a typing error.
MIN_EPSILON = Fraction(1, 10**9)
MIN_DELTA = Fraction(1, 10**15)
MAX_QUESTION_EPSILON = Fraction(1000)
MAX_BUDGET_EPSILON = Fraction(10**6)

_DIGITS = Context(prec=50, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
_NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][+-]?\d{1,3})?", re.ASCII)
_RATIO = re.compile(r"-?\d+/\d+", re.ASCII)
#: "ln 3", "ln(3)", "2 ln 3": so many times the natural logarithm of a number.
_LOGARITHM = re.compile(
    r"(?:(\d{1,6}) *\*? *)?ln *(?:\( *(\d{1,9}(?:\.\d{1,9})?) *\)|(\d{1,9}(?:\.\d{1,9})?))", re.ASCII
)
#: A logarithm is read in units of 10^-12, rounded up.
_LOGARITHM_UNITS = 10**12


def number(value: object, *, name: str) -> Fraction:
    """A number as its owner wrote it: decimal text, an int, a Fraction, or a float by its repr.

    >>> number("0.1", name="epsilon"), number(0.1, name="epsilon")
    (Fraction(1, 10), Fraction(1, 10))
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise UsageError(f"{name} must be a number, not {value}")
    if isinstance(value, int):
        return Fraction(value)
    text = repr(value) if isinstance(value, float) else str(value).strip()
    if not isinstance(value, int | float | str | Decimal) or not _NUMBER.fullmatch(text):
        raise UsageError(f"{name} must be a plain finite number such as 0.5, got {text[:40]!r}")
    return Fraction(text)


def positive(value: object, *, name: str, most: Fraction) -> Fraction:
    """A number above zero, not absurdly small, and no larger than `most`."""
    parsed = number(value, name=name)
    if parsed <= 0 or parsed > most:
        raise UsageError(f"{name} must be above 0 and at most {show(most)}, got {show(parsed)}")
    if parsed < MIN_EPSILON:
        raise UsageError(f"{name} must be at least {show(MIN_EPSILON)}, got {show(parsed)}")
    return parsed


def epsilon(value: object, *, name: str = "epsilon", most: Fraction) -> Fraction:
    """An epsilon as people write it: a number, or a logarithm such as "ln 3" or "2 ln 3" (twice what "ln 3" is).

    Because: a likelihood ratio of 3 costs ln 3, which no decimal number is. It is read as the least number of 10^-12
        that is not below it: what is that private is stated, to the last digit, as what it costs.

    >>> epsilon("ln 3", most=Fraction(20)), epsilon("0.5", most=Fraction(20))
    (Fraction(1098612288669, 1000000000000), Fraction(1, 2))
    """
    written = isinstance(value, str) and _LOGARITHM.fullmatch(value.strip())
    if not written:
        return positive(value, name=name, most=most)
    times, ratio = int(written[1] or 1), Fraction(written[2] or written[3])
    if ratio <= 1:
        raise UsageError(f"{name} must be above 0: the logarithm of a number above 1, such as ln 3")
    once = Fraction(units_up(ln(ratio, up=True), _LOGARITHM_UNITS), _LOGARITHM_UNITS)
    return positive(times * once, name=name, most=most)


def probability(value: object, *, name: str) -> Fraction:
    """A number in [0, 1)."""
    parsed = number(value, name=name)
    if not 0 <= parsed < 1:
        raise UsageError(f"{name} must be at least 0 and below 1, got {show(parsed)}")
    if 0 < parsed < MIN_DELTA:
        raise UsageError(f"{name} must be 0 or at least {show(MIN_DELTA)}, got {show(parsed)}")
    return parsed


def write(value: Fraction) -> str:
    """A Fraction as text that `read` takes back, for the ledger."""
    return f"{value.numerator}/{value.denominator}"


def read(text: object) -> Fraction:
    """The Fraction that `write` wrote."""
    if not isinstance(text, str) or not _RATIO.fullmatch(text):
        raise ValueError(f"not an exact ratio: {text!r}")
    top, _, bottom = text.partition("/")
    return Fraction(int(top), int(bottom))


def total(values: Iterable[Fraction]) -> Fraction:
    """The sum of many Fractions of few denominators, quickly.

    >>> total([Fraction(1, 10), Fraction(1, 2), Fraction(3, 10)]), total([])
    (Fraction(9, 10), Fraction(0, 1))
    """
    tops: dict[int, int] = {}
    for value in values:
        tops[value.denominator] = tops.get(value.denominator, 0) + value.numerator
    return sum((Fraction(top, bottom) for bottom, top in tops.items()), Fraction(0))


def units_up(value: Fraction, units: int) -> int:
    """The least whole number of units that is at least `value`."""
    return math.ceil(value * units)


def units_down(value: Fraction, units: int) -> int:
    """The largest whole number of units that is at most `value`."""
    return math.floor(value * units)


def show(value: Fraction, *, digits: int = 6, up: bool = False) -> str:
    """A Fraction for people: `digits` significant digits, rounded down, or up.

    >>> show(Fraction(1, 10)), show(Fraction(1, 10**6)), show(Fraction(2, 3), up=True)
    ('0.1', '1e-06', '0.666667')
    """
    if value == 0:
        return "0"
    top, bottom = value.numerator, value.denominator
    size = len(str(abs(top))) - len(str(bottom))
    power = digits - 1 - size + (abs(top) * 10 ** max(0, -size) < bottom * 10 ** max(0, size))
    top, bottom = top * 10 ** max(0, power), bottom * 10 ** max(0, -power)
    whole = -(-top // bottom) if up else top // bottom
    shown = Decimal(whole).scaleb(-power, _DIGITS).normalize(_DIGITS)
    if shown == 0 or Decimal("0.0001") <= abs(shown) < Decimal(10) ** 15:
        return f"{shown:f}"
    return _scientific(shown)


def _scientific(value: Decimal) -> str:
    """1e-06, as everybody writes delta."""
    sign, figures, _ = value.as_tuple()
    mantissa = "".join(str(figure) for figure in figures).rstrip("0") or "0"
    power = value.adjusted()
    point = f".{mantissa[1:]}" if len(mantissa) > 1 else ""
    return f"{'-' if sign else ''}{mantissa[0]}{point}e{'-' if power < 0 else '+'}{abs(power):02d}"


def as_float(value: Fraction, *, up: bool) -> float:
    """A float for JSON: ten significant digits, rounded to the safe side and then read as decimal text.

    >>> as_float(Fraction(1, 10), up=False), as_float(Fraction(2, 3), up=True)
    (0.1, 0.6666666667)
    """
    return float(show(value, digits=10, up=up))


def show_float(value: float | None, *, up: bool) -> str:
    """A number of `as_float` with the digits of `show`, on the same side.

    >>> show_float(1.146954129, up=False), show_float(0.9982170001, up=True), show_float(None, up=True)
    ('1.14695', '0.998218', 'None')
    """
    return "None" if value is None else show(Fraction(str(value)), up=up)


def _decimal(value: Fraction, *, up: bool) -> Decimal:
    """A 50-digit decimal on the wanted side of `value`."""
    near = _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    if (Fraction(near) < value) if up else (Fraction(near) > value):
        near = _DIGITS.next_plus(near) if up else _DIGITS.next_minus(near)
    return near


def _outward(value: Decimal, *, up: bool) -> Fraction:
    return Fraction(_DIGITS.next_plus(value) if up else _DIGITS.next_minus(value))


def ln(value: Fraction, *, up: bool) -> Fraction:
    """A bound on the natural logarithm: at least it when `up`, else at most it."""
    near = _decimal(value, up=up)
    return Fraction(0) if near == 1 else _outward(near.ln(_DIGITS), up=up)


def exp(value: Fraction, *, up: bool) -> Fraction:
    """A bound on e to the `value`; what is smaller than exp(-10000) is between 0 and that."""
    if value < -10_000:
        return exp(Fraction(-10_000), up=True) if up else Fraction(0)
    bound = _outward(_decimal(value, up=up).exp(_DIGITS), up=up)
    return bound if up else max(bound, Fraction(0))


def sqrt(value: Fraction, *, up: bool) -> Fraction:
    """A bound on the square root."""
    if value == 0:
        return Fraction(0)
    bound = _outward(_decimal(value, up=up).sqrt(_DIGITS), up=up)
    return bound if up else max(bound, Fraction(0))
