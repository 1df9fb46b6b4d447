"""Gaps: what a rolled-back ledger forgot, charged anew as a bound.

The anchor remembers, for each segment, the certified maximum over records and the plain sum of all
charges, in every arm, as they stood at its head. The restored ledger shares its first m entries with the
anchored one (found by digests, not assumed), and the fold of those m entries gives the plain sums at m.

Guarantee: in each arm, the loss that any record suffered from entries after m of the anchored
    history is at most  min(head maximum, head sum - sum at m).
Because: that loss is part of the record's whole loss at the head, which the certified maximum bounds; and it
    is a sum over some of the forgotten charges, which together make up the difference of the plain sums.
    Entries up to m are the same in both histories, so the difference counts every forgotten charge.

The difference of the two *maxima* bounds nothing: men lost 1 before m, women lose 1 after it; the
maximum stays 1, the difference is 0, and a woman's forgotten loss is 1.

A sum that has stopped at UNBOUNDED cannot be subtracted from; then the maximum alone stands.

The anchor also remembers what each analyst had paid, and the gap counts it to them again.
Guarantee: no analyst has more left of a quota than before.
Because: payments are plain sums, every price rounded up to a whole unit; the head's less those of the first m entries
    are those of the forgotten ones, and are added to what the restored ledger knows. An anchor that was written
    before payments were kept tells of nobody: then every quota counts as used up until the owner grants.

A limit that was corrected (before anything was charged) is smaller or larger than the one that a restored ledger knows.
Guarantee: no population has a larger limit than the anchor had seen, nor than the restored ledger had where that
    corrected its own.
Because: where only the anchored history changed the limit after the common entries, that one stands; where both did,
    the smaller of each part. Where nobody corrected one, limits only rise, and the larger one was granted.

A table that was removed in the anchored history is removed here too, or its people could be asked under the population
that it was taken out of.

And whom each population protects, and by which columns: a ledger from before a population was opened would else let it
be opened for rows, or for visits, where patients were promised. (An anchor that was written before these were kept
tells of none.)
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from typing import Any

from discreet.accounting import events
from discreet.accounting.events import ForgottenEvent
from discreet.accounting.filter import FULL, Balance, Cost
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Region
from discreet.exact import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, UNBOUNDED
from discreet.ledger.account import Account, SegmentKey, larger_guarantee, smaller_guarantee
from discreet.ledger.anchor import Head
from discreet.ledger.chain import canonical_json
from discreet.ledger.charge_data import balance_from, cost_data, decision_data
from discreet.ledger.state import LedgerState


def gap_body(state: LedgerState, common: LedgerState, head: Head, *, cause: str) -> dict[str, Any]:
    """The body of the entry that charges what `head` knows and `state` forgot; `common` is the fold of m entries."""
    accounts = deepcopy(state.accounts)
    body: dict[str, Any] = {
        "cause": cause,
        "head": {"seq": head.seq, "digest": head.digest},
        "guarantees": {},
        "units": {
            name: unit for name, unit in head.totals.get("units", {}).items() if _is_unit_forgotten(state, name, unit)
        },
        "protected": head.totals.get("protected", {}),
        "sealed": {},
        "charges": [],
        "versions": {
            table: number for table, number in head.totals["versions"].items() if number >= state.next_version(table)
        },
        "owners": {},
        "forgotten": head.totals.get("forgotten", {}),
        "removed": dict(_forgotten_removals(state, head.totals.get("removed", {}))),
        "invariants": [name for name, totals in head.totals["populations"].items() if totals.get("invariant")],
        "paid": [],
        "payers_unknown": [],
    }
    body["owners"] = {
        table: name
        for table, name in head.totals["owners"].items()
        if table not in state.population_of_table or table in body["removed"]
    }
    for name, totals in head.totals["populations"].items():
        account = _adopt(accounts, name, totals, body, common=common)
        for key, event in forgotten_charges(totals, common.accounts.get(name)):
            body["charges"].append(_charge(account, key, event))
        body["paid"] += [
            [name, analyst, units] for analyst, units in forgotten_payments(totals, common.accounts.get(name))
        ]
        if "paid" not in totals or totals.get("payers_unknown"):
            body["payers_unknown"].append(name)
    return body


def _forgotten_removals(state: LedgerState, removed: dict[str, int]) -> Iterator[tuple[str, int]]:
    """Tables that were removed after the restored copy was made; not those that were asked about in it since."""
    for table, number in removed.items():
        is_charged = any(charge.table == table for charge in state.charges.values())
        if state.removed.get(table, 0) < number and not is_charged:
            yield table, number


def _is_unit_forgotten(state: LedgerState, population: str, unit: str) -> bool:
    """Whether a restored ledger knows of no unit, or of one that was corrected after it: nothing is charged there."""
    return state.units.get(population) != unit and not state.is_fixed(population)


def forgotten_payments(totals: dict[str, Any], common: Account | None) -> Iterator[tuple[str, int]]:
    """What each analyst paid after the common entries, in whole units."""
    for analyst, units in totals.get("paid", {}).items():
        before = common.paid.get(analyst, 0) if common else 0
        forgotten_units = units - before if units >= before else units  # fewer than before: not that history's
        if forgotten_units:
            yield analyst, forgotten_units


def forgotten_charges(totals: dict[str, Any], common: Account | None) -> Iterator[tuple[SegmentKey, ForgottenEvent]]:
    """For each segment that the head knows, what was charged to it after the common entries."""
    if common is not None and _sealed(totals) != common.sealed:
        common = None  # the head counts from a filter that was opened later
    delta = _bound(totals["delta"], totals["delta"], common.delta if common else 0)
    for table, version, data in totals["segments"]:
        key = (table, version)
        before = common.segments[key].balance if common and key in common.segments else Balance()
        loss = forgotten_loss(balance_from(data), before)
        if loss is not None:
            yield key, _gap_event(loss, delta=delta)
            delta = 0  # a population's delta is one sum: it is charged once


def forgotten_loss(head: Balance, before: Balance) -> tuple[int, ...] | None:
    """The forgotten loss of any record in every arm, in whole units; None where nothing was forgotten.

    >>> head = Balance(pure=9, rho=9, pure_sum=20, rho_sum=20)
    >>> forgotten_loss(head, Balance(pure=9, rho=9, pure_sum=16, rho_sum=12))[:2]
    (4, 8)
    """
    losses = tuple(map(_bound, head.arms, head.sums, before.sums))
    return losses if losses[1] else None


def _bound(maximum: int, total: int, before: int) -> int:
    """A sum that is smaller than what came before it is not that history's: the maximum stands alone."""
    return maximum if total >= UNBOUNDED or total < before else min(maximum, total - before)


def _gap_event(loss: tuple[int, ...], *, delta: int) -> ForgottenEvent:
    pure, rho, *orders = loss
    return ForgottenEvent(
        epsilon=None if pure >= UNBOUNDED else Fraction(pure, EPSILON_UNITS),
        rho=Fraction(rho, RHO_UNITS),
        orders=tuple(Fraction(max(1, order), RHO_UNITS) for order in orders),
        delta=Fraction(min(delta, DELTA_UNITS - 1), DELTA_UNITS),  # a delta of 1 is no event; the account is full
    )


def _sealed(totals: dict[str, Any]) -> Guarantee | None:
    return None if totals["sealed"] is None else Guarantee.from_data(totals["sealed"])


def _adopt(
    accounts: dict[str, Account], name: str, totals: dict[str, Any], body: dict[str, Any], *, common: LedgerState
) -> Account:
    """The account with the limit that both histories leave it (`_limit`), and sealed where the head's was."""
    guarantee = Guarantee.from_data(totals["guarantee"])
    account = accounts.get(name)
    if account is None:
        account = accounts[name] = Account(name=name, guarantee=guarantee)
        body["guarantees"][name] = guarantee.to_data()
    elif (limit := _limit(account, totals, common)) != account.guarantee:
        account.guarantee = limit
        body["guarantees"][name] = limit.to_data()
    account.invariant = account.invariant or bool(totals.get("invariant"))
    sealed = _sealed(totals)
    if sealed is not None and sealed != account.sealed:
        body["sealed"][name] = sealed.to_data()
        account.seal(sealed)
    return account


def _limit(account: Account, totals: dict[str, Any], common: LedgerState) -> Guarantee:
    """The limit of a restored account: the larger one that was granted, unless one was corrected meanwhile."""
    guarantee, before = Guarantee.from_data(totals["guarantee"]), common.accounts.get(account.name)
    if max(account.corrected, totals.get("corrected", 0)) <= common.seq or totals["sealed"] is not None:
        return larger_guarantee(account.guarantee, guarantee)
    if before is not None and before.guarantee == account.guarantee:
        return guarantee
    return smaller_guarantee(account.guarantee, guarantee)


def _charge(account: Account, key: SegmentKey, event: ForgottenEvent) -> dict[str, Any]:
    """Decide and book one forgotten loss. It is booked even where it goes over; then the account is full."""
    cost = Cost.of(events.loss(event))
    decision = account.decide(key, region=Region.whole(), cost=cost)
    data = decision_data(decision)
    data["used"] = data["used"] if decision.accepted else FULL
    account.book(
        key,
        region=canonical_json(Region.whole().to_data()),
        cost=cost,
        inside=decision.inside,
        balance=decision.balance,
        used=data["used"],
        seq=0,
    )
    return {
        "population": account.name,
        "table": key[0],
        "version": key[1],
        "event": events.to_data(event),
        "cost": cost_data(cost),
        "decision": data,
    }
