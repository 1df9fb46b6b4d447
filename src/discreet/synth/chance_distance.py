"""How far a marginal of independent columns is from a model of them, by noise and chance alone."""

from __future__ import annotations

import math

import numpy as np

from discreet.kernel.binned_table import CoarseSet, MarginalSet
from discreet.synth.first_histograms import MeasuredHistograms
from discreet.synth.resolution import axes_of


def chance_distance(histograms: MeasuredHistograms, own: MarginalSet) -> float:
    """About how many rows a marginal of columns that do not depend on each other is from the model's, in all its cells.

    The model's cells have the noise of its columns' histograms, and the table's own vary by chance. From noisy numbers
    alone. If column k has cells of the shares p and the noise of variances v, the square of both is about
    2 / pi * (sum over k of (sum of sqrt(v))^2 + n * product over k of (sum of sqrt(p (1 - p)))^2).
    """
    groups = own.groups if isinstance(own, CoarseSet) else [tuple(range(histograms.sizes[place])) for place in own]
    noise, chance = 0.0, histograms.total if len(groups) > 1 else 0.0
    for place, group in zip(axes_of(own), groups, strict=True):
        measured = histograms.measured[place]
        rows = np.bincount(group, weights=np.maximum(measured.values, 0))
        noise += float(np.sqrt(np.bincount(group, weights=measured.cell_variances)).sum()) ** 2
        shares = rows / max(float(rows.sum()), 1e-9)
        chance *= float(np.sqrt(shares * (1 - shares)).sum()) ** 2
    return math.sqrt(2 / math.pi * (noise + chance))
