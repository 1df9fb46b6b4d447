"""A checklist of hazards for one declared table, in the terms of NIST SP 800-226: read off declarations and the ledger.

Each line says whether the hazard is met here, by what, and what the owner can still do. None of it looks at data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet import exact
from discreet.project.project import Project
from discreet.schema.schema import Table

#: Above this epsilon in all, the odds that an attacker gains are large: e^5 is about 148.
LARGE = Fraction(5)
#: A delta above this is more than one in a hundred thousand.
LARGE_DELTA = Fraction(1, 100_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """One line: `state` is met, open (the owner should look), or outside (nothing that this software can settle)."""

    name: str
    state: Literal["met", "open", "outside"]
    words: str


def checklist(project: Project, table: Table) -> list[dict[str, Any]]:
    """The lines for a private table."""
    return [asdict(hazard) for hazard in _lines(project, table)]


def _lines(project: Project, table: Table) -> Iterator[Hazard]:
    yield _unit(table)
    yield _budget(project, table)
    yield _delta(project, table)
    yield _domains(project, table)
    yield from _always_met(table)
    yield _exact_totals(project, table)
    yield Hazard(
        name="Data collection and access control",
        state="outside",
        words="The owner must control who can read the source, the ledger's folder and the machine; see SECURITY.md.",
    )
    yield Hazard(
        name="Linked records",
        state="outside",
        words="Facts that several people share (a household, a contagious disease) show in all of their rows: "
        "the privacy unit protects one person, not a group.",
    )


def _unit(table: Table) -> Hazard:
    privacy_unit, name = table.schema.unit, "Privacy unit"
    if privacy_unit.is_row:
        return Hazard(
            name=name,
            state="open",
            words="Each row is protected by itself. If one person can have several rows, declare `person`.",
        )
    if privacy_unit.ends:
        return Hazard(name=name, state="met", words="Each person is protected as a whole, with all of their edges.")
    return Hazard(
        name=name,
        state="met",
        words=f"Each person is protected as a whole, with up to {privacy_unit.rows:,} of their rows.",
    )


def _budget(project: Project, table: Table) -> Hazard:
    limit, name = project.guarantee(table.name), "Epsilon over the lifetime"
    shown = exact.show(limit.epsilon)
    odds = "more than 1,000-fold" if limit.epsilon > 7 else f"at most {math.exp(limit.epsilon):,.1f}-fold"
    words = f"All answers together stay within epsilon {shown}: the odds about one person may grow {odds}."
    return Hazard(name=name, state="open" if limit.epsilon > LARGE else "met", words=words)


def _delta(project: Project, table: Table) -> Hazard:
    delta, name = project.guarantee(table.name).delta, "Delta"
    if delta == 0:
        return Hazard(name=name, state="met", words="Zero: the guarantee holds without exception.")
    words = f"The guarantee may fail with probability {exact.show(delta)}; keep it well below 1 / number of people."
    return Hazard(name=name, state="open" if delta > LARGE_DELTA else "met", words=words)


def _domains(project: Project, table: Table) -> Hazard:
    raw = project.file.raw.get(table.name, {}).get("columns", {})
    bought = [name for name, raw_column in raw.items() if isinstance(raw_column, dict) and "measured" in raw_column]
    words = "Bounds and categories come from discreet.toml, never from looking at the data"
    more = f"; those of {', '.join(sorted(bought)[:6])} were measured privately." if bought else "."
    return Hazard(name="Domains taken from data", state="met", words=words + more)


def _always_met(table: Table) -> Iterator[Hazard]:
    yield Hazard(
        name="Floating point and noise sampling",
        state="met",
        words="Exact samplers draw whole-number noise from the system's randomness; no draw depends on a float.",
    )
    yield Hazard(
        name="Timing and errors",
        state="met",
        words="Answers leave this server on a time grid; every failed query gets the same message.",
    )
    yield Hazard(
        name="Composition",
        state="met",
        words="Every answer is charged before data is read, in a ledger that survives crashes and detects rollbacks.",
    )
    yield Hazard(
        name="Bias from clamping and truncation",
        state="open" if not table.schema.unit.is_row else "met",
        words="Values outside their bounds are clamped, and rows over a person's limit are left out: "
        "`discreet bounds TABLE --report` estimates the effect.",
    )


def _exact_totals(project: Project, table: Table) -> Hazard:
    invariants = [each for each in project.ledger.state.invariants.values() if each.population == table.population]
    if not invariants:
        return Hazard(name="Unprotected quantities", state="met", words="Nothing exact is published.")
    totals = "; ".join(each.words for each in invariants[:4])
    words = f"Exact totals are published ({totals}): they do not protect whether a person is counted in them."
    return Hazard(name="Unprotected quantities", state="open", words=words)
