"""Bars with their noise intervals: upright where all labels have room below them, else lying, one a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from discreet.present.cell_text import DASH, format_with_noise
from discreet.present.charts import axis, svg
from discreet.present.charts.scale import Scale, check_finite, span, widen_to_round

#: More bars than this are not read any more: the largest are drawn, and how many more there are is said.
MOST = 40
#: Of a lying bar: its line, its own thickness, the room that it keeps, and the most that its number takes.
_LINE, _THICK, _ROOM, _NUMBER = 22.0, 12.0, 118.0, 132.0
_HEIGHT = 200.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A group and its number. `low`, `high`: its noise interval. `drowned`: it is no larger than its noise.

    `value` is None where there is no number. `text`: what is written for the number, where that is said elsewhere.
    `dots`: other numbers of the group, such as rehearsed answers.
    """

    label: svg.Key
    value: float | None
    low: float | None = None
    high: float | None = None
    drowned: bool = False
    text: str = ""
    dots: Sequence[float] = ()

    def __post_init__(self) -> None:
        value, low, high = (check_finite(each, of="a bar's end") for each in (self.value, self.low, self.high))
        for each in self.dots:
            check_finite(each, of="a dot of a bar")
        if (low is None) != (high is None) or (low is not None and high is not None and low > high):
            raise ValueError("a noise interval needs two ends, the lower one first")
        if value is None and low is not None:
            raise ValueError("there is a noise interval but no number")

    @property
    def number_text(self) -> str:
        """The number for people, with no more digits than its noise leaves."""
        if self.text or self.value is None:
            return svg.clean(self.text) or DASH
        if self.low is None or self.high is None:
            return f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:.6g}"
        return format_with_noise(self.value, self.low, self.high)

    @property
    def description(self) -> str:
        """The bar in words."""
        lost = " (the noise is too large to show it)" if self.value is None else " (below the noise)"
        return f"{svg.key(self.label)}: {self.number_text}" + (lost if self.drowned else "")


def bars(given: Sequence[Bar], *, title: str, name: str = "", note: str = "") -> Markup:
    """One bar for each group, in the order given, with its noise interval.

    Of more than 40 the largest are drawn, and the rest are counted. `note`: what stands above them.
    """
    called = svg.name(name)
    shown = _largest(given)
    more = len(given) - len(shown)
    ends = _ends(shown)
    upright = not more and _fits(shown, ends)
    body, height = _vertical_bars(shown, ends) if upright else _horizontal_bars(shown, ends, more)
    if note:
        body, height = _put_note_above(note, body, height)
    return svg.drawing(called, says=title, describes=_describe(given, more), height=height, body=body)


def label_width(given: Sequence[Bar]) -> float:
    """What a label has room for, whichever of the bars are drawn: wider ones are cut."""
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
    low, high = span((end for bar in shown for end in (bar.value, bar.low, bar.high, *bar.dots)), zero=True)
    wide = widen_to_round((low, high), about=4)
    return (max(wide[0], 1.5 * low), min(wide[1], 1.5 * high)) if low < 0 < high else wide


def _largest(given: Sequence[Bar]) -> list[Bar]:
    if len(given) <= MOST:
        return list(given)
    best = sorted(range(len(given)), key=lambda place: -(given[place].value or 0.0))[:MOST]
    return [given[place] for place in sorted(best)]


def _describe(given: Sequence[Bar], more: int) -> str:
    numbers = [bar for bar in given if bar.value is not None]
    if not numbers:
        return svg.NOTHING
    largest = max(numbers, key=lambda bar: bar.value or 0.0)
    least = min(numbers, key=lambda bar: bar.value or 0.0)
    count = f"{len(given):,} bars" if len(given) > 1 else "One bar"
    parts = [f"{count}, each with its noise interval." if largest.low is not None else f"{count}."]
    parts.append(f"The largest is {largest.description}." if len(given) > 1 else f"It is {largest.description}.")
    if len(numbers) > 1:
        parts.append(f"The smallest is {least.description}.")
    if more:
        parts.append(f"{more:,} more are not drawn.")
    return " ".join(parts)


def _fits(shown: Sequence[Bar], ends: tuple[float, float]) -> bool:
    """Whether every label has room under its own bar, and no two are alike."""
    if len({(svg.key(bar.label), _label(bar)) for bar in shown}) < len(shown):
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
        parts = [svg.title(bar.description)]
        if bar.value is not None:
            parts.append(
                svg.rect(
                    middle - half, scale.at(0), middle + half, scale.at(bar.value), class_=_class("chart-bar", bar)
                )
            )
        else:
            parts.append(svg.text(middle, scale.at(0) - 4, bar.number_text, class_="chart-quiet", anchor="middle"))
        if bar.low is not None and bar.high is not None:
            low, high, cap = scale.at(bar.low), scale.at(bar.high), min(half, 5)
            parts += [
                svg.line(middle, low, middle, high, class_="chart-whisker"),
                *(svg.line(middle - cap, y, middle + cap, y, class_="chart-whisker") for y in (low, high)),
            ]
        dots = zip(_spread(len(bar.dots), half), bar.dots, strict=True)
        parts += [_dot(middle + aside, scale.at(each)) for aside, each in dots]
        label = svg.text(middle, bottom + 16, svg.key(bar.label), class_=_label(bar), anchor="middle")
        marks.append(svg.tag("g", *parts, label))
    return marks, _HEIGHT


def _horizontal_bars(shown: Sequence[Bar], ends: tuple[float, float], more: int) -> tuple[list[Markup], float]:
    if not shown:
        return svg.nothing()
    right = _right(shown)
    labels = _labels(shown, right - _ROOM - 8)
    left = min(right - _ROOM, max(map(svg.width, (*labels, *(svg.key(bar.label) for bar in shown)))) + 8)
    scale = Scale(low=ends[0], high=ends[1], start=left, end=right)
    bottom = 6 + _LINE * (len(shown) + bool(more))
    marks = axis.horizontal_axis(scale, top=4, bottom=bottom)
    for place, (bar, label) in enumerate(zip(shown, labels, strict=True)):
        marks.append(_horizontal_bar(bar, label, scale, 6 + _LINE * (place + 0.5), left, right))
    if more:
        marks.append(svg.text(0, bottom - 6, f"… {more:,} more", class_="chart-quiet"))
    return marks, bottom + 20


def _labels(shown: Sequence[Bar], room: float) -> list[str]:
    """What is read beside each bar: its key, cut to the room; where several would read alike, each has its number."""
    cut = [svg.shorten(svg.key(bar.label), room) for bar in shown]
    alike = Counter((label, _label(bar)) for label, bar in zip(cut, shown, strict=True))
    for place, bar in enumerate(shown):
        if alike[cut[place], _label(bar)] > 1:
            number = f" ({place + 1})"
            cut[place] = svg.shorten(svg.key(bar.label), room - svg.width(number)) + number
    return cut


def _horizontal_bar(bar: Bar, label: str, scale: Scale, middle: float, left: float, right: float) -> Markup:
    parts = [svg.title(bar.description)]
    if bar.value is not None:
        top, bottom = middle - _THICK / 2, middle + _THICK / 2
        parts.append(svg.rect(scale.at(0), top, scale.at(bar.value), bottom, class_=_class("chart-bar", bar)))
    if bar.low is not None and bar.high is not None:
        low, high = scale.at(bar.low), scale.at(bar.high)
        parts += [
            svg.line(low, middle, high, middle, class_="chart-whisker"),
            *(svg.line(x, middle - 4, x, middle + 4, class_="chart-whisker") for x in (low, high)),
        ]
    dots = zip(_spread(len(bar.dots), _THICK / 2), bar.dots, strict=True)
    parts += [_dot(scale.at(each), middle + aside) for aside, each in dots]
    number = _fit_number(bar.number_text, svg.WIDTH - right - 8)
    return svg.tag(
        "g",
        *parts,
        svg.text(left - 8, middle + 4, label, class_=_label(bar), anchor="end"),
        svg.text(svg.WIDTH, middle + 4, number, class_=_class("chart-number", bar), anchor="end"),
    )


def _fit_number(number: str, room: float) -> str:
    """The number with its interval, or without it: the whisker shows it, and half an interval says nothing.

    >>> _fit_number("3,840 (3,440 to 4,180)", 100)
    '3,840'
    """
    return number if svg.width(number) <= room else svg.shorten(number.partition(" (")[0], room)


def _dot(x: float, y: float) -> Markup:
    return svg.tag("circle", cx=x, cy=y, r=2.5, class_="chart-try")


def _spread(count: int, half: float) -> list[float]:
    """How far aside dots lie, so that equal ones are seen."""
    return [half * (2 * place / (count - 1) - 1) * 0.7 if count > 1 else 0.0 for place in range(count)]


def _class(word: str, bar: Bar) -> str:
    return f"{word} chart-drowned" if bar.drowned else word


def _label(bar: Bar) -> str:
    """NULL, true and false are no words: they are told from texts that look like them."""
    return "chart-label chart-null" if bar.label is None or isinstance(bar.label, bool) else "chart-label"
