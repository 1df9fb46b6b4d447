"""Distances from the real table as SVG: a line for each, with its interval."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from discreet.present.charts import svg
from discreet.synth.inspect.histogram_svg import WIDTH, drawing
from discreet.synth.inspect.model_comparison import Distance
from discreet.synth.inspect.report_text import tenths


def draw_distances(distances: Mapping[str, Distance | float]) -> Markup:
    """Each distance below its words, all on one scale: a dot and its interval, or a bar where there is no interval."""
    ends = [each if isinstance(each, float) else each.high for each in distances.values()]
    most, right, y = max([*ends, 1e-6]), WIDTH - 60.0, 0.0
    body = []
    for words, each in distances.items():
        value = each if isinstance(each, float) else each.noisy_value
        lines = svg.wrap(words, WIDTH)
        parts = [svg.title(f"{words}: {_text(each)}")]
        parts += [svg.text(0, y + 12 + 14 * at, line, class_="note") for at, line in enumerate(lines)]
        y += 11 + 14 * len(lines)
        parts.append(svg.text(WIDTH, y + 4, tenths(value), anchor="end"))
        parts.append(svg.tag("path", class_="rule", d=f"M0 {y:g}H{right:g}"))
        if isinstance(each, float):
            parts.append(svg.rect(0, y - 6, right * value / most, y + 6, class_="bar"))
        else:
            low, high, middle = (right * end / most for end in (each.low, each.high, value))
            parts.append(svg.tag("path", class_="whisker wide", d=f"M{low:.1f} {y:g}H{high:.1f}"))
            parts.append(svg.tag("circle", class_="dot", cx=middle, cy=y, r=4))
        body.append(svg.tag("g", *parts))
        y += 13
    described = "; ".join(f"{words}: {_text(each)}" for words, each in distances.items())
    return drawing(y, f"Distances from the real table. {described}", body)


def _text(of: Distance | float) -> str:
    if isinstance(of, float):
        return f"{tenths(of)} expected from the noise"
    return f"{tenths(of.noisy_value)}, {tenths(of.low)} to {tenths(of.high)}"
