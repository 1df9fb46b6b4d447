"""The chain: entries that each hold the digest of the one before, and a MAC that only the key's holder can make.

A digest covers every field and the previous digest, so an edit, a swap, a deletion or an insertion
breaks the chain at its first row. The MAC stops whoever can write the database from computing the
chain anew. Neither sees a cut at the end: that is the anchor's part. Standard library only.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from base64 import b32encode
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args

EntryKind = Literal[
    "open", "population", "grant", "version", "charge", "answer", "failure", "gap", "acknowledge", "adopt", "forget",
    "step", "invariant", "row",
]  # fmt: skip
KINDS: frozenset[str] = frozenset(get_args(EntryKind))

#: Entries that follow a charge when counting has ended, or while it goes on. They have the charge's time: the moment
#: at which one is written would tell how long counting took.
FOLLOWS_CHARGE: frozenset[EntryKind] = frozenset({"answer", "failure", "step"})

#: What the first entry names as the digest before it.
GENESIS = "0" * 64

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
#: When the making of a version began, in seconds, as its file's name says: see `version.new_name`.
_FILE_START_TIME = re.compile(r"-([0-9a-f]{8})[0-9a-f]{16}(?:\.[a-z]+)?", re.ASCII)
DAY_S = 86_400
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One row of the ledger. Made by `make_entry`, or read from a store and then checked."""

    seq: int
    time: str
    kind: str
    body: str
    previous: str
    digest: str
    mac: str

    def data(self) -> dict[str, Any]:
        """The body as data."""
        body_data = json.loads(self.body)
        if not isinstance(body_data, dict):
            raise ValueError("the body of an entry must be an object")
        return body_data


def new_id() -> str:
    """Sixteen random letters and digits: 80 bits."""
    return b32encode(secrets.token_bytes(10)).decode("ascii").lower()


def canonical_json(data: object) -> str:
    """Data as JSON text: ASCII, sorted keys, no spaces, no NaN, so equal data is equal text.

    >>> canonical_json({"b": 1, "a": "é"})
    '{"a":"\\\\u00e9","b":1}'
    """
    return _ENCODER.encode(data)


def digest(*, seq: int, time: str, kind: str, body: str, previous: str) -> str:
    """SHA-256 over all of it. Each part is preceded by its length, so no two entries give the same bytes."""
    parts = (str(seq), time, kind, body, previous)
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def mac(key: bytes, digest: str) -> str:
    """HMAC-SHA-256 of a digest, marked as an entry's so that it can never pass for an anchor's."""
    return hmac.digest(key, b"entry " + digest.encode("utf-8", "surrogateescape"), "sha256").hex()


def truncate_to_second(time: str) -> str:
    """A time without what is finer than a second: the difference of two would tell how long counting took.

    >>> truncate_to_second("2026-01-31T10:20:30.987654Z")
    '2026-01-31T10:20:30.000000Z'
    """
    return f"{time[:19]}.000000Z"


def file_name_reveals_second(file: str) -> bool:
    """Whether a version's file is named by the second at which its making began, as earlier versions named them.

    >>> file_name_reveals_second("visits-abcdefghijklmnop-6a0c1d2f00112233445566aa.parquet")
    True
    >>> file_name_reveals_second("visits-abcdefghijklmnop-6a0a568000112233445566aa.parquet")
    False
    """
    start_match = _FILE_START_TIME.search(file)
    return start_match is not None and int(start_match[1], 16) % DAY_S != 0


def make_entry(
    *, seq: int, kind: EntryKind, body: dict[str, Any], previous: str, key: bytes, time: str | None = None
) -> LedgerEntry:
    """A new entry after the one whose digest is `previous`, at this time, else now. Kept to the second."""
    time = truncate_to_second(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if time is None else time)
    text = canonical_json(body)
    entry_digest = digest(seq=seq, time=time, kind=kind, body=text, previous=previous)
    return LedgerEntry(
        seq=seq, time=time, kind=kind, body=text, previous=previous, digest=entry_digest, mac=mac(key, entry_digest)
    )


def find_problem(entry: LedgerEntry, *, seq: int, previous: str, key: bytes | None) -> str:
    """What is wrong with an entry that should be number `seq` after `previous`; empty when nothing is.

    Without a key the MAC goes unchecked: an adopted ledger's old rows, whose key is lost.
    """
    if entry.seq != seq:
        return f"entry {seq} is missing" if entry.seq > seq else f"entry {entry.seq} is in the place of entry {seq}"
    if entry.previous != previous:
        return f"entry {seq} does not follow the entry before it"
    expected_digest = digest(seq=seq, time=entry.time, kind=entry.kind, body=entry.body, previous=previous)
    if expected_digest != entry.digest:
        return f"entry {seq} was changed after it was written"
    if key is not None and not hmac.compare_digest(
        mac(key, expected_digest).encode(), entry.mac.encode("utf-8", "replace")
    ):
        return f"entry {seq} was not written by this ledger"
    if entry.kind not in KINDS or not _TIME.fullmatch(entry.time):
        return f"entry {seq} is of a kind that this version of Discreet does not know"
    return ""
