"""What is computed from several noisy numbers: rules written once as trees, what they give, and who may choose what.

A tree is ["+", tree, tree], ["sqrt", tree] and so on, over statistics and numbers. AGGREGATES are the only ones that
name a statistic twice. A query's own formula names each of them once, and numbers of the query's text: so nothing but
noise can be computed from noise. Values are those of IEEE floats; NULL is NaN.
"""

import math
import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from operator import add, mul, sub
from typing import Any

from measured import ratio
from relation import Broken, Node, Open, columns, derive, hull, only, step, text, whole

NUMBERS = ("integer", "decimal")
NULL, ANY = math.nan, (-math.inf, math.inf)
Ends = tuple[float, float]

ROWS = ["greatest", "rows", 1.0]


def mean(of: str) -> Any:
    return ["within", ["/", ["*", f"grain of {of}", of], ROWS], f"low of {of}", f"high of {of}"]


def level(of: str) -> Any:
    return ["+", f"centre of {of}", mean(of)]


def spread(of: str) -> Any:
    return ["-", mean(2 * of), ["*", mean(of), mean(of)]]


def bounded(of: str) -> Any:
    return ["within", spread(of), 0.0, f"quarter of {2 * of}"]


OF_SAMPLE = ["+", 1.0, ["/", 1.0, ["greatest", ["+", -1.0, "rows"], 1.0]]]
VARIANCE = ["*", "squared step", bounded("x")]
SAMPLE_VARIANCE = ["*", "squared step", ["within", ["*", spread("x"), OF_SAMPLE], 0.0, "half of xx"]]
JOINT = ["-", mean("xy"), ["*", mean("x"), mean("y")]]
OF_BOTH = ["*", JOINT, OF_SAMPLE]
CORRELATION = ["within", ["/", JOINT, ["*", ["sqrt", bounded("x")], ["sqrt", bounded("y")]]], -1.0, 1.0]
SLOPE = ["/", JOINT, bounded("x")]
PAIRS = ("rows", "x", "xx", "y", "yy", "xy")
#: Of each aggregate the statistics that it is told with (sums of x, of its squares, of products), and its tree.
AGGREGATES: dict[str, tuple[tuple[str, ...], Any]] = {
    "average": (("x", "rows"), ["*", "step", level("x")]),
    "var_pop": (("rows", "x", "xx"), VARIANCE),
    "var_samp": (("rows", "x", "xx"), SAMPLE_VARIANCE),
    "stddev_pop": (("rows", "x", "xx"), ["sqrt", VARIANCE]),
    "stddev_samp": (("rows", "x", "xx"), ["sqrt", SAMPLE_VARIANCE]),
    "covar_pop": (("rows", "x", "y", "xy"), ["*", "step", ["within", JOINT, "-quarter of xy", "quarter of xy"]]),
    "covar_samp": (("rows", "x", "y", "xy"), ["*", "step", ["within", OF_BOTH, "-half of xy", "half of xy"]]),
    "corr": (PAIRS, CORRELATION),
    "regr_r2": (PAIRS, ["*", CORRELATION, CORRELATION]),
    "regr_slope": (("rows", "x", "xx", "y", "xy"), ["*", "step", SLOPE]),
    "regr_intercept": (("rows", "x", "xx", "y", "xy"), ["*", "step", ["-", level("y"), ["*", SLOPE, level("x")]]]),
}
#: In which units the value of an aggregate is, as powers of those of x and y; of others in those of x.
UNITS = {
    "covar_pop": (1, 1), "covar_samp": (1, 1), "corr": (0, 0), "regr_r2": (0, 0), "regr_slope": (-1, 1),
    "regr_intercept": (0, 1),
}  # fmt: skip


def guarded(function: Callable[[float], float], least: float) -> Callable[[float], float]:
    """A function that is NULL below its domain and beyond all floats."""

    def value(of: float) -> float:
        try:
            return function(of) if of >= least else NULL
        except OverflowError:
            return NULL

    return value


def rounded(of: float, places: float = 0.0) -> float:
    """To so many decimals, halves away from zero."""
    power = 10.0 ** abs(int(places))
    scaled = abs(of) * power if places >= 0 else abs(of) / power
    many = math.floor(scaled + 0.5) if math.isfinite(scaled) else scaled
    return math.copysign(many / power if places >= 0 else many * power, of)


def present(choose: Any) -> Callable[..., float]:
    """The least or the largest of the values that are not NULL."""
    return lambda *values: choose((each for each in values if each == each), default=NULL)


LOGARITHMS = {"ln": math.log, "log2": math.log2, "log10": math.log10}
#: How many arguments each has, 0: any number, and its value.
RULES: dict[str, tuple[int, Callable[..., float]]] = {
    "+": (2, add), "-": (2, sub), "*": (2, mul), "/": (2, lambda one, two: one / two if two else NULL),
    "within": (3, lambda of, low, high: min(max(of, low), high)), "abs": (1, abs), "round": (0, rounded),
    "nullif": (2, lambda one, two: NULL if one == two else one), "least": (0, present(min)),
    "coalesce": (0, present(lambda values, default: next(values, default))), "greatest": (0, present(max)),
    **{name: (1, guarded(function, 5e-324)) for name, function in LOGARITHMS.items()},
    "sqrt": (1, guarded(math.sqrt, 0)), "exp": (1, guarded(math.exp, -math.inf)),
    "floor": (1, lambda of: float(math.floor(of)) if math.isfinite(of) else of),
    "ceil": (1, lambda of: float(math.ceil(of)) if math.isfinite(of) else of),
}  # fmt: skip
#: Functions whose last place may differ between two machines.
ROUGH = {"exp", *LOGARITHMS}


def evaluated(tree: Any, numbers: Callable[[int], float]) -> float:
    """The value of a tree of one group, by its noisy numbers."""
    if isinstance(tree, float):
        return tree
    kind, *parts = tree
    return numbers(parts[0]) if kind == "statistic" else RULES[kind][1](*(evaluated(part, numbers) for part in parts))


def values(tree: Any, numbers: Callable[[int], float]) -> list[float]:
    """The value of a tree; some, where machines may differ."""
    value = evaluated(tree, numbers)
    if value != value or not any(f'"{name}"' in text(tree) for name in ROUGH):
        return [value]
    return [value + turn * math.ulp(value) for turn in range(-4, 5)]


def bounds(tree: Any) -> Ends:
    """Between what a tree lies whatever its noisy numbers are: where there is nobody, a mean is passed over."""

    def known(part: Any) -> Ends | None:
        if part[0] == "coalesce":
            there = up_to(part[1:], lambda each: not nullable(each) and "within" not in text(each))
            return hull(*zip(*(bounds(each) for each in there), strict=True))
        return ANY if part[0] == "statistic" else None

    return enclosed(tree, known)


def limits(tree: Any) -> list[float] | None:
    """The same, where it has two ends."""
    least, most = bounds(tree)
    return [least, most] if least != most and math.isfinite(least) and math.isfinite(most) else None


def up_to(parts: list[Any], is_last: Callable[[Any], bool]) -> list[Any]:
    """Some parts up to the first one that is the last, or all."""
    return parts[: next((place for place, part in enumerate(parts, 1) if is_last(part)), len(parts))]


def is_mean(tree: Any) -> bool:
    """A sum by a number of rows, which is taken as 1 at least."""
    return isinstance(tree, list) and tree[0] == "within" and tree[1][0] == "/" and tree[1][2][0] == "greatest"


def nullable(tree: Any) -> bool:
    """Whether a tree can be NULL for some noisy numbers."""
    if isinstance(tree, float) or tree[0] == "statistic" or is_mean(tree):
        return False
    several = tree[0] in ("coalesce", "least", "greatest")
    parts = map(nullable, tree[1:])
    return tree[0] in ("/", "sqrt", "exp", "nullif", *LOGARITHMS) or (all(parts) if several else any(parts))


def enclosed(tree: Any, ends: Callable[[Any], Ends | None]) -> Ends:
    """Between what a tree lies, by interval arithmetic, where some of its parts lie between ends of their own."""
    if isinstance(tree, float):
        return tree, tree
    if (own := ends(tree)) is not None:
        return own
    kind, *parts = tree
    of = [enclosed(part, ends) for part in parts]
    low, high = of[0]
    if kind in ("nullif", "coalesce"):
        there = up_to(parts, lambda part: kind == "nullif" or not nullable(part))
        return hull(*zip(*of[: len(there)], strict=True))
    if kind in ("least", "greatest"):  # NULL is passed over: only what is never NULL is sure to be compared
        sure = [ends_ for part, ends_ in zip(parts, of, strict=True) if not nullable(part)]
        low, high = hull(*zip(*of, strict=True))
        least = low if kind == "least" else max((one for one, _ in sure), default=low)
        return least, high if kind == "greatest" else min((two for _, two in sure), default=high)
    if kind == "sqrt":
        of = [(max(low, 0.0), max(high, 0.0))]
    if kind == "abs" or (kind == "*" and parts[0] == parts[1]):
        far, near = max(abs(low), abs(high)), 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return (near, far) if kind == "abs" else (near**2, far**2)
    if kind == "/":  # across 0 anything, and from 0 on without an end
        kind, (least, most) = "*", of[1]
        turned = (1 / most if most else -math.inf, 1 / least if least else math.inf)
        of = [of[0], ANY if least < 0 < most or least == most == 0 else turned]
    # A function rises with its first part; it has no other that is noisy, or rises with each.
    pairs = product(*of) if kind in "+-*" else zip(*of, strict=True)
    corners = [0.0 if kind == "*" and 0.0 in pair else RULES[kind][1](*pair) for pair in pairs]
    return ANY if any(each != each for each in corners) else (min(corners), max(corners))


class Formulas:
    """The formulas of a question: its statistics as they are stored, what bounds hold, and the numbers in its text."""

    def __init__(self, statistics: list[Any], known: Node, own: Node, schemas: Node, words: str) -> None:
        self.statistics, self.known, self.named = statistics, known, own
        named = [each for told in schemas.values() for each in told["declared"].get("columns", {}).values()]
        steps = {Fraction(1)} | {step(each) for each in named if each["type"] == "decimal"}
        self.steps = combined(steps)
        self.literals = Counter(map(Fraction, re.findall(r"\d+(?:\.\d+)?", words)))

    def steps_of(self, of: Node) -> set[Fraction]:
        """The grids that an expression can have: that of its column, or of two of several multiplied or divided."""
        own = [self.named[name] for name in columns(of) if name in self.named]
        return self.grids(of) or combined({Fraction(1)} | {step(each) for each in own if each["type"] == "decimal"})

    def grids(self, of: Node) -> set[Fraction] | None:
        """The grids that sums and products of declared columns of numbers can have; None where more may be.

        A whole number stands on any grid, and may be what brings a factor to that of another column.
        """
        kind, parts = only(of)
        if kind == "column":
            plain = self.named.get(parts, {"type": "text"})
            return {step(plain)} if plain["type"] in ("integer", "decimal") else None
        if kind == "over":  # a whole number may be a literal, or bring the other to a grid
            above, below = ({Fraction(1)} if "whole" in part else self.grids(part) for part in parts[:2])
            return None if above is None or below is None else {one / two for one in above for two in below}
        if kind not in ("plus", "times"):
            return None
        sizes = [abs(part["whole"][0]) or 1 for part in parts if "whole" in part]
        found = [self.grids(part) for part in parts if "whole" not in part]
        if not found or None in found:
            return None
        first, *rest = [each for each in found if each is not None]
        if kind == "plus":
            return first.intersection(*rest)
        products = {one * two for one in first for two in (rest[0] if rest else {Fraction(1)})}
        return products | {one / size for one in products for size in sizes}

    def united(self, tree: Any) -> Any:
        """A tree in which a sum, in the units of what is summed, is one leaf: its factor is no number of the query."""
        match tree:
            case ["*", ["number", size], ["statistic", number]] if self.statistics[number][0] == "sum":
                _, of, _, grain, _ = self.statistics[number]
                if ratio(size) / grain in self.steps_of(of):
                    return ["sum", number, size]
        return [self.united(part) if isinstance(part, list) else part for part in tree]

    def read(self, tree: Any) -> Any:
        """A formula's tree over statistics and numbers alone."""
        leaves: list[Any] = []
        found = self.part(tree, leaves)
        if leaves == [tree] and tree[0] == "statistic":
            raise Broken("a noisy number that is marked as computed from several")
        named = Counter(text(each) for each in leaves if each[0] != "number")
        numbers = Counter(abs(ratio(each[1])) for each in leaves if each[0] == "number")
        if not named or max(named.values()) > 1 or numbers - self.literals:
            raise Open("numbers are computed by a formula that only the query's text explains")
        return found

    def part(self, tree: Any, leaves: list[Any]) -> Any:
        kind, *parts = tree
        if kind in ("statistic", "number", "sum", *AGGREGATES):
            leaves.append(tree)
        if kind == "sum":
            if self.united(["*", ["number", parts[1]], ["statistic", self.statistic(parts[0])]]) != tree:
                raise Broken("a sum in other units than those of its column")
            return ["*", float(ratio(parts[1])), ["statistic", self.statistic(parts[0])]]
        if kind == "statistic":
            return [kind, self.statistic(*parts)]
        if kind == "number":
            return float(ratio(*parts))
        if kind in AGGREGATES:
            roles, rule = AGGREGATES[kind]
            return filled(rule, self.aggregate(kind, dict(zip((*roles, "size"), parts, strict=True))))
        if kind not in RULES or kind == "within" or len(parts) != (RULES[kind][0] or len(parts)) or not parts:
            raise Broken("a formula with unknown or missing parts")
        if kind == "coalesce" and kind in text(parts):
            raise Open("coalesce inside of coalesce is not followed here")
        return [kind, *(self.part(part, leaves) for part in parts)]

    def statistic(self, number: Any) -> int:
        if not 0 <= whole(number) < len(self.statistics):
            raise Broken("a formula of a statistic that the query does not have")
        return int(number)

    def never_negative(self, number: int) -> bool:
        kind, *more = self.statistics[number]
        return kind != "sum" or bool(derive(more[0], self.known)["low"] >= more[1])

    def aggregate(self, kind: str, told: Node) -> Node:
        """What the tree of an aggregate is filled with: its statistics, their bounds and their grains."""
        one, rows = ratio(told.pop("size")), told["rows"]
        counted, *over = self.statistics[self.statistic(rows)]
        if counted != "rows":
            raise Broken("a mean that is not over a number of rows")
        named: Node = {"rows": ["statistic", rows], "step": one, "squared step": one**2}
        for role in sorted(told.keys() - {"rows"}, key=len):  # sums before those of products
            kind_, of, centre, grain, where = (*self.statistics[self.statistic(told[role])], *[None] * 3)[:5]
            if kind_ != "sum":
                raise Broken("a mean that is not of a sum")
            named |= {role: ["statistic", told[role]], f"grain of {role}": grain}
            if len(role) == 1:
                named |= self.mean(role, of, centre, self.meets(over[0], where, of))
                continue
            first, second = (self.statistics[told[each]] for each in role)
            away = [{"plus": [each[1], {"whole": [-each[2]]}]} if each[2] else each[1] for each in (first, second)]
            is_product = of in ({"times": away}, {"times": away[::-1]}) and first[-1] == second[-1] == where
            if centre != 0 or not is_product:
                raise Broken("a variance by something other than the products of what is summed")
            ends = [[named[f"{end} of {each}"] for end in ("low", "high")] for each in role]
            corners = [one_ * two for one_ in ends[0] for two in ends[1]]
            reach = Fraction((ends[0][1] - ends[0][0]) * (ends[1][1] - ends[1][0]))
            low = 0 if role[0] == role[1] else min(*corners, 0)
            named |= {f"low of {role}": low, f"high of {role}": max(*corners, 0)}
            for part, much in (("quarter", reach / 4), ("half", reach / 2)):
                named |= {f"{part} of {role}": much, f"-{part} of {role}": -much}
        summed = [self.statistics[told[role]][1] for role in ("x", "y") if role in told]
        grids = [self.steps_of(of) for of in summed]
        power, other = UNITS.get(kind, (1, 0))
        units = {x**power * y**other for x in grids[0] for y in grids[-1]}
        if one not in units:
            if all(self.named.get(of.get("column"), {}).get("type") in NUMBERS for of in summed):
                self.other_units(one / units.pop(), "mean")
            raise Open("a mean in units that only the query's text explains")
        return named

    def mean(self, role: str, of: Node, centre: int, is_where: bool) -> Node:
        """The bounds of what a sum is of, away from its centre."""
        terms = derive(of, self.known)
        if not is_where:
            raise Open("a mean over rows that only the query's text explains")
        low, high = terms["low"] - centre, terms["high"] - centre
        return {f"centre of {role}": centre, f"low of {role}": low, f"high of {role}": high}

    def meets(self, over: Any, where: Any, of: Node) -> bool:
        """Whether rows are counted where they are summed: under the same conditions, and where there is a value."""
        there, asked = ({text(each): each for each in every(test)} for test in (over, where))
        inside = there.keys() >= asked.keys() and all(
            self.not_null(each, of) for name, each in there.items() if name not in asked
        )
        own = set().union(*(without_null(each, of) for each in there.values()))
        return inside and (columns(of) if derive(of, self.known)["null"] else set[str]()) <= own

    def not_null(self, test: Any, of: Node) -> bool:
        """Whether a condition is that what is summed, or a column of it, has a value, whichever it is."""
        if isinstance(test, list):
            part, runs, null = {"column": test[0]}, *test[1:]
        else:
            part, (runs, null) = test.get("test", [None, [None, None]])
        if part != of and (not isinstance(test, list) or test[0] not in columns(of)):
            return False
        ends = derive(part, self.known)
        return null is False and runs == [[ends["low"], ends["high"] + 1]]

    def other_units(self, factor: Fraction, what: str) -> None:
        """A column in other units than its own is broken, unless a number of the text may say so."""
        sure = factor == 0 or not {factor, 1 / factor} & set(self.literals)
        raise (Broken if sure else Open)(f"a {what} in other units than those of its column")


def without_null(test: Any, of: Node) -> set[str]:
    """The columns of an expression that have a value wherever a condition holds."""
    if isinstance(test, list):
        return {test[0]} if test[2] is False else set()
    return columns(of) if test.get("test", [None])[0] == of and test["test"][1][1] is False else set()


def combined(steps: set[Fraction]) -> set[Fraction]:
    return {one * two for one in steps for two in steps} | {one / two for one in steps for two in steps}


def filled(tree: Any, named: Node) -> Any:
    """A rule with numbers and statistics in the place of their names."""
    if isinstance(tree, str):
        return named[tree] if isinstance(named[tree], list) else float(named[tree])
    if not isinstance(tree, list):
        return tree
    kind, *parts = tree[0], *(filled(part, named) for part in tree[1:])
    return parts[1] if [kind, parts[0]] in (["*", 1.0], ["+", 0.0]) else [kind, *parts]


def every(test: Any) -> list[Any]:
    """The conditions that must all hold."""
    return test["every"] if isinstance(test, dict) and "every" in test else [test]
