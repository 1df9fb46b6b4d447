"""Figures of several systems, case by case, as dots on a logarithmic axis: equal ratios are equally far apart.

Not bars: on such an axis there is no zero that they could stand on. `STYLE` are the colours of a file of its own (see
`alone`), on light paper and on dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from discreet.present.charts import axis, svg
from discreet.present.charts.logarithmic_scale import LogarithmicScale, enclosing_ends

#: So many systems are told apart, by colour and by shape.
SYSTEMS = 6
_WIDE, _LINE, _LABEL, _SIZE = 820.0, 21.0, 430.0, 4.5

_LIGHT = ("#1a6552", "#a1481a", "#2d5f93", "#8a4a8f", "#746400", "#555")
_DARK = ("#72c9ae", "#e8a877", "#8fbde8", "#d3a3d7", "#cfc05a", "#bbb")


@dataclass(frozen=True, slots=True, kw_only=True)
class DotRow:
    """A case, and a figure above 0 for each system; None where a system has none, which is a dash."""

    label: str
    figures: tuple[float | None, ...]

    def __post_init__(self) -> None:
        if any(figure is not None and not 0 < figure < math.inf for figure in self.figures):
            raise ValueError("a logarithmic axis needs values above 0")


def dot_plot(
    given: Sequence[DotRow], *, systems: Sequence[str], title: str, across: str = "", name: str = ""
) -> Markup:
    """One line for each case, one mark for each system that has a figure; who has none is a dash at the line's end."""
    called = svg.name(name)
    if len(systems) > SYSTEMS:
        raise ValueError(f"a chart can distinguish at most {SYSTEMS} systems")
    if any(len(row.figures) != len(systems) for row in given):
        raise ValueError("every case needs a figure or None for each system")
    figures = [figure for row in given for figure in row.figures if figure is not None]
    if not figures:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes=svg.NOTHING, height=height, body=body)
    marks, top = axis.legend([(system, _mark(place, 6, 0)) for place, system in enumerate(systems)], top=0, wide=_WIDE)
    left = min(_LABEL, max(svg.width(row.label) for row in given) + 8)
    dashes = max(sum(figure is None for figure in row.figures) for row in given)
    low, high = enclosing_ends(figures)
    scale = LogarithmicScale(low=low, high=high, start=left + 6, end=_WIDE - 10 - 16 * dashes)
    bottom = top + 4 + _LINE * len(given)
    marks += _rules(scale, top, bottom)
    marks += [_row(row, systems, scale, top + 4 + _LINE * (place + 0.5), left) for place, row in enumerate(given)]
    if across:
        middle = (scale.start + scale.end) / 2
        marks.append(svg.text(middle, bottom + 30, across, class_="chart-quiet", anchor="middle"))
    height = bottom + (36 if across else 18)
    paper = svg.rect(-12, -12, _WIDE + 12, height + 12, class_="dots-paper")
    return svg.drawing(
        called,
        says=title,
        describes=_describe(given, systems),
        height=height,
        body=[paper, *marks],
        wide=_WIDE,
        margin=(12, 12),
    )


def _rules(scale: LogarithmicScale, top: float, bottom: float) -> list[Markup]:
    marks, free = [], -_WIDE
    for value, label in scale.ticks():
        x, half = scale.at(value), svg.width(label) / 2
        marks.append(svg.line(x, top, x, bottom, class_="chart-rule"))
        if x - half >= free and x + half <= _WIDE:  # no number over another, none beyond the drawing
            marks.append(svg.text(x, bottom + 14, label, class_="chart-quiet", anchor="middle"))
            free = x + half + 6
    return marks


def _row(row: DotRow, systems: Sequence[str], scale: LogarithmicScale, middle: float, left: float) -> Markup:
    present_figures = [(place, figure) for place, figure in enumerate(row.figures) if figure is not None]
    parts = [svg.text(left - 8, middle + 4, svg.shorten(row.label, left - 8), class_="chart-label", anchor="end")]
    if len(present_figures) > 1:
        ends = [scale.at(figure) for _, figure in present_figures]
        parts.append(svg.line(min(ends), middle, max(ends), middle, class_="dots-tie"))
    for place, figure in reversed(present_figures):  # the first system lies on top
        says = svg.title(f"{systems[place]}, {row.label}: {figure:.3g}")
        parts.append(svg.tag("g", says, _mark(place, scale.at(figure), middle)))
    x = _WIDE - 2
    for place in reversed([place for place, figure in enumerate(row.figures) if figure is None]):
        says = svg.title(f"{systems[place]}, {row.label}: no figure")
        dash = svg.line(x - 10, middle, x, middle, class_=f"dots-dash dots-kind-{place}")
        parts.append(svg.tag("g", says, dash))
        x -= 16
    return svg.tag("g", *parts)


def _mark(place: int, x: float, y: float) -> Markup:
    """A full dot, a square, a ring, a triangle, a diamond, a hollow square: who sees no colours tells them apart."""
    class_, size = f"dots-mark dots-kind-{place}", _SIZE
    match place:
        case 0:
            return svg.tag("circle", cx=x, cy=y, r=size, class_=class_)
        case 2:
            return svg.tag("circle", cx=x, cy=y, r=size - 1, class_=f"dots-ring dots-kind-{place}")
        case 1 | 5:
            class_ = class_ if place == 1 else f"dots-ring dots-kind-{place}"
            return svg.rect(x - size + 1, y - size + 1, x + size - 1, y + size - 1, class_=class_)
        case 3:
            corners = [(x - size, y + size - 1), (x + size, y + size - 1), (x, y - size)]
        case _:
            corners = [(x - size, y), (x, y - size), (x + size, y), (x, y + size)]
    return svg.tag("polygon", points=svg.path(corners), class_=class_)


def _describe(given: Sequence[DotRow], systems: Sequence[str]) -> str:
    parts = [
        f"{len(given):,} cases, {len(systems)} systems." if len(given) > 1 else f"One case, {len(systems)} systems."
    ]
    for row in given:
        figures = [
            f"{system} {'none' if figure is None else f'{figure:.3g}'}"
            for system, figure in zip(systems, row.figures, strict=True)
        ]
        parts.append(f"{row.label}: {', '.join(figures)}.")
    return " ".join(parts)


def _colours(hues: Sequence[str], *, paper: str, ink: str, soft: str, rule: str) -> str:
    kinds = "".join(f".dots-kind-{place}{{--hue:{hue}}}" for place, hue in enumerate(hues))
    return f".chart{{--paper:{paper};--ink:{ink};--soft:{soft};--rule:{rule}}}{kinds}"


STYLE = (
    _colours(_LIGHT, paper="#fff", ink="#222", soft="#666", rule="#e4e4e4")
    + "@media (prefers-color-scheme:dark){"
    + _colours(_DARK, paper="#16191c", ink="#e6e6e6", soft="#a3a8ad", rule="#33383d")
    + "}"
    "text{fill:var(--ink);font-family:system-ui,sans-serif;font-variant-numeric:tabular-nums}"
    ".chart-quiet{fill:var(--soft)}.chart-rule{stroke:var(--rule)}.dots-paper{fill:var(--paper)}"
    ".dots-mark{fill:var(--hue)}.dots-ring{fill:var(--paper);stroke:var(--hue);stroke-width:2}"
    ".dots-tie{stroke:var(--soft);stroke-width:.8}.dots-dash{stroke:var(--hue);stroke-width:2}"
)
