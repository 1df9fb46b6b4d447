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
from discreet.answers.query_quote import QueryWish, quote
from discreet.answers.reconcile.derived import release_list_text
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate
from discreet.kernel.curator import Version
from discreet.kernel.measurement import Measurement
from discreet.ledger.ledger import Ledger
from discreet.plan.price import Price


def suffices(
    earlier_estimate: EarlierEstimate, wish: QueryWish, *, version: Version, guarantee: Guarantee, ledger: Ledger
) -> bool:
    """Whether what is told is as exact as what was wished for: within the width, or no worse than the epsilon buys.

    What a release of tables shows was measured, so that an epsilon repeats it, as it repeats a stored answer.
    """
    if wish.within is not None:
        return _within(earlier_estimate, wish)
    return earlier_estimate.repeats or not is_less_exact(
        earlier_estimate, wish, version=version, guarantee=guarantee, ledger=ledger
    )


def is_less_exact(
    earlier_estimate: EarlierEstimate, wish: QueryWish, *, version: Version, guarantee: Guarantee, ledger: Ledger
) -> bool:
    """Whether some number has more noise than it would have if this epsilon bought it."""
    if wish.within is not None:
        return False
    quoted = quote(earlier_estimate.query, wish, version=version, guarantee=guarantee, ledger=ledger, booking=False)
    return not earlier_estimate.as_exact_as(quoted.price)


def helps(earlier_estimate: EarlierEstimate, wish: QueryWish) -> bool:
    """Whether a measurement is priced beside what is told: only a width says how much is missing."""
    return wish.within is not None and earlier_estimate.has_few_laws()


def combine_with_measurement(
    before: EarlierEstimate, measurement: Measurement, after: EarlierEstimate | None, wish: QueryWish
) -> EarlierEstimate | None:
    """A new measurement and what was told before it. `after`: what the whole history, with it, tells.

    That is the least squares of everything, and what a repeat will get. Its noise has less variance than that of the
    two alone, but might, at this confidence, be a little wider than was promised: then the two alone are given; or
    None, where it is the measurement by itself that is within the width.
    """
    candidates = (after, before.with_measured(measurement))
    return next((each for each in candidates if each is not None and _within(each, wish)), None)


def _within(earlier_estimate: EarlierEstimate, wish: QueryWish) -> bool:
    return wish.within is not None and earlier_estimate.widest(wish.confidence) <= wish.within


def estimate_behind_price(
    earlier_estimate: EarlierEstimate | None, price: Price, wish: QueryWish
) -> EarlierEstimate | None:
    """What is told, where this price was chosen beside it; None where the price is for the measurement by itself."""
    if (
        earlier_estimate is None
        or wish.within is None
        or not earlier_estimate.meets_width_with(price, wish.within, wish.confidence)
    ):
        return None
    return earlier_estimate


def estimate_data(
    earlier_estimate: EarlierEstimate, price: Price, confidence: Fraction, *, enough: bool
) -> dict[str, Any]:
    """What is told, as JSON data for explain; `combine_with_measurement`: how exact it will be with what is bought."""
    both = None if enough else exact.as_float(earlier_estimate.widest_with(price, confidence), up=True)
    width = exact.as_float(earlier_estimate.widest(confidence), up=True)
    return {"releases": list(earlier_estimate.releases), "plus_minus": width, "enough": enough, "together": both}


def estimate_text(data: dict[str, Any]) -> str:
    """What is told, in words."""
    releases = release_list_text(data["releases"])
    sentence = f"earlier answers {releases} already give it within ±{data['plus_minus']:,.4g}"
    return sentence if data["enough"] else f"{sentence}; only the rest is charged, to reach ±{data['together']:,.4g}"
