"""The report in a few lines, for a terminal."""

from __future__ import annotations

from discreet import exact
from discreet.synth.inspect.compare import Distance
from discreet.synth.inspect.marginals import Marginal
from discreet.synth.inspect.report import Report
from discreet.synth.inspect.words import percent, plainly, rounded, some, tenths

_SIZES = {1: "single columns", 2: "pairs", 3: "threes"}

#: So many names are listed.
MOST = 8


def lines(report: Report) -> list[str]:
    """What the model is, what it is good for and what not. Names cannot move the terminal's cursor."""
    card = report.card
    paid = "costs nothing" if card.epsilon is None else f"epsilon {exact.show(card.epsilon, up=True)}"
    head = f"{card.kind} model of {card.table}: about {rounded(report.rows)} rows, {paid}"
    found = [head, *_tallies(report), *_listed(report), *_compared(report)]
    return [plainly(line) for line in found]


def _tallies(report: Report) -> list[str]:
    """How many tables of each size are good, in words."""
    near, confidence = percent(report.near), percent(report.confidence)
    found = [f"tables whose counts are within {near}, at {confidence}, for nine in ten of their rows:"]
    for size, words in _SIZES.items():
        judged = [each for each in report.marginals.judged if len(each.columns) == size]
        if judged:
            good = sum(each.verdict == "good" for each in judged)
            found.append(f"  {words}: {good:,} of {len(judged):,}{_unknown(judged)}")
    return found


def _unknown(judged: list[Marginal]) -> str:
    """How many of them nothing is claimed about, and why."""
    unknown = [each for each in judged if each.verdict == "unknown"]
    bought = sum(each.measured for each in unknown)
    rest = len(unknown) - bought
    told = f"; {bought:,} unknown (bought bounds may be too narrow)" if bought else ""
    return f"{told}; {rest:,} unknown (never measured)" if rest else told


def _listed(report: Report) -> list[str]:
    judged = report.marginals.judged
    groups = {
        "good": [each for each in judged if each.verdict == "good"],
        "too few rows for the noise": [each for each in judged if each.verdict == "poor"],
    }
    return [f"{words}: {_names(found)}" for words, found in groups.items() if found]


def _names(found: list[Marginal]) -> str:
    shown = ", ".join(" x ".join(each.columns) for each in found[:MOST])
    return f"{shown}, and {some(len(found) - MOST, 'more', 'more')}" if len(found) > MOST else shown


def _compared(report: Report) -> list[str]:
    found = report.comparison
    if found is None:
        return []
    worst = " x ".join(found.worst)
    return [
        f"compared with the real table ({found.release}): pairs are {_told(found.mean)} off on average",
        f"  the worst, as far as noise lets it be found: {worst}, {_told(found.worst_distance)}",
    ]


def _told(of: Distance) -> str:
    return f"{tenths(of.noisy_value)} ({tenths(of.low)} to {tenths(of.high)})"
