"""Refusals: what a question would cost the budget, and what is left."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.filter import Cost, Decision
from discreet.errors import Binding, BudgetExceeded, UsageError
from discreet.exact import DELTA_UNITS, EPSILON_UNITS
from discreet.ledger.account import Account
from discreet.ledger.state import LedgerState


class DuplicateCharge(UsageError):
    """A request with the same key was already charged. It is not charged again; `id` names its release."""

    def __init__(self, id_: str) -> None:
        super().__init__(f"this request was already charged, under {id_}", hint="read that release")
        self.id = id_


class ClosedRefinement(UsageError):
    """A release that can no longer be refined: it was refined already, or its rows or the ledger have changed since."""


def refuse_refinement(state: LedgerState, body: dict[str, Any]) -> None:
    """Refuse to refine a release that was refined in the meantime, or whose rows have changed."""
    release = body.get("refines")
    if release is not None and release not in state.refinements.open_releases:
        raise ClosedRefinement(
            f"release {release} was refined, or its rows changed, a moment ago; nothing was charged",
            hint="ask again",
        )
    try:
        state.check_refinement(body)
    except (KeyError, ValueError) as problem:
        raise UsageError("this charge does not refine the release that it names") from problem


def charge_refusal(account: Account, cost: Cost, decision: Decision, moved: Fraction | None) -> BudgetExceeded:
    """Why a charge was not accepted: by its delta, or by what it costs the budget (`Account.epsilon_moved`)."""
    if decision.arm is not None:
        return _by_delta(account, cost, moved)
    if moved is None:  # nothing is open any more; what it would cost by itself
        moved = account.guarantee.implied_epsilon(pure=cost.pure, rho=cost.rho, orders=cost.orders)
    if moved is None:
        return _no_arm(account, cost)
    left = account.status().remaining.epsilon
    if moved <= left:
        return _by_these_people(account, cost, left)
    return _budget_exceeded(
        f"this request costs epsilon {exact.show(moved, up=True)}, but {account.name!r} has "
        f"{exact.show(left)} remaining of {exact.show(account.guarantee.epsilon)}{_double_count_note(account)}",
        needed=(moved, Fraction(cost.delta, DELTA_UNITS)),
        left=(left, _delta_left(account)),
    )


def _by_these_people(account: Account, cost: Cost, left: Fraction) -> BudgetExceeded:
    """Somebody whom the request asks about is over in every arm, though no arm's maximum over all moves so far."""
    opened = account.open_guarantee or account.guarantee
    alone = opened.implied_epsilon(pure=cost.pure, rho=cost.rho, orders=cost.orders)
    return _budget_exceeded(
        f"some of the people that this request asks about have too little remaining of the budget of {account.name!r}",
        needed=(max(left, alone or left) + Fraction(1, EPSILON_UNITS), Fraction(cost.delta, DELTA_UNITS)),
        left=(left, _delta_left(account)),
    )


def check_quota(account: Account, analyst: str | None, *, needed: Fraction, quota: Fraction) -> None:
    """Refuse a question that would take an analyst beyond their quota: what their questions cost the budget adds up."""
    if account.payers_unknown:
        raise _budget_exceeded(
            f"the ledger was restored, and it is unknown who paid for the lost charges of {account.name!r}, so "
            "every quota counts as used up until the owner makes a grant",
            needed=(needed, Fraction(0)),
            left=(Fraction(0), _delta_left(account)),
            binding="quota",
        )
    left = max(Fraction(0), quota - account.paid_by(analyst))
    if needed > left:
        raise _budget_exceeded(
            f"this request costs epsilon {exact.show(needed, up=True)}, but analyst {analyst!r} has "
            f"{exact.show(left)} remaining of a quota of {exact.show(quota)}",
            needed=(needed, Fraction(0)),
            left=(left, _delta_left(account)),
            binding="quota",
        )


def double_count_refusal(account: Account) -> BudgetExceeded:
    """Why an exact total cannot be published: with it every charge of the past counts double."""
    spent = account.status().spent
    return _budget_exceeded(
        f"once an exact total is published, every charge counts double, and {account.name!r} has already spent epsilon "
        f"{exact.show(spent.epsilon, up=True)} of {exact.show(account.guarantee.epsilon)}",
        needed=(2 * spent.epsilon, 2 * spent.delta),
        left=(account.guarantee.epsilon, account.guarantee.delta),
    )


def _by_delta(account: Account, cost: Cost, moved: Fraction | None) -> BudgetExceeded:
    needed, left = Fraction(cost.delta, DELTA_UNITS), _delta_left(account)
    limit = Fraction(account.limits.delta_keys, DELTA_UNITS)
    return _budget_exceeded(
        f"this request costs delta {exact.show(needed, up=True)} for its keys, but {account.name!r} has "
        f"{exact.show(left)} remaining of {exact.show(limit)}",
        needed=(moved, needed),
        left=(account.status().remaining.epsilon, left),
        binding="keys",
    )


def _no_arm(account: Account, cost: Cost) -> BudgetExceeded:
    return _budget_exceeded(
        f"this request uses Gaussian noise, which has no pure epsilon, and {account.name!r} has no delta to convert "
        "its rho to epsilon",
        needed=(None, Fraction(cost.delta, DELTA_UNITS)),
        left=(account.status().remaining.epsilon, _delta_left(account)),
    )


def _delta_left(account: Account) -> Fraction:
    return Fraction(max(0, account.limits.delta_keys - account.delta), DELTA_UNITS)


def _double_count_note(account: Account) -> str:
    return "; an exact total was published, so every charge counts double" if account.invariant else ""


def _budget_exceeded(
    reason: str,
    *,
    needed: tuple[Fraction | None, Fraction],
    left: tuple[Fraction, Fraction],
    binding: Binding = "loss",
) -> BudgetExceeded:
    return BudgetExceeded(
        reason,
        needed={
            "epsilon": None if needed[0] is None else exact.show(needed[0], up=True),
            "delta": exact.show(needed[1], up=True),
        },
        remaining={"epsilon": exact.show(left[0]), "delta": exact.show(left[1])},
        binding=binding,
    )
