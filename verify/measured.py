"""From the relation to the loss: how far each noisy vector moves, what noise of its law costs, what that adds up to.

Exact in Fractions. Where a logarithm's inverse is needed, `decimal` rounds correctly at 60 digits, and every step is
rounded away from the claim.
"""

import base64
import hashlib
import math
import re
import struct
import zlib
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from relation import TRUE, Broken, Open, Relation, columns, derive, tested, text, whole

UP, DOWN = (Context(prec=60, rounding=way, Emin=-(10**9), Emax=10**9) for way in (ROUND_CEILING, ROUND_FLOOR))
CLOSE = 1 + Fraction(1, 10**15)
#: An epsilon that is looked for may be found a hair larger than the best one.
LOOSE = 1 + Fraction(1, 10**9)
#: The weight of one person, and a number just below pi.
WEIGHT, PI = 2**20, Fraction("3.1415926535897932384626433832795028841971693993751058209749")
FEW, MOST_CELLS = Fraction(1, 10**40), 2_000_000
ORDERS = (8, 24, 72, 216)
Loss = tuple[Fraction | None, Fraction, Fraction]  # epsilon (None: no pure bound), rho, delta


def ratio(text: Any) -> Fraction:
    """A Fraction as it is written: whole numbers around a stroke, in lowest terms."""
    if not isinstance(text, str) or len(text) > 4000 or not re.fullmatch(r"-?\d+/[1-9]\d*", text, re.ASCII):
        raise Broken("a number is not an exact ratio")
    found = Fraction(text)
    if f"{found.numerator}/{found.denominator}" != text:
        raise Broken("a ratio is not in lowest terms")
    return found


def closed(told: Any, known: set[str], what: str) -> None:
    """No member but these: whatever else stands in an object was derived by nobody."""
    if not isinstance(told, dict):
        raise Broken(f"{what} is not an object")
    if strange := sorted(set(told) - known):
        raise Broken(f"{what} has an unknown member {strange[0]!r}")


def shaped(told: Any, form: Any, what: str) -> None:
    """Whether data has a form: a type or one of several, the pattern of a text, a rule, a list or an object of such."""
    right: Any = True
    if isinstance(form, dict):
        closed(told, set(form), what)
        for name, value in told.items():
            shaped(value, form[name], f"{name} of {what}")
    elif isinstance(form, list):
        right = isinstance(told, list)
        for each in told if right else ():
            shaped(each, form[0], what)
    elif isinstance(form, str):
        right = type(told) is str and re.fullmatch(form, told, re.ASCII) is not None
    elif isinstance(form, type | tuple):
        right = type(told) in (form if isinstance(form, tuple) else (form,))
    elif form is not None:  # a rule, which may say more itself; of what is looked at elsewhere there is none
        right = form(told)
    if right is False:
        raise Broken(f"{what} is invalid, or not {'a list of texts' if form == [str] else 'of its type'}")


def maybe(form: Any) -> Any:
    def rule(told: Any) -> None:
        if told is not None:
            shaped(told, form, "what is stored")

    return rule


def loss(event: dict[str, Any]) -> Loss:
    """What an event costs, by its mathematics alone; a refinement costs here what its noise alone costs."""
    kind, none = event["kind"], Fraction(0)
    closed(event, EVENTS.get(kind, set(event)), "an event")
    if kind == "together":
        parts = [loss(part) for part in event["events"]]
        pure = [part[0] for part in parts]
        if sum(len(str(value)) for part in event["events"] for value in part.values() if type(value) is str) > 200_000:
            raise Open("too many long numbers to add up")
        total = None if None in pure else sum((each or none for each in pure), none)
        return total, sum((part[1] for part in parts), none), sum((part[2] for part in parts), none)
    if kind == "refined":  # less noise than what it refines
        positive(ratio(event["earlier"]) - ratio(event["scale"]))
    if kind in ("laplace", "refined", "threshold"):
        epsilon = positive(whole(event["l1"])) / positive(ratio(event["scale"]))
        return epsilon, epsilon**2 / 2, positive(ratio(event["delta"])) if kind == "threshold" else none
    if kind == "gaussian":
        return None, positive(whole(event["l2_squared"])) / (2 * positive(ratio(event["sigma2"]))), none
    if kind in CHOICES:
        epsilon = positive(ratio(event["epsilon"]))
        return epsilon, epsilon**2 / CHOICES[kind], none
    if kind == "ladder":
        decay = positive(ratio(event["decay"]))
        return ladder(decay, whole(event["step"]), whole(event["floor"])), decay**2 / 2, none
    if kind == "top-k":
        epsilon, choices = positive(ratio(event["epsilon"])), positive(whole(event["choices"]))
        return choices * epsilon, choices * epsilon**2 / 8, positive(ratio(event["delta"]))
    if kind == "weighted-threshold":
        rho = positive(whole(event["l2_squared"])) / (2 * positive(ratio(event["sigma2"])))
        pure = event["epsilon"]
        return None if pure is None else positive(ratio(pure)), rho, positive(ratio(event["delta"]))
    if kind == "reserved":
        pure, rho = event["epsilon"], positive(ratio(event["rho"]))
        if pure is not None and rho != positive(ratio(pure)) ** 2 / 2:
            raise Broken("the rho of a reservation does not match its epsilon")
        return None if pure is None else ratio(pure), rho, ratio(event["delta"])
    raise Open(f"an unknown kind of event: {kind}")


def ladder(decay: Fraction, step: int, floor: int) -> Fraction:
    """The epsilon of rungs at least `floor` wide, which move by `step`: one rung, and what the sum of weights moves."""
    far = positive(floor) + positive(step) * (1 / decay - Fraction(1, 2)) + decay / 2
    return decay + step * (6 * far + step) / (far * (6 * far + 4 * step))


def divergences(event: dict[str, Any]) -> list[Fraction]:
    """What an event costs as a Rényi divergence of each of ORDERS, rounded up: the least of what is known.

    Order a of a rho-zCDP step: a rho. Of an epsilon-DP step: that of a coin that tells the truth with odds e^epsilon,
    which every such step is made of. Of discrete Laplace noise: from its own sum over all whole numbers.
    """
    if event["kind"] == "together":
        return [sum(each, Fraction(0)) for each in zip(*(divergences(part) for part in event["events"]), strict=True)]
    epsilon, rho, _ = loss(event)
    bounds = [[order * rho for order in ORDERS]]
    if epsilon is not None:
        choices = whole(event["choices"]) if event["kind"] == "top-k" else 1
        bounds.append([choices * coin(epsilon / choices, order) for order in ORDERS])
    if event["kind"] in ("laplace", "refined", "threshold"):
        bounds.append([laplace(ratio(event["scale"]), whole(event["l1"]), order) for order in ORDERS])
    return [min(each) for each in zip(*bounds, strict=True)]


@lru_cache(4096)
def coin(epsilon: Fraction, order: int) -> Fraction:
    """ln(cosh((order - 1/2) epsilon) / cosh(epsilon / 2)) / (order - 1), rounded up."""
    far = 1 + power(-(2 * order - 1) * epsilon, up=True)
    near = 1 + power(-epsilon, up=False)
    return min(epsilon, epsilon + (logarithm(far, up=True) - logarithm(near, up=False)) / (order - 1))


@lru_cache(4096)
def laplace(scale: Fraction, l1: int, order: int) -> Fraction:
    """Of noise with mass in proportion to r^|k|, r = e^(-1 / scale), against the same moved by l1, rounded up.

    Below both centres the ratio of the masses is at its largest, above both at its smallest, and between it falls by a
    factor r^2 from one whole number to the next: three geometric series.
    """
    epsilon, step = l1 / scale, power(-1 / scale, up=True)
    inner = power(-(2 * order - 1) / scale, up=True)  # from one whole number to the next, to this order
    if step >= 1 or inner >= 1:
        return coin(epsilon, order)
    low = power(-1 / scale, up=False)
    weight = min(Fraction(1), (1 + (1 - low) * inner / (1 - inner)) / (1 + low))
    moment = weight + (1 - weight) * power(-(2 * order - 1) * epsilon, up=True)
    return epsilon + logarithm(moment, up=True) / (order - 1)


def at_order(divergence: Fraction, order: int, delta: Fraction) -> Fraction:
    """An epsilon that a Rényi divergence of an order implies at this delta, rounded up."""
    b = Fraction(order - 1)
    tail = logarithm(1 / delta, up=True) + order * logarithm(b / order, up=True) - logarithm(b, up=False)
    return max(Fraction(0), divergence + tail / b)


def positive(value: Any) -> Fraction:
    if value <= 0:
        raise Broken("a number must be above 0")
    return Fraction(value)


def as_text(parts: Loss) -> dict[str, Any]:
    return {
        name: None if part is None else f"{part.numerator}/{part.denominator}"
        for name, part in zip(("epsilon", "rho", "delta"), parts, strict=True)
    }


def decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def power(value: Fraction, *, up: bool) -> Fraction:
    """A bound on e to the value. `exp` is rounded to the nearest whatever is asked: one step further is a bound."""
    context = UP if up else DOWN
    near = decimal(min(max(value, Fraction(-10_000)), Fraction(10_000)), context).exp(context)
    found = Fraction(context.next_plus(near) if up else context.next_minus(near))
    return max(found, Fraction(0))


def threshold_delta(scale: Fraction, keys: int, threshold: int) -> Fraction:
    """At least the chance that any of one person's `keys` new keys shows: 1 - (1 - p)^keys <= keys p.

    p = P(1 + X >= threshold) = r^(threshold - 1) / (1 + r), r = e^(-1 / scale), for discrete Laplace noise X.
    """
    chance = power(-(threshold - 1) / scale, up=True) / (1 + power(-1 / scale, up=False))
    hidden, base, left = Decimal(1), decimal(1 - chance, DOWN), keys
    while left:
        hidden = DOWN.multiply(hidden, base) if left & 1 else hidden
        base, left = DOWN.multiply(base, base), left >> 1
    hidden = hidden if hidden > Decimal("1e-100") else Decimal(0)
    return max(min(1 - Fraction(hidden), keys * chance), FEW)


def weights(keys: int) -> list[tuple[int, int]]:
    """What a person adds to each of their keys, by how many these are at most: at most WEIGHT / sqrt(that number)."""
    ends, place = list(range(1, min(8, keys) + 1)), 1
    while ends[-1] < keys:
        ends.append(min(keys, max(ends[-1] + 1, round(8 * 2 ** (place / 4)))))
        place += 1
    return [(end, math.isqrt(WEIGHT**2 // end)) for end in ends]


def beyond(square: Fraction) -> Fraction:
    """At least half of erfc(x) for x^2 = square, which bounds P(X >= k) for discrete Gaussian noise, x = (k - 1/2) /
    (sigma sqrt 2): beyond sigma its law is convex, so a term is at most the integral around it.

    erf(x) = 2 x e^(-x^2) / sqrt(pi) (1 + 2 x^2 / 3 + (2 x^2)^2 / (3 * 5) + ...), each term rounded down; far out a
    partial sum of the asymptotic series that ends with a plus.
    """
    if square > 60:
        term = total = Fraction(1)
        for n in range(1, 21):
            term *= -(2 * n - 1) / (2 * square)
            total += term
        root = Fraction(DOWN.next_minus(decimal(square * PI, DOWN).sqrt(DOWN)))
        return total * power(-square, up=True) / root / 2
    twice, odd = decimal(2 * square, DOWN), 1
    sum_, term_ = Decimal(1), Decimal(1)
    while odd < 2 * twice or term_ > Decimal("1e-58"):
        odd += 2
        term_ = DOWN.divide(DOWN.multiply(term_, twice), Decimal(odd))
        sum_ = DOWN.add(sum_, term_)
    root = Fraction(DOWN.next_minus(decimal(4 * square / (PI + Fraction(1, 10**58)), DOWN).sqrt(DOWN)))
    return max(Fraction(0), (1 - Fraction(sum_) * power(-square, up=False) * root) / 2)


def covered(event: dict[str, Any], keys: int, threshold: int) -> None:
    """Keys by a threshold on weights with Gaussian noise: delta is the chance that one person's keys show, and a part
    for the noise, which pays for the epsilon that its rho implies.
    """
    sigma2, delta, chance = positive(ratio(event["sigma2"])), ratio(event["delta"]), FEW
    if whole(event["l2_squared"]) != WEIGHT**2 or threshold <= WEIGHT:
        raise Broken("weights that are not those of one person")
    for end, weight in weights(keys):
        square = (Fraction(threshold - weight) - Fraction(1, 2)) ** 2 / (2 * sigma2)
        if square < 1 or sigma2 < 64:
            raise Broken("a threshold that is too low for its noise")
        chance = max(chance, end * beyond(square))
    part = ratio(event["noise_delta"])
    agree(delta - part, chance)
    if (event["epsilon"] is None) != (part == 0) or part < 0:
        raise Broken("a delta for noise that has no epsilon")
    if part and converted(loss(event)[1], part) > positive(ratio(event["epsilon"])) * LOOSE:
        raise Broken("the epsilon of discovered keys does not follow from their noise distribution")


def logarithm(value: Fraction, *, up: bool) -> Fraction:
    """A bound on ln(value), as `power` is one on its inverse."""
    context = UP if up else DOWN
    near = decimal(value, context).ln(context)
    if not near:
        return Fraction(0)  # of 1, and exact
    return Fraction(context.next_plus(near) if up else context.next_minus(near))


@lru_cache(4096)
def converted(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon that rho-zCDP implies at this delta, rounded up. For every alpha > 1, with b = alpha - 1, one is

        alpha rho + (ln(1 / delta) + alpha ln(b / alpha) - ln(b)) / b,

    so a good alpha is looked for in floats, and what it gives is computed exactly.
    """

    def roughly(log: float) -> float:
        b = math.exp(log)
        return (1 + b) * float(rho) - (math.log(delta) + (1 + b) * math.log1p(1 / b) + log) / b

    low, high = -20.0, 40.0
    for _ in range(120):  # of three parts, the one beyond the worse end is left
        left, right = (2 * low + high) / 3, (low + 2 * high) / 3
        low, high = (low, right) if roughly(left) < roughly(right) else (left, high)
    b = Fraction(math.exp(low))
    tail = logarithm(1 / delta, up=True) + (1 + b) * logarithm(b / (1 + b), up=True) - logarithm(b, up=False)
    return max(Fraction(0), (1 + b) * rho + tail / b)


def implied(kind: str, total: Loss, orders: list[Fraction] | None, left: Fraction) -> list[Fraction]:
    """The epsilons that a loss implies, by each arm of an accounting that takes it. left: of delta, to convert with."""
    epsilon, rho, _ = total
    found = [epsilon] if kind != "zcdp" and epsilon is not None else []
    if kind != "pure" and left > 0:
        found.append(converted(rho, left * Fraction(3, 4) if kind == "renyi" else left))
    if kind == "renyi" and left > 0 and orders is not None:
        found += [at_order(lost, order, left / 16) for lost, order in zip(orders, ORDERS, strict=True)]
    return found


def agree(told: Fraction, found: Fraction) -> None:
    """A delta may be rounded up in its last digits, and no further."""
    if not found <= told <= found * CLOSE:
        raise Broken("the delta of discovered keys does not follow from their noise distribution")


def spread(total: int, most: int, cells: int) -> dict[str, int]:
    """`total` over at most `cells` cells, at most `most` in each: longest where it is heaped up."""
    full, rest = divmod(total, most)
    squared = min(full * most**2 + rest**2, cells * most**2)
    return {"l0": min(cells, total), "l1": min(total, cells * most), "l2_squared": squared, "linf": most}


def moves(
    statistic: list[Any], rows: int, touched: int, terms: dict[str, Any] | None, heaped: int = 0
) -> dict[str, int]:
    """How far a statistic's cells move when one unit with `rows` rows, in at most `touched` cells, comes or goes.

    `heaped`: at most so many of them lie in one cell; 0: all.
    """
    heaped = heaped or rows
    kind = statistic[0]
    if len(statistic) != {"sum": 5, "distinct": 3}.get(kind, 2):
        raise Broken("a statistic has unknown or missing members")
    if kind == "persons":  # one for each cell that the unit is in
        return {"l0": touched, "l1": touched, "l2_squared": touched, "linf": 1}
    if kind in ("rows", "distinct"):  # one for each row
        return spread(rows, heaped, touched)
    if kind != "sum" or terms is None:
        raise Open(f"an unknown kind of statistic: {kind}")
    centre, grain = whole(statistic[2]), whole(statistic[3])
    if terms["low"] is None or terms["high"] is None or grain < 1:
        raise Broken("a sum without bounds")
    term = max(abs(terms["low"] - centre), abs(terms["high"] - centre), 1)
    cells = min(touched, rows * term)  # rounding down to grains moves a cell by at most one grain more
    total = rows * term if grain == 1 else rows * term // grain + cells
    return spread(total, -(-heaped * term // grain), cells)


def size_of(axis: Any) -> int:
    """How many cells an axis has: consecutive bins, in one of which each row lies; and NULL."""
    _, edges, null = axis
    if type(null) is not bool or len(edges) < 2 or any(whole(low) >= whole(high) for low, high in pairwise(edges)):
        raise Broken("bins that are not consecutive")
    return len(edges) - 1 + null


def read_of(of: Any, more: list[Any]) -> set[str]:
    """The columns of which a quantile, a sum or a number of different values is."""
    return columns(of[0]) if isinstance(of, list) else columns(more[0]) if of in ("sum", "distinct") else set()


def kinds(members: dict[str, str]) -> dict[str, set[str]]:
    """The members of an object of each kind, its kind among them."""
    return {kind: {"kind", *names.split()} for kind, names in members.items()}


SIZES = {"laplace": "scale", "gaussian": "sigma2"}
#: How bins are chosen, and how many of epsilon^2 are a rho.
CHOICES = {"exponential": 8, "permute-and-flip": 2}
#: The members of events, of laws, of strategies.
EVENTS = kinds(dict.fromkeys(CHOICES, "epsilon") | {
    "together": "events", "laplace": "scale l1", "refined": "earlier scale l1", "gaussian": "sigma2 l2_squared",
    "threshold": "scale l1 delta", "ladder": "decay step floor", "top-k": "choices epsilon delta",
    "weighted-threshold": "sigma2 l2_squared epsilon delta noise_delta", "reserved": "epsilon rho delta",
})  # fmt: skip
LAWS = kinds({f"discrete-{kind}": size for kind, size in SIZES.items()})
STRATEGIES = kinds({
    "identity": "size", "levels": "size levels", "groups": "groups count", "diagonal": "weights",
    "matrix": "cells entries", "merged": "groups inner", "stack": "parts", "product": "factors",
})  # fmt: skip


class Steps:
    """Every vector that was measured for one question, derived from its relation."""

    def __init__(self, question: dict[str, Any], relation: Relation) -> None:
        self.relation, self.keys, self.top = relation, question["keys"], question["top"]
        names = ("sets", "statistics", "quantiles")  # stored by what they are, not by where a text names them
        self.sets, self.statistics, self.quantiles = (sorted(question[name], key=text) for name in names)
        limit = relation.limit
        if limit is not None and (
            set(map(text, limit["keys"])) != set(map(text, self.keys))
            or not set(map(text, (axis for axes in self.sets for axis in axes))) <= set(map(text, limit["axes"]))
        ):
            raise Broken("a limit on other groups than those that are counted")
        read = [read_of(of, more) | tested(more[-1]) for of, *more in (*self.statistics, *self.quantiles)]
        if limit is not None and limit["columns"] != sorted(set().union(*read)):
            raise Broken("a limit that orders a person's rows by other columns than are counted")

    def of(self, stored: dict[str, Any], told: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The steps of one stored measurement. `told` is asked for a margin alone, which its delta then confirms."""
        events, found = parted(stored["event"]), []
        keys = [part for part in stored["parts"] if part["kind"] == "keys"]
        if len(keys) != bool(self.keys):
            raise Broken("keys that no step discovered, or a step that discovers keys that the query does not ask for")
        self.found = len(keys[0]["keys"]) if keys else 1
        for place, part in enumerate(stored["parts"]):
            if part["kind"] == "cells":
                for vector in range(len(part["statistics"])):
                    found.append({"part": place, "vector": vector} | self.vector(part, vector, events.pop(0)))
            else:
                one = self.quantile if part["kind"] == "bins" else self.discovered
                found.append({"part": place} | one(part, events.pop(0), told[len(found)]))
        if events:
            raise Broken("an event without a drawn number")
        return found

    def groups(self, place: int) -> int:
        if whole(place) < 0:
            raise Broken("a set that the query does not have")
        return math.prod(map(size_of, self.sets[place]))

    def touched(self, keys: list[Any], groups: int | None) -> tuple[bool, int]:
        """In how many groups the rows of one unit can lie: one, where the keys are constant over them."""
        constant = all(columns(key) <= self.relation.constant for key in keys)
        limit = None if self.relation.limit is None else self.relation.limit["limit"][0]
        return constant, 1 if constant else min(e for e in (self.relation.rows, groups, limit) if e is not None)

    def heaped(self, cut: list[Any]) -> int:
        """How many rows of one unit lie in one group: a limit is one for groups by all of its axes, each with its bins,
        and by all of its keys.
        """
        limit = self.relation.limit
        if limit is None or limit["limit"][1] is None:
            return self.relation.rows
        whole_rows = not set(map(text, [*limit["axes"], *limit["keys"]])) <= set(map(text, cut))
        return self.relation.rows if whole_rows else min(self.relation.rows, limit["limit"][1])

    def vector(self, part: dict[str, Any], vector: int, event: dict[str, Any]) -> dict[str, Any]:
        place, number, law = part["place"], part["statistics"][vector], part["laws"][vector]
        if number < 0:
            raise Broken("numbers that belong to no statistic")
        statistic, groups = self.statistics[number], None if self.keys else self.groups(place)
        keys = [axis[0] for axis in self.sets[place]] + self.keys
        constant, touched = self.touched(keys, groups)
        cut = [*self.sets[place], *self.keys]
        terms = derive(statistic[1], self.relation.known) if statistic[0] == "sum" else None
        numbers, heaped = self.found * self.groups(place), self.heaped(cut)
        far = moves(statistic, min(self.relation.rows, touched * heaped), touched, terms, heaped)
        drawn = {"kind": "laplace", "scale": event["scale"], "l1": event["l1"]} if event["kind"] == "refined" else event
        laplace = {"kind": "laplace", "scale": law.get("scale"), "l1": far["l1"]}
        gaussian = {"kind": "gaussian", "sigma2": law.get("sigma2"), "l2_squared": far["l2_squared"]}
        if {"discrete-laplace": laplace, "discrete-gaussian": gaussian}.get(law["kind"]) != drawn:
            raise Broken("the event does not match this noise distribution and this sensitivity")
        if len(part["noisy"][vector]) != numbers:
            raise Broken("the number of noisy numbers differs from the number of cells")
        named = {"kind": "noise", "set": place, "statistic": number, "numbers": numbers, "groups": groups}
        return named | {"constant": constant, "touched": touched, "terms": terms, "law": law, "event": event} | far

    def quantile(self, part: dict[str, Any], event: dict[str, Any], _: Any) -> dict[str, Any]:
        """Choices of an estimate and, if it has an interval, of its two ends; a row moves a score by at most
        max(a, b - a) b-ths of a rank, for a / b.
        """
        axis, fraction, _where = self.quantiles[part["quantile"]]
        bins, (a, b) = size_of(axis), ratio(fraction).as_integer_ratio()
        drawn = event["events"] if event["kind"] == "together" else []
        rates = [ratio(each["epsilon"]) for each in drawn if each["kind"] == drawn[0]["kind"] in CHOICES]
        if (len(drawn) == 1) != (ratio(part["confidence"]) == 0):
            raise Broken("an invalid confidence")
        if len(drawn) == 1 and any(len(set(each)) > 1 for each in part["noisy"]):
            raise Broken("a quantile without an interval has ends")
        if len(rates) != len(drawn) or len(drawn) not in (1, 3) or len(set(rates[1:])) > 1:
            raise Broken("a quantile needs one choice, or one and two for the ends of its interval, of one kind")
        if len(part["noisy"]) != self.found * self.groups(part["place"]) or whole(part["quantile"]) < 0:
            raise Broken("the number of quantiles differs from the number of groups")
        if not all(len(each) == 3 and 0 <= min(map(whole, each)) <= max(each) < len(axis[1]) for each in part["noisy"]):
            raise Broken("a quantile outside all bins")
        named = {"kind": "quantile", "set": part["place"], "quantile": part["quantile"], "numbers": len(part["noisy"])}
        rows = self.relation.rows
        return named | {"bins": bins, "rows": rows, "score": rows * max(a, b - a), "event": event}

    def discovered(self, part: dict[str, Any], event: dict[str, Any], told: Any) -> dict[str, Any]:
        """Keys by a threshold on noisy numbers of persons, or by exponential choices against a stop."""
        _, most = self.touched(self.keys, None)
        if any(len(key) != len(self.keys) for key in part["keys"]):
            raise Broken("a key must have a text, a whole number or NULL for each key of the query")
        if len(part["noisy"]) != (0 if part["answers"] is None else len(part["keys"])):
            raise Broken("the number of noisy numbers differs from the number of keys")
        named = {"numbers": len(part["keys"]), "touched": most, "event": event}
        if event["kind"] == "threshold":
            scale, threshold, answers = positive(ratio(event["scale"])), whole(part["threshold"]), part["answers"]
            law = None if answers is None else {"kind": "discrete-laplace", "scale": event["scale"]}
            counted = [["persons", TRUE], ["rows", TRUE]] if self.relation.rows == 1 else [["persons", TRUE]]
            strange = answers is not None and self.statistics[answers] not in counted
            if event["l1"] != most or threshold < 2 or part["law"] != law or strange:
                raise Broken("a threshold that does not match the sensitivity of the number of persons")
            if any(each < threshold for each in part["noisy"]):
                raise Broken("a key is shown although its noisy number is below the threshold")
            agree(ratio(event["delta"]), threshold_delta(scale, most, threshold))
            return {"kind": "threshold", "threshold": threshold, "answers": answers} | named
        if event["kind"] == "weighted-threshold":
            threshold = whole(part["threshold"])
            if [part[name] for name in ("answers", "law")] != [None] * 2 or part["noisy"]:
                raise Broken("weights of keys are not released, but there are some")
            covered(event, most, threshold)
            return {"kind": "weighted-threshold", "threshold": threshold} | named
        if event["kind"] != "top-k" or event["choices"] != self.top or len(part["keys"]) > self.top:
            raise Broken("keys were found neither by a threshold nor by selecting the most common")
        if [part[name] for name in ("answers", "law", "threshold")] != [None] * 3 or part.get("cut"):
            raise Broken("selecting the most common keys releases no numbers, but there are some")
        candidates = max(self.top, 1000)
        strangers, margin = min(most, candidates), whole(told["margin"])
        if margin < 1:
            raise Broken("the margin of selecting the most common keys is below 1")
        # The chance that the stop is beaten where a person joins, and where one is changed, of which half is charged.
        apart = (Fraction(10_000), ratio(event["epsilon"]) * (margin - 1), ratio(event["epsilon"]) * max(margin - 2, 0))
        joined, changed = (strangers / (strangers + power(min(apart[0], far), up=False)) for far in apart[1:])
        least = max(joined, FEW)
        agree(ratio(event["delta"]), least if ratio(event["delta"]) <= least * CLOSE else max(least, changed / 2))
        return {"kind": "top-k", "margin": margin, "candidates": candidates} | named


def parted(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of the steps; a quantile's choices are one of them."""
    inside = event["events"] if event["kind"] == "together" else [event]
    return [event] if event["kind"] == "together" and all(part["kind"] in CHOICES for part in inside) else inside[:]


def noise_of(event: dict[str, Any], l1: int, l2_squared: int) -> dict[str, Any]:
    """The event of this noise on what moves so far."""
    kind = event["kind"]
    if kind not in SIZES:
        raise Broken("a step that is neither noise nor a choice")
    return {"kind": kind, SIZES[kind]: event[SIZES[kind]]} | (
        {"l1": l1} if kind == "laplace" else {"l2_squared": l2_squared}
    )


def check_noise(events: list[Any], noisy: Any, moved: list[tuple[int, int, int]]) -> None:
    """Each event is that of noise on what moves so far, and each vector has as many numbers as were measured.

    moved: of each vector how many numbers it has, and how far a unit moves them: in sum, in squared length.
    """
    if not isinstance(noisy, list) or not len(events) == len(noisy) == len(moved):
        raise Broken("the number of events or of noisy vectors differs from what was measured")
    for event, vector, (count, l1, l2_squared) in zip(events, noisy, moved, strict=True):
        if event != noise_of(event, l1, l2_squared):
            raise Broken("the noise covers less than one unit")
        if len(numbers(vector)) != count:
            raise Broken("the number of noisy numbers differs from what was measured")


def hashed(values: list[int]) -> str:
    return hashlib.sha256(struct.pack(f"<{len(values)}q", *values)).hexdigest()


def digest(data: Any) -> str:
    return hashlib.sha256(text(data).encode()).hexdigest()


def question_digest(asked: dict[str, Any]) -> str:
    """What stands for a question, in whatever order its parts were named."""
    sets, keys, statistics, quantiles = (
        sorted(asked[name], key=text) for name in ("sets", "keys", "statistics", "quantiles")
    )
    groups = digest([asked["plan"], sets, keys, asked["top"]])
    return groups[:16] + digest([groups, statistics, quantiles])


def small(size: Any) -> int:
    if not 0 < whole(size) <= MOST_CELLS:
        raise Open("a strategy with too many cells")
    return int(size)


def numbers(told: Any) -> list[int]:
    """A list of whole numbers, as it is or packed: little-endian, compressed, base 64."""
    if isinstance(told, list):
        return [whole(each) for each in told]
    closed(told, {"type", "data"}, "a packed list")
    size, letter = {"<i1": (1, "b"), "<i2": (2, "h"), "<i4": (4, "i"), "<i8": (8, "q")}[told["type"]]
    raw = unpacked(told["data"], size * MOST_CELLS, Open)
    if len(raw) % size:
        raise Broken("packed numbers are cut off")
    return list(struct.unpack(f"<{len(raw) // size}{letter}", raw))


def unpacked(text: str, most: int, too_long: type[Exception]) -> bytes:
    """What is stored compressed, in base 64, with nothing after it."""
    unpacking, packed = zlib.decompressobj(), base64.b64decode(text, validate=True)
    try:
        raw = unpacking.decompress(packed, most + 1)
    except zlib.error:
        raise Broken("what is packed cannot be unpacked") from None
    if len(raw) > most:
        raise too_long("what is packed is too long to be unpacked here")
    if not unpacking.eof or unpacking.unused_data or base64.b64encode(packed).decode() != text:
        raise Broken("what is packed is cut off, or followed by something else")
    return raw
