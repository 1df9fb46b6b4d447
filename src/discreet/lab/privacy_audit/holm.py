"""Many tests at once: what may be said so that all of it is true together."""

from __future__ import annotations

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Each p-value, adjusted for there being so many (Holm 1979).

    Guarantee: rejecting those that come out at or below alpha rejects any true hypothesis with a chance of
        at most alpha, however the tests depend on each other.
    Because: let t of the hypotheses be true. The first true one to be rejected stands at a place where at most
        so many p-values are smaller that its factor is t or more; so its p-value is at most alpha / t, and by the
        union bound one of t does that with a chance of at most alpha.

    >>> holm([0.01, 0.5, 0.02])
    [0.03, 0.5, 0.04]
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    for place, which in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[which]))
        adjusted[which] = largest
    return adjusted
