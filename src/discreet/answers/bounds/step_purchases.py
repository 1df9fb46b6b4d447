"""A purse: buys the steps of one errand, each for a charge of its own, and nothing that was bought before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import ComposedEvent, Event, Loss
from discreet.accounting.filter import Cost, sum_costs
from discreet.answers.affordability import SMALL_QUOTA, largest_question
from discreet.answers.query_quote import FREE, cost_of
from discreet.errors import BudgetExceeded, Flag, Message
from discreet.exact import EPSILON_UNITS
from discreet.kernel.measurement import Measurement
from discreet.kernel.priced_charge import priced_charge
from discreet.kernel.project_session import Session
from discreet.ledger.account import Account
from discreet.ledger.refusal import charge_refusal
from discreet.plan.price import Price
from discreet.release import Spending


@dataclass(slots=True, kw_only=True)
class StepPurchases:
    """What an errand may spend, and what it has spent. `text` is what the ledger says it was for."""

    session: Session
    text: str
    releases: list[str] = field(default_factory=list)
    _paid: dict[str, Event] = field(default_factory=dict)

    def buy(self, price: Price, *, coming: Sequence[Event] = ()) -> Measurement:
        """Measure a step, or read what was measured for it at no smaller epsilon: an errand cut short goes on free.

        `coming`: what the rest of the errand will cost. The step is refused where the budget does not hold all of
        it, so that nobody pays for half an answer.
        """
        curator, ledger, version = self.session.curator, self.session.ledger, self.session.version
        for id_ in reversed(ledger.find(version.table, version.number, price.inquiry.question())):
            if ledger.state.charges[id_].price >= price.epsilon:
                self.releases.append(id_)
                return curator.stored_measurement(id_)
        self._refuse_unaffordable(price, coming)
        try:
            measured = curator.measure(price, [version], text=self.text, asker=self.session.asker)
        except BudgetExceeded as problem:
            if problem.binding == "quota":
                problem.hint = problem.hint or SMALL_QUOTA
            raise
        if not measured.is_resumed:
            self._paid[measured.id] = measured.event
        self.releases.append(measured.id)
        return measured

    def _refuse_unaffordable(self, price: Price, coming: Sequence[Event]) -> None:
        """All steps together, about everybody: what is accepted so is accepted step by step.

        Each step's cost is rounded up by itself, as the ledger will: one unit too few would leave the last step unpaid.
        """
        session, version = self.session, self.session.version
        is_paid = session.ledger.can_resume(priced_charge(price, [version], session.asker))
        needed = coming if is_paid else (price.event, *coming)
        if not needed:
            return
        steps = [events.loss(event) for event in needed]
        cost = sum_costs([Cost.of(step) for step in steps])
        account = session.ledger.refresh().account_or_new(version.population, session.guarantee)
        decision = account.decide((version.table, version.number), region=price.region, cost=cost)
        if not decision.accepted:
            moved = account.epsilon_moved((version.table, version.number), decision)
            problem: BudgetExceeded = charge_refusal(account, cost, decision, moved)
            problem.hint = problem.hint or _hint(account, problem, steps)
            raise problem

    @property
    def cost(self) -> Spending:
        """What the errand was charged."""
        if not self._paid:
            return FREE
        charges = self.session.ledger.state.charges
        moved = sum((charges[id_].moved for id_ in self._paid), Fraction(0))
        return cost_of(ComposedEvent(events=tuple(self._paid.values())), moved)


def _hint(account: Account, problem: BudgetExceeded, steps: Sequence[Loss]) -> str:
    """An errand's steps cost no more together than one question of the same epsilon, but for the rounding of each."""
    if problem.binding == "keys":
        return Message("a smaller ", Flag("delta"), ", or ask the owner to grant more")
    most = largest_question(account.remaining_by_arm())
    total = sum((step.epsilon or Fraction(0) for step in steps), Fraction(0))
    shares = [(step.epsilon or Fraction(0)) * most / total for step in steps] if total else []
    if any((share * EPSILON_UNITS).denominator != 1 for share in shares):
        most -= Fraction(len(steps), EPSILON_UNITS)
    if most <= 0:
        return "ask the owner to grant more"
    return Message(Flag("epsilon", exact.show(most)), ", which fits, or ask the owner to grant more")
