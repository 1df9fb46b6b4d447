"""Denial as disclosure: an auditor that looks at the answer before it denies, and what its silence tells.

Secrets are bits and questions are counts. An auditor who denies a count when, and only when, the true answer would tell
somebody's bit, denies the count of two people just if both have the same: the denial says so. With pairs the attacker
learns who equals whom, and one harmless count then gives everybody away. A simulatable auditor (Kenthapadi, Mishra and
Nissim) denies when *some* answer that the asker must hold possible would tell: its silence is no news, and it answers
next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError

#: The auditor keeps every table that fits its answers.
MOST_PEOPLE = 16


@dataclass(slots=True, kw_only=True)
class BitAuditor:
    """Counts over secret bits. `simulatable`: decides by what the asker knows; otherwise by the true answer."""

    bits: NDArray[np.bool_]
    simulatable: bool
    fitting: NDArray[np.uint32] = field(init=False)
    denied: int = field(init=False, default=0)
    answered: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if not 1 <= len(self.bits) <= MOST_PEOPLE:
            raise UsageError(f"this auditor supports 1 to {MOST_PEOPLE} people, not {len(self.bits):,}")
        self.fitting = np.arange(1 << len(self.bits), dtype=np.uint32)

    def ask(self, people: list[int]) -> int | None:
        """The count of ones among these people, or None for a denial."""
        mask = np.uint32(sum(1 << person for person in people))
        counts = np.bitwise_count(self.fitting & mask)
        truth = int(self.bits[people].sum())
        possible = np.unique(counts).tolist() if self.simulatable else [truth]
        if any(self._tells(self.fitting[counts == answer]) for answer in possible):
            self.denied += 1
            return None
        self.fitting = self.fitting[counts == truth]
        self.answered += 1
        return truth

    def _tells(self, tables: NDArray[np.uint32]) -> bool:
        """Whether somebody has the same bit in all of these tables."""
        ever, always = np.bitwise_or.reduce(tables), np.bitwise_and.reduce(tables)
        return int(ever ^ always) != (1 << len(self.bits)) - 1


def guess_bits(auditor: BitAuditor, chance: np.random.Generator) -> NDArray[np.bool_]:
    """Everybody's bit, from counts of neighbours in a row and one count of three; a coin for what stays open."""
    people = len(auditor.bits)
    answers = [auditor.ask([person, person + 1]) for person in range(people - 1)]
    # Taken as the careless auditor means it: a denied pair is equal, an answered one differs.
    differs = np.array([answer is not None for answer in answers], dtype=np.bool_)
    pattern = np.concatenate([[False], np.logical_xor.accumulate(differs)])
    runs = np.concatenate([[0], np.cumsum(~differs)])
    three = _pick_three(pattern, runs)
    count = None if three is None else auditor.ask(three)
    if three is None or count is None:
        return pattern ^ bool(chance.random() < 0.5)
    flipped = count != int(pattern[three].sum())
    return pattern ^ flipped


def _pick_three(pattern: NDArray[np.bool_], runs: NDArray[np.int64]) -> list[int] | None:
    """Three people, no two tied by an answer and not all equal: their count is answered, and is 1 or 2."""
    for odd in (True, False):
        ones, others = np.flatnonzero(pattern == odd), np.flatnonzero(pattern != odd)
        for one in ones:
            free = [int(other) for other in others if runs[other] != runs[one]]
            for second in free:
                for third in free:
                    if runs[third] != runs[second]:
                        return [int(one), second, third]
    return None


def play_denial_contest(
    tables: int, people: int, *, simulatable: bool, chance: np.random.Generator
) -> tuple[int, int, int]:
    """How often a random person's bit is guessed right, over random tables; questions answered, and denied."""
    right = answered = denied = 0
    for _ in range(tables):
        auditor = BitAuditor(bits=chance.random(people) < 0.5, simulatable=simulatable)
        guesses = guess_bits(auditor, chance)
        victim = int(chance.integers(people))
        right += bool(guesses[victim] == auditor.bits[victim])
        answered, denied = answered + auditor.answered, denied + auditor.denied
    return right, answered, denied
