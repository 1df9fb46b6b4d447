"""Boolean auditing (Kleinberg, Papadimitriou and Raghavan): whose bit do the answered counts settle?

It is coNP-complete, so no program does it fast for many people, unless P = NP. CP-SAT does it for few: it looks for a
table that fits, then, person by person, for one that fits with that person's bit the other way round.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, MissingPackage, UsageError

#: Beyond, an audit may take hours: that is the lesson, and no use.
MOST_PEOPLE = 60


def settle_bits(
    questions: NDArray[np.bool_],
    answers: Sequence[int],
    *,
    lines: Sequence[int] | None = None,
    timeout_s: float = 60.0,
) -> dict[int, bool]:
    """Everybody whose bit is the same in all tables that fit the answers, with that bit. `lines` name the questions.

    Because: a bit is settled just if no table fits with its opposite; every table found on the way clears everybody
        whose bits differ in it from the first.
    """
    check(questions.shape[1])
    until = time.monotonic() + timeout_s
    first = fitting_bits(questions, answers, until=until)
    if first is None:
        raise _conflict(questions, answers, lines or range(1, len(answers) + 1), until)
    open_, settled_bits = set(range(len(first))), {}
    while open_:
        person = min(open_)
        open_.remove(person)
        other = fitting_bits(questions, answers, fixed={person: not first[person]}, until=until)
        if other is None:
            settled_bits[person] = bool(first[person])
        else:
            open_ -= set(np.flatnonzero(other != first).tolist())
    return settled_bits


def fitting_bits(
    questions: NDArray[np.bool_],
    answers: Sequence[int],
    *,
    fixed: dict[int, bool] | None = None,
    until: float,
) -> NDArray[np.bool_] | None:
    """A table of bits with these counts, and with the `fixed` bits; None where there is none."""
    cp_model = solver()
    model = cp_model.CpModel()
    bits = [model.new_bool_var("") for _ in range(questions.shape[1])]
    for question, answer in zip(questions, answers, strict=True):
        model.add(sum(bits[person] for person in np.flatnonzero(question).tolist()) == int(answer))
    for person, bit in (fixed or {}).items():
        model.add(bits[person] == int(bit))
    engine = cp_model.CpSolver()
    engine.parameters.num_workers = 1  # one core, and the same search every time
    engine.parameters.max_time_in_seconds = max(0.01, until - time.monotonic())
    outcome = engine.solve(model)
    if outcome == cp_model.INFEASIBLE:
        return None
    if outcome not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        raise UsageError(
            f"the Boolean audit of {questions.shape[1]} people did not finish in time",
            hint=Message(
                "audit fewer people (the problem is coNP-complete), or use ", Flag("kind", "sum"), ", which is fast"
            ),
        )
    return np.array([engine.value(bit) for bit in bits], dtype=np.bool_)


def measure_growth(sizes: Sequence[int], *, chance: np.random.Generator) -> list[tuple[int, float]]:
    """CPU seconds of an audit against the number of people: random halves, just too few of them to settle everybody."""
    points = []
    solver()  # loading it is no part of an audit
    for people in sizes:
        bits = chance.random(people) < 0.5
        count = max(1, round(1.9 * people / np.log2(people)))
        questions = chance.random((count, people)) < 0.5
        start = time.process_time()
        settle_bits(questions, (questions & bits).sum(axis=1).tolist())
        points.append((people, time.process_time() - start))
    return points


def check(people: int) -> None:
    """Refuse what might never end, and say what is missing."""
    if people > MOST_PEOPLE:
        raise UsageError(
            f"a Boolean audit is coNP-complete: at most {MOST_PEOPLE} people, not {people:,}",
            hint=Message(Flag("kind", "sum"), ", which audits sums of any numbers fast"),
        )
    solver()


def solver() -> Any:
    """CP-SAT."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingPackage("a Boolean audit needs OR-tools", hint="pip install 'discreet[lab]'") from None
    return cp_model


def _conflict(questions: NDArray[np.bool_], answers: Sequence[int], lines: Sequence[int], until: float) -> UsageError:
    """A message with answers that contradict each other, none of which can be left out."""
    kept = list(range(len(answers)))
    for place in range(len(answers)):
        without = [other for other in kept if other != place]
        if fitting_bits(questions[without], [answers[other] for other in without], until=until) is None:
            kept = without
    named = ", ".join(str(lines[place]) for place in kept)
    if len(kept) == 1:
        return UsageError(
            f"the count in line {named} is impossible", hint="correct it: it is below 0, or above the number of people"
        )
    return UsageError(f"no people have these counts: lines {named} contradict each other", hint="correct one of them")
