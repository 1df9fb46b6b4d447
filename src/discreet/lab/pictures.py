"""Pictures of evidence as SVG text: bars beside each other, and lines over an axis. No library, no outside font."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640.0, 376.0, 64.0, 20.0, 60.0, 56.0
#: About how wide a letter is where it is largest: on a page on a phone.
_LETTER = 8.2
_STYLE = (
    "text{font:12px system-ui,sans-serif}:root{color:#222;background:#fff}"
    "@media(prefers-color-scheme:dark){:root{color:#ddd;background:#181818}}"
)
COLOURS = ("#3465a4", "#c4631e", "#4e7d2f", "#8a4a8f", "#7a6a00")


def bars(
    title: str, values: Mapping[str, float], *, most: float = 1.0, marks: Mapping[str, float] | None = None
) -> str:
    """One bar for each value, from 0 to `most`; `marks` are lines across, such as chance and the bound."""
    right = _right(marks)
    slot = (right - LEFT) / max(1, len(values))
    parts = _marks(marks or {}, 0, most)  # under the bars and their labels
    for place, (name, value) in enumerate(values.items()):
        x, top = LEFT + place * slot + 0.15 * slot, _height(value, 0, most)
        parts.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="{0.7 * slot:.1f}" height="{HEIGHT - BOTTOM - top:.1f}" '
            f'fill="{COLOURS[0]}"/>'
            + _text(x + 0.35 * slot, top - 6, _format_value(value, most), anchor="middle")
            + _bar_label(x + 0.35 * slot, HEIGHT - BOTTOM + 18, name, width=slot)
        )
    return _svg(title, _axis(0, most, right) + "".join(parts))


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
) -> str:
    """Lines over the same places on the x axis."""
    at = [math.log10(value) for value in x] if logarithmic else list(x)
    first, last = min(at), max(at)
    span = last - first or 1.0

    def across_at(value: float) -> float:
        return LEFT + (value - first) / span * (_right(marks) - LEFT)

    parts = [_axis(low, high, _right(marks))]
    legend = LEFT + 8
    for place, (name, values) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        points = " ".join(
            f"{across_at(where):.1f},{_height(value, low, high):.1f}" for where, value in zip(at, values, strict=True)
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_text(legend, TOP - 16, name, fill=colour))
        legend += _LETTER * len(name) + 20
    free = -1.0
    for where, value in list(zip(at, x, strict=True))[:: max(1, len(at) // 8)]:
        label, middle = f"{value:g}", across_at(where)
        if middle - _LETTER * len(label) / 2 > free:  # no number over another
            parts.append(_text(middle, HEIGHT - BOTTOM + 18, label, anchor="middle"))
            free = middle + _LETTER * len(label) / 2 + 4
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 12, across, anchor="middle"))
    return _svg(title, "".join([*parts, *_marks(marks or {}, low, high)]))


def bars_with_marks(
    title: str,
    values: Mapping[str, tuple[float, float]],
    *,
    mark: str,
    bounds: Mapping[str, float] | None = None,
) -> str:
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
        parts.append(
            f'<rect x="{left}" y="{top:.1f}" width="{width:.1f}" height="{0.6 * step:.1f}" fill="{COLOURS[0]}"/>'
            f'<line x1="{left + at:.1f}" x2="{left + at:.1f}" y1="{top - 4:.1f}" y2="{top + 0.6 * step + 4:.1f}" '
            f'stroke="{COLOURS[1]}" stroke-width="3"/>'
        )
        end, allowed = max(width, at), (bounds or {}).get(name)
        if allowed is not None:
            end = max(end, (right - left) * min(allowed, 1.0))
            parts.append(_bound_line(left + (right - left) * min(allowed, 1.0), top - 4, top + 0.6 * step + 4))
        parts.append(
            _text(left - 10, top + 0.3 * step + 4, name, anchor="end")
            + _text(left + end + 8, top + 0.3 * step + 4, _format_value(value, 1.0))
        )
    below = start + len(values) * step + 12
    parts.append(_text(left, below, f"line: {mark}", fill=COLOURS[1]))
    if bounds:
        parts.append(_text(left, below + 18, "dashed line: the most that the claim allows", fill=COLOURS[2]))
    return _svg(title, "".join(parts))


def _bound_line(x: float, top: float, bottom: float) -> str:
    """A broken line for what a claim allows."""
    ends = f'x1="{x:.1f}" x2="{x:.1f}" y1="{top:.1f}" y2="{bottom:.1f}"'
    return f'<line {ends} stroke="{COLOURS[2]}" stroke-width="3" stroke-dasharray="5 3"/>'


def _height(value: float, low: float, high: float) -> float:
    share = (min(max(value, low), high) - low) / ((high - low) or 1.0)
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _right(marks: Mapping[str, float] | None) -> float:
    """Where the drawing ends: marks are named in a margin beside it, where nothing else stands."""
    return WIDTH - RIGHT - (_LETTER * max(len(name) + 6 for name in marks) if marks else 0)


def _bar_label(x: float, y: float, name: str, *, width: float) -> str:
    """A name under a bar, in lines no wider than the bar's place where it has a space or a plus to break at."""
    lines = [""]
    for word in name.replace("+", "+ ").split():
        joined = f"{lines[-1]} {word}".strip()
        if lines[-1] and _LETTER * len(joined) > width:
            lines.append(word)
        else:
            lines[-1] = joined
    return "".join(_text(x, y + 14 * place, line, anchor="middle") for place, line in enumerate(lines))


def _axis(low: float, high: float, right: float) -> str:
    parts = []
    for step in range(5):
        value = low + (high - low) * step / 4
        y = _height(value, low, high)
        parts.append(f'<line x1="{LEFT}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8884" />')
        parts.append(_text(LEFT - 8, y + 4, _format_value(value, high), anchor="end"))
    return "".join(parts)


def _marks(marks: Mapping[str, float], low: float, high: float) -> list[str]:
    """Broken lines across, named in the margin; names that would overlap are moved apart."""
    parts, right, free = [], _right(marks), HEIGHT
    for name, value in sorted(marks.items(), key=lambda mark: mark[1]):
        y = _height(value, low, high)
        free = min(y + 4, free - 18)
        parts.append(
            f'<line x1="{LEFT}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{COLOURS[1]}" '
            'stroke-dasharray="6 4"/>' + _text(right + 6, free, f"{name} {_format_value(value, high)}", fill=COLOURS[1])
        )
    return parts


def _format_value(value: float, most: float) -> str:
    return f"{value:.0%}" if most == 1.0 else f"{value:,.3g}"


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = "currentColor") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'


def _svg(title: str, body: str) -> str:
    size = f'viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(title)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{_STYLE}</style><title>{escape(title)}</title>'
        f"{_text(LEFT, 18, title)}{body}</svg>"
    )
