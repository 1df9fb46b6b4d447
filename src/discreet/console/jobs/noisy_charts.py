"""Rows with their noise intervals, as a chart and the table beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from discreet.present.cell_text import format_with_noise
from discreet.present.charts.key_order import ordered_places
from discreet.release import is_below_noise

#: Larger tables are not drawn: nobody would see a cell.
MOST_DRAWN = 2_000


def bars(title: str, rows: Sequence[Sequence[Any]], *, ordered: bool = False) -> dict[str, Any]:
    """A bar for each label, value and interval.

    `ordered`: their order means something; numbers, days, times and bins say that themselves.
    """
    drawn = [{"label": key, **_number(*number)} for key, *number in rows]
    places = ordered_places([bar["label"] for bar in drawn])
    return {"chart": "bars", "title": title, "bars": drawn, "ordered": ordered or places == list(range(len(drawn)))}


def heatmap(title: str, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """A cell for each pair of labels, value and interval."""
    cells = [{"row": one, "column": other, **_number(*number)} for one, other, *number in rows]
    return {"chart": "heatmap", "title": title, "rows": names[0], "columns": names[1], "cells": cells}


def _number(value: float, ends: Sequence[float]) -> dict[str, Any]:
    """A count, which is never negative without its noise."""
    low, high = ends
    shown = round_to_noise(value, (high - low) / 2, digits=1)
    return {"value": shown, "low": low, "high": high, "drowned": is_below_noise(value, (low, high), least=0)}


def round_to_noise(value: float, width: float, *, digits: int = 3) -> float:
    """A number without digits that its noise drowns: of the width, so many more than its first are kept."""
    kept = max(0, digits - math.floor(math.log10(width))) if width > 0 else 6
    return round(value, min(kept, 12))


def number_with_noise(value: float, ends: Sequence[float]) -> str:
    """A number and its noise, for people."""
    return format_with_noise(round_to_noise(value, (ends[1] - ends[0]) / 2, digits=1), ends[0], ends[1])
