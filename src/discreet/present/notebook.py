"""The face of a result in a notebook: a few lines of HTML that need nothing else.

No script, nothing from outside, and every word is escaped here: names of columns and values come from tables, and a
table can be anybody's. Colours follow the notebook, light or dark; where it takes the style away, plain tables stay.
A face is drawn from what an object holds already. It asks nothing, charges nothing and, whatever happens, raises
nothing: a notebook draws it without being told to.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

#: So many rows are shown: a notebook is scrolled by hand.
MOST_ROWS = 20
#: Longer words are cut: a value can be a whole letter.
MOST_LETTERS = 200
#: So are longer sentences: names in them come from tables and servers, and one can be a whole book.
MOST_SENTENCE = 4000

#: Turn the direction of what follows them, beyond their own cell.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c")

_DARK = "--a:#72c9ae;--g:#9aa1a8;--w:#d7dde2"
_STYLE = (
    # The notebook's own ink, and colours that stand on its paper: by its theme, else by the reader's wish.
    ".discreet{--a:#1a6552;--g:#696e74;--w:#2b3036;--l:rgba(128,128,128,.28);"
    "font:14px/1.5 system-ui,sans-serif;max-width:44rem;margin:.4rem 0}"
    f"@media(prefers-color-scheme:dark){{body:not([data-jp-theme-light=true]):not(.vscode-light) .discreet{{{_DARK}}}}}"
    f"[data-jp-theme-light=false] .discreet,.vscode-dark .discreet{{{_DARK}}}"
    # Twice its own name, to stand above what notebooks say of every table.
    ".discreet.discreet table{border-collapse:collapse;border:0;margin:.3rem 0;font-size:14px;width:auto;"
    "table-layout:auto}"
    ".discreet.discreet tr:nth-child(n){background:none}"
    ".discreet.discreet th,.discreet.discreet td{border:0;border-bottom:1px solid var(--l);"
    "padding:.22rem .9rem .22rem 0;"
    "text-align:left;font-variant-numeric:tabular-nums;white-space:nowrap;max-width:24rem;overflow:hidden;"
    "text-overflow:ellipsis;background:none;color:inherit}"
    ".discreet.discreet th{font-weight:600}.discreet.discreet .discreet-number{text-align:right}"
    ".discreet.discreet .discreet-drawn{width:8rem;padding-right:0}"
    ".discreet.discreet .discreet-listed td,.discreet.discreet .discreet-listed th{white-space:pre-wrap;max-width:none;"
    "vertical-align:top}.discreet summary{cursor:pointer;color:var(--g)}"
    ".discreet p{margin:.25rem 0}.discreet .discreet-head{font-weight:600}"
    ".discreet.discreet .discreet-quiet,.discreet .discreet-noise{color:var(--g);font-size:.93em}"
    ".discreet.discreet .discreet-drowned,.discreet .discreet-drowned .discreet-noise{color:var(--g)}"
    ".discreet.discreet .discreet-word{font-style:italic;color:var(--g)}"
    ".discreet pre{white-space:pre-wrap;overflow-wrap:anywhere;"
    "margin:.3rem 0;padding:.1rem 0 .1rem .8rem;border-left:3px solid var(--a);"
    "font:13px/1.5 ui-monospace,monospace;background:none;color:inherit}"
    ".discreet svg{display:block;max-width:100%}.discreet .discreet-left{fill:var(--l)}"
    ".discreet .discreet-bar{fill:var(--a);fill-opacity:.6}.discreet .discreet-faint{fill:var(--g);fill-opacity:.45}"
    ".discreet .discreet-whisker{stroke:var(--w);stroke-width:1.5;fill:none}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookCell:
    """A cell of a table: its words, whether they are a number, and whether noise drowns it.

    word: NULL, true or false, which are told from texts that look like them. `drawn`: value and noise interval.
    """

    text: str
    number: bool = False
    below_noise: bool = False
    word: bool = False
    plotted: tuple[float, float, float] | None = None


def notebook_html(build: Callable[[], Iterable[str]], plain: Callable[[], str]) -> str:
    """The parts that `build` makes, framed; what `plain` says, where they cannot be made.

    Guarantee: it never raises (but for what stops the program), and its text can be sent as UTF-8.
    """
    try:
        return f'<div class="discreet"><style>{_STYLE}</style>{"".join(build())}</div>'
    except Exception:
        return f"<pre>{escape_text(_plain_text(plain), most=MOST_SENTENCE)}</pre>"


def _plain_text(plain: Callable[[], str]) -> str:
    try:
        return plain()
    except Exception:
        return "there is nothing to show"


def escape_text(text: object, *, most: int | None = None) -> str:
    """Text as HTML shows it: nothing in it is markup, what cannot be seen is a mark, and of too much the end is cut.

    >>> escape_text('<b>"x"'), escape_text("longer than that", most=6)
    ('&lt;b&gt;&quot;x&quot;', 'longer…')
    """
    shown_text = str(text)
    shown_text = shown_text if most is None or len(shown_text) <= most else shown_text[:most] + "…"
    return escape("".join("\ufffd" if _is_unseen(letter) else letter for letter in shown_text), quote=True)


def _is_unseen(letter: str) -> bool:
    return letter not in "\n\t" and (letter in _TURNING or unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp"))


def head(text: object) -> str:
    """What it is."""
    return f'<p class="discreet-head">{escape_text(text, most=MOST_SENTENCE)}</p>'


def line(text: object) -> str:
    """A sentence."""
    return f"<p>{escape_text(text, most=MOST_SENTENCE)}</p>"


def small_print(text: object) -> str:
    """A sentence beside the matter: what it cost, where it comes from."""
    return f'<p class="discreet-quiet">{escape_text(text, most=MOST_SENTENCE)}</p>'


def code_block(text: object) -> str:
    """Code, line by line."""
    return f"<pre>{escape_text(text, most=MOST_SENTENCE)}</pre>"


def definition_table(pairs: Iterable[tuple[str, str]]) -> str:
    """Words, and what is to be said under each."""
    rows = "".join(
        f'<tr><th scope="row">{escape_text(name, most=MOST_LETTERS)}</th>'
        f"<td>{escape_text(explanation, most=MOST_SENTENCE)}</td></tr>"
        for name, explanation in pairs
    )
    return f'<table class="discreet-listed"><tbody>{rows}</tbody></table>'


def collapsible_code(title: str, text: object) -> str:
    """Code that unfolds under its title."""
    return f"<details><summary>{escape_text(title)}</summary>{code_block(text)}</details>"


def table(heads: Sequence[str], rows: Sequence[Sequence[NotebookCell]], *, more: int = 0, reach: float = 0.0) -> str:
    """A table. A column of numbers that are drawn has its drawing beside it.

    more: rows that are not shown. `reach`: up to what drawings reach at least, such as 1 for shares.
    """
    columns = [[row[place] for row in rows] for place in range(len(heads))]
    scales = [_scale(column, reach) for column in columns]
    titles = "".join(
        f'<th scope="col"{_class(_are_numbers(column), False)}>{escape_text(title, most=MOST_LETTERS)}</th>'
        + ("" if scale is None else "<th></th>")
        for title, column, scale in zip(heads, columns, scales, strict=True)
    )
    body = "".join(
        "<tr>" + "".join(_cell(cell, scale) for cell, scale in zip(row, scales, strict=True)) + "</tr>" for row in rows
    )
    rest = small_print(f"… and {more:,} more rows") if more else ""
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _are_numbers(column: Sequence[NotebookCell]) -> bool:
    return bool(column) and all(cell.number or cell.word for cell in column)


def _class(number: bool, below_noise: bool, word: bool = False) -> str:
    names = [name for name, is_set in (("number", number), ("drowned", below_noise), ("word", word)) if is_set]
    return f' class="{" ".join(f"discreet-{name}" for name in names)}"' if names else ""


def _cell(cell: NotebookCell, scale: tuple[float, float] | None) -> str:
    number, space, noise = escape_text(cell.text, most=MOST_LETTERS).partition(" ")
    content = (
        f'{number}<span class="discreet-noise"> {noise}</span>' if cell.number and space else number + space + noise
    )
    cell_html = f"<td{_class(cell.number, cell.below_noise, cell.word)}>{content}</td>"
    if scale is None:
        return cell_html
    bar = "" if cell.plotted is None else _bar_svg(cell, cell.plotted, scale)
    return f'{cell_html}<td class="discreet-drawn">{bar}</td>'


def _scale(column: Sequence[NotebookCell], reach: float) -> tuple[float, float] | None:
    """Between what a column's numbers are drawn; None where none is, or a single one that is beside nothing."""
    ends = [end for cell in column if cell.plotted is not None for end in cell.plotted]
    if len(ends) < 6 or not all(map(math.isfinite, ends)):
        return None
    low, high = min(0.0, *ends), max(reach, *ends)
    return (low, high) if math.isfinite(high - low) and high > low else None


def _bar_svg(cell: NotebookCell, drawn: tuple[float, float, float], scale: tuple[float, float]) -> str:
    """A number as a bar from zero, with its noise interval, on the scale that its column shares."""
    zero, value, low, high = (2 + 116 * (end - scale[0]) / (scale[1] - scale[0]) for end in (0.0, *drawn))
    left, width = min(zero, value), abs(value - zero)
    kind = "faint" if cell.below_noise else "bar"
    whisker = f"M{low:.1f} 8H{high:.1f}M{low:.1f} 4v8M{high:.1f} 4v8" if high > low else ""
    return (
        '<svg width="120" height="16" viewBox="0 0 120 16" role="presentation">'
        f'<rect class="discreet-{kind}" x="{left:.1f}" y="3" width="{width:.1f}" height="10"/>'
        f'<path class="discreet-whisker" d="{whisker}"/></svg>'
    )


def meter(share: float, says: str) -> str:
    """A bar of which a share is filled."""
    filled = 400 * min(1.0, max(0.0, share))
    return (
        '<svg width="400" height="14" viewBox="0 0 400 14" role="img">'
        f"<title>{escape_text(says, most=MOST_SENTENCE)}</title>"
        '<rect class="discreet-left" width="400" height="14" rx="3"/>'
        f'<rect class="discreet-bar" width="{filled:.1f}" height="14" rx="3"/></svg>'
    )
