"""What `discreet survey` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table as RichTable
from rich.text import Text as RichText

from discreet import exact
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.surveys.collector.survey_definition import Survey
    from discreet.surveys.device.respondent_device import Donation, PeriodDonation

#: More choices than this are cut on a screen.
MOST_CHOICES = 60
#: The longest list of words.
MOST_WORDS = 1_000_000


def new_output(survey: Survey, because: str) -> tuple[dict[str, Any], list[str]]:
    """A new survey."""
    from discreet.surveys.collector.period_results import periods_lines
    from discreet.surveys.collector.randomizer_design import NOT_IN_BROWSERS

    randomizer = survey.randomizer
    data = {
        "survey": survey.id,
        "asker": survey.asker,
        "protocol": randomizer.protocol,
        "because": because,
        "epsilon": exact.as_float(randomizer.epsilon, up=True),
        "bytes": survey.report_width,
        "minimum": survey.minimum,
        "tokens": survey.token,
        "browser": randomizer.protocol not in NOT_IN_BROWSERS,
        **_periods_data(survey),
    }
    lines = [
        f"created survey {survey.id}: {survey.question}",
        *([f"  respondents read: {survey.asker} asks."] if survey.asker else []),
        f"  {randomizer.protocol}: {because}",
        f"  an answer costs its respondent epsilon {exact.show(randomizer.epsilon, up=True)} "
        f"and is sent as {_bytes(survey.report_width)}",
        *(f"  {line}" for line in periods_lines(survey)),
        f"  estimated when there are at least {survey.minimum:,} reports"
        + ("" if survey.periods is None else " in a period"),
    ]
    if data["browser"] is False:
        lines.append(
            "  the respondents' page cannot make these reports: people answer with discreet survey answer --url"
        )
    if survey.token:
        lines.append(f"next: discreet survey tokens {survey.id} -n 100")
    return data, [*lines, "next: discreet survey serve"]


def _periods_data(survey: Survey) -> dict[str, Any]:
    """The periods of a survey and what they can cost; nothing where it has none."""
    from discreet.surveys.collector.period_results import loss_data

    if survey.periods is None:
        return {}
    return {
        "every": survey.periods.every,
        "donations": survey.periods.donations,
        "periods": survey.periods.periods,
        "coins": survey.periods.coins,
        "begin": survey.periods.begin_text(1),
        "loss": loss_data(survey.periods, survey.randomizer),
    }


def terms_output(survey: Survey) -> tuple[dict[str, Any], list[str]]:
    """What an answer would cost, before there is one."""
    from discreet.surveys.collector.period_results import periods_lines

    epsilon = survey.randomizer.epsilon
    data: dict[str, Any] = {
        "survey": survey.id,
        "sent": False,
        "question": survey.question,
        "asker": survey.asker,
        "protocol": survey.randomizer.protocol,
        "epsilon": exact.as_float(epsilon, up=True),
        **_periods_data(survey),
    }
    return data, [
        survey.question,
        *([f"  {survey.asker} asks."] if survey.asker else []),
        f"  an answer costs epsilon {exact.show(epsilon, up=True)} ({survey.randomizer.protocol})",
        *(f"  {line}" for line in periods_lines(survey)),
        "nothing was sent, and no coin was flipped; with an answer, --dry-run shows what would be sent",
    ]


def weak_protection_notes(epsilon: Fraction) -> list[str]:
    """A note where an answer is hardly hidden: what its epsilon means.

    >>> weak_protection_notes(Fraction(8))[0].rpartition(" = ")[2]
    '2,981'
    >>> weak_protection_notes(Fraction(2))
    []
    """
    from discreet.surveys.collector.survey_definition import WEAK_EPSILON

    if epsilon < WEAK_EPSILON:
        return []
    factor = math.exp(min(float(epsilon), 700.0))
    shown = f"{factor:,.0f}" if factor < 10**9 else f"{factor:.1e}"
    return [
        f"epsilon {exact.show(epsilon, up=True)} gives a respondent little protection: their report can change the "
        f"odds of what they answered by a factor of e^epsilon = {shown}"
    ]


def answer_output(
    survey: Survey, given: Donation, acknowledgement: dict[str, Any] | None, donated: PeriodDonation | None = None
) -> tuple[dict[str, Any], list[str]]:
    """One report: what it is, why it is deniable, and what became of it."""
    from discreet.surveys.device.report_sender import report_text

    data: dict[str, Any] = {
        "survey": survey.id,
        "sent": acknowledgement is not None,
        "id": given.id,
        "report": report_text(given.report),
        "epsilon": exact.as_float(given.epsilon, up=True),
        "period": exact.as_float(given.period, up=True),
        "lifetime": exact.as_float(given.lifetime, up=True),
        "accepted": 0 if acknowledgement is None else acknowledgement["accepted"],
        "repeated": 0 if acknowledgement is None else acknowledgement["repeated"],
    }
    named = _supported_choices(survey, given.report)
    if named is not None:
        data["says"] = named
    if donated is not None:
        data |= {"number": donated.number, "left": donated.left, "loss": _periods_data(survey)["loss"]}
    often = 100 * math.exp(-float(survey.randomizer.epsilon))
    lines = [
        f"{'would send' if acknowledgement is None else 'sent'} {report_text(given.report)} under the id {given.id}",
        *([f"  it says: {', '.join(named) or 'none of the choices'}"] if named is not None else []),
        f"  people with any other true answer send this same report at least {often:.3g} times "
        "for every 100 times that people with your answer send it",
        f"  epsilon: {exact.show(given.epsilon, up=True)} for this answer, {exact.show(given.period, up=True)} "
        f"in this period, {exact.show(given.lifetime, up=True)} for all answers of this device ever",
    ]
    if donated is not None:
        lines += [f"  {line}" for line in _donation_lines(survey, donated)]
    if acknowledgement is None:
        lines.append("nothing was sent; without --dry-run, the same bytes are sent")
    elif acknowledgement["repeated"]:
        lines.append("this device was already counted: its first report is kept, and counts once")
    return data, lines


def _donation_lines(survey: Survey, donated: PeriodDonation) -> list[str]:
    """Which donation it is, and what all of them can cost."""
    from discreet.surveys.collector.period_results import periods_lines

    periods = survey.periods
    assert periods is not None
    left = "none is left" if not donated.left else f"{donated.left:,} left"
    pending = "an earlier donation was not acknowledged: it is sent first, with the answer that was given then"
    return [
        *([pending] if donated.pending else []),
        f"donation {donated.index + 1:,} of at most {periods.donations:,} for {periods.every} {donated.number:,} of "
        f"{periods.periods:,}; {left} for this {periods.every}",
        *periods_lines(survey)[1:],
    ]


def _supported_choices(survey: Survey, report: bytes) -> list[str] | None:
    """The choices that a report supports, where there are few enough to read."""
    from discreet.surveys.protocols.choice_randomizer import ChoiceRandomizer

    randomizer = survey.randomizer
    if not isinstance(randomizer, ChoiceRandomizer) or len(randomizer.choices) > MOST_CHOICES:
        return None
    supports = randomizer.supports(randomizer.matrix([report[survey.report_width - randomizer.width :]]))
    return [choice for choice, is_supported in zip(randomizer.choices, supports.tolist(), strict=True) if is_supported]


def estimate_lines(survey: Survey, estimates: dict[str, Any]) -> list[Any]:
    """Estimates and how far to trust them."""
    lines: list[Any] = [
        f"{survey.question}  ({estimates['n']:,} reports{', closed' if estimates['closed'] else ''})",
        "",
    ]
    points = 1 if "mean" in estimates else 100
    unit = "" if "mean" in estimates else " percentage points"
    if "mean" in estimates:
        low, high = estimates["interval"]
        lines.append(f"mean {estimates['mean']:.6g} ({low:.6g} to {high:.6g})")
    else:
        lines.append(_table(estimates["estimates"]))
        if len(estimates["estimates"]) > MOST_CHOICES:
            lines.append(f"… and {len(estimates['estimates']) - MOST_CHOICES:,} more: --json has them all")
    fakes = estimates["fakes"]
    moved = f"{points * fakes['could_move']:.3g}{unit}"
    lines += [
        "",
        f"intervals have confidence {estimates['confidence']:.4g} and are about those who answered; "
        "estimates are unbiased, so they can be outside their bounds",
        f"about {estimates['halve']:,} more answers would halve the intervals",
        f"{fakes['reports']:,} fake reports among these could have moved an estimate by {moved}",
        f"each answer cost its respondent epsilon {estimates['epsilon']:.6g}",
    ]
    if estimates.get("made"):
        lines.append(f"computed by {estimates['made']}: these estimates have no interval")
    rest = 0 if estimates["closed"] else estimates["n"] % max(1, survey.minimum)
    if rest:
        lines.append(
            "this counts every report and is for you only; the results page shows the first "
            f"{estimates['n'] - rest:,}, in steps of {survey.minimum:,}, so that no two views differ by one "
            "person's report: show others no more than that"
        )
    return lines


def _table(estimates: Sequence[dict[str, Any]]) -> RichTable:
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in ("choice", "share", "interval"):
        table.add_column(name, justify="left" if name == "choice" else "right", no_wrap=True)
    for each in estimates[:MOST_CHOICES]:
        interval = "" if each["interval"] is None else " to ".join(percent_ends(*each["interval"]))
        table.add_row(RichText(each["choice"]), f"{each['share']:.2%}", interval)
    return table


def percent_ends(low: float, high: float) -> tuple[str, str]:
    """The ends of an interval as percentages, rounded outwards: what is shown holds what it says.

    >>> percent_ends(0.28557, 0.28571428)
    ('28.55%', '28.58%')
    >>> percent_ends(0.0, 0.5)
    ('0.00%', '50.00%')
    """
    first, last = math.floor(round(low * 10_000, 6)), math.ceil(round(high * 10_000, 6))
    return f"{first / 100:.2f}%", f"{last / 100:.2f}%"


def list_output(counted_surveys: Sequence[tuple[Survey, int]]) -> tuple[dict[str, Any], list[Any]]:
    """The surveys of a store, with their numbers of reports."""
    data = {
        "surveys": [
            {
                "survey": survey.id,
                "question": survey.question,
                "protocol": survey.randomizer.protocol,
                "epsilon": exact.as_float(survey.randomizer.epsilon, up=True),
                "n": reports,
                "minimum": survey.minimum,
                "tokens": survey.token,
                "closed": survey.closed,
                "created": survey.created,
            }
            for survey, reports in counted_surveys
        ]
    }
    if not counted_surveys:
        return data, ["there are no surveys yet; create one with discreet survey new"]
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "question", "protocol", "epsilon", "reports", ""):
        table.add_column(name, justify="right" if name in ("epsilon", "reports") else "left", no_wrap=True)
    for survey, reports in counted_surveys:
        cells = [survey.id, _cut(survey.question), survey.randomizer.protocol]
        figures = [exact.show(survey.randomizer.epsilon, up=True), f"{reports:,}", "closed" if survey.closed else ""]
        table.add_row(*(RichText(cell) for cell in cells), *figures)
    return data, [table]


def serve_output(address: str, surveys: Sequence[Survey]) -> tuple[dict[str, Any], list[str]]:
    """Where the surveys are."""
    taking = [survey for survey in surveys if not survey.closed]
    data = {
        "url": address,
        "surveys": [
            {"survey": survey.id, "url": f"{address}/s/{survey.id}", "results": f"{address}/s/{survey.id}/results"}
            for survey in taking
        ],
    }
    lines = [f"serving at {address}; press Ctrl-C to stop"]
    for survey in taking:
        lines += [
            f"{_cut(survey.question)}",
            f"  answer   {address}/s/{survey.id}",
            f"  results  {address}/s/{survey.id}/results",
        ]
    return data, lines if taking else [*lines, "no survey is open; create one with discreet survey new"]


def words_of(path: Path) -> list[str]:
    """The words of a file, one on each line, each once."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"cannot read {str(path)!r}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{str(path)!r} is not UTF-8 text") from None
    words = list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    if not 1 <= len(words) <= MOST_WORDS:
        raise UsageError(f"{str(path)!r} holds {len(words):,} words; there must be 1 to {MOST_WORDS:,}")
    return words


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _bytes(many: int) -> str:
    return f"{many:,} byte{'' if many == 1 else 's'}"
