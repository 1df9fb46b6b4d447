"""Pictures of evidence as SVG: bars beside each other, and lines over an axis. Every text is escaped."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from discreet.present.charts import svg

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640.0, 376.0, 64.0, 20.0, 60.0, 56.0
#: About how wide a letter is where it is largest: on a page on a phone.
_LETTER = 8.2
#: In a file of its own it stands on white paper: nobody knows what the file is put on.
_STYLE = Markup("<style>text{font:12px system-ui,sans-serif}:root{color:#1f2d29;background:#fff}</style>")
#: --chart-0 to --chart-4 of the style sheets, on light paper.
COLOURS = ("#1a6552", "#a1481a", "#2d5f93", "#8a4a8f", "#746400")


def inline_picture(picture: str) -> Markup:
    """A picture inside a page: in the page's colours, and without its own style, which would reach all of the page."""
    picture = re.sub(r"<style>.*?</style>", "", picture, flags=re.DOTALL)
    for place, colour in enumerate(COLOURS):
        picture = re.sub(rf'(fill|stroke)="{colour}"', rf'\1="var(--chart-{place})"', picture)
    return Markup(picture.replace("<svg ", '<svg class="picture" ', 1))  # noqa: S704 - drawn here, all texts escaped


def bars(
    title: str, values: Mapping[str, float], *, most: float = 1.0, marks: Mapping[str, float] | None = None
) -> Markup:
    """One bar for each value, from 0 to `most`; `marks` are lines across, such as chance and the bound."""
    right = _right(marks)
    slot = (right - LEFT) / max(1, len(values))
    parts = _marks(marks or {}, 0, most)  # under the bars and their labels
    for place, (name, value) in enumerate(values.items()):
        x, top = LEFT + place * slot + 0.15 * slot, _height(value, 0, most)
        parts += [
            svg.rect(x, top, x + 0.7 * slot, HEIGHT - BOTTOM, class_="", fill=COLOURS[0]),
            _text(x + 0.35 * slot, top - 6, _format_value(value, most), anchor="middle"),
            *_bar_label(x + 0.35 * slot, HEIGHT - BOTTOM + 18, name, width=slot),
        ]
    return _svg(title, [*_axis(0, most, right), *parts])


def curves(
    title: str,
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    *,
    across: str,
    low: float = 0.0,
    high: float = 1.0,
    logarithmic: bool = False,
    marks: Mapping[str, float] | None = None,
) -> Markup:
    """Lines over the same places on the x axis."""
    at = [math.log10(value) for value in x] if logarithmic else list(x)
    first, last = min(at), max(at)
    span = last - first or 1.0

    def across_at(value: float) -> float:
        return LEFT + (value - first) / span * (_right(marks) - LEFT)

    parts = _axis(low, high, _right(marks))
    legend = LEFT + 8
    for place, (name, values) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        points = svg.path(
            (across_at(where), _height(value, low, high)) for where, value in zip(at, values, strict=True)
        )
        parts.append(svg.tag("polyline", points=points, fill="none", stroke=colour, stroke_width=2))
        parts.append(_text(legend, TOP - 16, name, fill=colour))
        legend += _LETTER * len(name) + 20
    free = -1.0
    for where, value in list(zip(at, x, strict=True))[:: max(1, len(at) // 8)]:
        label, middle = f"{value:g}", across_at(where)
        if middle - _LETTER * len(label) / 2 > free:  # no number over another
            parts.append(_text(middle, HEIGHT - BOTTOM + 18, label, anchor="middle"))
            free = middle + _LETTER * len(label) / 2 + 4
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 12, across, anchor="middle"))
    return _svg(title, [*parts, *_marks(marks or {}, low, high)])


def bars_with_marks(
    title: str,
    values: Mapping[str, tuple[float, float]],
    *,
    mark: str,
    bounds: Mapping[str, float] | None = None,
) -> Markup:
    """A bar for each value, lying down, and across each one its own mark: `mark` says what of, such as chance.

    `bounds`: what a claimed guarantee allows, a second mark, for those values that it bounds.
    """
    start = TOP - 20  # one bar's name stands beside it: nothing is written over the first
    step = min(52.0, (HEIGHT - start - 48) / max(1, len(values)))
    left, right = _LETTER * max(map(len, values), default=0) + 16, WIDTH - 56.0
    parts = []
    for place, (name, (value, other)) in enumerate(values.items()):
        top = start + place * step
        width, at = ((right - left) * min(max(share, 0.0), 1.0) for share in (value, other))
        parts += [
            svg.rect(left, top, left + width, top + 0.6 * step, class_="", fill=COLOURS[0]),
            _upright(left + at, top - 4, top + 0.6 * step + 4, stroke=COLOURS[1]),
        ]
        end, allowed = max(width, at), (bounds or {}).get(name)
        if allowed is not None:
            end = max(end, (right - left) * min(allowed, 1.0))
            x = left + (right - left) * min(allowed, 1.0)
            parts.append(_upright(x, top - 4, top + 0.6 * step + 4, stroke=COLOURS[2], stroke_dasharray="5 3"))
        parts += [
            _text(left - 10, top + 0.3 * step + 4, name, anchor="end"),
            _text(left + end + 8, top + 0.3 * step + 4, _format_value(value, 1.0)),
        ]
    below = start + len(values) * step + 12
    parts.append(_text(left, below, f"line: {mark}", fill=COLOURS[1]))
    if bounds:
        parts.append(_text(left, below + 18, "dashed line: the most that the claim allows", fill=COLOURS[2]))
    return _svg(title, parts)


def _upright(x: float, top: float, bottom: float, **style: str) -> Markup:
    """A line across a bar that lies down."""
    return svg.tag("line", x1=x, x2=x, y1=top, y2=bottom, stroke_width=3, **style)


def _height(value: float, low: float, high: float) -> float:
    share = (min(max(value, low), high) - low) / ((high - low) or 1.0)
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _right(marks: Mapping[str, float] | None) -> float:
    """Where the drawing ends: marks are named in a margin beside it, where nothing else stands."""
    return WIDTH - RIGHT - (_LETTER * max(len(name) + 6 for name in marks) if marks else 0)


def _bar_label(x: float, y: float, name: str, *, width: float) -> list[Markup]:
    """A name under a bar, in lines no wider than the bar's place where it has a space or a plus to break at."""
    lines = [""]
    for word in name.replace("+", "+ ").split():
        joined = f"{lines[-1]} {word}".strip()
        if lines[-1] and _LETTER * len(joined) > width:
            lines.append(word)
        else:
            lines[-1] = joined
    return [_text(x, y + 14 * place, line, anchor="middle") for place, line in enumerate(lines)]


def _axis(low: float, high: float, right: float) -> list[Markup]:
    parts = []
    for step in range(5):
        value = low + (high - low) * step / 4
        y = _height(value, low, high)
        parts.append(svg.tag("line", x1=LEFT, x2=right, y1=y, y2=y, stroke="#8884"))
        parts.append(_text(LEFT - 8, y + 4, _format_value(value, high), anchor="end"))
    return parts


def _marks(marks: Mapping[str, float], low: float, high: float) -> list[Markup]:
    """Broken lines across, named in the margin; names that would overlap are moved apart."""
    parts, right, free = [], _right(marks), HEIGHT
    for name, value in sorted(marks.items(), key=lambda mark: mark[1]):
        y = _height(value, low, high)
        free = min(y + 4, free - 18)
        parts += [
            svg.tag("line", x1=LEFT, x2=right, y1=y, y2=y, stroke=COLOURS[1], stroke_dasharray="6 4"),
            _text(right + 6, free, f"{name} {_format_value(value, high)}", fill=COLOURS[1]),
        ]
    return parts


def _format_value(value: float, most: float) -> str:
    return f"{value:.0%}" if most == 1.0 else f"{value:,.3g}"


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = "currentColor") -> Markup:
    return svg.tag("text", svg.words(text), x=x, y=y, text_anchor=anchor, fill=fill)


def drawn(title: str, body: Sequence[Markup]) -> Markup:
    """A picture of its own shapes, under a title."""
    return _svg(title, body)


def _svg(title: str, body: Sequence[Markup]) -> Markup:
    named, box = _text(LEFT, 18, title), f"0 0 {WIDTH:g} {HEIGHT:g}"
    parts = (_STYLE, svg.title(title), named, *body)
    return svg.tag("svg", *parts, xmlns="http://www.w3.org/2000/svg", viewBox=box, role="img", aria_label=title)
