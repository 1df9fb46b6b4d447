"""A chart as a file of its own: the colours of charts.css on white paper, in it."""

from __future__ import annotations

import re
from functools import cache

from markupsafe import Markup

from discreet.console.assets import FOLDER
from discreet.present.charts.svg import standalone_svg

#: Of style.css, by day: nobody knows what a file is put on.
_COLOURS = ":root{--paper:#fff;--ink:#1f2d29;--soft:#55635d;--line:#dcd9ce;--accent:#1a6552}.chart{background:#fff}"
_BOX = re.compile(r'viewBox="(\S+) (\S+) (\S+) (\S+)"')
#: Pixels of a unit of the drawing.
_SCALE = 2


def chart_file(chart: Markup) -> str:
    """The chart with its style and a size, for programs that know no page."""
    whole = standalone_svg(chart, style=_style())
    return _BOX.sub(
        lambda box: f'{box[0]} width="{_SCALE * float(box[3]):g}" height="{_SCALE * float(box[4]):g}"', whole, count=1
    )


@cache
def _style() -> str:
    """What charts.css says of charts: not of pages around them, and not of the night."""
    text = (FOLDER / "charts.css").read_text(encoding="utf-8").partition("/* A chart and its numbers")[0]
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r"@media[^{]*\{\s*:root\s*\{[^}]*\}\s*\}", "", text)
    return _COLOURS + re.sub(r"\s+", " ", text).strip()
