"""What a publication costs, and the noise that each of its queries gets for it. Before any data."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction

from discreet import exact
from discreet.accounting.events import ReservationEvent, to_data
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.answers.affordability import largest_that_fits
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.errors import BudgetExceeded, Flag, Message, Piece, UsageError
from discreet.kernel.measurement import Law
from discreet.kernel.project_session import Session
from discreet.ledger.charge_request import Asker
from discreet.ledger.entry_checks import check_event, check_name
from discreet.ledger.invariants import refuse_if_doubled_over_limit
from discreet.ledger.ledger import Ledger
from discreet.ledger.refusal import check_quota
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.tables.publish.layout import Layout, with_levels
from discreet.tables.publish.plan_file import PlanLevel

#: Squares and quotients of variances stay within floats.
_LEAST_VARIANCE = 1e-60


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicationPrice:
    """What is paid: (epsilon, delta) as asked, and what that is in the ledger's terms."""

    epsilon: Fraction
    delta: Fraction
    event: ReservationEvent

    @property
    def is_pure(self) -> bool:
        return self.event.epsilon is not None


def possible_prices(epsilon: object, delta: object, guarantee: Guarantee) -> list[PublicationPrice]:
    """What keeps (epsilon, delta): a pure epsilon, or the rho that converts to both; or both, to choose from.

    A delta that is asked for means rho, and 0 means pure. Without one the population's own is taken, and either serves;
    where it has none only pure does, and where it counts in rho alone only rho.
    """
    checked_epsilon = exact.positive(epsilon, name="epsilon", most=exact.MAX_QUESTION_EPSILON)
    checked_delta = guarantee.delta_rho if delta is None else exact.probability(delta, name="delta")
    pure = PublicationPrice(
        epsilon=checked_epsilon,
        delta=Fraction(0),
        event=ReservationEvent(epsilon=checked_epsilon, rho=checked_epsilon**2 / 2, delta=Fraction(0)),
    )
    if checked_delta == 0:
        return [pure]
    if guarantee.delta_rho == 0:
        raise UsageError(
            "the table's budget has no delta, so rho cannot be converted", hint=Message("leave ", Flag("delta"), " out")
        )
    rho = rho_from_epsilon(checked_epsilon, checked_delta)
    if rho > 0:
        converted = PublicationPrice(
            epsilon=checked_epsilon,
            delta=checked_delta,
            event=ReservationEvent(epsilon=None, rho=rho, delta=Fraction(0)),
        )
        return [converted] if delta is not None or guarantee.accounting == "zcdp" else [pure, converted]
    if delta is None and guarantee.accounting != "zcdp":
        return [pure]
    raise UsageError(
        f"epsilon {exact.show(checked_epsilon)} at delta {exact.show(checked_delta)} is too small: "
        "it needs infinite noise"
    )


def law_of(price: PublicationPrice, share: Fraction, *, rows: int) -> Law:
    """The noise of a query that costs a share, for units of at most so many rows.

    Because: a unit moves the tables of one query by at most `rows` in total (`Nodes.moves`), so this costs the share
    exactly, and shares add up to the reservation.
    """
    if price.event.epsilon is not None:
        return DiscreteLaplace(scale=Fraction(rows) / (price.event.epsilon * share))
    return DiscreteGaussian(sigma2=Fraction(rows**2) / (2 * price.event.rho * share))


def variance_of(law: Law) -> float:
    """The variance of noise, never quite nothing: an enormous epsilon must not divide by it."""
    return max(law.variance(), _LEAST_VARIANCE)


def laws_of(layout: Layout, price: PublicationPrice) -> list[list[Law]]:
    """The noise of every query, level by level. Refused where it cannot be drawn."""
    rows = layout.version.schema.unit.rows
    return [[law_of(price, query.share, rows=rows) for query in level] for level in layout.queries]


def question_of(layout: Layout, price: PublicationPrice) -> str:
    """What tells the same publication again: the plan as it is told, and its price."""
    version = layout.version
    question_data = {
        "publish": layout.to_data(),
        "table": version.table,
        "version": version.number,
        "event": to_data(price.event),
    }
    return hashlib.sha256(json.dumps(question_data, sort_keys=True).encode()).hexdigest()


def chosen_shares(layout: Layout) -> str:
    """The parts of the budget that levels were given, where the plan left that open; written down with the charge."""
    if layout.plan.levels:
        return ""
    return ",".join(str(sum((query.share for query in level), Fraction(0))) for level in layout.queries)


def find_earlier_publication(layout: Layout, price: PublicationPrice, ledger: Ledger) -> tuple[str, Layout] | None:
    """The newest publication of the same plan, and its layout with the levels that were measured then.

    A planner that would choose other levels today reads back what was bought.
    """
    version, state = layout.version, ledger.refresh()
    question_key = (version.table, version.number, question_of(layout, price))
    for reservation in reversed(state.reservations.values()):
        charge = state.charges[reservation.id]
        question, _, shares = charge.question.partition("/")
        same = (charge.table, charge.version, question) == question_key
        if same and (not reservation.closed or reservation.id in state.answers):
            return reservation.id, _with_shares(layout, shares)
    return None


def _with_shares(layout: Layout, shares: str) -> Layout:
    if not shares:
        return layout
    levels = zip(layout.levels, shares.split(","), strict=True)
    return with_levels(layout, {name: PlanLevel(share=Fraction(share)) for name, share in levels})


def reserve_publication(layout: Layout, price: PublicationPrice, session: Session, *, fresh: bool) -> str:
    """Charge the whole publication at once; returns the id of the reservation."""
    question = f"{question_of(layout, price)}/{chosen_shares(layout)}"
    return charge_whole_table(session, price.event, question=question, price=price.epsilon, once=not fresh)


def fits_budget(layout: Layout, price: PublicationPrice, ledger: Ledger, guarantee: Guarantee) -> bool:
    """Whether the budget holds a publication now. Where it declares totals exact, it must hold everything twice."""
    version = layout.version
    account = ledger.refresh().account_or_new(version.population, guarantee)
    if layout.plan.invariants and not account.invariant:
        limits, total, cost = account.limits.for_changes(), account.total, check_event(price.event)
        arms = ((total.pure + cost.pure, limits.pure), (total.rho + cost.rho, limits.rho))
        return any(limit is not None and lost <= limit for lost, limit in arms)
    decision = ledger.preview(
        population=version.population,
        table=version.table,
        version=version.number,
        region=Region.whole(),
        event=price.event,
        guarantee=guarantee,
        booking=False,
    )
    return decision.accepted


def refuse_before_declaring(layout: Layout, price: PublicationPrice, ledger: Ledger, asker: Asker) -> None:
    """Refuse what the charge would refuse. A declaration is for good, and must not be left without its tables."""
    population = layout.version.population
    account = ledger.refresh().account(population)
    if asker.name is not None:
        check_name(asker.name, what="an analyst's name")
    refuse_if_doubled_over_limit(account)
    if asker.quota is not None:
        check_quota(account, asker.name, needed=price.epsilon, quota=asker.quota)
    if not fits_budget(layout, price, ledger, account.guarantee):
        left = account.status().remaining

        def fits(millionths: int) -> bool:
            smaller = possible_prices(Fraction(millionths, 10**6), price.delta, account.guarantee)
            return any(fits_budget(layout, each, ledger, account.guarantee) for each in smaller)

        fitting = largest_that_fits(fits, near=0, most=int(price.epsilon * 10**6))
        smaller_flag: list[Piece] = [Flag("epsilon", exact.show(Fraction(fitting, 10**6))), ", or "] if fitting else []
        raise BudgetExceeded(
            f"with exact totals every charge counts double, and the remaining budget of {population!r} is then too "
            "small for these tables",
            hint=Message(*smaller_flag, "a plan without invariants"),
            needed={"epsilon": exact.show(2 * price.epsilon, up=True), "delta": exact.show(price.delta, up=True)},
            remaining={"epsilon": exact.show(left.epsilon), "delta": exact.show(left.delta)},
        )
