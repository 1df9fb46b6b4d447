"""An answer that is as precise as was wished: a stored one that is, or one bought step by step (`precision_steps`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.answers.affordability import budget_refusal
from discreet.answers.answer_release import make_release
from discreet.answers.instalments import cheaper, most_precise_open, refined_quote
from discreet.answers.largest_question import largest_question
from discreet.answers.more_precise import stored_answer
from discreet.answers.precision_steps import (
    BoughtStep,
    PlannedStep,
    PrecisionPurchase,
    StepsTaken,
    cap_of,
    reached_share,
)
from discreet.answers.query_quote import QueryQuote, QueryWish, budget_cost, quote, quote_with_law
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import Reads
from discreet.answers.sql import can_resume, measure_query, most_exact_reading
from discreet.answers.wished_precision import GROUPS_FLAG, WishedPrecision
from discreet.errors import Flag, Message, UsageError
from discreet.kernel.project_session import Session
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.plan.price import Measure, Price
from discreet.release import PrecisionOutcome, Release, Spending
from discreet.sql.parsed_query import ParsedQuery

#: Where a precision was asked for, the interval of a quantile is what counts: each end is as good as the estimate.
INTERVAL_SHARE_OF_STEPS = Fraction(2, 3)


@dataclass(frozen=True, kw_only=True)
class SessionSeller:
    """Prices and measures the steps in a session: charged as any query is, and resumed as any is."""

    query: ParsedQuery
    session: Session
    confidence: Fraction
    fresh: bool = False

    def price(self, epsilon: Fraction, confidence: Fraction) -> Price:
        session = self.session
        wish = _wish(epsilon, confidence)
        return quote_with_law(
            self.query,
            wish,
            session.version,
            session.guarantee,
            session.ledger,
            gaussian=self._is_gaussian,
            booking=False,
        ).price

    @cached_property
    def _is_gaussian(self) -> bool:
        """Which noise a query of an ordinary epsilon has now."""
        quoted = self.quote(PlannedStep(epsilon=Fraction(1, 100), confidence=self.confidence))
        laws = [law for step in quoted.price.steps if isinstance(step, Measure) for law in step.laws]
        return any(isinstance(law, DiscreteGaussian) for law in laws)

    def can_refine(self, release: str) -> bool:
        if self.fresh:
            return False
        open_release = most_precise_open(self.query, version=self.session.version, curator=self.session.curator)
        return open_release is not None and open_release.id == release

    def cost(self, step: PlannedStep) -> Fraction | None:
        """What a step takes from the budget, and no less than what it takes from the people whom it touches: that may
        be more, where others have been queried more."""
        quoted = self.quote(step)
        if can_resume(self.session, quoted.price):
            return Fraction(0)
        if not quoted.decision.accepted:
            return None
        own = events.loss(quoted.price.event).epsilon
        return max(budget_cost(quoted, self.session.ledger), quoted.price.epsilon if own is None else own)

    def quote(self, step: PlannedStep) -> QueryQuote:
        """The quote of a step: measured anew, or as a refinement where that costs less."""
        session = self.session
        version, guarantee, curator = session.version, session.guarantee, session.curator
        wish = _wish(step.epsilon, step.confidence)
        anew = quote(self.query, wish, version=version, guarantee=guarantee, ledger=session.ledger, booking=False)
        if step.refines is None or can_resume(session, anew.price):
            return anew
        release = curator.stored_measurement(step.refines)
        more = step.epsilon - session.ledger.state.charges[release.id].price
        if more <= 0:
            return anew
        refined = refined_quote(
            self.query,
            replace(wish, epsilon=more),
            release,
            version=version,
            guarantee=guarantee,
            curator=curator,
            resumes=lambda price: can_resume(session, price),
        )
        return cheaper(anew, refined, curator)

    def buy(self, step: PlannedStep) -> AnswerReading:
        wish = _wish(step.epsilon, step.confidence)
        surer = int((1 - self.confidence) / (1 - step.confidence))  # of a top-up 16, 32 and so on, else 1
        measurement = measure_query(self.query, wish, self.session, self.quote(step), surer=surer)
        return AnswerReading(query=self.query, measurement=measurement)


def _wish(epsilon: Fraction, confidence: Fraction) -> QueryWish:
    return QueryWish(epsilon=epsilon, confidence=confidence, interval_share=INTERVAL_SHARE_OF_STEPS)


def answer_within(
    query: ParsedQuery, precision: WishedPrecision, session: Session, *, fresh: bool, reads: Reads | None = None
) -> Release:
    """Answer a query as precisely as wished, by steps that are charged as they are taken; a stored answer is free.

    Guarantee: the steps' losses are charged before each is taken, and add to no more than the cap.
    Because: the next step, and when to stop, are chosen from noisy values and public facts (docs/proofs/precision.md).
    """
    precision.check(query)
    wish = QueryWish(within=precision.width, confidence=precision.confidence)
    version, curator, ledger = session.version, session.curator, session.ledger
    stored = None if fresh else most_exact_reading(query, version=version, curator=curator, reads=reads)
    if stored is not None and precision.is_reached(query, stored.rows, stored.intervals(precision.confidence)):
        return make_release(stored, wish, version=version, ledger=ledger, cached=True)
    purchase = purchase_of(query, precision, session, fresh=fresh)
    stored_look = None if fresh else _stored_look(query, session)
    taken = purchase.run(stored_look)
    if not taken.steps:  # nothing was bought: what is stored is all there is
        assert stored_look is not None
        raise _not_reached(precision, taken.needed, purchase.cap, _room(session))
    return _release(query, precision, taken, session, cap=purchase.cap)


def purchase_of(
    query: ParsedQuery, precision: WishedPrecision, session: Session, *, fresh: bool = False
) -> PrecisionPurchase:
    """The purchase of a precision, before anything is bought."""
    seller = SessionSeller(query=query, session=session, confidence=precision.confidence, fresh=fresh)
    cap = cap_of(precision, session.guarantee.epsilon)
    return PrecisionPurchase(query=query, precision=precision, seller=seller, cap=cap)


def explain_steps(
    query: ParsedQuery, precision: WishedPrecision, session: Session, *, reads: Reads | None = None
) -> dict[str, Any]:
    """The first step of a precision that is bought step by step, as `explain` says it. Free."""
    from discreet.answers.explain import explain  # with the dialects of all engines

    precision.check(query)
    ledger = session.ledger
    stored = most_exact_reading(query, version=session.version, curator=session.curator, reads=reads)
    if stored is not None and not precision.is_reached(query, stored.rows, stored.intervals(precision.confidence)):
        stored = None
    purchase = purchase_of(query, precision, session)
    stored_look = _stored_look(query, session)
    step = purchase.next_step(stored_look)
    if stored is None and stored_look is not None and (step is None or not purchase.fits(step, ())):
        raise _not_reached(precision, None if step is None else step.epsilon, purchase.cap, _room(session))
    seller = SessionSeller(query=query, session=session, confidence=precision.confidence)
    quoted = seller.quote(purchase.first_look() if step is None else step)
    if stored is None and not quoted.decision.accepted:
        wish = QueryWish(epsilon=quoted.price.epsilon, confidence=precision.confidence)
        raise budget_refusal(quoted, wish, ledger)
    data = explain(quoted, stored, confidence=precision.confidence, ledger=ledger)
    at_most = exact.as_float(purchase.cap, up=True)
    return data | {"within": {"wished": str(precision), "for": float(precision.share), "at_most": at_most}}


def _stored_look(query: ParsedQuery, session: Session) -> BoughtStep | None:
    """The most exact stored answer to this very query, as a look that costs nothing."""
    curator, version = session.curator, session.version
    ids = session.ledger.find(version.table, version.number, query.inquiry.question())
    charges = session.ledger.state.charges
    readings = [stored_answer(query, curator.stored_measurement(id_), curator) for id_ in reversed(ids)]
    readings = [each for each in readings if each.has_intervals]
    best = min(readings, key=lambda each: (each.variance(), -charges[each.measurement.id].price), default=None)
    if best is None:
        return None
    alone = AnswerReading(query=query, measurement=best.measurement)
    paid = charges[best.measurement.id].price
    return BoughtStep(reading=alone, epsilon=paid, cost=Fraction(0), confidence=Fraction(95, 100))


def _release(
    query: ParsedQuery, precision: WishedPrecision, taken: StepsTaken, session: Session, *, cap: Fraction
) -> Release:
    """The last step as a release, with what all of them took."""
    last = taken.steps[-1]
    wish = QueryWish(within=precision.width, confidence=precision.confidence)
    release = make_release(last.reading, wish, version=session.version, ledger=session.ledger, cached=False)
    costs = [_cost(step, session) for step in taken.steps]
    cost = Spending(
        epsilon=None
        if any(each.epsilon is None for each in costs)
        else sum((each.epsilon or Fraction(0) for each in costs), start=Fraction(0)),
        rho=sum((each.rho or Fraction(0) for each in costs), start=Fraction(0)),
        delta=sum((each.delta for each in costs), start=Fraction(0)),
        budget=sum((each.budget or Fraction(0) for each in costs), start=Fraction(0)),
    )
    outcome = PrecisionOutcome(
        wished=str(precision),
        share=precision.share,
        reached=taken.is_reached,
        share_reached=reached_share(precision, query, last),
        steps=tuple((step.reading.measurement.id, step.epsilon, step.cost) for step in taken.steps),
        needed=taken.needed,
        at_most=cap,
    )

    def intervals(confidence: Fraction) -> Any:
        return last.intervals(confidence, precision.confidence)

    priced = replace(release, cost=cost, precision=outcome, read_intervals=intervals)
    return priced.with_warnings([*precision_notes(outcome, _room(session)), *release.warnings])


def _room(session: Session) -> Fraction:
    """The largest epsilon that the budget still holds."""
    return largest_question(session.ledger.remaining_by_arm(session.version.population, guarantee=session.guarantee))


def _cost(step: BoughtStep, session: Session) -> Spending:
    wish = QueryWish(epsilon=step.epsilon)
    return make_release(step.reading, wish, version=session.version, ledger=session.ledger, cached=False).cost


def precision_notes(outcome: PrecisionOutcome, room: Fraction) -> list[str]:
    """What a purchase took, and what is missing. `room`: the epsilon that the budget still holds."""
    notes = []
    looks = len(outcome.steps) - 1
    if outcome.reached:
        before = "" if not looks else f", after {looks} cheaper step{'' if looks == 1 else 's'}"
        notes.append(f"within {outcome.wished}{outcome.groups_text} as wished{before}")
        return notes
    reached = f"{float(100 * outcome.share_reached):.3g}% of the groups are" if outcome.share_reached else "it is"
    what = f"not within {outcome.wished}{outcome.groups_text}" + (f": {reached}" if outcome.share_reached else "")
    if outcome.needed is None:
        notes.append(f"{what}; the numbers measured so far do not show how much it would take")
        return notes
    more = exact.show(outcome.needed, digits=2, up=True)
    take = f"{what}. It would take about epsilon {more} more"
    if outcome.needed > room:
        notes.append(f"{take}, and the remaining budget allows {exact.show(room)}")
        return notes
    notes.append(
        Message(
            f"{take}, and at most {exact.show(outcome.at_most)} was allowed; ",
            Flag("at-most", more),
            " allows that, and continues from this answer",
        )
    )
    return notes


def _not_reached(precision: WishedPrecision, needed: Fraction | None, cap: Fraction, room: Fraction) -> UsageError:
    """The refusal of a precision that a stored answer shows to cost more than is allowed. Free.

    `room`: the epsilon that the budget still holds.
    """
    if needed is None:
        return UsageError(f"no epsilon brings the numbers within {precision}")
    about = exact.show(needed, digits=2, up=True)
    if needed > room:
        return UsageError(
            f"within {precision} would take about epsilon {about}; the remaining budget allows {exact.show(room)}",
            hint=Message("a wider ", Flag("within"), ", or fewer groups with ", GROUPS_FLAG),
        )
    return UsageError(
        f"within {precision} would take about epsilon {about}; at most {exact.show(cap)} is allowed",
        hint=Message(Flag("at-most", about), ", a wider ", Flag("within"), ", or fewer groups with ", GROUPS_FLAG),
    )
