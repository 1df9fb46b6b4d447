"""Which records a question counts: exactly, as a union of boxes, or not at all.

A region that prices a question may be wider than the question, which is safe there and wrong here: answers are
added and subtracted, and a box too many would be an identity that no data satisfy. So nothing in this file ever
rounds: where the records are not known to be just these boxes, the answer is None.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import assert_never

from discreet.accounting.region import MOST_BOXES, ONLY_NULL, Box, Region, ValueSet
from discreet.errors import Refused
from discreet.plan.cells import Axis
from discreet.plan.expressions import Code, Expression
from discreet.plan.predicate import Domains, Every, Member, Predicate, Some, Test, within
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, LimitGroups, PerPerson, Plan, Scan

#: An axis over an expression is taken apart by trying codes: for each cell all of them.
_MOST_CELLS = 512


def exact_region(predicate: Predicate) -> Region | None:
    """The records that satisfy a predicate, as boxes; None where they are not known to be exactly these.

    Guarantee: a record is in the region if and only if `plan.evaluate.holds(predicate, record)`.
    Because: a Member is a box by definition; OR is the union and AND the pairwise intersection of boxes. A Test is a
        condition on several columns, or on a large domain: no box says it. More than MOST_BOXES boxes, which
        `Region.of` would replace by their hull, are too many here.

    >>> exact_region(Some((Member("a", ValueSet.of([1])), Member("b", ValueSet.of([2]))))).to_data()
    [{'a': {'runs': [[1, 2]], 'null': False}}, {'b': {'runs': [[2, 3]], 'null': False}}]
    """
    match predicate:
        case Member(column=column, allowed=allowed):
            return _region([Box({column: allowed})])
        case Test():
            return None
        case Some(parts=parts):
            part_regions = [exact_region(part) for part in parts]
            return (
                None
                if None in part_regions
                else _region(box for region in part_regions if region for box in region.boxes)
            )
        case Every(parts=parts):
            return intersect_regions(exact_region(part) for part in parts)
        case _:
            assert_never(predicate)


def intersect_regions(regions: Iterable[Region | None]) -> Region | None:
    """The records in all of these regions, exactly; None where one is not known, or they are too many boxes."""
    intersection: Region | None = Region.whole()
    for region in regions:
        if intersection is None or region is None:
            return None
        intersection = _region(left & right for left, right in itertools.product(intersection.boxes, region.boxes))
    return intersection


def _region(boxes: Iterable[Box]) -> Region | None:
    """As `Region.of`, without its hull."""
    kept = list(dict.fromkeys(box.tidy() for box in boxes if not box.empty))
    if any(not box.sides for box in kept):
        return Region.whole()
    return Region(tuple(kept)) if len(kept) <= MOST_BOXES else None


def rows_of(plan: Plan) -> Region | None:
    """The records of the declared table that a plan keeps, each once; None where it joins, or counts persons."""
    match plan:
        case Scan(roster=roster):
            return None if roster else Region.whole()
        case Filter(source=source, where=where):
            return intersect_regions([rows_of(source), exact_region(where)])
        case JoinPublic() | JoinPerson() | PerPerson() | LimitGroups():
            return None
        case _:
            assert_never(plan)


def cells_of(axis: Axis, domains: Domains) -> tuple[Region, ...] | None:
    """The records in each cell of an axis, NULL last; None where one is not exactly boxes.

    Guarantee: cell i holds the records at which the axis' expression lies in [edges[i], edges[i + 1]), and the cell of
        NULL, where there is one, those at which it is NULL. `domains`: the values that columns can take.
    """
    cell_values = [ValueSet.interval(low, high) for low, high in itertools.pairwise(axis.edges)]
    cell_values += [ONLY_NULL] if axis.null else []
    cell_regions = [_region_where(axis.of, each, domains) for each in cell_values] if _few(axis) else [None]
    exact_regions = tuple(region for region in cell_regions if region is not None)
    return exact_regions if len(exact_regions) == len(cell_regions) else None


def _few(axis: Axis) -> bool:
    return isinstance(axis.of, Code) or axis.size <= _MOST_CELLS


def _region_where(of: Expression, allowed: ValueSet, domains: Domains) -> Region | None:
    """The records at which an expression takes an allowed value."""
    if isinstance(of, Code):
        return exact_region(Member(of.column, allowed))
    try:
        return exact_region(within(of, allowed, domains))
    except Refused:  # too long a condition to be written
        return None
