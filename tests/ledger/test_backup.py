"""Backups while others write, and restores that never give budget back."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crash.harness import IMPORTS
from discreet.errors import BudgetExceeded, LedgerFault, LedgerRolledBack, LedgerTampered, UsageError
from discreet.ledger import backup as backups
from discreet.ledger import repair
from discreet.ledger.anchor import Anchor
from discreet.ledger.backup import backup, restore
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress
from ledger.ledgers import ask, copy_folder, gaussian, guarantee, laplace, make, people
from tiers import examples, size

WRITER = """
import sys, os
from discreet.ledger.ledger import Ledger
from discreet.errors import BudgetExceeded
from ledger.ledgers import ask, laplace
from pathlib import Path
with Ledger.open(Path(sys.argv[1])) as ledger:
    print("ready", flush=True)
    while True:
        charge = ask(ledger, laplace("0.001"), price="0.001", question=str(os.getpid()))
        ledger.store(charge.id, "answer to " + charge.id)
"""


def remaining(path, population="patients"):
    with Ledger.open(path) as ledger:
        return ledger.account_status(population).remaining.epsilon


def lose(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def test_a_backup_holds_everything_and_belongs_to_its_owner(path: Path, tmp_path: Path):
    with make(path) as ledger:
        charge = ask(ledger, laplace("1"))
        ledger.store(charge.id, "206")
        rows = backup(path, tmp_path / "copy.db")
        assert rows == ledger.state.seq
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    lose(path)
    done = restore(path, tmp_path / "copy.db")
    assert done.rows == rows and done.repaired.charged == ()
    with Ledger.open(path) as ledger:
        assert ledger.answer(charge.id) == "206"
        assert ledger.account_status("patients").spent.epsilon == 1
        assert ledger.verify().sound
    assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith(".")) == []


def test_what_was_spent_after_the_backup_stays_spent(path: Path, tmp_path: Path):
    with make(path) as ledger:
        charge = ask(ledger, laplace("1"))
        ledger.store(charge.id, "206")
    backup(path, tmp_path / "copy.db")
    with Ledger.open(path) as ledger:
        ask(ledger, laplace("1.5"))
    path.write_bytes(b"the disk was here")
    done = restore(path, tmp_path / "copy.db")
    assert done.repaired.charged == ("patients",)
    assert done.set_aside is not None and done.set_aside.read_bytes() == b"the disk was here"
    with Ledger.open(path) as ledger:
        assert ledger.account_status("patients").remaining.epsilon == Fraction("0.5")
        assert ledger.answer(charge.id) == "206"
        with pytest.raises(BudgetExceeded):
            ask(ledger, laplace("0.6"))


def test_a_restore_that_forgets_to_charge_would_be_caught(path: Path, tmp_path: Path, monkeypatch):
    """A mutant: the gap is not charged. Then the ledger does not open at all."""
    with make(path) as ledger:
        ask(ledger, laplace("1"))
    backup(path, tmp_path / "copy.db")
    with Ledger.open(path) as ledger:
        ask(ledger, laplace("1.5"))
    lose(path)
    monkeypatch.setattr(repair, "acknowledge", lambda path: repair.RepairOutcome())
    restore(path, tmp_path / "copy.db")
    with pytest.raises(LedgerRolledBack):
        Ledger.open(path)


def test_a_lost_state_folder_spends_everything_and_only_if_that_is_said(path: Path, tmp_path: Path, state_folder: Path):
    with make(path) as ledger:
        charge = ask(ledger, laplace("1"))
        ledger.store(charge.id, "206")
    backup(path, tmp_path / "copy.db")
    copy_folder(state_folder, tmp_path / "kept")
    shutil.rmtree(state_folder)
    lose(path)
    with pytest.raises(UsageError, match="it is unknown what was spent"):
        restore(path, tmp_path / "copy.db")
    assert not path.exists()
    assert restore(path, tmp_path / "copy.db", lost=True).repaired.lost == ("patients",)
    with pytest.raises(UsageError, match="has the ledger's state folder"):
        restore(path, tmp_path / "copy.db", lost=True)
    with Ledger.open(path) as ledger:
        assert ledger.account_status("patients").remaining.epsilon == 0
        assert ledger.answer(charge.id) == "206"


def test_a_state_folder_that_was_kept_charges_the_gap(path: Path, tmp_path: Path, state_folder: Path):
    make(path).close()
    backup(path, tmp_path / "copy.db")
    with Ledger.open(path) as ledger:
        ask(ledger, laplace("2"))
    copy_folder(state_folder, tmp_path / "kept")
    shutil.rmtree(state_folder)
    lose(path)
    done = restore(path, tmp_path / "copy.db", state_folder=tmp_path / "kept")
    assert done.repaired.charged == ("patients",)
    assert remaining(path) == 1


def test_a_good_ledger_is_not_written_over(path: Path, tmp_path: Path):
    with make(path) as ledger:
        ask(ledger, laplace("1"))
    backup(path, tmp_path / "copy.db")
    with pytest.raises(UsageError, match="nothing to restore"):
        restore(path, tmp_path / "copy.db")
    with Ledger.open(path) as ledger:
        ask(ledger, laplace("1"))
        rows = ledger.state.seq
    with pytest.raises(UsageError, match=f"intact and has {rows} entries"):
        restore(path, tmp_path / "copy.db")
    assert remaining(path) == 1


def test_a_ledger_that_waits_and_is_newer_than_the_backup_is_kept(path: Path, tmp_path: Path):
    with make(path) as ledger:
        backup(path, tmp_path / "old.db")
        ask(ledger, laplace("1"))
        backup(path, tmp_path / "middle.db")
        ask(ledger, laplace("1"))
    lose(path)
    shutil.copyfile(tmp_path / "middle.db", path)
    with pytest.raises(UsageError, match="acknowledge"):
        restore(path, tmp_path / "old.db")
    restore(path, tmp_path / "middle.db")  # what is there is the backup: it goes on where somebody left off
    assert remaining(path) == 1


def test_another_ledger_is_not_written_over(path: Path, tmp_path: Path):
    make(path).close()
    backup(path, tmp_path / "copy.db")
    other = tmp_path / "other" / "ledger.db"
    make(other).close()
    with pytest.raises(UsageError, match="another, intact ledger"):
        restore(other, tmp_path / "copy.db")


def test_a_backup_is_never_written_over_and_nothing_is_left_of_one_that_failed(path: Path, tmp_path: Path, monkeypatch):
    make(path).close()
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(UsageError, match="never overwritten"):
        backup(path, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"
    monkeypatch.setattr(backups, "_copy_pages", lambda path, draft: draft.write_bytes(b"half"))
    with pytest.raises(LedgerFault):
        backup(path, tmp_path / "new.db")
    assert [each.name for each in tmp_path.iterdir() if "new.db" in each.name] == []


def test_a_backup_of_a_rolled_back_ledger_is_refused(path: Path, tmp_path: Path):
    with make(path) as ledger:
        backup(path, tmp_path / "old.db")
        ask(ledger, laplace("1"))
    lose(path)
    shutil.copyfile(tmp_path / "old.db", path)
    with pytest.raises(LedgerRolledBack, match="older than its anchor"):
        backup(path, tmp_path / "new.db")
    repair.acknowledge(path)
    assert backup(path, tmp_path / "new.db") > 0


@pytest.mark.parametrize("statement", ["UPDATE entries SET body = replace(body, '1/1', '1/9') WHERE kind = 'charge'",
                                       "UPDATE answers SET payload = '207'"])  # fmt: skip
def test_a_backup_that_was_changed_is_refused(path: Path, tmp_path: Path, statement: str):
    with make(path) as ledger:
        charge = ask(ledger, laplace("1"))
        ledger.store(charge.id, "206")
    backup(path, tmp_path / "copy.db")
    raw = sqlite3.connect(tmp_path / "copy.db", isolation_level=None)
    triggers = [row[0] for row in raw.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
    for name in [row[0] for row in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]:
        raw.execute(f"DROP TRIGGER {name}")
    assert raw.execute(statement).rowcount == 1
    for trigger in triggers:
        raw.execute(trigger)
    raw.close()
    before = path.read_bytes()
    lose(path)
    with pytest.raises(LedgerTampered):
        restore(path, tmp_path / "copy.db")
    assert not path.exists() and before


def test_no_backup(path: Path, tmp_path: Path):
    make(path).close()
    with pytest.raises(UsageError, match="no backup"):
        restore(path, tmp_path / "nothing.db")
    (tmp_path / "text").write_text("hello, I am no database at all; " * 40)
    with pytest.raises(LedgerFault):
        restore(path, tmp_path / "text")
    assert remaining(path) == 3


def test_whoever_has_the_old_file_open_answers_nothing_more(path: Path, tmp_path: Path):
    ledger = make(path)
    backup(path, tmp_path / "copy.db")
    ask(ledger, laplace("1"))
    path.unlink()
    path.write_bytes(b"broken")
    restore(path, tmp_path / "copy.db")
    with pytest.raises(LedgerFault, match="replaced"):
        ask(ledger, laplace("1"))
    assert remaining(path) == 2


@pytest.mark.parametrize("point", ["_set_aside", "_sync", "_fsync_path"])
def test_a_restore_that_dies_half_way_goes_on(path: Path, tmp_path: Path, monkeypatch, point: str):
    with make(path) as ledger:
        ask(ledger, laplace("1"))
    backup(path, tmp_path / "copy.db")
    with Ledger.open(path) as ledger:
        ask(ledger, laplace("1.5"))
    path.write_bytes(b"broken")
    act = getattr(backups, point)

    def dying(*arguments):
        act(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(backups, point, dying)
        with pytest.raises(KeyboardInterrupt):
            restore(path, tmp_path / "copy.db")
    if path.exists():
        with pytest.raises(LedgerFault):
            Ledger.open(path)
    restore(path, tmp_path / "copy.db")
    assert remaining(path) == Fraction("0.5")


def test_backups_under_four_writers_that_are_killed(path: Path, tmp_path: Path):
    make(path, guarantee(1000)).close()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": IMPORTS},
        )
        for _ in range(size(2, 4))
    ]
    try:
        for writer in writers:
            assert writer.stdout.readline() == b"ready\n"
        counts = [backup(path, tmp_path / "0.db")]
        while len(counts) < 6 or (counts[-1] == counts[0] and len(counts) < 200):
            time.sleep(0.05)
            counts.append(backup(path, tmp_path / f"{len(counts)}.db"))
            if len(counts) == 4:
                writers[0].send_signal(signal.SIGKILL)
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
            writer.stdout.close()
    assert counts == sorted(counts) and counts[-1] > counts[0]  # they went on meanwhile
    left = remaining(path)
    lose(path)
    assert restore(path, tmp_path / "0.db").repaired.charged == ("patients",)
    assert remaining(path) <= left
    with Ledger.open(path) as ledger:
        for id_ in ledger.state.answers:
            assert ledger.answer(id_) == f"answer to {id_}"
        assert ledger.state.seq == counts[0] + 1


BACKER = """
import sys, itertools
from pathlib import Path
from discreet.ledger.backup import backup
print("ready", flush=True)
for number in itertools.count():
    backup(Path(sys.argv[1]), Path(sys.argv[2]) / f"{number}.db")
"""


def test_a_backup_that_is_killed_is_whole_or_not_there(path: Path, tmp_path: Path):
    with make(path) as ledger:
        ledger.store(ask(ledger, laplace("1")).id, "206" * 100_000)
    for life in range(size(2, 3)):
        folder = tmp_path / f"life{life}"
        folder.mkdir()
        arguments = [sys.executable, "-c", BACKER, str(path), str(folder)]
        backer = subprocess.Popen(arguments, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": IMPORTS})
        assert backer.stdout.readline() == b"ready\n"
        time.sleep(0.1 + 0.07 * life)
        backer.kill()
        backer.wait()
        backer.stdout.close()
        with Ledger.open(path) as ledger:
            for whole in folder.glob("[0-9]*.db"):
                assert backups._load_verified(whole, Anchor.find(ledger.state.ledger)).digests == ledger.state.digests


ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("laplace"), st.integers(1, 30), st.integers(0, 3)),
        st.tuples(st.just("gaussian"), st.integers(1, 30), st.integers(0, 3)),
        st.tuples(st.just("grant"), st.integers(1, 3), st.just(0)),
        st.tuples(st.just("version"), st.just(0), st.just(0)),
    ),
    min_size=1,
    max_size=6,
)


def act(ledger: Ledger, kind: str, size: int, group: int) -> None:
    region = people(group) if group else people(0, 1, 2, 3)
    version = ledger.next_version("patients") - 1
    try:
        if kind == "laplace":
            charge = ask(ledger, laplace(Fraction(size, 10)), region=region, version=version)
            ledger.store(charge.id, f"answer to {charge.id}")
        elif kind == "gaussian":
            charge = ask(ledger, gaussian(Fraction(size, 400)), region=region, version=version)
            ledger.store(charge.id, f"answer to {charge.id}")
        elif kind == "grant":
            old = ledger.state.accounts["patients"].guarantee.epsilon
            ledger.grant("patients", guarantee(old + size, Fraction(1, 10**6)))
        else:
            ledger.add_version("patients", population="patients", schema={"a": 1}, source={"file": "x.csv"})
    except BudgetExceeded:
        pass


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(acts=ACTS, data=st.data())
def test_no_restore_of_any_moment_raises_what_remains(acts, data, tmp_path_factory, monkeypatch):
    """Random histories; a backup after every act; any of them is restored, and then perhaps another older one."""
    folder = tmp_path_factory.mktemp("history")
    monkeypatch.setenv("DISCREET_STATE", str(folder / "state"))
    path = folder / "ledger.db"
    stored = {0: {}}
    with make(path, guarantee(4, Fraction(1, 10**6))) as ledger:
        backup(path, folder / "0.db")
        for number, (kind, size, group) in enumerate(acts, start=1):
            act(ledger, kind, size, group)
            backup(path, folder / f"{number}.db")
            stored[number] = {id_: ledger.answer(id_) for id_ in ledger.state.answers}
    for _ in range(data.draw(st.integers(1, 2))):
        before = remaining(path)
        moment = data.draw(st.integers(0, len(acts)))
        path.write_bytes(b"lost")
        restore(path, folder / f"{moment}.db")
        assert remaining(path) <= before
        with Ledger.open(path) as ledger:
            assert {id_: ledger.answer(id_) for id_ in stored[moment]} == stored[moment]
            assert ledger.verify().sound


def test_a_ledger_in_postgres_is_backed_up_into_the_same_form_and_restored(address: DatabaseAddress, tmp_path: Path):
    import psycopg

    with make(address) as ledger:
        charge = ask(ledger, laplace("1"))
        ledger.store(charge.id, "206")
        rows = backup(address, tmp_path / "copy.db")
        assert rows == ledger.state.seq
        ask(ledger, laplace("1.5"))
        with pytest.raises(UsageError, match="there is already a ledger"):
            restore(address, tmp_path / "copy.db")
    with psycopg.connect(address.url, autocommit=True) as raw:
        schema = raw.execute("SELECT current_schema()").fetchone()[0]
        raw.execute(f"DROP SCHEMA {schema} CASCADE")
        raw.execute(f"CREATE SCHEMA {schema}")
    done = restore(address, tmp_path / "copy.db")
    assert (done.rows, done.repaired.charged) == (rows, ("patients",))
    with Ledger.open(address) as ledger:
        assert ledger.answer(charge.id) == "206"
        assert ledger.account_status("patients").remaining.epsilon == Fraction("0.5")


def test_a_backup_from_postgres_can_be_read_as_a_file(address: DatabaseAddress, tmp_path: Path, state_folder: Path):
    with make(address) as ledger:
        ask(ledger, laplace("1"))
    backup(address, tmp_path / "copy.db")
    anchor = Anchor.find(next(each.name for each in state_folder.iterdir()))
    assert backups._load_verified(tmp_path / "copy.db", anchor).seq == 4
