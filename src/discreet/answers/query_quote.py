"""Quotes: what a question would cost and how exact it would be, and what the ledger would decide. Free."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Protocol

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import Decision, Segment
from discreet.accounting.guarantee import Guarantee
from discreet.answers.largest_question import largest_question
from discreet.errors import Flag, Message, Refused, UsageError
from discreet.kernel.curator import Version
from discreet.ledger.account import Account, AccountStatus, Amount
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.threshold import KeyThreshold
from discreet.plan.price import INTERVAL_SHARE, Discover, IntervalTerms, Law, Measure, Price, cheapest_epsilon, price
from discreet.release import Spending
from discreet.sql.parsed_query import OutputColumn, ParsedQuery
from discreet.sql.query_text import QueryText

FREE = Spending(epsilon=Fraction(0), rho=Fraction(0), delta=Fraction(0), budget=Fraction(0))


#: A question that discovers keys takes this share of the delta that is set aside for keys, unless told.
KEYS_SHARE = Fraction(1, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryWish:
    """How exact an answer should be: an epsilon to spend, or a width to stay within; and a delta for its keys.

    interval_share: the part of a quantile's price that its interval takes; 0: it has none. column: the one whose width
    is wished for, and the others are as they come; None: every count and sum stays within it.
    """

    epsilon: Fraction | None = None
    within: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    delta: Fraction | None = None
    interval_share: Fraction = INTERVAL_SHARE
    column: str | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.within is None):
            raise UsageError(
                "say how much to spend or how precise to be",
                hint=Message(Flag("epsilon", 0.1), ", or ", Flag("within", 50), ", but not both"),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryQuote:
    """A priced question and what the ledger would decide about it now."""

    query: ParsedQuery
    price: Price
    version: Version
    guarantee: Guarantee
    decision: Decision
    because: str = ""


class SupportsCombinedWidth(Protocol):
    """What released answers tell about a question."""

    def meets_width_with(self, price: Price, width: Fraction, confidence: Fraction) -> bool:
        """Whether what they tell, combined with one more measurement at a price, is within a width."""
        ...


def quote(
    query: ParsedQuery,
    wish: QueryWish,
    *,
    version: Version,
    guarantee: Guarantee,
    ledger: Ledger,
    booking: bool = True,
    earlier_estimate: SupportsCombinedWidth | None = None,
) -> QueryQuote:
    """Price a question. Free; reads the ledger's public state and no data. `earlier_estimate`: --within buys only the
    rest.

    Laplace keeps every arm alive. A Gaussian has less noise at the same rho but ends the pure arm for the people it
    touches, so it is used only where the owner set accounting = "zcdp", or where the pure arm cannot take the question
    any more and a Gaussian costs the budget no more than Laplace noise. Quantiles are likewise chosen by
    permute-and-flip, and beside a Gaussian by the exponential mechanism, which has less rho.
    """
    priced = partial(
        quote_with_law, query, wish, version, guarantee, ledger, booking=booking, earlier_estimate=earlier_estimate
    )
    if guarantee.accounting == "zcdp":
        return replace(priced(gaussian=True), because="accounting = 'zcdp'")
    laplace = replace(priced(gaussian=False), because="the sum of epsilons has room for Laplace noise")
    if not query.inquiry.statistics:
        laplace = replace(laplace, because="the sum of epsilons has room for a choice by permute-and-flip")
    if guarantee.limits.rho is None or laplace.decision.arm == "pure" or not has_two_laws(query):
        return laplace
    gaussian = priced(gaussian=True)
    costs = budget_cost(gaussian, ledger), budget_cost(laplace, ledger)
    pure, other = ("Laplace noise", "Gaussian noise")
    if not query.inquiry.statistics:
        pure, other = ("permute-and-flip", "the exponential mechanism")
    if not gaussian.decision.accepted or (laplace.decision.accepted and costs[0] > costs[1]):
        return replace(laplace, because=f"{pure} costs the budget less than {other} here")
    because = f"the sum of epsilons is at its limit here, and {other} costs the budget no more"
    return replace(gaussian, because=because)


def has_two_laws(query: ParsedQuery) -> bool:
    """Whether a query is measured otherwise where zCDP is what counts: only discovering keys is not."""
    return bool(query.inquiry.statistics or query.inquiry.quantiles)


def quote_with_law(
    query: ParsedQuery,
    wish: QueryWish,
    version: Version,
    guarantee: Guarantee,
    ledger: Ledger,
    *,
    gaussian: bool,
    booking: bool = True,
    earlier_estimate: SupportsCombinedWidth | None = None,
) -> QueryQuote:
    """Price a question under noise of one law; `because` is left to whoever chose it."""
    delta = guarantee.keys * KEYS_SHARE if wish.delta is None else wish.delta

    def at(epsilon: Fraction) -> Price:
        return price(
            query.inquiry,
            query.reach,
            needs=query.needs,
            epsilon=epsilon,
            gaussian=gaussian,
            delta=delta,
            intervals=IntervalTerms(confidence=wish.confidence, share=wish.interval_share),
            weigh_keys=True,
        )

    try:
        _refuse_width(query, wish, partial(_epsilon_hint, version, guarantee, ledger))
        epsilon = wish.epsilon if wish.epsilon is not None else _epsilon_within(query, wish, at, earlier_estimate)
        priced = at(epsilon)
    except Refused as problem:
        source = QueryText(text=problem.sql or query.text)
        discovered_key_nodes = [key.node for key in query.keys if key.axis is None] if delta <= 0 else []
        raise source.refusal(problem.reason, at=next(iter(discovered_key_nodes), None), hint=problem.hint) from None
    decision = ledger.preview(
        population=version.population,
        table=version.table,
        version=version.number,
        region=priced.region,
        event=priced.event,
        guarantee=guarantee,
        booking=booking,
    )
    return QueryQuote(query=query, price=priced, version=version, guarantee=guarantee, decision=decision)


def noisy_outputs(query: ParsedQuery) -> list[OutputColumn]:
    """The columns of an answer that hold noise: all but its keys."""
    return [output for output in query.outputs if output.key is None and output.grouping is None]


def _outputs_within(query: ParsedQuery, wish: QueryWish) -> list[OutputColumn]:
    """The columns that the width is wished for."""
    outputs = noisy_outputs(query)
    return outputs if wish.column is None else [output for output in outputs if output.name == wish.column]


def _epsilon_hint(version: Version, guarantee: Guarantee, ledger: Ledger) -> Message:
    """A hint for a question that takes no width: an epsilon that fits the budget."""
    room = ledger.remaining_by_arm(version.population, guarantee=guarantee)
    fitting = min(Fraction(1, 2), largest_question(room))
    if fitting <= 0:
        return Message("no budget remains for this query; ask the owner to grant more")
    return Message(Flag("epsilon", exact.show(fitting)), "; the answer states its precision")


def _refuse_width(query: ParsedQuery, wish: QueryWish, hint: Callable[[], Message]) -> None:
    """Refuse a width for what has none before it is measured."""
    if wish.within is None:
        return
    if query.inquiry.keys:
        raise UsageError(
            Message(
                Flag("within"), " works only with known keys: the precision of a discovered key depends on the key"
            ),
            hint=hint(),
        )
    outputs = _outputs_within(query, wish)
    if wish.column is not None and not outputs:
        raise UsageError(f"the query has no column {wish.column!r} with noise", hint="choose one of its columns")
    if not outputs or any(output.plain is None for output in outputs):
        other = next((output.name for output in outputs if output.plain is None), "this answer")
        raise UsageError(
            Message(Flag("within"), f" works only for counts and sums: the precision of {other!r} depends on the data"),
            hint=hint(),
        )


def _epsilon_within(
    query: ParsedQuery,
    wish: QueryWish,
    at: Callable[[Fraction], Price],
    earlier_estimate: SupportsCombinedWidth | None = None,
) -> Fraction:
    """The cheapest epsilon at which every count and sum, or the one column, is within the width wished for."""
    width = wish.within
    assert width is not None
    outputs = _outputs_within(query, wish)

    def good(epsilon: Fraction) -> bool:
        try:
            priced = at(epsilon)
        except UsageError:  # noise so large that nobody draws it
            return False
        # Alone, noise in whole steps may be cheaper than in fractions of them: where little is told, it is left aside.
        alone = widest(priced, outputs, wish.confidence) <= width
        return alone or (
            earlier_estimate is not None and earlier_estimate.meets_width_with(priced, width, wish.confidence)
        )

    return cheapest_epsilon(good, width=width)


def laws_of(priced: Price) -> dict[int, list[Law]]:
    """The laws of each statistic's noise, one for each grouping set, by the question's own numbers."""
    laws: dict[int, list[Law]] = {}
    for step in priced.steps:
        if isinstance(step, Measure):
            for number, law in zip(step.statistics, step.laws, strict=True):
                laws.setdefault(number, []).append(law)
        elif isinstance(step, Discover) and step.answers is not None and isinstance(step.mechanism, KeyThreshold):
            laws.setdefault(step.answers, []).append(step.mechanism.noise)
    numbers = priced.inquiry.order.statistics
    return {index: laws[number] for index, number in enumerate(numbers) if number in laws}


def width_of(priced: Price, output: OutputColumn, confidence: Fraction) -> Fraction | None:
    """How wrong a count or sum may be by its noise; None for what depends on the data."""
    if output.plain is None:
        return None
    index, step = output.plain
    return max(
        (Fraction(law.half_width(confidence)) * abs(step) for law in laws_of(priced)[index]), default=Fraction(0)
    )


def widest(priced: Price, outputs: Sequence[OutputColumn], confidence: Fraction) -> Fraction:
    """The widest noise of several counts and sums."""
    return max(width_of(priced, output, confidence) or Fraction(0) for output in outputs)


def spending(amount: Amount) -> Spending:
    """A ledger's amount as a release shows it."""
    return Spending(epsilon=amount.epsilon, delta=amount.delta)


def account_of(quoted: QueryQuote, ledger: Ledger) -> Account:
    """The account that pays; a new one where its population has none yet."""
    return ledger.refresh().account_or_new(quoted.version.population, quoted.guarantee)


def budget_cost(quoted: QueryQuote, ledger: Ledger) -> Fraction:
    """How far a question would raise the epsilon that is spent: what it costs the budget."""
    version = quoted.version
    moved = account_of(quoted, ledger).epsilon_moved((version.table, version.number), quoted.decision)
    return quoted.price.epsilon if moved is None else moved


def budget_after(quoted: QueryQuote, ledger: Ledger, *, free: bool) -> AccountStatus:
    """Where the population would stand after this question; a stored answer moves nothing."""
    version, decision = quoted.version, quoted.decision
    account = account_of(quoted, ledger)
    if free:
        return account.status()
    segments = {**account.segments, (version.table, version.number): Segment(balance=decision.balance)}
    return replace(account, segments=segments, delta=decision.delta).status()


def cost_of(event: events.Event, budget: Fraction | None = None) -> Spending:
    """An event's cost for people: on a Gaussian epsilon is None, for it has no pure bound. `budget`: see `Spending`."""
    loss = events.loss(event)
    return Spending(epsilon=loss.epsilon, rho=loss.rho, delta=loss.delta, budget=budget)
