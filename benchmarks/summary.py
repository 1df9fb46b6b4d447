"""The top of RESULTS.md: from all records, who won what by how much, where Discreet loses, and what peers cannot do.

A case is won by less CPU time, less memory or a smaller error than the best rival that answered. Who did not answer
neither wins nor loses: a dash. Where no rival answered there is nothing to win.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from records import OURS, Record, Run

#: What is compared, and how it is told.
MEASURES = {"cpu_s": "CPU", "peak_mib": "memory", "error": "error"}
UNITS = {"cpu_s": "CPU s", "peak_mib": "MiB", "error": ""}

#: Closer than this is a draw: two runs of one program differ by as much.
CLOSE = 1.10
#: Below this a measure cannot tell two systems apart: of memory, what an allocator takes at a time; of time, a clock's step.
LEAST = {"cpu_s": 1e-6, "peak_mib": 4.0, "error": 1e-12}

#: So many of the limits that a benchmark missed are told here; all stand in its section.
SHOWN = 6

Result = Literal["won", "draw", "lost", "alone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Discreet beside its best rival in one measure of one case. `alone`: no rival answered."""

    case: str
    measure: str
    own: float
    result: Result
    rival: str = ""
    theirs: float = 0.0

    @property
    def times(self) -> float:
        """By how much the better one is better."""
        floor = LEAST[self.measure]
        one, other = max(self.own, floor), max(self.theirs, floor)
        return max(one, other) / min(one, other)

    def __str__(self) -> str:
        match self.result:
            case "alone":
                return f"{figure(self.own)}, alone"
            case "draw":
                return f"{figure(self.own)} : {figure(self.theirs)}, draw with {self.rival}"
            case _:
                told = f"{figure(self.own)} : {figure(self.theirs)}, {self.result} {times(self.times)} ({self.rival})"
                return f"**{told}**" if self.result == "lost" else told


def figure(value: float) -> str:
    """Three digits, whatever the size.

    >>> figure(0.00883), figure(1234.5), figure(0)
    ('0.00883', '1,234', '0')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(ratio: float) -> str:
    """A ratio for people; where one side is next to nothing, only that.

    >>> times(1.52), times(467.3), times(5e9)
    ('1.5x', '467x', 'over 1,000,000x')
    """
    if ratio > 1e6:
        return "over 1,000,000x"
    return f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.1f}x"


def compare(records: Sequence[Record], measure: str) -> Comparison | None:
    """Discreet beside the best rival among the records of one case; None where Discreet has no such figure."""
    own = next((record for record in records if record.system == OURS), None)
    if own is None or (mine := getattr(own, measure)) is None:
        return None
    rivals = [
        record
        for record in records
        if record.system != OURS and not record.yardstick and getattr(record, measure) is not None
    ]
    if not rivals:
        return Comparison(case=own.case, measure=measure, own=mine, result="alone")
    best = min(rivals, key=lambda record: float(getattr(record, measure)))
    theirs = getattr(best, measure)
    found = Comparison(case=own.case, measure=measure, own=mine, result="draw", rival=best.system, theirs=theirs)
    if found.times <= _close(own, best, measure):
        return found
    result: Result = "won" if mine < theirs else "lost"
    return Comparison(case=own.case, measure=measure, own=mine, result=result, rival=best.system, theirs=theirs)


def _close(own: Record, other: Record, measure: str) -> float:
    """Up to which ratio two figures are a draw: for errors that draws make up, two of their own standard errors."""
    spread = 2 * math.hypot(own.uncertainty, other.uncertainty) if measure == "error" else 0.0
    return max(CLOSE, 1 + spread)


def cases(run: Run) -> dict[str, list[Record]]:
    """The records of each case, in order."""
    found: dict[str, list[Record]] = {}
    for record in run.records:
        found.setdefault(record.case, []).append(record)
    return found


def comparisons(run: Run) -> list[dict[str, Comparison | None]]:
    """By measure, for each case."""
    return [{measure: compare(records, measure) for measure in MEASURES} for records in cases(run).values()]


def text_of(runs: Sequence[Run], *, plots: Sequence[str] = (), absent: Mapping[str, str] | None = None) -> str:
    """The whole summary. `plots`: benchmarks that there is a picture of. `absent`: peers that are not to be had, and why."""
    parts = ["## Summary", _opening(), _score(runs), *_losses(runs), *_missed(runs)]
    for run in runs:
        parts += _beside(run, picture=run.benchmark in plots)
    return "\n\n".join([*parts, *_silences(runs, absent or {}), *_made(runs)])


def _opening() -> str:
    return (
        "Won, lost or drawn against the best peer that answered, case by case: by CPU seconds, by peak memory, by error. Closer "
        f"than {100 * (CLOSE - 1):.0f}%, or than two standard errors of the error, is a draw. A peer that did not answer is a dash: it "
        "never counts as a win. `alone`: no peer answered. Yardsticks (raw DuckDB, numpy's floats) protect nobody and "
        "take no part."
    )


def _score(runs: Sequence[Run]) -> str:
    lines = ["| | cases | " + " | ".join(f"{name}: won, draw, lost" for name in MEASURES.values()) + " | alone |"]
    lines.append("|---|---:|" + "---:|" * len(MEASURES) + "---:|")
    for run in runs:
        found = comparisons(run)
        counted = []
        for measure in MEASURES:
            results = [each[measure].result for each in found if each[measure] is not None]
            told = [results.count(word) for word in ("won", "draw", "lost")]
            counted.append(" / ".join(map(str, told)) if any(told) else "–")
        alone = sum(all(part is None or part.result == "alone" for part in each.values()) for each in found)
        lines.append(f"| [{run.benchmark}](#{run.benchmark}) | {len(found)} | {' | '.join(counted)} | {alone} |")
    return "\n".join(lines)


def _losses(runs: Sequence[Run]) -> list[str]:
    lost = [
        (run.benchmark, part)
        for run in runs
        for each in comparisons(run)
        for part in each.values()
        if part is not None and part.result == "lost"
    ]
    told = [
        f"- {name}, {part.case}: {MEASURES[part.measure]} {figure(part.own)} {UNITS[part.measure]}".rstrip()
        + f", where {part.rival} has {figure(part.theirs)} ({times(part.times)})"
        for name, part in sorted(lost, key=lambda pair: -pair[1].times)
    ]
    broken = [
        f"- {run.benchmark}, {record.case}: no answer ({record.outcome}: {_cut(record.reason)})"
        for run in runs
        for record in run.records
        if record.system == OURS and record.outcome != "answered"
    ]
    return ["### Where Discreet loses", "\n".join(broken + told) or "Nowhere in these cases."]


def _missed(runs: Sequence[Run]) -> list[str]:
    missed = []
    for run in runs:
        more = f"; and {len(run.missed) - SHOWN} more, in its section" if len(run.missed) > SHOWN else ""
        missed += [f"- {run.benchmark}: {'; '.join(run.missed[:SHOWN])}{more}"] if run.missed else []
    opening = "Limits that Discreet's own benchmarks set it, which may be stricter than any peer:"
    return ["### Where Discreet misses its own limits", f"{opening}\n\n" + "\n".join(missed) if missed else "Nowhere."]


def _beside(run: Run, *, picture: bool) -> list[str]:
    """One table a benchmark: cases that somebody else took part in."""
    grouped = {case: records for case, records in cases(run).items() if {record.system for record in records} - {OURS}}
    if not grouped:
        return []
    lines = ["| case | " + " | ".join(MEASURES.values()) + " | could not |", "|---|---|---|---|---|"]
    for case, records in grouped.items():
        told = [str(part) if (part := compare(records, measure)) else "–" for measure in MEASURES]
        silent = ", ".join(sorted({record.system for record in records if record.outcome != "answered"})) or ""
        lines.append(f"| {case} | {' | '.join(told)} | {silent} |")
    named = sorted({record.error_name for record in run.records if record.error_name})
    note = [f"Discreet : best peer. Error: {'; '.join(named)}."] if named else ["Discreet : best peer."]
    shown = [f"![CPU seconds of every system, {run.benchmark}](plots/{run.benchmark}.svg)"] if picture else []
    return [f"### {run.benchmark}, beside peers", *note, "\n".join(lines), *shown]


def _silences(runs: Sequence[Run], absent: Mapping[str, str]) -> list[str]:
    """Every reason once, with where it holds; and who could not be asked at all."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for run in runs:
        for record in run.records:
            if record.outcome != "answered" and record.system != OURS:
                found.setdefault((record.system, record.outcome, _cut(record.reason)), []).append(
                    f"{run.benchmark}: {record.case}"
                )
    lines = [
        f"- {system}, {outcome}: {reason} ({places[0]}{f' and {len(places) - 1} more' if len(places) > 1 else ''})"
        for (system, outcome, reason), places in sorted(found.items())
    ]
    lines += [f"- {system}, not asked: {reason}" for system, reason in sorted(absent.items())]
    return ["### What peers did not do, and why", "\n".join(lines) or "Nothing: all answered."]


def _cut(reason: str) -> str:
    """A reason in one line, that no table takes for its own."""
    told = " ".join(reason.replace("|", "/").split())
    return told if len(told) <= 160 else told[:157] + "..."


def _made(runs: Sequence[Run]) -> list[str]:
    systems = sorted(
        {(record.system, record.version) for run in runs for record in run.records if record.version},
        key=lambda pair: (pair[0] != OURS, pair[0].lower()),
    )
    versions = ", ".join(f"{name} {version}" for name, version in systems)
    lines = [f"- {run.benchmark}: {run.day}, {run.machine}" for run in runs]
    return ["### Versions, machines, days", f"{versions}.", "\n".join(lines)]
