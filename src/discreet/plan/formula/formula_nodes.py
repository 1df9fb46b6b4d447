"""The nodes of formulas: numbers and truths computed from noisy statistics. A closed union.

A statistic is a vector over the groups of an answer. NULL is NaN, true is 1 and false is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, assert_never

from discreet.plan.formula.group_window import GroupWindow

#: Functions, and how many arguments they take at least and at most.
FUNCTIONS: dict[str, tuple[int, int]] = {
    "round": (1, 2),
    "abs": (1, 1),
    "sqrt": (1, 1),
    "ln": (1, 1),
    "log10": (1, 1),
    "log2": (1, 1),
    "exp": (1, 1),
    "floor": (1, 1),
    "ceil": (1, 1),
    "least": (1, 100),
    "greatest": (1, 100),
    "coalesce": (1, 100),
    "nullif": (2, 2),
}


@dataclass(frozen=True, slots=True)
class StatisticRef:
    """The index-th noisy statistic: a whole number in each group.

    over: its sum over the other groups of a window; NULL where there is none, and the group itself is not in it either.
    """

    index: int
    over: GroupWindow | None = None


@dataclass(frozen=True, slots=True)
class FormulaConstant:
    """A literal; None is NULL."""

    value: Fraction | None


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """left operator right. x / 0 is NULL."""

    operator: Literal["+", "-", "*", "/"]
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Quotient:
    """above / max(below, 1), clamped to [low, high]: a mean of rows, where `below` is a number of rows.

    Whoever builds one knows that the exact quotient lies within [low, high], which holds 0, and that
    `above` is exactly 0 where `below` is: a sum over no rows.
    """

    above: Formula
    below: Formula
    low: Fraction
    high: Fraction

    def __post_init__(self) -> None:
        if not self.low <= 0 <= self.high:
            raise ValueError(f"the bounds of a quotient of sums must include 0, got {self.low} and {self.high}")


@dataclass(frozen=True, slots=True)
class Call:
    """A function of `FUNCTIONS`. The number of digits that `round` keeps is a literal."""

    name: str
    arguments: tuple[Formula, ...]

    def __post_init__(self) -> None:
        least, most = FUNCTIONS.get(self.name, (1, 0))
        if not least <= len(self.arguments) <= most:
            raise ValueError(f"no such function of {len(self.arguments)} arguments: {self.name}")
        if self.name == "round" and len(self.arguments) == 2 and not isinstance(self.arguments[1], FormulaConstant):
            raise ValueError("the digits to round to must be a literal")


@dataclass(frozen=True, slots=True)
class Clamp:
    """The number moved into [low, high], where the exact one lies. None: no bound."""

    of: Formula
    low: Fraction | None
    high: Fraction | None


@dataclass(frozen=True, slots=True)
class Compare:
    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Not:
    of: Formula


@dataclass(frozen=True, slots=True)
class IsNull:
    of: Formula


Formula = StatisticRef | FormulaConstant | Arithmetic | Quotient | Call | Clamp | Compare | And | Or | Not | IsNull


def children(formula: Formula) -> tuple[Formula, ...]:
    """What a formula is directly made of."""
    match formula:
        case StatisticRef() | FormulaConstant():
            return ()
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return (left, right)
        case Quotient(above=above, below=below):
            return (above, below)
        case Call(arguments=parts) | And(parts=parts) | Or(parts=parts):
            return parts
        case Clamp(of=of) | Not(of=of) | IsNull(of=of):
            return (of,)
        case _:
            assert_never(formula)


def cells(formula: Formula) -> frozenset[int]:
    """The statistics that a formula reads."""
    return frozenset(reference.index for reference in references(formula))


def references(formula: Formula) -> Iterator[StatisticRef]:
    """Every reading of a statistic."""
    if isinstance(formula, StatisticRef):
        yield formula
    for part in children(formula):
        yield from references(part)


def numbers_of_rows(formula: Formula) -> frozenset[int]:
    """The statistics that a formula divides by, as numbers of rows: those of its means."""
    own = cells(formula.below) if isinstance(formula, Quotient) else frozenset[int]()
    return own.union(*(numbers_of_rows(part) for part in children(formula)))


def compared_numbers(condition: Formula) -> Iterator[Formula]:
    """The numbers that a condition compares, or asks whether they are NULL."""
    for part in children(condition):
        if isinstance(part, And | Or | Not | IsNull | Compare):
            yield from compared_numbers(part)
        else:
            yield part
