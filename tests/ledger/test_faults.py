"""Where the disk fails, service stops: no answer leaves, and what was charged before is still there."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import LedgerFault
from discreet.ledger.ledger import Ledger
from discreet.ledger.sqlite_ledger import SqliteLedgerStore
from ledger.ledgers import ask, laplace, make


def refuses_everything(ledger: Ledger, stored: str) -> None:
    """After a failure in the middle of a charge, not even a stored answer is given out."""
    for act in (
        lambda: ask(ledger, laplace("0.1")),
        lambda: ledger.answer(stored),
        lambda: ledger.find("patients", 1, "q"),
        lambda: ledger.store(stored, "x"),
        ledger.refresh,
    ):
        with pytest.raises(LedgerFault, match="can no longer be used"):
            act()


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with make(path) as made:
        yield made


@pytest.fixture
def stored(ledger: Ledger) -> str:
    charge = ask(ledger, laplace("1"), question="q")
    ledger.store(charge.id, "1001")
    return charge.id


def raising(fault: BaseException) -> Callable[..., None]:
    def act(*_: object, **__: object) -> None:
        raise fault

    return act


# -- the database --------------------------------------------------------------------------------


def test_a_full_disk(ledger: Ledger, stored: str, path: Path):
    connection = ledger._journal.store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    accepted: list[str] = []
    with pytest.raises(LedgerFault, match="disk is full"):
        accepted.extend(ask(ledger, laplace("0.001")).id for _ in range(200))
    refuses_everything(ledger, stored)
    with Ledger.open(path) as again:
        assert again.account_status("patients").spent.epsilon == 1 + Fraction(len(accepted), 1000)
        assert [*again.state.charges] == [stored, *accepted]
        assert again.answer(stored) == "1001"


def test_a_full_disk_while_an_answer_is_stored(ledger: Ledger, stored: str, path: Path):
    charge = ask(ledger, laplace("0.5"))
    connection = ledger._journal.store._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerFault, match="disk is full"):
        ledger.store(charge.id, "x" * 10**6)
    refuses_everything(ledger, stored)
    with Ledger.open(path) as again:
        assert charge.id in again.state.charges
        assert charge.id not in again.state.answers
        assert again.store(charge.id, "later") == "later"


def test_a_read_only_database(ledger: Ledger, path: Path):
    ledger._journal.store._connection.execute("PRAGMA query_only = ON")
    with pytest.raises(LedgerFault, match="read-only"):
        ask(ledger, laplace("0.1"))
    with Ledger.open(path) as again:
        assert again.account_status("patients").spent.epsilon == 0


@pytest.mark.parametrize("method", ["append", "commit"])
def test_a_failure_in_the_middle_of_a_charge(
    ledger: Ledger, stored: str, path: Path, monkeypatch: pytest.MonkeyPatch, method: str
):
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedgerStore, method, raising(LedgerFault("the disk failed while the ledger was in use")))
        with pytest.raises(LedgerFault, match="disk failed"):
            ask(ledger, laplace("1"))
    refuses_everything(ledger, stored)
    with Ledger.open(path) as again:
        assert again.account_status("patients").spent.epsilon == 1


def test_an_interrupted_charge_stops_service(ledger: Ledger, stored: str, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLedgerStore, "append", raising(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            ask(ledger, laplace("1"))
    refuses_everything(ledger, stored)


def test_a_damaged_database_under_a_running_process(ledger: Ledger, stored: str, monkeypatch: pytest.MonkeyPatch):
    ledger._journal.store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with ledger.path.open("r+b") as file:
        for page in range(1, os.fstat(file.fileno()).st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 4096)
    with pytest.raises(LedgerFault):
        Ledger.open(ledger.path)


# -- the anchor ----------------------------------------------------------------------------------


def test_digests_that_cannot_be_written_stop_service_before_the_charge_is_made(
    ledger: Ledger, stored: str, path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", raising(OSError(28, "No space left on device")))
        with pytest.raises(LedgerFault, match="state folder cannot be written"):
            ask(ledger, laplace("1"))
        refuses_everything(ledger, stored)
    with Ledger.open(path) as again:
        assert again.account_status("patients").spent.epsilon == 1
        ask(again, laplace("1"))
        assert again.verify().sound


def test_a_failed_head_stops_service_and_keeps_the_charge(
    ledger: Ledger, stored: str, path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", raising(OSError(28, "No space left on device")))
        with pytest.raises(LedgerFault, match="state folder cannot be written"):
            ask(ledger, laplace("1"))
        refuses_everything(ledger, stored)
        with pytest.raises(LedgerFault, match="state folder cannot be written"):
            Ledger.open(path)
    with Ledger.open(path) as again:
        assert again.account_status("patients").spent.epsilon == 2


def test_a_state_folder_that_went_away(ledger: Ledger, stored: str, state_folder: Path, path: Path):
    state_folder.rename(state_folder.with_name("away"))
    for act in (lambda: ask(ledger, laplace("1")), lambda: ledger.answer(stored)):
        with pytest.raises(LedgerFault, match="state folder"):
            act()
    state_folder.with_name("away").rename(state_folder)
    ask(ledger, laplace("1"))


def test_a_damaged_head_stops_service(ledger: Ledger, stored: str, state_folder: Path):
    head = next(state_folder.glob("*/head.json"))
    good = head.read_bytes()
    head.write_bytes(good.replace(b'"seq":5', b'"seq":4'))
    for act in (lambda: ask(ledger, laplace("1")), lambda: ledger.answer(stored)):
        with pytest.raises(LedgerFault, match="damaged"):
            act()
    head.write_bytes(good)
    ask(ledger, laplace("1"))


# -- real filesystems ----------------------------------------------------------------------------

SPENDER = """
import sys
from pathlib import Path
from discreet.errors import LedgerFault
from discreet.ledger.ledger import Ledger
from ledger.ledgers import ask, laplace

try:
    ledger = Ledger.open(Path(sys.argv[1]))
    while True:
        charge = ask(ledger, laplace("0.0001"))
        print(charge.id, ledger.store(charge.id, "x" * 2000), flush=True)
except LedgerFault as fault:
    print("fault:", fault.reason, flush=True)
    try:
        print(ask(ledger, laplace("0.0001")).id, flush=True)
    except (LedgerFault, NameError):
        print("stopped", flush=True)
"""


def run_spender(path: Path, limit: int | None = None) -> list[str]:
    """Charge, store and print until a fault; under a limit on file sizes, if one is given."""

    def cap() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    tests = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [sys.executable, "-c", SPENDER, str(path)],
        capture_output=True,
        text=True,
        timeout=50,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tests)},
        preexec_fn=cap if limit is not None else None,
    )
    return done.stdout.splitlines()


def check_printed(lines: list[str], path: Path) -> int:
    """Every answer that left is in the ledger; the fault was told; nothing left after it."""
    *answers, fault, end = lines
    assert fault.startswith("fault:")
    assert end == "stopped"
    with Ledger.open(path) as ledger:
        assert ledger.verify().sound
        for line in answers:
            id_, payload = line.split()
            assert ledger.answer(id_) == payload
    return len(answers)


def test_a_file_that_may_not_grow(path: Path):
    """EFBIG from the system itself, in the middle of the log."""
    make(path).close()
    assert check_printed(run_spender(path, limit=500_000), path) > 5


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """A small filesystem in memory, where we may mount one."""
    point = tmp_path / "mounted"
    point.mkdir()

    def mount(*options: str) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(point)], capture_output=True
        )
        if done.returncode:
            pytest.skip("mounting a filesystem is not allowed here; the tests above stand in for it")
        return point

    yield mount
    subprocess.run(["umount", str(point)], capture_output=True)


def test_a_full_filesystem(mounted: Callable[..., Path], state_folder: Path):
    path = mounted("size=1m") / "ledger.db"
    make(path).close()
    lines = run_spender(path)
    (path.parent / "more-room").unlink(missing_ok=True)
    subprocess.run(["mount", "-o", "remount,size=8m", str(path.parent)], check=True)
    assert check_printed(lines, path) > 5
    assert "full" in lines[-2]


def test_a_full_state_filesystem(mounted: Callable[..., Path], path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = mounted("size=64k")
    monkeypatch.setenv("DISCREET_STATE", str(folder))
    make(path).close()
    (folder / "fill").write_bytes(b"x" * 40_000)
    lines = run_spender(path)
    assert "state folder cannot be written" in lines[-2]
    (folder / "fill").unlink()
    check_printed(lines, path)


def test_a_read_only_filesystem(mounted: Callable[..., Path], state_folder: Path):
    folder = mounted("size=4m")
    path = folder / "ledger.db"
    ledger = make(path)
    charge = ask(ledger, laplace("1"))
    ledger.close()
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    assert run_spender(path)[-1] == "stopped"
    assert len(run_spender(path)) == 2
    subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
    with Ledger.open(path) as again:
        assert list(again.state.charges) == [charge.id]
