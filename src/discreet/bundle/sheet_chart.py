"""The chart of a bundle: a bar for each row of a sheet, with its noise interval. No script, no outside request."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from discreet.bundle.sheet import Sheet
from discreet.present import charts
from discreet.present.cell_text import NULL
from discreet.present.charts import Bar, svg
from discreet.present.charts.bars import MOST, label_width
from discreet.present.charts.key_order import ordered_places
from discreet.release import Cell


def chart_of(sheet: Sheet, *, title: str, note: str = "", ordered: bool = False) -> Markup:
    """The first number of each row, with its noise interval; a sentence where there is none.

    `ordered`: the rows stand in an order that means something, whatever their names look like.
    """
    title = f"{title}, {note}" if note else title
    heading, drawn = title, list[Bar]()
    for place, column in enumerate(sheet.columns):
        if column.kind != "key" and (drawn := _bars(sheet, place)):
            heading = f"{title}: {column.name}"
            break
    places = None if ordered else ordered_places([bar.label for bar in drawn])
    if places is not None and len(drawn) > MOST:  # rows may be in the order of a number
        drawn = [drawn[place] for place in places]
    if ordered and len(drawn) > MOST:  # NULL is in no order with the others, whatever it is named
        drawn = [replace(bar, label=None) if str(bar.label).split(" = ")[-1] == NULL else bar for bar in drawn]
    # One name: the same release, the same bytes.
    return charts.bars(drawn, title=heading, name="chart", note=note, ordered=ordered or places is not None)


def room_of(sheet: Sheet) -> float:
    """What a name has room for beside the numbers of the last column."""
    return label_width(_bars(sheet, len(sheet.columns) - 1))


def _bars(sheet: Sheet, place: int) -> list[Bar]:
    """A bar for each row whose cell is a number that can be drawn; beside such, a dash for each that noise hides."""
    row_bars = [_bar(sheet, row, place) for row in range(len(sheet.rows))]
    if not any(bar is not None and bar.value is not None for bar in row_bars):
        return []
    return [bar for bar in row_bars if bar is not None]


def _bar(sheet: Sheet, row: int, place: int) -> Bar | None:
    value, ends = sheet.rows[row][place], sheet.intervals[row][place]
    if value is None and any(each[place] is not None for each in sheet.intervals):
        return Bar(label=_label(sheet, row), value=None, drowned=True)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    low, high = ends if ends is not None else (None, None)
    try:
        if not isinstance(low, int | float) or not isinstance(high, int | float):
            return Bar(label=_label(sheet, row), value=value)
        lost = sheet.columns[place].is_below_noise(value, (low, high))
        return Bar(label=_label(sheet, row), value=value, low=low, high=high, drowned=lost)
    except ValueError:  # beyond what can be drawn
        return None


def _label(sheet: Sheet, row: int) -> Cell:
    columns = zip(sheet.columns, sheet.rows[row], strict=True)
    keys = [column.shown(cell) for column, cell in columns if column.kind == "key"]
    if len(keys) == 1:
        return keys[0]
    return ", ".join(svg.quoted_key(cell) for cell in keys)
