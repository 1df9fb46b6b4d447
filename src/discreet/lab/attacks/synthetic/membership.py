"""Membership inference: was this person's row in the original?

Fast: the synthetic table is denser around the rows it was made from than the population is. The attacker holds the
distance to the nearest synthetic row against that to the nearest row of people known not to be in it, an estimate of
the ratio of two densities (van Breugel et al. 2023), and learns on half of the targets from which ratio on to say yes.

Slow, against a program that makes synthetic tables: shadow models. See `shadow`.
"""

from __future__ import annotations

from time import process_time

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Flag, Message, UsageError
from discreet.lab.attacks.synthetic.coded_tables import CodedTables
from discreet.lab.attacks.synthetic.control import CONFIDENCE
from discreet.lab.attacks.synthetic.row_distance import nearest_distances
from discreet.lab.evidence import Evidence, best_under, clopper_pearson, percent

Scores = NDArray[np.float64]

#: Nearer than this is as good as equal.
_EQUAL = 1e-3


def density_ratio(
    coded: CodedTables,
    *,
    attacks: int = 500,
    confidence: float = CONFIDENCE,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> Evidence:
    """Guess for each person, half of whom are in the original, whether they are. `epsilon`: what the table claims.

    The bound on a single release holds if it was decided by chance, person by person, who is in the original and who is
    in the control table.
    """
    if not coded.has_control or coded.control.shape[1] < 4:
        raise UsageError(
            "membership inference needs a control table with at least 4 rows",
            hint=Message(Flag("control", "FILE"), ": people who were not used to make the synthetic table"),
        )
    start, generator = process_time(), np.random.default_rng(seed)
    each = min(attacks, coded.original.shape[1] // 2 * 2, coded.control.shape[1] // 4 * 2) // 2 * 2
    if each < 2:
        raise UsageError("membership inference needs an original table with at least 2 rows")
    members = coded.original[:, generator.permutation(coded.original.shape[1])[:each]]
    shuffled = coded.control[:, generator.permutation(coded.control.shape[1])]
    others, reference = shuffled[:, :each], shuffled[:, each:]
    scores = [
        np.log(nearest_distances(coded, targets, reference).astype(float) + _EQUAL)
        - np.log(nearest_distances(coded, targets, coded.synthetic).astype(float) + _EQUAL)
        for targets in (members, others)
    ]
    learn, judge = ([score[part] for score in scores] for part in (slice(each // 2), slice(each // 2, None)))
    limit = threshold(*learn)
    right = int((judge[0] >= limit).sum() + (judge[1] < limit).sum())
    return Evidence(
        attack="membership inference",
        success=right / each,
        chance=0.5,
        bound=None if epsilon is None else best_under(epsilon, delta),
        n=each,
        seconds=process_time() - start,
        interval=clopper_pearson(right, each, confidence),
        confidence=confidence,
        story=(
            f"For {percent(right / each)} of {each:,} people, the attack guesses right whether they were in the "
            "original (half of them were).",
        ),
        details={
            "members_found": float((judge[0] >= limit).mean()),
            "others_accused": float((judge[1] >= limit).mean()),
        },
    )


def threshold(members: Scores, others: Scores) -> float:
    """From which score on to say yes, so that most of these people are told right; infinite where always no is best."""
    limits = np.unique(np.concatenate([members, others]))
    right_counts = (len(members) - np.searchsorted(np.sort(members), limits)) + np.searchsorted(np.sort(others), limits)
    best = int(right_counts.argmax())
    return float(limits[best]) if right_counts[best] > len(others) else np.inf
