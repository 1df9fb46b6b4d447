"""A rehearsal as a picture: each group in plain SQL, how far noise may move it, and the answers that it would get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.present.cell_text import cell_text

Data = Mapping[str, Any]

#: Groups of a chart: more are not read.
MOST = 40


def charts_of(rehearsal: Data, errors: Sequence[Data]) -> list[dict[str, Any] | None]:
    """A chart for each column, as `charts.draw` takes it; None where a column is no number, or has no group.

    errors: of each column, as the price says them. All of it is made up or public: nothing private is drawn.
    """
    widths = {each["column"]: each["plus_minus"] for each in errors}
    return [
        _chart(rehearsal, place, column["name"], widths.get(column["name"]))
        for place, column in enumerate(rehearsal["columns"])
    ]


def _chart(rehearsal: Data, place: int, name: str, width: float | None) -> dict[str, Any] | None:
    rows = rehearsal["rows"][:MOST]
    bars = [_bar(row, row["numbers"][place], name, width) for row in rows]
    if not any(bar["value"] is not None for bar in bars):
        return None
    keys = rehearsal["keys"]
    return {"chart": "bars", "title": f"{name} by {', '.join(keys)}" if keys else name, "bars": bars}


def _bar(row: Data, number: Data, name: str, width: float | None) -> dict[str, Any]:
    value = number["plain"] if _is_number(number["plain"]) else None
    dots = [each for each in number["noisy"] if _is_number(each)]
    bar = {"label": _label(row["keys"], name), "value": value, "dots": dots if value is not None else []}
    if value is None or width is None:
        return {**bar, "low": None, "high": None, "drowned": False}
    return {**bar, "low": value - width, "high": value + width, "drowned": abs(value) <= width}


def _label(keys: Sequence[Any], name: str) -> Any:
    if len(keys) == 1:
        return keys[0]
    return ", ".join(map(cell_text, keys)) if keys else name


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
