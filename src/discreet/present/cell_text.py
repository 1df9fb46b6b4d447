"""The text of a cell: a missing value, a number with its noise, and letters that a reader can see.

The terminal, pages, charts and notebooks all use it. CSV and JSON follow their own contracts.
"""

from __future__ import annotations

import math
import re

#: The text of a missing key or value.
NULL = "NULL"
#: The text of a key that a row is a total over.
TOTAL = "total"
#: The text of a number that the noise hides, and of an empty field.
DASH = "–"

#: Control characters, surrogates, line separators, marks that turn the direction of a line, and non-characters.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)


def cell_text(cell: object) -> str:
    """A key or a value for people.

    >>> cell_text(None), cell_text(True), cell_text(7), cell_text("flu")
    ('NULL', 'true', '7', 'flu')
    """
    return NULL if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)


def or_dash(text: object) -> str:
    """Text, or a dash if there is none.

    >>> or_dash("ana"), or_dash(None), or_dash("")
    ('ana', '–', '–')
    """
    return DASH if text is None or text == "" else str(text)


def counted(number: int, one: str, several: str = "") -> str:
    """A count and its noun. several: where it is not the noun with an s.

    >>> [counted(count, "row") for count in (0, 1, 2_000)], counted(2, "person", "people")
    (['0 rows', '1 row', '2,000 rows'], '2 people')
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def percent(share: float) -> str:
    """A share of a page: one place, none where it says nothing, more where all would be lost.

    >>> percent(0.95), percent(0.999), percent(0.12345), percent(0), percent(1), percent(0.00002)
    ('95%', '99.9%', '12.3%', '0%', '100%', '0.002%')
    """
    places = 1
    while places < 6 and 0 < abs(share) < 1 and round(100 * min(abs(share), 1 - abs(share)), places) == 0:
        places += 1
    return f"{100 * share:,.{places}f}".rstrip("0").rstrip(".") + "%"


def visible_text(text: object, *, keep: str = "") -> str:
    """Text with a mark in place of every character that cannot be seen, except those in `keep`.

    >>> visible_text("a\\nb"), visible_text("a\\nb", keep="\\n")
    ('a\ufffdb', 'a\\nb')
    """
    return _UNSEEN.sub(lambda match: match[0] if match[0] in keep else "\ufffd", str(text))


def format_with_noise(cell: float, low: float, high: float) -> str:
    """A number and its noise in two digits: `1,230 ± 120`, or `5.02 (4.9 to 5.3)` where it leans.

    The number is shown as it is: it has no more digits than mean something. What rounding it moved is no leaning.
    """
    if isinstance(cell, int) and isinstance(low, int) and isinstance(high, int):
        half = -((low - high) // 2)
        unit = 10 ** max(0, len(str(half)) - 2)
        even = abs((high - cell) - (cell - low)) <= unit
        return f"{cell:,} ± {-(-half // unit) * unit:,}" if even else f"{cell:,} ({low:,} to {high:,})"
    width = (high - low) / 2
    if width <= 0:
        return f"{cell:,.15g} ± 0"
    digits = 1 - math.floor(math.log10(width))
    places, step = max(0, digits), 10.0**-digits
    number = f"{cell:,.{places}f}" if float(f"{cell:.{places}f}") == cell else f"{cell:,.15g}"
    if abs((high - cell) - (cell - low)) <= max(width / 50, 1.001 * step):
        return f"{number} ± {math.ceil(width / step - 1e-9) * step:,.{places}f}"
    return f"{number} ({math.floor(low / step) * step:,.{places}f} to {math.ceil(high / step) * step:,.{places}f})"
