"""A result in a notebook: a few lines of HTML that need nothing else.

No script, nothing from outside, and `templates/notebook.html` escapes every text: names of columns and values come from
tables, and a table can be anybody's. Colours follow the notebook, light or dark; where it removes the style, plain
tables remain. The HTML is made from what an object holds already. It asks nothing, charges nothing and never raises:
a notebook shows it without being asked to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from discreet.present.cell_text import visible_text
from discreet.present.noise_scale import NoisyExtent, axis_reach

#: How many rows are shown: a notebook is scrolled by hand.
MOST_ROWS = 20
#: Longer texts of a cell are cut: a value can be a whole letter.
MOST_LETTERS = 200
#: So are longer sentences: names in them come from tables and servers, and one can be a whole book.
MOST_SENTENCE = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookCell:
    """A cell of a table: its text, whether it is a number, and whether it is below the noise.

    word: NULL, true or false, which look unlike texts of the same letters. `plotted`: value and noise interval.
    """

    text: str
    number: bool = False
    below_noise: bool = False
    word: bool = False
    plotted: tuple[float, float, float] | None = None


def notebook_html(build: Callable[[], Iterable[str]], plain: Callable[[], str]) -> str:
    """The parts that `build` makes, framed; the text of `plain` if they cannot be made.

    Guarantee: it never raises (except for what stops the program), and its text can be sent as UTF-8.
    """
    try:
        return str(_part("frame", _joined(build())))
    except Exception:
        return f"<pre>{escape_text(_cut(_plain_text(plain)))}</pre>"


def _joined(parts: Iterable[str]) -> str:
    """Parts of this module in a row: text that none of its functions has escaped is refused."""
    from markupsafe import Markup

    made = list(parts)
    if not all(isinstance(part, Markup) for part in made):
        raise TypeError("a part is not markup")
    return Markup("").join(made)


def _plain_text(plain: Callable[[], str]) -> str:
    try:
        return plain()
    except Exception:
        return "there is nothing to show"


def escape_text(text: object) -> str:
    """Text as HTML shows it, where there is no template: nothing in it is markup, and each letter can be seen.

    >>> escape_text('<b>"x"')
    '&lt;b&gt;&quot;x&quot;'
    """
    return escape(visible_text(text, keep="\n\t"), quote=True)


def _part(name: str, *data: Any) -> str:
    """A macro of the template, which escapes all texts. Jinja is imported when a notebook shows something."""
    from discreet.present.html import macro

    return macro("notebook.html", name)(*data)


def _cut(text: object, most: int = MOST_SENTENCE) -> str:
    """The first `most` letters of a text."""
    whole = str(text)
    return whole if len(whole) <= most else whole[:most] + "…"


def head(text: object) -> str:
    """What it is."""
    return _part("head", _cut(text))


def line(text: object) -> str:
    """A sentence."""
    return _part("line", _cut(text))


def small_print(text: object) -> str:
    """A sentence beside the matter: what it cost, where it comes from."""
    return _part("small_print", _cut(text))


def code_block(text: object) -> str:
    """Code, line by line."""
    return _part("code_block", _cut(text))


def definition_table(pairs: Iterable[tuple[str, str]]) -> str:
    """Names, each with its explanation."""
    return _part("definition_table", [(_cut(name, MOST_LETTERS), _cut(explanation)) for name, explanation in pairs])


def collapsible_code(title: str, text: object) -> str:
    """Code that unfolds under its title."""
    return _part("collapsible_code", _cut(title), _cut(text))


def table(heads: Sequence[str], rows: Sequence[Sequence[NotebookCell]], *, more: int = 0, reach: float = 0.0) -> str:
    """A table. A column of numbers that are plotted has its drawing beside it.

    more: rows that are not shown. `reach`: up to what drawings reach at least, such as 1 for shares.
    """
    columns = [[row[place] for row in rows] for place in range(len(heads))]
    scales = [_scale(column, reach) for column in columns]
    titles = [
        {"title": _cut(title, MOST_LETTERS), "number": _are_numbers(column), "drawn": scale is not None}
        for title, column, scale in zip(heads, columns, scales, strict=True)
    ]
    body = [[_cell(cell, scale) for cell, scale in zip(row, scales, strict=True)] for row in rows]
    shown = _part("table", titles, body)
    return shown + small_print(f"… and {more:,} more rows") if more else shown


def _are_numbers(column: Sequence[NotebookCell]) -> bool:
    return bool(column) and all(cell.number or cell.word for cell in column)


def _cell(cell: NotebookCell, scale: tuple[float, float] | None) -> dict[str, Any]:
    text, noise = _cut(cell.text, MOST_LETTERS), ""
    if cell.number:
        text, _, noise = text.partition(" ")
    classes = {"number": cell.number, "drowned": cell.below_noise, "word": cell.word}
    return {
        "text": text,
        "noise": noise,
        "class_": " ".join(f"discreet-{name}" for name, is_set in classes.items() if is_set),
        "drawn": scale is not None,
        "bar": None if scale is None or cell.plotted is None else _bar(cell, cell.plotted, scale),
    }


def _scale(column: Sequence[NotebookCell], reach: float) -> tuple[float, float] | None:
    """Between what a column's numbers are drawn; None where none is, or a single one that is beside nothing."""
    ends = [end for cell in column if cell.plotted is not None for end in cell.plotted]
    if len(ends) < 6 or not all(map(math.isfinite, ends)):
        return None
    low, high = axis_reach(
        NoisyExtent(
            low=min(cell.plotted), high=max(cell.plotted), half=cell.plotted[2] / 2 - cell.plotted[1] / 2,
            below_noise=cell.below_noise,
        )
        for cell in column
        if cell.plotted is not None
    )  # fmt: skip
    high = max(reach, high)
    return (low, high) if math.isfinite(high - low) and high > low else None


def _bar(cell: NotebookCell, plotted: tuple[float, float, float], scale: tuple[float, float]) -> dict[str, Any]:
    """A number as a bar from zero, with its noise interval, on the scale that its column shares.

    `before`, `beyond`: whether it continues beyond the drawing, on the left or on the right.
    """
    before, beyond = min(plotted) < scale[0], max(plotted) > scale[1]
    shown = (min(max(end, scale[0]), scale[1]) for end in (0.0, *plotted))
    zero, value, low, high = (2 + 116 * (end - scale[0]) / (scale[1] - scale[0]) for end in shown)
    kind = "faint" if cell.below_noise else "bar"
    bar = {"kind": kind, "left": min(zero, value), "width": abs(value - zero), "low": low, "high": high}
    return {**bar, "before": before, "beyond": beyond}


def meter(share: float, says: str) -> str:
    """A bar of which a share is filled."""
    return _part("meter", 400 * min(1.0, max(0.0, share)), _cut(says))
