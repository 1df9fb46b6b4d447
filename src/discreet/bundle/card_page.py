"""The card as a page that stands alone: no script, nothing from outside, every text escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from html.parser import HTMLParser
from typing import Any

from discreet.bundle.about import NOT_STATED
from discreet.bundle.registry_card import claims_on_card
from discreet.bundle.sheet import Sheet
from discreet.present.noisy_numbers import DASH, format_with_noise
from discreet.release import Cell

#: The first rows are shown; all of them are in the data files. Of rows that were sampled a few show their form.
MOST_ROWS = 100
MOST_SAMPLED = 10

_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}"
    "table{border-collapse:collapse}td,th{padding:.2rem .6rem;border-bottom:1px solid #ccc;text-align:left}"
    "dt{font-weight:bold;margin-top:.6rem}dd{margin:0;white-space:pre-wrap}.drowned{color:#767676}svg{max-width:100%}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}"
)
_WORDS = {"product": "What it is", "dp_flavor": "Differential privacy", "privacy_loss": "Privacy loss",
          "model": "Who is trusted", "accounting": "Accounting", "implementation": "How it was made",
          "resources": "Sources"}  # fmt: skip


def page_of(
    card: Mapping[str, Any],
    sheets: tuple[Sheet, ...],
    chart: str,
    *,
    warnings: tuple[str, ...],
    words: str = "",
    sampled: bool = False,
) -> str:
    """The page. `chart` is SVG of our own; `words`: what the claims mean; `sampled`: the first sheet is a model's."""
    card_claims = claims_on_card(card)
    claims = {
        "release": card_claims["release"],
        "variant": card_claims["variant"],
        "privacy_unit": card_claims["privacy_unit"],
    }
    claims |= {name: repr(value) for name, value in card_claims["parameters"].items()}
    product = card["deployment"]["product"]
    title = escape(product["name"] if product["name"] != NOT_STATED else f"Release {card_claims['release']}")
    short = "".join(_pair(name, value, mark=True) for name, value in claims.items())
    parts = "".join(
        f"<h2>{_WORDS[name]}</h2><dl>{''.join(_pair(key, value) for key, value in part.items())}</dl>"
        for name, part in card["deployment"].items()
    )
    notes = "".join(f"<li>{escape(each)}</li>" for each in warnings)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><main><h1>{title}</h1>\n"
        f"{f'<p>{escape(words)}</p>' if words else ''}\n<dl>{short}</dl>\n{_tables(sheets, sampled=sampled)}\n{chart}"
        f"{f'<ul>{notes}</ul>' if notes else ''}\n{parts}\n"
        "<p>The numbers contain noise and describe the declared table. A confidence interval covers the added noise "
        "only: not what limits and bounds left out, not sampling, and not how the data were collected. "
        f"{DASH}: not shown because the noise is too large. Grey: below the noise, treat as unknown. "
        "<code>discreet release verify</code> checks this bundle.</p></main></body></html>\n"
    )


def _pair(name: str, value: Any, *, mark: bool = False) -> str:
    id_ = f' id="claim-{escape(name)}"' if mark else ""
    if isinstance(value, Mapping):
        value = ", ".join(f"{key} {each!r}" for key, each in value.items())
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return f"<dt>{escape(name.replace('_', ' '))}</dt><dd{id_}>{escape(str(value))}</dd>"


def _tables(sheets: tuple[Sheet, ...], *, sampled: bool) -> str:
    """The tables that hold a row. Those of a model have a title, for nobody asked for their columns by name."""
    if not sampled:
        return "".join(_table(sheet, most=MOST_ROWS) for sheet in sheets if sheet.rows)
    titles = ("Rows sampled from the model", "Noisy numbers that the model was fitted to")
    titled_sheets = zip(titles, sheets, (MOST_SAMPLED, MOST_ROWS), (True, False), strict=True)
    return "".join(
        f"<h2>{title}</h2>{_table(sheet, most=most, sampled=rows)}"
        for title, sheet, most, rows in titled_sheets
        if sheet.rows
    )


def _table(sheet: Sheet, *, most: int, sampled: bool = False) -> str:
    head = "".join(f'<th scope="col">{escape(column.name)}</th>' for column in sheet.columns)
    body = "".join(f"<tr>{''.join(_cell(sheet, row, at, sampled=sampled) for at in range(len(sheet.columns)))}</tr>"
                   for row in range(min(most, len(sheet.rows))))  # fmt: skip
    rest = len(sheet.rows) - most
    more = f"<p>{rest:,} more rows are in the data files.</p>" if rest > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(sheet: Sheet, row: int, at: int, *, sampled: bool = False) -> str:
    cell, interval = sheet.rows[row][at], sheet.intervals[row][at]
    if cell is None and not sampled and sheet.columns[at].kind != "key":
        return f'<td class="drowned">{DASH}</td>'
    text = "NULL" if cell is None else str(cell).lower() if isinstance(cell, bool) else str(cell)
    if interval is None or interval[0] is None or interval[1] is None:
        return f"<td>{escape(text)}</td>"
    ends = (interval[0], interval[1])
    grey = ' class="drowned"' if sheet.columns[at].is_below_noise(cell, ends) else ""
    return f"<td{grey}>{escape(_with_noise(cell, ends) or f'{text} ({ends[0]} to {ends[1]})')}</td>"


def _with_noise(cell: Cell, ends: tuple[Cell, Cell]) -> str:
    """A number with its noise; empty for dates and texts."""
    low, high = ends
    if isinstance(cell, int | float) and isinstance(low, int | float) and isinstance(high, int | float):
        return format_with_noise(cell, low, high)
    return ""


class _Claims(HTMLParser):
    """The texts of the elements that carry claims."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: dict[str, str] = {}
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        id_ = dict(attrs).get("id") or ""
        self._open = id_.removeprefix("claim-") if tag == "dd" and id_.startswith("claim-") else None
        if self._open is not None:
            if self._open in self.texts:
                raise ValueError("a claim that is made twice")
            self.texts[self._open] = ""

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.texts[self._open] += data

    def handle_endtag(self, tag: str) -> None:
        self._open = None


def claims_on_page(page: str) -> dict[str, Any]:
    """What a page says of the claims, as `card.said` says it of a card."""
    reader = _Claims()
    reader.feed(page)
    reader.close()
    texts = dict(reader.texts)
    claims: dict[str, Any] = {name: texts.pop(name) for name in ("release", "variant", "privacy_unit")}
    return claims | {"parameters": {name: float(value) for name, value in texts.items()}}
