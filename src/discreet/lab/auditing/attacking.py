"""Query auditing as "protection": what it still answers, what its silence tells, and how its work grows."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.auditing import boolean, denial, sums
from discreet.lab.auditing.queries import Asked
from discreet.lab.evidence import Evidence, clopper_pearson

KINDS = ("sum", "boolean")
PEOPLE, QUERIES = 200, 400
#: Of the demonstration of denials, and of the growing Boolean audit. What they generate protects nobody.
TABLES, ROW = 1_000, 12
SIZES = (16, 24, 32, 40, 48)
#: No list in the details is longer.
MOST_SHOWN = 1_000


def attack(asked: Asked, *, kind: str = "sum") -> Evidence:
    """Audit a user's questions: whose numbers they tell when all are answered, and which can be answered safely.

    `sum`: secrets are any numbers, and answers matter only where they contradict each other. `boolean`:
    secrets are bits, and every question has its answer.
    """
    start = time.process_time()
    if kind == "sum":
        found, details, story = _sums(asked)
    elif kind == "boolean":
        found, details, story = _bits(asked)
    else:
        raise UsageError(f"there is no kind {kind!r}", hint=f"--kind {', '.join(KINDS)}")
    people = len(asked.people)
    share = len(found) / people
    return Evidence(
        attack="auditing",
        success=share,
        chance=0.0,
        n=people,
        seconds=time.process_time() - start,
        interval=(share, share),  # proved, not sampled
        story=story,
        details={"kind": kind, "people": people, "queries": len(asked.lines), **details},
        picture=lambda: pictures.bars("Query auditing: people whose value is told", {"all answered": share}),
    )


def demo(*, people: int = PEOPLE, queries: int = QUERIES, growth: bool = True) -> Evidence:
    """What an auditor's denials tell, beside what a simulatable one lets through, on generated secrets."""
    check_sizes(people, queries)
    chance, start = np.random.default_rng(), time.process_time()
    right, answered, denied = denial.contest(TABLES, ROW, simulatable=False, chance=chance)
    safe, safe_answered, safe_denied = denial.contest(TABLES, ROW, simulatable=True, chance=chance)
    seconds = time.process_time() - start
    audit = audited(chance.random((queries, people)) < 0.5)
    points = _growth(chance) if growth else []
    return Evidence(
        attack="auditing",
        success=right / TABLES,
        chance=0.5,
        n=TABLES,
        seconds=seconds,
        interval=clopper_pearson(right, TABLES),
        story=(
            f"An auditor denied every count that would have told somebody's bit. Its {denied:,} denials, with "
            f"{answered:,} harmless answers, told {right / TABLES:.1%} of the bits that were asked for.",
            f"Against a simulatable auditor the same attack is right {safe / TABLES:.1%} of the time; that one "
            f"answered {safe_answered:,} questions and denied {safe_denied:,}.",
            f"Of {queries:,} random sums over {people:,} numbers a sum auditor can answer {audit['answered']:,}; "
            f"answering all would tell {audit['exposed_if_all_answered']:,} numbers.",
            *([_grew(points)] if points else []),
        ),
        details={
            "denial": {"people": ROW, "tables": TABLES, "answered": answered, "denied": denied},
            "simulatable": {
                "success": safe / TABLES,
                "confidence_interval": list(clopper_pearson(safe, TABLES)),
                "answered": safe_answered,
                "denied": safe_denied,
            },
            "sums": {"people": people, "queries": queries, **audit},
            "boolean_growth": [{"people": size, "seconds": spent} for size, spent in points],
        },
        picture=lambda: _picture(right, safe, points),
    )


def check_sizes(people: int, queries: int) -> None:
    """Refuse what would take minutes."""
    if not 1 <= people <= sums.MOST_PEOPLE:
        raise UsageError(f"a sum auditor holds 1 to {sums.MOST_PEOPLE:,} people, not {people:,}")
    if not 1 <= queries <= 4 * sums.MOST_PEOPLE:
        raise UsageError(f"there can be 1 to {4 * sums.MOST_PEOPLE:,} queries, not {queries:,}")


def audited(questions: NDArray[np.bool_]) -> dict[str, Any]:
    """What a sum auditor does with questions, in order, and what happened without one."""
    check_sizes(questions.shape[1], len(questions))
    start = time.process_time()
    auditor = sums.SumAuditor(questions.shape[1])
    verdicts = [auditor.ask(question) for question in questions]
    seconds = time.process_time() - start
    exposed, first = sums.unguarded(questions)
    counts = Counter(verdicts)
    return {
        "answered": counts["answer"] + counts["nothing new"],
        "denied": counts["deny"],
        "verdicts": verdicts[:MOST_SHOWN],
        "exposed_if_all_answered": len(exposed),
        "first_that_tells": None if first is None else first + 1,
        "seconds": seconds,
    }


def _sums(asked: Asked) -> tuple[list[int], dict[str, Any], tuple[str, ...]]:
    _refuse_conflict(asked)
    found = audited(asked.questions)
    exposed, first = sums.unguarded(asked.questions)
    verdicts = [
        {"line": line, "verdict": verdict} for line, verdict in zip(asked.lines, found.pop("verdicts"), strict=False)
    ]
    told = "Answering them all tells nobody's number."
    if first is not None:
        told = (
            f"Answering them all tells {len(exposed):,} of {len(asked.people):,} people's numbers, the first of them "
            f"by line {asked.lines[first]}. A sum auditor answers {found['answered']:,} and denies {found['denied']:,}."
        )
    named = [asked.people[person] for person in exposed[:MOST_SHOWN]]
    return exposed, {**found, "told": named, "verdicts": verdicts}, (told,)


def _refuse_conflict(asked: Asked) -> None:
    """Refuse answers that no numbers could give, with the lines that contradict each other."""
    answered = [place for place, answer in enumerate(asked.answers) if answer is not None]
    answers = [answer for answer in asked.answers if answer is not None]
    if clash := sums.conflict(asked.questions[answered], answers):
        lines = [str(asked.lines[answered[place]]) for place in clash]
        raise UsageError(
            f"no numbers give all these answers: lines {', '.join(lines[:-1])} and {lines[-1]} contradict each other",
            hint="one of these answers is wrong",
        )


def _bits(asked: Asked) -> tuple[list[int], dict[str, Any], tuple[str, ...]]:
    answers = [answer for answer in asked.answers if answer is not None]
    if len(answers) < len(asked.answers):
        missing = asked.lines[asked.answers.index(None)]
        raise UsageError(f"line {missing} has no answer", hint="a Boolean audit needs all of them: anna, ben = 1")
    found = boolean.settled(asked.questions, answers, lines=asked.lines)
    told = {asked.people[person]: bit for person, bit in found.items()}
    story = f"The counts settle the bits of {len(found):,} of {len(asked.people):,} people."
    return list(found), {"told": told}, (story,)


def _growth(chance: np.random.Generator) -> list[tuple[int, float]]:
    """The growing Boolean audit; nothing where its solver is not installed."""
    try:
        return boolean.growth(SIZES, chance=chance)
    except UsageError:
        return []


def _grew(points: list[tuple[int, float]]) -> str:
    (few, fast), (many, slow) = points[0], points[-1]
    return (
        f"With bits the audit is coNP-complete, and its time grows fast: {few} people took {fast:.2f} CPU seconds, "
        f"{many} took {slow:.2f}."
    )


def _picture(right: int, safe: int, points: list[tuple[int, float]]) -> str:
    if points:
        sizes, seconds = zip(*points, strict=True)
        return pictures.curves(
            "Boolean auditing: CPU seconds against people",
            sizes,
            {"CP-SAT": seconds},
            across="people",
            high=max(seconds),
        )
    shares = {"denies by the answer": right / TABLES, "simulatable": safe / TABLES}
    return pictures.bars("What an auditor's denials tell", shares, marks={"chance": 0.5})
