"""What a group shows of a formula: its number where that is known, and of `coalesce` the first argument that is.

A number is not known where it is NULL, or where its noise hides it: where its interval has no end or says no more than
its bounds, or it is divided by a number of rows that may be of nobody. Where intervals as they are followed here do not
tell which, either is right.
"""

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import product
from typing import Any

from ends import Form, Noisy, Span, is_linear, is_nobody, is_short, quotient, spans, spread_fits
from formulas import is_mean, limits, values
from relation import Open, text
from widths import near, to_digits


def divisors(tree: Any, counts: Callable[[int], bool]) -> Iterator[int]:
    """What a tree divides by: numbers of rows, and others that are never negative and stand there alone."""
    if isinstance(tree, float) or tree[0] == "statistic":
        return
    kind, *parts = tree
    below = parts[0][2][1] if is_mean(tree) else parts[1] if kind == "/" else 0.0
    below = below[1] if isinstance(below, list) and below[0] == "nullif" else below
    if is_linear(below):
        form, under = quotient(below) or (Form(), Form())
        named = [name for name, weight in form.items() if weight]
        yield from (each for each in named if len(named) == 1 and counts(each) and form[each] * under[None] > 0)
    for part in parts:
        yield from divisors(part, counts)


class Group:
    """A formula in one group, by its noisy numbers. counts: whether a statistic is never negative."""

    def __init__(self, tree: Any, noisy: Callable[[int], Noisy], counts: Callable[[int], bool]) -> None:
        self.tree, self.noisy, self.counts = tree, noisy, counts
        self.limits = limits(tree)
        self.values = values(tree, lambda number: noisy(number)[0])
        told = [is_nobody(*noisy(number)) for number in divisors(tree, counts)]
        self.nobody = any(surely for surely, _ in told), any(maybe for _, maybe in told)

    @cached_property
    def spans(self) -> list[Span]:
        return spans(self.tree, self.noisy, self.tree)

    def hidden(self, whole: Any) -> tuple[bool, bool]:
        """Whether its number is surely not known, and whether it may not be. `whole`: what shares the doubt with it."""
        is_null = self.values[0] != self.values[0]
        if is_null or self.nobody[0] or "statistic" not in text(self.tree):
            return is_null or self.nobody[0], is_null or self.nobody[0]
        least, most = self.limits or (-math.inf, math.inf)
        slack = 1e-9 * (most - least) if self.limits else 0.0
        wide = self.spans[1] if whole is self.tree else spans(self.tree, self.noisy, whole)[1]
        surely, maybe = (
            math.isinf(low) or math.isinf(high) or (low <= least + slack and high >= most - slack)
            for low, high in (self.spans[0], wide)
        )
        return surely, self.nobody[1] or maybe

    def taken(self, tree: Any) -> list[Any]:
        """The tree with the argument that is taken in the place of each `coalesce`; several, if that is open."""
        if isinstance(tree, float) or "coalesce" not in text(tree):
            return [tree]
        if tree[0] != "coalesce":
            return [[tree[0], *parts] for parts in product(*map(self.taken, tree[1:]))]
        found = list[Any]()
        for part in tree[1:-1]:
            surely, maybe = Group(part, self.noisy, self.counts).hidden(part)
            found += [] if surely else [part]
            if not maybe:
                return found
        return [*found, tree[-1]]

    def shows(self, shown: Any, ends: Any) -> bool:
        """Whether this is what the group shows: the number of what is taken, if it is known."""
        taken = self.taken(self.tree)
        parts = [self] if taken == [self.tree] else [Group(each, self.noisy, self.counts) for each in taken]
        return any(part.is_shown(shown, ends, self.tree) for part in parts)

    def is_shown(self, shown: Any, ends: Any, whole: Any) -> bool:
        """Whether a number is one of these values to the digits that its interval leaves, or is hidden."""
        surely, maybe = self.hidden(whole)
        if shown is None or surely:
            return maybe and shown is None
        if "statistic" not in text(self.tree):
            return type(shown) is float and shown in self.values
        if ends is None:  # two digits of its own
            return repr(shown) in {repr(two + 0.0) for each in self.values for two in to_digits(each, abs(each or 1.0))}
        low, high = ends
        slack = 0.02 * (high - low)  # its ends were moved away after its digits were chosen, by less than a hundredth
        for each in self.values:
            full = repr(shown) == repr(each + 0.0) and min(each - low, high - each) <= slack
            if low <= each <= high and (full or repr(shown) in near(each, low, high) | near(each, low, high - slack)):
                return True
            beyond = [two for two in to_digits(each, (high - low) / 2) if not low + slack <= two <= high - slack]
            if self.tree is not whole and any(min(each, two) <= shown <= max(each, two) for two in beyond):
                raise Open("a number lies at an end of its interval, whose last digits do not follow here")
        return False

    def fits(self, shown: Any, ends: Any) -> bool:
        """Whether its interval is as wide as noise makes it. Where there may be nobody it says no more than bounds."""
        if self.nobody[0] or (self.nobody[1] and text(ends) == text(self.limits)):
            return text(ends) == text(self.limits)
        if ends is None:
            return any(map(math.isinf, self.spans[1]))
        return is_short(ends, self.limits) and spread_fits(self.spans, ends, [] if shown is None else [shown])
