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
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import exact
from discreet.errors import BudgetExceeded, Refused, UsageError
from discreet.mechanisms.bits import system
from discreet.surveys.device.device_store import keyed_hash, open_device_store
from discreet.surveys.protocols.collection_periods import FRESH, MEMOIZED, CollectionPeriods, PeriodLoss, head_bytes
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor, Rappor

#: A report id, in bytes: two devices share one with a probability of 2^-128.
ID_BYTES = 16
#: A collection round's name, in characters.
MOST_ROUND = 200
_CHANGED_TERMS = "This survey's periods, limits or coins are not those that this device first agreed to."


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
            if _find_terms(store, key, survey) is not None:
                raise Refused(_CHANGED_TERMS)  # it had periods: an answer beside them would cost more than was shown
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

    def donate(
        self,
        survey: str,
        randomizer: Randomizer,
        periods: CollectionPeriods,
        value: Any,
        *,
        now: float | None = None,
        limit: int | None = None,
        period: timedelta = timedelta(days=1),
        lifetime: object = None,
    ) -> PeriodDonation:
        """Return the next report of this answer to a survey with periods, in the period that is running `now`.

        With memoized coins an answer that was given before is the same report again, and in one period it is one
        donation however often it is given. With fresh coins each call is a new donation, unless one of this period is
        marked as `leaving` and not as `arrived`: then it is that one again (`pending`), whatever the answer. Were it so
        for the same answer only, a collector that acknowledges nothing would see whether the answer changed. One of the
        same answer that has not left is that one again, too. A donation beyond the survey's limit for a
        period is refused, and so is a survey whose terms changed. `limit`, `period` and `lifetime` are as in `answer`.
        """
        most = None if lifetime is None else exact.epsilon(lifetime, name="lifetime", most=exact.MAX_BUDGET_EPSILON)
        _check(limit, period)
        periods.check_randomizer(randomizer)
        answered, moment = randomizer.canonical(value), time.time() if now is None else now
        number = periods.running(moment)
        with open_device_store(Path(self.folder)) as (store, key):
            _keep_terms(store, key, survey, randomizer, periods)
            totals = _Totals.read(store, since=moment - period.total_seconds())
            given = keyed_hash(key, "given", survey, str(number), answered)
            slot = _find_slot(store, key, survey, number, given, periods)
            fresh = periods.coins == FRESH
            drawn = _DrawnReport.find(store, key, survey, randomizer, answered, slot, number, fresh=fresh)
            if drawn.report is None:
                totals = totals.after(drawn.cost, limit=limit, period=period, lifetime=most)
                drawn = drawn.draw(randomizer, value, moment)
            assert drawn.report is not None
            if not slot.taken:
                store.execute(
                    "INSERT INTO period_donations (place, answer, report) VALUES (?, ?, ?)",
                    (slot.place, given, drawn.place),
                )
            store.execute("COMMIT")  # on disk before it is shown
        loss = periods.loss(randomizer)
        donation = Donation(
            id=keyed_hash(key, "period report", survey, str(number), str(slot.index))[:ID_BYTES].hex(),
            report=head_bytes(number) + drawn.report,
            epsilon=loss.donation,
            period=totals.period,
            lifetime=totals.lifetime,
            repeated=drawn.repeated,
        )
        return PeriodDonation(
            donation=donation,
            survey=survey,
            number=number,
            index=slot.index,
            left=slot.left,
            loss=loss,
            pending=slot.pending,
        )

    def leaving(self, given: PeriodDonation) -> None:
        """Remember, before a donation is sent, that it leaves: until it has arrived the next one is this one again."""
        with open_device_store(Path(self.folder)) as (store, key):
            place = _slot_place(key, given.survey, given.number, given.index)
            store.execute("INSERT OR IGNORE INTO period_pending VALUES (?)", (place,))
            store.execute("COMMIT")

    def arrived(self, given: PeriodDonation) -> None:
        """Remember that a donation arrived: with fresh coins the next one of the same answer is a new one."""
        with open_device_store(Path(self.folder)) as (store, key):
            place = _slot_place(key, given.survey, given.number, given.index)
            store.execute("UPDATE period_donations SET sent = 1 WHERE place = ?", (place,))
            store.execute("DELETE FROM period_pending WHERE place = ?", (place,))
            store.execute("COMMIT")


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodDonation:
    """A donation in one period of a survey."""

    #: The report begins with the period's number.
    donation: Donation
    survey: str
    #: The period's number, and which of its donations this is, from 0 on.
    number: int
    index: int
    #: How many more this device can make in this period.
    left: int
    loss: PeriodLoss
    #: Whether it is an earlier one that was not acknowledged, with fresh coins: of the answer that was given then.
    pending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """One of the places that a period has for a device's donations."""

    place: bytes
    index: int
    taken: bool
    left: int
    pending: bool = False


def _slot_place(key: bytes, survey: str, number: int, index: int) -> bytes:
    return keyed_hash(key, "donation", survey, str(number), str(index))


def _find_slot(
    store: sqlite3.Connection, key: bytes, survey: str, number: int, given: bytes, periods: CollectionPeriods
) -> _Slot:
    """The place of this donation: one that is taken, where it is the same donation again; else the next free one."""
    taken: list[tuple[bytes, bool, bool]] = []  # the places are taken in their order
    for index in range(periods.donations):
        row = store.execute(
            "SELECT answer, sent, place IN (SELECT place FROM period_pending) FROM period_donations WHERE place = ?",
            (_slot_place(key, survey, number, index),),
        ).fetchone()
        if row is None:
            break
        taken.append((bytes(row[0]), bool(row[1]), bool(row[2])))
    memoized, left = periods.coins == MEMOIZED, periods.donations - len(taken)
    pending = [] if memoized else [index for index, (_, _, left_here) in enumerate(taken) if left_here]
    same = [index for index, (answer, sent, _) in enumerate(taken) if answer == given and (memoized or not sent)]
    for index in (*pending, *same):
        place = _slot_place(key, survey, number, index)
        return _Slot(place=place, index=index, taken=True, left=left, pending=index in pending)
    if left:
        place = _slot_place(key, survey, number, len(taken))
        return _Slot(place=place, index=len(taken), taken=False, left=left - 1)
    many = f"{periods.donations} donation{'s' if periods.donations > 1 else ''}"
    raise BudgetExceeded(
        f"This device has made its {many} to this survey for this {periods.every}.",
        hint=f"the next {periods.every} begins on {periods.begin_text(number + 1)} (UTC)"
        if number < periods.periods
        else f"this was the survey's last {periods.every}",
        needed={"epsilon": "0", "delta": "0"},
        remaining={"epsilon": "0", "delta": "0"},
    )


def _keep_terms(
    store: sqlite3.Connection, key: bytes, survey: str, randomizer: Randomizer, periods: CollectionPeriods
) -> None:
    """What was shown before the first donation holds to the last: another limit or other coins are refused."""
    terms = keyed_hash(key, "terms", _randomizer_digest(randomizer), json.dumps(periods.to_data(), sort_keys=True))
    agreed = _find_terms(store, key, survey)
    if agreed is None:
        store.execute("INSERT INTO period_terms VALUES (?, ?)", (_terms_place(key, survey), terms))
    elif agreed != terms:
        raise Refused(_CHANGED_TERMS)


def _terms_place(key: bytes, survey: str) -> bytes:
    return keyed_hash(key, "terms of", survey)


def _find_terms(store: sqlite3.Connection, key: bytes, survey: str) -> bytes | None:
    """The terms of a survey with periods, as this device first agreed to them."""
    row = store.execute("SELECT terms FROM period_terms WHERE place = ?", (_terms_place(key, survey),)).fetchone()
    return None if row is None else bytes(row[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawnReport:
    """The report that a donation sends: stored already, or still to be drawn."""

    store: sqlite3.Connection
    place: bytes
    report: bytes | None
    #: What drawing it costs.
    cost: Fraction
    permanent: _Permanent | None
    repeated: bool

    @staticmethod
    def find(
        store: sqlite3.Connection,
        key: bytes,
        survey: str,
        randomizer: Randomizer,
        answered: str,
        slot: _Slot,
        number: int,
        *,
        fresh: bool,
    ) -> _DrawnReport:
        """With fresh coins a report belongs to its place in a period, with memoized ones to its answer.

        RAPPOR keeps the permanent bits of an answer, and sends a fresh report of them in each period.
        """
        question = (survey, _randomizer_digest(randomizer), answered)
        layered = isinstance(randomizer, Rappor | BasicRappor)
        permanent = _Permanent.read(store, keyed_hash(key, "permanent", *question)) if layered else None
        if fresh:
            place = keyed_hash(key, "fresh", survey, str(number), str(slot.index))
        else:
            place = keyed_hash(key, "answer", *question, *([f"period {number}"] if layered else []))
        report = _find_report(store, place)
        return _DrawnReport(
            store=store,
            place=place,
            report=report,
            cost=randomizer.epsilon if permanent is None else permanent.next_cost(randomizer),
            permanent=permanent,
            repeated=report is not None,
        )

    def draw(self, randomizer: Randomizer, value: Any, moment: float) -> _DrawnReport:
        """Draw it, and store it in the transaction that is open."""
        report = (
            randomizer.randomize(value, bits=system())
            if self.permanent is None
            else self.permanent.send(randomizer, value)
        )
        row = (self.place, report, exact.write(self.cost), moment)
        self.store.execute("INSERT INTO donations VALUES (?, ?, ?, ?)", row)
        return replace(self, report=report)


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
