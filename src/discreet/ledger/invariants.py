"""Invariants: exact totals that an owner publishes, and what that does to the guarantee.

An exact total tells whether somebody is in it, so adding or removing one unit is no longer hidden from anybody.
What stays hidden is *what* a unit is, as far as the totals leave it open: neighbours change one unit and keep every
total that was published. Every charge counts double in that measure; docs/proofs/filters.md says why.
"""

from __future__ import annotations

from discreet.errors import BudgetExceeded, Command, LedgerLocked, Message, UsageError
from discreet.ledger.account import Account
from discreet.ledger.chain import new_id
from discreet.ledger.entry_checks import check_name
from discreet.ledger.journal import Journal
from discreet.ledger.owner_acts import refuse_stale
from discreet.ledger.refusal import double_count_refusal
from discreet.ledger.state import LedgerState


def declare_invariant(journal: Journal, state: LedgerState, table: str, version: int, *, words: str) -> str:
    """Append the invariant, or find it; refuse where what was charged before would not fit counted double.

    It is for good, so it is refused too where nothing could be charged for what would come with it.
    """
    population = state.version(table, version).population
    account = state.account(population)
    for invariant in state.invariants.values():
        if (invariant.table, invariant.version, invariant.words) == (table, version, words):
            return invariant.id
    if account.sealed is not None:
        raise UsageError(
            f"{population!r} was adopted without its state folder, so its history cannot be counted again",
            hint="publish without invariants",
        )
    if state.is_locked(table):
        raise LedgerLocked(
            f"table {table!r} is locked: too many charged queries on it could not be completed",
            hint=Message("ask the owner to find the cause, then to run ", Command("ledger acknowledge")),
        )
    refuse_stale(state, table, version)
    refuse_if_doubled_over_limit(account)
    id_ = f"i-{new_id()}"
    body = {"id": id_, "population": population, "table": table, "version": version}
    journal.append("invariant", body | {"words": check_name(words, what="an invariant")})
    return id_


def refuse_if_doubled_over_limit(account: Account) -> None:
    """Refuse where what was charged so far does not fit counted double: no epsilon is small enough then."""
    if not account.fits_counted_double():
        budget_refusal = double_count_refusal(account)
        raise BudgetExceeded(
            budget_refusal.reason,
            hint=Message(
                "no epsilon is small enough for that: publish without invariants, "
                "or ask the owner to raise the limit (",
                Command("budget grant"),
                ") to twice what is already spent plus what this will spend",
            ),
            needed=budget_refusal.needed,
            remaining=budget_refusal.remaining,
        )
