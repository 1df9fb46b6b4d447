"""The few elements of SVG that charts are made of. Everything that is written passes through here and is escaped."""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Iterable
from datetime import date, datetime
from functools import cache

from markupsafe import Markup, escape

from discreet.present.cell_text import NULL, cell_text, visible_text

#: A drawing's width in its own units. A phone shows them a little smaller than pixels, a desk a little larger.
WIDTH = 400.0
#: The size of letters in these units, and about how wide one is where fonts are wide.
LETTERS, LETTER = 12.0, 7.3

#: A key of a group, as answers hold them.
Key = int | float | str | bool | date | datetime | None

#: What an empty chart says.
NOTHING = "There is nothing to show."

_NAME = re.compile(r"[a-z][a-z0-9-]{0,60}")

#: What templates/page.css says of bars, on white paper: nobody knows what a file is put on.
_STYLE = (
    ".chart{background:#fff}.chart text{fill:#1f2d29;font-family:system-ui,sans-serif}"
    ".chart .chart-quiet,.chart .chart-null,.chart text.chart-drowned{fill:#55635d}.chart-null{font-style:italic}"
    ".chart-rule{stroke:#dcd9ce}.chart-zero-line{stroke:#55635d}.chart-bar{fill:#1a6552;fill-opacity:.6}"
    ".chart-bar.chart-drowned{fill:#8b8f94;fill-opacity:.45}.chart-whisker{stroke:#1f2d29;stroke-width:1.5}"
    ".chart-beyond{fill:#1f2d29}.chart-step{stroke:#1a6552;stroke-width:1.5}.chart-noise{fill:#1a6552;fill-opacity:.2}"
    ".chart-step.chart-drowned{stroke:#8b8f94}.chart-noise.chart-drowned{fill:#8b8f94;fill-opacity:.25}"
)


def name(given: str = "") -> str:
    """An id that no other chart on the page has: the one given, or one drawn by chance."""
    if given and not _NAME.fullmatch(given):
        raise ValueError(f"not a name for a chart: {given!r}")
    return given or f"chart-{secrets.token_hex(5)}"


def number(value: float) -> str:
    """A coordinate, in hundredths.

    >>> number(12.0), number(-0.001), number(1 / 3)
    ('12', '0', '0.33')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def clean(text: str) -> str:
    """Text that XML allows, in one line."""
    return " ".join(visible_text(text, keep="\t\n\r").split())


def key(value: Key) -> str:
    """A key as answers show it.

    >>> key(None), key(True), key(date(2026, 1, 31)), key(7)
    ('NULL', 'true', '2026-01-31', '7')
    """
    return clean(cell_text(value))


def quoted_key(value: Key) -> str:
    """A key inside of a longer text, where no letters of another kind tell NULL from a text that looks like it.

    >>> print(quoted_key(None), quoted_key("NULL"), quoted_key(""), quoted_key("flu"))
    NULL "NULL" "" flu
    """
    shown = key(value)
    return f'"{shown}"' if isinstance(value, str) and (shown in ("", NULL) or shown[0] == '"') else shown


def tag(kind: str, *inside: Markup, **attributes: str | float) -> Markup:
    """An element; `class_` is class, and an underscore in an attribute's name is a hyphen."""
    opened = f"<{kind}" + "".join(
        f' {_attribute_name(word)}="{_value(value)}"' for word, value in attributes.items() if value != ""
    )
    return Markup(f"{opened}>{join(inside)}</{kind}>" if inside else f"{opened}/>")  # noqa: S704 - each part is escaped


def join(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


def words(text: str) -> Markup:
    """Text, escaped."""
    return escape(clean(text))


def text(x: float, y: float, content: str, *, class_: str = "", anchor: str = "start") -> Markup:
    """Text at a place."""
    anchored = "" if anchor == "start" else anchor
    return tag("text", words(content), x=x, y=y, text_anchor=anchored, class_=class_)


def title(content: str) -> Markup:
    """What a pointer that rests on an element is told."""
    return tag("title", words(content))


def line(x1: float, y1: float, x2: float, y2: float, *, class_: str) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rect(left: float, top: float, right: float, bottom: float, *, class_: str, fill: str = "") -> Markup:
    """A rectangle by its corners, in either order."""
    x, y = min(left, right), min(top, bottom)
    return tag("rect", x=x, y=y, width=abs(right - left), height=abs(bottom - top), class_=class_, fill=fill)


def path(points: Iterable[tuple[float, float]]) -> str:
    """Points, as a polygon or polyline has them."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)


def width(content: str) -> float:
    """About how wide a text is; letters of Chinese, Japanese and Korean are twice as wide, and some of ours are wide.

    >>> width("mumps") > width("lilts") == width("gouts")
    True
    """
    return LETTER * sum(map(_letters, content))


def _letters(letter: str) -> float:
    """How many usual letters one is as wide as."""
    if letter in "mMW@%":
        return 1.6
    if unicodedata.east_asian_width(letter) in "WF":
        return 2
    return 1.3 if letter == "w" or letter.isupper() else 1


def shorten(content: str, room: float) -> str:
    """The text, or as much of its beginning as there is room for, and an ellipsis.

    >>> shorten("cardiology", 100), shorten("cardiology", 44)
    ('cardiology', 'cardi…')
    """
    room += 0.01  # sums of widths are floats
    if width(content) <= room:
        return content
    kept = content
    while kept and width(kept) + LETTER > room:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def wrap(content: str, room: float) -> list[str]:
    """The text in lines that have room; a word that has none is cut.

    >>> wrap("by age, sex, ward", 80)
    ['by age,', 'sex, ward']
    """
    lines: list[str] = []
    for word in clean(content).split():
        if lines and width(f"{lines[-1]} {word}") <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(shorten(word, room))
    return lines


def wrap_all(content: str, room: float, *, most: int) -> list[str]:
    """The text in at most so many lines, none wider than the room; what is left over is cut from the last.

    A line ends between words, or else where a long word has a mark, or else where the room does.

    >>> wrap_all("Department of internal medicine", 130, most=2)
    ['Department of', 'internal medicine']
    >>> wrap_all("weekly_alcohol_units_before_pregnancy", 130, most=2)
    ['weekly_alcohol_', 'units_before_pre…']
    """
    lines, left = list[str](), clean(content)
    while left and len(lines) < most - 1 and width(left) > room:
        fits = 1
        while fits < len(left) and width(left[: fits + 1]) <= room:
            fits += 1
        line = left[:fits]
        if left[fits] != " ":
            space, mark = line.rfind(" "), max(line.rfind(each) for each in "-_/.,;:")
            if space > 0:
                line = line[:space]
            elif 2 * mark > len(line):
                line = line[: mark + 1]
        lines.append(line.rstrip())
        left = left[len(line) :].lstrip()
    return [*lines, shorten(left, room)] if left or not lines else lines


def nothing() -> tuple[list[Markup], float]:
    """An empty chart, and its height."""
    return [text(0, 16, NOTHING, class_="chart-quiet")], 24.0


def drawing(
    called: str,
    *,
    says: str,
    describes: str,
    height: float,
    body: Iterable[Markup],
    wide: float = WIDTH,
    margin: tuple[float, float] = (0.0, 0.0),
) -> Markup:
    """The whole chart: a picture with a title and a description for those who do not see it.

    `margin`: what is left free beside it and above and below it.
    """
    beside, above = margin
    box = (-beside, -above, wide + 2 * beside, height + 2 * above)
    heading = tag("title", words(says), id=f"{called}-title")
    more = tag("desc", words(describes), id=f"{called}-desc")
    return tag(
        "svg",
        heading,
        more,
        *body,
        xmlns="http://www.w3.org/2000/svg",
        class_="chart",
        viewBox=" ".join(map(number, box)),
        role="img",
        aria_labelledby=f"{called}-title {called}-desc",
        font_size=LETTERS,
    )


@cache
def _attribute_name(word: str) -> str:
    return word.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    """An attribute's value, escaped; a number needs none of that, and charts have thousands."""
    return escape(clean(value)) if isinstance(value, str) else number(value)


def standalone_svg(chart: Markup, *, style: str = _STYLE) -> str:
    """The chart with its colours in it, after its description, which every chart has once: texts are escaped.

    A chart as a file of its own has no page that gives it colours. `style`: those of bars unless others are given.
    """
    before, end, after = chart.partition(Markup("</desc>"))
    if not end:
        raise ValueError("not a chart: it has no description")
    return f"{before}{end}<style>{style}</style>{after}\n"
