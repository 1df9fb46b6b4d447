"""A budget over time: what is left under its limit, falling by steps, and who took each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from discreet.present.charts import axis, svg, time_ticks
from discreet.present.charts.scale import Scale, check_finite, span, widen_to_round

#: So many people have a pattern of their own; all others share the last.
MOST_PEOPLE = 6
_HEIGHT = 220.0
#: How wide a step is drawn at least, so that it is seen.
_WIDE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStep:
    """An act at a time: what is left after it, under which limit. `who` took it; nobody where the owner raised it."""

    when: datetime
    remaining: float
    limit: float
    who: str = ""

    def __post_init__(self) -> None:
        check_finite(self.remaining, of="what is left")
        limit = check_finite(self.limit, of="a limit")
        if limit is None or limit < 0 or self.remaining > self.limit:
            raise ValueError("the remaining budget cannot exceed the limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetForecast:
    """A line ahead: what would be left at `end`, were spending to go on from `begin` as before."""

    begin: datetime
    end: datetime
    remaining: float

    def __post_init__(self) -> None:
        check_finite(self.remaining, of="a forecast")
        if self.end <= self.begin:
            raise ValueError("a forecast ends after it begins")


def burn_down(
    given: Sequence[BudgetStep],
    *,
    title: str,
    unit: str = "epsilon",
    name: str = "",
    forecast: BudgetForecast | None = None,
) -> Markup:
    """What was left after each step, with the limit as a broken line. Steps come in the order of time.

    forecast: a dotted line that goes on from the last step.

    Who took a step is told by pattern and by class, not by colour alone.
    """
    called, steps = svg.name(name), list(given)
    if [step.when for step in steps] != sorted(step.when for step in steps):
        raise ValueError("steps must be in order of time")
    if not steps:
        body, height = svg.nothing()
        return svg.drawing(called, says=title, describes="Nothing was spent.", height=height, body=body)
    order = _pattern_by_person(steps)
    signs = [
        (who, svg.rect(0, -6, 12, 6, class_=f"chart-who-{at}", fill=_fill(called, at))) for who, at in order.items()
    ]
    marks, top = axis.legend(signs[:MOST_PEOPLE], top=0)
    marks.append(svg.text(0, top + 12, f"{unit} left", class_="chart-quiet"))
    top += 26
    bottom = top + _HEIGHT - 50
    ends = widen_to_round(span([end for step in steps for end in (step.limit, step.remaining)], zero=True))
    heights = Scale(low=ends[0], high=ends[1], start=bottom, end=top)
    left = axis.tick_width(*ends)
    widths = _widths([step.when for step in steps] + ([forecast.begin, forecast.end] if forecast else []), left)
    marks += axis.vertical_axis(heights, left=left, right=svg.WIDTH) + _moments(steps, widths, bottom)
    marks += _draw_steps(steps, widths, heights, order, called, forecast)
    body = [_patterns(called, len(order)), *marks]
    return svg.drawing(called, says=title, describes=_describe(steps, unit, forecast), height=bottom + 22, body=body)


def _pattern_by_person(steps: Sequence[BudgetStep]) -> dict[str, int]:
    """Each who took something, and their pattern: who comes first has the first."""
    pattern_numbers: dict[str, int] = {}
    for step in steps:
        if step.who:
            pattern_numbers.setdefault(step.who, min(len(pattern_numbers), MOST_PEOPLE - 1))
    if len(pattern_numbers) > MOST_PEOPLE:
        last = [who for who, place in pattern_numbers.items() if place == MOST_PEOPLE - 1]
        first = {who: place for who, place in pattern_numbers.items() if place < MOST_PEOPLE - 1}
        return {**first, f"{len(last):,} others": MOST_PEOPLE - 1} | dict.fromkeys(last, MOST_PEOPLE - 1)
    return pattern_numbers


def _widths(moments: Sequence[datetime], left: float) -> Scale:
    times = [time_ticks.seconds(moment) for moment in moments]
    low, high = (min(times), max(times)) if times else (0.0, 1.0)
    room = max(1.0, (high - low) * 0.03)  # the first and the last step are not on the edge
    return Scale(low=low - room, high=high + room, start=left, end=svg.WIDTH)


def _moments(steps: Sequence[BudgetStep], widths: Scale, bottom: float) -> list[Markup]:
    marks, free = [], 0.0
    for value, label in time_ticks.ticks(widths.low, widths.high) if steps else []:
        x, half = widths.at(value), svg.width(label) / 2
        middle = min(max(x, half), svg.WIDTH - half)
        marks.append(svg.line(x, bottom, x, bottom + 4, class_="chart-rule"))
        if middle - half >= free:
            marks.append(svg.text(middle, bottom + 16, label, class_="chart-quiet", anchor="middle"))
            free = middle + half + 6
    return marks


def _draw_steps(
    steps: Sequence[BudgetStep],
    widths: Scale,
    heights: Scale,
    order: dict[str, int],
    called: str,
    forecast: BudgetForecast | None,
) -> list[Markup]:
    """The limit, the area under what is left, and over it each step in the pattern of who took it."""
    edge, limit, drops = [], [], []
    left, cap = steps[0].limit, steps[0].limit
    x = widths.start
    for step in steps:
        at = widths.at(time_ticks.seconds(step.when))
        edge += [(x, heights.at(left)), (at, heights.at(left))]
        limit += [(x, heights.at(cap)), (at, heights.at(cap))]
        if step.who and step.remaining < left:
            shown = f"{step.when:%Y-%m-%d %H:%M}, {step.who}: {step.remaining:.6g} remaining of {step.limit:.6g}"
            place = order[step.who]
            rect = svg.rect(
                at - _WIDE / 2, heights.at(left), at + _WIDE / 2, heights.at(step.remaining),
                class_=f"chart-who-{place}", fill=_fill(called, place),
            )  # fmt: skip
            drops.append(svg.tag("g", svg.title(shown), rect))
        x, left, cap = at, step.remaining, step.limit
    now = widths.end if forecast is None else max(x, widths.at(time_ticks.seconds(forecast.begin)))
    edge += [(x, heights.at(left)), (now, heights.at(left))]
    limit += [(x, heights.at(cap)), (widths.end, heights.at(cap))]
    ground = [(now, heights.at(0)), (widths.start, heights.at(0))]
    limit_label = svg.text(widths.end, heights.at(cap) - 5, f"limit {cap:.6g}", class_="chart-quiet", anchor="end")
    return [
        svg.tag("polygon", points=svg.path([*edge, *ground]), class_="chart-left"),
        svg.tag("polyline", points=svg.path(edge), fill="none", class_="chart-line chart-kind-0"),
        svg.tag("polyline", points=svg.path(limit), fill="none", class_="chart-limit"),
        limit_label,
        *drops,
        *([] if forecast is None else _draw_forecast(forecast, now, heights.at(left), widths, heights)),
    ]


def _draw_forecast(forecast: BudgetForecast, now: float, left: float, widths: Scale, heights: Scale) -> list[Markup]:
    end = (widths.at(time_ticks.seconds(forecast.end)), heights.at(forecast.remaining))
    line = svg.tag("polyline", points=svg.path([(now, left), end]), fill="none", class_="chart-forecast")
    words = f"at this pace, {forecast.remaining:.6g} would remain on {forecast.end:%Y-%m-%d}"
    return [svg.tag("g", svg.title(words), line)]


def _fill(called: str, place: int) -> str:
    return f"url(#{called}-who-{place})"


def _patterns(called: str, people: int) -> Markup:
    """Full, stripes three ways, a grid and dots: told apart without colour."""
    drawn = [
        "M0 0H8V8H0Z", "M-2 2L2 -2M0 8L8 0M6 10L10 6", "M-2 6L2 10M0 0L8 8M6 -2L10 2",
        "M0 2H8M0 6H8", "M2 0V8M6 0V8M0 4H8", "M1 1H4V4H1ZM5 5H8V8H5Z",
    ]  # fmt: skip
    patterns = []
    for place, shape in enumerate(drawn[: min(people, MOST_PEOPLE)]):
        ground = svg.rect(0, 0, 8, 8, class_="chart-ground")
        lines = svg.tag("path", d=shape, class_=f"chart-ink-{place}")
        made = svg.tag(
            "pattern", ground, lines, id=f"{called}-who-{place}", width=8, height=8, patternUnits="userSpaceOnUse"
        )
        patterns.append(made)
    return svg.tag("defs", *patterns) if patterns else svg.join([])


def _describe(steps: Sequence[BudgetStep], unit: str, forecast: BudgetForecast | None = None) -> str:
    last = steps[-1]
    people = len({step.who for step in steps if step.who})
    takers = f" by {people:,} {'person' if people == 1 else 'people'}" if people else ""
    count = f"{len(steps):,} steps" if len(steps) > 1 else "One step"
    ahead = (
        "" if forecast is None else f" At this pace {forecast.remaining:.6g} would remain on {forecast.end:%Y-%m-%d}."
    )
    return f"{count}{takers}. {last.remaining:.6g} {unit} remaining of {last.limit:.6g}.{ahead}"
