"""Tables: the rows that stand beside the chain, for outside readers and for the database's own checks.

They are a function of the state. A store writes the rows that an entry touched in the transaction
that appends the entry, and at opening every row is compared with what the chain says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from discreet import exact
from discreet.ledger.account import Account, SegmentKey
from discreet.ledger.records import ChargeRecord, EntryEffects
from discreet.ledger.state import LedgerState

#: name, epsilon, delta, limit and spent of the delta for keys, used, charges, last row of the chain.
PopulationRow = tuple[str, str, str, int, int, int, int, int]
#: population, table, version, pure, rho, plain sums of both, last row of the chain.
SegmentRow = tuple[str, str, int, int, int, int, int, int]
#: row of the chain, id, population, table, version, analyst, question, price, pure, rho, delta.
ChargeRow = tuple[int, str, str, str, int, str | None, str, str, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRows:
    """Rows to write, or all rows that there should be. `replace`: the balances are written anew."""

    populations: tuple[PopulationRow, ...] = ()
    segments: tuple[SegmentRow, ...] = ()
    charges: tuple[ChargeRow, ...] = ()
    replace: bool = False


def changed_rows(state: LedgerState, effects: EntryEffects) -> SummaryRows:
    """The rows that an entry changed."""
    if effects.everything:
        every = balance_rows(state)
        return SummaryRows(populations=every.populations, segments=every.segments, replace=True)
    return SummaryRows(
        populations=tuple(_population_row(state.accounts[name]) for name in effects.populations),
        segments=tuple(_segment_row(state.accounts[name], key) for name, key in effects.segments),
        charges=() if effects.charge is None else (charge_row(state.charges[effects.charge]),),
    )


def all_rows(state: LedgerState) -> SummaryRows:
    """Every row that there should be, in the order of their keys."""
    return replace(balance_rows(state), charges=tuple(map(charge_row, state.charges.values())))


def balance_rows(state: LedgerState) -> SummaryRows:
    """The same without the charges, whose number only grows."""
    accounts = [state.accounts[name] for name in sorted(state.accounts)]
    return SummaryRows(
        populations=tuple(_population_row(account) for account in accounts),
        segments=tuple(_segment_row(account, key) for account in accounts for key in sorted(account.segments)),
    )


def first_difference(expected_rows: SummaryRows, stored_rows: SummaryRows, *, last: int) -> int | None:
    """The first row of the chain at which the tables are not what they should be; None when they are.

    `last` is the chain's last row. Tables that know a later one say that the chain's end is missing.
    """
    if expected_rows == stored_rows:
        return None
    strange = [*_seqs_missing(stored_rows, expected_rows)]
    if max(strange, default=0) > last:
        return last + 1
    return min([*_seqs_missing(expected_rows, stored_rows)] or strange, default=last)


def _seqs_missing(rows: SummaryRows, other: SummaryRows) -> Iterator[int]:
    """Where in the chain the rows belong that the other lacks."""
    yield from (row[-1] for row in {*rows.populations}.difference(other.populations))
    yield from (row[-1] for row in {*rows.segments}.difference(other.segments))
    yield from (row[0] for row in {*rows.charges}.difference(other.charges))


def _population_row(account: Account) -> PopulationRow:
    limit = account.limits.delta_keys
    return (
        account.name,
        exact.write(account.guarantee.epsilon),
        exact.write(account.guarantee.delta),
        limit,
        min(account.delta, limit),  # a gap may go over; then the account is full
        account.used,
        account.charges,
        account.seq,
    )


def _segment_row(account: Account, key: SegmentKey) -> SegmentRow:
    balance = account.segments[key].balance
    sums = (balance.pure, balance.rho, balance.pure_sum, balance.rho_sum)
    return (account.name, *key, *sums, account.segment_seqs[key])


def charge_row(charge: ChargeRecord) -> ChargeRow:
    """The row of a charge."""
    cost = charge.cost
    where = (charge.population, charge.table, charge.version)
    what = (charge.analyst, charge.question, exact.write(charge.price))
    return (charge.seq, charge.id, *where, *what, cost.pure, cost.rho, cost.delta)
