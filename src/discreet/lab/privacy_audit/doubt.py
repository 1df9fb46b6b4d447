"""How sure an audit is asked to be."""

from __future__ import annotations

from discreet.errors import UsageError

#: Beyond this float64 cannot tell a doubt from none once it is shared among a hundred tests.
LEAST = 1e-12


def doubt_of(confidence: float) -> float:
    """One minus a confidence; refuses one that is no confidence, or more than can be computed with.

    >>> round(doubt_of(0.99), 6)
    0.01
    """
    doubt = 1 - confidence
    if not LEAST <= round(doubt, 15) < 1:  # 1 - 1e-12 is itself not quite that
        raise UsageError(
            f"the confidence must be above 0 and at most {1 - LEAST:.12f}, not {confidence!r}", hint="such as 0.99"
        )
    return doubt
