"""Lines, each with the band of its noise interval; over numbers, dates or times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from markupsafe import Markup

from discreet.present.cell_text import DASH, format_with_noise
from discreet.present.charts import axis, svg, time_ticks
from discreet.present.charts.scale import Scale, check_finite, span, ticks, widen_to_round
from discreet.present.noise_scale import NoisyExtent, axis_reach

_HEIGHT = 230.0
#: Series are told apart by class: so many classes there are.
KINDS = 5
#: Up to so many points of a line are dots, too.
_DOTS = 60
#: So many points whose intervals continue beyond the axis are named in the description.
_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePoint:
    """A place on a line, and its noise interval where it has one. Without a value the line is broken.

    `drowned`: the value is no larger than its noise.
    """

    x: float | date | datetime
    value: float | None
    low: float | None = None
    high: float | None = None
    drowned: bool = False

    def __post_init__(self) -> None:
        place = None if isinstance(self.x, date) else self.x
        _, value, low, high = (
            check_finite(each, of="a point's place") for each in (place, self.value, self.low, self.high)
        )
        if (low is None) != (high is None) or (low is not None and high is not None and low > high):
            raise ValueError("a noise interval needs two ends, the lower one first")
        if value is None and low is not None:
            raise ValueError("there is a noise interval but no number")

    @property
    def at(self) -> float:
        """Its place on the x axis as a number."""
        return time_ticks.seconds(self.x) if isinstance(self.x, date) else float(self.x)

    @property
    def extent(self) -> NoisyExtent | None:
        """What an axis should hold of it; None where there is no number."""
        ends = [float(each) for each in (self.value, self.low, self.high) if each is not None]
        if not ends:
            return None
        half = 0.0 if self.low is None or self.high is None else self.high / 2 - self.low / 2
        return NoisyExtent(low=min(ends), high=max(ends), half=half, below_noise=self.drowned)

    def is_beyond(self, heights: Scale) -> bool:
        """Whether the axis does not show all of it."""
        extent = self.extent
        return extent is not None and (extent.low < heights.low or extent.high > heights.high)

    @property
    def description(self) -> str:
        if self.value is None:
            return f"{svg.key(self.x)}: {DASH}"
        number = f"{self.value:.6g}" if self.low is None or self.high is None else _noisy(self)
        return f"{svg.key(self.x)}: {number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSeries:
    """A line: its name, and its points from left to right. All x are numbers, or all are dates or times."""

    name: str
    points: tuple[LinePoint, ...]

    def __post_init__(self) -> None:
        places = [point.at for point in self.points]
        if places != sorted(places):
            raise ValueError("the points of a line must be in order")
        if len({isinstance(point.x, date) for point in self.points}) > 1:
            raise ValueError("the points of a line must be all numbers or all dates")


def lines(
    given: Sequence[LineSeries], *, title: str, across: str = "", up: str = "", zero: bool = True, name: str = ""
) -> Markup:
    """Lines over one axis. `across`, `up`: what the axes are. `zero`: whether zero is on the upright one.

    Points below the noise do not set its scale: an arrow stands where one, or its interval, lies beyond.
    """
    called, points = svg.name(name), [point for each in given for point in each.points]
    if len({isinstance(point.x, date) for point in points}) > 1:
        raise ValueError("the lines of a chart must all use numbers or all use dates")
    if len(given) > KINDS:
        raise ValueError(f"a chart can distinguish at most {KINDS} lines")
    if not points:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes=svg.NOTHING, height=height, body=body)
    reach = axis_reach((extent for point in points if (extent := point.extent) is not None), zero=zero)
    ends = widen_to_round(span(reach, zero=zero))
    named = [(each.name, _sign(place)) for place, each in enumerate(given)] if len(given) > 1 else []
    marks, top = axis.legend(named, top=0)
    if up:
        marks, top = [*marks, svg.text(0, top + 12, up, class_="chart-quiet")], top + 18
    top += 8
    left, bottom = axis.tick_width(*ends), top + _HEIGHT - 50
    heights = Scale(low=ends[0], high=ends[1], start=bottom, end=top)
    widths = _widths(points, left)
    marks += axis.vertical_axis(heights, left=left, right=svg.WIDTH)
    marks += _ticks_below(points, widths, bottom)
    if across:
        marks.append(svg.text((left + svg.WIDTH) / 2, bottom + 32, across, class_="chart-quiet", anchor="middle"))
    for place, each in enumerate(given):
        marks += _line(each, widths, heights, place)
    height = bottom + (38 if across else 20)
    beyond = [point for point in points if point.is_beyond(heights)]
    marks += [mark for point in beyond for mark in _arrows(point, widths.at(point.at), heights)]
    describes = f"{_describe(given)} {_words_beyond(beyond)}".strip()
    return svg.drawing(called, says=title, describes=describes, height=height, body=marks)


def _arrows(point: LinePoint, x: float, heights: Scale) -> list[Markup]:
    """An arrow at each end of the axis beyond which the point or its interval lies."""
    extent = point.extent
    assert extent is not None
    tips = [(heights.start, -7)] if extent.low < heights.low else []
    tips += [(heights.end, 7)] if extent.high > heights.high else []
    return [
        svg.tag("polygon", points=svg.path([(x, y), (x - 4, y + long), (x + 4, y + long)]), class_="chart-beyond")
        for y, long in tips
    ]


def _words_beyond(beyond: Sequence[LinePoint]) -> str:
    """Which points have intervals that the axis does not show whole."""
    if not beyond:
        return ""
    more = f" and {len(beyond) - _NAMED:,} more" if len(beyond) > _NAMED else ""
    several = "noise intervals that continue" if len(beyond) > 1 else "the noise interval that continues"
    names = ", ".join(svg.key(point.x) for point in beyond[:_NAMED])
    return f"Arrows mark {several} beyond the axis: {names}{more}."


def _widths(points: Sequence[LinePoint], left: float) -> Scale:
    low, high = span((point.at for point in points), zero=False)
    if len({point.at for point in points}) == 1:  # a single place stands in the middle, with a day on each side
        only = points[0]
        reach = 86_400.0 if isinstance(only.x, date) else max(1.0, abs(only.at) / 10)
        low, high = only.at - reach, only.at + reach
    return Scale(low=low, high=high, start=left + 4, end=svg.WIDTH - 4)


def _ticks_below(points: Sequence[LinePoint], widths: Scale, bottom: float) -> list[Markup]:
    dated = bool(points) and isinstance(points[0].x, date)
    labelled_ticks = time_ticks.ticks(widths.low, widths.high) if dated else ticks(widths.low, widths.high)
    marks, free = [], 0.0
    for value, label in labelled_ticks:
        x, half = widths.at(value), svg.width(label) / 2
        marks.append(svg.line(x, bottom, x, bottom + 4, class_="chart-rule"))
        middle = min(max(x, half), svg.WIDTH - half)
        if middle - half >= free:  # no number over another
            marks.append(svg.text(middle, bottom + 16, label, class_="chart-quiet", anchor="middle"))
            free = middle + half + 6
    return marks


def _line(series: LineSeries, widths: Scale, heights: Scale, place: int) -> list[Markup]:
    marks = []
    for run in _runs(series.points):
        band = [point for point in run if point.low is not None and point.high is not None]
        if len(band) > 1:
            edge = [(widths.at(point.at), heights.clipped(point.high or 0.0)) for point in band]
            edge += [(widths.at(point.at), heights.clipped(point.low or 0.0)) for point in reversed(band)]
            marks.append(svg.tag("polygon", points=svg.path(edge), class_=f"chart-band chart-kind-{place}"))
        at = [(widths.at(point.at), heights.clipped(point.value or 0.0)) for point in run]
        if len(at) > 1:
            marks.append(svg.tag("polyline", points=svg.path(at), fill="none", class_=f"chart-line chart-kind-{place}"))
        if len(series.points) <= _DOTS:
            marks += [
                svg.tag(
                    "circle", svg.title(point.description), cx=x, cy=y, r=2.5, class_=f"chart-dot chart-kind-{place}"
                )
                for point, (x, y) in zip(run, at, strict=True)
            ]
    return marks


def _runs(points: Sequence[LinePoint]) -> list[list[LinePoint]]:
    """The points between gaps."""
    runs: list[list[LinePoint]] = [[]]
    for point in points:
        if point.value is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def _sign(place: int) -> Markup:
    return svg.line(0, 0, 13, 0, class_=f"chart-line chart-kind-{place}")


def _noisy(point: LinePoint) -> str:
    assert point.value is not None and point.low is not None and point.high is not None
    return format_with_noise(point.value, point.low, point.high)


def _describe(given: Sequence[LineSeries]) -> str:
    parts = []
    for series in given:
        valued_points = [point for point in series.points if point.value is not None]
        if valued_points:
            called = f"{svg.clean(series.name)}: " if series.name else ""
            end = f" to {valued_points[-1].description}" if len(valued_points) > 1 else ""
            parts.append(
                f"{called}{len(valued_points):,} points, from {valued_points[0].description}{end}."
                if end
                else f"{called}{valued_points[0].description}."
            )
    return " ".join(parts) or svg.NOTHING
