"""Query auditing as "protection": what it still answers, what its silence tells, and how its work grows."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.lab import pictures
from discreet.lab.evidence import Evidence, clopper_pearson
from discreet.lab.query_auditing import boolean_auditor, denial, sum_auditor
from discreet.lab.query_auditing.query_file import AuditedQueries

KINDS = ("sum", "boolean")
PEOPLE, QUERIES = 200, 400
#: Of the demonstration of denials, and of the growing Boolean audit. What they generate protects nobody.
TABLES, ROW = 1_000, 12
SIZES = (16, 24, 32, 40, 48)
#: No list in the details is longer.
MOST_SHOWN = 1_000


def attack(queries: AuditedQueries, *, kind: str = "sum") -> Evidence:
    """Audit a user's queries: whose numbers all answers together reveal, and which queries can be answered safely.

    `sum`: secrets are any numbers, and the answers matter only if they contradict each other. `boolean`: secrets are
    bits, and every query needs its answer.
    """
    start = time.process_time()
    if kind == "sum":
        exposed, details, story = _attack_sums(queries)
    elif kind == "boolean":
        exposed, details, story = _attack_bits(queries)
    else:
        raise UsageError(f"there is no kind {kind!r}", hint=Message(Flag("kind"), f" {', '.join(KINDS)}"))
    people = len(queries.people)
    share = len(exposed) / people
    return Evidence(
        attack="auditing",
        success=share,
        chance=0.0,
        n=people,
        seconds=time.process_time() - start,
        interval=(share, share),  # proved, not sampled
        story=story,
        details={"kind": kind, "people": people, "queries": len(queries.lines), **details},
        picture=lambda: pictures.bars("Query auditing: people whose value is revealed", {"all answered": share}),
    )


def demo(*, people: int = PEOPLE, queries: int = QUERIES, growth: bool = True) -> Evidence:
    """What an auditor's denials tell, beside what a simulatable one lets through, on generated secrets."""
    check_sizes(people, queries)
    chance, start = np.random.default_rng(), time.process_time()
    right, answered, denied = denial.play_denial_contest(TABLES, ROW, simulatable=False, chance=chance)
    safe, safe_answered, safe_denied = denial.play_denial_contest(TABLES, ROW, simulatable=True, chance=chance)
    seconds = time.process_time() - start
    audit = audit_sums(chance.random((queries, people)) < 0.5)
    points = _growth(chance) if growth else []
    return Evidence(
        attack="auditing",
        success=right / TABLES,
        chance=0.5,
        n=TABLES,
        seconds=seconds,
        interval=clopper_pearson(right, TABLES),
        story=(
            f"An auditor denied every count that would have revealed somebody's bit. But its {denied:,} denials, with "
            f"{answered:,} harmless answers, revealed {right / TABLES:.1%} of the bits that were attacked.",
            f"Against a simulatable auditor, the same attack is right {safe / TABLES:.1%} of the time; that auditor "
            f"answered {safe_answered:,} queries and denied {safe_denied:,}.",
            f"Of {queries:,} random sums over {people:,} numbers, a sum auditor can answer {audit['answered']:,}; "
            f"answering all of them would reveal {audit['exposed_if_all_answered']:,} numbers.",
            *([_growth_sentence(points)] if points else []),
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
    if not 1 <= people <= sum_auditor.MOST_PEOPLE:
        raise UsageError(f"a sum auditor supports 1 to {sum_auditor.MOST_PEOPLE:,} people, not {people:,}")
    if not 1 <= queries <= 4 * sum_auditor.MOST_PEOPLE:
        raise UsageError(f"the number of queries must be 1 to {4 * sum_auditor.MOST_PEOPLE:,}, not {queries:,}")


def audit_sums(questions: NDArray[np.bool_]) -> dict[str, Any]:
    """What a sum auditor does with questions, in order, and what happened without one."""
    check_sizes(questions.shape[1], len(questions))
    start = time.process_time()
    auditor = sum_auditor.SumAuditor(questions.shape[1])
    verdicts = [auditor.ask(question) for question in questions]
    seconds = time.process_time() - start
    exposed, first = sum_auditor.exposed_by_all_answers(questions)
    counts = Counter(verdicts)
    return {
        "answered": counts["answer"] + counts["nothing new"],
        "denied": counts["deny"],
        "verdicts": verdicts[:MOST_SHOWN],
        "exposed_if_all_answered": len(exposed),
        "first_that_tells": None if first is None else first + 1,
        "seconds": seconds,
    }


def _attack_sums(queries: AuditedQueries) -> tuple[list[int], dict[str, Any], tuple[str, ...]]:
    _refuse_conflict(queries)
    audit_counts = audit_sums(queries.questions)
    exposed, first = sum_auditor.exposed_by_all_answers(queries.questions)
    verdicts = [
        {"line": line, "verdict": verdict}
        for line, verdict in zip(queries.lines, audit_counts.pop("verdicts"), strict=False)
    ]
    sentence = "Answering all queries reveals nobody's number."
    if first is not None:
        sentence = (
            f"Answering all queries reveals the numbers of {len(exposed):,} of {len(queries.people):,} people, the "
            f"first one at line {queries.lines[first]}. A sum auditor answers {audit_counts['answered']:,} and denies "
            f"{audit_counts['denied']:,}."
        )
    named = [queries.people[person] for person in exposed[:MOST_SHOWN]]
    return exposed, {**audit_counts, "told": named, "verdicts": verdicts}, (sentence,)


def _refuse_conflict(queries: AuditedQueries) -> None:
    """Refuse answers that no numbers could give, with the lines that contradict each other."""
    answered = [place for place, answer in enumerate(queries.answers) if answer is not None]
    answers = [answer for answer in queries.answers if answer is not None]
    if clash := sum_auditor.conflicting_questions(queries.questions[answered], answers):
        lines = [str(queries.lines[answered[place]]) for place in clash]
        raise UsageError(
            f"no numbers have all these sums: lines {', '.join(lines[:-1])} and {lines[-1]} contradict each other",
            hint="correct one of these answers",
        )


def _attack_bits(queries: AuditedQueries) -> tuple[list[int], dict[str, Any], tuple[str, ...]]:
    answers = [answer for answer in queries.answers if answer is not None]
    if len(answers) < len(queries.answers):
        missing = queries.lines[queries.answers.index(None)]
        raise UsageError(f"line {missing} has no answer", hint="give every line an answer: anna, ben = 1")
    settled = boolean_auditor.settle_bits(queries.questions, answers, lines=queries.lines)
    named_bits = {queries.people[person]: bit for person, bit in settled.items()}
    story = f"The counts determine the bits of {len(settled):,} of {len(queries.people):,} people."
    return list(settled), {"told": named_bits}, (story,)


def _growth(chance: np.random.Generator) -> list[tuple[int, float]]:
    """The growing Boolean audit; nothing where its solver is not installed."""
    try:
        return boolean_auditor.measure_growth(SIZES, chance=chance)
    except UsageError:
        return []


def _growth_sentence(points: list[tuple[int, float]]) -> str:
    (few, fast), (many, slow) = points[0], points[-1]
    return (
        f"For bits, the audit is coNP-complete and its time grows fast: {few} people took {fast:.2f} CPU seconds, "
        f"{many} took {slow:.2f}."
    )


def _picture(right: int, safe: int, points: list[tuple[int, float]]) -> str:
    if points:
        sizes, seconds = zip(*points, strict=True)
        return pictures.curves(
            "Boolean auditing: CPU seconds by number of people",
            sizes,
            {"CP-SAT": seconds},
            across="people",
            high=max(seconds),
        )
    shares = {"denies by the answer": right / TABLES, "simulatable": safe / TABLES}
    return pictures.bars("What an auditor's denials reveal", shares, marks={"chance": 0.5})
