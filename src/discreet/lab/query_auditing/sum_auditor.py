"""Sum auditing (Chin and Ozsoyoglu): which sums of secret numbers can be answered without telling anybody's number.

A number is told when its unit vector lies in the span of the answered questions. That is watched by elimination over a
prime field, a question at a time. The prime is drawn from the operating system, so that nobody can ask for it.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Verdict = Literal["answer", "nothing new", "deny"]
#: Products of two residues fit 64 bits.
LEAST_PRIME, MOST_PRIME = 1 << 30, 1 << 31
MOST_PEOPLE = 5_000


class Elimination:
    """The span of some questions, as reduced rows: each has a one at its own pivot, where all others have a zero.

    Because: a unit vector lies in the span just if it is one of the reduced rows, for its coefficients in them stand at
        the pivots. Modulo a prime p the answered questions have the rank that they have over the rationals, unless p
        divides a certain determinant of theirs; then, and only then, one may be answered that tells. It is at most
        n^(n/2), so at most n log2(n) / 60 primes of this size divide it: for n = 200 and given questions, 26 of the
        fifty million from which p is drawn.
    """

    def __init__(self, people: int, *, prime: int | None = None) -> None:
        self.prime = random_prime() if prime is None else prime
        self.rows = np.zeros((people, people), dtype=np.int64)
        self.pivots = np.zeros(0, dtype=np.int64)
        #: How many entries of each reduced row are not zero.
        self.widths = np.zeros(0, dtype=np.int64)

    @property
    def rank(self) -> int:
        """How many of the questions told something new."""
        return len(self.pivots)

    def reduce(self, question: NDArray[np.bool_]) -> NDArray[np.int64]:
        """What is left of a question beyond the span, with a one in front; zeros where nothing is."""
        answered_rows = self.rows[: self.rank][question[self.pivots]]
        left: NDArray[np.int64] = (question - answered_rows.sum(axis=0)) % self.prime
        filled = np.flatnonzero(left)
        if not len(filled):
            return left
        scaled: NDArray[np.int64] = left * pow(int(left[filled[0]]), -1, self.prime) % self.prime
        return scaled

    def exposes(self, left: NDArray[np.int64]) -> bool:
        """Whether somebody's number would be told, once this reduced question is answered.

        A reduced row becomes a unit vector just if all beyond its pivot is a multiple of `left`.
        """
        filled = np.flatnonzero(left)
        if len(filled) < 2:
            return len(filled) == 1
        rows = self.rows[: self.rank]
        maybe = np.flatnonzero((rows[:, filled[0]] != 0) & (self.widths == len(filled) + 1))
        if not len(maybe):
            return False
        beyond = rows[maybe][:, filled]
        return bool((beyond == beyond[:, :1] * left[filled] % self.prime).all(axis=1).any())

    def add(self, left: NDArray[np.int64]) -> None:
        """Put a reduced question into the span. At the other rows' pivots it is zero, so only the rest is touched."""
        filled = np.flatnonzero(left)
        rows = self.rows[: self.rank]
        where = np.ix_(np.flatnonzero(rows[:, filled[0]]), filled)
        before = rows[where]
        rows[where] = (before + (self.prime - before[:, :1]) * left[filled]) % self.prime
        self.rows[self.rank] = left
        self.pivots = np.append(self.pivots, filled[0])
        self.widths = np.count_nonzero(self.rows[: self.rank], axis=1)

    def exposed(self) -> list[int]:
        """Whose numbers the questions in the span tell."""
        return sorted(self.pivots[self.widths == 1].tolist())


class SumAuditor:
    """Answers sums until the next would tell one person's number, and then denies.

    It never looks at an answer, so a denial tells nothing that the asker could not work out: it is simulatable.
    """

    def __init__(self, people: int, *, prime: int | None = None) -> None:
        self.span = Elimination(people, prime=prime)

    def ask(self, question: NDArray[np.bool_]) -> Verdict:
        """What becomes of a question; one that is answered counts from then on."""
        left = self.span.reduce(question)
        if not left.any():
            return "nothing new"
        if self.span.exposes(left):
            return "deny"
        self.span.add(left)
        return "answer"


def exposed_by_all_answers(questions: NDArray[np.bool_]) -> tuple[list[int], int | None]:
    """Whose numbers are told when everything is answered, and the place of the first question that tells one."""
    span, first = Elimination(questions.shape[1]), None
    for place, question in enumerate(questions):
        left = span.reduce(question)
        if not left.any():
            continue
        if first is None and span.exposes(left):
            first = place
        span.add(left)
    return span.exposed(), first


def conflicting_questions(questions: NDArray[np.bool_], answers: Sequence[int]) -> list[int]:
    """The places of questions whose answers contradict each other; none where some numbers give them all.

    Because: answers fit just if elimination with them as a further column leaves no row that says 0 = 1. It is done
        modulo a random prime, which misses, or invents, one with a chance of less than one in a million.
    """
    prime, people = random_prime(), questions.shape[1]
    rows = np.zeros((0, people + 1), dtype=np.int64)
    pivots, basis = np.zeros(0, dtype=np.int64), list[int]()
    for place, (question, answer) in enumerate(zip(questions, answers, strict=True)):
        left = (np.append(question, answer % prime) - rows[question[pivots]].sum(axis=0)) % prime
        filled = np.flatnonzero(left[:people])
        if not len(filled):
            if left[people]:
                return [*_dependent_questions(questions[basis], question, basis), place]
            continue
        left = left * pow(int(left[filled[0]]), -1, prime) % prime
        rows = (rows + (prime - rows[:, filled[0], None]) % prime * left) % prime
        rows, pivots = np.vstack([rows, left]), np.append(pivots, filled[0])
        basis.append(place)
    return []


def _dependent_questions(rows: NDArray[np.bool_], question: NDArray[np.bool_], places: list[int]) -> list[int]:
    """Which independent questions a dependent one is made of."""
    weights = np.linalg.lstsq(rows.T.astype(float), question.astype(float), rcond=None)[0]
    return [place for place, weight in zip(places, weights, strict=True) if abs(weight) > 1e-6]


def random_prime() -> int:
    """A prime of 31 bits, uniformly drawn."""
    while True:
        candidate = LEAST_PRIME + 1 + 2 * secrets.randbelow((MOST_PRIME - LEAST_PRIME) // 2)
        if _is_prime(candidate):
            return candidate


def _is_prime(number: int) -> bool:
    """Miller and Rabin's test with the bases 2, 3, 5 and 7, which is exact below 3,215,031,751."""
    twos = ((number - 1) & -(number - 1)).bit_length() - 1
    odd = (number - 1) >> twos
    for base in (2, 3, 5, 7):
        power = pow(base, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True
