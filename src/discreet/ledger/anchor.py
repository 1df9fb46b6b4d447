"""The anchor: the ledger's key and the head of its chain, kept outside the project folder.

A chain cannot see that its end was cut off or that an old copy of it was put back. The anchor can: it
holds the number and digest of the last entry and what every segment had spent by then. It is written
under the lock that covers the commit: the digests of new entries before the commit, the head after it. So a crash
leaves the head one commit behind at most, and the digests say which entries that commit had.

    <state folder>/<ledger id>/key        32 random bytes
                               head.json  the head and its MAC
                               digests    32 bytes for each entry, to find where two histories part
                               path       where the ledger was made, to notice that it is gone
                               lock       held by whoever writes
                               next       held by the one that gets the lock next
"""

from __future__ import annotations

import fcntl
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from discreet.errors import Command, Flag, LedgerFault, Message
from discreet.ledger.chain import canonical_json
from discreet.ledger.filesystem import state_root
from discreet.ledger.ledger_location import LedgerLocation, location_mark

KEY_BYTES = 32
DIGEST_BYTES = 32

#: How long to wait for whoever holds the lock; charges take milliseconds.
WAIT_S = 60

_ID = re.compile(r"[a-z2-7]{16}", re.ASCII)


class AnchorMissing(LedgerFault):
    """There is no anchor for this ledger here, or it is damaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The last entry, and what was spent by then.

    `since`: the first entry that the key signed. It is above 1 in a ledger that was adopted without its key.
    """

    seq: int
    digest: str
    since: int
    totals: dict[str, Any]

    def __post_init__(self) -> None:
        if not (self.seq >= 1 and self.since >= 1 and len(self.digest) == 2 * DIGEST_BYTES):
            raise ValueError("not a head")


class Anchor:
    """The files of one ledger in the state folder."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self.folder = folder
        self.key = key
        self._last_head: tuple[bytes, Head] | None = None

    @staticmethod
    def folder_of(ledger: str) -> Path:
        """Where the anchor of a ledger belongs. The id is checked: it comes from a file and names a folder."""
        if not _ID.fullmatch(ledger):
            raise LedgerFault("the ledger's id is not one that Discreet creates")
        return state_root() / ledger

    @staticmethod
    def make(ledger: str) -> Anchor:
        """A new anchor with a new key and no head yet."""
        folder = Anchor.folder_of(ledger)
        with _faults():
            _make_folder(folder)
            key = secrets.token_bytes(KEY_BYTES)
            _write(folder / "key", key)
            return Anchor(folder, key)

    @staticmethod
    def find(ledger: str) -> Anchor:
        """The anchor of a ledger, whose head reads well."""
        return Anchor.at(Anchor.folder_of(ledger))

    @staticmethod
    def at(folder: Path) -> Anchor:
        """The anchor in a folder."""
        try:
            anchor = Anchor(folder, (folder / "key").read_bytes())
        except OSError as fault:
            raise AnchorMissing(
                "this machine has no state folder for the ledger, so a rollback could not be detected",
                hint=Message(
                    "run ",
                    Command("ledger adopt", Flag("state", "FOLDER")),
                    " with a copy of the state folder of the machine that the ledger comes from",
                ),
            ) from fault
        anchor.read()
        return anchor

    def read(self) -> Head:
        """The head, its MAC checked. The same bytes as before are the same head: they are not checked again."""
        try:
            content = (self.folder / "head.json").read_bytes()
            if self._last_head is not None and self._last_head[0] == content:
                return self._last_head[1]
            body, mac, end = content.decode("ascii").split("\n")
            if end or len(self.key) != KEY_BYTES or not hmac.compare_digest(self._mac(body), mac):
                raise ValueError("not signed by this key")
            data = json.loads(body)
            head = Head(seq=data["seq"], digest=data["digest"], since=data["since"], totals=data["totals"])
            self._last_head = content, head
            return head
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise AnchorMissing(
                "the ledger's state folder is damaged: its head cannot be read",
                hint=Message(
                    "restore the state folder, or run ",
                    Command("ledger adopt", Flag("state", "FOLDER")),
                    " with a copy of it",
                ),
            ) from fault

    def write(self, head: Head, digests: Sequence[str], *, stored_count: int) -> None:
        """Write digests and head, durably. `stored_count`: how many of the digests the anchor holds already.

        The digests are forced to disk before the head, so that a head never stands beside another history's digests.
        """
        self.write_digests(digests, stored_count=stored_count)
        self.write_head(head)

    def write_head(self, head: Head) -> None:
        """Write a head whose digests are on disk."""
        body = canonical_json(
            {"seq": head.seq, "digest": head.digest, "since": head.since, "totals": head.totals},
        )
        with _faults():
            _write(self.folder / "head.json", f"{body}\n{self._mac(body)}\n".encode("ascii"))

    def write_digests(self, digests: Sequence[str], *, stored_count: int) -> None:
        """Force the digests to disk. Beyond the head they are those of entries that are about to be committed."""
        with _faults():
            self._write_digests(digests, stored_count=stored_count)

    def record_location(self, where: LedgerLocation) -> None:
        """Note where the ledger lies, if that is news."""
        note, place = self.folder / "path", location_mark(where)
        with _faults():
            if not note.exists() or note.read_bytes() != place:
                _write(note, place)

    def hand_over(self) -> bool:
        """Make this anchor unusable, since its ledger goes on elsewhere; whether that could be done."""
        try:
            os.replace(self.folder / "head.json", self.folder / "head.json.handed-over")
        except OSError:
            return False
        return True

    def count_common_entries(self, digests: Sequence[str]) -> int:
        """How many entries a chain certainly shares with the one that was anchored.

        Because: a digest covers all entries before it, so equality at one place proves it for every earlier one.
            That needs the digests to be the head's own: where they are not, nothing is certain.
        """
        head = self.read()
        try:
            file = (self.folder / "digests").open("rb", buffering=0)
        except OSError:
            return 0
        with file, _faults():
            if _digest_at(file, head.seq) != head.digest:
                return 0
            low, high = 0, min(os.fstat(file.fileno()).st_size // DIGEST_BYTES, len(digests))
            while low < high:
                middle = (low + high + 1) // 2
                if _digest_at(file, middle) == digests[middle - 1]:
                    low = middle
                else:
                    high = middle - 1
            return low

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the ledger against every other process and thread. One of those who wait is next: whoever lets go, and
        comes again at once, stands behind it.
        """
        until = time.monotonic() + WAIT_S
        with ExitStack() as stack:
            with _flock(self.folder / "next", until, longest_pause=0.005):
                stack.enter_context(_flock(self.folder / "lock", until, longest_pause=0.0005))
            yield

    def _mac(self, body: str) -> str:
        return hmac.digest(self.key, b"head " + body.encode("ascii"), "sha256").hex()

    def _write_digests(self, digests: Sequence[str], *, stored_count: int) -> None:
        descriptor = os.open(self.folder / "digests", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            start = min(stored_count, os.fstat(descriptor).st_size // DIGEST_BYTES, len(digests))
            raw = bytes.fromhex("".join(digests[start:]))
            if os.pwrite(descriptor, raw, start * DIGEST_BYTES) != len(raw):
                raise OSError(28, "short write")
            os.ftruncate(descriptor, len(digests) * DIGEST_BYTES)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _digest_at(file: FileIO, seq: int) -> str:
    return os.pread(file.fileno(), DIGEST_BYTES, (seq - 1) * DIGEST_BYTES).hex()


def has_charged_ledger(where: LedgerLocation, *, practice: bool = False) -> bool:
    """Whether a ledger with charges was made there: then a new one would be a new budget.

    practice: one that was made for practice does not count, for it is about nobody.
    """
    try:
        mark = location_mark(where)
    except OSError:
        return True  # as below
    for note in sorted(state_root().glob("*/path")):
        try:
            if note.read_bytes() != mark:
                continue
            totals = Anchor.at(note.parent).read().totals
        except (OSError, LedgerFault):
            return True  # something was here, and what it spent cannot be read
        if practice and totals.get("practice") is True:
            continue
        if any(account["segments"] or account["sealed"] for account in totals["populations"].values()):
            return True
    return False


@contextmanager
def _flock(path: Path, until: float, *, longest_pause: float) -> Iterator[None]:
    """Hold the lock on a file. Each holder opens its own descriptor."""
    with _faults():
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(descriptor, until, longest_pause)
        yield
    finally:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # not only close: a fork may hold a copy
        os.close(descriptor)


def _acquire(descriptor: int, until: float, longest_pause: float) -> None:
    """Take the lock, asking again and again: a blocking call could not be given up."""
    pause = 0.0002
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > until:
                raise LedgerFault(
                    "another process has locked the ledger and does not release it", hint="wait and repeat"
                ) from None
            time.sleep(pause)
            pause = min(longest_pause, pause * 1.5)
        except OSError as fault:
            raise LedgerFault("the ledger cannot be locked") from fault


def _make_folder(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)
    _sync_folder(folder.parent)


def _write(path: Path, data: bytes) -> None:
    """Replace a file at once and durably: temporary file, fsync, rename, fsync of the folder."""
    new = path.with_name(path.name + ".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        if os.write(descriptor, data) != len(data):
            raise OSError(28, "short write")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(new, path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise LedgerFault(
            f"the ledger's state folder cannot be written ({os.strerror(fault.errno or 0).lower()})",
            hint="make it writable, then open the ledger again; until then nothing is answered",
        ) from fault
