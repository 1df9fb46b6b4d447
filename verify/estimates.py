"""Best estimates: what least squares makes of all noisy numbers of a strategy together, and how far off that may be.

A number is a sum over some cells. Its best estimate is the sum of the noisy numbers with the shortest weights under
which the strategy's lines add up to just these cells. Weights are found in floats and then confirmed by adding lines
up: what is left over, times the cells, is all that an estimate can be off by.
"""

import math
from collections import defaultdict
from itertools import product
from operator import mul
from typing import Any

from ends import is_as_wide, is_short
from measured import numbers
from relation import Broken, Node, Open
from strategies import norms, plain
from widths import near

#: Weights of a strategy, times the numbers that are estimated; how many turns an estimate may take.
MOST_WEIGHTS, MOST_WORK, MOST_TURNS = 2_000_000, 4_000_000, 1_000
#: What may be left over; how far others who solve the same may be off, in widths.
LEFT, CLOSE = 1e-9, 1e-5


def few(many: int) -> None:
    if many > MOST_WEIGHTS:
        raise Open("the best estimates of so many cells are not repeated here")


def lines(told: Node) -> list[dict[int, int]]:
    """The rows of a strategy: which cells each adds up, with which weights."""
    told = plain(told)
    kind = told["kind"]
    if kind == "stack":
        return [line for part in told["parts"] for line in lines(part)]
    if kind == "product":
        found: list[dict[int, int]] = [{0: 1}]
        for factor in told["factors"]:
            many, own = len(norms(factor)[0]), lines(factor)
            few(sum(map(len, found)) * sum(map(len, own)))
            pairs = product(found, own)
            found = [{i * many + j: a * b for i, a in one.items() for j, b in two.items()} for one, two in pairs]
        return found
    if kind == "merged":
        members = defaultdict[int, list[int]](list)
        for cell, group in enumerate(numbers(told["groups"])):
            members[group].append(cell)
        inside = lines(told["inner"])
        few(len(inside) * sum(map(len, members.values())))
        return [{cell: weight for group, weight in line.items() for cell in members[group]} for line in inside]
    if kind == "levels":
        few(len(told["levels"]) * told["size"])
        size, blocks = told["size"], [(*each, at) for each in told["levels"] for at in range(0, told["size"], each[0])]
        return [dict.fromkeys(range(at, min(at + block, size)), weight) for block, weight, at in blocks]
    if kind == "diagonal":
        return [{cell: weight} for cell, weight in enumerate(numbers(told["weights"]))]
    entries, cells = numbers(told["entries"]), told["cells"]
    rows = (enumerate(entries[start : start + cells]) for start in range(0, len(entries), cells))
    return [{cell: weight for cell, weight in row if weight} for row in rows]


class LeastSquares:
    """A strategy with one law of noise on each of its numbers."""

    def __init__(self, strategy: Node, law: Node) -> None:
        self.law, self.lengths = law, [math.sqrt(two) for _, two in norms(strategy)[0]]
        few(len(self.lengths))
        rows = lines(strategy)
        self.rows = [([*row], [weight / self.lengths[cell] for cell, weight in row.items()]) for row in rows]
        self.size = sum(len(cells) for cells, _ in self.rows)
        self.kept: dict[frozenset[int], list[float]] = {}

    def sums(self, weights: list[float]) -> list[float]:
        """What the lines add up to in each cell, in units of its length."""
        found = [0.0] * len(self.lengths)
        for weight, (cells, row) in zip(weights, self.rows, strict=True):
            for cell, own in zip(cells, row, strict=True):
                found[cell] += weight * own
        return found

    def weights(self, wanted: frozenset[int]) -> list[float]:
        """The shortest weights that add up to these cells (Craig's method), confirmed."""
        if wanted not in self.kept:
            if (1 + len(self.kept)) * self.size > MOST_WORK:
                raise Open("so many best estimates are not repeated here")
            if any(not self.lengths[cell] for cell in wanted):
                raise Broken("a number of cells that the strategy does not measure")
            target = [1 / length if cell in wanted else 0.0 for cell, length in enumerate(self.lengths)]
            left, found, way, last = target, [0.0] * len(self.rows), [0.0] * len(self.rows), math.inf
            for _ in range(MOST_TURNS):
                size = sum(map(mul, left, left))
                if size <= (LEFT / 100) ** 2 * sum(map(mul, target, target)):
                    break
                ahead = (sum(map(mul, row, map(left.__getitem__, cells))) for cells, row in self.rows)
                way = [one + size / last * two for one, two in zip(ahead, way, strict=True)]
                step, last = size / sum(map(mul, way, way)), size
                found = [one + step * two for one, two in zip(found, way, strict=True)]
                left = [one - step * two for one, two in zip(left, self.sums(way), strict=True)]
            ends = zip(target, self.sums(found), self.lengths, strict=True)
            if any(abs(one - two) * length > LEFT for one, two, length in ends):
                raise Open("the strategy does not determine a number, or not so that it is seen here")
            self.kept[wanted] = found
        return self.kept[wanted]

    def fits(self, shown: Any, ends: Any, value: float, weights: list[float], places: int) -> bool:
        """Whether a number and its interval are an estimate and its noise, at 95%, with the digits that it leaves.

        Its ends, and in ranges the number, have so many places of the half width; other numbers have two of it.
        """
        low, high = ends
        half, hair, step = (high - low) / 2, CLOSE * (high - low), max(map(abs, weights), default=0.0)
        noise = [(abs(weight), self.law) for weight in weights if abs(weight) > LEFT * step]
        if not noise or half <= 0:  # without noise, but for one case in 20 at most
            is_itself = shown == low == high and abs(shown - value) <= (CLOSE if noise else 0)
            return is_itself and is_as_wide(noise, 0.0, step, 0.0)
        powers = [min(12, places - 1 - math.floor(math.log10(half * turn))) for turn in (0.995, 1)]
        digit = 10.0 ** -min(powers)
        if places == 3:
            is_shown = repr(shown) in set().union(*(near(value + turn * hair, low, high) for turn in (-1, 0, 1)))
            is_shown = is_shown and is_short(ends, None)
        else:
            shorts = [{round(each, power) for each in (*ends, shown)} == {*ends, shown} for power in powers]
            is_shown = any(shorts) and abs(shown - value) <= digit / 2 + hair
        if not is_shown or abs((low + high) / 2 - value) > digit + hair:
            return False
        return is_as_wide(noise, half, step, digit)
