"""Random expressions and predicates over a few columns, and records for them: for the laws that hold for all.

Hypothesis draws the seed. Trees drawn piece by piece would take it twenty times longer than all the rest.
"""

import random

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan import algebra
from discreet.plan.calendar import FIRST_DAY, LAST_DAY
from discreet.plan.expressions import (
    MOST_COUNTED,
    MOST_SQUARE,
    Absolute,
    BitLength,
    Choose,
    Code,
    First,
    Greatest,
    Least,
    Length,
    Like,
    Lookup,
    Lower,
    Null,
    Over,
    Part,
    Plus,
    Remainder,
    Root,
    Start,
    Substr,
    TextCode,
    Times,
    Trim,
    Upper,
    Whole,
)
from discreet.plan.predicate import every, negation, some, span, within

#: Small ones, one around 0, one mostly above it, days, 64 bits and more, and one without bounds.
NUMBERS = [
    Code("a", 0, 5, null=True),
    Code("b", -3, 3, null=False),
    Code("c", -120, 100_000, null=True),
    Code("day", FIRST_DAY, LAST_DAY, null=True),
    Code("near", -800, 20_000, null=True),
    Code("wide", -(2**60), 2**60, null=True),
    Code("huge", -(2**90), 2**90, null=False),
    Code("open", None, None, null=True),
]
TEXT = TextCode("text")
DOMAINS = {code.column: span(code) for code in (*NUMBERS, TEXT)}
LETTERS = ["a", "A", "b", "%", "_", "\\", "'", " ", "\u00a0", "É", "é", "ß", "İ", "Σ", "\0", "😀", "\u0301", "ab", "ᾀ"]
LITERALS = [60, 365, 10**6, -(2**40), 2**61, -(2**62), 2**64, 2**99]


class Trees:
    """Draws expressions, predicates and records from one seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def record(self):
        text = None if self.random.random() < 0.1 else self.text()
        return {**{code.column: self.code(code) for code in NUMBERS}, "text": text}

    def code(self, code):
        """A value of a column, its ends and what is near 0 more often."""
        low = -(2**63) + 2 if code.low is None else code.low
        high = 2**63 - 2 if code.high is None else code.high
        if code.null and self.random.random() < 0.1:
            return None
        near = [value for value in (-7, -2, -1, 0, 1, 2, 7, 365) if low <= value <= high]
        ends = [low, low + 1, high - 1, high]
        return self.random.choice([self.random.choice(ends), self.random.choice(near), self.random.randint(low, high)])

    def text(self):
        return "".join(self.random.choices(LETTERS, k=self.random.choice([0, 1, 2, 3, 5])))

    def words(self, depth=2):
        """A text expression."""
        if depth == 0 or self.random.random() < 0.3:
            return TEXT
        inner = self.words(depth - 1)
        match self.random.randrange(4):
            case 0:
                return Lower(inner)
            case 1:
                return Upper(inner)
            case 2:
                return Trim(inner, self.random.choice(["both", "leading", "trailing"]), self.text())
            case _:
                return Substr(
                    inner, self.random.choice([-400, -3, -1, 1, 2, 5]), self.random.choice([None, 0, 1, 3, 400])
                )

    def number(self, depth=4):
        """A whole-number expression; what is refused falls back to an operand."""
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf()
        one = self.number(depth - 1)
        try:
            return self.random.choice(KINDS)(self, one, depth - 1)
        except Refused:
            return one

    def leaf(self):
        match self.random.randrange(10):
            case 0 | 1 | 2 | 3 | 4 | 5:
                return self.random.choice(NUMBERS)
            case 6 | 7:
                return Whole(self.random.choice([self.random.randint(-12, 12), self.random.choice(LITERALS)]))
            case 8:
                return Null() if self.random.random() < 0.2 else Length(self.words())
            case _:
                return Like(self.words(), self.pattern())

    def pattern(self):
        pieces = ["%", "_", "\\%", "\\_", "\\\\", "a", "A", "b", "É", "'", "\0"]
        return "".join(self.random.choices(pieces, k=self.random.randint(0, 5)))

    def allowed(self, of):
        """A set of values of an expression, and perhaps NULL."""
        if isinstance(of, TextCode | Lower | Upper | Trim | Substr):
            ends = [self.text(), self.text(), None]
        else:
            low, high = of.low or 0, of.high or of.low or 0
            ends = [low, high, 0, 1, -1, self.random.randint(min(low, high), max(low, high)), None]
        pairs = [(self.random.choice(ends), self.random.choice(ends)) for _ in range(self.random.randint(0, 3))]
        found = ValueSet.union(ValueSet.interval(low, high) for low, high in pairs)
        return ValueSet(found.runs, self.random.random() < 0.3)

    def test(self, of):
        """A condition on an expression."""
        return within(of, self.allowed(of), DOMAINS)

    def predicate(self, depth=2):
        """ANDs, ORs and NOTs of conditions."""
        if depth == 0 or self.random.random() < 0.2:
            return self.test(self.words() if self.random.random() < 0.2 else self.number(3))
        parts = [self.predicate(depth - 1) for _ in range(self.random.randint(1, 3))]
        try:
            found = every(parts) if self.random.random() < 0.5 else some(parts, DOMAINS)
            return negation(found, DOMAINS) if self.random.random() < 0.3 else found
        except Refused:
            return parts[0]


def _over_literal(trees, one, depth):
    divisor = trees.random.choice([1, 2, 3, 7, 10, 60, 86_400, 2**62, 2**80])
    return Over(one, Whole(divisor), trees.random.choice(["down", "zero", "nearest"]))


def _lookup(trees, one, depth):
    small = trees.random.choice(NUMBERS[:2])
    found = [None, -9, 0, 1, 2, 9, 2**40, -(2**70)]
    return Lookup(small, tuple(trees.random.choices(found, k=small.high - small.low + 1)), small.low)


def _wide_lookup(trees, one, depth):
    """A table of a small number that was computed in many bits."""
    small = _between(one, 0, 3)
    return Lookup(small, tuple(trees.random.choices([None, 0, 9, 2**70], k=4)), 0)


def _choose(trees, one, depth):
    cases = tuple((trees.test(trees.number(depth)), trees.number(depth)) for _ in range(trees.random.randint(1, 2)))
    return Choose(cases, trees.random.choice([one, Null()]))


def _between(number, low, high):
    return Greatest((Least((number, Whole(high))), Whole(low)))


def _days(number):
    """A number brought into the calendar."""
    return Greatest((Least((number, Whole(LAST_DAY))), Whole(FIRST_DAY)))


#: Every kind of node over a smaller expression.
KINDS = [
    lambda trees, one, depth: Plus(one, trees.number(depth)),
    lambda trees, one, depth: algebra.minus(one, trees.number(depth)),
    lambda trees, one, depth: Times(one, trees.number(depth)),
    lambda trees, one, depth: Times(one, one),
    lambda trees, one, depth: Times(one, Whole(trees.random.choice([-1, -3, 0, 2, 100]))),
    lambda trees, one, depth: Over(one, trees.number(depth), trees.random.choice(["down", "zero"])),
    _over_literal,
    lambda trees, one, depth: Remainder(one, trees.number(depth)),
    lambda trees, one, depth: Absolute(one),
    lambda trees, one, depth: Least((one, trees.number(depth), trees.leaf())),
    lambda trees, one, depth: Greatest((one, trees.number(depth))),
    lambda trees, one, depth: First((one, trees.number(depth), trees.leaf())),
    lambda trees, one, depth: Root(_between(one, 0, trees.random.choice([9, 2**31, MOST_SQUARE - 1]))),
    lambda trees, one, depth: BitLength(_between(one, 1, trees.random.choice([9, 2**31, MOST_COUNTED - 1]))),
    _choose,
    _lookup,
    _wide_lookup,
    lambda trees, one, depth: Part(trees.random.choice(["year", "month", "day", "doy", "week", "isoyear"]), _days(one)),
    lambda trees, one, depth: Start(trees.random.choice(["year", "quarter", "month", "week"]), _days(one)),
]
