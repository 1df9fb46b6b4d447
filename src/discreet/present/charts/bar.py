"""A bar: a group, its number and its noise interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.present.cell_text import DASH, format_with_noise
from discreet.present.charts import svg
from discreet.present.charts.scale import Scale, check_finite
from discreet.present.noise_scale import NoisyExtent


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A group and its number. `low`, `high`: its noise interval. `drowned`: it is no larger than its noise.

    `value` is None where there is no number. `text`: what is written for the number, where that is said elsewhere.
    `dots`: other numbers of the group, such as rehearsed answers.
    """

    label: svg.Key
    value: float | None
    low: float | None = None
    high: float | None = None
    drowned: bool = False
    text: str = ""
    dots: Sequence[float] = ()

    def __post_init__(self) -> None:
        value, low, high = (check_finite(each, of="a bar's end") for each in (self.value, self.low, self.high))
        for each in self.dots:
            check_finite(each, of="a dot of a bar")
        if (low is None) != (high is None) or (low is not None and high is not None and low > high):
            raise ValueError("a noise interval needs two ends, the lower one first")
        if value is None and low is not None:
            raise ValueError("there is a noise interval but no number")

    @property
    def number_text(self) -> str:
        """The number for people, with no more digits than its noise leaves."""
        if self.text or self.value is None:
            return svg.clean(self.text) or DASH
        if self.low is None or self.high is None:
            return f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:.6g}"
        return format_with_noise(self.value, self.low, self.high)

    @property
    def description(self) -> str:
        """The bar in words."""
        lost = " (the noise is too large to show it)" if self.value is None else " (below the noise)"
        return f"{svg.key(self.label)}: {self.number_text}" + (lost if self.drowned else "")

    @property
    def extent(self) -> NoisyExtent | None:
        """What an axis should hold of it; None where there is no number."""
        ends = [float(each) for each in (self.value, self.low, self.high, *self.dots) if each is not None]
        if not ends:
            return None
        half = 0.0 if self.low is None or self.high is None else float(self.high) / 2 - float(self.low) / 2
        return NoisyExtent(low=min(ends), high=max(ends), half=half, below_noise=self.drowned)

    def is_beyond(self, scale: Scale) -> bool:
        """Whether something of it lies beyond the axis."""
        extent = self.extent
        return extent is not None and (extent.low < scale.low or extent.high > scale.high)

    @property
    def label_class(self) -> str:
        """NULL, true and false are no words: they are told from texts that look like them."""
        is_word = self.label is None or isinstance(self.label, bool)
        return "chart-label chart-null" if is_word else "chart-label"

    def class_of(self, word: str) -> str:
        """A class, and another beside it where the number is below the noise."""
        return f"{word} chart-drowned" if self.drowned else word
