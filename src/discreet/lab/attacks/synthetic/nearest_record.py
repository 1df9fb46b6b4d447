"""Nearest records: are the people of the original nearer to the synthetic rows than other people are?

Closeness alone says nothing: rows of common people are near to everything. Each person of the original is held against
one of the control table, who is as likely to be the nearer one unless the synthetic table remembers who was in it.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from discreet.errors import Flag, Message, UsageError
from discreet.lab.attacks.synthetic.coded_tables import CodedTables
from discreet.lab.attacks.synthetic.control import CONFIDENCE, SuccessRate
from discreet.lab.attacks.synthetic.row_distance import Distances, nearest_distances
from discreet.lab.evidence import Evidence, best_under, clopper_pearson, percent, replacement_guarantee

_QUANTILES = (0.05, 0.25, 0.5)


def distances(
    coded: CodedTables,
    *,
    attacks: int = 500,
    confidence: float = CONFIDENCE,
    epsilon: float | None = None,
    delta: float = 0.0,
    seed: int = 0,
) -> Evidence:
    """Measure how often a person of the original is nearer to the synthetic table than one of the control.

    Guarantee: under a claimed epsilon the first is nearer no more often than `bound`, where it was left to chance which
        of the two is in the original.
    Because: to say that the nearer one is in it is a guess between two tables that differ by one person in another's
        place. Those are two steps, so that 2 epsilon bounds it.
    """
    if not coded.has_control:
        raise UsageError(
            "the nearest-record attack needs a control table",
            hint=Message(Flag("control", "FILE"), ": people who were not used"),
        )
    start, generator = process_time(), np.random.default_rng(seed)
    pairs = min(attacks, coded.original.shape[1], coded.control.shape[1])
    own, other = (
        nearest_distances(coded, table[:, generator.permutation(table.shape[1])[:pairs]], coded.synthetic)
        for table in (coded.original, coded.control)
    )
    nearer, equal = int((own < other).sum()), int((own == other).sum())
    won = nearer + equal // 2
    copied = {word: _copies(apart) for word, apart in (("original", own), ("control", other))}
    return Evidence(
        attack="nearest record",
        success=won / pairs,
        chance=0.5,
        bound=None if epsilon is None else best_under(*replacement_guarantee(epsilon, delta)),
        n=pairs,
        seconds=process_time() - start,
        interval=clopper_pearson(won, pairs, confidence),
        confidence=confidence,
        story=(
            f"A person of the original is nearer to a synthetic row than another person {percent(won / pairs)} of the "
            f"time. {percent(copied['original'].share)} of the original's rows occur unchanged in the synthetic table, "
            f"compared with {percent(copied['control'].share)} of the control's.",
        ),
        details={
            "copies": {
                word: {"share": rate.share, "interval": list(rate.interval(confidence))}
                for word, rate in copied.items()
            },
            "ties": equal,
            "distances": {
                word: {f"{share:.0%}": float(np.quantile(apart, share)) for share in _QUANTILES}
                for word, apart in (("original", own), ("control", other))
            },
        },
    )


def _copies(apart: Distances) -> SuccessRate:
    return SuccessRate(successes=int((apart == 0).sum()), n=len(apart))
