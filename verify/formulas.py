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
from typing import Any

from measured import ratio, text
from relation import Broken, Node, Open, columns, derive, only, step, whole

NULL, ANY = math.nan, (-math.inf, math.inf)
Ends = tuple[float, float]

ROWS = ["greatest", "rows", 1.0]
MEAN = ["within", ["/", ["*", "grain", "total"], ROWS], "low", "high"]
MEAN_SQUARE = ["within", ["/", ["*", "grain of squares", "squares"], ROWS], 0.0, "square"]
SPREAD = ["-", MEAN_SQUARE, ["*", MEAN, MEAN]]
OF_SAMPLE = ["*", SPREAD, ["+", 1.0, ["/", 1.0, ["greatest", ["+", -1.0, "rows"], 1.0]]]]
VARIANCE = ["*", "squared step", ["within", SPREAD, 0.0, "a quarter of the squared range"]]
SAMPLE_VARIANCE = ["*", "squared step", ["within", OF_SAMPLE, 0.0, "half of the squared range"]]
AGGREGATES = {
    "average": ["*", "step", ["+", "centre", MEAN]],
    "var_pop": VARIANCE,
    "var_samp": SAMPLE_VARIANCE,
    "stddev_pop": ["sqrt", VARIANCE],
    "stddev_samp": ["sqrt", SAMPLE_VARIANCE],
}


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


#: How many arguments each has, 0: any number, and its value.
RULES: dict[str, tuple[int, Callable[..., float]]] = {
    "+": (2, lambda one, two: one + two),
    "-": (2, lambda one, two: one - two),
    "*": (2, lambda one, two: one * two),
    "/": (2, lambda one, two: one / two if two else NULL),
    "within": (3, lambda of, low, high: min(max(of, low), high)),
    "abs": (1, abs),
    "nullif": (2, lambda one, two: NULL if one == two else one),
    "least": (0, present(min)),
    "greatest": (0, present(max)),
    "round": (0, rounded),
    "sqrt": (1, guarded(math.sqrt, 0)),
    "ln": (1, guarded(math.log, 5e-324)),
    "log2": (1, guarded(math.log2, 5e-324)),
    "log10": (1, guarded(math.log10, 5e-324)),
    "exp": (1, guarded(math.exp, -math.inf)),
    "floor": (1, lambda of: float(math.floor(of)) if math.isfinite(of) else of),
    "ceil": (1, lambda of: float(math.ceil(of)) if math.isfinite(of) else of),
}
#: Functions whose last place may differ between two machines.
ROUGH = {"ln", "log2", "log10", "exp"}


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
    """Between what a tree lies whatever its noisy numbers are."""
    if isinstance(tree, float):
        return tree, tree
    kind, *parts = tree
    if kind == "statistic":
        return ANY
    of = [bounds(part) for part in parts]
    if kind == "within":
        return max(of[0][0], of[1][0]), min(of[0][1], of[2][1])
    if kind == "sqrt":
        return math.sqrt(max(of[0][0], 0.0)), math.sqrt(max(of[0][1], 0.0))
    if kind not in ("+", "-", "*", "/") or (kind == "/" and of[1][0] <= 0 <= of[1][1]):
        return ANY
    corners = [0.0 if kind == "*" and 0.0 in pair else RULES[kind][1](*pair) for pair in product(*of)]
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
        if "column" in of and of["column"] in self.named:
            plain = self.named[of["column"]]
            return {step(plain) if plain["type"] in ("integer", "decimal") else Fraction(1)}
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
            return ["*", float(ratio(parts[1])), ["statistic", self.statistic(parts[0])]]
        if kind == "statistic":
            return [kind, self.statistic(*parts)]
        if kind == "number":
            return float(ratio(*parts))
        if kind in AGGREGATES:
            return filled(AGGREGATES[kind], (self.mean if kind == "average" else self.spread)(*parts))
        if kind not in RULES or kind == "within" or len(parts) != (RULES[kind][0] or len(parts)) or not parts:
            raise Broken("a formula with unknown or missing parts")
        return [kind, *(self.part(part, leaves) for part in parts)]

    def statistic(self, number: Any) -> int:
        if not 0 <= whole(number) < len(self.statistics):
            raise Broken("a formula of a statistic that the query does not have")
        return int(number)

    def mean(self, total: Any, rows: Any, size: Any) -> Node:
        """What the mean of a sum is computed from: the sum, the rows where it is summed, its bounds and its grain."""
        kind, of, centre, grain, where = (*self.statistics[self.statistic(total)], *[None] * 3)[:5]
        counted, *over = self.statistics[self.statistic(rows)]
        if kind != "sum" or counted != "rows":
            raise Broken("a mean that is not of a sum over a number of rows")
        terms, one = derive(of, self.known), ratio(size)
        there, asked = ({text(each): each for each in every(test)} for test in (over[0], where))
        inside = there.keys() >= asked.keys() and all(
            self.not_null(each, of) for name, each in there.items() if name not in asked
        )
        own = set().union(*(without_null(each, of) for each in there.values()))
        seen = columns(of) if terms["null"] else set()
        plain = self.named.get(of["column"]) if "column" in of else None
        if plain is not None and plain["type"] in ("integer", "decimal") and one != step(plain):
            self.other_units(one / step(plain), "mean")
        if one not in self.steps_of(of) or not inside or not seen <= own:
            raise Open("a mean over rows, or in units, that only the query's text explains")
        named = {"total": ["statistic", total], "rows": ["statistic", rows], "step": one, "squared step": one**2}
        ends = {"centre": centre, "grain": grain, "low": terms["low"] - centre, "high": terms["high"] - centre}
        return named | ends

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

    def spread(self, rows: Any, total: Any, squares: Any, size: Any) -> Node:
        """The same of a variance: its squares are those of what is summed, away from the same centre."""
        named = self.mean(total, rows, size)
        kind, of, centre, grain, where = (*self.statistics[self.statistic(squares)], *[None] * 3)[:5]
        _, summed, middle, _, own = self.statistics[total]
        away = {"plus": [summed, {"whole": [-middle]}]} if middle else summed
        if [kind, of, centre, where] != ["sum", {"times": [away, away]}, 0, own]:
            raise Broken("a variance by something other than the squares of what is summed")
        low, high = named["low"], named["high"]
        reach = Fraction(high - low) ** 2
        named |= {"a quarter of the squared range": reach / 4, "half of the squared range": reach / 2}
        return named | {
            "squares": ["statistic", squares], "grain of squares": grain, "square": max(low**2, high**2)
        }  # fmt: skip


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
    return [tree[0], *(filled(part, named) for part in tree[1:])] if isinstance(tree, list) else tree


def every(test: Any) -> list[Any]:
    """The conditions that must all hold."""
    return test["every"] if isinstance(test, dict) and "every" in test else [test]
