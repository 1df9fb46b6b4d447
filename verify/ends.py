"""The intervals of quotients of noisy numbers, such as averages: by inverting a test, here only checked at their ends.

For the exact above and below and their quotient a, above - a * below is 0; so the noisy one is noise alone. A quotient
is an end where that is as large as noise is in one of 20 cases. At an end that somebody states, how often noise is so
large is one sum. It must be 5% but for TIGHT and WIDE: grids, discrete steps, and ends that have three digits.
"""

import math
from collections import Counter
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any

from formulas import RULES
from measured import ratio
from relation import Open
from widths import half_widths

#: How much more often noise may pass an end than it should; how much nearer it must pass often enough, in widths and in
#: steps of the noise.
DOUBT, TIGHT, WIDE, STEPS = 0.05, 1.06, 0.94, 2.5
#: Of a sum of two noises one is cut to so many pieces of its spread, and followed for so many spreads.
PIECES, FAR = 12, 24
EXACT = Context(prec=800)
Form = Counter[Any]  # a weight for every statistic, and a constant under None
Span = tuple[float, float]
Noisy = tuple[float, dict[str, Any]]


def quotient(tree: Any) -> tuple[Form, Form] | None:
    """A tree as a quotient of linear forms; None where it is none.

    A mean divides by the number of rows as it is, and is moved to its bounds afterwards.
    """
    if isinstance(tree, float) or tree[0] == "statistic":
        own = None if isinstance(tree, float) else tree[1]
        return Counter({own: Fraction(tree) if own is None else Fraction(1)}), Counter({None: Fraction(1)})
    kind, *parts = tree
    if kind in ("within", "greatest") and all(isinstance(part, float) for part in parts[1:]):
        return quotient(parts[0])
    if kind not in ("+", "-", "*", "/"):
        return None
    left, right = map(quotient, parts)
    if left is None or right is None:
        return None
    (one, under), (two, below) = left, right
    if kind in "+-" and set(below) <= {None}:
        sign = 1 if kind == "+" else -1
        if not set(two) <= {None} and not set(under) <= {None}:
            return None
        return added(times(one, below), times(under, two), sign), times(under, below)
    if kind in "+-":
        return None if not set(one) | set(under) <= {None} else (
            added(times(one, below), times(two, under), 1 if kind == "+" else -1), times(under, below)
        )  # fmt: skip
    if kind == "/":
        two, below = below, two
    if any(len((set(each) | set(other)) - {None}) > 0 and not (set(each) <= {None} or set(other) <= {None})
           for each, other in ((one, two), (under, below))):  # fmt: skip
        return None
    return times(one, two), times(under, below)


def times(one: Form, two: Form) -> Form:
    """The product of two forms of which one is a constant."""
    constant, form = (one, two) if set(one) <= {None} else (two, one)
    return Counter({name: weight * constant[None] for name, weight in form.items()})


def added(one: Form, two: Form, sign: int) -> Form:
    return Counter({name: one[name] + sign * two[name] for name in {*one, *two}})


def upper(law: dict[str, Any]) -> tuple[float, Callable[[int], float]]:
    """The spread of a law, and how often its noise is above a whole number."""
    return _upper(law["kind"], law.get("scale", law.get("sigma2")))


@lru_cache(maxsize=256)
def _upper(kind: str, size: str) -> tuple[float, Callable[[int], float]]:
    if kind == "discrete-laplace":
        scale = float(ratio(size))
        whole = 1 + math.exp(-1 / scale)

        def laplace(q: int) -> float:
            return math.exp(-(q + 1) / scale) / whole if q >= 0 else 1 - math.exp(q / scale) / whole

        return scale, laplace
    sigma = math.sqrt(float(ratio(size)))
    if sigma < 8:
        masses = [math.exp(-k * k / (2 * sigma * sigma)) for k in range(1, 2 + math.ceil(12 * sigma))]
        every = 1 + 2 * sum(masses)
        above = [sum(masses[place:]) / every for place in range(len(masses) + 1)]
        return sigma, lambda q: above[min(q, len(masses))] if q >= 0 else 1 - above[min(-q - 1, len(masses))]
    return sigma, lambda q: math.erfc((q + 0.5) / (sigma * math.sqrt(2))) / 2


def beyond(noise: list[tuple[float, dict[str, Any]]], far: float) -> float:
    """How often the sum of one or two noises, each times a weight, is further from 0 than this."""
    (size, law), *rest = sorted(noise, key=lambda each: -each[0] * upper(each[1])[0])
    _, above = upper(law)
    if not rest:
        return 1.0 if far < 0 else 2 * above(math.floor(far / size))
    ((weight, other),) = rest
    spread, passes = upper(other)
    piece = max(1, int(spread / PIECES))
    total, most = 0.0, math.ceil(FAR * spread / piece)
    for place in range(-most, most + 1):
        first = place * piece - piece // 2
        chance, middle = passes(first - 1) - passes(first + piece - 1), weight * (first + (piece - 1) / 2)
        total += chance * (above(math.floor((far - middle) / size)) + above(math.floor((far + middle) / size)))
    return total if far >= 0 else 1.0


class Inverted:
    """A quotient of one group, by its noisy numbers and their laws; `limits`: the bounds of the exact one."""

    def __init__(self, forms: tuple[Form, Form], noisy: Callable[[int], Noisy], limits: list[float] | None) -> None:
        self.forms, self.limits = forms, limits
        self.drawn = {name: noisy(name) for form in forms for name in form if name is not None and form[name]}
        if len(self.drawn) > 2:
            raise Open("intervals of more than two noisy numbers are not recomputed here")

    def at(self, end: float) -> tuple[float, list[tuple[float, dict[str, Any]]], float]:
        """above - end * below, and the weight of each noise in it with its law; the largest weight."""
        above, below = self.forms
        weights = {name: float(above[name]) - end * float(below[name]) for name in {*above, *below}}
        constant = weights.pop(None, 0.0)
        noise = [(abs(size), self.drawn[name][1]) for name, size in weights.items() if size]
        value = constant + sum(size * self.drawn[name][0] for name, size in weights.items() if size)
        return value, noise, max((size for size, _ in noise), default=0.0)

    def fits(self, low: float, high: float) -> bool:
        """Whether an interval ends where noise does; one whose test rejects all bounds begins at the nearest one."""
        moved = {0.0} | {self.at(edge)[0] for edge in self.limits or () if edge in (low, high)}
        digit = 2 * 10.0 ** (math.floor(math.log10((high - low) / 2)) - 2) if low < high else 0.0
        return any(self.end(low, digit, far) and self.end(high, -digit, far) for far in moved)

    def end(self, end: float, digit: float, moved: float) -> bool:
        """Whether noise passes an end in 5% of cases: no more often there, and as often one digit nearer."""
        value, noise, step = self.at(end)
        if not noise:
            return False
        if end not in (self.limits or ()) and beyond(noise, abs(value - moved) + 1e-6 * step) > TIGHT * DOUBT:
            return False
        return beyond(noise, WIDE * abs(self.at(end + digit)[0] - moved) - STEPS * step) >= 0.97 * DOUBT

    def edge(self, outside: float, miss: float, shrink: float, steps: float) -> float:
        """The last quotient on the way to a bound beyond which noise is this often, at so much of its width."""

        def holds(end: float) -> bool:
            value, noise, step = self.at(end)
            return not noise or beyond(noise, shrink * abs(value) - steps * step) >= miss

        above, below = (
            sum(float(size) * self.drawn[name][0] for name, size in form.items() if name is not None)
            for form in self.forms
        )
        least, most = self.limits or (-math.inf, math.inf)
        inside = min(max(above / max(below, 1.0), least), most)
        if holds(outside) or not holds(inside):
            return outside
        for _ in range(50):
            near = (inside + outside) / 2
            inside, outside = (near, outside) if holds(near) else (inside, near)
        return inside


#: How the doubt of a variance's interval is shared by its mean square, its mean and, of a sample, its number of rows.
SHARES = {
    False: {"square": Fraction(2, 3), "mean": Fraction(1, 3)},
    True: {"square": Fraction(1, 2), "mean": Fraction(1, 4), "rows": Fraction(1, 4)},
}


def spread_fits(tree: Any, noisy: Callable[[int], Noisy], ends: Span, *, sample: bool) -> bool:
    """Whether the interval of a variance or its root lies around that of its means, and within one slightly longer.

    Each mean lies between its own ends with its share of the doubt; what follows from that is interval arithmetic.
    """

    def means(part: Any, share: Fraction, *, wide: bool) -> Span:
        forms, miss = quotient(part), float(share) * DOUBT
        assert forms is not None
        own = Inverted(forms, noisy, part[2:])
        loose = (0.97 * miss, WIDE, STEPS) if wide else (TIGHT * miss, 1.0, 0.0)
        return own.edge(part[2], *loose), own.edge(part[3], *loose)

    def enclosed(part: Any, wide: bool) -> Span:
        if isinstance(part, float):
            return part, part
        kind, *parts = part
        if kind == "within" and parts[0][0] == "/":
            return means(part, SHARES[sample]["square" if parts[1] == 0.0 else "mean"], wide=wide)
        if kind == "statistic":
            value, law = noisy(parts[0])
            far = max(half_widths(law, SHARES[sample]["rows"] / 20))
            return value - far, value + far
        of = [enclosed(each, wide) for each in parts]
        if kind in ("within", "greatest"):
            least, most = of[1][0], of[2][1] if kind == "within" else math.inf
            return min(max(of[0][0], least), most), min(max(of[0][1], least), most)
        if kind == "sqrt":
            return math.sqrt(max(of[0][0], 0.0)), math.sqrt(max(of[0][1], 0.0))
        if kind == "*" and parts[0] == parts[1] and of[0][0] <= 0 <= of[0][1]:
            return 0.0, max(of[0][0] ** 2, of[0][1] ** 2)
        pairs = zip(*of, strict=True) if parts[0] == parts[1] else product(*of)  # of a square only equal ends
        corners = [RULES[kind][1](*pair) for pair in pairs]
        return min(corners), max(corners)

    (low, high), inner, outer = ends, enclosed(tree, wide=False), enclosed(tree, wide=True)
    if low >= high:
        return False
    digit, hair = 2 * 10.0 ** (math.floor(math.log10((high - low) / 2)) - 2), 1e-9 * max(abs(low), abs(high))
    return outer[0] - digit <= low <= inner[0] + hair and inner[1] - hair <= high <= outer[1] + digit


def short(end: float, low: float, high: float) -> bool:
    """Whether an end has no more digits than a thousandth of the half width needs."""
    unit = Decimal(1).scaleb(math.floor(math.log10((high - low) / 2)) - 3)
    return EXACT.remainder(Decimal(repr(end)), unit) == 0
