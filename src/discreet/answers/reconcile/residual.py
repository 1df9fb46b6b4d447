"""Pay only for missing precision: what earlier answers tell is free, and a width buys only the rest.

Privacy: whether a question is paid, and how much, is decided by released answers, the declaration and the ledger's
    public state, never by exact data. That makes it an adaptive choice, which the ledger's filters allow at no cost:
    they hold whatever way the next question, and its epsilon, is chosen from the answers so far
    (docs/proofs/filters.md). What is bought is an ordinary measurement of the question, charged in full; what is
    combined with it is post-processing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.guarantee import Guarantee
from discreet.answers.quoting import Wish, quote
from discreet.answers.reconcile.derived import named
from discreet.answers.reconcile.told import Told
from discreet.curator import Version
from discreet.ledger.ledger import Ledger
from discreet.measurement import Measurement
from discreet.plan.price import Price


def suffices(told: Told, wish: Wish, *, version: Version, guarantee: Guarantee, ledger: Ledger) -> bool:
    """Whether what is told is as exact as what was wished for: within the width, or no worse than the epsilon buys."""
    if wish.within is not None:
        return _within(told, wish)
    quoted = quote(told.asked, wish, version=version, guarantee=guarantee, ledger=ledger, booking=False)
    return told.as_exact_as(quoted.price)


def helps(told: Told, wish: Wish) -> bool:
    """Whether a measurement is priced beside what is told: only a width says how much is missing."""
    return wish.within is not None and told.few()


def together(before: Told, measurement: Measurement, after: Told | None, wish: Wish) -> Told | None:
    """A new measurement and what was told before it. `after`: what the whole history, with it, tells.

    That is the least squares of everything, and what a repeat will get. Its noise has less variance than that of the
    two alone, but might, at this confidence, be a little wider than was promised: then the two alone are given; or
    None, where it is the measurement by itself that is within the width.
    """
    candidates = (after, before.with_measured(measurement))
    return next((each for each in candidates if each is not None and _within(each, wish)), None)


def _within(told: Told, wish: Wish) -> bool:
    return wish.within is not None and told.widest(wish.confidence) <= wish.within


def beside(told: Told | None, price: Price, wish: Wish) -> Told | None:
    """What is told, where this price was chosen beside it; None where the price is for the measurement by itself."""
    if told is None or wish.within is None or not told.met_with(price, wish.within, wish.confidence):
        return None
    return told


def told_data(told: Told, price: Price, confidence: Fraction, *, enough: bool) -> dict[str, Any]:
    """What is told, as JSON data for explain; `together`: how exact it will be with what is bought."""
    both = None if enough else exact.as_float(told.widest_with(price, confidence), up=True)
    width = exact.as_float(told.widest(confidence), up=True)
    return {"releases": list(told.releases), "plus_minus": width, "enough": enough, "together": both}


def known_words(data: dict[str, Any]) -> str:
    """What is told, in words."""
    told = f"earlier answers {named(data['releases'])} already tell it within {data['plus_minus']:,.4g}"
    return told if data["enough"] else f"{told}; only the rest is bought, to be within {data['together']:,.4g}"
