"""The shape of a weighted sum of equal noises: how its variance is spread over the sizes of its weights.

An answer is a sum of w_i X_i with thousands of weights. Its law depends on their sizes alone, and smoothly: so the
sizes are kept as shares of the variance on a fine logarithmic grid. The variance itself stays exact; a share is split
over two places of the grid, which moves the fourth cumulant by less than a thousandth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Weights as shares of the whole length, from 1 down to exp(-9.2); smaller ones count as the smallest.
PLACES, STEP = 231, 0.04

#: So many of the largest different weights are kept as they are.
MOST_LARGEST = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightProfile:
    """For each of several sums: `variance`, where every X has variance 1; the largest weights as shares of the
    length (`kept`) and how often each occurs (`times`); and the shares of the variance of all others on the grid
    (`rest`)."""

    variance: Floats
    largest: Floats
    times: Floats
    rest: Floats

    def shares_on_grid(self) -> Floats:
        """Shares of the variance of all weights on the grid."""
        shares = self.rest.copy()
        deposit(shares, self.largest, self.times * self.largest**2)
        return shares


def grid() -> Floats:
    """The weights, as shares of the length, that the places stand for."""
    return np.asarray(np.exp(-STEP * np.arange(PLACES)))


def deposit(into: Floats, weights: Floats, shares: Floats) -> None:
    """Add shares of the variance at weights from 0 to 1: lines of `into` are sums, columns places."""
    with np.errstate(divide="ignore"):
        place = np.minimum(-np.log(np.minimum(weights, 1.0)) / STEP, PLACES - 1.001)
    left = place.astype(np.int64)
    part = shares * (place - left)
    line = np.arange(len(into))[:, None] * PLACES
    flat = into.reshape(-1)
    np.add.at(flat, line + left, shares - part)
    np.add.at(flat, line + left + 1, part)


def weight_profile(weights: Floats, counts: Floats | None = None) -> WeightProfile:
    """The shape of sums whose weights are the lines of an array, the weight i occurring `counts[i]` times."""
    sizes = np.abs(weights)
    squares = sizes**2
    variance = (squares if counts is None else squares * counts).sum(axis=1)
    length = np.sqrt(np.where(variance > 0, variance, 1.0))[:, None]
    sizes = sizes / length
    often = np.ones_like(sizes) if counts is None else counts.astype(np.float64)
    kept, times, left = _largest(sizes, often)
    rest = np.zeros((len(sizes), PLACES))
    deposit(rest, sizes, left * sizes**2)
    return WeightProfile(variance=variance, largest=kept, times=times, rest=rest)


def _largest(sizes: Floats, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """The largest weights, how often each occurs, and how often each weight is left when they are taken out."""
    width = min(MOST_LARGEST, sizes.shape[1])
    places = np.argpartition(np.where(counts > 0, -sizes, 1.0), width - 1, axis=1)[:, :width]
    kept, times = (np.take_along_axis(values, places, axis=1) for values in (sizes, counts))
    left = counts.copy()
    np.put_along_axis(left, places, 0.0, axis=1)
    wider = ((0, 0), (0, MOST_LARGEST - width))
    return np.pad(np.where(times > 0, kept, 0.0), wider), np.pad(times, wider), left


def product_profile(one: WeightProfile, two: WeightProfile) -> WeightProfile:
    """The shape of sums over pairs, whose weights are all products of a weight of one and a weight of the other."""
    pairs = (one.largest[:, :, None] * two.largest[:, None, :]).reshape(len(one.largest), -1)
    often = (one.times[:, :, None] * two.times[:, None, :]).reshape(len(one.largest), -1)
    kept, times, _ = _largest(pairs, often)
    size = 2 * PLACES
    both = np.fft.rfft(one.shares_on_grid(), size, axis=1) * np.fft.rfft(two.shares_on_grid(), size, axis=1)
    spread = np.fft.irfft(both, size, axis=1)
    whole = spread[:, :PLACES].copy()
    whole[:, -1] += spread[:, PLACES:].sum(axis=1)
    taken = np.zeros_like(whole)
    deposit(taken, kept, times * kept**2)
    rest = np.maximum(whole - taken, 0.0)
    # What is left out or clipped is put back in proportion, so that the variance stays exact.
    target = 1.0 - (times * kept**2).sum(axis=1, keepdims=True)
    total = rest.sum(axis=1, keepdims=True)
    rest *= np.maximum(target, 0.0) / np.where(total > 0, total, 1.0)
    return WeightProfile(variance=one.variance * two.variance, largest=kept, times=times, rest=rest)
