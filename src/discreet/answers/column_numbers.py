"""The numbers of a column with the ends of their intervals, as arrays: for rules that look at every group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.release import ReleaseColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNumbers:
    """The numbers of some groups as people see them, NaN for one that is not shown, with the ends of their intervals.

    Where an interval has no end, `Release.intervals` has None.
    """

    values: NDArray[np.float64]
    lows: NDArray[np.float64]
    highs: NDArray[np.float64]

    def at(self, places: NDArray[np.int64]) -> ColumnNumbers:
        """Those of the groups at some places."""
        return ColumnNumbers(values=self.values[places], lows=self.lows[places], highs=self.highs[places])

    def hidden(self) -> NDArray[np.bool_]:
        """Which are not shown."""
        return np.isnan(self.values)

    def below_noise(self, column: ReleaseColumn) -> NDArray[np.bool_]:
        """Which numbers are below the noise: the rule of `ReleaseColumn.is_below_noise`, for all groups at once."""
        lows, highs, hidden, bounds = self.lows, self.highs, self.hidden(), column.bounds
        endless = endless_intervals(lows, highs)
        with np.errstate(invalid="ignore"):
            below_noise = hidden | (lows < highs) & (np.abs(self.values) <= (highs - lows) / 2)
            if bounds is not None and not isinstance(bounds[0], str) and not isinstance(bounds[1], str):
                slack = 1e-9 * (bounds[1] - bounds[0])
                below_noise |= (lows <= bounds[0] + slack) & (highs >= bounds[1] - slack)
            if column.least is not None:
                below_noise |= highs < column.least
        is_point = column.kind == "noisy" and bounds is not None
        return np.asarray(np.where(endless, hidden if is_point else True, below_noise))


def endless_intervals(lows: NDArray[np.float64], highs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which intervals have no end on some side, and so are none."""
    return np.asarray(np.isnan(lows) | np.isnan(highs) | np.isneginf(lows) | np.isposinf(highs))


def joined_numbers(parts: Sequence[ColumnNumbers]) -> ColumnNumbers:
    """The numbers of several sets of groups, one after the other."""
    return ColumnNumbers(
        values=np.concatenate([part.values for part in parts]),
        lows=np.concatenate([part.lows for part in parts]),
        highs=np.concatenate([part.highs for part in parts]),
    )
