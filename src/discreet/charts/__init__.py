"""Charts as SVG: bars with noise intervals, lines, curves over logarithmic axes, heat maps, a burn-down, distributions.

Each function takes frozen data and returns Markup that a template puts on a page as it is: text is escaped here, colour
comes from classes (the console's static/charts.css), and there is no style attribute and no script in it. The numbers
stand in a table beside the chart (the console's templates/charts.html). `alone` makes a file of one, with its colours.
"""

from __future__ import annotations

from discreet.charts.alone import alone
from discreet.charts.bars import Bar, bars
from discreet.charts.burn import Step, burn_down
from discreet.charts.curves import Curve, Panel, Spot, curves
from discreet.charts.heat import Heat, heatmap
from discreet.charts.lines import Point, Series, lines
from discreet.charts.plain import draw
from discreet.charts.spread import Density, Mark, distribution

__all__ = [
    "Bar",
    "Curve",
    "Density",
    "Heat",
    "Mark",
    "Panel",
    "Point",
    "Series",
    "Spot",
    "Step",
    "alone",
    "bars",
    "burn_down",
    "curves",
    "distribution",
    "draw",
    "heatmap",
    "lines",
]
