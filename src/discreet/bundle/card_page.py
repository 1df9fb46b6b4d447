"""The card as a page that stands alone: no script, nothing from outside. The template escapes every text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from discreet.bundle.about import NOT_STATED
from discreet.bundle.registry_card import claims_on_card
from discreet.bundle.sheet import Sheet
from discreet.present.cell_text import DASH, cell_text, format_with_noise
from discreet.present.html import render
from discreet.release import Cell

if TYPE_CHECKING:
    from markupsafe import Markup

#: The first rows are shown; all of them are in the data files. Of rows that were sampled a few show their form.
MOST_ROWS = 100
MOST_SAMPLED = 10

_TITLES = {"product": "What it is", "dp_flavor": "Differential privacy", "privacy_loss": "Privacy loss",
           "model": "Who is trusted", "accounting": "Accounting", "implementation": "How it was made",
           "resources": "Sources"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CardCell:
    """A cell of a table on the page: its text, and the classes that style it."""

    text: str
    class_: str = ""


def page_of(
    card: Mapping[str, Any],
    sheets: tuple[Sheet, ...],
    chart: Markup | None,
    *,
    warnings: tuple[str, ...],
    words: str = "",
    sampled: bool = False,
) -> str:
    """The page. `words`: what the claims mean; `sampled`: the first sheet is a model's."""
    card_claims = claims_on_card(card)
    name = card["deployment"]["product"]["name"]
    return render(
        "card.html",
        title=name if name != NOT_STATED else f"Release {card_claims['release']}",
        words=words,
        claims={key: card_claims[key] for key in ("release", "variant", "privacy_unit")}
        | {key: repr(value) for key, value in card_claims["parameters"].items()},
        tables=_tables(sheets, sampled=sampled),
        chart=chart or "",
        warnings=warnings,
        parts={
            _TITLES[part]: {key.replace("_", " "): _text(value) for key, value in pairs.items()}
            for part, pairs in card["deployment"].items()
        },
    )


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {each!r}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _tables(sheets: tuple[Sheet, ...], *, sampled: bool) -> list[dict[str, Any]]:
    """The tables that hold a row. Those of a model have a title, because nobody asked for their columns by name."""
    if not sampled:
        return [_table(sheet, most=MOST_ROWS) for sheet in sheets if sheet.rows]
    titles = ("Rows sampled from the model", "Noisy numbers that the model was fitted to")
    titled_sheets = zip(titles, sheets, (MOST_SAMPLED, MOST_ROWS), (True, False), strict=True)
    return [
        _table(sheet, most=most, sampled=rows) | {"title": title}
        for title, sheet, most, rows in titled_sheets
        if sheet.rows
    ]


def _table(sheet: Sheet, *, most: int, sampled: bool = False) -> dict[str, Any]:
    places = range(len(sheet.columns))
    return {
        "title": "",
        "columns": [{"name": column.name, "number": column.kind != "key" and not sampled} for column in sheet.columns],
        "rows": [
            [card_cell(sheet, row, at, sampled=sampled) for at in places] for row in range(min(most, len(sheet.rows)))
        ],
        "more": max(0, len(sheet.rows) - most),
    }


def card_cell(sheet: Sheet, row: int, at: int, *, sampled: bool = False) -> CardCell:
    """A cell: a key as it is, a number with its noise, a dash for a number that the noise hides."""
    cell, interval = sheet.rows[row][at], sheet.intervals[row][at]
    if sampled or sheet.columns[at].kind == "key":
        text = cell_text(sheet.columns[at].shown(cell))
        return CardCell(text=text, class_="null" if cell is None or isinstance(cell, bool) else "")
    if cell is None:
        return CardCell(text=DASH, class_="number drowned")
    if interval is None or interval[0] is None or interval[1] is None:
        return CardCell(text=cell_text(cell), class_="number")
    ends = (interval[0], interval[1])
    return CardCell(
        text=_with_noise(cell, ends) or f"{cell_text(cell)} ({ends[0]} to {ends[1]})",
        class_="number drowned" if sheet.columns[at].is_below_noise(cell, ends) else "number",
    )


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
                raise ValueError("a claim occurs twice")
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
