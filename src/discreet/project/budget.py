"""Where budgets stand: the limit as the ledger holds it, else as declared; what is spent and what remains.

The guarantee is the limit. An edit of discreet.toml does not move it once the ledger holds it; a grant does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from discreet import exact
from discreet.accounting.events import Event
from discreet.accounting.filter import Decision
from discreet.accounting.guarantee import Accounting, Guarantee, large_limit_sentence
from discreet.accounting.region import Region
from discreet.answers import affordability, query_quote
from discreet.answers.caveats import ledger_caveats
from discreet.errors import Command, Flag, Message, Piece, SchemaError, UsageError
from discreet.ledger.account import Account, AccountStatus, RemainingByArm, check_rise
from discreet.ledger.ledger import Ledger
from discreet.present import notebook
from discreet.release import Spending
from discreet.schema.project_file import NAME
from discreet.schema.schema import Budget, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetStatus:
    """The budget of a population: limit, spent and remaining. The guarantee is the limit; `spent` is bookkeeping.

    largest_question: the largest epsilon of one more count of the whole table. Several small queries together may get
        more than that out of the remaining budget, because in rho a query costs the square of its epsilon.
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

    @property
    def large_limit(self) -> str | None:
        """What to know of a limit that is too large to mean much, in a sentence; None where it is not."""
        return large_limit_sentence(self.limit.epsilon)

    def after_data(self) -> dict[str, Any]:
        """What every JSON of something that charges ends with: what is spent and what remains after it."""
        return {"spent": self.spent.to_data(up=True), "remaining": self.remaining.to_data(up=False)}

    def __repr__(self) -> str:
        return f"<Budget of {self.population}: {self._summary()}>"

    def _summary(self) -> str:
        limit, spent, left = self.limit.epsilon, self.spent.epsilon, self.remaining.epsilon
        shown = [None if each is None else exact.show(each, up=up) for each, up in ((spent, True), (left, False))]
        of = "" if limit is None else f" of {exact.show(limit)}"
        return f"epsilon {shown[0] or '?'}{of} spent, {shown[1] or '?'} remaining"

    def _repr_html_(self) -> str:
        """The budget in a notebook, as it stood when it was asked for."""
        return notebook.notebook_html(self._html_parts, lambda: repr(self))

    def _html_parts(self) -> Iterator[str]:
        yield notebook.head(f"Budget of {self.population}")
        limit, spent = self.limit.epsilon, self.spent.epsilon
        if limit and spent is not None:
            yield notebook.meter(exact.as_float(spent / limit, up=True), self._summary())
        yield notebook.line(f"{self._summary()}; about {self.counts:,} more counts of the whole table at ±50.")
        if self.by_analyst:
            rows = [
                [
                    notebook.NotebookCell(text=who or "unnamed analyst"),
                    notebook.NotebookCell(text=_epsilon(paid), number=True),
                ]
                for who, paid in self.by_analyst.items()
            ]
            yield notebook.table(["analyst", "epsilon spent"], rows[: notebook.MOST_ROWS])
        delta = f", delta {exact.show(self.limit.delta)}" if self.limit.delta else ", pure differential privacy"
        yield notebook.small_print(f"{self.events:,} charges so far{delta}. The guarantee is the limit.")
        for note in (*([self.large_limit] if self.large_limit else []), *self.notes):
            yield notebook.small_print(f"note: {note}")


def _epsilon(paid: Spending) -> str:
    return "?" if paid.epsilon is None else exact.show(paid.epsilon, up=True)


def budget_status(table: Table, ledger: Ledger) -> BudgetStatus:
    """Where the budget of a table's population stands now."""
    account_status = _account_status(table, ledger)
    return BudgetStatus(
        population=table.population,
        limit=query_quote.spending(account_status.limit),
        spent=query_quote.spending(account_status.spent),
        remaining=query_quote.spending(account_status.remaining),
        events=account_status.charges,
        by_analyst={who: Spending(epsilon=paid, delta=Fraction(0)) for who, paid in account_status.by_analyst.items()},
        accounting=guarantee(table, ledger).accounting,
        counts=affordability.counts_within_50(table.schema.unit, account_status.limits, account_status.room),
        largest_question=_largest_count(table, ledger, account_status.room),
        notes=(
            *ledger_caveats(ledger, table.population),
            *_unit_changes(ledger, table.population),
            *_unused_keys_notes(table, ledger),
        ),
    )


def counts_left(table: Table, ledger: Ledger) -> int:
    """About how many more counts within 50 the budget of a table's population holds."""
    account_status = _account_status(table, ledger)
    return affordability.counts_within_50(table.schema.unit, account_status.limits, account_status.room)


def _account_status(table: Table, ledger: Ledger) -> AccountStatus:
    if table.population not in ledger.refresh().accounts:
        return Account(name=table.population, guarantee=declared_limit(table)).status()
    return ledger.account_status(table.population)


def _largest_count(table: Table, ledger: Ledger, room: RemainingByArm) -> Fraction:
    """The largest epsilon that one more count of everybody in the newest version of a table may have."""
    limit, number = guarantee(table, ledger), ledger.state.largest_versions.get(table.name, 1)

    def preview(event: Event) -> Decision:
        return ledger.preview(
            population=table.population,
            table=table.name,
            version=number,
            region=Region.whole(),
            event=event,
            guarantee=limit,
            booking=False,
        )

    unit = table.schema.unit
    rows = unit.limit or 1 if unit.ends else unit.rows
    return affordability.largest_count(room, preview, gaussian=limit.accounting == "zcdp", rows=rows)


def _unit_changes(ledger: Ledger, population: str) -> list[str]:
    """What an older program let change of whom a population protects: its limit holds for nobody's whole history."""
    unit = ledger.state.protected_units.get(population)
    changes = [] if unit is None else unit.changes
    return [
        f"no single limit holds, because `person` changed after answers were released: {change}" for change in changes
    ]


def _unused_keys_notes(table: Table, ledger: Ledger) -> list[str]:
    """What declaring `delta_keys = 0` would gain, while that can still be said: before the ledger holds the limit."""
    limit = guarantee(table, ledger)
    declares_keys = table.budget is not None and table.budget.delta_keys is not None
    if table.population in ledger.state.accounts or declares_keys or limit.accounting == "pure" or not limit.delta:
        return []
    now, then = (
        affordability.counts_within_50(table.schema.unit, account.limits, account.remaining_by_arm())
        for account in (
            Account(name=table.population, guarantee=limit),
            Account(name=table.population, guarantee=replace(limit, delta_keys=Fraction(0))),
        )
    )
    if then <= now:
        return []
    return [
        f"delta {exact.show(limit.keys)} is reserved for discovered keys; if you declare all keys, write "
        f"delta_keys = 0 in the budget before the first query: this allows about {then:,} counts at plus or minus 50, "
        f"not {now:,}"
    ]


def guarantee(table: Table, ledger: Ledger) -> Guarantee:
    """The limit of a table's population: as the ledger holds it, else as declared."""
    account = ledger.state.accounts.get(table.population)
    return declared_limit(table) if account is None else account.guarantee


def has_limit(table: Table, ledger: Ledger) -> bool:
    """Whether a private table has a limit: in the ledger, which keeps it, or as declared."""
    return not table.public and (table.budget is not None or table.population in ledger.refresh().accounts)


def declared_limit(table: Table) -> Guarantee:
    """The limit that discreet.toml declares."""
    if table.budget is None:
        raise SchemaError(
            f"table {table.name!r} has no budget",
            hint="add budget = { epsilon = 3.0, delta = 1e-6 } below its source",
        )
    budget = table.budget
    accounting: Accounting = budget.accounting or "renyi"  # type: ignore[assignment]
    return Guarantee(epsilon=budget.epsilon, delta=budget.delta, delta_keys=budget.delta_keys, accounting=accounting)


def grant(table: Table, ledger: Ledger, *, epsilon: object, delta: object = None) -> Guarantee:
    """Raise the limit of a table's population to `epsilon` (and `delta`). An act of the owner."""
    raised = raised_limit(table, ledger, epsilon=epsilon, delta=delta)
    if table.population not in ledger.state.accounts:
        limit = guarantee(table, ledger)
        ledger.declare(table.population, limit, unit="row" if table.schema.unit.is_row else "person")
    ledger.grant(table.population, raised)
    return raised


def raised_limit(table: Table, ledger: Ledger, *, epsilon: object, delta: object = None) -> Guarantee:
    """The limit that a grant would make. Refused where it would not raise it."""
    old = guarantee(table, ledger)
    new_delta = old.delta if delta is None else exact.probability(delta, name="delta")
    keys = old.keys if old.delta == 0 else old.keys * new_delta / old.delta
    raised = Guarantee(
        epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_BUDGET_EPSILON),
        delta=new_delta,
        delta_keys=None if old.delta == 0 else keys,
        accounting=old.accounting,
    )
    check_rise(old, raised)
    return raised


def limit_difference(table: Table, ledger: Ledger) -> str | None:
    """A sentence where the ledger's limit is not the one that discreet.toml declares: each part that differs."""
    if table.budget is None:
        return None
    ledger_limit, file_limit = _both_limits(table, ledger)
    parts = _differing_parts(ledger_limit, file_limit, keys_declared=table.budget.delta_keys is not None)
    if not parts:
        return None
    listed = " and ".join(f"{name} {mine} ({NAME} says {theirs})" for name, mine, theirs in parts)
    more: list[Piece] = [] if _file_lags(ledger_limit, file_limit) else [", or `", Command("budget grant"), "` more"]
    if not ledger.state.is_fixed(table.population):
        more = [", or run ", Command("refresh", table.name), " to apply it: nothing was released yet"]
    return Message(f"the limit of {table.population!r} is the one in the ledger: {listed}; correct the file", *more)


def outdated_budget_line(table: Table, ledger: Ledger) -> str | None:
    """The line that discreet.toml needs where it says less than was granted; None where it says as much or more."""
    if table.budget is None:
        return None
    ledger_limit, file_limit = _both_limits(table, ledger)
    parts = _differing_parts(ledger_limit, file_limit, keys_declared=table.budget.delta_keys is not None)
    if not parts or not _file_lags(ledger_limit, file_limit):
        return None
    return budget_line(ledger_limit, keys=any(name == "delta_keys" for name, _, _ in parts))


def budget_line(limit: Guarantee, *, keys: bool = False) -> str:
    """A limit as discreet.toml has it. keys: with what of its delta is for finding keys."""
    named = [("epsilon", limit.epsilon), ("delta", limit.delta), *([("delta_keys", limit.keys)] if keys else [])]
    return f"budget = {{ {', '.join(f'{name} = {_number(value)}' for name, value in named)} }}"


def _both_limits(table: Table, ledger: Ledger) -> tuple[Guarantee, Guarantee]:
    """The ledger's limit and the file's; once it is fixed, a file that names no accounting means the ledger's."""
    ledger_limit, file_limit = guarantee(table, ledger), declared_limit(table)
    fixed = ledger.state.is_fixed(table.population)
    if fixed and table.budget is not None and table.budget.accounting is None:
        file_limit = replace(file_limit, accounting=ledger_limit.accounting)
    return ledger_limit, file_limit


def _file_lags(ledger_limit: Guarantee, file_limit: Guarantee) -> bool:
    """Whether the file says no more than the ledger holds, so that there is nothing to grant."""
    return (
        ledger_limit.accounting == file_limit.accounting
        and ledger_limit.epsilon >= file_limit.epsilon
        and ledger_limit.keys >= file_limit.keys
        and ledger_limit.delta_noise >= file_limit.delta_noise
    )


def _differing_parts(
    ledger_limit: Guarantee, file_limit: Guarantee, *, keys_declared: bool
) -> list[tuple[str, str, str]]:
    """What differs: its name, the ledger's, the file's. delta_keys that only follows delta is no difference."""
    limits = [("epsilon", ledger_limit.epsilon, file_limit.epsilon), ("delta", ledger_limit.delta, file_limit.delta)]
    if keys_declared or ledger_limit.keys * file_limit.delta != file_limit.keys * ledger_limit.delta:
        limits.append(("delta_keys", ledger_limit.keys, file_limit.keys))
    parts = [(name, _number(mine), _number(theirs)) for name, mine, theirs in limits if mine != theirs]
    if ledger_limit.accounting != file_limit.accounting:
        parts.append(("accounting", ledger_limit.accounting, file_limit.accounting))
    return parts


def _number(value: Fraction) -> str:
    """All digits: two numbers that differ must not look alike."""
    return exact.show(value, digits=40)


def budget_of(epsilon: object, delta: object) -> Budget | None:
    """A budget as it was asked for; None where none was."""
    if epsilon is None and delta is not None:
        raise UsageError(
            Message(Flag("delta"), " needs ", Flag("epsilon")),
            hint=Message(Flag("epsilon", 3), " ", Flag("delta", "1e-6")),
        )
    if epsilon is None:
        return None
    return Budget(
        epsilon=exact.positive(epsilon, name="epsilon", most=exact.MAX_BUDGET_EPSILON),
        delta=exact.probability(0 if delta is None else delta, name="delta"),
    )
