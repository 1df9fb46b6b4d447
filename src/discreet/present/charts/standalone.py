"""A chart of bars as a file of its own: where no page gives it colours, it brings them."""

from __future__ import annotations

from markupsafe import Markup

#: What templates/page.css says of bars, on white paper: nobody knows what a file is put on.
_STYLE = (
    ".chart{background:#fff}.chart text{fill:#1f2d29;font-family:system-ui,sans-serif}"
    ".chart .chart-quiet,.chart .chart-null,.chart text.chart-drowned{fill:#55635d}.chart-null{font-style:italic}"
    ".chart-rule{stroke:#dcd9ce}.chart-zero-line{stroke:#55635d}.chart-bar{fill:#1a6552;fill-opacity:.6}"
    ".chart-bar.chart-drowned{fill:#8b8f94;fill-opacity:.45}.chart-whisker{stroke:#1f2d29;stroke-width:1.5}"
)


def standalone_svg(chart: Markup, *, style: str = _STYLE) -> str:
    """The chart with its colours in it, after its description, which every chart has once: texts are escaped.

    `style`: those of bars unless others are given.
    """
    before, end, after = chart.partition(Markup("</desc>"))
    if not end:
        raise ValueError("not a chart: it has no description")
    return f"{before}{end}<style>{style}</style>{after}\n"
