"""What every model's fit works with: the program, the attributes, public constraints; and what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.inference.fit import Fitted, Measured, fit
from discreet.program import Program
from discreet.synth.attribute import Attribute
from discreet.synth.constraints import Constraints
from discreet.synth.first import First, first

#: A model's tables take at most so many megabytes, of 8 bytes a cell.
MODEL_MB = 10.0

#: What is told while a fit goes on: a word, and how far it is.
Progress = Callable[[str, float], None]


def silent(word: str, done: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One fit: where it may draw from, and what it shall describe. `rounds`, `model_mb`: how far it may go."""

    program: Program
    attributes: tuple[Attribute, ...]
    constraints: Constraints = field(default_factory=Constraints)
    degree: int | None = None
    rounds: int | None = None
    model_mb: float = MODEL_MB
    workload: int | None = None
    weights: dict[tuple[int, ...], int] = field(default_factory=dict)
    progress: Progress = silent

    def first(self, share: Fraction) -> First:
        """Histograms of all columns for this share."""
        self.progress("histograms", 0.0)
        return first(self.program, self.attributes, share)

    @property
    def cells(self) -> int:
        """The most cells of a model."""
        return int(self.model_mb * 2**20 / 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted model, what it was fitted to, and on which cells."""

    attributes: tuple[Attribute, ...]
    measured: tuple[Measured, ...]
    fitted: Fitted
    total: float
    total_sd: float


def fitted(
    task: Task,
    told: First,
    measured: Sequence[Measured],
    *,
    start: Fitted | None = None,
    iterations: int = 1000,
    tolerance: float = 0.02,
) -> Fit:
    """The final fit to everything that was measured."""
    task.progress("fitting", 0.9)
    limits = task.constraints.on(told.attributes, told.total)
    found = fit(
        told.sizes,
        measured,
        limits.total,
        allowed=limits.allowed,
        totals=limits.totals,
        start=start,
        iterations=iterations,
        tolerance=tolerance,
    )
    return Fit(
        attributes=told.attributes, measured=tuple(measured), fitted=found, total=limits.total, total_sd=told.total_sd
    )


def shaped(sizes: Sequence[int], own: tuple[int, ...], values: NDArray[np.int64], variance: float) -> Measured:
    """A noisy marginal as inference takes it."""
    shape = tuple(sizes[place] for place in own)
    return Measured(attributes=own, values=values.astype(np.float64).reshape(shape), variance=variance)
