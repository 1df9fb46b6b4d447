"""A heat map: a number for each pair of keys, by depth of colour, and a sign on cells below their noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from discreet.present.cell_text import DASH, format_with_noise
from discreet.present.charts import axis, svg
from discreet.present.charts.scale import check_finite

#: From far below to far above; without negative numbers only the second half is used.
CLASSES = (
    "chart-less-4", "chart-less-3", "chart-less-2", "chart-less-1", "chart-even",
    "chart-more-1", "chart-more-2", "chart-more-3", "chart-more-4",
)  # fmt: skip
_MIDDLE = len(CLASSES) // 2
#: So many rows and columns are drawn; of more, those with the largest sums.
MOST = 30
_LABEL, _TALL = 120.0, 26.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """The number of one pair of keys. `drowned`: it is no larger than its noise."""

    row: svg.Key
    column: svg.Key
    value: float | None
    low: float | None = None
    high: float | None = None
    drowned: bool = False

    def __post_init__(self) -> None:
        value, low, high = (check_finite(each, of="a cell") for each in (self.value, self.low, self.high))
        if (low is None) != (high is None) or (low is not None and high is not None and low > high):
            raise ValueError("a noise interval needs two ends, the lower one first")
        if value is None and low is not None:
            raise ValueError("there is a noise interval but no number")

    @property
    def number_text(self) -> str:
        if self.value is None:
            return DASH
        if self.low is None or self.high is None:
            return f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:.6g}"
        return format_with_noise(self.value, self.low, self.high)

    @property
    def description(self) -> str:
        drowned = " (below the noise)" if self.drowned and self.value is not None else ""
        return f"{svg.key(self.row)}, {svg.key(self.column)}: {self.number_text}{drowned}"


def heatmap(
    given: Sequence[HeatCell],
    *,
    title: str,
    rows: str = "",
    columns: str = "",
    diverging: bool = False,
    most: float | None = None,
    name: str = "",
) -> Markup:
    """The cells in the order in which their keys first come. `diverging`: numbers lie on both sides of zero.

    `most`: what the deepest colour is, so that maps beside each other can be compared; else the largest number
    above the noise, where there is one.

    Otherwise what is below zero, which only noise makes of a count, is drawn as zero is.
    """
    called = svg.name(name)
    check_finite(most, of="the deepest colour")
    downs, overs = (
        _largest_keys(given, [cell.row for cell in given]),
        _largest_keys(given, [cell.column for cell in given]),
    )
    if len({(_typed_key(cell.row), _typed_key(cell.column)) for cell in given}) < len(given):
        raise ValueError("a pair of keys occurs twice")
    if not given:
        body, tall = svg.nothing()
        return svg.drawing(called, says=title, describes=svg.NOTHING, height=tall, body=body)
    left = min(_LABEL, max(svg.width(svg.key(key)) for key in downs) + 8)
    wide = (svg.WIDTH - left) / len(overs)
    head = f"{rows} down, {columns} across" if rows and columns else rows or columns
    top = 20.0 if head else 4.0
    marks = [svg.text(0, 12, head, class_="chart-quiet")] if head else []
    named, top = _column_names(overs, left, wide, top)
    marks += named
    for place, key in enumerate(downs):
        label = svg.shorten(svg.key(key), left - 8)
        marks.append(svg.text(left - 8, top + (place + 0.5) * _TALL + 4, label, class_=_label(key), anchor="end"))
    if most is None:
        shown = [cell for cell in given if cell.value is not None]
        above = [cell for cell in shown if not cell.drowned] or shown
        most = max((abs(cell.value or 0.0) for cell in above), default=0.0)
    marks += _cells(given, downs, overs, (left, top, wide), most, diverging)
    bottom = top + _TALL * len(downs)
    more = _more(given, downs, overs)
    if more:
        marks, bottom = [*marks, svg.text(0, bottom + 14, more, class_="chart-quiet")], bottom + axis.ROW
    scale, bottom = _legend(most, diverging, bottom + 4, drowned=any(cell.drowned for cell in given))
    return svg.drawing(called, says=title, describes=_describe(given, more), height=bottom, body=[*marks, *scale])


def depth(value: float, most: float, *, diverging: bool) -> str:
    """The class of a number: steps of equal width up to the largest.

    >>> depth(100, 100, diverging=False), depth(1, 100, diverging=False), depth(-100, 100, diverging=True)
    ('chart-more-4', 'chart-even', 'chart-less-4')
    """
    share = 0.0 if not most else value / most
    step = int(min(abs(share), 1.0) * _MIDDLE + 0.5)
    if share < 0 and not diverging:
        step = 0
    return CLASSES[_MIDDLE + (step if share >= 0 else -step)]


def _typed_key(key: svg.Key) -> tuple[str, svg.Key]:
    """A key as it is told apart: true is not 1."""
    return type(key).__name__, key


def _largest_keys(given: Sequence[HeatCell], keys: Iterable[svg.Key]) -> list[svg.Key]:
    """Each key once, in the order they come; of too many, those with the largest sums."""
    sums: dict[tuple[str, svg.Key], float] = {}
    for key, cell in zip(keys, given, strict=True):
        sums[_typed_key(key)] = sums.get(_typed_key(key), 0.0) + (cell.value or 0.0)
    best = set(sorted(sums, key=lambda key: -sums[key])[:MOST])
    return [key[1] for key in sums if key in best]


def _column_names(overs: Sequence[svg.Key], left: float, wide: float, top: float) -> tuple[list[Markup], float]:
    """Names over the columns: level where they have room, else upright."""
    names = [svg.key(key) for key in overs]
    longest = max(map(svg.width, names), default=0.0)
    if longest <= wide - 4:
        return [
            svg.text(left + (place + 0.5) * wide, top + 12, label, class_=_label(key), anchor="middle")
            for place, (key, label) in enumerate(zip(overs, names, strict=True))
        ], top + 18
    tall = min(longest, _LABEL - 30) + 6
    marks = []
    for place, (key, label) in enumerate(zip(overs, names, strict=True)):
        x, y = svg.number(left + (place + 0.5) * wide + 4), svg.number(top + tall - 4)
        turned = f"translate({x} {y}) rotate(-90)"
        marks.append(svg.tag("text", svg.words(svg.shorten(label, tall)), transform=turned, class_=_label(key)))
    return marks, top + tall


def _cells(
    given: Sequence[HeatCell],
    downs: Sequence[svg.Key],
    overs: Sequence[svg.Key],
    frame: tuple[float, float, float],
    most: float,
    diverging: bool,
) -> list[Markup]:
    left, top, wide = frame
    across = {_typed_key(key): left + place * wide for place, key in enumerate(overs)}
    down = {_typed_key(key): top + place * _TALL for place, key in enumerate(downs)}
    marks = []
    for cell in given:
        if _typed_key(cell.row) not in down or _typed_key(cell.column) not in across:
            continue
        x, y = across[_typed_key(cell.column)], down[_typed_key(cell.row)]
        shade = "chart-none" if cell.value is None else depth(cell.value, most, diverging=diverging)
        parts = [svg.title(cell.description), svg.rect(x + 0.5, y + 0.5, x + wide - 0.5, y + _TALL - 0.5, class_=shade)]
        if cell.drowned:
            parts.append(svg.line(x + 3, y + _TALL - 3, x + wide - 3, y + 3, class_="chart-struck"))
        marks.append(svg.tag("g", *parts))
    return marks


def _more(given: Sequence[HeatCell], downs: Sequence[svg.Key], overs: Sequence[svg.Key]) -> str:
    rows = len({_typed_key(cell.row) for cell in given}) - len(downs)
    columns = len({_typed_key(cell.column) for cell in given}) - len(overs)
    counts = [f"{count:,} more {word}" for count, word in ((rows, "rows"), (columns, "columns")) if count]
    return f"… {' and '.join(counts)}" if counts else ""


def _legend(most: float, diverging: bool, top: float, *, drowned: bool) -> tuple[list[Markup], float]:
    """The classes beside each other, and the numbers at their ends."""
    shades = CLASSES if diverging else CLASSES[_MIDDLE:]
    low, high = f"{-most:.3g}" if diverging else "0", f"{most:.3g}"
    start = svg.width(low) + 6
    marks = [svg.text(0, top + 12, low, class_="chart-quiet")]
    marks += [
        svg.rect(start + 14 * place, top + 2, start + 14 * (place + 1), top + 14, class_=shade)
        for place, shade in enumerate(shades)
    ]
    end = start + 14 * len(shades) + 6
    marks.append(svg.text(end, top + 12, high, class_="chart-quiet"))
    if not drowned:
        return marks, top + 22
    struck = svg.line(0, 5, 12, -5, class_="chart-struck")
    moved = svg.tag("g", struck, transform=f"translate({svg.number(end + svg.width(high) + 16)} {svg.number(top + 8)})")
    marks += [moved, svg.text(end + svg.width(high) + 34, top + 12, "below the noise", class_="chart-quiet")]
    return marks, top + 22


def _describe(given: Sequence[HeatCell], more: str) -> str:
    numbered_cells = [cell for cell in given if cell.value is not None]
    if not numbered_cells:
        return svg.NOTHING
    largest = max(numbered_cells, key=lambda cell: cell.value or 0.0)
    least = min(numbered_cells, key=lambda cell: cell.value or 0.0)
    ends = f"{len(given):,} cells. The largest is {largest.description}. The smallest is {least.description}."
    return f"{ends} {more}".strip()


def _label(key: svg.Key) -> str:
    return "chart-label chart-null" if key is None or isinstance(key, bool) else "chart-label"
