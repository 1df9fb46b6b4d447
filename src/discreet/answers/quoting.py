"""Quotes: what a question would cost and how exact it would be, and what the ledger would decide. Free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Protocol

from discreet.accounting import events
from discreet.accounting.filter import Decision, Segment
from discreet.accounting.guarantee import Guarantee
from discreet.curator import Version
from discreet.errors import Refused, UsageError
from discreet.ledger.account import Account, Amount, Standing
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.threshold import Threshold
from discreet.plan.price import Discover, Law, Measure, Price, cheapest, price
from discreet.release import Spending
from discreet.sql.asked import Asked, Output
from discreet.sql.text import Source

FREE = Spending(epsilon=Fraction(0), rho=Fraction(0), delta=Fraction(0))


#: A question that discovers keys takes this share of the delta that is set aside for keys, unless told.
KEYS_SHARE = Fraction(1, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How exact an answer should be: an epsilon to spend, or a width to stay within; and a delta for its keys."""

    epsilon: Fraction | None = None
    within: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    delta: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.within is None):
            raise UsageError(
                "say how much to spend or how exact to be",
                hint="--epsilon 0.1, or --within 50; one of the two",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A priced question and what the ledger would decide about it now."""

    asked: Asked
    price: Price
    version: Version
    guarantee: Guarantee
    decision: Decision
    because: str


class Helping(Protocol):
    """What released answers tell about a question."""

    def met_with(self, price: Price, width: Fraction, confidence: Fraction) -> bool:
        """Whether what they tell, combined with one more measurement at a price, is within a width."""
        ...


def quote(
    asked: Asked,
    wish: Wish,
    *,
    version: Version,
    guarantee: Guarantee,
    ledger: Ledger,
    booking: bool = True,
    told: Helping | None = None,
) -> Quote:
    """Price a question. Free; reads the ledger's public state and no data. `told`: --within buys only the rest.

    Laplace keeps both filters alive. A Gaussian has less noise at the same rho but ends the pure filter
    for the people it touches, so it is used only where the owner set accounting = "zcdp", or where the
    pure filter cannot take the question any more and the zCDP filter can.
    """
    priced = partial(quoted_with, asked, wish, version, guarantee, ledger, booking=booking, told=told)
    if guarantee.accounting == "zcdp":
        return priced(gaussian=True, because="accounting = 'zcdp'")
    laplace = priced(gaussian=False, because="Laplace keeps both filters open")
    if guarantee.limits.rho is None or laplace.decision.arm == "pure" or not asked.inquiry.statistics:
        return laplace
    gaussian = priced(gaussian=True, because="the pure filter is full here; the zCDP one is not")
    return gaussian if gaussian.decision.accepted else laplace


def quoted_with(
    asked: Asked,
    wish: Wish,
    version: Version,
    guarantee: Guarantee,
    ledger: Ledger,
    *,
    gaussian: bool,
    because: str,
    booking: bool = True,
    told: Helping | None = None,
) -> Quote:
    delta = guarantee.keys * KEYS_SHARE if wish.delta is None else wish.delta

    def at(epsilon: Fraction) -> Price:
        return price(
            asked.inquiry,
            asked.reach,
            needs=asked.needs,
            epsilon=epsilon,
            gaussian=gaussian,
            delta=delta,
            confidence=wish.confidence,
        )

    try:
        epsilon = wish.epsilon if wish.epsilon is not None else _epsilon_within(asked, wish, at, told)
        found = at(epsilon)
    except Refused as problem:
        source = Source(text=problem.sql or asked.text)
        found_keys = [key.node for key in asked.keys if key.axis is None] if delta <= 0 else []
        raise source.refusal(problem.reason, at=next(iter(found_keys), None), hint=problem.hint) from None
    decision = ledger.preview(
        population=version.population,
        table=version.table,
        version=version.number,
        region=found.region,
        event=found.event,
        guarantee=guarantee,
        booking=booking,
    )
    return Quote(asked=asked, price=found, version=version, guarantee=guarantee, decision=decision, because=because)


def _epsilon_within(asked: Asked, wish: Wish, at: Callable[[Fraction], Price], told: Helping | None = None) -> Fraction:
    """The cheapest epsilon at which every count and sum is within the width wished for."""
    width = wish.within
    assert width is not None
    outputs = [output for output in asked.outputs if output.key is None and output.grouping is None]
    if asked.inquiry.keys:
        raise UsageError(
            "--within is for known keys: how exact the number of a discovered key is depends on the key",
            hint="--epsilon 0.5, and the answer says how exact it is",
        )
    if not outputs or any(output.plain is None for output in outputs):
        other = next((output.name for output in outputs if output.plain is None), "this answer")
        raise UsageError(
            f"--within is for counts and sums: how exact {other!r} will be depends on the data",
            hint="--epsilon 0.5, and the answer says how exact it is",
        )

    def good(epsilon: Fraction) -> bool:
        try:
            found = at(epsilon)
        except UsageError:  # noise so large that nobody draws it
            return False
        # Alone, noise in whole steps may be cheaper than in fractions of them: where little is told, it is left aside.
        alone = widest(found, outputs, wish.confidence) <= width
        return alone or (told is not None and told.met_with(found, width, wish.confidence))

    return cheapest(good, width=width)


def laws_of(found: Price) -> dict[int, list[Law]]:
    """The laws of each statistic's noise, one for each grouping set, by the question's own numbers."""
    laws: dict[int, list[Law]] = {}
    for step in found.steps:
        if isinstance(step, Measure):
            for number, law in zip(step.statistics, step.laws, strict=True):
                laws.setdefault(number, []).append(law)
        elif isinstance(step, Discover) and step.answers is not None and isinstance(step.mechanism, Threshold):
            laws.setdefault(step.answers, []).append(step.mechanism.noise)
    numbers = found.inquiry.order.statistics
    return {index: laws[number] for index, number in enumerate(numbers) if number in laws}


def width_of(found: Price, output: Output, confidence: Fraction) -> Fraction | None:
    """How wrong a count or sum may be by its noise; None for what depends on the data."""
    if output.plain is None:
        return None
    index, step = output.plain
    return max((Fraction(law.half_width(confidence)) * abs(step) for law in laws_of(found)[index]), default=Fraction(0))


def widest(found: Price, outputs: Sequence[Output], confidence: Fraction) -> Fraction:
    """The widest noise of several counts and sums."""
    return max(width_of(found, output, confidence) or Fraction(0) for output in outputs)


def spending(amount: Amount) -> Spending:
    """A ledger's amount as a release shows it."""
    return Spending(epsilon=amount.epsilon, delta=amount.delta)


def account_of(quoted: Quote, ledger: Ledger) -> Account:
    """The account that pays; a new one where its population has none yet."""
    name = quoted.version.population
    return ledger.refresh().accounts.get(name) or Account(name=name, guarantee=quoted.guarantee)


def standing_after(quoted: Quote, ledger: Ledger, *, free: bool) -> Standing:
    """Where the population would stand after this question; a stored answer moves nothing."""
    version, decision = quoted.version, quoted.decision
    account = account_of(quoted, ledger)
    if free:
        return account.standing()
    segments = {**account.segments, (version.table, version.number): Segment(balance=decision.balance)}
    return replace(account, segments=segments, delta=decision.delta).standing()


def cost_of(event: events.Event) -> Spending:
    """An event's cost for people: on a Gaussian epsilon is None, for it has no pure bound."""
    loss = events.loss(event)
    return Spending(epsilon=loss.epsilon, rho=loss.rho, delta=loss.delta)
