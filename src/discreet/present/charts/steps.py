"""Many groups in an order that means something, such as ages: a step for each, with the band of its noise interval."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from markupsafe import Markup

from discreet.present.charts import axis, svg
from discreet.present.charts.bar import Bar
from discreet.present.charts.bar_marks import arrows, bar_marks, bar_words
from discreet.present.charts.key_order import number_sides
from discreet.present.charts.scale import Scale

#: Where a step begins and ends on the drawing.
Side = tuple[float, float]
#: More steps than this are finer than a chart shows.
MOST_STEPS = 2_000
#: What the group NULL takes at the right of the others, which it is in no order with.
_ASIDE = 52.0
_NUMBER, _MONTH = re.compile(r"-?\d+"), re.compile(r"\d{4}-(\d\d)-(\d\d)")
#: Numbers that are read more easily than others, the more of these they are multiples of.
_ROUND = (5, 10, 20, 50, 100)


def steps(shown: Sequence[Bar], ends: tuple[float, float], *, height: float) -> tuple[list[Markup], float]:
    """A step for each bar, from left to right, and NULL as a bar beside them. `ends`: of the upright axis.

    Numbers and bins of numbers are drawn to scale: a bin twice as wide is drawn twice as wide, and numbers that no
    group has are a gap.
    """
    nulls, ordered = [bar for bar in shown if bar.label is None], [bar for bar in shown if bar.label is not None]
    left, top, bottom = axis.tick_width(*ends, about=4), 10.0, height - 22
    right = svg.WIDTH - _ASIDE * len(nulls)
    scale = Scale(low=ends[0], high=ends[1], start=bottom, end=top)
    sides = _sides(ordered, left, right)
    marks = axis.vertical_axis(scale, left=left, right=svg.WIDTH, about=4)
    for run in _runs(ordered, sides):
        marks += _run_marks(ordered, run, sides, scale)
    marks += _slots(ordered, sides, scale)
    marks += _labels(ordered, sides, bottom)
    for place, bar in enumerate(nulls):
        middle = right + (place + 0.5) * _ASIDE + 6
        label = svg.text(middle, bottom + 16, svg.key(bar.label), class_=bar.label_class, anchor="middle")
        marks.append(svg.tag("g", *bar_marks(bar, scale, middle=middle, half=12.0, cap=5.0, lying=False), label))
    return marks, height


def _sides(given: Sequence[Bar], left: float, right: float) -> list[Side]:
    """Where each step is drawn, from side to side: to scale where that can be seen, else all equally wide."""
    numbers = number_sides([bar.label for bar in given])
    if numbers is not None and not _is_even(numbers):
        low, high, least = numbers[0][0], numbers[-1][1], min(end - begin for begin, end in numbers)
        if high / 2 - low / 2 <= MOST_STEPS * least / 2:  # halves, because the width of all floats is no float
            across = Scale(low=low, high=high, start=left, end=right)
            return [(across.at(begin), across.at(end)) for begin, end in numbers]
    across = Scale(low=0.0, high=float(max(1, len(given))), start=left, end=right)
    return [(across.at(place), across.at(place + 1)) for place in range(len(given))]


def _touch(one: Side, other: Side) -> bool:
    """Whether the second step begins where the first ends."""
    return abs(other[0] - one[1]) <= 1e-6 * (one[1] - one[0])


def _is_even(sides: Sequence[Side]) -> bool:
    """Whether all steps are equally wide and touch."""
    wide = [right - left for left, right in sides]
    return all(math.isclose(each, wide[0], rel_tol=1e-6) for each in wide) and all(map(_touch, sides, sides[1:]))


def _runs(given: Sequence[Bar], sides: Sequence[Side]) -> Iterator[range]:
    """Steps that touch, have numbers, and are all above the noise, or all below it."""
    begin = 0
    for end in range(1, len(given) + 1):
        is_last = end == len(given) or not _touch(sides[end - 1], sides[end])
        if is_last or _kind(given[end]) != _kind(given[begin]):
            if given[begin].value is not None:
                yield range(begin, end)
            begin = end


def _kind(bar: Bar) -> tuple[bool, bool]:
    return bar.value is None, bar.drowned


def _run_marks(given: Sequence[Bar], run: range, places: Sequence[Side], scale: Scale) -> list[Markup]:
    """The band of a run, and the line of its values, from the value of the step before it where that touches it."""
    tops, bottoms, line = list[tuple[float, float]](), list[tuple[float, float]](), list[tuple[float, float]]()
    before = given[run.start - 1].value if run.start and _touch(places[run.start - 1], places[run.start]) else None
    if before is not None:
        line.append((places[run.start][0], scale.clipped(before)))
    for place in run:
        bar, sides = given[place], places[place]
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


def _slots(given: Sequence[Bar], sides: Sequence[Side], scale: Scale) -> Iterator[Markup]:
    """Over each step a place for the pointer, which says what it is, dots, and arrows where it continues beyond."""
    for bar, (left, right) in zip(given, sides, strict=True):
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


def _labels(given: Sequence[Bar], sides: Sequence[Side], bottom: float) -> Iterator[Markup]:
    """Labels below some of the steps: the round ones first, as many as have room."""
    names = [svg.key(bar.label) for bar in given]
    halves, end = [svg.width(name) / 2 for name in names], sides[-1][1] if sides else 0.0
    inside = [min(max(_middle(side), half), end - half) for side, half in zip(sides, halves, strict=True)]
    for place in _labelled(names, sides, inside):
        middle = _middle(sides[place])
        yield svg.line(middle, bottom, middle, bottom + 4, class_="chart-rule")
        yield svg.text(inside[place], bottom + 16, names[place], class_="chart-quiet", anchor="middle")


def _labelled(names: Sequence[str], sides: Sequence[Side], inside: Sequence[float]) -> list[int]:
    """The steps that have a label: evenly many apart where all are equally wide, else wherever there is room.

    inside: the middle of each label.
    """
    if not names:
        return []
    widest, weights = max(map(svg.width, names)) + 10, [_roundness(name) for name in names]
    if not _is_even(sides):
        placed: list[int] = []
        for place in sorted(range(len(names)), key=lambda place: (-weights[place], place)):
            if all(abs(inside[place] - inside[other]) >= widest for other in placed):
                placed.append(place)
        return sorted(placed)
    least = max(1, -int(-widest // (sides[0][1] - sides[0][0])))
    choices = [
        (-sum(weights[first::every]), every, first)
        for every in range(least, 2 * least + 1)
        for first in range(min(every, len(names)))
    ]
    _, every, first = min(choices)
    return list(range(first, len(names), every))


def _middle(side: Side) -> float:
    return (side[0] + side[1]) / 2


def _roundness(name: str) -> int:
    """How round a label is: a number by what divides it, a day by whether it begins a month, a quarter or a year.

    >>> [_roundness(name) for name in ("17", "20", "age = 100", "2026-01-01", "2026-03-01", "2026-03-02", "ward")]
    [0, 3, 5, 3, 1, 0, 0]
    """
    if day := _MONTH.search(name):
        return 0 if day[2] != "01" else 3 if day[1] == "01" else 2 if int(day[1]) % 3 == 1 else 1
    number = _NUMBER.search(name)
    return sum(int(number[0]) % each == 0 for each in _ROUND) if number else 0
