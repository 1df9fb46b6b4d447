"""The compiler: a block of published statistics becomes constraints for OR-tools' CP-SAT solver.

Every variable that is made here is fixed by the records, so the solver meets each world once and the number of its
solutions is the number of worlds. (The reader counts different worlds all the same.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from discreet.errors import MissingPackage, UsageError
from discreet.lab.attacks.census.published_block import (
    BlockFact,
    CensusBlock,
    Group,
    GroupCondition,
    PublishedStatistic,
    Record,
    World,
)
from discreet.lab.attacks.census.published_range import PublishedRange

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

#: Numbers beyond this are not put before the solver, which counts in 64 bits.
MOST_FACTOR = 1 << 40


def solver() -> Any:
    """OR-tools' CP-SAT, or a sentence that says how to get it."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingPackage("this attack needs OR-tools", hint="pip install 'discreet[lab]'") from None
    return cp_model


@dataclass(slots=True)
class BlockConstraints:
    """The constraints, and where the people stand in them.

    `cells[person][column]` is a value; `present[person]` is a literal that is false for a place that nobody takes.
    People come first and ascend; places that nobody takes come last and hold the lowest values.
    """

    model: cp_model.CpModel
    block: CensusBlock
    cells: list[list[Any]]
    present: list[Any]
    _conditions: dict[tuple[int, GroupCondition], Any]
    _groups: dict[Group, list[Any]]

    def world(self, value: Any) -> World:
        """The records that a solution holds; `value` reads an expression, `present` included."""
        return tuple(
            tuple(int(value(cell)) for cell in row)
            for row, here in zip(self.cells, self.present, strict=True)
            if value(here)
        )

    def members(self, group: Group) -> list[Any]:
        """For each place, the literal that somebody stands there and is in the group."""
        if group not in self._groups:
            self._groups[group] = [self._member(person, group) for person in range(len(self.cells))]
        return self._groups[group]

    def record_literals(self, record: Record) -> list[Any]:
        """For each place, the literal that it holds this record."""
        return self.members(tuple(self.equal(place, code) for place, code in enumerate(record)))

    def equal(self, place: int, code: int) -> GroupCondition:
        """The condition that a column has one value."""
        return GroupCondition(column=self.block.columns[place].name, intervals=((code, code),))

    def literal(self, person: int, condition: GroupCondition) -> Any:
        """The literal that the condition holds for the value at a place."""
        key = (person, condition)
        if key not in self._conditions:
            self._conditions[key] = self._reify(person, condition)
        return self._conditions[key]

    def _reify(self, person: int, condition: GroupCondition) -> Any:
        place = self.block.place(condition.column)
        column, cell = self.block.columns[place], self.cells[person][place]
        if column.size <= 2:
            allowed = [condition.holds(code) for code in range(column.low, column.high + 1)]
            if all(allowed) or not any(allowed):
                return self.model.new_constant(int(all(allowed)))
            if column.low == 0:  # the cell is a literal itself
                return cell if allowed[1] else ~cell
        domain = solver().Domain.from_intervals([list(ends) for ends in condition.intervals])
        literal = self.model.new_bool_var("")
        self.model.add_linear_expression_in_domain(cell, domain).only_enforce_if(literal)
        self.model.add_linear_expression_in_domain(cell, domain.complement()).only_enforce_if(~literal)
        return literal

    def _member(self, person: int, group: Group) -> Any:
        needed = [self.literal(person, condition) for condition in group]
        if person >= self.block.people[0] or not needed:
            needed.append(self.present[person])
        return self.all_of(needed)

    def all_of(self, needed: list[Any]) -> Any:
        """The literal that all of these are true."""
        if len(needed) == 1:
            return needed[0]
        literal = self.model.new_bool_var("")
        self.model.add_bool_and(needed).only_enforce_if(literal)
        self.model.add_bool_or([literal, *(~one for one in needed)])
        return literal


def compile_block(block: CensusBlock) -> BlockConstraints:
    """The block as constraints."""
    block = replace(block, people=_size(block))
    model = solver().CpModel()
    low, high = block.people
    made = BlockConstraints(
        model=model,
        block=block,
        cells=[[_cell(model, column.low, column.high) for column in block.columns] for _ in range(high)],
        present=[model.new_constant(1) if person < low else model.new_bool_var("") for person in range(high)],
        _conditions={},
        _groups={},
    )
    _order_people(made)
    for fact in block.facts:
        _constrain_fact(made, fact)
    for statistic in block.statistics:
        _constrain_statistic(made, statistic)
    return made


def _size(block: CensusBlock) -> tuple[int, int]:
    """How many people there can be, once the statistics about everybody are heard. Fewer places, a faster search."""
    low, high = block.people
    for statistic in block.statistics:
        span = statistic.count
        if not statistic.group and span is not None:
            low = max(low, -(-span.low // 1) if span.low is not None else low)
            high = min(high, span.high // 1 if span.high is not None else high)
    return (low, high) if low <= high and high >= 1 else block.people  # a conflict: the constraints will say so


def _cell(model: cp_model.CpModel, low: int, high: int) -> Any:
    return model.new_bool_var("") if (low, high) == (0, 1) else model.new_int_var(low, high, "")


def _order_people(made: BlockConstraints) -> None:
    """People ascend by their columns, the first column first, so that each multiset of records is met once."""
    columns = made.block.columns
    keys = []
    for row in made.cells:
        key: Any = 0
        for column, cell in zip(columns, row, strict=True):
            key = key * column.size + (cell - column.low)
        keys.append(key)
    for person, (earlier, later) in enumerate(pairwise(keys), start=1):
        ascending = made.model.add(earlier <= later)
        if person >= made.block.people[0]:
            ascending.only_enforce_if(made.present[person])
            made.model.add_implication(made.present[person], made.present[person - 1])
    for person in range(made.block.people[0], len(made.cells)):
        for column, cell in zip(columns, made.cells[person], strict=True):
            made.model.add(cell == column.low).only_enforce_if(~made.present[person])


def _constrain_fact(made: BlockConstraints, fact: BlockFact) -> None:
    for person in range(len(made.cells)):
        when = [~made.literal(person, condition) for condition in fact.when]
        for condition in fact.then:
            made.model.add_bool_or([*when, made.literal(person, condition), ~made.present[person]])


def _constrain_statistic(made: BlockConstraints, statistic: PublishedStatistic) -> None:
    members = made.members(statistic.group)
    count = sum(members)
    if statistic.count is not None:
        _between(made, count, statistic.count, 1)
    if statistic.sum is not None or statistic.mean is not None:
        total = _total(made, members, made.block.place(statistic.of))
        if statistic.sum is not None:
            _between(made, total, statistic.sum, 1)
        if statistic.mean is not None:  # low <= total / count <= high
            made.model.add_bool_or(members)
            _between(made, total, statistic.mean, count)
    if statistic.median is not None:
        _median(made, members, made.block.place(statistic.of), statistic)


def _between(made: BlockConstraints, total: Any, span: PublishedRange, times: Any) -> None:
    """span.low * times <= total <= span.high * times in whole numbers, an end left out where the span does."""
    for end, sign, past in ((span.low, 1, span.excludes_low), (span.high, -1, span.excludes_high)):
        if end is not None:  # both sides are whole, so beyond is at least one more
            top, bottom = _whole(end)
            made.model.add(sign * bottom * total >= sign * top * times + int(past))


def _whole(end: Fraction) -> tuple[int, int]:
    if max(abs(end.numerator), end.denominator) > MOST_FACTOR:
        raise UsageError(f"a statistic of {float(end):g} is too large or has too many digits")
    return end.numerator, end.denominator


def _total(made: BlockConstraints, members: list[Any], place: int) -> Any:
    """The sum of a column over the members."""
    column = made.block.columns[place]
    terms = []
    for member, row in zip(members, made.cells, strict=True):
        term = made.model.new_int_var(min(0, column.low), max(0, column.high), "")
        made.model.add(term == row[place]).only_enforce_if(member)
        made.model.add(term == 0).only_enforce_if(~member)
        terms.append(term)
    return sum(terms)


def _median(made: BlockConstraints, members: list[Any], place: int, statistic: PublishedStatistic) -> None:
    """The half sum of the lower and the upper middle, which are one and the same value where the count is odd.

    Because: of c values, a is the lower middle iff 2 #{x < a} <= c - 1 and 2 #{x <= a} >= c, and b is the upper one
        iff 2 #{x < b} <= c and 2 #{x <= b} >= c + 1. For c = 0 the first cannot hold, so the group is not empty.
    """
    count, span = sum(members), statistic.median
    assert span is not None
    middles = []
    for upper in range(1 if _has_odd_count(statistic) else 2):
        middle, below, upto = _ranked(made, members, place, span if _has_odd_count(statistic) else PublishedRange())
        made.model.add(2 * below <= count - 1 + upper)
        made.model.add(2 * upto >= count + upper)
        middles.append(middle)
    _between(made, middles[0] + middles[-1], span, 2)


def _has_odd_count(statistic: PublishedStatistic) -> bool:
    span = statistic.count
    return span is not None and span.low is not None and span.low == span.high and span.low % 2 == 1


def _ranked(made: BlockConstraints, members: list[Any], place: int, span: PublishedRange) -> tuple[Any, Any, Any]:
    """A value of the column, how many members lie below it, and how many below or at it."""
    column = made.block.columns[place]
    low = column.low if span.low is None else max(column.low, -(-span.low // 1))
    high = column.high if span.high is None else min(column.high, span.high // 1)
    if low > high:  # no value can be the median: the caller's constraint will say so
        low, high = column.low, column.high
    value = made.model.new_int_var(low, high, "")
    below, upto = [], []
    for member, row in zip(members, made.cells, strict=True):
        less, same = (made.model.new_bool_var("") for _ in range(2))
        made.model.add(row[place] <= value - 1).only_enforce_if(less)
        made.model.add(row[place] >= value).only_enforce_if(~less)
        made.model.add(row[place] <= value).only_enforce_if(same)
        made.model.add(row[place] >= value + 1).only_enforce_if(~same)
        below.append(made.all_of([member, less]))
        upto.append(made.all_of([member, same]))
    return value, sum(below), sum(upto)
