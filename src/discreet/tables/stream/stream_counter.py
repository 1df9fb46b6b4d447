"""What a stream measures, and how totals are read from it: known before anything is spent."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.strategy.strategy import Strategy


class StreamCounter(ABC):
    """A strategy over steps of time, the earlier first, whose numbers are drawn as soon as time allows.

    Guarantee: what is drawn at step t reads the steps up to t alone; over all steps every number is drawn once.
    Because: `due(t)` names the rows of the matrix whose last entry stands in column t (tested against the matrix).
    """

    @property
    @abstractmethod
    def strategy(self) -> Strategy:
        """The whole matrix, over all steps to come."""

    @abstractmethod
    def due(self, step: int) -> list[int]:
        """The rows of the strategy that are drawn at this step, counted from 0."""

    @abstractmethod
    def estimate_weights(self, first: int, last: int) -> NDArray[np.float64]:
        """The weights of the numbers drawn by step `last`, in the order drawn, that estimate steps `first` to `last`.

        The least-squares estimate from what is known at the end of `last`: unbiased, and it never changes.
        """

    @abstractmethod
    def total_variances(self) -> NDArray[np.float64]:
        """For each step, the variance of the total so far, for noise of variance 1 on every number."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it is, for people."""

    @abstractmethod
    def to_data(self) -> Any:
        """What it is, as JSON data from which `counter_of` makes it again."""

    @property
    def horizon(self) -> int:
        """How many steps there are."""
        return self.strategy.cells

    def exact(self, exact_steps: Sequence[int]) -> Integers:
        """The exact numbers due at the last of these steps, without noise."""
        step = len(exact_steps) - 1
        ahead = np.zeros(self.horizon, dtype=np.int64)
        ahead[: step + 1] = exact_steps
        return self.strategy.apply(ahead)[self.due(step)]
