"""The marks of one bar: its rectangle, its noise interval, dots, and arrows where it continues beyond the axis."""

from __future__ import annotations

from markupsafe import Markup

from discreet.present.charts import svg
from discreet.present.charts.bar import Bar
from discreet.present.charts.scale import Scale

#: An arrow: how long, and how wide on each side of its middle.
_LONG, _WIDE = 7.0, 4.0


def bar_marks(bar: Bar, scale: Scale, *, middle: float, half: float, cap: float, lying: bool) -> list[Markup]:
    """A bar along the scale, `half` wide on each side of its middle; what the axis does not show becomes an arrow."""

    def point(along: float, aside: float) -> tuple[float, float]:
        return (along, aside) if lying else (aside, along)

    marks = [svg.title(bar_words(bar, scale))]
    if bar.value is not None:
        corners = (*point(scale.at(0), middle - half), *point(scale.clipped(bar.value), middle + half))
        marks.append(svg.rect(*corners, class_=bar.class_of("chart-bar")))
    if bar.low is not None and bar.high is not None:
        ends = [scale.clipped(bar.low), scale.clipped(bar.high)]
        shown = [scale.at(end) for end in (bar.low, bar.high) if scale.low <= end <= scale.high]
        marks.append(svg.line(*point(ends[0], middle), *point(ends[1], middle), class_="chart-whisker"))
        marks += [svg.line(*point(at, middle - cap), *point(at, middle + cap), class_="chart-whisker") for at in shown]
    dots = zip(_spread(len(bar.dots), half), bar.dots, strict=True)
    marks += [
        svg.tag("circle", cx=x, cy=y, r=2.5, class_="chart-try")
        for aside, each in dots
        if scale.low <= each <= scale.high
        for x, y in [point(scale.at(each), middle + aside)]
    ]
    return marks + arrows(bar, scale, middle=middle, lying=lying)


def bar_words(bar: Bar, scale: Scale) -> str:
    """The bar in words, and whether the axis shows all of it."""
    return bar.description + ("; it continues beyond the axis" if bar.is_beyond(scale) else "")


def arrows(bar: Bar, scale: Scale, *, middle: float, lying: bool, wide: float = _WIDE) -> list[Markup]:
    """An arrow at each end of the axis beyond which the bar continues."""
    extent, back = bar.extent, _LONG if scale.end > scale.start else -_LONG
    if extent is None:
        return []
    tips = [(scale.start, -back)] if extent.low < scale.low else []
    tips += [(scale.end, back)] if extent.high > scale.high else []
    marks = []
    for tip, length in tips:
        corners = [(tip, middle), (tip - length, middle - wide), (tip - length, middle + wide)]
        points = svg.path(corners if lying else [(aside, along) for along, aside in corners])
        marks.append(svg.tag("polygon", points=points, class_="chart-beyond"))
    return marks


def _spread(count: int, half: float) -> list[float]:
    """How far aside dots lie, so that equal ones are seen."""
    return [half * (2 * place / (count - 1) - 1) * 0.7 if count > 1 else 0.0 for place in range(count)]
