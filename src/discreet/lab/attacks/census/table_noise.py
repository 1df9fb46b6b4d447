"""The same table with Discreet's noise on it, to be read at its word or by an attacker who allows for the noise.

The people here never lived, but the noise is the real one, from the operating system; there is no seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.errors import UsageError
from discreet.lab.attacks.census import record_kinds
from discreet.lab.attacks.census.published_block import MOST_PEOPLE, CensusBlock, PublishedStatistic, World
from discreet.lab.attacks.census.published_range import PublishedRange
from discreet.mechanisms.bits import system
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.laplace import DiscreteLaplace

#: The noise of the whole table at once lies within the band that an attacker allows for this often.
CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNoise:
    """The noise for a table of counts, and of sums where a statistic is of a column; medians are not published.

    Guarantee: the noisy table is epsilon-differentially private for adding or removing one person.
    Because: one person moves all counts together by at most `count_l1`, and all sums together by at most `sum_l1`;
        half of epsilon goes to the counts and half to the sums, or all of it to the counts where there are no sums.
    """

    count_l1: int
    sum_l1: int
    count_law: DiscreteLaplace
    sum_law: DiscreteLaplace

    def counts(self, exact: Integers) -> Integers:
        """Counts with noise, of one table or of several that are published once each."""
        return self.count_law.add_noise(exact, l1=self.count_l1, bits=system())[0]

    def sums(self, exact: Integers) -> Integers:
        """Sums with noise, likewise."""
        return self.sum_law.add_noise(exact, l1=self.sum_l1, bits=system())[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTable:
    """A count for each statistic of a block, and a sum where it is of a column."""

    counts: tuple[int, ...]
    sums: tuple[int | None, ...]


def noise_for(block: CensusBlock, epsilon: Fraction) -> TableNoise:
    """The noise that epsilon asks for."""
    if not block.statistics:
        raise UsageError("no statistic is left to publish")
    count_l1, sum_l1 = max(1, record_kinds.most_memberships(block)), max(1, record_kinds.most_total(block))
    each = epsilon / 2 if any(one.of for one in block.statistics) else epsilon
    return TableNoise(
        count_l1=count_l1,
        sum_l1=sum_l1,
        count_law=DiscreteLaplace(scale=count_l1 / each),
        sum_law=DiscreteLaplace(scale=sum_l1 / each),
    )


def exact_table(block: CensusBlock, world: World) -> BlockTable:
    """What the block's statistics count and sum in a world."""
    return BlockTable(
        counts=tuple(sum(block.is_in_group(record, one.group) for record in world) for one in block.statistics),
        sums=tuple(_sum(block, world, one) for one in block.statistics),
    )


def noisy_table(exact: BlockTable, noise: TableNoise) -> BlockTable:
    """The table as Discreet would publish it."""
    summed = [total for total in exact.sums if total is not None]
    noisy_sums = iter(noise.sums(np.array(summed, dtype=np.int64)).tolist())
    return BlockTable(
        counts=tuple(noise.counts(np.array(exact.counts, dtype=np.int64)).tolist()),
        sums=tuple(None if total is None else next(noisy_sums) for total in exact.sums),
    )


def taken_as_exact(block: CensusBlock, table: BlockTable) -> CensusBlock:
    """What a reader believes who takes every number for exact."""
    return _restate(block, table, 0, 0)


def within_noise(block: CensusBlock, table: BlockTable, noise: TableNoise) -> CensusBlock:
    """What a reader believes who knows the noise: each number in a band that holds them all at `CONFIDENCE`."""
    numbers = len(table.counts) + sum(total is not None for total in table.sums)
    confidence = 1 - (1 - CONFIDENCE) / numbers
    return _restate(block, table, noise.count_law.half_width(confidence), noise.sum_law.half_width(confidence))


def _restate(block: CensusBlock, table: BlockTable, near: int, far: int) -> CensusBlock:
    stated = [
        replace(one, count=_range_around(count, near), sum=_range_around(total, far), mean=None, median=None)
        for one, count, total in zip(block.statistics, table.counts, table.sums, strict=True)
    ]
    # How many people there are is not told exactly any more: twice as many is far enough for this attacker.
    return replace(block, people=(0, min(MOST_PEOPLE, 2 * block.people[1])), statistics=tuple(stated))


def _sum(block: CensusBlock, world: Sequence[tuple[int, ...]], statistic: PublishedStatistic) -> int | None:
    if not statistic.of:
        return None
    place = block.place(statistic.of)
    return sum(record[place] for record in world if block.is_in_group(record, statistic.group))


def _range_around(value: int | None, width: int) -> PublishedRange | None:
    return None if value is None else PublishedRange(low=Fraction(value - width), high=Fraction(value + width))
