"""All subset counts of few people: any table that fits them is nearly the true one (Dinur and Nissim)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError

#: Every subset is a question and every table a candidate: a million of each.
MOST_PEOPLE = 20
#: An answer of exactly the bound may lie beyond it by the rounding of floats.
ROUNDING = 1e-9


def check(people: int) -> None:
    """Refuse what could not be searched."""
    if people > MOST_PEOPLE:
        raise UsageError(
            f"an exhaustive search asks all 2^n queries: at most {MOST_PEOPLE} people, not {people:,}",
            hint=Message(Flag("method", "squares"), " (4 n queries) or ", Flag("method", "hadamard"), " (n queries)"),
        )


def counts(bits: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The exact answers to all 2^n questions; question q counts the bits at the places of its ones."""
    return _counts(_code(bits), np.arange(1 << len(bits), dtype=np.uint32))


def consistent_bits(answers: NDArray[np.float64], people: int, bound: float) -> NDArray[np.bool_]:
    """A table of bits whose counts all lie within `bound` of the answers.

    Guarantee: where every answer is within `bound` of the truth, it differs from the true bits in at most 4 * bound
        places.
    Because: look at the people to whom the found table gives 1 and the true one 0. On that question the two tables
        differ by its whole size, and both are within `bound` of the answer: at most 2 * bound. The same the other way
        round. The true table itself fits, so one is always found.

    A candidate that fails is asked the question on which it fails worst, and so are all others at once.
    """
    check(people)
    questions = left = np.arange(1 << people, dtype=np.uint32)
    while len(left):
        candidate = left[len(left) // 2]
        errors = np.abs(_counts(candidate, questions) - answers)
        worst = int(errors.argmax())
        if errors[worst] <= bound + ROUNDING:
            return _bits(int(candidate), people)
        left = left[np.abs(_counts(questions[worst], left) - answers[worst]) <= bound + ROUNDING]
    raise UsageError(
        "no table fits the answers: some answers differ from the truth by more than the bound",
        hint=Message("raise ", Flag("noise")),
    )


def _counts(code: np.uint32, others: NDArray[np.uint32]) -> NDArray[np.float64]:
    overlaps: NDArray[np.float64] = np.bitwise_count(others & code).astype(np.float64)
    return overlaps


def _code(bits: NDArray[np.bool_]) -> np.uint32:
    return np.uint32(sum(1 << place for place in np.flatnonzero(bits).tolist()))


def _bits(code: int, people: int) -> NDArray[np.bool_]:
    return np.array([code >> place & 1 for place in range(people)], dtype=np.bool_)
