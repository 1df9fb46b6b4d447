"""Two answers beside each other: on one scale, and with their difference where their noise is independent.

Guarantee: with the confidence that is shown, the exact difference of two numbers lies in its interval.
Because: each number's own interval is read at a confidence whose square is not less than that, and the two noises are
    independent, so both hold together at least that often; then the difference lies between the differences of their
    ends. All of it is computed from what was released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.console import public_facts
from discreet.console.console_text import page_sentence
from discreet.console.jobs.release_json import without_infinities
from discreet.console.pages import release_view
from discreet.console.pages.answer_address import recalled_at, statement_at, whole_number_at
from discreet.console.pages.release_list import recall_release
from discreet.console.request_context import RequestContext
from discreet.console.responses import HandlerResponse, Page, PageTable
from discreet.console.routes import Route
from discreet.errors import UsageError
from discreet.plan.price import confidence_of
from discreet.present.cell_text import DASH, cell_text
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease
from discreet.release import Interval, Release, format_cell, is_below_noise

#: Groups that are drawn, two bars each.
DRAWN = 20
#: Rows on the page; all are in its files.
MOST_SHOWN = 500
_COLUMNS = ("group", "first", "first_low", "first_high", "second", "second_low", "second_high",
            "difference", "difference_low", "difference_high")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedNumber:
    """A number of two answers: value, low and high of each, and of the second minus the first; or None.

    group: of each key, whether the row is a total over it, and its value: a value may be called "total", too.
    """

    group: tuple[tuple[bool, Any], ...]
    first: tuple[Any, Any, Any]
    second: tuple[Any, Any, Any]
    difference: tuple[Any, Any, Any]

    @property
    def label(self) -> str:
        return ", ".join("total" if total else cell_text(value) for total, value in self.group) or "all"

    def page_line(self) -> dict[str, Any]:
        """As the page shows it."""
        apart = None not in self.difference[1:] and not self.difference[1] <= 0 <= self.difference[2]
        return {
            "group": self.label,
            **{name: _number_text(getattr(self, name)) for name in ("first", "second", "difference")},
            "apart": apart,
        }


def show(context: RequestContext) -> HandlerResponse:
    """One answer beside another."""
    project, first = context.handle.project, recalled_at(context)
    second = recall_release(project, context.query_text("other").strip())
    confidence = confidence_of(context.query_text("confidence").strip() or "0.95")
    statements = statement_at(context), whole_number_at(context, "other_statement")
    sides = [_side(context, each, statement) for each, statement in zip((first, second), statements, strict=True)]
    data: dict[str, Any] = {
        "sides": sides,
        "statements": list(statements),
        "confidence": float(confidence),
        "shared": shared_noise(project, first, second),
        "changes": _changes(first, second),
        "lines": [], "more": 0, "numbers": [], "number": 1, "column": "", "chart": None, "why_not": "",
    }  # fmt: skip
    rows: list[list[Any]] = []
    try:
        one, two = (
            project.release(each.id, confidence=confidence, statement=statement)
            for each, statement in zip((first, second), statements, strict=True)
        )
        if set(one.sources) & {second.id, *two.sources} or first.id in two.sources:
            data["shared"] = True
        names = common_numbers(one, two)
        number = min(whole_number_at(context, "number"), len(names))
        lines = compare_releases(one, two, names[number - 1], confidence, independent=not data["shared"])
        data |= {
            "numbers": names,
            "number": number,
            "column": names[number - 1],
            "lines": [each.page_line() for each in lines[:MOST_SHOWN]],
            "more": max(0, len(lines) - MOST_SHOWN),
            "chart": _chart(lines, names[number - 1]),
        }
        rows = [[each.label, *each.first, *each.second, *each.difference] for each in lines]
    except UsageError as problem:
        data["why_not"] = page_sentence(problem.reason)
    return Page(template="answer_beside.html", data=data, table=PageTable(columns=_COLUMNS, rows=rows))


def _side(context: RequestContext, recalled_release: RecalledRelease, statement: int) -> dict[str, Any]:
    """What stands over one of the two."""
    charge, note = recalled_release.charge, context.people.notes.find(recalled_release.id)
    texts = recalled_release.texts
    return {
        "release": recalled_release.id,
        "name": note.name,
        "asked": texts[statement - 1] if 0 < statement <= len(texts) else recalled_release.words,
        "table": charge.table,
        "version": charge.version,
        "time": public_facts.to_minute(charge.time),
        "cost": public_facts.spending_json(recalled_release.cost, up=True)["words"],
    }


def _changes(first: RecalledRelease, second: RecalledRelease) -> list[str]:
    """What else may be behind a difference than noise."""
    lines = []
    if first.charge.table != second.charge.table:
        lines.append("The two answers are about different tables.")
    elif first.charge.version != second.charge.version:
        lines.append("The two answers are about different versions of the table: the people in it may have changed.")
    if first.texts != second.texts:
        lines.append("The two queries are not the same, so their numbers may mean different things.")
    return lines


def shared_noise(project: Project, first: RecalledRelease, second: RecalledRelease) -> bool:
    """Whether two answers may have noise in common, so that their difference is not as uncertain as it looks."""
    return bool(_noise_sources(project, first) & _noise_sources(project, second))


def _noise_sources(project: Project, recalled_release: RecalledRelease) -> set[str]:
    """The releases whose noise is in a release: itself, what it is combined with, and all that refine each other."""
    refinements = project.ledger.state.refinements
    earlier = {later: release for release, later in refinements.refined_by.items()}
    sources: set[str] = set()
    waiting = [recalled_release.id, *recalled_release.also]
    while waiting:
        id_ = waiting.pop()
        if id_ in sources:
            continue
        sources.add(id_)
        also = project.recall(id_).also if id_ in project.ledger.state.charges else ()
        waiting += [each for each in (earlier.get(id_), refinements.refined_by.get(id_), *also) if each is not None]
    return sources


def common_numbers(first: Release, second: Release) -> list[str]:
    """The numbers that both answers have under one name; refuses answers whose groups are not named alike."""
    keys = [[column.name.lower() for column in each.columns if column.kind == "key"] for each in (first, second)]
    if keys[0] != keys[1]:
        raise UsageError("the two answers have different groups, so their rows cannot be put beside each other")
    names = [[column.name for column in each.columns if column.kind != "key"] for each in (first, second)]
    common = [name for name in names[0] if name in names[1]]
    if not common and len(names[0]) == len(names[1]) == 1:
        return names[0]  # one number each: they are meant, whatever they are called
    if not common:
        raise UsageError("the two answers have no number of the same name")
    return common


def compare_releases(
    first: Release, second: Release, name: str, confidence: Fraction, *, independent: bool
) -> list[ComparedNumber]:
    """A number of both, group by group; differences only where the noises are independent."""
    sides = [_numbers_by_group(each, name, confidence) for each in (first, second)]
    together = both_hold(confidence)
    wider = (
        [_numbers_by_group(each, name, together, following=True) for each in (first, second)]
        if independent
        else [{}, {}]
    )
    lines = []
    for group in dict.fromkeys([*sides[0], *sides[1]]):
        one, other = (side.get(group, (None, None, None)) for side in sides)
        apart = [side.get(group, (None, None, None)) for side in wider]
        lines.append(ComparedNumber(group=group, first=one, second=other, difference=_difference(*apart)))
    return lines


def both_hold(confidence: Fraction) -> Fraction:
    """A confidence at which two independent intervals hold together at least with another.

    >>> both_hold(Fraction(95, 100))
    Fraction(9747, 10000)
    """
    digits = 10_000
    while True:
        level = Fraction(math.isqrt(math.ceil(confidence * digits * digits) - 1) + 1, digits)
        if level < 1:
            return level
        digits *= 100


def _difference(one: tuple[Any, Any, Any], other: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    if None in one or None in other:
        return None, None, None
    return other[0] - one[0], other[1] - one[2], other[2] - one[1]


def _numbers_by_group(
    release: Release, name: str, confidence: Fraction, *, following: bool = False
) -> dict[tuple[tuple[bool, Any], ...], tuple[Any, Any, Any]]:
    """A number and the ends of its interval, by group.

    following: without ends that do not follow the confidence, as those of quantiles, which were measured with them.
    """
    keys = [place for place, column in enumerate(release.columns) if column.kind == "key"]
    numbers = [place for place, column in enumerate(release.columns) if column.kind != "key"]
    place = next((at for at in numbers if release.columns[at].name == name), numbers[0])
    intervals, others = release.interval(confidence), release.interval(confidence / 2)
    labelled = release_view.with_labels(release.to_data())["rows"]
    groups: dict[tuple[tuple[bool, Any], ...], tuple[Any, Any, Any]] = {}
    for at, row in enumerate(release.rows):
        totals = [(key, release.is_total(at, key)) for key in keys]
        group = tuple((total, None if total else labelled[at][key]) for key, total in totals)
        ends = _finite_ends(intervals[at][place])
        fixed = following and ends is not None and ends[0] < ends[1] and ends == _finite_ends(others[at][place])
        value = row[place] if isinstance(row[place], int | float) else None
        groups.setdefault(group, (value, *((None, None) if ends is None or fixed or value is None else ends)))
    return groups


def _finite_ends(interval: Interval) -> tuple[float, float] | None:
    if interval is None or any(isinstance(end, str) or not math.isfinite(end) for end in interval):
        return None
    return interval[0], interval[1]  # type: ignore[return-value]  # text was left out above


def _number_text(number: tuple[Any, Any, Any]) -> str:
    value, low, high = number
    if value is None:
        return DASH
    return str(format_cell(value, None if low is None else (low, high), key=False))


def _chart(lines: Sequence[ComparedNumber], title: str) -> dict[str, Any] | None:
    """Bars of both on one scale, one under the other."""
    bars = [
        {
            "label": f"{line.label} ({word})",
            "value": value,
            "low": low,
            "high": high,
            "drowned": is_below_noise(value, None if low is None else (low, high)),
        }
        for line in lines[:DRAWN]
        for word, (value, low, high) in (("first", line.first), ("second", line.second))
    ]
    if not any(bar["value"] is not None for bar in bars):
        return None
    chart: dict[str, Any] = without_infinities({"chart": "bars", "title": title, "bars": bars})
    return chart


ROUTES = (Route(method="GET", path="/a/{release}/beside", handler=show, role="analyst"),)
