"""Kinds of people: records that are in the same groups. They are few even where records are many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise, product

from discreet.lab.attacks.census.published_block import BlockColumn, CensusBlock, Interval, Record

#: More kinds than this are not listed; what is wanted of them is then replaced by a safe bound.
MOST_KINDS = 200_000


def count_possible_records(block: CensusBlock) -> int:
    """How many different records there can be under the facts (not under the statistics)."""
    kinds = _kinds(block)
    if kinds is None:
        return block.records
    return sum(math.prod(high - low + 1 for low, high in kind) for kind in kinds if _is_allowed_kind(block, kind))


def most_memberships(block: CensusBlock) -> int:
    """In how many of the published groups one person can be: how far one person moves all counts together.

    Guarantee: an upper bound for every record that the columns allow, whatever the facts say.
    Because: records of a kind are in the same groups, and every record is of one kind.
    """

    def moved(record: Record) -> int:
        return sum(block.is_in_group(record, one.group) for one in block.statistics)

    return _largest_over_kinds(block, moved, otherwise=len(block.statistics))


def most_total(block: CensusBlock) -> int:
    """How far one person can move all sums together.

    Guarantee, because: as above, and |x| over an interval is largest at one of its ends.
    """
    summed = [(one.group, block.place(one.of)) for one in block.statistics if one.of]

    def moved(record: Record) -> int:
        return sum(abs(record[place]) for group, place in summed if block.is_in_group(record, group))

    far = [max(abs(column.low), abs(column.high)) for column in block.columns]
    return _largest_over_kinds(block, moved, otherwise=sum(far[place] for _, place in summed))


def _largest_over_kinds(block: CensusBlock, moved: Callable[[Record], int], *, otherwise: int) -> int:
    """The largest over all kinds, or `otherwise` (somebody in every group, with the largest values) if too many."""
    kinds = _kinds(block)
    if kinds is None:
        return otherwise
    return max(moved(corner) for kind in kinds for corner in product(*({*ends} for ends in kind)))


def _kinds(block: CensusBlock) -> Iterator[tuple[Interval, ...]] | None:
    pieces = [_pieces(block, column) for column in block.columns]
    return product(*pieces) if math.prod(map(len, pieces)) <= MOST_KINDS else None


def _pieces(block: CensusBlock, column: BlockColumn) -> list[Interval]:
    """The column cut so finely that every condition holds on all of a piece or on none of it."""
    cuts = {column.low, column.high + 1}
    for group in block.groups():
        for condition in group:
            if condition.column == column.name:
                cuts |= {cut for low, high in condition.intervals for cut in (low, high + 1)}
    inside = sorted(cut for cut in cuts if column.low <= cut <= column.high + 1)
    return [(low, high - 1) for low, high in pairwise(inside)]


def _is_allowed_kind(block: CensusBlock, kind: tuple[Interval, ...]) -> bool:
    return is_allowed(block, tuple(low for low, _ in kind))


def all_records(block: CensusBlock) -> Iterator[Record]:
    """Every record that the columns allow."""
    return product(*(range(column.low, column.high + 1) for column in block.columns))


def is_allowed(block: CensusBlock, record: Record) -> bool:
    """Whether the facts allow a record."""
    return all(block.is_in_group(record, fact.then) for fact in block.facts if block.is_in_group(record, fact.when))
