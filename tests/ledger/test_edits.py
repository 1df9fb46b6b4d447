"""Whoever can write the ledger's file can change it; opening it, and `verify`, name the first bad row."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerFault, LedgerLocked, LedgerRolledBack, LedgerTampered
from discreet.ledger import repair
from discreet.ledger.anchor import AnchorMissing
from discreet.ledger.chain import GENESIS, digest
from discreet.ledger.ledger import Ledger
from ledger.ledgers import ask, copy_folder, copy_ledger, gaussian, guarantee, laplace, make, people
from tiers import size

#: Rows of the ledger under attack: 1 open, 2 population, 3 version, then charges and their answers.
ROWS = 15


@dataclass(frozen=True, kw_only=True)
class Victim:
    """A ledger that can be put back as it was."""

    path: Path
    state: Path
    safe: Path

    def restore(self) -> None:
        copy_ledger(self.safe / "ledger.db", self.path)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    folder = tmp_path_factory.mktemp("victim")
    found = Victim(path=folder / "project" / "ledger.db", state=folder / "state", safe=folder / "safe")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(found.state))
        with make(found.path, guarantee(9, "1/1000000")) as ledger:
            for number in range(4):
                charge = ask(ledger, laplace("0.5"), region=people(number % 2), analyst="ann", question=f"q{number}")
                ledger.store(charge.id, f"answer {number}")
            ledger.add_version("visits", population="patients", schema={}, source={})
            ledger.store(ask(ledger, gaussian("0.01"), table="visits").id, "gaussian")
            ledger.fail(ask(ledger, laplace("0.25")).id)
            ledger.grant("patients", guarantee(10, "1/1000000"))
        assert repair.verify(found.path).rows == ROWS + 2
        (found.safe).mkdir()
        copy_ledger(found.path, found.safe / "ledger.db")
        copy_folder(found.state, found.safe / "state")
    return found


@pytest.fixture
def victim(made_once: Victim, monkeypatch: pytest.MonkeyPatch) -> Victim:
    monkeypatch.setenv("DISCREET_STATE", str(made_once.state))
    copy_folder(made_once.safe / "state", made_once.state)
    made_once.restore()
    return made_once


@contextmanager
def tampering(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection with every guard down, which are put up again afterwards, as a careful forger would."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    guards = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    connection.execute("BEGIN")
    for name, _ in guards:
        connection.execute(f"DROP TRIGGER {name}")
    yield connection
    for _, sql in guards:
        connection.execute(sql)
    connection.execute("COMMIT")
    connection.close()


def caught(path: Path, kind: type[LedgerFault] = LedgerFault) -> int | None:
    """The row that both opening and verifying name; fails where either sees nothing."""
    with pytest.raises(kind) as found:
        Ledger.open(path).close()
    report = repair.verify(path)
    assert not report.sound
    assert report.problem == found.value.reason
    if isinstance(found.value, LedgerTampered):
        assert report.row == found.value.row
    return report.row


def test_an_untouched_ledger_opens(victim: Victim):
    with tampering(victim.path):
        pass
    Ledger.open(victim.path).close()
    assert repair.verify(victim.path).sound


def columns(table: str) -> list[str]:
    return {
        "entries": ["seq", "time", "kind", "body", "previous", "digest", "mac"],
        "charges": [
            "seq", "id", "population", "table_name", "version", "analyst", "question", "price", "pure", "rho", "delta",
        ],
        "answers": ["id", "sha256", "payload"],
        "populations": ["name", "epsilon", "delta", "delta_limit", "delta_spent", "used", "charges", "seq"],
        "segments": ["population", "table_name", "version", "pure", "rho", "pure_sum", "rho_sum", "seq"],
    }[table]  # fmt: skip


def flips(value: object) -> list[object]:
    """The value with one bit changed, here and there; of a text also its beginning, its end, and no text at all."""
    if value is None:
        return ["x"]
    if isinstance(value, int):
        return [value ^ 1, value ^ (1 << 40), -value - 1]
    raw = bytearray(str(value).encode())
    found: list[object] = [b"\xff\xfe", str(value) + " "]
    for at in sorted({0, len(raw) // 2}):
        changed = bytearray(raw)
        changed[at] ^= 1
        found.append(changed.decode())
    return found


@pytest.mark.parametrize(
    ("table", "column"),
    [
        (table, column)
        for table in ("entries", "charges", "answers", "populations", "segments")
        for column in columns(table)
    ],
)
def test_a_flip_in_any_column_of_any_row(victim: Victim, table: str, column: str):
    with tampering(victim.path) as raw:
        rows = raw.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
    assert rows
    for rowid, value in rows[:: size(16, 1)]:
        for wrong in flips(value):
            victim.restore()
            with tampering(victim.path) as raw:
                try:
                    raw.execute(
                        f"UPDATE {table} SET {column} = CAST(? AS {kind_of(value)}) WHERE rowid = ?", (wrong, rowid)
                    )
                except sqlite3.IntegrityError:
                    continue  # a key that is taken
            row = caught(victim.path)
            if table == "entries":
                assert row == (1 if column == "seq" and wrong < 1 else rowid)
            else:
                assert row is not None
                assert 1 <= row <= ROWS + 3


def kind_of(value: object) -> str:
    return "INTEGER" if isinstance(value, int) else "TEXT"


@pytest.mark.parametrize("seq", range(1, ROWS + 3))
def test_a_deleted_row(victim: Victim, seq: int):
    with tampering(victim.path) as raw:
        raw.execute("DELETE FROM entries WHERE seq = ?", (seq,))
    if seq < ROWS + 2:
        assert caught(victim.path, LedgerTampered) == seq
    else:
        caught(victim.path)


@pytest.mark.thin(6)
@pytest.mark.parametrize("seq", range(1, ROWS + 2))
def test_deleted_and_closed_up(victim: Victim, seq: int):
    with tampering(victim.path) as raw:
        raw.execute("DELETE FROM entries WHERE seq = ?", (seq,))
        raw.execute("UPDATE entries SET seq = -seq WHERE seq > ?", (seq,))
        raw.execute("UPDATE entries SET seq = -seq - 1 WHERE seq < 0")
    assert caught(victim.path, LedgerTampered) == seq


@pytest.mark.thin(6)
@pytest.mark.parametrize("seq", range(1, ROWS + 2))
def test_swapped_rows(victim: Victim, seq: int):
    with tampering(victim.path) as raw:
        raw.execute("UPDATE entries SET seq = 99 WHERE seq = ?", (seq,))
        raw.execute("UPDATE entries SET seq = ? WHERE seq = ?", (seq, seq + 1))
        raw.execute("UPDATE entries SET seq = ? WHERE seq = 99", (seq + 1,))
    assert caught(victim.path, LedgerTampered) == seq


def rechain(raw: sqlite3.Connection) -> None:
    """Compute every digest anew, as anybody can, and leave the MACs, which only the key's holder could make."""
    previous = GENESIS
    for seq, time, kind, body in raw.execute("SELECT seq, time, kind, body FROM entries ORDER BY seq").fetchall():
        fresh = digest(seq=seq, time=time, kind=kind, body=body, previous=previous)
        raw.execute("UPDATE entries SET previous = ?, digest = ? WHERE seq = ?", (previous, fresh, seq))
        previous = fresh


FORGERIES: dict[str, tuple[str, int]] = {
    "a cheaper charge": ("UPDATE entries SET body = replace(body, '500000000', '5') WHERE seq = 4", 4),
    "a larger grant": ("UPDATE entries SET body = replace(body, '10/1', '99/1') WHERE kind = 'grant'", ROWS + 2),
    "no failure": (
        "UPDATE entries SET kind = 'acknowledge', body = '{\"tables\":[]}' WHERE kind = 'failure'",
        ROWS + 1,
    ),
    "another entry at the end": (
        "INSERT INTO entries SELECT seq + 1, time, kind, replace(body, '10/1', '99/1'), digest, digest, mac "
        "FROM entries WHERE kind = 'grant'",
        ROWS + 3,
    ),
    "a repeated answer's row": ("UPDATE entries SET body = (SELECT body FROM entries WHERE seq = 5) WHERE seq = 7", 7),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forger_who_computes_the_chain_anew(victim: Victim, name: str):
    sql, seq = FORGERIES[name]
    with tampering(victim.path) as raw:
        assert raw.execute(sql).rowcount == 1
        rechain(raw)
    assert caught(victim.path, LedgerTampered) == seq


@pytest.mark.parametrize("seq", [2, 9, ROWS + 2])
def test_an_inserted_row(victim: Victim, seq: int):
    with tampering(victim.path) as raw:
        raw.execute("UPDATE entries SET seq = -seq WHERE seq >= ?", (seq,))
        raw.execute("UPDATE entries SET seq = 1 - seq WHERE seq < 0")
        raw.execute(
            "INSERT INTO entries SELECT ?, time, 'acknowledge', '{\"tables\":[]}', previous, digest, mac "
            "FROM entries WHERE seq = ?",
            (seq, seq - 1),
        )
        rechain(raw)
    assert caught(victim.path, LedgerTampered) == seq


@pytest.mark.parametrize("seq", [0, -1, -(2**63)])
def test_a_row_before_the_first(victim: Victim, seq: int):
    with tampering(victim.path) as raw:
        raw.execute(
            "INSERT INTO entries SELECT ?, time, kind, body, previous, digest, mac FROM entries LIMIT 1", (seq,)
        )
    assert caught(victim.path, LedgerTampered) == 1


@pytest.mark.thin(6)
@pytest.mark.parametrize("kept", range(1, ROWS + 2))
def test_a_tail_cut_off_by_a_careful_forger(victim: Victim, kept: int):
    """Entries, charges, answers and balances are all put back to how they were: only the anchor can tell."""
    cut_tail(victim.path, kept)
    assert caught(victim.path, LedgerRolledBack) == kept + 1


def cut_tail(path: Path, kept: int) -> None:
    from discreet.ledger import summary_tables
    from discreet.ledger.sqlite_ledger import SqliteLedgerStore
    from discreet.ledger.state import LedgerState

    state = LedgerState()
    store = SqliteLedgerStore.open(path)
    for entry in store.entries():
        if entry.seq <= kept:
            state.apply(entry)
    store.close()
    rows = summary_tables.all_rows(state)
    with tampering(path) as raw:
        raw.execute("DELETE FROM entries WHERE seq > ?", (kept,))
        raw.execute("DELETE FROM charges WHERE seq > ?", (kept,))
        raw.execute(f"DELETE FROM answers WHERE id NOT IN ({', '.join(repr(id_) for id_ in state.answers)})")
        for table, wanted in (("populations", rows.populations), ("segments", rows.segments)):
            raw.execute(f"DELETE FROM {table}")
            raw.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * 8)})", wanted)


@pytest.mark.parametrize("table", ["charges", "answers", "populations", "segments"])
def test_rows_beside_the_chain_deleted_or_invented(victim: Victim, table: str):
    with tampering(victim.path) as raw:
        rowids = [row[0] for row in raw.execute(f"SELECT rowid FROM {table}")]
    for rowid in rowids:
        victim.restore()
        with tampering(victim.path) as raw:
            raw.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))
        caught(victim.path, LedgerTampered)
    victim.restore()
    names = columns(table)
    other = {"charges": "99, 'r-zzzzzzzzzzzzzzzz'", "answers": "'r-zzzzzzzzzzzzzzzz'", "populations": "'nobody'"}
    invented = other.get(table, "'nobody', 'nothing'")
    with tampering(victim.path) as raw:
        raw.execute(
            f"INSERT INTO {table} SELECT {invented}, {', '.join(names[invented.count(',') + 1 :])} FROM {table} LIMIT 1"
        )
    caught(victim.path, LedgerTampered)


# -- copies --------------------------------------------------------------------------------------


@pytest.fixture
def old(path: Path, state_folder: Path, tmp_path: Path) -> Callable[[int], Any]:
    """A ledger with eight more rows than the copies that were made of it and of its state."""

    def made(more: int) -> Ledger:
        ledger = make(path)
        ask(ledger, laplace("1"))
        ledger.close()
        copy_ledger(path, tmp_path / "old" / "ledger.db")
        copy_folder(state_folder, tmp_path / "old" / "state")
        with Ledger.open(path) as again:
            for _ in range(more):
                ask(again, laplace("0.125"))
        return again

    return made


@pytest.mark.parametrize("more", [1, 2, 8])
def test_an_old_copy_of_the_ledger(old: Callable[[int], Any], path: Path, tmp_path: Path, more: int):
    old(more)
    copy_ledger(tmp_path / "old" / "ledger.db", path)
    assert caught(path, LedgerRolledBack) == 5


def test_an_old_copy_with_its_log_under_a_running_process(path: Path, tmp_path: Path, state_folder: Path):
    """A copy of a database in use has a -wal beside it, and its last rows are in there alone."""
    ledger = make(path)
    ask(ledger, laplace("1"))
    assert path.with_name("ledger.db-wal").stat().st_size > 0
    copy_ledger(path, tmp_path / "old" / "ledger.db")
    ask(ledger, laplace("1"))
    ledger.close()
    copy_ledger(tmp_path / "old" / "ledger.db", path)
    assert caught(path, LedgerRolledBack) == 5


def test_an_old_copy_without_its_log(path: Path, tmp_path: Path, state_folder: Path):
    ledger = make(path)
    ledger._journal.store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    ask(ledger, laplace("1"))
    (tmp_path / "old.db").write_bytes(path.read_bytes())
    ledger.close()
    path.write_bytes((tmp_path / "old.db").read_bytes())
    assert caught(path, LedgerRolledBack) == 4


def test_an_old_copy_and_no_state_folder(old: Callable[[int], Any], path: Path, tmp_path: Path, state_folder: Path):
    old(1)
    copy_ledger(tmp_path / "old" / "ledger.db", path)
    state_folder.rename(tmp_path / "elsewhere")
    assert caught(path, AnchorMissing) is None


@pytest.mark.parametrize("more", [2, 8])
def test_an_old_copy_of_the_state_folder(
    old: Callable[[int], Any], path: Path, tmp_path: Path, state_folder: Path, more: int
):
    old(more)
    copy_folder(tmp_path / "old" / "state", state_folder)
    caught(path, LedgerLocked)


def test_a_state_folder_one_row_behind_is_what_a_crash_leaves(
    old: Callable[[int], Any], path: Path, tmp_path: Path, state_folder: Path
):
    old(1)
    copy_folder(tmp_path / "old" / "state", state_folder)
    with Ledger.open(path) as ledger:
        assert ledger._journal.anchor.read().seq == 5


def test_restoring_the_whole_machine_is_beyond_a_ledger(
    old: Callable[[int], Any], path: Path, tmp_path: Path, state_folder: Path
):
    """SECURITY.md says so: an administrator who restores project and state folder together is not seen."""
    old(8)
    copy_ledger(tmp_path / "old" / "ledger.db", path)
    copy_folder(tmp_path / "old" / "state", state_folder)
    with Ledger.open(path) as ledger:
        assert ledger.account_status("patients").spent.epsilon == 1


def test_a_file_replaced_under_a_running_process(old: Callable[[int], Any], path: Path, tmp_path: Path):
    old(2)
    with Ledger.open(path) as ledger:
        path.unlink()
        copy_ledger(tmp_path / "old" / "ledger.db", path)
        with pytest.raises(LedgerFault, match="replaced"):
            ask(ledger, laplace("0.1"))
        path.unlink()
        with pytest.raises(LedgerFault, match="gone"):
            ask(ledger, laplace("0.1"))


def test_rows_cut_off_under_a_running_process(path: Path, state_folder: Path):
    with make(path) as ledger:
        ask(ledger, laplace("1"))
        cut_tail(path, 3)
        with pytest.raises(LedgerRolledBack, match="entry 4 is gone"):
            ask(ledger, laplace("1"))
    assert caught(path, LedgerRolledBack) == 4


def test_a_row_changed_under_a_running_process(path: Path, state_folder: Path):
    with make(path) as ledger:
        ask(ledger, laplace("1"))
        with tampering(path) as raw:
            raw.execute("UPDATE entries SET digest = ? WHERE seq = 4", ("0" * 64,))
        with pytest.raises(LedgerTampered, match="entry 4"):
            ask(ledger, laplace("1"))


def test_an_answer_changed_under_a_running_process(path: Path, state_folder: Path):
    with make(path) as ledger:
        charge = ask(ledger, laplace("1"))
        ledger.store(charge.id, "1001")
        with tampering(path) as raw:
            raw.execute("UPDATE answers SET payload = '1002'")
        with pytest.raises(LedgerTampered, match="entry 5"):
            ledger.answer(charge.id)


def test_a_forged_row_appended_under_a_running_process(path: Path, state_folder: Path):
    with make(path) as ledger:
        ask(ledger, laplace("3"))
        with tampering(path) as raw:
            raw.execute(
                "INSERT INTO entries SELECT 5, time, 'grant', replace(body, '3/1', '99/1'), digest, digest, mac "
                "FROM entries WHERE seq = 2"
            )
            rechain(raw)
        with pytest.raises(LedgerTampered, match="entry 5"):
            ask(ledger, laplace("1"))


# -- bytes ---------------------------------------------------------------------------------------


def test_random_bytes_of_the_file(victim: Victim):
    """Any byte, anywhere: what still opens says exactly what it said before (the byte was in a free place)."""
    with Ledger.open(victim.path) as ledger:
        entries, totals = list(ledger.entries()), ledger.state.totals()
    good = (victim.safe / "ledger.db").read_bytes()
    chance, seen = random.Random(7), 0
    for _ in range(size(60, 150)):
        victim.restore()
        at = chance.randrange(len(good))
        victim.path.write_bytes(good[:at] + bytes([good[at] ^ (1 << chance.randrange(8))]) + good[at + 1 :])
        try:
            with Ledger.open(victim.path) as ledger:
                assert list(ledger.entries()) == entries
                assert ledger.state.totals() == totals
        except LedgerFault:
            seen += 1
    assert seen > size(4, 10)
