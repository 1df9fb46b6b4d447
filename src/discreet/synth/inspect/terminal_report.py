"""The report in a few lines, for a terminal."""

from __future__ import annotations

from discreet import exact
from discreet.present.cell_text import visible_text
from discreet.synth.inspect.marginal_verdicts import JudgedMarginal
from discreet.synth.inspect.model_comparison import Distance
from discreet.synth.inspect.model_findings import ModelFindings
from discreet.synth.inspect.report_text import count_noun, percent, rounded, tenths

_SIZES = {1: "single columns", 2: "pairs", 3: "triples"}

#: So many names are listed.
MOST = 8


def report_lines(report: ModelFindings) -> list[str]:
    """What the model is, what it is good for and what not. Names cannot move the terminal's cursor."""
    card = report.card
    paid = "costs nothing" if card.epsilon is None else f"epsilon {exact.show(card.epsilon, up=True)}"
    head = f"{card.kind} model of {card.table}: about {rounded(report.rows)} rows, {paid}"
    text_lines = [head, *_tallies(report), *_listed(report), *_compared(report)]
    return [visible_text(line) for line in text_lines]


def _tallies(report: ModelFindings) -> list[str]:
    """How many tables of each size are good, in words."""
    near, confidence = percent(report.near), percent(report.confidence)
    text_lines = [f"tables with counts within {near} for at least 90% of their rows, at {confidence} confidence:"]
    for size, words in _SIZES.items():
        judged = [each for each in report.marginals.judged if len(each.columns) == size]
        if judged:
            good = sum(each.verdict == "good" for each in judged)
            text_lines.append(f"  {words}: {good:,} of {len(judged):,}{_unknown(judged)}")
    return text_lines


def _unknown(judged: list[JudgedMarginal]) -> str:
    """How many of them nothing is claimed about, and why."""
    unknown = [each for each in judged if each.verdict == "unknown"]
    bought = sum(each.measured for each in unknown)
    rest = len(unknown) - bought
    unknown_text = f"; {bought:,} unknown (measured bounds may be too narrow)" if bought else ""
    return f"{unknown_text}; {rest:,} unknown (never measured)" if rest else unknown_text


def _listed(report: ModelFindings) -> list[str]:
    judged = report.marginals.judged
    groups = {
        "good": [each for each in judged if each.verdict == "good"],
        "too few rows compared with the noise": [each for each in judged if each.verdict == "poor"],
    }
    return [f"{words}: {_names(group_marginals)}" for words, group_marginals in groups.items() if group_marginals]


def _names(judged_marginals: list[JudgedMarginal]) -> str:
    shown = ", ".join(" x ".join(each.columns) for each in judged_marginals[:MOST])
    return (
        f"{shown}, and {count_noun(len(judged_marginals) - MOST, 'more', 'more')}"
        if len(judged_marginals) > MOST
        else shown
    )


def _compared(report: ModelFindings) -> list[str]:
    comparison = report.comparison
    if comparison is None:
        return []
    worst = " x ".join(comparison.worst)
    return [
        f"compared with the real table ({comparison.release}): pairs are {_distance_text(comparison.mean)} off on "
        "average",
        f"  the worst pair, as far as the noise shows: {worst}, {_distance_text(comparison.worst_distance)}",
    ]


def _distance_text(of: Distance) -> str:
    return f"{tenths(of.noisy_value)} ({tenths(of.low)} to {tenths(of.high)})"
