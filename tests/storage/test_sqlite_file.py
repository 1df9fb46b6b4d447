"""Every SQLite file of Discreet: its settings are read back, and it lies on a local disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from discreet.console.people.people_store import PeopleStore
from discreet.errors import DiscreetError, LedgerFault, StoreFault
from discreet.ledger import backup
from discreet.ledger.sqlite_ledger import SqliteLedgerStore
from discreet.storage import sqlite_file
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.device.device_store import DEVICE_FILE, open_device_store


def ledger(folder: Path) -> None:
    path = folder / "ledger.db"
    (SqliteLedgerStore.open(path) if path.exists() else SqliteLedgerStore.create(path)).close()


def ledger_copy(folder: Path) -> None:
    if not (folder / "ledger.db").exists():
        ledger(folder)
    (folder / "draft").unlink(missing_ok=True)
    (folder / "draft").touch()
    backup._copy_pages(folder / "ledger.db", folder / "draft")


def surveys(folder: Path) -> None:
    open_survey_store(None, folder, make=True).close()


def device(folder: Path) -> None:
    with open_device_store(folder / "device"):
        pass


def console(folder: Path) -> None:
    PeopleStore(folder / "console.db").close()


#: Whoever has a SQLite file: opens it, and makes it where there is none.
USERS = [
    (ledger, LedgerFault),
    (ledger_copy, LedgerFault),
    (surveys, StoreFault),
    (device, LedgerFault),
    (console, StoreFault),
]
#: A value that is not the one that we need.
WRONG = {
    "journal_mode": "TRUNCATE",
    "synchronous": "NORMAL",
    "fullfsync": "OFF",
    "foreign_keys": "OFF",
    "trusted_schema": "ON",
    "ignore_check_constraints": "ON",
}


def test_every_setting_has_a_wrong_value_here() -> None:
    assert set(WRONG) == {"journal_mode", *(name for name, _, _ in sqlite_file.SETTINGS)}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize(("use", "error"), USERS)
def test_a_setting_that_does_not_take_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    use: Callable[[Path], None],
    error: type[DiscreetError],
    name: str,
) -> None:
    class Deaf(sqlite3.Connection):
        def execute(self, sql: str, *arguments: object) -> sqlite3.Cursor:  # type: ignore[override]
            asked = sql.startswith(f"PRAGMA {name} =")
            return super().execute(f"PRAGMA {name} = {WRONG[name]}" if asked else sql, *arguments)

    use(tmp_path)
    use(tmp_path)  # a file that exists opens again
    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *more, **named: real(*more, **named, factory=Deaf))
    with pytest.raises(error, match=f"SQLite did not accept {name} = "):
        use(tmp_path)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(("use", "error"), USERS)
def test_a_network_filesystem_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    use: Callable[[Path], None],
    error: type[DiscreetError],
    there: bool,
) -> None:
    if there:
        use(tmp_path)
    mounts = tmp_path / "mounts"
    mounts.write_text("27 1 254:0 / / rw - nfs4 server:/ rw\n")
    before = sorted(path.name for path in tmp_path.rglob("*"))
    monkeypatch.setattr(sqlite_file, "_MOUNTS", mounts)
    with pytest.raises(error, match=r"network filesystem \(nfs4\)"):
        use(tmp_path)
    assert there or sorted(path.name for path in tmp_path.rglob("*")) == before, "nothing is made there"


@pytest.mark.parametrize(("use", "error"), USERS)
def test_an_old_sqlite_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], None], error: type[DiscreetError]
) -> None:
    use(tmp_path)
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(error, match=r"needs SQLite 3\.37"):
        use(tmp_path)


def test_no_file_is_made_by_connecting(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        sqlite_file.connect(tmp_path / "nothing.db", DEVICE_FILE)
    assert not (tmp_path / "nothing.db").exists()


def test_a_new_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "store.db"
    with pytest.raises(sqlite3.OperationalError):
        sqlite_file.make_file(path, DEVICE_FILE, version=1, schema=["CREATE TABLE one (x) STRICT", "CREATE nonsense"])
    assert [each.name for each in path.parent.iterdir()] == [".gitignore"]
    sqlite_file.make_file(path, DEVICE_FILE, version=7, schema=["CREATE TABLE one (x ANY) STRICT"])
    with closing(sqlite_file.connect(path, DEVICE_FILE)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("one",)]
    assert path.stat().st_mode & 0o777 == 0o600
