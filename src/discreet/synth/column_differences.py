"""Differences of ordered columns as attributes of their own: how long after the admission the discharge is.

Where a public order says that one column is never below another, both are narrow beside each other and wide by
themselves: bins of months know nothing of stays of days. So the difference is one more attribute of the model, which
depends on others as any attribute does, and the higher column comes out as the lower one plus the difference. It also
says which of the two are NULL together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region import ValueSet
from discreet.plan import algebra
from discreet.plan.cells import even_edges
from discreet.plan.expressions import Choose, Code, First, Member, Null, Number, Test, Whole
from discreet.schema.column import MOST_CODE, MomentColumn, NumberColumn
from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import NULL, draw_codes
from discreet.synth.code_spans import Codes, fine_of
from discreet.synth.constraints import PublicConstraints
from discreet.synth.fine_cells import number_edges
from discreet.synth.rules import ColumnOrder, Rule, StructuralZero, possible_differences

#: Differences below this are cells of their own.
SINGLE = 64

#: A column that comes out as another one plus a difference needs few cells itself.
FEW_CELLS = 16

#: How often a difference that leads beyond the ends of a column is drawn anew; then the end itself is taken.
TRIES = 8


def add_differences(attributes: Sequence[Attribute], constraints: PublicConstraints) -> tuple[Attribute, ...]:
    """The attributes, and one for each order whose columns a difference can stand for. Public."""
    named = {attribute.name: attribute for attribute in attributes}
    orders = [order for order in constraints.orders if _has_difference(order, named, constraints)]
    highs = {order.high for order in orders}
    return (
        *(_coarse(attribute) if attribute.name in highs else attribute for attribute in attributes),
        *(difference_of(named[order.low], named[order.high]) for order in orders),
    )


def _has_difference(order: ColumnOrder, named: Mapping[str, Attribute], constraints: PublicConstraints) -> bool:
    """Whether both columns are numbers or moments of one grid, and nothing else is said of the higher one."""
    if order.low not in named or order.high not in named or order.low_scale != order.high_scale:
        return False
    low, high = named[order.low], named[order.high]
    others = [rule for rule in constraints.rules if order.high in rule.columns and not _is_about_null(rule, order.high)]
    counted = [each for each in constraints.totals if {order.low, order.high} & set(each.columns)]
    lows = [each for each in constraints.orders if each.high == order.high]
    is_chain = all(each.high != order.low or each.low != order.high for each in constraints.orders)
    return (
        isinstance(low.column, NumberColumn | MomentColumn)
        and type(low.column) is type(high.column)
        and difference_name(order.low, order.high) not in named
        and len(lows) == 1 and not others and not counted and is_chain
        and high.edges[-1] - low.edges[0] + 3 <= MOST_CODE  # bought ends can lie as far apart as codes go
    )  # fmt: skip


def _is_about_null(rule: Rule, name: str) -> bool:
    """Whether a rule is an order, or says only that a column is never NULL."""
    return isinstance(rule, ColumnOrder) or (
        isinstance(rule, StructuralZero) and rule.is_never_null and rule.columns == (name,)
    )


def difference_name(low: str, high: str) -> str:
    """What the attribute is called."""
    return f"{high} - {low}"


def _coarse(attribute: Attribute) -> Attribute:
    """A column with few fine cells: even ones, and those that a constraint tells apart; declared bins stay."""
    if not attribute.binned:
        return attribute
    kept = np.flatnonzero(np.diff(attribute.apart[: len(attribute.edges) - 1])) + 1
    edges = even_edges(attribute.edges[0], attribute.edges[-1], FEW_CELLS)
    edges = tuple(sorted({*edges, *(attribute.edges[cut] for cut in kept)}))
    old = fine_of(attribute, np.array([*edges[:-1], *([NULL] if attribute.null else [])], dtype=np.int64))
    none = np.zeros(0, dtype=np.int64)
    return replace(attribute, edges=edges, apart=attribute.apart[old], groups=none, weights=np.zeros(0))


def difference_of(low: Attribute, high: Attribute) -> Attribute:
    """How far the higher column is above the lower one; three more codes: the higher, the lower, both are NULL."""
    most = max(0, high.edges[-1] - 1 - low.edges[0])
    inner = tuple(range(most + 2)) if most < SINGLE else number_edges(0, most + 1)
    edges = tuple(sorted({*inner, *range(min(most + 1, SINGLE // 2))}))
    cells = len(edges) - 1
    return Attribute(
        column=_column(low, high, most + 3),
        edges=(*edges, most + 2, most + 3, most + 4),
        null=False,
        binned=True,
        of=difference_expression(low, high, most),
        apart=np.array([*[0] * cells, 1, 2, 3]),
        between=(low.name, high.name),
    )


def _column(low: Attribute, high: Attribute, most: int) -> NumberColumn:
    """A difference as a number: of days, of seconds, or as the columns themselves."""
    name = difference_name(low.name, high.name)
    column = high.column
    if isinstance(column, MomentColumn):
        if column.type == "date":
            return NumberColumn(name=name, type="integer", low=0, high=most)
        return NumberColumn(name=name, type="decimal", step=Fraction(1, 1_000_000), low=0, high=most)
    assert isinstance(column, NumberColumn)
    return NumberColumn(name=name, type=column.type, step=column.step, low=0, high=most)


def difference_expression(low: Attribute, high: Attribute, most: int) -> Number:
    """What is counted: the difference from 0 to `most`, or which of both are NULL. It has a value on every row."""
    one, other = _code_of(low), _code_of(high)
    difference = algebra.minus(other, one)
    kept = Choose(
        (
            (Test(difference, ValueSet.interval(None, 0)), Whole(0)),
            (Test(difference, ValueSet.interval(most + 1, None)), Whole(most)),
        ),
        difference,
    )
    return First(
        (
            kept,
            algebra.plus(algebra.times(one, Whole(0)), Whole(most + 1)) if one.null else Whole(most + 1),
            algebra.plus(algebra.times(other, Whole(0)), Whole(most + 2)),
            Whole(most + 3),
        )
    )


def _code_of(attribute: Attribute) -> Number:
    """The code of a column where it lies in its cells; NULL elsewhere."""
    first, last = attribute.edges[0], attribute.edges[-1] - 1
    inside = Member(attribute.name, ValueSet.interval(first, last + 1))
    return Choose(((inside, Code(attribute.name, first, last, null=False)),), Null())


def restore_differences(attributes: Sequence[Attribute]) -> tuple[Attribute, ...]:
    """Attributes that were read, with how differences are counted: that follows from their columns."""
    named = {attribute.name: attribute for attribute in attributes}
    return tuple(each if each.between is None else _restored(each, named) for each in attributes)


def _restored(attribute: Attribute, named: Mapping[str, Attribute]) -> Attribute:
    assert attribute.between is not None
    if len(attribute.between) != 2 or not set(attribute.between) <= set(named):
        raise ValueError(f"{attribute.name[:60]!r} is a difference of columns that are not there")
    low, high = (named[name] for name in attribute.between)
    if low.between is not None or high.between is not None or attribute.name != difference_name(low.name, high.name):
        raise ValueError(f"{attribute.name[:60]!r} is no difference of two columns")
    most = attribute.edges[-1] - 4
    ends = (most + 1, most + 2, most + 3, most + 4)
    if attribute.null or attribute.edges[0] != 0 or attribute.edges[-4:] != ends or len(attribute.edges) < 5:
        raise ValueError(f"the cells of {attribute.name[:60]!r} do not tell a difference from NULL")
    return replace(attribute, of=difference_expression(low, high, most))


def difference_codes(low: Codes, high: Codes, most: int) -> Codes:
    """The codes of a difference for rows whose columns are known.

    >>> difference_codes(np.array([3, 3, NULL, NULL]), np.array([5, NULL, 5, NULL]), 9).tolist()
    [2, 10, 11, 12]
    """
    one, other = low != NULL, high != NULL
    both = np.clip(np.where(one & other, high, 0) - np.where(one & other, low, 0), 0, most)
    return np.where(one & other, both, np.where(one, most + 1, np.where(other, most + 2, most + 3)))


def apply_differences(
    attributes: Mapping[str, Attribute],
    codes: dict[str, Codes],
    generator: np.random.Generator,
    *,
    fixed: frozenset[str] = frozenset(),
) -> dict[str, Codes]:
    """Rows whose higher columns are the lower ones plus their differences; what is fixed stays.

    Whether the lower column is NULL is said by its first difference; one that says otherwise later, along a chain or
    beside what is fixed, is drawn anew among those that agree.
    """
    codes, made = dict(codes), set[str]()
    for difference in _in_order([each for each in attributes.values() if each.between is not None]):
        assert difference.between is not None
        low, high = difference.between
        if low in attributes and high in attributes and not {low, high} <= fixed:
            work = _Difference(difference, attributes[low], attributes[high], generator)
            codes[difference.name] = work.possible_codes(codes[difference.name])
            if not {low, high} & (fixed | made):  # whether the lower column is NULL is said by the difference
                codes[low] = work.present_or_not(codes[difference.name], codes[low])
            made |= {low, high}
            if high in fixed:
                codes[low] = work.lower(codes[difference.name], codes[low], codes[high])
            else:
                codes[high] = work.higher(codes[difference.name], codes[low], codes[high])
    return codes


def _in_order(differences: Sequence[Attribute]) -> list[Attribute]:
    """Along a chain: a column is made before what is made from it."""
    waiting, ordered = list(differences), list[Attribute]()
    while waiting:
        made = {each.between[1] for each in waiting if each.between}
        ready = [each for each in waiting if each.between and each.between[0] not in made] or waiting[:1]
        ordered += ready
        waiting = [each for each in waiting if each not in ready]
    return ordered


class _Difference:
    """One difference, applied to rows."""

    def __init__(self, own: Attribute, low: Attribute, high: Attribute, generator: np.random.Generator) -> None:
        self.own, self.low, self.high, self.generator = own, low, high, generator
        self.most = own.edges[-1] - 4
        self.possible = possible_differences(own, {low.name: low, high.name: high})

    def possible_codes(self, codes: Codes) -> Codes:
        """Codes without those that say NULL of a column that is never NULL: others for them."""
        rows = np.flatnonzero(~self.possible[fine_of(self.own, codes)])
        codes = codes.copy()
        codes[rows] = self._draw(len(rows), self.possible)
        return codes

    def present_or_not(self, codes: Codes, lows: Codes) -> Codes:
        """The lower column, NULL where the difference says so, and there where it does not."""
        return np.where(codes >= self.most + 2, NULL, self._present(lows, self.low))

    def higher(self, codes: Codes, lows: Codes, highs: Codes) -> Codes:
        """The higher column given the lower one; beside one beyond its end it stays, and the row is mended later."""
        present = lows != NULL
        codes = self._agreeing(codes, present, (self.most + 2, self.most + 3), (self.most + 1,))
        made = np.where(codes == self.most + 2, self._present(highs, self.high), NULL)
        rows = np.flatnonzero(present & (codes <= self.most))
        room = self.high.edges[-1] - 1 - lows[rows]
        start, stop = self._steps(codes[rows], room)
        drawn = self.high.draw_between(lows[rows] + start, lows[rows] + stop, self.generator)
        made[rows] = np.where(room < 0, highs[rows], np.clip(drawn, self.high.edges[0], self.high.edges[-1] - 1))
        return made

    def lower(self, codes: Codes, lows: Codes, highs: Codes) -> Codes:
        """The lower column given the higher one; beside one before its first value it stays, and is mended later."""
        present = highs != NULL
        codes = self._agreeing(codes, present, (self.most + 1, self.most + 3), (self.most + 2,))
        made = np.where(codes == self.most + 1, self._present(lows, self.low), NULL)
        rows = np.flatnonzero(present & (codes <= self.most))
        room = highs[rows] - self.low.edges[0]
        start, stop = self._steps(codes[rows], room)
        drawn = self.low.draw_between(highs[rows] - stop + 1, highs[rows] - start + 1, self.generator)
        made[rows] = np.where(room < 0, lows[rows], np.clip(drawn, self.low.edges[0], self.low.edges[-1] - 1))
        return made

    def _agreeing(
        self, codes: Codes, present: NDArray[np.bool_], absent: tuple[int, ...], alone: tuple[int, ...]
    ) -> Codes:
        """Codes that agree with what is there: with one column there, it is there alone or the other one, too."""
        codes = codes.copy()
        is_absent = np.isin(codes, absent)
        for rows, chosen in (
            (np.flatnonzero(present & is_absent), False),
            (np.flatnonzero(~present & ~is_absent), True),
        ):
            firsts = np.array(self.own.edges[:-1], dtype=np.int64)
            among = np.isin(firsts, absent) if chosen else (firsts <= self.most) | np.isin(firsts, alone)
            codes[rows] = self._draw(len(rows), among)
        return codes

    def _draw(self, count: int, among: NDArray[np.bool_]) -> Codes:
        """Differences among some fine cells, by weight."""
        among = among & self.possible if (among & self.possible).any() else among
        weights = np.where(among, self.own.weights, 0.0)
        chances = weights / weights.sum() if weights.sum() > 0 else among / among.sum()
        fine = self.generator.choice(len(chances), size=count, p=chances)
        return np.array(self.own.edges, dtype=np.int64)[fine]

    def _steps(self, codes: Codes, room: Codes) -> tuple[Codes, Codes]:
        """The fine cell of each difference as [start, stop), not beyond what there is room for."""
        edges = np.array(self.own.edges, dtype=np.int64)
        firsts = np.array(self.own.edges[:-1], dtype=np.int64)
        codes, room = codes.copy(), np.maximum(room, 0)
        for _ in range(TRIES):
            beyond = np.flatnonzero(codes > room)
            if not len(beyond):
                break
            codes[beyond] = self._draw(len(beyond), firsts <= self.most)
        codes = np.minimum(codes, room)
        fine = np.clip(np.searchsorted(edges, codes, side="right") - 1, 0, len(edges) - 2)
        return edges[fine], np.minimum(edges[fine + 1], room + 1)

    def _present(self, codes: Codes, attribute: Attribute) -> Codes:
        """Codes, with others for those that are NULL."""
        missing = np.flatnonzero(codes == NULL)
        codes = codes.copy()
        if len(missing):
            cells = np.unique(attribute.groups[: len(attribute.edges) - 1])
            weights = np.bincount(attribute.groups, weights=attribute.weights)[cells] + 1e-9
            drawn = draw_codes(
                attribute, self.generator.choice(cells, size=len(missing), p=weights / weights.sum()), self.generator
            )
            codes[missing] = np.where(drawn == NULL, attribute.edges[0], drawn)
        return codes
