"""Charts from plain JSON data, as a page holds them: what the .json of the page says is what the page draws.

    {"chart": "bars", "title": …, "bars": [{"label", "value", "low", "high", "drowned", "text"}, …],
     "ordered"}
    {"chart": "lines", "title", "across", "up", "zero", "series": [{"name", "points": [{"x", "value", "low", "high"}]}]}
    {"chart": "heatmap", "title", "rows", "columns", "diverging", "cells": [{"row", "column", "value", …}]}
    {"chart": "burn_down", "title", "unit", "steps": [{"when", "remaining", "limit", "who"}],
     "forecast": {"begin", "end", "remaining"} or none}
    {"chart": "before_after", "title", "across", "pairs": [{"label", "before", "after", "text"}]}
    {"chart": "paired_bars", "title", "names", "pairs": [{"label", "first", "second", "chance", "bound"}]}
    {"chart": "distribution", "title", "across", "bins", "draws", "densities", "marks"}

A date or a time on an x axis is ISO text; a label that is text stays text.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from markupsafe import Markup

from discreet.present.charts.bar import Bar
from discreet.present.charts.bars import bars
from discreet.present.charts.before_after import BeforeAfter, before_after
from discreet.present.charts.budget_chart import BudgetForecast, BudgetStep, burn_down
from discreet.present.charts.heat_map import HeatCell, heatmap
from discreet.present.charts.line_chart import LinePoint, LineSeries, lines
from discreet.present.charts.noise_distribution import Density, Mark, distribution
from discreet.present.charts.paired_bars import BarPair, paired_bars


def draw(data: Mapping[str, Any]) -> Markup:
    """The chart that the data say; the rest of the data are the arguments of its function."""
    arguments = dict(data)
    match arguments.pop("chart"):
        case "bars":
            return bars([Bar(**each) for each in arguments.pop("bars")], **arguments)
        case "lines":
            return lines([_series(each) for each in arguments.pop("series")], **arguments)
        case "heatmap":
            return heatmap([HeatCell(**each) for each in arguments.pop("cells")], **arguments)
        case "burn_down":
            steps = [
                BudgetStep(**{**each, "when": datetime.fromisoformat(each["when"])}) for each in arguments.pop("steps")
            ]
            return burn_down(steps, **{**arguments, "forecast": _forecast(arguments.get("forecast"))})
        case "before_after":
            pairs = [
                BeforeAfter(**{**each, "before": tuple(each["before"]), "after": tuple(each["after"])})
                for each in arguments.pop("pairs")
            ]
            return before_after(pairs, **arguments)
        case "paired_bars":
            return paired_bars([BarPair(**each) for each in arguments.pop("pairs")], **arguments)
        case "distribution":
            densities = [Density(**each) for each in arguments.pop("densities", ())]
            marks = [Mark(**each) for each in arguments.pop("marks", ())]
            return distribution(densities=densities, marks=marks, **arguments)
        case other:
            raise ValueError(f"there is no chart {other!r}")


def _forecast(data: Mapping[str, Any] | None) -> BudgetForecast | None:
    if data is None:
        return None
    moments = {name: datetime.fromisoformat(data[name]) for name in ("begin", "end")}
    return BudgetForecast(**moments, remaining=data["remaining"])


def _series(data: Mapping[str, Any]) -> LineSeries:
    points = tuple(LinePoint(**{**each, "x": _place(each["x"])}) for each in data["points"])
    return LineSeries(name=data.get("name", ""), points=points)


def _place(x: float | str) -> float | date | datetime:
    if not isinstance(x, str):
        return x
    return date.fromisoformat(x) if len(x) == 10 else datetime.fromisoformat(x)
