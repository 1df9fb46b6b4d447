"""Nearest records: are the people of the original nearer to the synthetic rows than other people are?

Closeness alone says nothing: rows of common people are near to everything. Each person of the original is held against
one of the control table, who is as likely to be the nearer one unless the synthetic table remembers who was in it.
"""

from __future__ import annotations

from time import process_time

import numpy as np

from discreet.errors import UsageError
from discreet.lab.evidence import Evidence, clopper_pearson
from discreet.lab.synthetic.coded import Coded
from discreet.lab.synthetic.control import CONFIDENCE, Rate
from discreet.lab.synthetic.distance import Distances, nearest

_QUANTILES = (0.05, 0.25, 0.5)


def distances(coded: Coded, *, attacks: int = 500, confidence: float = CONFIDENCE, seed: int = 0) -> Evidence:
    """Pairs of one person of the original and one of the control: how often the first is nearer; ties are halved."""
    if not coded.has_control:
        raise UsageError("nearest records need a control table", hint="--control FILE: people who were not used")
    start, generator = process_time(), np.random.default_rng(seed)
    pairs = min(attacks, coded.original.shape[1], coded.control.shape[1])
    own, other = (
        nearest(coded, table[:, generator.permutation(table.shape[1])[:pairs]], coded.synthetic)
        for table in (coded.original, coded.control)
    )
    nearer, equal = int((own < other).sum()), int((own == other).sum())
    won = nearer + equal // 2
    copied = {word: _copies(apart, confidence) for word, apart in (("original", own), ("control", other))}
    return Evidence(
        attack="nearest record",
        success=won / pairs,
        chance=0.5,
        n=pairs,
        seconds=process_time() - start,
        interval=clopper_pearson(won, pairs, confidence),
        confidence=confidence,
        story=(
            f"A person of the original is nearer to a synthetic row than one who was never in it {won / pairs:.1%} "
            f"of the time; {copied['original']['share']:.1%} of the original stands there to the letter, against "
            f"{copied['control']['share']:.1%} of the others.",
        ),
        details={
            "copies": copied,
            "ties": equal,
            "distances": {
                word: {f"{share:.0%}": float(np.quantile(apart, share)) for share in _QUANTILES}
                for word, apart in (("original", own), ("control", other))
            },
        },
    )


def _copies(apart: Distances, confidence: float) -> dict[str, object]:
    rate = Rate(successes=int((apart == 0).sum()), n=len(apart))
    return {"share": rate.share, "interval": list(rate.interval(confidence))}
