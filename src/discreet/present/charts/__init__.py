"""Charts as SVG: bars with noise intervals, lines, curves over logarithmic axes, heat maps, a burn-down, distributions.

Each function takes frozen data and returns Markup that a template puts on a page as it is: text is escaped here, colour
comes from classes (the console's static/charts.css), and there is no style attribute and no script in it. The numbers
stand in a table beside the chart (the console's templates/charts.html). `standalone_svg` makes a file of one, with its
colours.
"""

from __future__ import annotations

from discreet.present.charts.bar import Bar
from discreet.present.charts.bars import bars
from discreet.present.charts.before_after import BeforeAfter, before_after
from discreet.present.charts.budget_chart import BudgetForecast, BudgetStep, burn_down
from discreet.present.charts.chart_data import draw
from discreet.present.charts.curves import ChartCurve, CurvePanel, CurvePoint, curves
from discreet.present.charts.heat_map import HeatCell, heatmap
from discreet.present.charts.line_chart import LinePoint, LineSeries, lines
from discreet.present.charts.noise_distribution import Density, Mark, distribution
from discreet.present.charts.paired_bars import BarPair, paired_bars
from discreet.present.charts.svg import standalone_svg

__all__ = [
    "Bar",
    "BarPair",
    "BeforeAfter",
    "BudgetForecast",
    "BudgetStep",
    "ChartCurve",
    "CurvePanel",
    "CurvePoint",
    "Density",
    "HeatCell",
    "LinePoint",
    "LineSeries",
    "Mark",
    "bars",
    "before_after",
    "burn_down",
    "curves",
    "distribution",
    "draw",
    "heatmap",
    "lines",
    "paired_bars",
    "standalone_svg",
]
