"""The checkpoint: what the chain says up to one of its entries, signed, so that opening reads only what came after.

    <state folder>/<ledger id>/checkpoint    a header and its MAC, the state as JSON, and the indexes

Guarantee: a state that is taken from a checkpoint is the fold of the entries whose digests the anchor holds, up to the
    one that the header names; each of them was verified by whoever wrote it.
Because: it is written only after the chain up to that entry, or an earlier checkpoint and all that follows it, was
    verified; a long chain that is read for the first time leaves some on its way (`chain_reader.CheckpointKeeper`). The
    MAC needs the ledger's key and covers the entry's number and digest, and the SHA-256 of the anchor's digests and of
    everything in the file. A digest in the chain covers all entries before it.

What it does not show: that the rows of those entries still stand in the database. They decide nothing any more;
whichever is read is compared with its digest, an answer with its own. `ledger verify` reads all of them, and makes the
checkpoint's bytes anew to compare. A checkpoint that does not fit, or that another version wrote, is left aside: the
ledger is then read whole. It holds what the chain does: no data, no answers, of persons who were forgotten their tags.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from discreet.ledger.anchor import Anchor
from discreet.ledger.chain import canonical_json, find_problem, new_id
from discreet.ledger.digest_list import DIGEST_BYTES, DigestList
from discreet.ledger.entry_index import EntryIndex, EntrySource
from discreet.ledger.plain_data import from_plain, to_plain
from discreet.ledger.state import LedgerState
from discreet.ledger.state_index import INDEXED, index_entries, maps_of, use_indexes
from discreet.storage.program_version import VERSION

#: Another one is written when so many entries came after the last one.
ROWS = 20_000
#: Raised whenever a fold, or these bytes, change their meaning.
FORMAT = 2

_APART = {"digests", "refinements", "stored", *INDEXED}
_REFINEMENTS = ("refined_by", "waiting", "erasing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint whose MAC is right: the entry at which it was made, and what was folded until then."""

    seq: int
    digest: str
    since: int
    content: bytes
    sizes: tuple[int, ...]
    digests: bytes


def write_checkpoint(anchor: Anchor, state: LedgerState, source: EntrySource, *, since: int) -> None:
    """Write one for a state in which nothing was decided yet. What fails leaves none, and the ledger as it is."""
    with suppress(OSError, TypeError):
        content, sizes = content_of(state, source)
        header = canonical_json(
            {
                "content": hashlib.sha256(content).hexdigest(),
                "digest": state.digest,
                "digests": hashlib.sha256(state.digests.packed).hexdigest(),
                "format": FORMAT,
                "ledger": state.ledger,
                "program": VERSION,
                "seq": state.seq,
                "since": since,
                "sizes": sizes,
            }
        )
        draft = anchor.folder / f"checkpoint.{new_id()}.new"
        try:
            with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(f"{header}\n{_mac(anchor, header)}\n".encode("ascii"))
                file.write(content)
            draft.replace(anchor.folder / "checkpoint")
        finally:
            draft.unlink(missing_ok=True)


def content_of(state: LedgerState, source: EntrySource) -> tuple[bytes, list[int]]:
    """A state as bytes, and how long its parts are: the same for every way to fold the same entries."""
    index_entries(state, source)
    kept = {each.name: getattr(state, each.name) for each in fields(state) if each.name not in _APART}
    kept["refinements"] = [getattr(state.refinements, name) for name in _REFINEMENTS]
    maps: dict[str, Any] = maps_of(state)
    text = json.dumps(to_plain(kept), separators=(",", ":"), allow_nan=False)
    parts = [text.encode("ascii"), *(maps[name].index.records for name in INDEXED)]
    return b"".join(parts), [len(part) for part in parts]


def read_checkpoint(anchor: Anchor, ledger: str) -> Checkpoint | None:
    """The checkpoint of a ledger; None where there is none that this version wrote with this key."""
    try:
        with (anchor.folder / "checkpoint").open("rb") as file:
            header, mac = (file.readline(2000).rstrip(b"\n").decode("ascii") for _ in range(2))
            if not hmac.compare_digest(_mac(anchor, header), mac):
                return None
            data, content = json.loads(header), file.read()
        digests = _anchored_digests(anchor.folder / "digests", data["seq"])
    except (OSError, ValueError):
        return None
    same = (data["format"], data["program"], data["ledger"]) == (FORMAT, VERSION, ledger)
    whole = hashlib.sha256(content).hexdigest(), hashlib.sha256(digests).hexdigest()
    if not same or whole != (data["content"], data["digests"]):
        return None
    return Checkpoint(
        seq=data["seq"],
        digest=data["digest"],
        since=data["since"],
        content=content,
        sizes=tuple(data["sizes"]),
        digests=digests,
    )


def state_at(checkpoint: Checkpoint, source: EntrySource, *, key: bytes, since: int) -> LedgerState | None:
    """The state at a checkpoint; None where the chain is another one there."""
    state = LedgerState(digests=DigestList(checkpoint.digests))
    entry = next(iter(source.span(checkpoint.seq, checkpoint.seq)), None)
    if entry is None or checkpoint.since != since or entry.digest != checkpoint.digest:
        return None
    previous = state.digests[-2] if state.seq > 1 else entry.previous
    signed = key if checkpoint.seq >= since else None
    if state.digest != entry.digest or find_problem(entry, seq=checkpoint.seq, previous=previous, key=signed):
        return None
    parts, start = [], 0
    for size in checkpoint.sizes:
        parts.append(checkpoint.content[start : start + size])
        start += size
    kept = from_plain(json.loads(parts[0]))
    for name, each in zip(_REFINEMENTS, kept.pop("refinements"), strict=True):
        setattr(state.refinements, name, each)
    for name, each in kept.items():
        setattr(state, name, each)
    use_indexes(state, dict(zip(INDEXED, map(EntryIndex, parts[1:]), strict=True)), source)
    return state


def _anchored_digests(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count * DIGEST_BYTES)


def _mac(anchor: Anchor, header: str) -> str:
    return hmac.digest(anchor.key, b"checkpoint " + header.encode("ascii"), "sha256").hex()
