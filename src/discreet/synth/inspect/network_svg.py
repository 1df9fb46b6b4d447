"""A network as SVG: its columns and edges, and as a file of its own with the table of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from discreet.present.cell_text import DASH
from discreet.present.charts import svg
from discreet.synth.inspect.model_network import ModelNetwork, NetworkEdge, NetworkTable
from discreet.synth.inspect.network_layout import BOX, NetworkLayout, Point, lay_out
from discreet.synth.inspect.report_text import count_noun, shorten

#: Letters of a column's name that are drawn, and about how wide one is.
LETTERS, LETTER = 20, 7.3

#: Around a drawing, for the ends of arrows and letters that are wider than most.
MARGIN = 6.0

#: Small networks are not drawn larger than letters around them: a drawing is at least so wide.
LEAST_WIDTH = 320.0

#: In a file: the rows of a table, the height of a line, the room around tables, and how wide lines of tables are.
FILE_ROWS, LINE, GAP, PANEL = 12, 18.0, 28.0, 640.0

#: In a file: the most letters of a value. Two dates and what stands between them have room.
WORDS = 28

#: What a file is drawn with, on white paper: nobody knows what it is put on. Colours are those of templates/page.css.
STYLE = (
    ".chart{background:#fff}.chart text{fill:#1f2d29;font-family:system-ui,sans-serif}"
    ".chart .note{fill:#55635d}.chart .title{font-weight:600}.chart .large{font-size:16px;font-weight:600}"
    ".rule{stroke:#dcd9ce;fill:none}.edge{fill:none;stroke:#1a6552}.edge.loose{stroke-dasharray:5 3}"
    ".head{fill:#1a6552}.box{fill:#e4f0eb;stroke:#1a6552}"
)


def draw_network(network: ModelNetwork) -> Markup:
    """The columns and what joins them. Its width is what it needs: a page lets it scroll."""
    body, width, height = _graph(network, LEAST_WIDTH)
    return svg.tag(
        "svg",
        *body,
        viewBox=f"0 0 {svg.number(width)} {svg.number(height)}",
        width=width,
        class_="graph",
        role="img",
        aria_label=describe(network),
        font_size=12,
    )


def describe(network: ModelNetwork) -> str:
    """The network in words, for those who do not see it."""
    if not network.edges:
        return "No columns were measured together."
    if not network.arrows:
        return "Measured together: " + "; ".join(f"{each.parent} and {each.child}" for each in network.edges)
    parts = [f"{each.column} given {' and '.join(each.parents)}" for each in network.tables if each.parents]
    return "Bayesian network: " + "; ".join(parts)


def _graph(network: ModelNetwork, least: float) -> tuple[list[Markup], float, float]:
    """The elements of the graph, in the middle of a drawing that is at least so wide; its size."""
    widths = {name: svg.width(shorten(name, LETTERS)) + 26 for name in network.columns}
    layout = lay_out(widths, [(each.parent, each.child) for each in network.edges])
    width = max(least, layout.width + 2 * MARGIN)
    left, top = (width - layout.width) / 2, MARGIN
    moved = f"translate({svg.number(left)} {svg.number(top)})"
    parts = [_edge(each, layout, arrows=network.arrows) for each in network.edges]
    parts += [_box(name, layout.boxes[name], widths[name]) for name in network.columns]
    return [svg.tag("g", *parts, transform=moved)], width, layout.height + 2 * MARGIN


def _box(name: str, middle: Point, wide: float) -> Markup:
    x, y = middle
    return svg.tag(
        "g",
        svg.title(name),
        svg.tag("rect", class_="box", x=x - wide / 2, y=y - BOX / 2, width=wide, height=BOX, rx=BOX / 2),
        svg.text(x, y + 4, shorten(name, LETTERS), anchor="middle"),
    )


def _edge(edge: NetworkEdge, layout: NetworkLayout, *, arrows: bool) -> Markup:
    """A curve along the layers, thicker where the dependence is stronger, with a head where it is an arrow."""
    points = layout.lines[edge.parent, edge.child]
    if arrows:  # the line ends inside the head, not at its tip
        x, y = points[-1]
        points = (*points[:-1], (x, y - 6) if layout.downwards else (x - 6, y))
    text = f"M{_at(points[0])}"
    for one, other in pairwise(points):
        if layout.downwards:
            middle = (one[1] + other[1]) / 2
            text += f"C{_at((one[0], middle))} {_at((other[0], middle))} {_at(other)}"
        else:
            middle = (one[0] + other[0]) / 2
            text += f"C{_at((middle, one[1]))} {_at((middle, other[1]))} {_at(other)}"
    strength = edge.strength or 0.0
    words = f"{edge.parent} {'→' if arrows else 'and'} {edge.child}: " + (
        "dependence not shown" if edge.strength is None else f"dependence {strength:.2f} in the model"
    )
    kind = "edge" if arrows or edge.by_itself else "edge loose"
    parts = [svg.title(words), svg.tag("path", class_=kind, d=text, stroke_width=1.2 + 5 * strength)]
    if arrows:
        parts.append(_head(layout.lines[edge.parent, edge.child][-1], downwards=layout.downwards))
    return svg.tag("g", *parts)


def _head(tip: Point, *, downwards: bool) -> Markup:
    x, y = tip
    corners = ((x - 4.5, y - 9), (x + 4.5, y - 9)) if downwards else ((x - 9, y - 4.5), (x - 9, y + 4.5))
    return svg.tag("path", class_="head", d=f"M{_at(tip)}L{_at(corners[0])}L{_at(corners[1])}Z")


def _at(point: Point) -> str:
    return f"{svg.number(point[0])} {svg.number(point[1])}"


# -- a file of its own ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkPanel:
    """A network with what is written above it."""

    title: str
    note: str
    network: ModelNetwork


def network_file(panels: Sequence[NetworkPanel]) -> str:
    """One SVG file: each network with its tables below it, side by side."""
    body, x, tall = list[Markup](), GAP, 0.0
    for panel in panels:
        parts, wide, height = _panel(panel)
        body.append(svg.tag("g", *parts, transform=f"translate({svg.number(x)} {svg.number(GAP)})"))
        x, tall = x + wide + 2 * GAP, max(tall, height)
    drawing = svg.drawing(
        "network",
        says="; ".join(panel.title for panel in panels),
        describes=" ".join(f"{panel.title}: {describe(panel.network)}." for panel in panels),
        height=tall + 2 * GAP,
        body=body,
        wide=x - GAP,
    )
    return svg.standalone_svg(drawing, style=STYLE)


def _panel(panel: NetworkPanel) -> tuple[list[Markup], float, float]:
    parts = [
        svg.text(0, 14, panel.title, class_="large"),
        svg.text(0, 34, panel.note, class_="note"),
    ]
    graph, wide, tall = _graph(panel.network, PANEL)
    parts.append(svg.tag("g", *graph, transform="translate(0 50)"))
    x, y, lowest = 0.0, 50 + tall + GAP, 50 + tall
    for table in panel.network.tables:
        drawn, own_wide, own_tall = draw_table(table)
        if x and x + own_wide > wide:
            x, y = 0.0, lowest + GAP
        parts.append(svg.tag("g", *drawn, transform=f"translate({svg.number(x)} {svg.number(y)})"))
        wide, lowest = max(wide, x + own_wide), max(lowest, y + own_tall)
        x += own_wide + GAP
    return parts, wide, lowest


def heading(table: NetworkTable) -> str:
    """What a table is of.

    >>> heading(NetworkTable(column="income", parents=("age", "sex"), values=(), rows=(), rows_left_out=0))
    'income given age, sex'
    """
    return f"{table.column} given {', '.join(table.parents)}" if table.parents else table.column


def share_text(share: float) -> str:
    """A share as a number between 0 and 1, as the tables of a network have it.

    >>> share_text(0.333), share_text(0.0004)
    ('0.33', '0.00')
    """
    return f"{share:.2f}"


def width_text(plus_minus: float | None) -> str:
    """How far off a share may be. Half a hundredth is the least that two digits can say.

    >>> width_text(0.0213), width_text(0.001), width_text(None)
    ('±0.02', '±0.01', '±?')
    """
    return "±?" if plus_minus is None else f"±{max(plus_minus, 0.0051):.2f}" if plus_minus > 0 else "±0"


def _more(rows: int) -> str:
    return f"and {count_noun(rows, 'rarer combination')}"


def draw_table(table: NetworkTable) -> tuple[list[Markup], float, float]:
    """A table in lines of text: the parents' values, then each value's share and its ±. The most common rows."""
    common = sorted(range(len(table.rows)), key=lambda row: -table.rows[row].count)[:FILE_ROWS]
    rows = [table.rows[row] for row in sorted(common)]
    texts = [
        [*(shorten(text, WORDS) for text in row.given), *(share_text(share) for share in row.shares)] for row in rows
    ]
    heads = [*(shorten(name, WORDS) for name in table.parents), *(shorten(value, WORDS) for value in table.values)]
    notes = [[*("" for _ in row.given), *map(width_text, row.plus_minus)] for row in rows]
    columns = range(len(heads))
    wides = [
        max([svg.width(heads[at]), *(svg.width(line[at] + note[at]) for line, note in zip(texts, notes, strict=True))])
        + 14
        for at in columns
    ]
    starts = [sum(wides[:at]) for at in columns]
    title = heading(table)
    wide = max(sum(wides), svg.width(title) + 4)
    parts = [svg.text(0, 12, title, class_="title")]
    parts += [svg.text(starts[at], 12 + LINE, heads[at], class_="note") for at in columns]
    parts.append(svg.tag("path", class_="rule", d=f"M0 {svg.number(17 + LINE)}H{svg.number(sum(wides))}"))
    y = 12 + LINE
    for line, note in zip(texts, notes, strict=True):
        y += LINE
        for at in columns:
            parts.append(svg.text(starts[at], y, line[at]))
            if note[at]:
                parts.append(svg.text(starts[at] + svg.width(line[at]) + 2, y, note[at], class_="note"))
    more = len(table.rows) - len(rows) + table.rows_left_out
    if more or not rows:
        y += LINE
        parts.append(svg.text(0, y, _more(more) if rows else DASH, class_="note"))
    return parts, wide, y + 6
