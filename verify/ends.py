"""The intervals of quotients of noisy numbers, such as averages: by inverting a test, here only checked at their ends.

For the exact above and below and their quotient a, above - a * below is 0; so the noisy one is noise alone. A quotient
is an end where that is as large as noise is in one of 20 cases. At an end that somebody states, how often noise is so
large is one sum. It must be 5% but for TIGHT and WIDE: grids, discrete steps, and ends that have three digits.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from formulas import enclosed, is_mean
from measured import ratio
from relation import text

#: How much more often noise may pass an end than it should; how much nearer it must pass often enough, in widths and in
#: steps of the noise.
DOUBT, TIGHT, WIDE, STEPS = 0.05, 1.06, 0.94, 2.5
#: Of a sum of two noises one is cut to so many pieces of its spread, and followed for so many spreads. Discreet follows
#: sums of several on a grid of a hundredth of their spreads together, outwards: in STEPS.
PIECES, FAR, FARTHEST, GRID = 12, 24, 1e15, 0.004
#: Spreads by which the law of many is smoothed, and that its circle is long; places of a weight's logarithm; where a
#: transform is nothing.
SMOOTH, CIRCLE, PLACES, LOWEST = 0.01, 12, 10, -16
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
    (one, under), (two, below) = left, right[::-1] if kind == "/" else right
    above = [(one, two)] if kind in "*/" else [(one, below), (two, under)]
    forms: list[Any] = [times(*pair) for pair in (*above, (under, below))]
    if None in forms:
        return None
    *terms, divisor = forms
    return added(terms[0], terms[1], 1 if kind == "+" else -1) if kind in "+-" else terms[0], divisor


def times(one: Form, two: Form) -> Form | None:
    """The product of two forms, None where neither is a constant."""
    constant, form = (one, two) if set(one) <= {None} else (two, one)
    if not set(constant) <= {None}:
        return None
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


def variance(law: dict[str, Any]) -> float:
    """The variance of a law; of a wide Gaussian one that of what it is made of."""
    size, passes = upper(law)
    if law["kind"] == "discrete-laplace":
        return (1 / math.sinh(min(1 / (2 * size), 700))) ** 2 / 2
    return size**2 if size >= 2 else sum((4 * k + 2) * passes(k) for k in range(40))


def drawn(law: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """What noise is made of: several draws, each with its weight, or one."""
    return list(law.get("parts", [(1.0, law)]))


def coarse(noise: list[tuple[float, dict[str, Any]]]) -> float:
    """A step of the sum of some noises: the largest weight, and of many what a grid that they are followed on adds."""
    grid = GRID * sum(size * upper(law)[0] for size, law in noise)
    return max((size for size, _ in noise), default=0.0) + max(0, len(noise) - 3) * grid


def is_as_wide(noise: list[tuple[float, dict[str, Any]]], half: float, step: float, loose: float) -> bool:
    """Whether noise is further away than a half width in one case of 20, or slightly less often."""
    if half <= 0:
        return sum(beyond([(1.0, law)], 0.5) for _, law in noise) <= TIGHT * DOUBT
    often = beyond(noise, half * (1 + SMOOTH) + loose) <= TIGHT * DOUBT
    return often and beyond(noise, WIDE * half - STEPS * step - loose) >= WIDE * DOUBT


def is_nobody(value: float, law: dict[str, Any]) -> tuple[bool, bool]:
    """Whether a noisy number is surely no larger than its noise in 99 of 100 cases, and whether it may not be."""
    noise = drawn(law)
    near = (value - 0.5,) * 2 if len(noise) == 1 else (value / WIDE, WIDE * value - STEPS * coarse(noise))
    surely, maybe = (beyond(noise, far) > DOUBT / 5 for far in near)
    return surely, maybe


def beyond(noise: list[tuple[float, dict[str, Any]]], far: float) -> float:
    """How often the sum of some noises, each times a weight, is further from 0 than this."""
    if len(noise) > 2:
        return inverted(noise, far)
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


def inverted(noise: list[tuple[float, dict[str, Any]]], far: float) -> float:
    """The same of many noises, by their transforms: the chance to be within is a sum of sines.

    It ends where the transform does, or that of a little more noise. Weights that are nearly alike count as one.
    """
    squares = defaultdict[tuple[str, int], float](float)
    laws = {text(law): law for _, law in noise}
    for weight, law in noise:
        squares[text(law), round(PLACES * math.log(weight))] += weight**2
    alike = [
        (transform(laws[law]), math.exp(place / PLACES), square / math.exp(2 * place / PLACES))
        for (law, place), square in squares.items()
    ]
    circle = CIRCLE * math.sqrt(sum(many * weight**2 * square for (square, _), weight, many in alike))
    within, place, log = far / circle, 1, 0.0
    while log > LOWEST:
        turn = math.pi * place / circle
        log = sum(many * log_of(weight * turn) for (_, log_of), weight, many in alike)
        log -= (SMOOTH * math.pi * place / CIRCLE) ** 2 / 2
        within += 2 / (math.pi * place) * math.exp(log) * math.sin(turn * far)
        place += 1
    return 1 - within if far >= 0 else 1.0


def transform(law: dict[str, Any]) -> tuple[float, Callable[[float], float]]:
    """The variance of a law, and the logarithm of its characteristic function."""
    size = float(ratio(law.get("scale", law.get("sigma2"))))
    if law["kind"] == "discrete-laplace":
        square = variance(law)
        return square, lambda turn: -math.log1p(2 * square * math.sin(turn / 2) ** 2)

    def gaussian(turn: float) -> float:
        near = math.remainder(turn, 2 * math.pi)
        copies = (math.exp(-size * (near + each) ** 2 / 2) for each in (-2 * math.pi, 0, 2 * math.pi))
        return math.log(max(sum(copies), 1e-300))

    return size, gaussian


class Inverted:
    """A quotient of one group, by its noisy numbers and their laws; `limits`: the bounds of the exact one."""

    def __init__(self, forms: tuple[Form, Form], noisy: Callable[[int], Noisy], limits: list[float] | None) -> None:
        self.forms, self.limits = forms, limits
        self.drawn = {name: noisy(name) for form in forms for name in form if name is not None and form[name]}

    def at(self, end: float) -> tuple[float, list[tuple[float, dict[str, Any]]], float]:
        """above - end * below, and the weight of each noise in it with its law; a step of these."""
        above, below = self.forms
        weights = {name: float(above[name]) - end * float(below[name]) for name in {*above, *below}}
        constant = weights.pop(None, 0.0)
        own = [(size, *self.drawn[name]) for name, size in weights.items() if size]
        noise = [(abs(size) * share, each) for size, _, law in own for share, each in drawn(law) if share]
        return constant + sum(size * noisy for size, noisy, _ in own), noise, coarse(noise)

    def edge(self, outside: float, miss: float, shrink: float, steps: float) -> float:
        """The last quotient on the way to a bound beyond which noise is this often, at so much of its width."""

        moved = 0.0

        def holds(end: float) -> bool:
            value, noise, step = self.at(end)
            return not noise or beyond(noise, shrink * abs(value - moved) - steps * step) >= miss

        above, below = (
            sum(float(size) * (1.0 if name is None else self.drawn[name][0]) for name, size in form.items())
            for form in self.forms
        )
        least, most = self.limits or (-math.inf, math.inf)
        inside = min(max(above / (below if set(self.forms[1]) <= {None} else max(below, 1.0)), least), most)
        if not holds(inside):  # the test rejects all bounds: noise is moved to the nearest one
            moved = self.at(inside)[0]
        step = 1e-3 * math.copysign(max(1.0, abs(inside)), outside)
        while math.isinf(outside) and abs(step) < FARTHEST and holds(inside + step):
            step *= 2
        outside = inside + step if math.isinf(outside) and abs(step) < FARTHEST else outside
        if math.isinf(outside) or holds(outside):
            return outside
        for _ in range(50):
            near = (inside + outside) / 2
            inside, outside = (near, outside) if holds(near) else (inside, near)
        return inside


#: How large a factor typically is, squared: a mean away from its centre, what is shifted, anything else.
MEAN_SIZE, SHIFTED, QUARTER = Fraction(1, 8), Fraction(1), Fraction(1, 4)


def is_linear(tree: Any) -> bool:
    """Whether a tree is noisy numbers times weights, and a constant."""
    words, forms = text(tree), quotient(tree)
    if forms is None or "statistic" not in words or re.search("within|greatest", words):
        return False
    return set(forms[1]) <= {None}


def weigh(tree: Any) -> dict[str, Fraction]:
    """How much each part of a tree matters that is enclosed by itself: linear ones, and quotients of two such."""
    if isinstance(tree, float) or "statistic" not in text(tree):
        return {}
    kind, *parts = tree
    if is_linear(tree) or is_mean(tree) or (kind == "/" and all(map(is_linear, parts))):
        return {text(tree): Fraction(1)}
    of = [weigh(part) for part in parts]
    scale = [Fraction(1)] * len(parts)
    if kind in "*/" and all(of):
        scale = [size(parts[1]), size(parts[0])] if kind == "*" else [Fraction(1), QUARTER]
        scale = [QUARTER, Fraction(0)] if kind == "*" and parts[0] == parts[1] else scale
    return {
        name: max(own.get(name, Fraction(0)) * much for own, much in zip(of, scale, strict=True))
        for name in set().union(*of)
    }


def size(tree: Any) -> Fraction:
    if is_mean(tree):
        return MEAN_SIZE
    return SHIFTED if tree[0] in ("+", "-") and any(isinstance(part, float) for part in tree[1:]) else QUARTER


def spans(tree: Any, noisy: Callable[[int], Noisy], whole: Any) -> list[Span]:
    """Between what a tree lies by that of its parts: just, and slightly further.

    Each part lies between its own ends with its share of the doubt, which is the larger the more it matters to the
    whole; what follows from that is interval arithmetic.
    """
    spreads = {name: math.ceil(1000 * math.sqrt(need)) for name, need in weigh(whole).items()}

    def edges(part: Any, wide: bool) -> Span | None:
        forms = quotient(part) if text(part) in spreads else None
        if forms is None:
            return None
        miss = spreads[text(part)] / sum(spreads.values()) * DOUBT
        limits = part[2:] if part[0] == "within" else None
        loose = (0.97 * miss, WIDE, STEPS) if wide else (TIGHT * miss, 1.0, 0.0)
        own = Inverted(forms, noisy, limits)
        low, high = (own.edge(end, *loose) for end in limits or (-math.inf, math.inf))
        return low, high

    return [enclosed(tree, partial(edges, wide=wide)) for wide in (False, True)]


def spread_fits(spread: list[Span], ends: Span, held: list[float]) -> bool:
    """Whether an interval lies around the first of two, and within the second; all hold some numbers."""
    inner, outer = ((min(one, *held), max(two, *held)) if held else (one, two) for one, two in spread)
    (low, high), size = ends, max(map(abs, ends))
    if low >= high:  # what no noise moves from its bound
        return inner == outer == (low, high)
    digit, hair = 2 * 10.0 ** (math.floor(math.log10((high - low) / 2)) - 2), 1e-9 * size
    return outer[0] - digit <= low <= inner[0] + hair and inner[1] - hair <= high <= outer[1] + digit


def is_short(ends: Any, limits: list[float] | None) -> bool:
    """Whether the ends of an interval are floats with no more digits than a thousandth of its half width needs.

    Bounds are what they are.
    """
    if any(type(end) is not float for end in ends):
        return False
    low, high = ends
    unit = Decimal(1).scaleb(math.floor(math.log10((high - low) / 2)) - 3) if low < high else Decimal(0)
    return not unit or all(not EXACT.remainder(Decimal(repr(end)), unit) or end in (limits or ()) for end in ends)
