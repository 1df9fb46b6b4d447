"""Bars with their noise intervals: upright where all labels have room below them, else lying, one a line; or steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from markupsafe import Markup

from discreet.present.charts import axis, svg
from discreet.present.charts.bar import Bar
from discreet.present.charts.bar_marks import bar_marks
from discreet.present.charts.scale import Scale, span, widen_to_round
from discreet.present.charts.steps import MOST_STEPS, steps
from discreet.present.noise_scale import axis_reach

#: More bars than this are not read any more: the largest are drawn, and how many more there are is said.
MOST = 40
#: Of a lying bar: its line, a further line of its label, its own thickness, the room that it keeps, and the most that
#: its number takes.
_LINE, _LABEL_LINE, _THICK, _ROOM, _NUMBER = 22.0, 14.0, 12.0, 118.0, 132.0
#: So many lines of a label are read before it is cut.
_LABEL_LINES = 3
_HEIGHT = 200.0
#: So many bars that continue beyond the axis are named in the description.
_NAMED = 5


def bars(given: Sequence[Bar], *, title: str, name: str = "", note: str = "", ordered: bool = False) -> Markup:
    """One bar for each group, in the order given, with its noise interval. `note`: what stands above them.

    Of more than 40 the largest are drawn, and the rest are counted. Where their order means something (`ordered`), as
    that of ages does, all of them are drawn, as steps.

    Bars below the noise do not set the scale: an arrow stands where one continues beyond the axis.
    """
    called = svg.name(name)
    is_stepped = ordered and MOST < len(given) <= MOST_STEPS
    shown = list(given) if is_stepped else _largest(given)
    more = len(given) - len(shown)
    ends = _ends(shown)
    if is_stepped:
        body, height = steps(shown, ends, height=_HEIGHT)
    elif not more and _fits(shown, ends):
        body, height = _vertical_bars(shown, ends)
    else:
        body, height = _horizontal_bars(shown, ends, more)
    if note:
        body, height = _put_note_above(note, body, height)
    describes = f"{_describe(given, more, 'steps' if is_stepped else 'bars')} {_words_beyond(shown, ends)}".strip()
    return svg.drawing(called, says=title, describes=describes, height=height, body=body)


def label_width(given: Sequence[Bar]) -> float:
    """What a label has room for in one line, whichever of the bars are drawn: wider ones have up to three."""
    return _right(given) - _ROOM - 8


def _right(shown: Sequence[Bar]) -> float:
    """Where lying bars end and their numbers begin."""
    return svg.WIDTH - min(_NUMBER, max((svg.width(bar.number_text) for bar in shown), default=0.0) + 8)


def _put_note_above(note: str, body: list[Markup], height: float) -> tuple[list[Markup], float]:
    lines = svg.wrap(note, svg.WIDTH)
    written = [svg.text(0, 12 + 16 * at, line, class_="chart-quiet") for at, line in enumerate(lines)]
    down = 16.0 * len(lines) + 4
    return [*written, svg.tag("g", *body, transform=f"translate(0 {svg.number(down)})")], height + down


def _ends(shown: Sequence[Bar]) -> tuple[float, float]:
    """Round ends, but where little lies on one side of zero: a whisker below it is not worth a quarter of the chart."""
    reach = axis_reach(extent for bar in shown if (extent := bar.extent) is not None)
    low, high = span(reach, zero=True)
    wide = widen_to_round((low, high), about=4)
    return (max(wide[0], 1.5 * low), min(wide[1], 1.5 * high)) if low < 0 < high else wide


def _largest(given: Sequence[Bar]) -> list[Bar]:
    if len(given) <= MOST:
        return list(given)
    best = sorted(range(len(given)), key=lambda place: -(given[place].value or 0.0))[:MOST]
    return [given[place] for place in sorted(best)]


def _describe(given: Sequence[Bar], more: int, kind: str) -> str:
    numbers = [bar for bar in given if bar.value is not None]
    if not numbers:
        return svg.NOTHING
    largest = max(numbers, key=lambda bar: bar.value or 0.0)
    least = min(numbers, key=lambda bar: bar.value or 0.0)
    count = f"{len(given):,} {kind}" if len(given) > 1 else "One bar"
    parts = [f"{count}, each with its noise interval." if largest.low is not None else f"{count}."]
    parts.append(f"The largest is {largest.description}." if len(given) > 1 else f"It is {largest.description}.")
    if len(numbers) > 1:
        parts.append(f"The smallest is {least.description}.")
    if more:
        parts.append(f"{more:,} more are not drawn.")
    return " ".join(parts)


def _words_beyond(shown: Sequence[Bar], ends: tuple[float, float]) -> str:
    """Which bars continue beyond the axis."""
    scale = Scale(low=ends[0], high=ends[1], start=0.0, end=1.0)
    names = [svg.key(bar.label) for bar in shown if bar.is_beyond(scale)]
    if not names:
        return ""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    several = "noise intervals that continue" if len(names) > 1 else "the noise interval that continues"
    return f"Arrows mark {several} beyond the axis: {', '.join(names[:_NAMED])}{more}."


def _fits(shown: Sequence[Bar], ends: tuple[float, float]) -> bool:
    """Whether every label has room under its own bar, and no two are alike."""
    if len({(svg.key(bar.label), bar.label_class) for bar in shown}) < len(shown):
        return False
    longest = max((svg.width(svg.key(bar.label)) for bar in shown), default=0.0)
    return len(shown) > 1 and (longest + 6) * len(shown) <= svg.WIDTH - axis.tick_width(*ends, about=4)


def _vertical_bars(shown: Sequence[Bar], ends: tuple[float, float]) -> tuple[list[Markup], float]:
    left, top, bottom = axis.tick_width(*ends, about=4), 10.0, _HEIGHT - 22
    scale = Scale(low=ends[0], high=ends[1], start=bottom, end=top)
    slot = (svg.WIDTH - left) / len(shown)
    marks = axis.vertical_axis(scale, left=left, right=svg.WIDTH, about=4)
    for place, bar in enumerate(shown):
        middle, half = left + (place + 0.5) * slot, min(0.35 * slot, 24)
        parts = bar_marks(bar, scale, middle=middle, half=half, cap=min(half, 5), lying=False)
        if bar.value is None:
            parts.append(svg.text(middle, scale.at(0) - 4, bar.number_text, class_="chart-quiet", anchor="middle"))
        label = svg.text(middle, bottom + 16, svg.key(bar.label), class_=bar.label_class, anchor="middle")
        marks.append(svg.tag("g", *parts, label))
    return marks, _HEIGHT


def _horizontal_bars(shown: Sequence[Bar], ends: tuple[float, float], more: int) -> tuple[list[Markup], float]:
    if not shown:
        return svg.nothing()
    right = _right(shown)
    labels = _labels(shown, right - _ROOM - 8)
    left = min(right - _ROOM, max(svg.width(line) for lines in labels for line in lines) + 8)
    scale = Scale(low=ends[0], high=ends[1], start=left, end=right)
    tops = [6.0]
    for lines in labels:
        tops.append(tops[-1] + _LINE + _LABEL_LINE * (len(lines) - 1))
    bottom = tops[-1] + _LINE * bool(more)
    marks = axis.horizontal_axis(scale, top=4, bottom=bottom)
    for place, (bar, lines) in enumerate(zip(shown, labels, strict=True)):
        marks.append(_horizontal_bar(bar, lines, scale, (tops[place] + tops[place + 1]) / 2))
    if more:
        marks.append(svg.text(0, bottom - 6, f"… {more:,} more", class_="chart-quiet"))
    return marks, bottom + 20


def _labels(shown: Sequence[Bar], room: float) -> list[list[str]]:
    """What is read beside each bar: its key, in up to three lines; where several read alike, each has its number."""
    wrapped = [svg.wrap_all(svg.key(bar.label), room, most=_LABEL_LINES) for bar in shown]
    alike = Counter((*lines, bar.label_class) for lines, bar in zip(wrapped, shown, strict=True))
    for place, bar in enumerate(shown):
        lines = wrapped[place]
        if alike[*lines, bar.label_class] > 1:
            number = f" ({place + 1})"
            last = lines[-1] if len(lines) < _LABEL_LINES else lines[-1].removesuffix("…")
            wrapped[place] = [*lines[:-1], _with_number(last, number, room, cut=last != lines[-1])]
    return wrapped


def _with_number(line: str, number: str, room: float, *, cut: bool) -> str:
    """A line with a number after it, shortened as far as that needs room."""
    return svg.shorten(f"{line}…" if cut else line, room - svg.width(number)) + number


def _horizontal_bar(bar: Bar, lines: Sequence[str], scale: Scale, middle: float) -> Markup:
    number = _fit_number(bar.number_text, svg.WIDTH - scale.end - 8)
    first = middle + 4 - _LABEL_LINE * (len(lines) - 1) / 2
    return svg.tag(
        "g",
        *bar_marks(bar, scale, middle=middle, half=_THICK / 2, cap=4, lying=True),
        *(
            svg.text(scale.start - 8, first + _LABEL_LINE * place, line, class_=bar.label_class, anchor="end")
            for place, line in enumerate(lines)
        ),
        svg.text(svg.WIDTH, middle + 4, number, class_=bar.class_of("chart-number"), anchor="end"),
    )


def _fit_number(number: str, room: float) -> str:
    """The number with its interval, or without it: the whisker shows it, and half an interval says nothing.

    >>> _fit_number("3,840 (3,440 to 4,180)", 100)
    '3,840'
    """
    return number if svg.width(number) <= room else svg.shorten(number.partition(" (")[0], room)
