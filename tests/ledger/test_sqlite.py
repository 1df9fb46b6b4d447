from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from discreet.errors import LedgerFault
from discreet.ledger.ledger import Ledger
from discreet.ledger.sqlite_ledger import SqliteLedgerStore
from ledger.ledgers import ask, laplace, make

NAN, INFINITE = float("nan"), float("inf")


@pytest.fixture
def ledger(path: Path):
    with make(path) as made:
        made.store(ask(made, laplace(1)).id, "payload")
        yield made


@pytest.fixture
def raw(ledger: Ledger, path: Path):
    """The database as anybody with the file can open it, foreign keys on."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    yield connection
    connection.close()


def insert_charge(raw: sqlite3.Connection, **changes: object) -> None:
    row = {
        "seq": 1, "id": "r-aaaaaaaaaaaaaaaa", "population": "patients", "table_name": "patients", "version": 1,
        "analyst": None, "question": "q", "price": "1/1", "pure": 10**9, "rho": 5 * 10**11, "delta": 0,
    } | changes  # fmt: skip
    raw.execute(f"INSERT INTO charges VALUES ({', '.join('?' * len(row))})", tuple(row.values()))


def test_a_plain_charge_row_would_pass(raw: sqlite3.Connection):
    """So that the refusals below are about what they change."""
    raw.execute("BEGIN")
    insert_charge(raw)
    raw.execute("ROLLBACK")


@pytest.mark.thin(14)
@pytest.mark.parametrize("column", ["pure", "rho", "delta"])
@pytest.mark.parametrize("cost", [NAN, INFINITE, -INFINITE, -1, -(10**9), 10**18 + 1, 2**62, 0.5, 1.5, "x", None, b"1"])
def test_absurd_costs_are_refused_by_the_database(raw: sqlite3.Connection, column: str, cost: object):
    with pytest.raises(sqlite3.IntegrityError):
        insert_charge(raw, **{column: cost})


@pytest.mark.parametrize("column", ["pure", "rho"])
def test_a_cost_of_nothing_is_refused_by_the_database(raw: sqlite3.Connection, column: str):
    with pytest.raises(sqlite3.IntegrityError):
        insert_charge(raw, **{column: 0})


def test_a_number_beyond_64_bits_is_refused(raw: sqlite3.Connection):
    with pytest.raises((sqlite3.IntegrityError, OverflowError)):
        insert_charge(raw, pure=2**64)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "x"},
        {"id": None},
        {"version": 0},
        {"population": "nobody"},
        {"seq": 99},
        {"pure": 10**12 + 1},
        {"rho": 5 * 10**17 + 1},
        {"delta": 10**18},
        {"question": None},
        {"price": None},
    ],
    ids=str,
)
def test_strange_charges_are_refused_by_the_database(raw: sqlite3.Connection, changes: dict[str, object]):
    with pytest.raises(sqlite3.IntegrityError):
        insert_charge(raw, **changes)


@pytest.mark.parametrize(
    "change",
    [
        "used = 1000000000001",
        "used = -1",
        "used = NULL",
        "delta_spent = 1",
        "delta_spent = -1",
        "delta_limit = -1",
        "delta_limit = 1000000000000000001",
        "charges = -1",
        "seq = 99",
    ],
)
def test_nobody_goes_over_a_limit(raw: sqlite3.Connection, change: str):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(f"UPDATE populations SET {change}")


@pytest.mark.parametrize(
    "change",
    [
        "pure = pure - 1",
        "rho = rho - 1",
        "pure_sum = pure_sum - 1",
        "rho_sum = rho_sum - 1",
        "pure = pure_sum + 1",
        "rho = rho_sum + 1",
        "pure = 0",
        "pure = -1",
        "pure_sum = 1000000000000000001",
        "version = 0",
        "population = 'nobody'",
    ],
)
def test_balances_never_fall_and_never_pass_their_sums(raw: sqlite3.Connection, change: str):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(f"UPDATE segments SET {change}")


@pytest.mark.parametrize("table", ["entries", "charges", "answers"])
@pytest.mark.parametrize(
    "act", ["DELETE FROM {}", "UPDATE {} SET rowid = rowid + 100", "REPLACE INTO {0} SELECT * FROM {0}"]
)
def test_history_is_append_only(raw: sqlite3.Connection, table: str, act: str):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(act.format(table))


def test_no_answer_without_a_charge(raw: sqlite3.Connection):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute("INSERT INTO answers VALUES ('r-zzzzzzzzzzzzzzzz', ?, 'x')", ("0" * 64,))


@pytest.mark.parametrize("change", [{"seq": 99}, {"seq": 5}, {"seq": 0}, {"previous": "0" * 64}, {}], ids=str)
def test_entries_follow_one_another(raw: sqlite3.Connection, change: dict[str, object]):
    seq, last = raw.execute("SELECT seq, digest FROM entries ORDER BY seq DESC").fetchone()
    assert seq == 5
    row = {
        "seq": 6,
        "time": "t",
        "kind": "failure",
        "body": "{}",
        "previous": last,
        "digest": "1" * 64,
        "mac": "1" * 64,
    }
    insert = "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)"
    raw.execute("BEGIN")
    if change:
        with pytest.raises(sqlite3.IntegrityError):
            raw.execute(insert, tuple((row | change).values()))
    else:
        raw.execute(insert, tuple(row.values()))
    raw.execute("ROLLBACK")


def test_a_charge_is_not_replaced(raw: sqlite3.Connection):
    id_ = raw.execute("SELECT id FROM charges").fetchone()[0]
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(
            "INSERT OR REPLACE INTO charges VALUES (1, ?, 'patients', 'patients', 1, NULL, 'q', '1/1', 1, 1, 0)", (id_,)
        )


def test_no_unknown_kind_of_entry(raw: sqlite3.Connection):
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute(
            "INSERT INTO entries SELECT seq + 1, time, 'refund', body, digest, digest, mac FROM entries WHERE seq = 5"
        )


# -- settings ------------------------------------------------------------------------------------


def test_durability_is_on(ledger: Ledger):
    connection = ledger._journal.store._connection
    for name, wanted in (("synchronous", 3), ("journal_mode", "wal"), ("foreign_keys", 1), ("trusted_schema", 0)):
        assert connection.execute(f"PRAGMA {name}").fetchone()[0] == wanted


@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER entries_update",
        "DROP TRIGGER segments_fall",
        "CREATE TABLE more (x)",
        "CREATE VIEW charged AS SELECT * FROM charges",
        "CREATE TRIGGER undo AFTER INSERT ON charges BEGIN UPDATE populations SET used = 0; END",
    ],
)
def test_a_changed_schema_is_refused(path: Path, change: str):
    make(path).close()
    connection = sqlite3.connect(path)
    connection.execute(change)
    connection.close()
    with pytest.raises(LedgerFault, match="not the ones that Discreet made"):
        Ledger.open(path)


def test_a_relaxed_check_is_refused(path: Path):
    make(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = replace(sql, 'used BETWEEN 0 AND 1000000000000', 'used > -1')")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerFault, match="not the ones that Discreet made"):
        Ledger.open(path)


@pytest.mark.parametrize("content", [b"", b"not a database" * 100, b"SQLite format 3\0" + b"\0" * 1000])
def test_a_file_that_is_no_ledger(path: Path, content: bytes):
    make(path).close()
    path.write_bytes(content)
    with pytest.raises(LedgerFault):
        Ledger.open(path)


def test_a_newer_ledger_says_to_upgrade(path: Path):
    make(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(LedgerFault, match="newer version of Discreet"):
        Ledger.open(path)


def test_waiting_for_another_writer_ends(ledger: Ledger, raw: sqlite3.Connection):
    ledger._journal.store._connection.execute("PRAGMA busy_timeout = 50")
    raw.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerFault, match="does not release it"):
        ask(ledger, laplace("0.1"))
    raw.execute("ROLLBACK")
    ask(ledger, laplace("0.1"))  # waiting in vain is no damage


def test_integrity_is_sqlites_own_opinion(path: Path):
    make(path).close()
    store = SqliteLedgerStore.open(path)
    assert store.integrity() == ""
    store.close()
