"""How a sensitive column spreads inside each class: distinct values, entropy, distance from the whole table.

Because only pairs (class, value) that occur are looked at, the work is one sort of the rows, however many values
there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.lab.anonymize.column_codes import Floats, Integers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SensitiveSpread:
    """One sensitive column inside each class.

    `distinct`: how many values; `entropy`: the exponential of the entropy, so that it is `distinct` where all are
    equally frequent; `largest`: the share of the most frequent value; `distance`: from the whole table.
    """

    distinct: Integers
    entropy: Floats
    largest: Floats
    distance: Floats


def measure_spread(
    ids: Integers,
    sizes: Integers,
    codes: Integers,
    *,
    overall: Integers,
    ordered: bool,
    weights: Integers | None = None,
) -> SensitiveSpread:
    """The spread of `codes` in classes `ids`, of `sizes` rows each. `overall[code]` counts the whole table.

    `weights`: how many rows each entry stands for. `distance` is, for an ordered column, the earth mover's distance
    over ranks (Li, Li and Venkatasubramanian's ordered distance, from 0 to 1), else the total variation.
    """
    if not overall.all():  # ranks are counted over the values that the table holds
        codes, overall = (np.cumsum(overall > 0) - 1)[codes], overall[overall > 0]
    classes, values, counts = _pairs(ids, codes, len(overall), weights)
    shares = counts / sizes[classes]
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    whole = overall / overall.sum()
    return SensitiveSpread(
        distinct=np.diff(np.append(starts, len(classes))),
        entropy=np.exp(-np.add.reduceat(shares * np.log(shares), starts)),
        largest=np.maximum.reduceat(shares, starts),
        distance=(
            _ordered_distance(values, shares, starts, whole)
            if ordered
            else np.add.reduceat(np.maximum(shares - whole[values], 0.0), starts)
        ),
    )


def _pairs(ids: Integers, codes: Integers, size: int, weights: Integers | None) -> tuple[Integers, Integers, Integers]:
    """The pairs of class and value that occur, sorted, with the rows of each."""
    keys = ids * size + codes
    if weights is None:
        ranked = np.sort(keys)
    else:
        order = np.argsort(keys)
        ranked = keys[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=-1))
    counts = np.diff(np.append(starts, len(ranked))) if weights is None else np.add.reduceat(weights[order], starts)
    pair_keys = ranked[starts]
    return pair_keys // size, pair_keys % size, counts


def _ordered_distance(values: Integers, shares: Floats, starts: Integers, whole: Floats) -> Floats:
    """The ordered distance of each class: the mean over ranks of |P(up to the rank) - Q(up to the rank)|.

    Because P is constant between the values that occur in a class and Q never falls, each such stretch is two sums of
    Q, left and right of where Q passes P.
    """
    size = len(whole)
    if size < 2:
        return np.zeros(len(starts))
    reached = np.cumsum(whole)
    reached[-1] = 1.0
    below = np.concatenate([[0.0], np.cumsum(reached)])  # below[i]: the sum of Q over ranks under i
    running = np.cumsum(shares)
    lengths = np.diff(np.append(starts, len(values)))
    level = running - np.repeat(running[starts] - shares[starts], lengths)
    last = np.append(starts[1:], len(values)) - 1
    until = np.append(values[1:], size)
    until[last] = size
    level[last] = 1.0
    passes = np.clip(np.searchsorted(reached, level), values, until)
    stretch = level * (passes - values) - (below[passes] - below[values])
    stretch += (below[until] - below[passes]) - level * (until - passes)
    total = np.add.reduceat(stretch, starts) + below[values[starts]]
    moved: Floats = np.maximum(total, 0.0) / (size - 1)
    return moved
