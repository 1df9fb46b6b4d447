"""What a stream has released: estimates with their error, as they were said and stay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.weighted_sum import half_width, standard_deviation
from discreet.tables.stream.stream_counter import StreamCounter

#: The confidence of the half widths that are stored with a row.
CONFIDENCE = Fraction(95, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEstimate:
    """A number of rows, unbiased; `plus_minus` holds with the confidence that was asked for."""

    value: float
    sd: float
    plus_minus: float

    @property
    def interval(self) -> tuple[float, float]:
        return self.value - self.plus_minus, self.value + self.plus_minus

    def to_data(self) -> list[float]:
        return [self.value, self.sd, self.plus_minus]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRow:
    """One step: rows first seen in it, and all so far. `noisy` is what was drawn; the estimates are read from it."""

    step: int
    label: str | None
    version: int
    count: StreamEstimate
    total: StreamEstimate
    noisy: tuple[int, ...]

    def to_text(self) -> str:
        data: dict[str, Any] = {"step": self.step, "label": self.label, "version": self.version}
        data |= {"count": self.count.to_data(), "total": self.total.to_data(), "noisy": list(self.noisy)}
        return json.dumps(data, separators=(",", ":"))

    @staticmethod
    def from_text(text: str) -> StreamRow:
        data = json.loads(text)
        names = ("value", "sd", "plus_minus")
        count, total = (StreamEstimate(**dict(zip(names, data[key], strict=True))) for key in ("count", "total"))
        plain = {name: data[name] for name in ("step", "label", "version")}
        return StreamRow(**plain, count=count, total=total, noisy=tuple(data["noisy"]))


def estimate_steps(
    counter: StreamCounter,
    law: DiscreteLaplace | DiscreteGaussian,
    noisy: Sequence[int],
    first: int,
    last: int,
    confidence: Fraction = CONFIDENCE,
) -> StreamEstimate:
    """The rows of steps `first` to `last`, from 0 on, by what was drawn up to `last`."""
    reading = counter.estimate_weights(first, last)
    drawn: NDArray[np.float64] = np.array(noisy[: len(reading)], dtype=np.float64)
    error = [(reading, law, 1)]
    return StreamEstimate(
        value=float(reading @ drawn),
        sd=standard_deviation(error),
        plus_minus=half_width(error, confidence),
    )
