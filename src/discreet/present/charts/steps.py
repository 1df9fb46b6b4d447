"""Many groups in an order that means something, such as ages: a step for each, with the band of its noise interval."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from discreet.present.charts import axis, svg
from discreet.present.charts.bar import Bar
from discreet.present.charts.bar_marks import arrows, bar_marks, bar_words
from discreet.present.charts.scale import Scale

#: More steps than this are finer than a chart shows.
MOST_STEPS = 2_000
#: What the group NULL takes at the right of the others, which it is in no order with.
_ASIDE = 52.0
_NUMBER, _MONTH = re.compile(r"-?\d+"), re.compile(r"\d{4}-(\d\d)-(\d\d)")
#: Numbers that are read more easily than others, the more of these they are multiples of.
_ROUND = (5, 10, 20, 50, 100)


def steps(shown: Sequence[Bar], ends: tuple[float, float], *, height: float) -> tuple[list[Markup], float]:
    """A step for each bar, from left to right, and NULL as a bar beside them. `ends`: of the upright axis."""
    nulls, ordered = [bar for bar in shown if bar.label is None], [bar for bar in shown if bar.label is not None]
    left, top, bottom = axis.tick_width(*ends, about=4), 10.0, height - 22
    right = svg.WIDTH - _ASIDE * len(nulls)
    scale = Scale(low=ends[0], high=ends[1], start=bottom, end=top)
    across = Scale(low=0.0, high=float(max(1, len(ordered))), start=left, end=right)
    marks = axis.vertical_axis(scale, left=left, right=svg.WIDTH, about=4)
    for run in _runs(ordered):
        marks += _run_marks(ordered, run, across, scale)
    marks += _slots(ordered, across, scale)
    marks += _labels(ordered, across, bottom)
    for place, bar in enumerate(nulls):
        middle = right + (place + 0.5) * _ASIDE + 6
        label = svg.text(middle, bottom + 16, svg.key(bar.label), class_=bar.label_class, anchor="middle")
        marks.append(svg.tag("g", *bar_marks(bar, scale, middle=middle, half=12.0, cap=5.0, lying=False), label))
    return marks, height


def _runs(given: Sequence[Bar]) -> Iterator[range]:
    """Steps beside each other that have numbers and are all above the noise, or all below it."""
    begin = 0
    for end in range(1, len(given) + 1):
        if end == len(given) or _kind(given[end]) != _kind(given[begin]):
            if given[begin].value is not None:
                yield range(begin, end)
            begin = end


def _kind(bar: Bar) -> tuple[bool, bool]:
    return bar.value is None, bar.drowned


def _run_marks(given: Sequence[Bar], run: range, across: Scale, scale: Scale) -> list[Markup]:
    """The band of a run, and the line of its values, from the value of the step before it."""
    tops, bottoms, line = list[tuple[float, float]](), list[tuple[float, float]](), list[tuple[float, float]]()
    before = given[run.start - 1].value if run.start else None
    if before is not None:
        line.append((across.at(run.start), scale.clipped(before)))
    for place in run:
        bar, sides = given[place], (across.at(place), across.at(place + 1))
        value = bar.value or 0.0
        low, high = (value, value) if bar.low is None or bar.high is None else (bar.low, bar.high)
        line += [(x, scale.clipped(value)) for x in sides]
        tops += [(x, scale.clipped(high)) for x in sides]
        bottoms += [(x, scale.clipped(low)) for x in sides]
    bar = given[run.start]
    return [
        svg.tag("polygon", points=svg.path([*tops, *reversed(bottoms)]), class_=bar.class_of("chart-noise")),
        svg.tag("polyline", points=svg.path(line), fill="none", class_=bar.class_of("chart-step")),
    ]


def _slots(given: Sequence[Bar], across: Scale, scale: Scale) -> Iterator[Markup]:
    """Over each step a place for the pointer, which says what it is, dots, and arrows where it continues beyond."""
    for place, bar in enumerate(given):
        left, right = across.at(place), across.at(place + 1)
        corners = {"x": left, "y": scale.end, "width": right - left, "height": scale.start - scale.end}
        slot = svg.tag("rect", **corners, fill="none", pointer_events="all")
        yield svg.tag(
            "g",
            svg.title(bar_words(bar, scale)),
            slot,
            *(
                svg.tag("circle", cx=(left + right) / 2, cy=scale.clipped(each), r=2.5, class_="chart-try")
                for each in bar.dots
            ),
            *arrows(bar, scale, middle=(left + right) / 2, lying=False, wide=min(4.0, max(1.5, (right - left) / 2))),
        )


def _labels(given: Sequence[Bar], across: Scale, bottom: float) -> Iterator[Markup]:
    """Labels below some of the steps, as evenly as they stand, of those the round ones."""
    names = [svg.key(bar.label) for bar in given]
    widest = max(map(svg.width, names), default=0.0) + 10
    least = max(1, -int(-widest // (across.at(1) - across.at(0))))
    weights = [_roundness(name) for name in names]
    choices = [
        (-sum(weights[first::every]), every, first)
        for every in range(least, 2 * least + 1)
        for first in range(min(every, len(names)))
    ]
    if not choices:
        return
    _, every, first = min(choices)
    for place in range(first, len(names), every):
        middle, half = across.at(place + 0.5), svg.width(names[place]) / 2
        yield svg.line(middle, bottom, middle, bottom + 4, class_="chart-rule")
        inside = min(max(middle, half), across.end - half)
        yield svg.text(inside, bottom + 16, names[place], class_="chart-quiet", anchor="middle")


def _roundness(name: str) -> int:
    """How round a label is: a number by what divides it, a day by whether it begins a month, a quarter or a year.

    >>> [_roundness(name) for name in ("17", "20", "age = 100", "2026-01-01", "2026-03-01", "2026-03-02", "ward")]
    [0, 3, 5, 3, 1, 0, 0]
    """
    if day := _MONTH.search(name):
        return 0 if day[2] != "01" else 3 if day[1] == "01" else 2 if int(day[1]) % 3 == 1 else 1
    number = _NUMBER.search(name)
    return sum(int(number[0]) % each == 0 for each in _ROUND) if number else 0
