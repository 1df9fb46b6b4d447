"""A precision bought step by step on made-up rows: what steps it takes there, and what they would cost. Free."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from discreet import exact
from discreet.accounting.events import compose
from discreet.answers.precision_answer import INTERVAL_SHARE_OF_STEPS
from discreet.answers.precision_steps import PlannedStep, PrecisionPurchase, cap_of
from discreet.answers.query_quote import QueryQuote, QueryWish, cost_of, quote_with_law
from discreet.answers.refine import AnswerReading
from discreet.answers.wished_precision import WishedPrecision
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.plan.price import Measure, Price
from discreet.rehearse.rehearsal_world import EMPTY_LEDGER, RehearsalWorld
from discreet.release import Spending
from discreet.sql.parsed_query import ParsedQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedPurchase:
    """The last step, what all of them would cost, and a sentence about them."""

    quoted: QueryQuote
    cost: Spending
    note: str


@dataclass(frozen=True, kw_only=True)
class WorldSeller:
    """Prices steps as on an untouched budget, and measures them on made-up rows. Nothing is charged."""

    query: ParsedQuery
    quoted: QueryQuote
    world: RehearsalWorld

    def price(self, epsilon: Fraction, confidence: Fraction) -> Price:
        wish = QueryWish(epsilon=epsilon, confidence=confidence, interval_share=INTERVAL_SHARE_OF_STEPS)
        version, guarantee = self.quoted.version, self.quoted.guarantee
        laws = [law for step in self.quoted.price.steps if isinstance(step, Measure) for law in step.laws]
        gaussian = any(isinstance(law, DiscreteGaussian) for law in laws)
        return quote_with_law(self.query, wish, version, guarantee, EMPTY_LEDGER, gaussian=gaussian).price

    def can_refine(self, release: str) -> bool:
        return False

    def cost(self, step: PlannedStep) -> Fraction | None:
        return step.epsilon

    def buy(self, step: PlannedStep) -> AnswerReading:
        measurement = self.world.noisy(self.query, self.price(step.epsilon, step.confidence))
        return AnswerReading(query=self.query, measurement=measurement)


def buy_in_world(
    query: ParsedQuery, precision: WishedPrecision, quoted: QueryQuote, world: RehearsalWorld
) -> RehearsedPurchase:
    """Buy a precision on made-up rows. `quoted`: any quote of the query, for its version and limit."""
    seller = WorldSeller(query=query, quoted=quoted, world=world)
    cap = cap_of(precision, quoted.guarantee.epsilon)
    taken = PrecisionPurchase(query=query, precision=precision, seller=seller, cap=cap).run()
    prices = [seller.price(step.epsilon, step.confidence) for step in taken.steps]
    total = exact.show(sum((step.epsilon for step in taken.steps), start=Fraction(0)), digits=3, up=True)
    steps = f"epsilon {total} in {len(taken.steps)} step{'' if len(taken.steps) == 1 else 's'}"
    note = f"on these rows, {precision} takes {steps}"
    if not taken.is_reached:
        needed = "" if taken.needed is None else f"; it takes about {exact.show(taken.needed, digits=2, up=True)}"
        note = f"on these rows, {precision} is not reached with {steps}, of at most {exact.show(cap)}{needed}"
    return RehearsedPurchase(
        quoted=replace(quoted, price=prices[-1]), cost=cost_of(compose([each.event for each in prices])), note=note
    )
