"""The frame of a chart: round numbers beside it, lines across it, and names of what is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from discreet.present.charts import svg
from discreet.present.charts.scale import Scale, ticks

#: Room for a line of text.
ROW = 18.0


def horizontal_axis(scale: Scale, *, top: float, bottom: float, about: int = 4) -> list[Markup]:
    """Upright lines at round numbers, which stand below."""
    marks, free = [], -svg.WIDTH
    for value, label in ticks(scale.low, scale.high, about=about):
        x, half = scale.at(value), svg.width(label) / 2
        marks.append(svg.line(x, top, x, bottom, class_="chart-zero-line" if value == 0 else "chart-rule"))
        middle = min(max(x, half), svg.WIDTH - half)  # none of it beyond the drawing
        if middle - half >= free:  # and no number over another
            marks.append(svg.text(middle, bottom + 14, label, class_="chart-quiet", anchor="middle"))
            free = middle + half + 6
    return marks


def vertical_axis(scale: Scale, *, left: float, right: float, about: int = 5) -> list[Markup]:
    """Level lines at round numbers, which stand on the left."""
    marks = []
    for value, label in ticks(scale.low, scale.high, about=about):
        y = scale.at(value)
        marks.append(svg.line(left, y, right, y, class_="chart-zero-line" if value == 0 else "chart-rule"))
        marks.append(svg.text(left - 6, y + 4, label, class_="chart-quiet", anchor="end"))
    return marks


def tick_width(low: float, high: float, *, about: int = 5) -> float:
    """How wide the numbers on the left are."""
    return max((svg.width(label) for _, label in ticks(low, high, about=about)), default=0.0) + 10


def legend(names: Sequence[tuple[str, Markup]], *, top: float, wide: float = svg.WIDTH) -> tuple[list[Markup], float]:
    """Names, each after its sign (drawn around 0, 0 and 12 wide), in as many lines as they need; and where they end."""
    marks, x, y = [], 0.0, top + 12
    for label, sign in names:
        shown = svg.shorten(svg.clean(label), wide - 24)
        taken = svg.width(shown) + 34
        if x and x + taken - 16 > wide:
            x, y = 0.0, y + ROW
        moved = svg.tag("g", sign, transform=f"translate({svg.number(x)} {svg.number(y - 4)})")
        marks += [moved, svg.tag("g", svg.title(label), svg.text(x + 18, y, shown))]
        x += taken
    return marks, y + 10 if names else top
