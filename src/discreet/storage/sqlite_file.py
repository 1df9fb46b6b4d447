"""A new SQLite file: whole or not at all, and read by its owner alone. Standard library only."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path


def make_sqlite_file(path: Path, *, version: int, schema: Iterable[str]) -> None:
    """Make the file under another name and move it to its place; of two processes the first one's stays.

    SQLite gives its log the same mode.
    """
    if not path.parent.exists():
        path.parent.mkdir(mode=0o700, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n")
    new = path.with_name(f"{path.name}.{secrets.token_hex(6)}.new")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(sqlite3.connect(new, isolation_level=None)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
            for statement in schema:
                connection.execute(statement)
            connection.execute("PRAGMA journal_mode = WAL")
        with suppress(FileExistsError):  # another process was first
            os.link(new, path)
        sync_folder(path.parent)
    finally:
        for left in (new, *(new.with_name(new.name + end) for end in ("-wal", "-shm"))):
            left.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """A new file's name survives a power cut only when its folder is on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
