"""What `discreet survey estimate` prints of a survey with periods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table as RichTable
from rich.text import Text as RichText

from discreet import exact
from discreet.cli.survey_output import MOST_CHOICES, percent_ends

if TYPE_CHECKING:
    from discreet.surveys.collector.survey_definition import Survey


def period_lines(survey: Survey, estimates: dict[str, Any]) -> list[Any]:
    """Each period with its estimates, what changed, and the trend."""
    from discreet.surveys.protocols.collection_periods import one_period

    every = estimates["every"]
    lines: list[Any] = [
        f"{survey.question}  ({estimates['n']:,} reports{', closed' if estimates['closed'] else ''})",
        "",
        _period_table(every, estimates["periods"]),
        "",
    ]
    if estimates["changes"]:
        lines += [_change_table(every, estimates["changes"]), ""]
    if estimates["trends"]:
        lines += [_trend_table(every, estimates["trends"]), ""]
    donation, period, total = (
        exact.show_float(estimates["loss"][name], up=True) for name in ("donation", "per_period", "over_survey")
    )
    lines += [
        f"for each choice, all intervals of {every}s and changes hold together with confidence "
        f"{estimates['confidence']:.4g}; they are about the donations of those who answered",
        *_trend_notes(every, estimates),
        f"loss of a device: epsilon {donation} a donation, at most {period} {one_period(every)} and {total} in all",
    ]
    lines.append(
        "this counts every report and is for you only; the results page shows "
        f"{one_period(every)} once it takes no more reports"
    )
    return lines


def _period_table(every: str, periods: Sequence[dict[str, Any]]) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in (every, "begin", "reports", "choice", "estimate", "interval"):
        table.add_column(name, justify="left" if name in ("choice", "begin") else "right", no_wrap=True)
    for each in periods:
        head = [str(each["period"]), each["begin"], f"{each['n']:,}"]
        if each["waiting"]:
            table.add_row(*head, "", "too few", "")
        elif "mean" in each:
            low, high = each["interval"]
            table.add_row(*head, "mean", f"{each['mean']:.6g}", f"{low:.6g} to {high:.6g}")
        else:
            for place, one in enumerate(each["estimates"][:MOST_CHOICES]):
                interval = "" if one["interval"] is None else " to ".join(percent_ends(*one["interval"]))
                table.add_row(
                    *(head if not place else ["", "", ""]), RichText(one["choice"]), f"{one['share']:.2%}", interval
                )
    return table


def _change_table(every: str, changes: Sequence[dict[str, Any]]) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in (f"from {every}", "to", "choice", "change", "interval"):
        table.add_column(name, justify="left" if name == "choice" else "right", no_wrap=True)
    for each in changes:
        low, high = each["interval"]
        ends = [str(each["first"]), str(each["last"])]
        if "choice" not in each:
            table.add_row(*ends, "mean", f"{each['change']:+.6g}", f"{low:+.6g} to {high:+.6g}")
        else:
            table.add_row(*ends, RichText(each["choice"]), f"{each['change']:+.2%}", f"{low:+.2%} to {high:+.2%}")
    return table


def _trend_table(every: str, trends: Sequence[dict[str, Any]]) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    has_population = any(each["population"] is not None for each in trends)
    for name in ("trend", f"each {every}", "interval", *(["interval for a population"] if has_population else [])):
        table.add_column(name, justify="left" if name == "trend" else "right", no_wrap=True)
    for each in trends[:MOST_CHOICES]:
        slope, *intervals = _trend_texts(each)
        table.add_row(RichText(each.get("choice", "mean")), slope, *intervals[: 1 + has_population])
    return table


def _trend_texts(trend: dict[str, Any]) -> list[str]:
    """A slope and its two intervals; the second one can be empty."""
    number = "{:+.6g}" if "choice" not in trend else "{:+.2%}"
    intervals = (trend["interval"], trend["population"])
    return [number.format(trend["slope"]), *(" to ".join(map(number.format, each or ())) for each in intervals)]


def _trend_notes(every: str, estimates: dict[str, Any]) -> list[str]:
    """What a trend is, and of whom its intervals speak."""
    trends = estimates["trends"]
    if not trends:
        return []
    first = f"a trend is the slope of the least-squares line through the {every}s' estimates"
    if all(each["population"] is None for each in trends):
        return [f"{first}; its interval holds together with those of the {every}s"]
    return [
        f"{first}; each of its intervals holds by itself with confidence {estimates['confidence']:.4g}: "
        "'interval' for the donations that were made, 'interval for a population' if the respondents of each "
        f"{every} are a random sample of that population"
    ]
