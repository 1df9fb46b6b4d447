"""Numbers before and after: two marks with their intervals for each, one under the other, on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from discreet.present.charts import axis, svg
from discreet.present.charts.scale import Scale, check_finite, span, widen_to_round

#: Of one number: its line of words, and the room of each of its two marks.
_WORDS, _MARK, _GAP = 16.0, 11.0, 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BeforeAfter:
    """A number with its interval before, and after; and what is written beside it."""

    label: str
    before: tuple[float, float, float]
    after: tuple[float, float, float]
    text: str = ""

    def __post_init__(self) -> None:
        for low, value, high in (self.before, self.after):
            ends = [check_finite(each, of="an interval") for each in (low, value, high)]
            if ends != sorted(ends):  # type: ignore[type-var]  # none of them is missing
                raise ValueError("an interval has its number between its ends")

    @property
    def description(self) -> str:
        """The pair in words."""
        return f"{svg.clean(self.label)}: {svg.clean(self.text)}" if self.text else svg.clean(self.label)


def before_after(given: Sequence[BeforeAfter], *, title: str, across: str = "", name: str = "") -> Markup:
    """A row for each, in the order given. `across`: what the axis counts."""
    called = svg.name(name)
    if not given:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes=svg.NOTHING, height=height, body=body)
    low, high = widen_to_round(span((end for row in given for end in (*row.before, *row.after)), zero=True))
    scale = Scale(low=low, high=high, start=6.0, end=svg.WIDTH - 6.0)
    signs = [(word, svg.tag("g", *_mark(word, (0.0, 6.0, 12.0), 0.0))) for word in ("before", "after")]
    marks, top = axis.legend(signs, top=0)
    each = _WORDS + 2 * _MARK + _GAP
    bottom = top + 8 + each * len(given)
    marks += axis.horizontal_axis(scale, top=top + 4, bottom=bottom)
    for place, row in enumerate(given):
        marks.append(_row(row, scale, top + 8 + place * each))
    if across:
        marks.append(svg.text(svg.WIDTH, bottom + 30, across, class_="chart-quiet", anchor="end"))
    describes = f"{len(given):,} pair{'' if len(given) == 1 else 's'}. First: {given[0].description}."
    return svg.drawing(called, says=title, describes=describes, height=bottom + (36 if across else 20), body=marks)


def _row(row: BeforeAfter, scale: Scale, top: float) -> Markup:
    text = svg.shorten(svg.clean(row.text), svg.WIDTH / 2)
    label = svg.shorten(svg.clean(row.label), svg.WIDTH - svg.width(text) - 16)
    middle = top + _WORDS + _MARK / 2
    return svg.tag(
        "g",
        svg.title(row.description),
        svg.text(0, top + 12, label),
        svg.text(svg.WIDTH, top + 12, text, class_="chart-quiet", anchor="end"),
        *_mark("before", tuple(map(scale.at, row.before)), middle),
        *_mark("after", tuple(map(scale.at, row.after)), middle + _MARK),
    )


def _mark(word: str, ends: Sequence[float], y: float) -> list[Markup]:
    """A dot on its interval; before hollow, after full: told apart without colour."""
    low, middle, high = ends
    return [
        svg.line(low, y, high, y, class_=f"chart-{word}"),
        svg.tag("circle", cx=middle, cy=y, r=3.5, class_=f"chart-{word}"),
    ]
