"""Precision in instalments: an answer is made more precise for the difference, by noise that is drawn given its noise.

Where that costs the budget more than new, independent noise would (it may, where the sum of epsilons is not what
decides), the question is measured anew and both answers are combined. The ledger's public state decides between the
two. docs/proofs/instalments.md proves what a refinement costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from discreet.accounting.guarantee import Guarantee
from discreet.answers.query_quote import QueryQuote, QueryWish, budget_cost, quote, quote_with_law
from discreet.answers.reconcile.earlier_estimate import EarlierEstimate
from discreet.errors import UsageError
from discreet.exact import MAX_QUESTION_EPSILON
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Measurement, NoisyCells
from discreet.kernel.version import Version
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan.price import Measure, Price
from discreet.sql.parsed_query import ParsedQuery


def quote_within(
    query: ParsedQuery,
    wish: QueryWish,
    *,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    booking: bool = True,
    earlier_estimate: EarlierEstimate | None = None,
    fresh: bool = False,
) -> QueryQuote:
    """Price a question: measured anew and combined with earlier answers; or, if a precision is asked for and not
    `fresh` noise, by refining its most precise answer, where that is cheaper.
    """
    anew = quote(
        query,
        wish,
        version=version,
        guarantee=guarantee,
        ledger=curator.ledger,
        booking=booking,
        earlier_estimate=earlier_estimate,
    )
    if wish.within is None or fresh:
        return anew
    release = most_precise_open(query, version=version, curator=curator)
    if release is None:
        return anew
    refined = refined_quote(query, wish, release, version=version, guarantee=guarantee, curator=curator)
    return cheaper(anew, refined, curator)


def most_precise_open(query: ParsedQuery, *, version: Version, curator: Curator) -> Measurement | None:
    """The most precise stored answer to this question that may be refined, or whose refinement has no answer yet."""
    ids = curator.ledger.find(version.table, version.number, query.inquiry.question())
    candidates = [curator.stored_measurement(id_) for id_ in ids if curator.ledger.state.refinements.may_refine(id_)]
    return min(candidates, key=lambda each: max(float(law.variance()) for law in each.laws), default=None)


def refined_quote(
    query: ParsedQuery,
    wish: QueryWish,
    release: Measurement,
    *,
    version: Version,
    guarantee: Guarantee,
    curator: Curator,
    resumes: Callable[[Price], bool] = lambda price: False,
) -> QueryQuote | None:
    """Price a refinement of a release; None if it cannot be refined in this way.

    An epsilon is added to what was paid for the release. A release that was refined already can be priced only if this
    is the same refinement, and it `resumes`.
    """
    ledger = curator.ledger
    if not ledger.state.refinements.may_refine(release.id) or (ledger.shared and ledger.state.forgotten):
        return None  # another machine erases from its own files when it next looks: not all count the same rows
    if wish.epsilon is not None:
        wish = replace(wish, epsilon=min(MAX_QUESTION_EPSILON, wish.epsilon + ledger.state.charges[release.id].price))
    try:
        quoted = quote_with_law(query, wish, version, guarantee, ledger, gaussian=False, booking=False)
    except UsageError:  # noise too small to draw, or no epsilon reaches the precision
        return None
    price = _refining(quoted.price, release)
    is_open = release.id in ledger.state.refinements.open_releases
    if price is None or not (is_open or resumes(price)):
        return None
    decision = ledger.preview(
        population=version.population,
        table=version.table,
        version=version.number,
        region=price.region,
        event=price.event,
        guarantee=guarantee,
    )
    because = f"this makes release {release.id} more precise, and only the difference is charged"
    return replace(quoted, price=price, decision=decision, because=because)


def _refining(price: Price, release: Measurement) -> Price | None:
    """The price of refining a release, from that of measuring anew; None if it has other cells or no more noise."""
    parts = {part.place: part for part in release.parts if isinstance(part, NoisyCells)}
    steps = []
    for step in price.steps:
        part = parts.get(step.place) if isinstance(step, Measure) else None
        if not isinstance(step, Measure) or part is None or part.statistics != step.statistics:
            return None
        earlier = [law for law in part.laws if isinstance(law, DiscreteLaplace)]
        if len(earlier) != len(step.laws) or any(
            not isinstance(law, DiscreteLaplace) or law.scale >= before.scale
            for law, before in zip(step.laws, earlier, strict=True)
        ):
            return None
        steps.append(replace(step, earlier=tuple(earlier)))
    if len(steps) != len(release.parts):
        return None
    return replace(price, steps=tuple(steps), refines=release.id)


def cheaper(anew: QueryQuote, refined: QueryQuote | None, curator: Curator) -> QueryQuote:
    """The quote that costs the budget less; the refinement if both cost the same, because it has less noise."""
    if refined is None or not refined.decision.accepted:
        return anew
    if anew.decision.accepted and _cost(anew, curator) < _cost(refined, curator):
        return anew
    return refined


def _cost(quoted: QueryQuote, curator: Curator) -> Fraction:
    return budget_cost(quoted, curator.ledger)
