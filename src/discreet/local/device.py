"""The respondent's side: coins that are flipped once, kept, and never flipped again for the same answer.

Whoever could make a device noise one answer again and again would average the noise away. So the first
report of an answer is the only one: it is on disk before anybody sees it, and a reload, a retry, a dry run
or a crash find it there. Beside it stands what all reports so far have cost.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.errors import BudgetExceeded, LedgerFault, UsageError
from discreet.local.randomizer import Randomizer
from discreet.mechanisms.bits import system

KEY_BYTES = 32
#: A report id, in bytes: two devices share one with a probability of 2^-128.
ID_BYTES = 16
#: How long one process waits for another that is answering.
WAIT_S = 60

_KEY, _STORE = "device.key", "device.sqlite"

_SCHEMA = (
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
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Donation:
    """What may be sent, what it costs, and what all of this device's reports have cost."""

    #: One for a device and a survey, whatever it answers: the collector counts a person once.
    id: str
    report: bytes
    #: What the report costs; nothing more if it is `repeated`.
    epsilon: Fraction
    #: What was first drawn in this period, and ever.
    period: Fraction
    lifetime: Fraction
    #: Whether it was drawn before.
    repeated: bool


@dataclass(frozen=True, slots=True)
class Device:
    """A respondent's device, whose key, reports and costs are kept in `folder`.

    Guarantee: take two histories of answers that repeat themselves in the same places. All that the device
        ever sends is at most e^lifetime times as likely for the one as for the other, `lifetime` being the
        total that its donations state. (*That* an answer is another than last time is not hidden: another
        report is sent.)
    Because: each distinct answer to a survey is noised once, by its randomizer, with coins of its own; all
        else that is sent is a copy. The losses of independent reports add.

    The answer is not stored, only a keyed hash of it, which is of use to nobody who has not got the key file
    as well. A survey whose randomizer changes is a new question: its reports are new and count anew.
    """

    folder: Path

    def answer(
        self,
        survey: str,
        randomizer: Randomizer,
        value: Any,
        *,
        limit: int | None = None,
        period: timedelta = timedelta(days=1),
        lifetime: object = None,
    ) -> Donation:
        """The one report of this answer to this survey, drawn now or found again.

        A new one is refused when `limit` new ones were drawn in the last `period`, or when all together
        would cost more than `lifetime`. One that was drawn before is free.
        """
        most = None if lifetime is None else exact.positive(lifetime, name="lifetime", most=exact.MAX_BUDGET_EPSILON)
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise UsageError(f"A limit is a number of donations, at least 1, not {limit!r}.")
        if period <= timedelta(0):
            raise UsageError("A period is longer than nothing.")
        with _opened(self.folder) as (store, key):
            place = _keyed(key, "answer", survey, _described(randomizer), _canonical(randomizer, value))
            totals = _Totals.read(store, since=time.time() - period.total_seconds())
            found = _report(store, place)
            if found is None:
                totals = totals.after(randomizer.epsilon, limit=limit, period=period, lifetime=most)
                report = randomizer.randomize(value, bits=system())
                row = (place, report, exact.write(randomizer.epsilon), time.time())
                store.execute("INSERT INTO donations VALUES (?, ?, ?, ?)", row)
            store.execute("COMMIT")  # on disk before it is shown
        return Donation(
            id=_keyed(key, "report", survey)[:ID_BYTES].hex(),
            report=report if found is None else found,
            epsilon=randomizer.epsilon,
            period=totals.period,
            lifetime=totals.lifetime,
            repeated=found is not None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Totals:
    """What was drawn so far."""

    many: int
    period: Fraction
    lifetime: Fraction

    @staticmethod
    def read(store: sqlite3.Connection, *, since: float) -> _Totals:
        """A donation of the future (the clock was set back) counts to this period, too."""
        costs = [(exact.read(text), when) for text, when in store.execute("SELECT epsilon, time FROM donations")]
        recent = [cost for cost, when in costs if when > since]
        everything = sum((cost for cost, _ in costs), Fraction(0))
        return _Totals(many=len(recent), period=sum(recent, Fraction(0)), lifetime=everything)

    def after(self, epsilon: Fraction, *, limit: int | None, period: timedelta, lifetime: Fraction | None) -> _Totals:
        """With one more donation; refused where that is too much."""
        if limit is not None and self.many >= limit:
            reason = f"This device has made the {limit} new donation{'s' if limit > 1 else ''} of this period"
            raise self._refusal(reason, epsilon, period, left=Fraction(0))
        if lifetime is not None and self.lifetime + epsilon > lifetime:
            reason = f"This donation does not fit into the lifetime limit of epsilon {exact.show(lifetime)}"
            raise self._refusal(reason, epsilon, period, left=max(Fraction(0), lifetime - self.lifetime))
        return _Totals(many=self.many + 1, period=self.period + epsilon, lifetime=self.lifetime + epsilon)

    def _refusal(self, reason: str, epsilon: Fraction, period: timedelta, *, left: Fraction) -> BudgetExceeded:
        one, recent, every = (exact.show(cost, up=True) for cost in (epsilon, self.period, self.lifetime))
        costs = (
            f"a donation costs epsilon {one}, those of the last {_spoken(period)} cost {recent}, "
            f"and all of this device's lifetime {every}"
        )
        return BudgetExceeded(
            f"{reason}: {costs}.",
            hint="An answer that was given before can be sent again, free.",
            needed={"epsilon": exact.show(epsilon, up=True), "delta": "0"},
            remaining={"epsilon": exact.show(left), "delta": "0"},
        )


@contextmanager
def _opened(folder: Path) -> Iterator[tuple[sqlite3.Connection, bytes]]:
    """The store, inside a transaction that no other process can share, and the key."""
    try:
        if not folder.exists():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _sync(folder.parent)
        # In this order: the key is made after the store, so a key that is there is one whose store was.
        if (folder / _KEY).exists() and not (folder / _STORE).exists():
            raise LedgerFault(
                "this device's key is here, but the reports that it has made are gone",
                hint="restore device.sqlite; without it the same answers would be noised again",
            )
        # Readable by its owner only; SQLite gives its journal the same mode.
        os.close(os.open(folder / _STORE, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(_connected(folder / _STORE)) as store:
            store.execute("BEGIN IMMEDIATE")
            for statement in _SCHEMA:
                store.execute(statement)
            yield store, _owner(store, folder / _KEY)
    except sqlite3.Error as fault:
        raise LedgerFault(f"this device's store cannot be used ({fault})") from fault
    except OSError as fault:
        raise LedgerFault(f"this device's folder cannot be used ({os.strerror(fault.errno or 0).lower()})") from fault


def _connected(path: Path) -> sqlite3.Connection:
    """EXTRA: a commit survives a power cut, even between it and the removal of its journal. Read back."""
    store = sqlite3.connect(path, isolation_level=None, timeout=WAIT_S)
    for name, wanted in (("synchronous", 3), ("fullfsync", 1), ("trusted_schema", 0)):
        store.execute(f"PRAGMA {name} = {wanted}")
        found = store.execute(f"PRAGMA {name}").fetchone()
        if found is None or found[0] != wanted:
            raise LedgerFault(f"SQLite did not accept {name} = {wanted} here, so a report might be lost")
    return store


def _owner(store: sqlite3.Connection, path: Path) -> bytes:
    """The key of this store; made under the store's lock, once. A store is never used with another key."""
    proof = store.execute("SELECT proof FROM owner").fetchone()
    if proof is None:
        if not path.exists():
            _make_key(path)
        key = _read_key(path)
        store.execute("INSERT INTO owner VALUES (1, ?)", (_keyed(key, "owner"),))
        return key
    key = _read_key(path)
    if not hmac.compare_digest(proof[0], _keyed(key, "owner")):
        raise LedgerFault("this device's key is not the one that its reports were kept under", hint="restore it")
    return key


def _make_key(path: Path) -> None:
    """All of it under its name, or none: written and synced aside, then renamed."""
    aside = path.with_suffix(".new")
    with suppress(FileNotFoundError):
        aside.unlink()  # of a process that died here; we hold the lock
    descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        os.write(descriptor, os.urandom(KEY_BYTES))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    aside.rename(path)
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """What the folder lists survives a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_key(path: Path) -> bytes:
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        raise LedgerFault(
            "this device's key is gone", hint="restore device.key; with a new one old answers would be noised again"
        ) from None
    if len(key) != KEY_BYTES:
        raise LedgerFault("this device's key is damaged", hint="restore device.key")
    return key


def _keyed(key: bytes, *parts: str) -> bytes:
    """A keyed hash. Each part is led by its length, so that no two lists of parts read alike."""
    written = [part.encode("utf-8", "surrogatepass") for part in parts]
    text = b"".join(len(part).to_bytes(8, "big") + part for part in written)
    return hmac.digest(key, b"discreet device 1" + text, "sha256")


def _described(randomizer: Randomizer) -> str:
    text = json.dumps(randomizer.parameters(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(randomizer: Randomizer, value: Any) -> str:
    """One text for all ways to write an answer that are noised alike: 3, 3.0 and "3.00" are one answer.

    Where the randomizer has codes, the code is it. It also refuses what is no answer, before anything is drawn.
    """
    codes = getattr(randomizer, "codes", None)
    if codes is not None:
        return f"code {int(codes([value])[0])}"
    questions = getattr(randomizer, "questions", None)
    if questions is not None and isinstance(value, Mapping) and value.keys() == questions.keys():
        return json.dumps({name: _canonical(each, value[name]) for name, each in sorted(questions.items())})
    if isinstance(value, str):
        return f"text {value}"
    return f"number {exact.write(exact.number(value, name='an answer'))}"


def _report(store: sqlite3.Connection, place: bytes) -> bytes | None:
    found = store.execute("SELECT report FROM donations WHERE place = ?", (place,)).fetchone()
    return None if found is None else bytes(found[0])


def _spoken(period: timedelta) -> str:
    seconds = int(period.total_seconds())
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length and seconds % length == 0:
            many = seconds // length
            return name if many == 1 else f"{many} {name}s"
    return f"{seconds} seconds"
