"""A purse: buys the steps of one errand, each for a charge of its own, and nothing that was bought before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import ComposedEvent, Event
from discreet.accounting.filter import Cost
from discreet.answers.affordability import largest_question
from discreet.answers.query_quote import FREE, cost_of
from discreet.errors import BudgetExceeded, Flag, Message
from discreet.kernel.measurement import Measurement
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
        measured = curator.measure(price, [version], text=self.text, asker=self.session.asker)
        self._paid[measured.id] = measured.event
        self.releases.append(measured.id)
        return measured

    def _refuse_unaffordable(self, price: Price, coming: Sequence[Event]) -> None:
        """A bundle of everything, about everybody: what is accepted so is accepted step by step."""
        event = ComposedEvent(events=(price.event, *coming))
        decision = self.session.preview(event, region=price.region)
        if not decision.accepted:
            version = self.session.version
            account = self.session.ledger.refresh().account_or_new(version.population, self.session.guarantee)
            moved = account.epsilon_moved((version.table, version.number), decision)
            problem: BudgetExceeded = charge_refusal(account, Cost.of(events.loss(event)), decision, moved)
            problem.hint = problem.hint or _hint(account, problem)
            raise problem

    @property
    def cost(self) -> Spending:
        """What the errand was charged."""
        if not self._paid:
            return FREE
        charges = self.session.ledger.state.charges
        moved = sum((charges[id_].moved for id_ in self._paid), Fraction(0))
        return cost_of(ComposedEvent(events=tuple(self._paid.values())), moved)


def _hint(account: Account, problem: BudgetExceeded) -> str:
    """An errand's steps cost no more together than one question of the same epsilon."""
    if problem.binding == "keys":
        return Message("a smaller ", Flag("delta"), ", or ask the owner to grant more")
    most = largest_question(account.remaining_by_arm())
    if most <= 0:
        return "ask the owner to grant more"
    return Message(Flag("epsilon", exact.show(most)), ", which fits, or ask the owner to grant more")
