"""Weights of fine cells from their noisy counts: what noise alone explains is evened out.

A noisy count is right on the average, but cut off at 0 it is too large on the average, and hundreds of empty cells far
out come to many rows. So neighbouring cells are told apart only where noise does not explain the difference, and the
tail of a column whose cells widen is continued from its body. Post-processing of noisy numbers.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Two stretches of cells differ if noise explains it once in so many standard deviations.
DIFFERENT = 3.0

#: Up to so many neighbouring cells stand out of a stretch where they are so many standard deviations above it.
WIDEST, STANDS_OUT = 8, 4.5

#: A stretch of cells whose sum is below so many standard deviations is taken for empty, and one near it for smaller.
EMPTY = 2.0

#: The curve of a tail is fitted to the cells above this share of the rows, and stands for those above the second.
BODY, TAIL = 0.3, 0.9

#: A tail that is so many standard deviations away from its curve is no such tail.
AWAY = 4.5

#: Laplace noise has long tails: what one cell alone shows must be so many standard deviations. One count that noise
#: lifts far out would weigh more in a sum than all rows there.
LONG_TAIL = 7.6

#: A cell that is like no other must hold so many standard deviations of the noise, of either law: the last one weighs
#: most in a sum, and nothing beside it says how many rows it has.
ALONE, LAPLACE_ALONE = 3.1, 5.5

#: The part of the rows that lies in a tail that noise hides, on the average; and how far it falls, in powers of e.
USUAL_TAIL, FALL = 0.01, 3.0

#: Steps of the fit of a curve, and the least number of cells that one is fitted to.
STEPS, FEWEST = 60, 12


def smooth_weights(
    noisy: Floats,
    sd: float,
    base: Floats,
    *,
    points: NDArray[np.bool_],
    sizes: Floats | None = None,
    has_tails: bool = False,
    is_laplace: bool = False,
) -> Floats:
    """Weights from noisy counts of neighbouring cells with noise of this size.

    `base`: how many rows are expected in each cell, up to a factor, where nothing is known of it; `points`: cells that
    are like no other; `sizes`: how large values in each cell are, where cells widen with it: the last are the tail.
    `has_tails`: the ends lie near where rows are, so that those beyond what is seen are taken as they were counted.
    `is_laplace`: of which law the noise is.
    """
    weights = np.zeros(len(noisy))
    for start, stop in _stretches(points):
        if stop - start == 1 and points[start]:
            limit = sd * (LAPLACE_ALONE if is_laplace else ALONE)
            weights[start] = noisy[start] if noisy[start] > limit else 0.0
        else:
            weights[start:stop] = _even_out(noisy[start:stop], sd, base[start:stop], least=sd * LONG_TAIL * is_laplace)
    if has_tails:
        _keep_tails(weights, noisy, sd, base)
    if sizes is not None:
        cells = np.flatnonzero(~points & (sizes > 0))
        weights[cells] = continue_tail(noisy[cells], weights[cells], sd, base[cells], sizes[cells], is_laplace)
    return weights


def _stretches(points: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Runs of cells that are compared: each point is one of its own."""
    cuts = sorted({0, len(points), *np.flatnonzero(points).tolist(), *(np.flatnonzero(points) + 1).tolist()})
    return list(pairwise(cuts))


def _even_out(noisy: Floats, sd: float, base: Floats, *, least: float = 0.0) -> Floats:
    """Stretches of cells in proportion to their base: split where two parts differ by more than noise explains.

    With S rows in a stretch of base B, a part of base b is expected to have S b / B; with k of n cells in it, the noise
    of the difference has the variance sd^2 (k - 2 k b / B + n (b / B)^2). Parts differ by more than `least` rows.
    """
    weights, waiting = np.zeros(len(noisy)), [(0, len(noisy))]
    sums, bases = np.concatenate([[0.0], np.cumsum(noisy)]), np.concatenate([[0.0], np.cumsum(base)])
    while waiting:
        start, stop = waiting.pop()
        count, rows, whole = stop - start, sums[stop] - sums[start], bases[stop] - bases[start]
        if count > 1 and whole > 0:
            cells = np.arange(1, count)
            part = (bases[start + 1 : stop] - bases[start]) / whole
            variance = cells - 2 * cells * part + count * part**2
            difference = np.abs(sums[start + 1 : stop] - sums[start] - rows * part)
            away = np.where(difference > least, difference, 0.0) / (sd * np.sqrt(np.maximum(variance, 0.5)))
            place = int(away.argmax())
            if away[place] > DIFFERENT:
                waiting += [(start, start + 1 + place), (start + 1 + place, stop)]
                continue
            own = _standing_out(noisy[start:stop] - rows * base[start:stop] / whole, sd, least)
            if own is not None:
                cuts = sorted({start, start + own[0], start + own[1], stop})
                waiting += list(pairwise(cuts))
                continue
        weights[start:stop] = _shrunk(rows, EMPTY * sd * math.sqrt(count)) * (
            base[start:stop] / whole if whole > 0 else 1 / count
        )
    return weights


def _keep_tails(weights: Floats, noisy: Floats, sd: float, base: Floats) -> None:
    """Give the cells before the first and after the last that have a weight what they may hold together, falling."""
    seen = np.flatnonzero(weights > 0)
    first, last = (int(seen[0]), int(seen[-1]) + 1) if len(seen) else (len(weights), len(weights))
    usual = USUAL_TAIL * float(noisy.sum())
    for own, outward in ((slice(0, first), -1), (slice(last, len(weights)), 1)):
        counted = np.flatnonzero(noisy[own] != 0)  # what nobody seems to have is 0 to the last digit
        if base[own][counted].sum() > 0 and usual > 0:
            falling = base[own][counted] * np.exp(-FALL * np.arange(len(counted))[::outward] / len(counted))
            rows = expected_rows(float(noisy[own].sum()), sd * math.sqrt(len(counted)), usual)
            weights[own][counted] = rows * falling / float(falling.sum())


def expected_rows(noisy: float, sd: float, usual: float) -> float:
    """How many rows are expected where so many were counted with noise, if they are `usual` many on the average.

    The mean of an exponential law of that mean, given a count with normal noise.

    >>> [round(expected_rows(count, 20.0, 30.0)) for count in (-60.0, 0.0, 60.0, 1000.0)]
    [5, 12, 47, 987]
    """
    middle = (noisy - sd**2 / usual) / sd
    if middle < -6:  # as far out as this the quotient below is -1 / middle
        return sd / -middle
    return sd * (middle + NormalDist().pdf(middle) / NormalDist().cdf(middle))


def _standing_out(differences: Floats, sd: float, least: float) -> tuple[int, int] | None:
    """The few neighbouring cells that stand out most of a longer stretch, if noise does not explain them.

    No single cut shows them: what is beside them on either side evens them out. A code that lies far from all others
    is one cell.
    """
    sums, best, standing = np.concatenate([[0.0], np.cumsum(differences)]), 1.0, None
    width = 1
    while width <= min(WIDEST, len(differences) // 3):
        rows = sums[width:] - sums[:-width]
        place = int(rows.argmax())
        away = float(rows[place]) / max(STANDS_OUT * sd * math.sqrt(width), least)
        if away > best:
            best, standing = away, (place, place + width)
        width *= 2
    return standing


def _shrunk(rows: float, limit: float) -> float:
    return 0.0 if rows <= limit else rows * (1 - (limit / rows) ** 2)


def continue_tail(
    noisy: Floats, weights: Floats, sd: float, base: Floats, sizes: Floats, is_laplace: bool = False
) -> Floats:
    """The weights, with those of the tail by a curve that falls as the body does, where the noisy counts allow it.

    Of the base's own it is x^a exp(-b x), or exp(a log x - b (log x)^2), whichever is nearer.
    """
    filled = np.cumsum(weights)
    if len(noisy) < FEWEST or filled[-1] <= 0:
        return weights
    first, start = (int(np.searchsorted(filled, share * filled[-1])) for share in (BODY, TAIL))
    if len(noisy) - first < FEWEST or start - first < 3:
        return weights
    place = np.log(sizes[first:] / sizes[first])
    curves = [
        _curve(noisy[first:], sd, base[first:], place, bend) for bend in (place**2, sizes[first:] / sizes[first] - 1)
    ]
    curve, _ = min(curves, key=lambda each: each[1])
    tail = curve[start - first :]
    difference, spread = noisy[start:] - tail, np.sqrt(sd**2 + tail)
    whole = abs(float(difference.sum())) / math.sqrt(float((spread**2).sum()))
    most = LONG_TAIL if is_laplace else AWAY
    if not np.isfinite(tail).all() or whole > AWAY or (np.abs(difference) > most * spread).any():
        return weights
    return np.concatenate([weights[:start], tail])


def rows_beyond(noisy: Floats, edges: NDArray[np.int64], sd: float, *, by_octaves: bool) -> Floats:
    """How many rows are expected in each further cell, if they go on there as they fall within those that are counted.

    `noisy`: of the first cells between these edges, `by_octaves` if they widen with their values, outward. Of rows that
    fall as a normal law does, or a lognormal, or a power with an exponential.
    """
    inner, none = len(noisy), np.zeros(len(edges) - 1 - len(noisy))
    filled = np.maximum.accumulate(np.cumsum(noisy))
    if inner < FEWEST or filled[-1] < EMPTY * sd * math.sqrt(inner):
        return none
    first = int(np.searchsorted(filled, BODY * filled[-1]))
    by_octaves = by_octaves and edges[first] >= 0
    if inner - first < FEWEST:
        return none
    middles, widths = (edges[first:-1] + edges[first + 1 :] - 1) / 2, np.diff(edges[first:]).astype(np.float64)
    if by_octaves:
        sizes = np.maximum(middles, 0.5)
        base, place = widths / sizes, np.log(sizes / sizes[0])
        bends = [place**2, sizes / sizes[0] - 1]
    else:
        base, place = widths / widths[0], (middles - middles[0]) / float(edges[inner] - edges[first])
        bends = [place**2]
    padded = np.concatenate([noisy[first:], none])
    is_counted = np.arange(len(padded)) < inner - first
    curves = [_curve(padded, sd, base, place, bend, is_counted) for bend in bends]
    rows = min(curves, key=lambda each: each[1])[0][inner - first :]
    return rows if np.isfinite(rows).all() else none


def _curve(
    noisy: Floats, sd: float, base: Floats, place: Floats, bend: Floats, counted: NDArray[np.bool_] | None = None
) -> tuple[Floats, float]:
    """The least squares curve base * exp(a + b place + c bend), c <= 0, by damped Newton steps, and what it misses.

    It is fitted to the cells that are `counted`, and goes on to the others.
    """
    features = np.stack([np.ones_like(place), place, bend])
    precision = 1 / (sd**2 + np.maximum(noisy, 0))
    if counted is not None:
        precision = np.where(counted, precision, 0.0)
    height = max(float(noisy[:FEWEST].sum()), sd) / max(float(base[:FEWEST].sum()), 1e-300)
    theta, damping = np.array([math.log(height), -1.0, -0.01]), 1e-2
    curve = base * np.exp(np.clip(theta @ features, -60, 60))
    loss = float((precision * (noisy - curve) ** 2).sum())
    for _ in range(STEPS):
        slopes = curve * features
        gradient, hessian = slopes @ (precision * (noisy - curve)), (slopes * precision) @ slopes.T
        hessian += np.diag(damping * np.diag(hessian) + 1e-12)
        new = theta + np.clip(np.linalg.solve(hessian, gradient), -3, 3)
        if new[2] > 0:  # then c is 0, and the others are fitted without it
            new[:2] = theta[:2] + np.clip(
                np.linalg.solve(hessian[:2, :2], gradient[:2] + hessian[:2, 2] * theta[2]), -3, 3
            )
            new[2] = 0.0
        made = base * np.exp(np.clip(new @ features, -60, 60))
        missed = float((precision * (noisy - made) ** 2).sum())
        if missed > loss:
            damping *= 5
            continue
        done = loss - missed < 1e-6 * (1 + loss)
        theta, curve, loss, damping = new, made, missed, damping / 3
        if done:
            break
    return curve, loss
