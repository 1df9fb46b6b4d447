"""Where budgets stand: the limit as the ledger holds it, else as declared; what is spent and what remains.

The guarantee is the limit. An edit of discreet.toml does not move it once the ledger holds it; a grant does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet import exact, notebook
from discreet.accounting.guarantee import Accounting, Guarantee, Limits
from discreet.answers import afford, quoting
from discreet.answers.caveats import doubled
from discreet.errors import SchemaError, UsageError
from discreet.ledger.account import Account, Room
from discreet.ledger.ledger import Ledger
from discreet.release import Spending
from discreet.schema.file import NAME
from discreet.schema.schema import Budget, Table
from discreet.schema.unit import PrivacyUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a population's budget stands. The guarantee is the limit; `spent` is bookkeeping.

    largest_question: the epsilon that one more count of everybody may have. In small questions what remains may buy
        more than that, for in rho a question costs the square of its epsilon.
    """

    population: str
    limit: Spending
    spent: Spending
    remaining: Spending
    events: int
    by_analyst: Mapping[str, Spending]
    accounting: str
    counts: int
    largest_question: Fraction
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Budget of {self.population}: {self._in_words()}>"

    def _in_words(self) -> str:
        limit, spent, left = self.limit.epsilon, self.spent.epsilon, self.remaining.epsilon
        told = [None if each is None else exact.show(each, up=up) for each, up in ((spent, True), (left, False))]
        of = "" if limit is None else f" of {exact.show(limit)}"
        return f"epsilon {told[0] or '?'}{of} spent, {told[1] or '?'} left"

    def _repr_html_(self) -> str:
        """The budget in a notebook, as it stood when it was asked for."""
        return notebook.face(self._face, lambda: repr(self))

    def _face(self) -> Iterator[str]:
        yield notebook.head(f"Budget of {self.population}")
        limit, spent = self.limit.epsilon, self.spent.epsilon
        if limit and spent is not None:
            yield notebook.meter(exact.as_float(spent / limit, up=True), self._in_words())
        yield notebook.line(f"{self._in_words()}; about {self.counts:,} more counts of everybody within 50.")
        if self.by_analyst:
            rows = [
                [notebook.Cell(text=who or "nobody named"), notebook.Cell(text=_epsilon(paid), number=True)]
                for who, paid in self.by_analyst.items()
            ]
            yield notebook.table(["analyst", "epsilon spent"], rows[: notebook.MOST_ROWS])
        delta = f", delta {exact.show(self.limit.delta)}" if self.limit.delta else ", pure differential privacy"
        yield notebook.quiet(f"{self.events:,} questions so far{delta}. The guarantee is the limit.")
        for note in self.notes:
            yield notebook.quiet(f"note: {note}")


def _epsilon(paid: Spending) -> str:
    return "?" if paid.epsilon is None else exact.show(paid.epsilon, up=True)


def standing(table: Table, ledger: Ledger) -> Standing:
    """Where the budget of a table's population stands now."""
    if table.population not in ledger.refresh().accounts:
        account = Account(name=table.population, guarantee=declared(table))
        found, limits, room = account.standing(), account.limits, account.room()
    else:
        found, room = ledger.standing(table.population), ledger.room(table.population)
        limits = ledger.limits(table.population)
    return Standing(
        population=table.population,
        limit=quoting.spending(found.limit),
        spent=quoting.spending(found.spent),
        remaining=quoting.spending(found.remaining),
        events=found.charges,
        by_analyst={who: Spending(epsilon=paid, delta=Fraction(0)) for who, paid in found.by_analyst.items()},
        accounting=guarantee(table, ledger).accounting,
        counts=_counts(table.schema.unit, limits, room),
        largest_question=afford.largest_question(room),
        notes=(*doubled(ledger, table.population), *_changed(ledger, table.population)),
    )


def _changed(ledger: Ledger, population: str) -> list[str]:
    """What an older program let change of whom a population protects: its limit holds for nobody's whole history."""
    unit = ledger.state.protected.get(population)
    changes = [] if unit is None else unit.changes
    return [f"no single limit holds: after answers were released, {change}" for change in changes]


def _counts(unit: PrivacyUnit, limits: Limits, room: Room) -> int:
    """About how many more counts at plus or minus 50 there are; of persons, in a network without a limit on edges."""
    rows = unit.limit or 1 if unit.ends else unit.rows
    try:
        return afford.counts_left(limits, room, width=50, rows=rows)
    except UsageError:  # one person alone moves a count so far that none is so exact
        return 0


def guarantee(table: Table, ledger: Ledger) -> Guarantee:
    """The limit of a table's population: as the ledger holds it, else as declared."""
    account = ledger.state.accounts.get(table.population)
    return declared(table) if account is None else account.guarantee


def declared(table: Table) -> Guarantee:
    """The limit that discreet.toml declares."""
    if table.budget is None:
        raise SchemaError(
            f"table {table.name!r} has no budget",
            hint="budget = { epsilon = 3.0, delta = 1e-6 } under its source",
        )
    budget = table.budget
    accounting: Accounting = budget.accounting  # type: ignore[assignment]
    return Guarantee(epsilon=budget.epsilon, delta=budget.delta, delta_keys=budget.delta_keys, accounting=accounting)


def grant(table: Table, ledger: Ledger, *, epsilon: object, delta: object = None) -> Guarantee:
    """Raise the limit of a table's population to `epsilon` (and `delta`). An act of the owner."""
    old = guarantee(table, ledger)
    if table.population not in ledger.state.accounts:
        ledger.declare(table.population, old, unit="row" if table.schema.unit.is_row else "person")
    new_delta = old.delta if delta is None else exact.probability(delta, name="delta")
    keys = old.keys if old.delta == 0 else old.keys * new_delta / old.delta
    raised = Guarantee(
        epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_BUDGET_EPSILON),
        delta=new_delta,
        delta_keys=None if old.delta == 0 else keys,
        accounting=old.accounting,
    )
    ledger.grant(table.population, raised)
    return raised


def difference(table: Table, ledger: Ledger) -> str | None:
    """A sentence where the ledger's limit is not the one that discreet.toml declares: each part that differs."""
    if table.budget is None:
        return None
    held, told = guarantee(table, ledger), declared(table)
    parts = _parts(held, told, keys_told=table.budget.delta_keys is not None)
    if not parts:
        return None
    listed = " and ".join(f"{name} {mine}, where {NAME} says {theirs}" for name, mine, theirs in parts)
    more = "" if _lags(held, told) else ", or `discreet budget grant` more"
    return f"the ledger's limit for {table.population!r} holds: {listed}; correct the file{more}"


def lag(table: Table, ledger: Ledger) -> str | None:
    """The line that discreet.toml needs where it says less than was granted; None where it says as much or more."""
    if table.budget is None:
        return None
    held, told = guarantee(table, ledger), declared(table)
    parts = _parts(held, told, keys_told=table.budget.delta_keys is not None)
    if not parts or not _lags(held, told):
        return None
    named = [("epsilon", held.epsilon), ("delta", held.delta)]
    if any(name == "delta_keys" for name, _, _ in parts):
        named.append(("delta_keys", held.keys))
    return f"budget = {{ {', '.join(f'{name} = {_number(value)}' for name, value in named)} }}"


def _lags(held: Guarantee, told: Guarantee) -> bool:
    """Whether the file says no more than the ledger holds, so that there is nothing to grant."""
    return (
        held.accounting == told.accounting
        and held.epsilon >= told.epsilon
        and held.keys >= told.keys
        and held.delta_rho >= told.delta_rho
    )


def _parts(held: Guarantee, told: Guarantee, *, keys_told: bool) -> list[tuple[str, str, str]]:
    """What differs: its name, the ledger's, the file's. delta_keys that only follows delta is no difference."""
    found = [("epsilon", held.epsilon, told.epsilon), ("delta", held.delta, told.delta)]
    if keys_told or held.keys * told.delta != told.keys * held.delta:
        found.append(("delta_keys", held.keys, told.keys))
    parts = [(name, _number(mine), _number(theirs)) for name, mine, theirs in found if mine != theirs]
    if held.accounting != told.accounting:
        parts.append(("accounting", held.accounting, told.accounting))
    return parts


def _number(value: Fraction) -> str:
    """All digits: two numbers that differ must not look alike."""
    return exact.show(value, digits=40)


def budget_of(epsilon: object, delta: object) -> Budget | None:
    """A budget as it was asked for; None where none was."""
    if epsilon is None and delta is not None:
        raise UsageError("a delta needs an epsilon", hint="--epsilon 3 --delta 1e-6")
    if epsilon is None:
        return None
    return Budget(
        epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_BUDGET_EPSILON),
        delta=exact.probability(0 if delta is None else delta, name="delta"),
    )
