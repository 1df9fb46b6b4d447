"""How noise spreads: a histogram of draws, and the densities of Laplace and Gaussian laws over it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from discreet.present.charts import axis, svg
from discreet.present.charts.scale import Scale, check_finite, span, widen_to_round

_HEIGHT = 210.0
_POINTS = 160
KINDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Density:
    """A law: `scale` is b of Laplace, whose density is exp(-|x - centre| / b) / 2b, or sigma of the Gaussian."""

    kind: Literal["laplace", "gaussian"]
    centre: float
    scale: float
    name: str = ""

    def __post_init__(self) -> None:
        check_finite(self.centre, of="a centre")
        scale = check_finite(self.scale, of="a scale")
        if self.kind not in ("laplace", "gaussian") or scale is None or not 1e-100 < scale < 1e100:
            raise ValueError("a density needs a kind and a positive scale")

    def at(self, x: float) -> float:
        """The density at x.

        >>> Density(kind="laplace", centre=0, scale=2).at(0)
        0.25
        """
        far = (x - self.centre) / self.scale
        if self.kind == "laplace":
            return math.exp(-abs(far)) / (2 * self.scale)
        return math.exp(-min(far * far, 1e4) / 2) / (self.scale * math.sqrt(2 * math.pi))

    @property
    def ends(self) -> tuple[float, float]:
        """Where it has fallen to almost nothing."""
        reach = self.scale * (5 if self.kind == "laplace" else 3.5)
        return self.centre - reach, self.centre + reach


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An upright line at a value, with its name."""

    at: float
    name: str

    def __post_init__(self) -> None:
        check_finite(self.at, of="a mark")


def distribution(
    *,
    title: str,
    draws: Sequence[float] = (),
    densities: Sequence[Density] = (),
    marks: Sequence[Mark] = (),
    across: str = "",
    bins: int = 0,
    name: str = "",
) -> Markup:
    """A histogram of draws with an area of 1, densities as lines, and marks.

    Of whole numbers a bin is a whole number of them wide. `bins`: about how many there are.
    """
    called = svg.name(name)
    if len(densities) > KINDS:
        raise ValueError(f"a chart can distinguish at most {KINDS} densities")
    for value in draws:
        check_finite(value, of="a draw")
    if not draws and not densities:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes=svg.NOTHING, height=height, body=body)
    edges, heights = _bin_draws(draws, bins)
    low, high = span(
        [*edges, *(end for law in densities for end in law.ends), *(mark.at for mark in marks)], zero=False
    )
    steps = [step / _POINTS for step in range(_POINTS + 1)]
    # A Laplace density has its tip at its centre, and nowhere else.
    places = sorted({low * (1 - step) + high * step for step in steps} | {law.centre for law in densities})
    tallest = max([*heights, *(law.at(x) for law in densities for x in places)], default=1.0)
    named = [
        (law.name, svg.line(0, 0, 13, 0, class_=f"chart-line chart-kind-{at}")) for at, law in enumerate(densities)
    ]
    elements, top = axis.legend([each for each in named if each[0]], top=0)
    top += 18 if marks else 4
    bottom = top + _HEIGHT - 46
    ends = widen_to_round((0.0, tallest or 1.0), about=4)
    up = Scale(low=ends[0], high=ends[1], start=bottom, end=top)
    left = axis.tick_width(*ends, about=4)
    over = Scale(low=low, high=high, start=left, end=svg.WIDTH)
    elements += axis.vertical_axis(up, left=left, right=svg.WIDTH, about=4)
    elements += _columns(edges, heights, over, up)
    for at, law in enumerate(densities):
        points = svg.path((over.at(x), up.at(law.at(x))) for x in places)
        elements.append(svg.tag("polyline", points=points, fill="none", class_=f"chart-line chart-kind-{at}"))
    elements += _draw_marks(marks, over, top, bottom)
    elements += axis.horizontal_axis(over, top=bottom, bottom=bottom + 2)
    if across:
        elements.append(svg.text((left + svg.WIDTH) / 2, bottom + 32, across, class_="chart-quiet", anchor="middle"))
    description = _describe(draws, densities, marks)
    return svg.drawing(called, says=title, describes=description, height=bottom + (38 if across else 22), body=elements)


def _bin_draws(draws: Sequence[float], bins: int) -> tuple[list[float], list[float]]:
    """The edges of bins, and the share of the draws in each by its width."""
    if not draws:
        return [], []
    low, high = min(draws), max(draws)
    bin_count = bins or max(5, min(40, math.ceil(math.sqrt(len(draws)))))
    whole = all(float(value).is_integer() for value in draws) and max(abs(low), abs(high)) < 2**50
    if whole:
        # Bins of whole numbers lie between halves, so that each number is in the middle of its own.
        wide: float = max(1, math.ceil((high - low + 1) / bin_count))
        start, count = low - 0.5, max(1, math.ceil((high - low + 1) / wide))
    else:
        ends = span([low, high], zero=False)
        start, wide, count = ends[0], ends[1] / bin_count - ends[0] / bin_count, bin_count
    counts = [0] * count
    for value in draws:
        counts[min(count - 1, int(value / wide - start / wide))] += 1
    return [start + wide * place for place in range(count + 1)], [each / len(draws) / wide for each in counts]


def _columns(edges: Sequence[float], heights: Sequence[float], over: Scale, up: Scale) -> list[Markup]:
    columns = []
    for place, height in enumerate(heights):
        left, right = over.at(edges[place]), over.at(edges[place + 1])
        columns.append(svg.rect(left, up.at(0), right, up.at(height), class_="chart-bin"))
    return columns


def _draw_marks(marks: Sequence[Mark], over: Scale, top: float, bottom: float) -> list[Markup]:
    elements = []
    for mark in marks:
        x = over.at(mark.at)
        half = svg.width(svg.clean(mark.name)) / 2
        elements.append(svg.line(x, top, x, bottom, class_="chart-mark"))
        middle = min(max(x, half), svg.WIDTH - half)
        elements.append(svg.text(middle, top - 5, mark.name, class_="chart-quiet", anchor="middle"))
    return elements


def _describe(draws: Sequence[float], densities: Sequence[Density], marks: Sequence[Mark]) -> str:
    parts = []
    if draws:
        parts.append(f"{len(draws):,} draws from {min(draws):.6g} to {max(draws):.6g}.")
    for law in densities:
        called = f"{svg.clean(law.name)}: " if law.name else ""
        word = "Laplace with scale" if law.kind == "laplace" else "Gaussian with standard deviation"
        parts.append(f"{called}{word} {law.scale:.4g} around {law.centre:.6g}.")
    parts += [f"{svg.clean(mark.name)} at {mark.at:.6g}." for mark in marks]
    return " ".join(parts) or svg.NOTHING
