"""The respondent's side: coins that are flipped once, kept, and never flipped again for the same answer.

Whoever could make a device noise one answer again and again would average the noise away. So the first
report of an answer is the only one: it is on disk before anybody sees it, and a reload, a retry, a dry run
or a crash find it there. Beside it stands what all reports so far have cost.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.errors import BudgetExceeded, UsageError
from discreet.mechanisms.bits import system
from discreet.surveys.device.device_store import keyed_hash, open_device_store
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor, Rappor

#: A report id, in bytes: two devices share one with a probability of 2^-128.
ID_BYTES = 16
#: A collection round's name, in characters.
MOST_ROUND = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Donation:
    """A report that may be sent, what it costs, and what all reports of this device cost together."""

    #: One for a device, a survey and a round, whatever it answers: the collector counts a person once.
    id: str
    report: bytes
    #: What the report alone costs; nothing more if it is `repeated`.
    epsilon: Fraction
    #: What was first drawn in this period, and ever.
    period: Fraction
    lifetime: Fraction
    #: Whether it was drawn before.
    repeated: bool


@dataclass(frozen=True, slots=True)
class Device:
    """A respondent's device. Its key, reports and costs are stored in `folder`.

    Guarantee: take two histories of answers that repeat themselves in the same places. All that the device
        ever sends is at most e^lifetime times as likely for the one as for the other, `lifetime` being the
        total that its donations state. (*That* an answer is another than last time is not hidden: another
        report is sent.)
    Because: each distinct answer to a survey is noised once, by its randomizer, with coins of its own; all
        else that is sent is a copy. The losses of independent reports add. RAPPOR's permanent bits are what is
        drawn once; its reports of k rounds cost the smaller of k `once` and `epsilon` together (see `NoiseLayers`).

    The answer is not stored, only a keyed hash of what is noised, which is of use to nobody who has not got the key
    file as well. A survey whose randomizer changes is a new question: its reports are new and count anew.
    """

    folder: Path

    def answer(
        self,
        survey: str,
        randomizer: Randomizer,
        value: Any,
        *,
        round: str | int | date = "",
        limit: int | None = None,
        period: timedelta = timedelta(days=1),
        lifetime: object = None,
    ) -> Donation:
        """Return the report of this answer to this survey in this round: newly drawn, or the stored one.

        `round` names one of several collections of the same survey, for example by date. In each round, RAPPOR sends a
        fresh report of its permanent bits; any other randomizer sends the same report again. A new report is refused if
        `limit` new ones were drawn in the last `period`, or if all reports together would cost more than `lifetime`. A
        stored report is free.
        """
        most = None if lifetime is None else exact.epsilon(lifetime, name="lifetime", most=exact.MAX_BUDGET_EPSILON)
        _check(limit, period)
        named, answered = _round(round), randomizer.canonical(value)
        with open_device_store(Path(self.folder)) as (store, key):
            question = (survey, _randomizer_digest(randomizer), answered)
            totals = _Totals.read(store, since=time.time() - period.total_seconds())
            layered = isinstance(randomizer, Rappor | BasicRappor)
            place = keyed_hash(key, "answer", *question, *([named] if layered and named else []))
            stored_report = _find_report(store, place)
            if stored_report is None:
                permanent = _Permanent.read(store, keyed_hash(key, "permanent", *question)) if layered else None
                cost = randomizer.epsilon if permanent is None else permanent.next_cost(randomizer)
                totals = totals.after(cost, limit=limit, period=period, lifetime=most)
                report = (
                    randomizer.randomize(value, bits=system())
                    if permanent is None
                    else permanent.send(randomizer, value)
                )
                row = (place, report, exact.write(cost), time.time())
                store.execute("INSERT INTO donations VALUES (?, ?, ?, ?)", row)
            store.execute("COMMIT")  # on disk before it is shown
        return Donation(
            id=keyed_hash(key, "report", survey, *([named] if named else []))[:ID_BYTES].hex(),
            report=report if stored_report is None else stored_report,
            epsilon=randomizer.once if isinstance(randomizer, Rappor | BasicRappor) else randomizer.epsilon,
            period=totals.period,
            lifetime=totals.lifetime,
            repeated=stored_report is not None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Permanent:
    """RAPPOR's permanent bits of one answer, if they were drawn, and what their reports have cost so far."""

    store: sqlite3.Connection
    place: bytes
    permanent_bits: bytes | None
    spent: Fraction

    @staticmethod
    def read(store: sqlite3.Connection, place: bytes) -> _Permanent:
        row = store.execute("SELECT kept, epsilon FROM permanents WHERE place = ?", (place,)).fetchone()
        kept, spent = (None, Fraction(0)) if row is None else (bytes(row[0]), exact.read(row[1]))
        return _Permanent(store=store, place=place, permanent_bits=kept, spent=spent)

    def next_cost(self, randomizer: Randomizer) -> Fraction:
        """What one more report adds: `once`, until all together have cost `epsilon`; then nothing."""
        assert isinstance(randomizer, Rappor | BasicRappor)
        return min(randomizer.once, max(randomizer.epsilon - self.spent, Fraction(0)))

    def send(self, randomizer: Randomizer, value: Any) -> bytes:
        """A fresh report of the kept bits, which are stored in the same transaction."""
        assert isinstance(randomizer, Rappor | BasicRappor)
        kept = randomizer.permanent(value, bits=system()) if self.permanent_bits is None else self.permanent_bits
        row = (self.place, kept, exact.write(self.spent + self.next_cost(randomizer)))
        self.store.execute("INSERT OR REPLACE INTO permanents VALUES (?, ?, ?)", row)
        return randomizer.instant(kept, bits=system())


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
            reason = f"This device has reached its limit of {limit} new report{'s' if limit > 1 else ''} in this period"
            raise self._refusal(reason, epsilon, period, left=Fraction(0))
        if lifetime is not None and self.lifetime + epsilon > lifetime:
            reason = f"This report would exceed the lifetime limit of epsilon {exact.show(lifetime)}"
            raise self._refusal(reason, epsilon, period, left=max(Fraction(0), lifetime - self.lifetime))
        return _Totals(many=self.many + 1, period=self.period + epsilon, lifetime=self.lifetime + epsilon)

    def _refusal(self, reason: str, epsilon: Fraction, period: timedelta, *, left: Fraction) -> BudgetExceeded:
        one, recent, every = (exact.show(cost, up=True) for cost in (epsilon, self.period, self.lifetime))
        costs = (
            f"it costs epsilon {one}; the reports of the last {_period_text(period)} cost {recent}, "
            f"and all reports of this device {every}"
        )
        return BudgetExceeded(
            f"{reason}: {costs}.",
            hint="send an earlier answer again, which is free",
            needed={"epsilon": exact.show(epsilon, up=True), "delta": "0"},
            remaining={"epsilon": exact.show(left), "delta": "0"},
        )


def _check(limit: int | None, period: timedelta) -> None:
    if limit is not None and (type(limit) is not int or limit < 1):
        raise UsageError(f"The limit must be a whole number of reports, at least 1, not {limit!r}.")
    if period <= timedelta(0):
        raise UsageError("The period must be longer than 0.")


def _round(round: str | int | date) -> str:
    """A round's name as text: 1 and "1" are one round."""
    text = round.isoformat() if isinstance(round, date) else str(round)
    if isinstance(round, bool) or not isinstance(round, str | int | date) or len(text) > MOST_ROUND:
        raise UsageError(f"A round must be a number, a date or a name of at most {MOST_ROUND} characters.")
    return text


def _randomizer_digest(randomizer: Randomizer) -> str:
    text = json.dumps(randomizer.parameters(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _find_report(store: sqlite3.Connection, place: bytes) -> bytes | None:
    row = store.execute("SELECT report FROM donations WHERE place = ?", (place,)).fetchone()
    return None if row is None else bytes(row[0])


def _period_text(period: timedelta) -> str:
    seconds = int(period.total_seconds())
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length and seconds % length == 0:
            many = seconds // length
            return name if many == 1 else f"{many} {name}s"
    return f"{seconds} seconds"
