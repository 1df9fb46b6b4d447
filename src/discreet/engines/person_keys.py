"""The two keys of a project by which persons get their tags and their rows are picked. They lie with the tables.

Whoever can read the tables can read the keys, and has no need of them; an analyst can read neither.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from discreet.engines.ownership import KEY_BYTES
from discreet.errors import LedgerFault, ProjectError

NAME = "persons.key"

_BRING = f"restore it to .discreet/tables/{NAME}, from a backup or from a machine that shares the ledger"

#: Under which a version of a table of persons says which keys it was made with.
MARK = "persons"


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonKeys:
    """`rows` picks a person's rows, `tags` marks a person."""

    rows: bytes = field(repr=False)
    tags: bytes = field(repr=False)

    @property
    def mark(self) -> str:
        """By which the ledger knows that a tombstone was written with these keys."""
        return hashlib.sha256(b"mark " + self.tags).hexdigest()[:16]

    @staticmethod
    def at(folder: Path, *, earlier_marks: Collection[str] = ()) -> PersonKeys:
        """The keys of the tables in `folder`, made when they are first needed, for their owner only.

        `earlier_marks`: the marks of keys that were used before. Another one is refused, and none is made beside them.
        """
        file = folder / NAME
        if not file.exists():
            if earlier_marks:
                raise LedgerFault(f"{NAME}, which identified people in earlier versions, is missing", hint=_BRING)
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = folder / f".{NAME}.{secrets.token_hex(8)}"
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_hex(2 * KEY_BYTES))
                stream.flush()
                os.fsync(stream.fileno())
            with suppress(FileExistsError):  # another process was first
                os.link(temporary, file)
            temporary.unlink()
        try:
            raw_keys = bytes.fromhex(file.read_text())
        except (OSError, ValueError):
            raw_keys = b""
        if len(raw_keys) != 2 * KEY_BYTES:
            raise ProjectError(f"{NAME}, next to the declared tables, cannot be read", hint="restore it from a backup")
        keys = PersonKeys(rows=raw_keys[:KEY_BYTES], tags=raw_keys[KEY_BYTES:])
        if set(earlier_marks) - {keys.mark}:
            raise LedgerFault(f"{NAME} is not the one that identified people in earlier versions", hint=_BRING)
        return keys
