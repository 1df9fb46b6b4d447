"""Figures of several systems, case by case, as dots on a logarithmic axis: equal ratios are equally far apart.

Not bars: on such an axis there is no zero that they could stand on. `STYLE` are the colours of a file of its own (see
`alone`), on light paper and on dark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from discreet.charts import axis, svg
from discreet.charts.decades import Decades, enclosing

#: So many systems are told apart, by colour and by shape.
SYSTEMS = 6
_WIDE, _LINE, _LABEL, _SIZE = 820.0, 21.0, 430.0, 4.5

_LIGHT = ("#1a6552", "#a1481a", "#2d5f93", "#8a4a8f", "#746400", "#555")
_DARK = ("#72c9ae", "#e8a877", "#8fbde8", "#d3a3d7", "#cfc05a", "#bbb")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A case, and a figure above 0 for each system; None where a system has none, which is a dash."""

    label: str
    figures: tuple[float | None, ...]

    def __post_init__(self) -> None:
        if any(figure is not None and not 0 < figure < math.inf for figure in self.figures):
            raise ValueError("on a logarithmic axis there is only what is above 0")


def dots(given: Sequence[Row], *, systems: Sequence[str], title: str, across: str = "", name: str = "") -> Markup:
    """One line for each case, one mark for each system that has a figure; who has none is a dash at the line's end."""
    called = svg.name(name)
    if len(systems) > SYSTEMS:
        raise ValueError(f"at most {SYSTEMS} systems are told apart")
    if any(len(row.figures) != len(systems) for row in given):
        raise ValueError("every case has a figure or None for each system")
    figures = [figure for row in given for figure in row.figures if figure is not None]
    if not figures:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes=svg.NOTHING, height=height, body=body)
    found, top = axis.legend([(system, _mark(place, 6, 0)) for place, system in enumerate(systems)], top=0, wide=_WIDE)
    left = min(_LABEL, max(svg.width(row.label) for row in given) + 8)
    dashes = max(sum(figure is None for figure in row.figures) for row in given)
    low, high = enclosing(figures)
    scale = Decades(low=low, high=high, start=left + 6, end=_WIDE - 10 - 16 * dashes)
    bottom = top + 4 + _LINE * len(given)
    found += _rules(scale, top, bottom)
    found += [_row(row, systems, scale, top + 4 + _LINE * (place + 0.5), left) for place, row in enumerate(given)]
    if across:
        middle = (scale.start + scale.end) / 2
        found.append(svg.text(middle, bottom + 30, across, class_="chart-quiet", anchor="middle"))
    height = bottom + (36 if across else 18)
    paper = svg.rect(-12, -12, _WIDE + 12, height + 12, class_="dots-paper")
    return svg.drawing(
        called,
        says=title,
        describes=_described(given, systems),
        height=height,
        body=[paper, *found],
        wide=_WIDE,
        margin=(12, 12),
    )


def _rules(scale: Decades, top: float, bottom: float) -> list[Markup]:
    found, free = [], -_WIDE
    for value, said in scale.ticks():
        x, half = scale.at(value), svg.width(said) / 2
        found.append(svg.line(x, top, x, bottom, class_="chart-rule"))
        if x - half >= free and x + half <= _WIDE:  # no number over another, none beyond the drawing
            found.append(svg.text(x, bottom + 14, said, class_="chart-quiet", anchor="middle"))
            free = x + half + 6
    return found


def _row(row: Row, systems: Sequence[str], scale: Decades, middle: float, left: float) -> Markup:
    known = [(place, figure) for place, figure in enumerate(row.figures) if figure is not None]
    parts = [svg.text(left - 8, middle + 4, svg.short(row.label, left - 8), class_="chart-label", anchor="end")]
    if len(known) > 1:
        ends = [scale.at(figure) for _, figure in known]
        parts.append(svg.line(min(ends), middle, max(ends), middle, class_="dots-tie"))
    for place, figure in reversed(known):  # the first system lies on top
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


def _described(given: Sequence[Row], systems: Sequence[str]) -> str:
    parts = [
        f"{len(given):,} cases, {len(systems)} systems." if len(given) > 1 else f"One case, {len(systems)} systems."
    ]
    for row in given:
        told = [
            f"{system} {'none' if figure is None else f'{figure:.3g}'}"
            for system, figure in zip(systems, row.figures, strict=True)
        ]
        parts.append(f"{row.label}: {', '.join(told)}.")
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
