"""Somebody new moves into the block, the table is published with noise, and the strongest attacker names the newcomer.

That attacker knows everybody else, the noise and its scale, and takes the likeliest record: with every record equally
likely beforehand, nobody can be right more often. So where this attack fails, noise is the reason and not a weak
attacker; the same attack on the same numbers without noise is played beside it to show that.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.lab.attacks.census import record_kinds
from discreet.lab.attacks.census.published_block import CensusBlock, Record
from discreet.lab.attacks.census.table_noise import exact_table, noise_for

TRIALS = 1_000
#: A newcomer is one of all possible records or, where they are more, of so many that were drawn from them.
MOST_CANDIDATES = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewcomerGame:
    """How many of the newcomers were named: with noise, and (`bare`) without.

    Guarantee: no attacker names more than `bound` of them on average.
    Because: under epsilon an answer is at most e^epsilon times as likely as it is without the newcomer, and without,
        one of `candidates` equally likely records is right by chance.
    """

    trials: int
    candidates: int
    named: int
    named_without_noise: int
    epsilon: Fraction

    @property
    def chance(self) -> float:
        """How often a guess is right."""
        return 1 / self.candidates

    @property
    def bound(self) -> float:
        """How often any attacker can be right."""
        return min(1.0, math.exp(min(700.0, float(self.epsilon))) / self.candidates)


def play_newcomer_game(block: CensusBlock, epsilon: Fraction, *, trials: int = TRIALS) -> NewcomerGame:
    """Play it so often. Whoever else lives there is known, so it does not matter who."""
    draw = np.random.default_rng()  # picks invented people and breaks ties; the noise does not come from here
    candidates = newcomer_candidates(block)
    if not candidates:
        raise UsageError("the facts allow no record, or so few that the search found none")
    noise = noise_for(block, epsilon)
    tables = [exact_table(block, (record,)) for record in candidates]
    exact_counts = np.array([table.counts for table in tables], dtype=np.int64)
    summed = [[total for total in table.sums if total is not None] for table in tables]
    exact_sums = np.array(summed, dtype=np.int64).reshape(len(tables), -1)
    who = draw.integers(len(candidates), size=trials)
    near, far = float(noise.count_law.scale), float(noise.sum_law.scale)
    candidate_statistics = np.hstack([exact_counts / near, exact_sums / far])
    seen = np.hstack([noise.counts(exact_counts[who]) / near, noise.sums(exact_sums[who]) / far])
    return NewcomerGame(
        trials=trials,
        candidates=len(candidates),
        named=_count_right_names(candidate_statistics, seen, who, draw),
        named_without_noise=_count_right_names(candidate_statistics, candidate_statistics[who], who, draw),
        epsilon=epsilon,
    )


def newcomer_candidates(block: CensusBlock) -> list[Record]:
    """The records among which a newcomer's is: all that the facts allow or, where they are many, some of them."""
    if block.records <= MOST_CANDIDATES:
        return [record for record in record_kinds.all_records(block) if record_kinds.is_allowed(block, record)]
    draw = random.Random()  # noqa: S311 - invented people
    drawn = (tuple(draw.randint(one.low, one.high) for one in block.columns) for _ in range(20 * MOST_CANDIDATES))
    allowed_records = dict.fromkeys(record for record in drawn if record_kinds.is_allowed(block, record))
    return list(allowed_records)[:MOST_CANDIDATES]


def _count_right_names(
    candidate_statistics: NDArray[np.float64],
    seen: NDArray[np.float64],
    who: NDArray[np.int64],
    draw: np.random.Generator,
) -> int:
    """How often the likeliest record, one at random of several, is the right one."""
    right = 0
    for numbers, truth in zip(seen, who.tolist(), strict=True):
        distance = np.abs(candidate_statistics - numbers).sum(axis=1)
        likeliest = np.flatnonzero(distance <= distance.min() + 1e-9)
        right += int(draw.choice(likeliest)) == truth
    return right
