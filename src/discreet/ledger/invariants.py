"""Invariants: exact totals that an owner publishes, and what that does to the guarantee.

An exact total tells whether somebody is in it, so adding or removing one unit is no longer hidden from anybody.
What stays hidden is *what* a unit is, as far as the totals leave it open: neighbours change one unit and keep every
total that was published. Every charge counts double in that measure; docs/proofs/filters.md says why.
"""

from __future__ import annotations

from discreet.errors import UsageError
from discreet.ledger.checked import readable
from discreet.ledger.journal import Journal, new_id
from discreet.ledger.refusal import not_twice
from discreet.ledger.state import State


def declare(journal: Journal, state: State, table: str, version: int, *, words: str) -> str:
    """Append the invariant, or find it; refuse where what was charged before would not fit counted double."""
    population = state.version(table, version).population
    account = state.account(population)
    for known in state.invariants.values():
        if (known.table, known.version, known.words) == (table, version, words):
            return known.id
    if account.sealed is not None:
        raise UsageError(
            f"{population!r} was adopted without its state folder, and its history cannot be counted anew",
            hint="publish without invariants",
        )
    if not account.holds_changes():
        raise not_twice(account)
    id_ = f"i-{new_id()}"
    body = {"id": id_, "population": population, "table": table, "version": version}
    journal.append("invariant", body | {"words": readable(words, what="an invariant")})
    return id_
