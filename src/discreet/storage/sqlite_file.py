"""A SQLite file: on a local disk, made whole or not at all, opened durably, with settings that are read back.

SqliteUse     what a file is used for: how sentences name it, and which error is raised
make_file     a new file, read by its owner alone
connect       a connection to a file that exists
sqlite_faults the errors of SQLite and of the system, in one sentence each

SQLite's locks and shared memory cannot be trusted over a network: `network_filesystem` says where a path is on one.
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from discreet.errors import DiscreetError

#: Strict tables came with this SQLite.
LEAST_SQLITE = (3, 37, 0)

#: What durability needs, and what SQLite then answers: a pragma that is misspelt or unsupported is ignored in silence.
#: EXTRA: a commit survives a power cut. With a write-ahead log that is FULL; with a rollback journal it also survives
#: one between the commit and the removal of the journal.
SETTINGS: tuple[tuple[str, str, int], ...] = (
    ("synchronous", "EXTRA", 3),
    ("fullfsync", "ON", 1),
    ("foreign_keys", "ON", 1),
    ("trusted_schema", "OFF", 0),
    ("ignore_check_constraints", "OFF", 0),
)

NETWORK_FILESYSTEMS = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "fuse.sshfs",
        "fuse.glusterfs",
    }
)

_MOUNTS = Path("/proc/self/mountinfo")
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteUse:
    """What a file is used for.

    name: how sentences name it. loss: what could happen if a commit were not durable.
    failed, unusable: the sentence where SQLite fails with {code}, or the system with {code}.
    sentences: others, by SQLite's error code. settings: more than durability needs, as in `SETTINGS`.
    """

    name: str
    error: type[DiscreetError]
    loss: str
    failed: str
    unusable: str
    local_hint: str = "keep the project on a local disk"
    journal_mode: Literal["WAL", "DELETE"] = "WAL"
    sentences: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    settings: tuple[tuple[str, str, int], ...] = ()


def make_file(path: Path, use: SqliteUse, *, version: int, schema: Iterable[str]) -> None:
    """Make the file under another name and move it to its place; of two processes the first one's stays.

    SQLite gives its log the same mode.
    """
    refuse_network(path, use)
    if not path.parent.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n")
    new = path.with_name(f"{path.name}.{secrets.token_hex(6)}.new")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(connect(new, use)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("BEGIN")
            for statement in schema:
                connection.execute(statement)
            connection.execute("COMMIT")
        with suppress(FileExistsError):  # another process was first
            os.link(new, path)
        sync_folder(path.parent)
    finally:
        for left in (new, *(new.with_name(new.name + end) for end in ("-wal", "-shm"))):
            left.unlink(missing_ok=True)


def connect(path: Path, use: SqliteUse, *, wait_s: float = 60) -> sqlite3.Connection:
    """A connection to a file that exists. Autocommit: transactions are spelt out.

    wait_s: how long a writer waits for another before it gives up.
    """
    refuse_network(path, use)
    if sqlite3.sqlite_version_info < LEAST_SQLITE:
        raise use.error(f"{use.name} needs SQLite 3.37 or newer, but this is {sqlite3.sqlite_version}")
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",  # never make a file by mistake
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=wait_s,
    )
    try:
        _apply_settings(connection, use)
    except BaseException:
        connection.close()
        raise
    return connection


def _apply_settings(connection: sqlite3.Connection, use: SqliteUse) -> None:
    """Set what durability needs, and read it back."""
    journal = ("journal_mode", use.journal_mode, use.journal_mode.lower())
    for name, value, expected in (journal, *SETTINGS, *use.settings):
        connection.execute(f"PRAGMA {name} = {value}")
        setting_row = connection.execute(f"PRAGMA {name}").fetchone()
        if setting_row is None or setting_row[0] != expected:
            raise use.error(f"SQLite did not accept {name} = {value} here, so {use.loss}")


def refuse_network(path: Path, use: SqliteUse) -> None:
    """Refuse a file on a network filesystem."""
    if kind := network_filesystem(path.parent):
        raise use.error(
            f"{use.name} is on a network filesystem ({kind}), where file locks are not reliable", hint=use.local_hint
        )


@contextmanager
def sqlite_faults(use: SqliteUse) -> Iterator[None]:
    """Turn SQLite's and the system's errors into ours."""
    try:
        yield
    except sqlite3.Error as fault:
        code = getattr(fault, "sqlite_errorcode", 0) & 0xFF
        name = str(getattr(fault, "sqlite_errorname", "") or type(fault).__name__)
        sentence, hint = use.sentences.get(code, (use.failed.format(code=name), ""))
        raise use.error(sentence, hint=hint) from fault
    except OSError as fault:
        raise use.error(use.unusable.format(code=os.strerror(fault.errno or 0).lower())) from fault


def sync_folder(folder: Path) -> None:
    """A new file's name survives a power cut only when its folder is on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@lru_cache(maxsize=64)
def filesystem_type(path: Path, mounts: str) -> str:
    """The type of the filesystem under `path` by a mountinfo text; empty where it does not say.

    >>> filesystem_type(Path("/data/x"), "1 0 0:1 / / rw - ext4 d rw\\n2 1 0:2 / /data rw shared:1 - nfs4 h:/ rw")
    'nfs4'
    """
    depths = {str(folder): len(folder.parts) for folder in (path, *path.parents)}
    best, best_type = -1, ""
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:
            continue
        depth = depths.get(_ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4]), -1)
        if depth >= max(best, 0):
            best, best_type = depth, kind[0]
    return best_type


def network_filesystem(path: Path, mounts: str | None = None) -> str:
    """The kind of the network filesystem under `path`; empty where it is none, or the system does not say."""
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            return ""
    kind = filesystem_type(path.resolve(), mounts)
    return kind if kind in NETWORK_FILESYSTEMS else ""
