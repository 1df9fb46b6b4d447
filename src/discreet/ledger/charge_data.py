"""Costs, balances and decisions as the ledger keeps them: what was proved when a charge was made."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import FULL, Balance, Cost, Decision
from discreet.ledger.account import Account, SegmentKey


def cost_of(body: dict[str, Any]) -> Cost:
    """The cost that was booked, which must be that of the event."""
    event, booked = body["event"], body["cost"]
    plain = event.get("kind") != "together"
    event_cost = _cost_of_event(tuple(event.items())) if plain else Cost.of(events.loss(events.from_data(event)))
    if (event_cost.pure, event_cost.rho, event_cost.delta) != (booked["pure"], booked["rho"], booked["delta"]):
        raise ValueError("the cost is not the cost of its event")
    return event_cost


@lru_cache(maxsize=4096)
def _cost_of_event(event: tuple[tuple[str, Any], ...]) -> Cost:
    """Most questions are priced like some other: their cost is worked out once."""
    return Cost.of(events.loss(events.from_data(dict(event))))


@lru_cache(maxsize=4096)
def parse_price(text: str) -> Fraction:
    return exact.read(text)


def book_charge(account: Account, key: SegmentKey, body: dict[str, Any], *, region: str, cost: Cost, seq: int) -> None:
    decision = body["decision"]
    used = decision["used"]
    if not 0 <= used <= FULL:
        raise ValueError("the charge exceeds the limit")
    pure, rho = decision["inside"]
    account.book(
        key,
        region=region,
        cost=cost,
        inside=Balance(pure=pure, rho=rho),
        balance=balance_from(decision["balance"]),
        used=used,
        seq=seq,
    )


def balance_from(data: dict[str, int]) -> Balance:
    """The balance that `balance_data` wrote."""
    pure, rho, pure_sum, rho_sum = data["pure"], data["rho"], data["pure_sum"], data["rho_sum"]
    if not type(pure) is type(rho) is type(pure_sum) is type(rho_sum) is int:
        raise ValueError("a balance must consist of whole numbers")
    return Balance(pure=pure, rho=rho, pure_sum=pure_sum, rho_sum=rho_sum)


def balance_data(balance: Balance) -> dict[str, int]:
    """A balance as JSON data."""
    return {
        "pure": balance.pure,
        "rho": balance.rho,
        "pure_sum": balance.pure_sum,
        "rho_sum": balance.rho_sum,
    }


def decision_data(decision: Decision) -> dict[str, Any]:
    """A decision as the ledger keeps it: what was proved when it was made is never searched for again."""
    return {
        "arm": decision.arm,
        "used": min(FULL, decision.used),
        "nodes": decision.nodes,
        "inside": [decision.inside.pure, decision.inside.rho],
        "balance": balance_data(decision.balance),
    }


def account_totals(account: Account) -> dict[str, Any]:
    marks = {"invariant": account.invariant, "payers_unknown": account.payers_unknown}
    return {name: True for name, holds in marks.items() if holds} | {
        "guarantee": account.guarantee.to_data(),
        "sealed": None if account.sealed is None else account.sealed.to_data(),
        "delta": account.delta,
        "paid": dict(account.paid),
        "segments": [
            [table, version, balance_data(segment.balance)] for (table, version), segment in account.segments.items()
        ],
    }
