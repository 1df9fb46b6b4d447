"""A budget over time: what is left under its limit, falling by steps, and who took each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from discreet.charts import axis, moments, svg
from discreet.charts.scale import Scale, finite, span, widened

#: So many people have a pattern of their own; all others share the last.
MOST_PEOPLE = 6
_HEIGHT = 220.0
#: How wide a step is drawn at least, so that it is seen.
_WIDE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An act at a time: what is left after it, under which limit. `who` took it; nobody where the owner raised it."""

    when: datetime
    remaining: float
    limit: float
    who: str = ""

    def __post_init__(self) -> None:
        finite(self.remaining, of="what is left")
        limit = finite(self.limit, of="a limit")
        if limit is None or limit < 0 or self.remaining > self.limit:
            raise ValueError("what is left is at most the limit")


def burn_down(given: Sequence[Step], *, title: str, unit: str = "epsilon", name: str = "") -> Markup:
    """What was left after each step, with the limit as a broken line. Steps come in the order of time.

    Who took a step is told by pattern and by class, not by colour alone.
    """
    called, steps = svg.name(name), list(given)
    if [step.when for step in steps] != sorted(step.when for step in steps):
        raise ValueError("steps come in the order of time")
    if not steps:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes="Nothing was spent.", height=height, body=body)
    order = _people(steps)
    signs = [
        (who, svg.rect(0, -6, 12, 6, class_=f"chart-who-{at}", fill=_fill(called, at))) for who, at in order.items()
    ]
    found, top = axis.legend(signs[:MOST_PEOPLE], top=0)
    found.append(svg.text(0, top + 12, f"{unit} left", class_="chart-quiet"))
    top += 26
    bottom = top + _HEIGHT - 50
    ends = widened(span([end for step in steps for end in (step.limit, step.remaining)], zero=True))
    heights = Scale(low=ends[0], high=ends[1], start=bottom, end=top)
    left = axis.room(*ends)
    widths = _widths(steps, left)
    found += axis.up(heights, left=left, right=svg.WIDTH) + _moments(steps, widths, bottom)
    found += _fallen(steps, widths, heights, order, called)
    body = [_patterns(called, len(order)), *found]
    return svg.drawing(called, says=title, describes=_described(steps, unit), height=bottom + 22, body=body)


def _people(steps: Sequence[Step]) -> dict[str, int]:
    """Each who took something, and their pattern: who comes first has the first."""
    found: dict[str, int] = {}
    for step in steps:
        if step.who:
            found.setdefault(step.who, min(len(found), MOST_PEOPLE - 1))
    if len(found) > MOST_PEOPLE:
        last = [who for who, place in found.items() if place == MOST_PEOPLE - 1]
        first = {who: place for who, place in found.items() if place < MOST_PEOPLE - 1}
        return {**first, f"{len(last):,} others": MOST_PEOPLE - 1} | dict.fromkeys(last, MOST_PEOPLE - 1)
    return found


def _widths(steps: Sequence[Step], left: float) -> Scale:
    times = [moments.seconds(step.when) for step in steps]
    low, high = (min(times), max(times)) if times else (0.0, 1.0)
    room = max(1.0, (high - low) * 0.03)  # the first and the last step are not on the edge
    return Scale(low=low - room, high=high + room, start=left, end=svg.WIDTH)


def _moments(steps: Sequence[Step], widths: Scale, bottom: float) -> list[Markup]:
    found, free = [], 0.0
    for value, said in moments.ticks(widths.low, widths.high) if steps else []:
        x, half = widths.at(value), svg.width(said) / 2
        middle = min(max(x, half), svg.WIDTH - half)
        found.append(svg.line(x, bottom, x, bottom + 4, class_="chart-rule"))
        if middle - half >= free:
            found.append(svg.text(middle, bottom + 16, said, class_="chart-quiet", anchor="middle"))
            free = middle + half + 6
    return found


def _fallen(steps: Sequence[Step], widths: Scale, heights: Scale, order: dict[str, int], called: str) -> list[Markup]:
    """The limit, the area under what is left, and over it each step in the pattern of who took it."""
    edge, limit, drops = [], [], []
    left, cap = steps[0].limit, steps[0].limit
    x = widths.start
    for step in steps:
        at = widths.at(moments.seconds(step.when))
        edge += [(x, heights.at(left)), (at, heights.at(left))]
        limit += [(x, heights.at(cap)), (at, heights.at(cap))]
        if step.who and step.remaining < left:
            shown = f"{step.when:%Y-%m-%d %H:%M}, {step.who}: {step.remaining:.6g} left of {step.limit:.6g}"
            place = order[step.who]
            rect = svg.rect(
                at - _WIDE / 2, heights.at(left), at + _WIDE / 2, heights.at(step.remaining),
                class_=f"chart-who-{place}", fill=_fill(called, place),
            )  # fmt: skip
            drops.append(svg.tag("g", svg.title(shown), rect))
        x, left, cap = at, step.remaining, step.limit
    edge += [(x, heights.at(left)), (widths.end, heights.at(left))]
    limit += [(x, heights.at(cap)), (widths.end, heights.at(cap))]
    ground = [(widths.end, heights.at(0)), (widths.start, heights.at(0))]
    said = svg.text(widths.end, heights.at(cap) - 5, f"limit {cap:.6g}", class_="chart-quiet", anchor="end")
    return [
        svg.tag("polygon", points=svg.path([*edge, *ground]), class_="chart-left"),
        svg.tag("polyline", points=svg.path(edge), fill="none", class_="chart-line chart-kind-0"),
        svg.tag("polyline", points=svg.path(limit), fill="none", class_="chart-limit"),
        said,
        *drops,
    ]


def _fill(called: str, place: int) -> str:
    return f"url(#{called}-who-{place})"


def _patterns(called: str, people: int) -> Markup:
    """Full, stripes three ways, a grid and dots: told apart without colour."""
    drawn = [
        "M0 0H8V8H0Z", "M-2 2L2 -2M0 8L8 0M6 10L10 6", "M-2 6L2 10M0 0L8 8M6 -2L10 2",
        "M0 2H8M0 6H8", "M2 0V8M6 0V8M0 4H8", "M1 1H4V4H1ZM5 5H8V8H5Z",
    ]  # fmt: skip
    found = []
    for place, shape in enumerate(drawn[: min(people, MOST_PEOPLE)]):
        ground = svg.rect(0, 0, 8, 8, class_="chart-ground")
        lines = svg.tag("path", d=shape, class_=f"chart-ink-{place}")
        made = svg.tag(
            "pattern", ground, lines, id=f"{called}-who-{place}", width=8, height=8, patternUnits="userSpaceOnUse"
        )
        found.append(made)
    return svg.tag("defs", *found) if found else svg.join([])


def _described(steps: Sequence[Step], unit: str) -> str:
    last = steps[-1]
    people = len({step.who for step in steps if step.who})
    takers = f" by {people:,} {'person' if people == 1 else 'people'}" if people else ""
    count = f"{len(steps):,} steps" if len(steps) > 1 else "One step"
    return f"{count}{takers}. {last.remaining:.6g} {unit} is left of {last.limit:.6g}."
