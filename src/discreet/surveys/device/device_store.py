"""What a device keeps on disk: its key, the reports that it has made, and what they have cost.

A report is on disk before anybody sees it. The key is final (has its name) only when the store has committed the
proof that it is that key's: so a key beside a store without a proof is one whose reports were lost, and a fault.
"""

from __future__ import annotations

import hmac
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from discreet.errors import LedgerFault
from discreet.storage.sqlite_file import SqliteUse, connect, refuse_network, sqlite_faults, sync_folder

KEY_BYTES = 32
#: How long one process waits for another that is answering.
WAIT_S = 60

DEVICE_FILE = SqliteUse(
    name="this device's store",
    error=LedgerFault,
    loss="reports could be lost",
    failed="this device's store cannot be used ({code})",
    unusable="this device's folder cannot be used ({code})",
    local_hint="keep this device's folder on a local disk",
    journal_mode="DELETE",  # opened for each report and closed again: no log stays beside it
)

_KEY, _STORE = "device.key", "device.sqlite"

SCHEMA = (
    """CREATE TABLE IF NOT EXISTS owner (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        proof BLOB NOT NULL
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS donations (
        place BLOB PRIMARY KEY CHECK (length(place) = 32),
        report BLOB NOT NULL,
        epsilon TEXT NOT NULL,
        time REAL NOT NULL
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS permanents (
        place BLOB PRIMARY KEY CHECK (length(place) = 32),
        kept BLOB NOT NULL,
        epsilon TEXT NOT NULL
    ) STRICT""",
    # Donations to surveys with periods: which stored report each place of a period sends, and whether it arrived.
    """CREATE TABLE IF NOT EXISTS period_donations (
        place BLOB PRIMARY KEY CHECK (length(place) = 32),
        answer BLOB NOT NULL CHECK (length(answer) = 32),
        report BLOB NOT NULL CHECK (length(report) = 32),
        sent INTEGER NOT NULL DEFAULT 0 CHECK (sent IN (0, 1))
    ) STRICT""",
    # Those that left this device and were not acknowledged.
    """CREATE TABLE IF NOT EXISTS period_pending (
        place BLOB PRIMARY KEY CHECK (length(place) = 32)
    ) STRICT""",
    # The terms of such a survey, as they were when this device first donated: what was shown holds.
    """CREATE TABLE IF NOT EXISTS period_terms (
        place BLOB PRIMARY KEY CHECK (length(place) = 32),
        terms BLOB NOT NULL CHECK (length(terms) = 32)
    ) STRICT""",
)


@contextmanager
def open_device_store(folder: Path) -> Iterator[tuple[sqlite3.Connection, bytes]]:
    """The store, inside a transaction that no other process can share, and the key."""
    with sqlite_faults(DEVICE_FILE):
        refuse_network(folder / _STORE, DEVICE_FILE)
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_folder(folder.parent)
        if (folder / _KEY).exists() and not (folder / _STORE).exists():
            raise _reports_lost()
        # Readable by its owner only; SQLite gives its journal the same mode.
        os.close(os.open(folder / _STORE, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(connect_durably(folder / _STORE)) as store:
            key = _load_or_make_key(store, folder / _KEY)
            store.execute("BEGIN IMMEDIATE")
            yield store, key


def connect_durably(path: Path) -> sqlite3.Connection:
    """A connection whose commits survive a power cut."""
    return connect(path, DEVICE_FILE, wait_s=WAIT_S)


def _load_or_make_key(store: sqlite3.Connection, path: Path) -> bytes:
    """The key of this store; made once, under the store's lock. A store is never used with another key.

    Killed anywhere in between: without a proof in the store the key that was put aside is nobody's, and is made
    again; with one it is this store's, and gets its name now.
    """
    aside = path.with_suffix(".new")
    store.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        store.execute(statement)
    proof = store.execute("SELECT proof FROM owner").fetchone()
    if proof is None:
        if path.exists():
            raise _reports_lost()
        proof = (keyed_hash(_write_new_key(aside), "owner"),)
        store.execute("INSERT INTO owner VALUES (1, ?)", proof)
    store.execute("COMMIT")
    if not path.exists() and aside.exists() and hmac.compare_digest(proof[0], keyed_hash(_read_key(aside), "owner")):
        with suppress(FileNotFoundError):  # another process was quicker
            aside.rename(path)
        sync_folder(path.parent)
    key = _read_key(path)
    if not hmac.compare_digest(proof[0], keyed_hash(key, "owner")):
        raise LedgerFault("this device's key does not match its stored reports", hint="restore device.key")
    return key


def _write_new_key(aside: Path) -> bytes:
    """A new key, on disk under a name that is not final."""
    with suppress(FileNotFoundError):
        aside.unlink()  # of a process that died here; we hold the lock
    key = os.urandom(KEY_BYTES)
    descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, key)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_folder(aside.parent)
    return key


def _read_key(path: Path) -> bytes:
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        raise LedgerFault(
            "this device's key is missing", hint="restore device.key; a new key would draw new noise for old answers"
        ) from None
    if len(key) != KEY_BYTES:
        raise LedgerFault("this device's key is damaged", hint="restore device.key")
    return key


def _reports_lost() -> LedgerFault:
    return LedgerFault(
        "this device's key exists, but its stored reports are missing",
        hint="restore device.sqlite; without it, the same answers would get new noise",
    )


def keyed_hash(key: bytes, *parts: str) -> bytes:
    """A keyed hash. Each part is led by its length, so that no two lists of parts read alike."""
    written = [part.encode("utf-8", "surrogatepass") for part in parts]
    text = b"".join(len(part).to_bytes(8, "big") + part for part in written)
    return hmac.digest(key, b"discreet device 1" + text, "sha256")
