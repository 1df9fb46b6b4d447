"""Costs, balances and decisions as the ledger keeps them: what was proved when a charge was made."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.filter import FULL, Balance, Cost, Decision, book_balance
from discreet.exact import EPSILON_UNITS
from discreet.ledger.account import Account, SegmentKey
from discreet.ledger.chain import LedgerEntry
from discreet.ledger.records import ChargeRecord


def cost_of(body: dict[str, Any]) -> Cost:
    """The cost that was booked, which must be that of the event. A ledger before 0.2 booked no orders."""
    event, booked = body["event"], body["cost"]
    plain = event.get("kind") not in ("together", "forgotten")
    event_cost = _cost_of_event(tuple(event.items())) if plain else Cost.of(events.loss(events.from_data(event)))
    if {"orders": list(event_cost.orders)} | booked != cost_data(event_cost):
        raise ValueError("the cost is not the cost of its event")
    return event_cost


def cost_data(cost: Cost) -> dict[str, Any]:
    """A cost as JSON data."""
    return {"pure": cost.pure, "rho": cost.rho, "delta": cost.delta, "orders": list(cost.orders)}


@lru_cache(maxsize=4096)
def _cost_of_event(event: tuple[tuple[str, Any], ...]) -> Cost:
    """Most questions are priced like some other: their cost is worked out once."""
    return Cost.of(events.loss(events.from_data(dict(event))))


def charge_record(body: dict[str, Any], entry: LedgerEntry) -> ChargeRecord:
    """A charge that was accepted, as its entry says it."""
    return ChargeRecord(
        id=body["id"],
        seq=entry.seq,
        time=entry.time,
        population=body["population"],
        table=body["table"],
        version=body["version"],
        analyst=body["analyst"],
        question=body["question"],
        price=parse_price(body["price"]),
        cost=cost_of(body),
        moved=_moved(body),
    )


def _moved(body: dict[str, Any]) -> Fraction:
    """How far a charge raised what is spent; a ledger before 0.2 counted its price instead."""
    if "moved" not in body:
        return parse_price(body["price"])
    units = body["moved"]
    if type(units) is not int or units < 0:
        raise ValueError("what a charge moved is not a whole number")
    return Fraction(units, EPSILON_UNITS)


@lru_cache(maxsize=4096)
def parse_price(text: str) -> Fraction:
    return exact.read(text)


def replay_charge(
    account: Account, key: SegmentKey, body: dict[str, Any], *, region: str, cost: Cost, seq: int
) -> None:
    """Book a charge that the ledger holds, into an account in memory, as it was decided then."""
    decision = body["decision"]
    used = decision["used"]
    if not 0 <= used <= FULL:
        raise ValueError("the charge exceeds the limit")
    before = account.segments[key].balance if key in account.segments else Balance()
    inside = _inside_from(decision["inside"], before)
    data = decision["balance"]
    # Where the orders are written down, `Account.book` alone works the balance out, to compare.
    booked = None if "orders" in data else book_balance(before, cost, inside)
    account.book(
        key,
        region=region,
        cost=cost,
        inside=inside,
        balance=balance_from(data, booked),
        used=used,
        seq=seq,
    )


def _inside_from(bounds: list[int], before: Balance) -> Balance:
    """The certified bounds of every arm; a ledger before 0.2 has none of the orders, where plain addition holds."""
    return Balance.of(bounds if len(bounds) > 2 else [*bounds, *before.orders])


def balance_from(data: dict[str, Any], old: Balance | None = None) -> Balance:
    """The balance that `balance_data` wrote. `old`: what to take for the orders where it has none, before 0.2."""
    pure, rho, pure_sum, rho_sum = data["pure"], data["rho"], data["pure_sum"], data["rho_sum"]
    orders, order_sums = data.get("orders"), data.get("order_sums")
    if orders is None or order_sums is None:
        implied = Cost(pure=pure, rho=rho, delta=0).orders, Cost(pure=pure_sum, rho=rho_sum, delta=0).orders
        orders, order_sums = implied if old is None else (old.orders, old.order_sums)
    if not all(type(each) is int for each in (pure, rho, pure_sum, rho_sum, *orders, *order_sums)):
        raise ValueError("a balance must consist of whole numbers")
    return Balance.of([pure, rho, *orders], [pure_sum, rho_sum, *order_sums])


def balance_data(balance: Balance) -> dict[str, Any]:
    """A balance as JSON data."""
    return {
        "pure": balance.pure,
        "rho": balance.rho,
        "pure_sum": balance.pure_sum,
        "rho_sum": balance.rho_sum,
        "orders": list(balance.orders),
        "order_sums": list(balance.order_sums),
    }


def decision_data(decision: Decision) -> dict[str, Any]:
    """A decision as the ledger keeps it: what was proved when it was made is never searched for again."""
    return {
        "arm": decision.arm,
        "used": min(FULL, decision.used),
        "nodes": decision.nodes,
        "inside": list(decision.inside.arms),
        "balance": balance_data(decision.balance),
    }


def account_totals(account: Account) -> dict[str, Any]:
    marks = {"invariant": account.invariant, "payers_unknown": account.payers_unknown}
    corrected = {"corrected": account.corrected} if account.corrected else {}
    return (
        {name: True for name, holds in marks.items() if holds}
        | corrected
        | {
            "guarantee": account.guarantee.to_data(),
            "sealed": None if account.sealed is None else account.sealed.to_data(),
            "delta": account.delta,
            "paid": dict(account.paid),
            "segments": [
                [table, version, balance_data(segment.balance)]
                for (table, version), segment in account.segments.items()
            ],
        }
    )
