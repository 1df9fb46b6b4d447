"""Rows from a model. Pure post-processing of noisy numbers: seeds are allowed here, and cost no privacy.

The cliques are walked from the root. In each, the rows that agree on the separator share out the new attributes: first
how many rows get which values, by rounding expected counts (`tree_rounding`), then which rows get them, evenly over
all that the rows are already (`spread_evenly`).

What is guaranteed, for every sample:
- a combination of values within a clique that has probability 0 does not appear;
- a clique's count is the count of its group of rows times the conditional probability, attribute after attribute, each
  rounded down or up; so at the root, where the group is all n rows, the first attribute's counts are n times its
  probability, rounded down or up (but for the units that are moved to keep totals);
- totals named in `keep` come out exactly, or the sample is refused;
- the order of the rows says nothing.
What holds nearly: counts of cliques further from the root (the roundings along the road add up: the error is that of a
few coins for each group, where independent draws have one for each row), and counts of sets outside the cliques (spread
evenly where the order of the rows reaches, and as variable as independent draws where it does not). `check` looks at
both and runs on every sample.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.axes import shape_of
from discreet.inference.calibrated_tree import CalibratedTree
from discreet.inference.sample_check import check
from discreet.inference.sample_totals import (
    SampleTotal,
    TotalsNotKept,
    drawing_priority,
    enforce_total,
    root_for,
    schedule,
    whole_totals,
)
from discreet.inference.sampling_steps import SamplingStep, sampling_steps
from discreet.inference.tree_rounding import Integers, share_out

Codes = NDArray[np.unsignedinteger]

#: Positions of rows are packed in half of 64 bits.
MOST_ROWS = 2**30

#: Totals that depend on each other through what is drawn between them are kept by luck: so often it is tried.
ATTEMPTS = 8

#: Positions are sorted as whole numbers of 64 bits that also carry who is sorted.
_BITS = 63


def sample_cells(
    calibrated: CalibratedTree, n: int, generator: np.random.Generator, *, keep: Sequence[Sequence[int]] = ()
) -> Codes:
    """Codes of n rows, one column an attribute, in random order and the smallest unsigned type that holds them.

    `keep` names sets of attributes, each within one clique, whose expected counts are whole numbers and come out
    exactly: totals that are public. One set is always possible; several that cannot be kept together are refused.
    """
    _check_size(calibrated, n)
    return _draw(calibrated, n, generator, whole_totals(calibrated, n, keep) if n else ())


def sample_cells_in_parts(
    calibrated: CalibratedTree,
    n: int,
    generator: np.random.Generator,
    *,
    rows: int = 1_000_000,
    keep: Sequence[Sequence[int]] = (),
) -> Iterator[Codes]:
    """The same in parts of about equal size and at most `rows` rows: memory does not grow with n.

    Sets to keep may not overlap; all parts together have their totals.
    """
    _check_size(calibrated, min(n, MOST_ROWS))
    if not 1 <= rows <= MOST_ROWS:
        raise UsageError(f"a part must have 1 to {MOST_ROWS:,} rows, got {rows:,}")
    if len({attribute for each in keep for attribute in each}) != sum(len(each) for each in keep):
        raise UsageError("sets of attributes to keep in parts must not overlap", hint="sample in one part")
    totals = whole_totals(calibrated, n, keep) if n else ()
    return _parts(calibrated, n, -(-n // rows), generator, totals)


def _parts(
    calibrated: CalibratedTree, n: int, parts: int, generator: np.random.Generator, totals: tuple[SampleTotal, ...]
) -> Iterator[Codes]:
    for left in range(parts, 0, -1):
        size = n // left
        now = tuple(_share(total, size, generator) for total in totals)
        totals = tuple(
            SampleTotal(attributes=total.attributes, counts=total.counts - part.counts)
            for total, part in zip(totals, now, strict=True)
        )
        n -= size
        yield _draw(calibrated, size, generator, now)


def _share(total: SampleTotal, size: int, generator: np.random.Generator) -> SampleTotal:
    """The part of a total that `size` of its rows have."""
    flat = total.counts.ravel()
    shared = share_out(np.array([size]), flat[None, :].astype(np.float64), generator)
    return SampleTotal(attributes=total.attributes, counts=shared.reshape(total.counts.shape))


def _check_size(calibrated: CalibratedTree, n: int) -> None:
    if not 0 <= n <= MOST_ROWS:
        raise UsageError(f"a sample can have 0 to {MOST_ROWS:,} rows, got {n:,}", hint="sample in parts")
    if n and not calibrated.total > 0:
        raise UsageError("the model gives every row probability 0", hint="use conditions that can be met")


def _draw(calibrated: CalibratedTree, n: int, generator: np.random.Generator, totals: tuple[SampleTotal, ...]) -> Codes:
    """A checked sample. Each kept set has its turns as the first, the one with most freedom, until all are kept."""
    turns = [totals[turn:] + totals[:turn] for turn in range(len(totals))] * ATTEMPTS or [()]
    for turn in turns[:-1]:
        with contextlib.suppress(TotalsNotKept):
            return _draw_cliques(calibrated, n, generator, turn)
    return _draw_cliques(calibrated, n, generator, turns[-1])


def _draw_cliques(
    calibrated: CalibratedTree, n: int, generator: np.random.Generator, totals: tuple[SampleTotal, ...]
) -> Codes:
    sizes = calibrated.sizes
    steps = sampling_steps(calibrated, root=root_for(calibrated, totals), eager=drawing_priority(totals))
    kept = schedule(steps, totals)
    columns = np.empty((len(sizes), n), dtype=np.min_scalar_type(max(sizes, default=1) - 1))
    # Rows are numbered at random once, so that the numbers say nothing about what they are given.
    rows = generator.permutation(n)
    for step in steps if n else ():
        rows = _draw_step(step, sizes, columns, rows, generator, kept)
    codes: Codes = columns.T
    check(calibrated, codes)
    return codes


def _draw_step(
    step: SamplingStep,
    sizes: tuple[int, ...],
    columns: NDArray[np.unsignedinteger],
    rows: Integers,
    generator: np.random.Generator,
    kept: Mapping[int, SampleTotal],
) -> Integers:
    """Draw the new attributes of all rows; returns the rows in their new order."""
    codes = np.zeros(len(rows), dtype=np.int64)
    for attribute in step.given:
        codes *= sizes[attribute]
        codes += columns[attribute]
    grouped = group_rows(rows, codes[rows])
    cells, counts = _draw_counts(step, sizes, grouped.codes, grouped.counts, generator, kept)
    shape = shape_of(sizes, step.new)
    owner, value = np.divmod(cells, int(np.prod(shape)))
    owner = np.searchsorted(grouped.codes, owner)
    rows, drawn = spread_evenly(grouped, owner, counts, generator)
    for attribute, code in zip(step.new, np.unravel_index(value, shape), strict=True):
        columns[attribute, rows] = code.astype(columns.dtype)[drawn]
    return rows


def _draw_counts(
    step: SamplingStep,
    sizes: tuple[int, ...],
    groups: Integers,
    counts: Integers,
    generator: np.random.Generator,
    kept: Mapping[int, SampleTotal],
) -> tuple[Integers, Integers]:
    """How many rows of each group get which new values: cells of the step's table that are not empty, and counts."""
    drawn = list(step.given)
    for attribute in step.new:
        size = sizes[attribute]
        weights = step.table_up_to(attribute).reshape(-1, size)[groups]
        shared = share_out(counts, weights, generator)
        if attribute in kept:
            enforce_total(shared, weights, _blocks(groups, drawn, sizes, kept[attribute]), kept[attribute])
        group, value = np.nonzero(shared)
        counts = shared[group, value]
        groups = groups[group] * size + value
        drawn.append(attribute)
    return groups, counts


def _blocks(groups: Integers, drawn: Sequence[int], sizes: tuple[int, ...], total: SampleTotal) -> Integers:
    """For each group the flat place of the attributes, all but the last, of a total."""
    places = dict(zip(drawn, np.unravel_index(groups, shape_of(sizes, drawn)), strict=True)) if drawn else {}
    blocks = np.zeros(len(groups), dtype=np.int64)
    for attribute in total.attributes[:-1]:
        blocks = blocks * sizes[attribute] + places[attribute]
    return blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedRows:
    """Rows sorted by group. `rows` are row numbers in order, `codes` the groups that occur, `counts` their sizes."""

    rows: Integers
    codes: Integers
    counts: Integers


def group_rows(rows: Integers, codes: Integers) -> GroupedRows:
    """Sort rows by their code; rows of equal code stay in the order in which they stand.

    >>> group_rows(np.array([4, 0, 2]), np.array([7, 3, 7]))
    GroupedRows(rows=array([0, 4, 2]), codes=array([3, 7]), counts=array([1, 2]))
    """
    bits = len(rows).bit_length()
    packed = (codes << bits) | np.arange(len(rows))
    packed.sort()
    sorted_codes = packed >> bits
    starts = np.flatnonzero(np.diff(sorted_codes, prepend=-1))
    counts = np.diff(starts, append=len(rows))
    return GroupedRows(rows=rows[packed & ((1 << bits) - 1)], codes=sorted_codes[starts], counts=counts)


def spread_evenly(
    grouped: GroupedRows, owner: Integers, counts: Integers, generator: np.random.Generator
) -> tuple[Integers, NDArray[np.int64]]:
    """Give each row of each group one of the values of that group.

    Value v belongs to group number owner[v] (which never decreases) and has counts[v] > 0 copies; those of a group are
    as many as its rows.

    Rows stand in an order: sorted by what they were given last, then by what they were given before that, and so on.
    Within a group (equal on the separator) the copies of each value are spread evenly over that order, each at random
    within its stretch, so that in any stretch of the order (rows alike in other columns) a value is about as frequent
    as in the whole group: given the separator, new columns come out independent of old ones, with less chance in it
    than by drawing.

    Every copy has a coin of its own within its stretch. An offset common to all copies of a value is a little more even
    on most tables and a disaster on some: with independent fair bits and 64 rows it falls in step with an earlier
    column, and two columns come out equal in every sample.

    Returns the rows in their new order (by group, then value, then as they stood) and, for each
    of these rows, its value v.
    """
    n = len(grouped.rows)
    value = np.repeat(np.arange(len(counts)), counts)
    first = np.cumsum(counts) - counts
    turn = np.arange(n) - first[value]
    bits = n.bit_length()
    fine = 1 << (_BITS - 2 * bits)
    # A copy's stretch, in units of 1/fine of a row, within the rows of its group.
    rows = grouped.counts[owner]
    stretch = (rows / counts * fine)[value]
    place = ((turn + generator.random(n)) * stretch).astype(np.int64)
    np.minimum(place, (rows * fine - 1)[value], out=place)
    start = ((np.cumsum(grouped.counts) - grouped.counts)[owner] * fine)[value]
    packed = ((place + start) << bits) | np.arange(n)
    packed.sort()
    copies = packed & ((1 << bits) - 1)
    ordered = np.empty_like(grouped.rows)
    ordered[copies] = grouped.rows
    return ordered, value
