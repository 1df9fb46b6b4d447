"""The ledger against a model in Fractions: every decision and every balance, through restarts and rollbacks."""

from __future__ import annotations

import math
import os
import secrets
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from discreet.accounting.events import Event
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Box, Region, ValueSet
from discreet.errors import BudgetExceeded, LedgerRolledBack, UsageError
from discreet.exact import UNBOUNDED
from discreet.ledger import repair
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress, LedgerLocation
from ledger.ledgers import ask, copy_ledger, gaussian, laplace
from ledger.model import RECORDS, Losses, Paid, Population, losses_of
from tiers import fuzzed, size

TABLES = {"patients": "people", "visits": "people", "staff": "staff"}
EPSILONS = [Fraction(text) for text in ("0.1", "0.25", "0.5", "1", "1.5")]
RHOS = [Fraction(text) for text in ("0.001", "0.01", "0.05", "0.125")]
SMALL = Fraction(1, 10**6)
#: Thousands of fsyncs teach nothing here, and a filesystem in memory has none to wait for.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def region_of(who: frozenset[int | None]) -> Region:
    if who == frozenset(RECORDS):
        return Region.whole()
    inside = ValueSet.of(value for value in who if value is not None)
    return Region.of([Box({"group": ValueSet(inside.runs, None in who)})])


Loss = tuple[Event, Losses]
PEOPLE = st.one_of(
    st.sampled_from(RECORDS).map(lambda record: frozenset([record])),
    st.frozensets(st.sampled_from(RECORDS), min_size=1),
    st.just(frozenset(RECORDS)),
)
#: An event, and what it loses in every arm.
LOSSES = st.sampled_from(EPSILONS).map(
    lambda epsilon: (laplace(epsilon), losses_of(epsilon, epsilon**2 / 2))
) | st.sampled_from(RHOS).map(lambda rho: (gaussian(rho), losses_of(None, rho)))


class LedgerMachine(RuleBasedStateMachine):
    """Owner and analysts at work, and an owner who restores old copies."""

    @initialize(accounting=st.sampled_from(["renyi", "renyi", "either", "pure", "zcdp"]))
    def begin(self, accounting: str) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.environment = pytest.MonkeyPatch()
        self.environment.setenv("DISCREET_STATE", str(self.folder / "state"))
        self.path = self.place()
        self.ledger = Ledger.create(self.path)
        self.model = {
            "people": Population(Guarantee(epsilon=Fraction(2), delta=SMALL, accounting=accounting)),
            "staff": Population(Guarantee(epsilon=Fraction(1))),
        }
        for name, population in self.model.items():
            self.ledger.declare(name, population.guarantee)
        self.newest = dict.fromkeys(TABLES, 1)
        for table, population in TABLES.items():
            self.ledger.add_version(table, population=population, schema={}, source={})
        self.copy: tuple[dict[str, Population], int] | None = None
        self.restored = False

    def place(self) -> LedgerLocation:
        return self.folder / "ledger.db"

    def teardown(self) -> None:
        self.ledger.close()
        self.environment.undo()
        shutil.rmtree(self.folder)

    @rule(table=st.sampled_from([*TABLES, "patients", "patients"]), older=st.booleans(), who=PEOPLE, loss=LOSSES)
    def charge(self, table: str, older: bool, who: frozenset[int | None], loss: Loss) -> None:
        known = sorted(self.ledger.state.versions[table])  # a rollback may have forgotten the newest
        key = (table, known[-2 if older and len(known) > 1 else -1])
        event, losses = loss
        population = self.model[TABLES[table]]
        charge = Paid(who, losses)
        accepted = True
        try:
            ask(self.ledger, event, region=region_of(who), table=table, population=TABLES[table], version=key[1])
        except BudgetExceeded:
            accepted = False
        assert accepted == population.accepts(key, charge)
        if accepted:
            population.pay(key, charge)

    @rule(table=st.sampled_from(list(TABLES)))
    def refresh_version(self, table: str) -> None:
        added = self.ledger.add_version(table, population=TABLES[table], schema={}, source={})
        assert added == self.newest[table] + 1
        self.newest[table] = added

    @rule(name=st.sampled_from(["people", "staff"]), more=st.sampled_from(["0.5", "1"]))
    def grant(self, name: str, more: str) -> None:
        old = self.model[name].guarantee
        new = Guarantee(epsilon=old.epsilon + Fraction(more), delta=old.delta, accounting=old.accounting)
        self.ledger.grant(name, new)
        self.model[name].guarantee = new

    @rule(name=st.sampled_from(["people", "staff"]), epsilon=st.sampled_from(["0.5", "1", "4"]))
    def correct(self, name: str, epsilon: str) -> None:
        """Lower or raise a limit: while nothing was charged, and no copy was ever restored."""
        old = self.model[name].guarantee
        new = Guarantee(epsilon=Fraction(epsilon), delta=old.delta, accounting=old.accounting)
        if new == old:
            return
        try:
            self.ledger.correct(name, new)
        except UsageError:
            assert self.model[name].segments or self.restored
            return
        assert not self.model[name].segments and not self.restored
        self.model[name].guarantee = new

    @rule()
    def restart(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(self.path)

    @rule()
    def make_a_copy(self) -> None:
        self.ledger.close()
        copy_ledger(self.path, self.folder / "copy" / "ledger.db")
        self.ledger = Ledger.open(self.path)
        self.copy = {name: population.copy() for name, population in self.model.items()}, self.ledger.state.seq

    @precondition(lambda self: self.copy is not None)
    @rule()
    def restore_the_copy(self) -> None:
        before = {name: self.ledger.account_status(name).remaining for name in self.model}
        last = self.ledger.state.seq
        self.ledger.close()
        copy_ledger(self.folder / "copy" / "ledger.db", self.path)
        old, rows = self.copy
        if last > rows:
            with pytest.raises(LedgerRolledBack):
                Ledger.open(self.path)
            repair.acknowledge(self.path)
            self.restored = True
            for name, kept in old.items():
                restored = Population(self.model[name].guarantee, kept.copy().segments)
                for key, charge in self.model[name].forgotten(kept).items():
                    restored.pay(key, charge)
                self.model[name] = restored
        self.ledger = Ledger.open(self.path)
        self.copy = None  # the histories part here: the next copy is of the new one
        for name, stood in before.items():
            remaining = self.ledger.account_status(name).remaining
            assert remaining.epsilon <= stood.epsilon
            assert remaining.delta <= stood.delta

    @rule(lost=st.lists(st.tuples(st.sampled_from(["patients", "staff"]), PEOPLE, LOSSES), min_size=1, max_size=4))
    def forget(self, lost: list[tuple[str, frozenset[int | None], Loss]]) -> None:
        """Ask some questions and restore the copy from before them."""
        self.make_a_copy()
        for table, who, loss in lost:
            self.charge(table=table, older=False, who=who, loss=loss)
        self.restore_the_copy()

    @invariant()
    def balances_agree(self) -> None:
        if not hasattr(self, "model"):
            return
        for name, population in self.model.items():
            account = self.ledger.state.accounts[name]
            for key in population.segments:
                pure, rho, *orders = population.largest(key)
                found = account.segments[key].balance
                assert found.pure == (UNBOUNDED if pure == math.inf else pure * 10**9)
                assert found.rho == rho * 10**12
                if population.guarantee.delta_order:
                    assert list(found.orders) == [order * 10**12 for order in orders]
            assert set(account.segments) == set(population.segments)
            pure = population.total()[0]
            standing = account.status()
            assert standing.limit.epsilon == population.guarantee.epsilon
            assert (
                standing.spent.epsilon <= min(pure, standing.limit.epsilon) or population.guarantee.limits.pure is None
            )
            assert standing.spent.epsilon + standing.remaining.epsilon == standing.limit.epsilon
            assert standing.remaining.epsilon >= 0


def work(examples: int) -> settings:
    return settings(
        max_examples=examples, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
    )


def on_postgres(url: str) -> type[LedgerMachine]:
    """The same life, in a database; each run in a schema of its own."""

    class PostgresMachine(LedgerMachine):
        def place(self) -> LedgerLocation:
            self.schema = f"test_{secrets.token_hex(6)}"
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"CREATE SCHEMA {self.schema}")
            return DatabaseAddress(url=f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{self.schema}")

        def teardown(self) -> None:
            super().teardown()
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {self.schema} CASCADE")

    return PostgresMachine


def test_the_ledger_in_postgres_does_what_the_model_does(postgres: str):
    run_state_machine_as_test(on_postgres(postgres), settings=work(size(1, 4)))


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
def test_the_ledger_in_postgres_does_what_the_model_does_for_long(postgres: str):
    run_state_machine_as_test(on_postgres(postgres), settings=work(fuzzed(200)))


def test_the_ledger_does_what_the_model_does():
    run_state_machine_as_test(LedgerMachine, settings=work(size(6, 60)))


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
def test_the_ledger_does_what_the_model_does_for_long():
    run_state_machine_as_test(LedgerMachine, settings=work(fuzzed(2000)))
