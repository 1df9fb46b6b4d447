"""A long ledger, written fast: charges and their answers as the journal would have written them, in a few transactions."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from pathlib import Path

from discreet.accounting import events
from discreet.accounting.events import LaplaceEvent
from discreet.accounting.filter import Balance, Cost, book_balance
from discreet.accounting.guarantee import Guarantee
from discreet.accounting.region import Box, Region, ValueSet
from discreet.ledger import summary_tables
from discreet.ledger.anchor import Head
from discreet.ledger.chain import LedgerEntry, canonical_json, make_entry, new_id
from discreet.ledger.chain_reader import sha256_of
from discreet.ledger.charge_data import balance_data, charge_record, cost_data
from discreet.ledger.ledger import Ledger
from discreet.ledger.state import LedgerState
from discreet.ledger.summary_tables import SummaryRows

PAYLOAD = "x" * 300
KEY = ("people 0", 1)


def make(path: Path, accounting: str = "pure") -> Ledger:
    ledger = Ledger.create(path)
    ledger.declare("people 0", Guarantee(epsilon=Fraction(10**6), accounting=accounting))
    ledger.add_version("people 0", population="people 0", schema={}, source={})
    return ledger


def region(number: int) -> Region:
    """Overlapping intervals of one column and halves of another."""
    return Region.of([Box({"age": ValueSet.interval(number % 60, number % 60 + 20), "sex": ValueSet.of([number % 2])})])


def long_ledger(path: Path, rows: int) -> None:
    """Charges and their answers, so many rows in all, booked by plain addition."""
    sha256, prices = sha256_of(PAYLOAD), [LaplaceEvent(scale=Fraction(10**5 + each), l1=1) for each in range(1000)]
    costs, regions = [Cost.of(events.loss(event)) for event in prices], [region(each).to_data() for each in range(120)]
    texts = [canonical_json(each) for each in regions]
    with make(path) as ledger:
        journal, state = ledger._journal, ledger.state
        account, balance, key = state.accounts["people 0"], Balance(), journal.anchor.key
        connection, last = journal.store._connection, state.digest

        def entry(kind: str, body: dict[str, object]) -> LedgerEntry:
            made = make_entry(seq=state.seq + 1, kind=kind, body=body, previous=state.digest, key=key, time=now)
            state.digests.append(made.digest)
            return made

        now = f"{2026}-11-18T00:00:00.000000Z"
        numbers = iter(range(rows // 2))
        while chunk := list(islice(numbers, 10_000)):
            entries, charges, answers = [], [], []
            for number in chunk:
                cost, id_ = costs[number % 1000], f"r-{new_id()}"
                before, balance = balance, book_balance(balance, cost, balance)
                body = {
                    "id": id_,
                    "population": "people 0",
                    "table": "people 0",
                    "version": 1,
                    "region": regions[number % 120],
                    "event": events.to_data(prices[number % 1000]),
                    "cost": cost_data(cost),
                    "analyst": f"analyst {number % 7}",
                    "question": sha256_of(str(number % 100_000)),
                    "price": "1/1000",
                    "decision": {
                        "arm": "pure",
                        "used": 1,
                        "nodes": 0,
                        "inside": list(before.arms),
                        "balance": balance_data(balance),
                    },
                }
                made = entry("charge", body)
                charge = charge_record(body, made)
                account.book(
                    KEY, region=texts[number % 120], cost=cost, inside=before, balance=balance, used=1, seq=made.seq
                )
                account.pay(body["analyst"], charge.moved)
                charges.append(summary_tables.charge_row(charge))
                entries += [made, entry("answer", {"id": id_, "sha256": sha256})]
                answers.append((id_, sha256, PAYLOAD))
            _insert(connection, state, entries, charges, answers)
        totals = Head(seq=state.seq, digest=state.digest, since=1, totals=state.totals())
        journal.anchor.write(totals, state.digests, stored_count=0)
        assert last != state.digest


def _insert(
    connection: object, state: LedgerState, entries: list[LedgerEntry], charges: list[object], answers: list[object]
) -> None:
    rows: SummaryRows = summary_tables.balance_rows(state)
    connection.execute("BEGIN")
    fields = [(each.seq, each.time, each.kind, each.body, each.previous, each.digest, each.mac) for each in entries]
    connection.executemany("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", fields)
    connection.executemany(f"INSERT INTO charges VALUES ({', '.join('?' * 11)})", charges)
    connection.executemany("INSERT INTO answers VALUES (?, ?, ?)", answers)
    connection.execute("DELETE FROM segments")
    connection.executemany(f"INSERT INTO segments VALUES ({', '.join('?' * 8)})", rows.segments)
    for row in rows.populations:
        connection.execute("UPDATE populations SET used = ?, charges = ?, seq = ? WHERE name = ?", (*row[5:], row[0]))
    connection.execute("COMMIT")
