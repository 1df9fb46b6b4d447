"""An auditor of SQL sums: what it answers and what it denies, whom an answer would give away, and what a denial tells.

`sum`: secrets are any numbers. The auditor never looks at them, so a denial tells nothing; but once it begins to deny,
little is left to ask. `boolean`: secrets are bits, and the auditor denies where the true answer would tell a bit;
whoever knows its rule learns from the denial itself.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.lab import pictures
from discreet.lab.evidence import Evidence
from discreet.lab.query_auditing.denial import MOST_PEOPLE
from discreet.lab.query_auditing.sql_sums import SqlSums
from discreet.lab.query_auditing.sum_auditor import Elimination

#: No more names stand in a sentence.
_MOST_NAMES = 5


def audit_sql(sums: SqlSums, *, kind: str = "sum") -> Evidence:
    """Audit SQL sums in their order. Success: the share of people whose secret the answers and denials tell."""
    start = time.process_time()
    if kind not in ("sum", "boolean"):
        raise UsageError(f"there is no kind {kind!r}", hint=Message(Flag("kind"), " sum, boolean"))
    lines, exposed, last = _audit_numbers(sums) if kind == "sum" else _audit_bits(sums)
    people = len(sums.queries.people)
    share = len(exposed) / people
    answered = sum(line["verdict"] != "deny" for line in lines)
    return Evidence(
        attack="auditing",
        success=share,
        chance=0.0,
        n=people,
        seconds=time.process_time() - start,
        interval=(share, share),  # proved, not sampled
        story=(*(_sentence(number, line) for number, line in enumerate(lines, start=1)), last),
        details={
            "kind": kind,
            "people": people,
            "queries": len(lines),
            "secret": sums.secret,
            "answered": answered,
            "denied": len(lines) - answered,
            "questions": lines,
            "told": exposed,
        },
        picture=lambda: pictures.bars(
            "Query auditing: questions answered and denied",
            {"answered": answered, "denied": len(lines) - answered},
            most=float(max(1, len(lines))),
        ),
    )


def _sentence(number: int, line: dict[str, Any]) -> str:
    secret = "bit" if "denial_tells" in line else "number"
    who = f"{len(line['people']):,} {'person' if len(line['people']) == 1 else 'people'}"
    verdict = {"answer": "answered", "nothing new": "answered: it follows from earlier answers", "deny": "denied"}
    because = f": it would tell the {secret} of {_listed(line['reveals'])}" if line["reveals"] else ""
    learnt = (
        f". The denial itself tells the bits of {_listed(line['denial_tells'])}" if line.get("denial_tells") else ""
    )
    return f"{number}. {line['question']} ({who}): {verdict[line['verdict']]}{because}{learnt}"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMES])
    return shown + (f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else "")


def _audit_numbers(sums: SqlSums) -> tuple[list[dict[str, Any]], list[str], str]:
    """The sum auditor: a question is denied where somebody's unit vector comes into the span of the answered ones."""
    span = Elimination(len(sums.queries.people))
    lines = []
    for place, question in enumerate(sums.queries.questions):
        left = span.reduce(question)
        verdict, reveals = "answer", list[str]()
        if not left.any():
            verdict = "nothing new"
        elif span.exposes(left):
            verdict, reveals = "deny", _revealed(sums, span, left)
        else:
            span.add(left)
        lines.append(_line(sums, place, verdict, reveals))
    people = len(sums.queries.people)
    last = (
        f"The answers tell nobody's {sums.secret}, and neither do the denials: this auditor never looks at a number. "
        f"Independent sums answered: {span.rank:,}. Of {people:,} people's numbers at most {max(0, people - 1):,} ever "
        "can be."
    )
    return lines, [], last


def _revealed(sums: SqlSums, span: Elimination, left: NDArray[np.int64]) -> list[str]:
    """Whose number one more answer would tell."""
    trial = Elimination(len(sums.queries.people), prime=span.prime)
    trial.rows, trial.pivots, trial.widths = span.rows.copy(), span.pivots.copy(), span.widths.copy()
    trial.add(left)
    return [sums.queries.people[person] for person in trial.exposed()]


def _audit_bits(sums: SqlSums) -> tuple[list[dict[str, Any]], list[str], str]:
    """The careless auditor of bits: it denies where, and only where, the true answer tells a bit.

    `fitting`: the tables that fit the answers, by which it decides. `possible`: those that fit its denials as well,
    which is what an asker knows who knows its rule. Because: all of them share the answers, and so `fitting`.
    """
    people, answers = len(sums.queries.people), sums.queries.answers
    if people > MOST_PEOPLE:
        raise UsageError(
            f"this auditor looks at all tables of bits: at most {MOST_PEOPLE} people, not {people:,}",
            hint=Message(Flag("kind", "sum"), ", which audits sums of any numbers fast"),
        )
    if not sums.is_bits:
        raise UsageError(f"{sums.secret!r} is not a column of bits", hint="its values must be 0 and 1")
    fitting = possible = np.arange(1 << people, dtype=np.uint32)
    lines: list[dict[str, Any]] = []
    settled: set[int] = set()
    for place, (question, truth) in enumerate(zip(sums.queries.questions, answers, strict=True)):
        assert truth is not None
        mask = np.uint32(sum(1 << person for person in np.flatnonzero(question).tolist()))
        counts, mine = np.bitwise_count(fitting & mask), np.bitwise_count(possible & mask)
        telling = [count for count in np.unique(counts) if _settled(fitting[counts == count], people)]
        before = _settled(possible, people)
        if truth in telling:
            reveals = _settled(fitting[counts == truth], people)
            possible = possible[np.isin(mine, telling)]
            verdict = "deny"
        else:
            reveals, verdict = set[int](), "answer"
            fitting, possible = fitting[counts == truth], possible[mine == truth]
        settled = _settled(possible, people)
        names = [[sums.queries.people[person] for person in sorted(each)] for each in (reveals, settled - before)]
        line = _line(sums, place, verdict, names[0])
        lines.append({**line, "denial_tells": names[1] if verdict == "deny" else []})
    exposed = [sums.queries.people[person] for person in sorted(settled)]
    last = (
        f"No answer tells a bit. Answers and denials together tell {len(exposed):,} of {people:,} bits to anybody who "
        f"knows the auditor's rule{': ' + _listed(exposed) if exposed else ''}."
    )
    return lines, exposed, last


def _settled(tables: NDArray[np.uint32], people: int) -> set[int]:
    """Who has the same bit in all of these tables."""
    differs = int(np.bitwise_or.reduce(tables) ^ np.bitwise_and.reduce(tables))
    return {person for person in range(people) if not differs >> person & 1}


def _line(sums: SqlSums, place: int, verdict: str, reveals: list[str]) -> dict[str, Any]:
    return {"question": sums.texts[place], "people": sums.names(place), "verdict": verdict, "reveals": reveals}
