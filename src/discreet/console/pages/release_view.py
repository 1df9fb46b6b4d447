"""An answer for a page: its cells as people read them, and the chart that fits its keys. All of it is released."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.console.responses import PageTable
from discreet.present.cell_text import DASH, TOTAL
from discreet.present.charts.bars import MOST
from discreet.present.charts.key_order import ordered_places
from discreet.release import format_cell, is_below_noise

#: So many rows are on a page at first, so many where all are asked for, and a few more rather than a link to a few.
FIRST_SHOWN = 50
MOST_SHOWN = 5_000
_SPARED = 10
#: A chart of more groups than this is a carpet.
MOST_DRAWN = 5_000

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d+)?)?")

Data = Mapping[str, Any]


def page_sheet(data: Data, *, best: bool = False, every: bool = False) -> dict[str, Any]:
    """The rows of a release, given as its data, for a page. `cells`: what is shown, and what drowned in noise.

    best: with the best numbers of `data`, each column of them behind that of the unbiased ones.
    every: all rows and not the first. `left`: how many are not shown; `every`: whether the first would be fewer.
    """
    data = with_labels(data)
    many = len(data["rows"])
    few = many if many <= FIRST_SHOWN + _SPARED else FIRST_SHOWN
    shown = range(min(many, MOST_SHOWN) if every else few)
    columns: list[Any] = []
    cells: list[list[dict[str, Any]]] = [[] for _ in shown]
    places = best_places(data) if best else []
    for place, column in enumerate(data["columns"]):
        columns.append(column)
        for row in shown:
            cells[row].append(_cell(data, row, place))
        if place in places:
            columns.append({"name": f"{column['name']}, best", "kind": "derived"})
            for row in shown:
                cells[row].append(_best_cell(data["best"][row][place]))
    return {
        "columns": columns,
        "cells": cells,
        "left": many - len(shown),
        "every": len(shown) > few,
        "most": MOST_SHOWN,
    }


def single_number(data: Data) -> dict[str, Any] | None:
    """The number of an answer that is one number, as it is shown large; None for every other answer."""
    if len(data["rows"]) != 1 or len(data["columns"]) != 1 or data["columns"][0]["kind"] == "key":
        return None
    return {"name": data["columns"][0]["name"], **_cell(data, 0, 0)}


def best_places(data: Data) -> list[int]:
    """The columns in which some best number differs from the unbiased one."""
    pairs = list(zip(data["rows"], data.get("best") or (), strict=False))
    keys = [column["kind"] == "key" for column in data["columns"]]
    return [at for at, key in enumerate(keys) if not key and any(row[at] != best[at] for row, best in pairs)]


def _best_cell(cell: Any) -> dict[str, Any]:
    text = DASH if cell is None else f"{cell:,}" if isinstance(cell, int | float) else str(cell)
    return {"text": text, "key": False, "drowned": False, "hidden": cell is None}


def with_labels(data: Data) -> Data:
    """The data of a release, with codes called by their labels, as pages show them. Files keep the codes."""
    labels = [column.get("labels") for column in data["columns"]]
    if not any(labels):
        return data
    rows = [
        [own.get(cell, cell) if own and isinstance(cell, str) else cell for own, cell in zip(labels, row, strict=True)]
        for row in data["rows"]
    ]
    return {**data, "rows": rows}


def _cell(data: Data, row: int, place: int) -> dict[str, Any]:
    cell, ends = data["rows"][row][place], data["intervals"][row][place]
    column = data["columns"][place]
    key = column["kind"] == "key"
    lost = not key and is_below_noise(cell, _interval_ends(ends), column.get("bounds"), least=column.get("least"))
    text = TOTAL if _is_total(data, row, place) else format_cell(cell, _interval_ends(ends), key=key)
    hidden = not key and cell is None
    return {"text": text, "key": key, "drowned": lost, "hidden": hidden}


def _is_total(data: Data, row: int, place: int) -> bool:
    """Whether a row is a total over a key."""
    totals = data.get("totals")
    return totals is not None and place in totals[row]


def _interval_ends(interval: Sequence[Any] | None) -> tuple[Any, Any] | None:
    """A noise interval; none where an end is not told, for it is infinite."""
    return None if interval is None or None in interval else (interval[0], interval[1])


def file_table(data: Data) -> PageTable:
    """All rows for a file: noisy columns are followed by the ends of their noise intervals."""
    columns: list[str] = []
    for column in data["columns"]:
        name = column["name"]
        columns += [name] if column["kind"] == "key" else [name, f"{name}_low", f"{name}_high"]
    rows = []
    for row, intervals in zip(data["rows"], data["intervals"], strict=True):
        flat_row: list[Any] = []
        for column, cell, ends in zip(data["columns"], row, intervals, strict=True):
            flat_row += [cell] if column["kind"] == "key" else [cell, *(ends or (None, None))]
        rows.append(flat_row)
    return PageTable(columns=columns, rows=rows)


def chart_numbers(data: Data) -> list[str]:
    """The names of the numbers that a chart may show, one at a time; none where one chart shows them all."""
    names = [data["columns"][place]["name"] for place in _numeric_columns(data)]
    return names if any(column["kind"] == "key" for column in data["columns"]) else []


def _numeric_columns(data: Data) -> list[int]:
    return [
        place for place, column in enumerate(data["columns"]) if column["kind"] != "key" and _is_numeric(data, place)
    ]


def release_chart(data: Data, *, number: int = 1) -> dict[str, Any] | None:
    """The chart of a number by the keys: a line over moments and numbers, a heat map over two keys, else bars.

    `number`: the how-manieth it is of `chart_numbers`; the last where there are not so many.
    None where there is no number, or there are more than two keys, or too many groups to be seen.
    """
    data = with_labels(data)
    keys, places = (
        [place for place, column in enumerate(data["columns"]) if column["kind"] == "key"],
        _numeric_columns(data),
    )
    if not places or not data["rows"] or len(keys) > 2 or len(data["rows"]) > MOST_DRAWN:
        return None
    place = places[min(number, len(places)) - 1]
    title = data["columns"][place]["name"]
    if len(keys) == 2:
        return _heatmap(data, keys, place, title)
    if len(keys) == 1:
        chart_title = f"{title} by {data['columns'][keys[0]]['name']}"
        return _lines(data, keys[0], place, chart_title) or _bars(data, keys[0], place, chart_title)
    return _side_by_side(data, places)


def _is_numeric(data: Data, place: int) -> bool:
    """Whether a column holds numbers alone, or NULL."""
    return all(isinstance(row[place], int | float) or row[place] is None for row in data["rows"])


def _point(data: Data, row: int, place: int) -> dict[str, Any]:
    """A number and its noise interval, as charts take them."""
    value, ends = data["rows"][row][place], _interval_ends(data["intervals"][row][place])
    if value is None or ends is None:
        return {"value": value, "low": None, "high": None}
    return {"value": value, "low": ends[0], "high": ends[1]}


def _bars(data: Data, key: int, place: int, title: str) -> dict[str, Any]:
    bars = [
        {"label": TOTAL if _is_total(data, number, key) else row[key], **_bar(data, number, place)}
        for number, row in enumerate(data["rows"])
    ]
    places = ordered_places([bar["label"] for bar in bars])
    if places is not None and len(bars) > MOST:  # rows may be in the order of a number
        bars = [bars[at] for at in places]
    return {"chart": "bars", "title": title, "bars": bars, "ordered": places is not None}


def _side_by_side(data: Data, places: Sequence[int]) -> dict[str, Any] | None:
    """The numbers of an answer without keys. One alone is read off the table."""
    if len(places) < 2 or len(data["rows"]) != 1:
        return None
    bars = [{"label": data["columns"][place]["name"], **_bar(data, 0, place)} for place in places]
    return {"chart": "bars", "title": "All numbers", "bars": bars}


def _bar(data: Data, row: int, place: int) -> dict[str, Any]:
    cell = _cell(data, row, place)
    return {**_point(data, row, place), "drowned": cell["drowned"], "text": cell["text"]}


def _lines(data: Data, key: int, place: int, title: str) -> dict[str, Any] | None:
    """A line, where all keys but NULL are moments or numbers, and each comes once."""
    places = [(row[key], number) for number, row in enumerate(data["rows"]) if row[key] is not None]
    kinds = {_axis(value) for value, _ in places}
    if len(places) < 3 or len(kinds) != 1 or None in kinds or len({value for value, _ in places}) < len(places):
        return None
    points = [
        {"x": _axis_value(value), **_point(data, number, place), "drowned": _cell(data, number, place)["drowned"]}
        for value, number in sorted(places)
    ]
    across = data["columns"][key]["name"]
    up = data["columns"][place]["name"]
    return {"chart": "lines", "title": title, "across": across, "up": up, "series": [{"name": title, "points": points}]}


def _axis(value: Any) -> str | None:
    """What kind of axis a key belongs on: numbers, days, times; None for anything else."""
    if isinstance(value, str):
        return None if not _MOMENT.fullmatch(value) else "day" if len(value) == 10 else "time"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else None


def _axis_value(value: Any) -> Any:
    return value.replace(" ", "T") if isinstance(value, str) else value


def _heatmap(data: Data, keys: Sequence[int], place: int, title: str) -> dict[str, Any] | None:
    """A cell for each pair of keys; none where pairs look alike, as sums over groups do."""
    if len({(row[keys[0]], row[keys[1]]) for row in data["rows"]}) < len(data["rows"]):
        return None
    cells = [
        {
            "row": row[keys[0]],
            "column": row[keys[1]],
            **_point(data, number, place),
            "drowned": _cell(data, number, place)["drowned"],
        }
        for number, row in enumerate(data["rows"])
    ]
    names = [data["columns"][key]["name"] for key in keys]
    chart_title = f"{title} by {names[0]} and {names[1]}"
    return {"chart": "heatmap", "title": chart_title, "rows": names[0], "columns": names[1], "cells": cells}
