"""Curves over logarithmic axes, in one panel with a name at the end of each curve, or in many small ones.

What is measured has dots, with whiskers where its standard error is seen; what is computed is a line without; a peer
has rings. Hues group what belongs together: a measurement on its own theory has its colour. `STYLE` are the colours of
a file of its own (see `alone`), on light paper and on dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from discreet.present.charts import axis, svg
from discreet.present.charts.logarithmic_scale import LogarithmicScale, enclosing_ends
from discreet.present.charts.scale import check_finite

#: So many hues there are; the last is grey.
HUES = 8
#: How wide a drawing of curves is, and how many small panels stand beside each other in it.
WIDE, BESIDE = 680.0, 4
#: Of a panel with names at its right: its height, and the room for the names.
_HEIGHT, _NAMES = 330.0, 210.0
#: Of a small one.
_SMALL, _GAP = 156.0, 14.0
#: The least distance of two names.
_APART = 15.0

Kind = Literal["measured", "computed", "peer"]
_KIND_LABELS: dict[Kind, str] = {"measured": "Discreet, measured", "computed": "theory", "peer": "a peer, measured"}

_LINES: dict[Kind, str] = {"measured": "curve-line", "computed": "curve-theory", "peer": "curve-line curve-thin"}
_DOTS: dict[Kind, str] = {"measured": "curve-dot", "peer": "curve-ring"}

_LIGHT = ("#1a6552", "#a1481a", "#2d5f93", "#8a4a8f", "#746400", "#b3261e", "#0f7285", "#666")
_DARK = ("#72c9ae", "#e8a877", "#8fbde8", "#d3a3d7", "#cfc05a", "#f2a8a0", "#7fd0e0", "#aaa")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """A point of a curve; both places are above 0. `error`: the standard error of the value, where it has one."""

    x: float
    value: float
    error: float = 0.0

    def __post_init__(self) -> None:
        for number in (self.x, self.value, self.error):
            check_finite(number, of="a curve's point")
        if self.x <= 0 or self.value <= 0 or self.error < 0:
            raise ValueError("logarithmic axes need values above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartCurve:
    """A line through its points from left to right. `hue`: one of `HUES`. Not `told`: no name stands beside it."""

    name: str
    kind: Kind
    points: tuple[CurvePoint, ...]
    hue: int = 0
    is_named: bool = True

    def __post_init__(self) -> None:
        places = [spot.x for spot in self.points]
        if not places or places != sorted(places):
            raise ValueError("a curve needs points, in order")
        if self.kind not in _KIND_LABELS or not 0 <= self.hue < HUES:
            raise ValueError("a curve needs a kind and a hue")


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePanel:
    """Some curves under a heading."""

    title: str
    curves: tuple[ChartCurve, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Frame:
    """Where a panel's axes lie."""

    across: LogarithmicScale
    up: LogarithmicScale


def curves(given: Sequence[CurvePanel], *, title: str, across: str = "", up: str = "", name: str = "") -> Markup:
    """The panels, over the same axes; `across` and `up` say what those are."""
    called, panels = svg.name(name), [panel for panel in given if panel.curves]
    every = [curve for panel in panels for curve in panel.curves]
    if not every:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes=svg.NOTHING, height=height, body=body)
    marks, top = axis.legend(_signs(panels), top=0, wide=WIDE)
    marks.append(svg.text(0, top + 14, up, class_="curve-quiet"))
    top += 24
    drawn, bottom = _draw_single_panel(panels[0], top) if len(panels) == 1 else _draw_small_panels(panels, top)
    marks += drawn
    if across:
        marks.append(svg.text(WIDE, bottom + 14, across, class_="curve-quiet", anchor="end"))
        bottom += 18
    ground = svg.rect(-14, -10, WIDE + 14, bottom + 10, class_="curve-paper")
    return svg.drawing(
        called,
        says=title,
        describes=_describe(panels),
        height=bottom,
        body=[ground, *marks],
        wide=WIDE,
        margin=(14, 10),
    )


def _signs(panels: Sequence[CurvePanel]) -> list[tuple[str, Markup]]:
    """Of one panel what dots, rings and plain lines are, for its curves have their names; of several, each curve."""
    if len(panels) == 1:
        there = {curve.kind for curve in panels[0].curves}
        return [(label, _sign(kind, HUES - 1)) for kind, label in _KIND_LABELS.items() if kind in there]
    every = {(curve.name, curve.kind, curve.hue): None for panel in panels for curve in panel.curves if curve.is_named}
    return [(name, _sign(kind, hue)) for name, kind, hue in every]


def _sign(kind: Kind, hue: int) -> Markup:
    line = svg.line(0, 0, 14, 0, class_=f"{_LINES[kind]} curve-{hue}")
    return (
        line
        if kind == "computed"
        else svg.join([line, _dot(7, 0, f"{_DOTS[kind]} curve-{hue}", 3.0 if kind == "measured" else 4.2)])
    )


def _dot(x: float, y: float, class_: str, size: float, tooltip: str = "") -> Markup:
    inside = [svg.title(tooltip)] if tooltip else []
    return svg.tag("circle", *inside, cx=x, cy=y, r=size, class_=class_)


def _ends(panels: Sequence[CurvePanel]) -> tuple[tuple[float, float], tuple[float, float]]:
    spots = [spot for panel in panels for curve in panel.curves for spot in curve.points]
    return (
        (min(spot.x for spot in spots), max(spot.x for spot in spots)),
        enclosing_ends(spot.value for spot in spots),
    )


def _draw_single_panel(panel: CurvePanel, top: float) -> tuple[list[Markup], float]:
    """A panel over the whole width, with the names of its curves at their ends."""
    wide, high = _ends([panel])
    named = [curve for curve in panel.curves if curve.is_named]
    room = min(_NAMES, max((svg.width(curve.name) for curve in named), default=0.0) + 22)
    bottom = top + _HEIGHT
    left = LogarithmicScale(low=high[0], high=high[1], start=bottom, end=top).room
    frame = _Frame(
        across=LogarithmicScale(low=wide[0], high=wide[1], start=left + 8, end=WIDE - room),
        up=LogarithmicScale(low=high[0], high=high[1], start=bottom, end=top),
    )
    marks = _axes(frame, left, WIDE - room + 6, top, bottom, numbers=True)
    for curve in _layers(panel):
        marks += _curve(curve, frame, 3.2)
    return marks + _names(named, frame, WIDE - room, top, bottom), bottom + 22


def _draw_small_panels(panels: Sequence[CurvePanel], top: float) -> tuple[list[Markup], float]:
    """Small panels in rows, over one and the same axes, so that they can be compared."""
    wide, high = _ends(panels)
    left = LogarithmicScale(low=high[0], high=high[1], start=1, end=0).room
    columns = min(BESIDE, len(panels))
    each = (WIDE - left - _GAP * (columns - 1)) / columns
    small = _SMALL if columns > 2 else 1.6 * _SMALL
    marks, bottom = [], top
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        start, head = left + column * (each + _GAP), top + row * (small + 46)
        bottom = head + 20 + small
        frame = _Frame(
            across=LogarithmicScale(low=wide[0], high=wide[1], start=start + 5, end=start + each - 5),
            up=LogarithmicScale(low=high[0], high=high[1], start=bottom, end=head + 20),
        )
        marks.append(svg.text(start, head + 12, svg.shorten(panel.title, each), class_="curve-head"))
        marks += _axes(frame, start, start + each, head + 20, bottom, numbers=column == 0)
        for curve in _layers(panel):
            marks += _curve(curve, frame, 2.4)
    return marks, bottom + 22


def _axes(frame: _Frame, left: float, right: float, top: float, bottom: float, *, numbers: bool) -> list[Markup]:
    marks = []
    for value, label in frame.up.ticks():
        y = frame.up.at(value)
        marks.append(svg.line(left, y, right, y, class_="curve-rule"))
        if numbers:
            marks.append(svg.text(left - 6, y + 4, label, class_="curve-quiet", anchor="end"))
    free = left - 20
    for value, label in frame.across.ticks():
        x, half = frame.across.at(value), svg.width(label) / 2
        marks.append(svg.line(x, bottom, x, bottom + 4, class_="curve-rule"))
        if x - half >= free:  # no number over another
            marks.append(svg.text(x, bottom + 17, label, class_="curve-quiet", anchor="middle"))
            free = x + half + 8
    return [*marks, svg.line(left, bottom, right, bottom, class_="curve-foot")]


def _layers(panel: CurvePanel) -> list[ChartCurve]:
    """Peers below and measurements on top: a dot within a ring is where the two agree."""
    order: list[Kind] = ["peer", "computed", "measured"]
    return sorted(panel.curves, key=lambda curve: order.index(curve.kind))


def _curve(curve: ChartCurve, frame: _Frame, size: float) -> list[Markup]:
    at = [(frame.across.at(spot.x), frame.up.at(spot.value)) for spot in curve.points]
    marks = []
    if len(at) > 1:
        marks.append(
            svg.tag("polyline", points=svg.path(at), fill="none", class_=f"{_LINES[curve.kind]} curve-{curve.hue}")
        )
    if curve.kind == "computed":
        return marks
    for spot, (x, y) in zip(curve.points, at, strict=True):
        ends = [frame.up.at(max(spot.value + side * 2 * spot.error, frame.up.low)) for side in (-1, 1)]
        if abs(ends[0] - ends[1]) > 2 * size + 2:
            marks.append(svg.line(x, ends[0], x, ends[1], class_=f"curve-whisker curve-{curve.hue}"))
        tooltip = f"{curve.name}, at {spot.x:g}: {spot.value:.4g}" + (f" ± {spot.error:.2g}" if spot.error else "")
        radius = size if curve.kind == "measured" else size + 1.6
        marks.append(_dot(x, y, f"{_DOTS[curve.kind]} curve-{curve.hue}", radius, tooltip))
    return marks


def _names(named: Sequence[ChartCurve], frame: _Frame, left: float, top: float, bottom: float) -> list[Markup]:
    """Each curve's name, beside its end; names that would touch are moved apart and tied to it."""
    order = sorted(named, key=lambda curve: frame.up.at(curve.points[-1].value))
    end_heights = [frame.up.at(curve.points[-1].value) for curve in order]
    marks = []
    for curve, end, y in zip(
        order, end_heights, spread_apart(end_heights, least=_APART, low=top, high=bottom), strict=True
    ):
        x = frame.across.at(curve.points[-1].x)
        tie = svg.path([(x + 6, end), (left + 13, y), (left + 17, y)])
        marks.append(svg.tag("polyline", points=tie, fill="none", class_=f"curve-tie curve-{curve.hue}"))
        shown = svg.shorten(curve.name, WIDE - left - 20)
        marks.append(
            svg.tag(
                "g", svg.title(curve.name), svg.text(left + 20, y + 4, shown, class_=f"curve-name curve-{curve.hue}")
            )
        )
    return marks


def spread_apart(targets: Sequence[float], *, least: float, low: float, high: float) -> list[float]:
    """Places in the order of those wanted, as near to them as can be, no two nearer than `least`, between the ends.

    >>> spread_apart([10, 11, 50], least=10, low=0, high=100)
    [5.5, 15.5, 50.0]
    """
    groups: list[list[float]] = []  # the sum of where members want the group's first one, and their number
    for place in targets:
        groups.append([float(place), 1])
        while len(groups) > 1 and _start(groups[-2]) + least * groups[-2][1] > _start(groups[-1]):
            last = groups.pop()
            groups[-1][0] += last[0] - least * groups[-1][1] * last[1]
            groups[-1][1] += last[1]
    places = [_start(group) + least * step for group in groups for step in range(int(group[1]))]
    if not places:
        return places
    over = max(0.0, places[-1] - high)
    places = [min(place, high - least * (len(places) - 1 - at)) for at, place in enumerate(places)] if over else places
    return [max(place, low + least * at) for at, place in enumerate(places)]


def _start(group: Sequence[float]) -> float:
    return group[0] / group[1]


def _describe(panels: Sequence[CurvePanel]) -> str:
    parts = []
    for panel in panels:
        sentences = [
            f"{curve.name}: {curve.points[0].value:.3g} at {curve.points[0].x:g}, "
            f"{curve.points[-1].value:.3g} at {curve.points[-1].x:g}"
            for curve in panel.curves
        ]
        parts.append((f"{panel.title}. " if panel.title else "") + "; ".join(sentences) + ".")
    return " ".join(parts)


def _colours(hues: Sequence[str], *, paper: str, ink: str, soft: str, rule: str) -> str:
    own = "".join(f".curve-{place}{{--hue:{hue}}}" for place, hue in enumerate(hues))
    return f"svg{{--paper:{paper};--ink:{ink};--soft:{soft};--rule:{rule}}}{own}"


STYLE = (
    _colours(_LIGHT, paper="#fff", ink="#222", soft="#666", rule="#e4e4e4")
    + "@media (prefers-color-scheme:dark){"
    + _colours(_DARK, paper="#16191c", ink="#e6e6e6", soft="#a3a8ad", rule="#33383d")
    + "}"
    "text{fill:var(--ink);font-family:system-ui,sans-serif;font-variant-numeric:tabular-nums}"
    ".curve-quiet{fill:var(--soft)}.curve-head{font-weight:600}.curve-paper{fill:var(--paper)}"
    ".curve-rule{stroke:var(--rule)}.curve-foot{stroke:var(--soft)}"
    ".curve-line{stroke:var(--hue);stroke-width:2;stroke-linejoin:round}.curve-thin{stroke-width:1.2}"
    ".curve-theory{stroke:var(--hue);stroke-width:1.5;stroke-dasharray:5 3.5}"
    ".curve-dot{fill:var(--hue);stroke:var(--paper);stroke-width:1}"
    ".curve-ring{fill:none;stroke:var(--hue);stroke-width:1.5}"
    ".curve-whisker{stroke:var(--hue);stroke-width:1.2}.curve-tie{stroke:var(--hue);stroke-width:.8;opacity:.6}"
    ".curve-name{fill:var(--hue)}"
)
