"""Turn expected counts into whole ones: each is rounded down or up, and so is every sum that a binary tree forms.

The rule at one node of the tree: a whole count, which is left + right rounded down or up, is shared between left and
right so that each of them is rounded down or up too, and each has its own value as expectation. The chance that left is
rounded up is then determined (`_chance`); following it from the root to the leaves is pivotal sampling in the order of
a tournament.

Why not cumulative sums and one random offset (systematic rounding)? Because a pattern in the table can meet the pattern
of the offset: with 1,000 x 2 cells of 0.5 each, all 1,000 units fall on one side of the second attribute. Here every
fight of the tournament has a coin of its own, so that cells cannot conspire: within one tournament the indicators of
rounding up are negatively associated (pivotal sampling in the order of a tree is: Jonasson, The BK inequality for
pivotal sampling, 2013, and the works it names), and the count of any set of them is at least as concentrated as if
every one were rounded by itself.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: What is below a whole number by less than this is that number: the error of some hundred float additions.
_NEARLY = 1e-9
_RELATIVE = 1e-13

#: Rows are shared out in blocks of about this many cells, so that what is needed on the way stays small.
_BLOCK_CELLS = 2**21


def share_out(counts: Integers, weights: Floats, generator: np.random.Generator) -> Integers:
    """Share counts[g] over the cells of row g in proportion to weights[g].

    Guarantee: a row sums to counts[g]; a cell is its expected count counts[g] weights[g, k] / sum(weights[g]), rounded
        down or up, as is the sum over each node of the binary tree over the cells; a cell of weight 0 gets nothing;
        expectations are exact (to the error of floats).
    Because: the tree over the cells of a row keeps all of it, whoever draws. The draws of all rows at one node are
        themselves rounded over a tree over the rows, so that their sum is what it should be, too.
    """
    step = max(1, _BLOCK_CELLS // max(1, weights.shape[1]))
    blocks = [slice(start, start + step) for start in range(0, len(counts), step)]
    return np.concatenate(
        [np.zeros((0, weights.shape[1]), dtype=np.int64)]
        + [_share_block(counts[block], weights[block], generator) for block in blocks]
    )


def _share_block(counts: Integers, weights: Floats, generator: np.random.Generator) -> Integers:
    groups, cells = weights.shape
    mass = weights.sum(axis=1)
    if (mass[counts > 0] <= 0).any():
        raise ArithmeticError("a group of rows has nowhere to go: two tables of the model disagree on a zero")
    scale = np.divide(counts, mass, out=np.zeros(groups), where=mass > 0)
    shared = np.zeros((groups, cells), dtype=np.int64)
    levels = _pyramid(np.ascontiguousarray((weights * scale[:, None]).T))
    # Only nodes that have something to share are followed: never more of them than rows of the sample.
    group = np.flatnonzero(counts)
    node = np.zeros(len(group), dtype=np.int64)
    node_counts = counts[group].astype(np.float64)
    for level in reversed(levels[:-1]):
        place = 2 * node * groups + group
        taken = _left_shares(node_counts, level.ravel()[place], level.ravel()[place + groups], generator)
        # First all that went left, then all that went right: the rows of one node stay neighbours.
        node_counts = np.concatenate([taken, node_counts - taken])
        node = np.concatenate([2 * node, 2 * node + 1])
        group = np.concatenate([group, group])
        alive = np.flatnonzero(node_counts)
        node_counts, node, group = node_counts[alive], node[alive], group[alive]
    shared[group, node] = node_counts
    return shared


def _pyramid(values: Floats) -> list[Floats]:
    """The values, the sums of neighbours along the first axis, the sums of those, up to one row.

    Every level but the last is padded with a row of zeros to an even length.
    """
    levels = [values]
    while len(levels[-1]) > 1:
        if len(levels[-1]) % 2:
            levels[-1] = np.concatenate([levels[-1], np.zeros_like(values[:1])])
        levels.append(levels[-1][0::2] + levels[-1][1::2])
    return levels


def _left_shares(node_counts: Floats, left: Floats, right: Floats, generator: np.random.Generator) -> Floats:
    """How many of those held go left, where `left` and `right` are expected."""
    whole_left, whole_right = _floor(left), _floor(right)
    chance = _chance(node_counts - whole_left - whole_right, left - whole_left, right - whole_right)
    open_ = np.flatnonzero((chance > 0) & (chance < 1))
    chance[open_] = round_chances(chance[open_], generator)
    taken = np.clip(whole_left + chance, 0, node_counts)
    # Floats that are not quite what they should be must not bring to life what is impossible.
    np.copyto(taken, node_counts, where=right == 0)
    np.copyto(taken, 0, where=left == 0)
    return taken


def _chance(over: Floats, left: Floats, right: Floats) -> Floats:
    """The chance that left is rounded up, given how many units are over and the parts beyond whole numbers.

    Because: if left + right < 1, then one unit is over with chance left + right, and left takes it with chance
        left / (left + right): left in all. Otherwise one is sure and a second has chance left + right - 1; one alone
        goes left with chance (1 - right) / (2 - left - right): left in all.
    """
    left, right = np.maximum(left, 0), np.maximum(right, 0)
    both = left + right
    few = both <= 1
    above = np.where(few, left, 1 - right)
    below = np.where(few, both, 2 - both)
    one = np.divide(above, below, out=np.zeros(len(over)), where=below > 0)
    return np.where(over == 1, one, (over > 1).astype(np.float64))


def round_chances(chances: Floats, generator: np.random.Generator) -> Floats:
    """Draw 0 or 1 with these chances, as many ones as expected over every node of the tree over them."""
    if not len(chances):
        return chances
    levels = _pyramid(chances)
    whole = _floor(levels[-1])
    drawn = whole + (generator.random(1) < levels[-1] - whole)
    for level in reversed(levels[:-1]):
        left, right = level[0::2], level[1::2]
        whole_left, whole_right = _floor(left), _floor(right)
        above = drawn[: len(left)]
        chance = _chance(above - whole_left - whole_right, left - whole_left, right - whole_right)
        taken = np.clip(whole_left + (generator.random(len(chance)) < chance), 0, above)
        drawn = np.empty(len(level))
        drawn[0::2] = taken
        drawn[1::2] = above - taken
    return np.clip(drawn[: len(chances)], 0, 1)


def _floor(values: Floats) -> Floats:
    """The whole number below, or the one just above where the difference is the error of floats.

    >>> _floor(np.array([2.99, 2.9999999999, 3.0]))
    array([2., 3., 3.])
    """
    return np.floor(values * (1 + _RELATIVE) + _NEARLY)
