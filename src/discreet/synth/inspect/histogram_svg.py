"""A histogram of one column as SVG. Its colours come from the style sheet of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from markupsafe import Markup

from discreet.present.cell_text import NULL
from discreet.present.charts import svg
from discreet.synth.inspect.model_histograms import ModelHistogram
from discreet.synth.inspect.report_text import label_text, model_count_text, rounded, shorten

#: Drawings are so wide, in pixels of a small screen, on which they are shown as they are.
WIDTH = 328.0

#: Of a column with more values than this the most common are drawn.
MOST_ROWS = 12

#: Bins whose widths differ more than so many times are drawn equally wide.
MOST_RATIO = 60

#: So are bins of which half would be lower than this part of the highest.
LEAST_HEIGHT = 0.06


def drawing(height: float, label: str, body: Iterable[Markup]) -> Markup:
    """A drawing, with a label for those who do not see it."""
    box = f"0 0 {WIDTH:g} {height:g}"
    return svg.tag("svg", *body, viewBox=box, role="img", aria_label=label, font_size=11)


def draw_histogram(of: ModelHistogram) -> Markup:
    """One column: a bar for the model, a dot for the measurement, a line for its noise."""
    cells_on_line = sum(span is not None for span in of.spans)
    return _vertical_bars(of) if of.ordered and cells_on_line > 2 else _horizontal_bars(of)


def is_drawn_equally_wide(of: ModelHistogram) -> bool:
    """Whether bins of different widths are drawn equally wide: where areas would leave nothing but the narrowest."""
    runs = [
        (count / (span[1] - span[0]), span[1] - span[0])
        for count, span in zip(of.counts, of.spans, strict=True)
        if span
    ]
    if not runs:  # all values were merged as rare ones
        return False
    dense = sorted(density for density, _ in runs)
    widths = [width for _, width in runs]
    return max(widths) > MOST_RATIO * min(widths) or (
        widths_differ(widths) and dense[len(dense) // 2] < LEAST_HEIGHT * dense[-1]
    )


def widths_differ(widths: Sequence[int]) -> bool:
    """Whether widths differ so much that one can see it: bounds that do not divide evenly leave a rest."""
    return max(widths, default=0) > 1.05 * min(widths, default=0)


# -- values one below the other ------------------------------------------------------------------------------------


def shown_rows(of: ModelHistogram) -> list[int]:
    """The cells that are drawn, in their order: all, or the most common."""
    if len(of.order) <= MOST_ROWS:
        return list(of.order)
    common = sorted(of.order, key=lambda cell: -of.counts[cell])[:MOST_ROWS]
    return [cell for cell in of.order if cell in common]


def _horizontal_bars(of: ModelHistogram) -> Markup:
    left, right, step = 112.0, 278.0, 21.0
    cells = shown_rows(of)
    most = _most(of, cells)
    body = []
    for turn, cell in enumerate(cells):
        y = turn * step
        end = left + (right - left) * of.counts[cell] / most
        parts = [
            svg.title(_tooltip(of, cell)),
            svg.text(left - 8, y + 14, shorten(label_text(of.shown(cell)), 16), anchor="end"),
            svg.rect(left, y + 4, end, y + 16, class_="bar"),
            *_horizontal_dot(of, cell, left, (right - left) / most, y + 10),
            svg.text(WIDTH, y + 14, model_count_text(of.counts[cell]), anchor="end"),
        ]
        body.append(svg.tag("g", *parts))
    rest = len(of.order) - len(cells)
    if rest:
        others = sum(of.counts) - sum(of.counts[cell] for cell in cells)
        words = f"and {rest:,} more, {model_count_text(others)} rows in total"
        body.append(svg.text(left, len(cells) * step + 14, words, class_="note"))
    return drawing((len(cells) + bool(rest)) * step, f"Histogram of {of.name}", body)


def _horizontal_dot(of: ModelHistogram, cell: int, left: float, scale: float, y: float) -> list[Markup]:
    if of.noisy_counts is None or of.plus_minus is None:
        return []
    middle, width = of.noisy_counts[cell], of.plus_minus[cell]
    low, high = (left + scale * max(0.0, end) for end in (middle - width, middle + width))
    return [
        svg.tag("path", class_="whisker", d=f"M{low:.1f} {y:g}H{high:.1f}"),
        svg.tag("circle", class_="dot", cx=left + scale * max(0.0, middle), cy=y, r=2.5),
    ]


# -- bins side by side ---------------------------------------------------------------------------------------------


def _vertical_bars(of: ModelHistogram) -> Markup:
    """Areas are rows: a wider bin of as many is lower, unless bins differ too much to be drawn so."""
    top, floor = 8.0, 128.0
    places = _places(of)
    even = is_drawn_equally_wide(of)
    heights = {cell: 1.0 if even else 1 / (high - low) for cell, (low, high) in places.items()}
    most = max(max(_largest_number(of, cell) * heights[cell] for cell in places), 1e-9)
    scale = (floor - top) / most
    body = [svg.tag("path", class_="rule", d=f"M0 {floor:g}H{WIDTH:g}")]
    for cell, (low, high) in places.items():
        tall = of.counts[cell] * heights[cell] * scale
        parts = [
            svg.title(_tooltip(of, cell)),
            svg.rect(low, floor - tall, low + max(0.5, high - low - 1), floor, class_="bar"),
            *_vertical_dot(of, cell, (low + high) / 2, floor, heights[cell] * scale),
        ]
        body.append(svg.tag("g", *parts))
    return drawing(floor + 20, f"Histogram of {of.name}", [*body, *_axis(of, places, floor + 15)])


def _places(of: ModelHistogram) -> dict[int, tuple[float, float]]:
    """From where to where each cell is drawn: bins along the line, then, apart, what has no place on it."""
    bins = [cell for cell in of.order if of.spans[cell] is not None]
    apart = [cell for cell in of.order if of.spans[cell] is None]
    end = WIDTH - 34.0 * len(apart)
    positions: dict[int, tuple[float, float]] = {}
    spans = [span for cell in bins if (span := of.spans[cell]) is not None]
    first, last = spans[0][0], spans[-1][1]
    for turn, (cell, (low, high)) in enumerate(zip(bins, spans, strict=True)):
        ends = (turn, turn + 1) if is_drawn_equally_wide(of) else (low - first, high - first)
        length = len(bins) if is_drawn_equally_wide(of) else last - first
        positions[cell] = end * ends[0] / length, end * ends[1] / length
    for turn, cell in enumerate(apart):
        positions[cell] = end + 34.0 * turn + 10, end + 34.0 * (turn + 1)
    return positions


def _axis(of: ModelHistogram, places: Mapping[int, tuple[float, float]], y: float) -> list[Markup]:
    bins = [cell for cell in places if of.spans[cell] is not None]
    end = places[bins[-1]][1]
    text = [
        svg.text(0, y, shorten(label_text(of.shown(bins[0])), 22), class_="note"),
        svg.text(end, y, shorten(label_text(of.shown(bins[-1])), 22), class_="note", anchor="end"),
    ]
    for cell in places:
        if of.spans[cell] is None:
            word = NULL if of.labels[cell] is None else "rare"
            text.append(svg.text(places[cell][1], y, word, class_="note", anchor="end"))
    return text


def _vertical_dot(of: ModelHistogram, cell: int, x: float, floor: float, scale: float) -> list[Markup]:
    if of.noisy_counts is None or of.plus_minus is None:
        return []
    middle, width = of.noisy_counts[cell], of.plus_minus[cell]
    low, high = (floor - scale * max(0.0, end) for end in (middle - width, middle + width))
    return [
        svg.tag("path", class_="whisker", d=f"M{x:.1f} {low:.1f}V{high:.1f}"),
        svg.tag("circle", class_="dot", cx=x, cy=floor - scale * max(0.0, middle), r=2),
    ]


def _most(of: ModelHistogram, cells: Sequence[int]) -> float:
    return max([1e-9, *(_largest_number(of, cell) for cell in cells)])


def _largest_number(of: ModelHistogram, cell: int) -> float:
    """The largest number that is drawn of a cell."""
    if of.noisy_counts is None or of.plus_minus is None:
        return of.counts[cell]
    return max(of.counts[cell], of.noisy_counts[cell] + of.plus_minus[cell])


def _tooltip(of: ModelHistogram, cell: int) -> str:
    text = f"{label_text(of.shown(cell))}: {model_count_text(of.counts[cell])} in the model"
    if of.noisy_counts is None or of.plus_minus is None:
        return text
    return f"{text}, measured {rounded(of.noisy_counts[cell])} ± {rounded(of.plus_minus[cell])}"
