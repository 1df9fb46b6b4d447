"""Surveys with periods: when, how often, and what a device can lose, over every transcript that it can send."""

from __future__ import annotations

import itertools
import math
import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from discreet import exact
from discreet.errors import BudgetExceeded, Refused, UsageError
from discreet.surveys.device import respondent_device as device_module
from discreet.surveys.device.respondent_device import Device, PeriodDonation
from discreet.surveys.protocols.collection_periods import CollectionPeriods
from discreet.surveys.protocols.local_hash import LocalHashing
from discreet.surveys.protocols.randomized_response import RandomizedResponse, TwoCoins
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor
from discreet.surveys.protocols.sketch import HadamardSketch
from surveys.protocols.every import law
from tiers import size

DAY = 86_400
#: A Wednesday.
START = 20_410 * DAY
COINS = TwoCoins(["yes", "no"])
#: Its reports hold 64 random bits of their own: two draws are never alike.
MANY = LocalHashing([str(code) for code in range(100)], epsilon="2")


def days(coins: str, *, donations: int = 2, periods: int = 3, every: str = "day") -> CollectionPeriods:
    return CollectionPeriods.beginning(START, every=every, donations=donations, periods=periods, coins=coins)


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path / "phone")


# ---------------------------------------------------------------- when


def test_a_period_begins_at_a_whole_hour_a_midnight_or_a_monday() -> None:
    noon = START + DAY // 2 + 17
    begins = {
        every: CollectionPeriods.beginning(noon, every=every, donations=1, periods=4, coins="fresh")
        for every in ("hour", "day", "week")
    }
    assert {every: made.begin_text(1) for every, made in begins.items()} == {
        "hour": "2025-11-18 12:00", "day": "2025-11-18", "week": "2025-11-17",
    }  # fmt: skip
    assert begins["week"].begin_text(2) == "2025-11-24" and begins["hour"].number_at(noon + 3600) == 2
    for made in begins.values():
        assert made.number_at(made.start) == made.number_at(made.start + made.length_s - 1) == 1
        assert made.number_at(made.start + made.length_s) == 2 and made.number_at(made.start - 1) == 0
        assert CollectionPeriods.from_data(made.to_data()) == made


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"every": "month"}, "hour, day or week"),
        ({"coins": "old"}, "memoized or fresh"),
        ({"donations": 0}, "1 to 1,000 donations"),
        ({"donations": True}, "donations"),
        ({"periods": 10_001}, "1 to 10,000 periods"),
        ({"periods": "3"}, "periods"),
        ({"start": START + 1}, "midnight"),
        ({"start": -DAY}, "midnight"),
        ({"more": 1}, "not the periods"),
    ],
)
def test_periods_that_nobody_means_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        CollectionPeriods.from_data({**days("fresh").to_data(), **changed})


def test_rappor_with_fresh_coins_is_refused(device: Device) -> None:
    with pytest.raises(UsageError, match="memoized"):
        device.donate("s", BasicRappor(["a", "b"], epsilon=2), days("fresh"), "a", now=START)


# ---------------------------------------------------------------- what a device can lose


def test_the_loss_that_is_shown() -> None:
    one = COINS.epsilon
    fresh, kept = days("fresh").loss(COINS), days("memoized").loss(COINS)
    assert (fresh.donation, fresh.period, fresh.survey, fresh.unchanged) == (one, 2 * one, 6 * one, 6 * one)
    assert (kept.donation, kept.period, kept.survey, kept.unchanged) == (one, 2 * one, 2 * one, one)
    words = HadamardSketch(epsilon=1)  # no list of answers: each donation can be a new one
    assert days("memoized").loss(words).survey == 6 * words.epsilon
    layered = BasicRappor(["a", "b"], epsilon="2", once="0.5")
    shown = days("memoized", periods=10).loss(layered)
    assert (shown.donation, shown.period) == (layered.once, 2 * layered.once)
    assert (shown.survey, shown.unchanged) == (2 * layered.epsilon, layered.epsilon)


Transcript = tuple[tuple[str, bytes], ...]
#: What a respondent does: in which period, and which answer.
History = Sequence[tuple[int, str]]


@dataclass
class _Paper:
    """A device on paper: the rules of `Device.donate`, with every fork of the coins. Held against the real one below."""

    periods: CollectionPeriods
    laws: dict[str, dict[bytes, Fraction]]

    def transcripts(self, history: History) -> dict[Transcript, Fraction]:
        """Every transcript of a history of donations, with its exact probability."""
        found: dict[Transcript, Fraction] = defaultdict(Fraction)
        for sent, chance in self._walk(list(history), {}, defaultdict(list)):
            found[sent] += chance
        assert sum(found.values()) == 1
        return found

    def _walk(
        self, rest: list[tuple[int, str]], memo: dict[str, bytes], given: dict[int, list[str]]
    ) -> Iterator[tuple[Transcript, Fraction]]:
        if not rest:
            yield (), Fraction(1)
            return
        (number, answer), *later = rest
        memoized = self.periods.coins == "memoized"
        if memoized and answer in given[number]:  # the same donation again, under the same id
            head = (f"{number}/{given[number].index(answer)}", memo[answer])
            for tail, chance in self._walk(later, memo, given):
                yield (head, *tail), chance
            return
        if len(given[number]) >= self.periods.donations:
            for tail, chance in self._walk(later, memo, given):
                yield (("refused", b""), *tail), chance
            return
        name = f"{number}/{len(given[number])}"
        now = defaultdict(list, {**given, number: [*given[number], answer]})
        draws = {memo[answer]: Fraction(1)} if memoized and answer in memo else self.laws[answer]
        for report, chance in draws.items():
            for tail, more in self._walk(later, {**memo, answer: report} if memoized else memo, now):
                yield ((name, report), *tail), chance * more


def pattern(history: History) -> list[int]:
    """Where each answer was first given: histories that repeat themselves in the same places share it."""
    answers = [answer for _, answer in history]
    return [answers.index(answer) for answer in answers]


def largest(one: dict[Transcript, Fraction], other: dict[Transcript, Fraction]) -> Fraction | float:
    ratios: list[Fraction | float] = [
        one[sent] / other[sent] if other.get(sent) else math.inf for sent, chance in one.items() if chance
    ]
    return max(ratios)


def within(ratio: Fraction | float, epsilon: Fraction) -> bool:
    """Whether the ratio is at most e^epsilon, in exact arithmetic."""
    return ratio != math.inf and Fraction(ratio) <= exact.exp(epsilon, up=False)


def histories(moments: Sequence[int], answers: Sequence[str]) -> list[list[tuple[int, str]]]:
    return [list(zip(moments, given, strict=True)) for given in itertools.product(answers, repeat=len(moments))]


RANDOMIZERS: list[RandomizedResponse] = [COINS, RandomizedResponse(["a", "b", "c"], epsilon="0.7")]
#: In which periods a device is asked: up to one donation more than it may make.
MOMENTS = [(1, 2, 3), (1, 1, 1), (1, 1, 2, 2)]


@pytest.mark.parametrize("randomizer", RANDOMIZERS, ids=["two-coins", "three"])
@pytest.mark.parametrize("moments", MOMENTS, ids=str)
def test_over_all_transcripts_nobody_loses_more_than_is_shown(
    randomizer: RandomizedResponse, moments: tuple[int, ...]
) -> None:
    """Every history of donations against every other, every report that can come of them: Fractions, no sampling."""
    laws = {answer: law(randomizer, answer) for answer in randomizer.choices}
    if len(moments) == 4 and len(randomizer.choices) > 2:
        moments = moments[: size(3, 4)]
    for coins in ("fresh", "memoized"):
        periods = days(coins, periods=max(moments), donations=2)
        loss = periods.loss(randomizer)
        told = [(each, _Paper(periods, laws).transcripts(each)) for each in histories(moments, randomizer.choices)]
        worst: Fraction | float = Fraction(1)
        for (one, chances), (other, others) in itertools.permutations(told, 2):
            if coins == "memoized" and pattern(one) != pattern(other):
                continue  # that an answer changed is not hidden, and not claimed to be
            ratio = largest(chances, others)
            assert within(ratio, loss.survey), (coins, one, other)
            if len({answer for _, answer in one}) == len({answer for _, answer in other}) == 1:
                assert within(ratio, loss.unchanged), (coins, one, other)
            worst = max(worst, ratio)
        # What is shown is attained, where so many donations are made: no smaller number could be shown.
        made = sum(min(moments.count(number), 2) for number in set(moments))
        one_ratio = max(laws[randomizer.choices[0]].values()) / min(laws[randomizer.choices[0]].values())
        distinct = made if coins == "fresh" else min(made, len(randomizer.choices))
        assert worst == one_ratio**distinct


def test_that_a_memoized_answer_changed_can_be_seen() -> None:
    """What the page says beside the loss: no finite number covers a history that changes against one that does not."""
    laws = {answer: law(COINS, answer) for answer in COINS.choices}
    paper = _Paper(days("memoized"), laws)
    same, changed = (paper.transcripts([(1, "yes"), (2, answer)]) for answer in ("yes", "no"))
    assert largest(changed, same) == math.inf


def test_rappor_does_not_hide_a_change_either() -> None:
    """The bits that no answer sets are kept too, and drawn anew with another answer: more than all reports' `once`."""
    made, half = BasicRappor([str(code) for code in range(20)], epsilon="2"), 5
    lie, one, zero = (coin.chance for coin in (made.layers.lie, made.layers.one, made.layers.zero))

    def unset(sent: int, among: int) -> Fraction:
        """So many ones among the reports of one kept draw of a bit that the answer does not set, in one order."""
        return lie * one**sent * (1 - one) ** (among - sent) + (1 - lie) * zero**sent * (1 - zero) ** (among - sent)

    changed, same = unset(half, half) * unset(0, half), unset(half, 2 * half)
    assert sum(unset(sent, half) * math.comb(half, sent) for sent in range(half + 1)) == 1
    assert not within((changed / same) ** (len(made.choices) - 2), 2 * half * made.once)


@pytest.mark.parametrize(
    ("broken", "coins", "of"),
    [
        ("the limit is not enforced", "fresh", "survey"),
        ("memoized coins are flipped again", "memoized", "unchanged"),
        ("a donation is left out of the sum", "fresh", "survey"),
    ],
)
def test_a_broken_rule_loses_more_than_is_shown(broken: str, coins: str, of: str) -> None:
    """The mutants: each must break the bound that the tests above hold."""
    laws = {answer: law(COINS, answer) for answer in COINS.choices}
    periods = days(coins, periods=2, donations=1)
    loss = periods.loss(COINS)
    rules = periods
    moments = [1, 2]
    if broken == "the limit is not enforced":
        rules, moments = replace(periods, donations=3), [1, 1, 2]
    if broken == "memoized coins are flipped again":
        rules = replace(periods, coins="fresh")
    shown = getattr(loss, of)
    if broken == "a donation is left out of the sum":
        shown -= loss.donation
    one, other = (_Paper(rules, laws).transcripts([(moment, answer) for moment in moments]) for answer in COINS.choices)
    assert not within(largest(one, other), shown)


# ---------------------------------------------------------------- the device itself


def real(tmp_path: Path, periods: CollectionPeriods, history: History, path: Sequence[bytes]) -> tuple[Transcript, int]:
    """What a real device sends, whose draws are these, one after the other; and how many of them it made."""
    draws = iter(path)
    made = 0

    def randomize(self: Randomizer, value: Any, *, bits: Any = None) -> bytes:
        nonlocal made
        made += 1
        return next(draws)

    phone, ids, sent = Device(tmp_path / os.urandom(8).hex()), {}, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Randomizer, "randomize", randomize)
        for number, answer in history:
            try:
                given = phone.donate("s", COINS, periods, answer, now=START + (number - 1) * DAY)
            except BudgetExceeded:
                sent.append(("refused", b""))
                continue
            phone.arrived(given)
            ids.setdefault(given.donation.id, f"{number}/{given.index}")
            assert given.donation.report[:2] == number.to_bytes(2, "big")
            sent.append((ids[given.donation.id], given.donation.report[2:]))
    return tuple(sent), made


@pytest.mark.parametrize("coins", ["fresh", "memoized"])
def test_the_device_keeps_the_rules_that_the_bound_was_computed_from(tmp_path: Path, coins: str) -> None:
    """Every history of three donations on two days, with every way the coins can fall: the transcripts on paper."""
    periods = days(coins, periods=2, donations=1)
    laws = {answer: law(COINS, answer) for answer in COINS.choices}
    moments = [(1, 1, 2), (1, 2, 2)][: size(1, 2)]
    for history in (each for some in moments for each in histories(some, COINS.choices)[: size(4, 8)]):
        expected = _Paper(periods, laws).transcripts(history)
        found = {real(tmp_path, periods, history, path)[0] for path in itertools.product([b"\x00", b"\x01"], repeat=3)}
        assert found == {sent for sent, chance in expected.items() if chance}, (coins, history)


Acknowledged = Sequence[bool]


def unacknowledged_law(tmp_path: Path, answers: Sequence[str], acknowledged: Acknowledged) -> dict[Any, Fraction]:
    """The exact law of what a device sends in one period, to a collector that acknowledges only some of it."""
    periods, found = days("fresh", periods=1, donations=2), {}
    for path in itertools.product([b"\x00", b"\x01"], repeat=periods.donations):
        phone, ids, sent, drawn = Device(tmp_path / os.urandom(8).hex()), {}, [], []

        def randomize(self: Any, value: Any, *, bits: Any = None, path: Any = path, drawn: Any = drawn) -> bytes:
            drawn.append(law(COINS, value)[path[len(drawn)]])
            report: bytes = path[len(drawn) - 1]
            return report

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Randomizer, "randomize", randomize)
            for answer, told in zip(answers, acknowledged, strict=True):
                try:
                    given = phone.donate("s", COINS, periods, answer, now=START)
                except BudgetExceeded:
                    sent.append(("refused", b""))
                    continue
                phone.leaving(given)
                if told:
                    phone.arrived(given)
                ids.setdefault(given.donation.id, str(len(ids)))
                sent.append((ids[given.donation.id], given.donation.report))
        found[path[: len(drawn)]] = tuple(sent), math.prod(drawn, start=Fraction(1))
    chances: dict[Any, Fraction] = defaultdict(Fraction)
    for transcript, chance in found.values():
        chances[transcript] += chance
    assert sum(chances.values()) == 1
    return chances


def check_unacknowledged(tmp_path: Path, asked: int = 2) -> None:
    shown = days("fresh", periods=1, donations=2).loss(COINS).survey
    for acknowledged in itertools.product([False, True], repeat=asked - 1):
        laws = [
            unacknowledged_law(tmp_path, answers, (*acknowledged, False))
            for answers in itertools.product(COINS.choices, repeat=asked)
        ]
        for one, other in itertools.permutations(laws, 2):
            assert within(largest(one, other), shown), acknowledged


def test_a_collector_that_acknowledges_nothing_does_not_see_whether_an_answer_changed(tmp_path: Path) -> None:
    """Fresh coins: every history of answers against every other, whatever the collector acknowledges."""
    check_unacknowledged(tmp_path, size(2, 3))


def test_a_device_that_sends_again_only_the_same_answer_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Device, "leaving", lambda self, given: None)
    with pytest.raises(AssertionError):
        check_unacknowledged(tmp_path)


def test_an_unacknowledged_donation_is_sent_first(device: Device) -> None:
    periods = days("fresh")
    first = donate(device, periods, 1, "7")
    assert not first.pending and first.left == 1
    device.leaving(first)
    again = donate(device, periods, 1, "8")
    assert again.pending and again.donation == replace(first.donation, repeated=True) and again.left == 1
    assert not donate(device, periods, 2, "8").pending  # another period has places of its own
    device.arrived(again)
    second = donate(device, periods, 1, "8")
    assert not second.pending and second.index == 1 and second.donation.id != first.donation.id
    memoized = Device(device.folder / "another")
    kept = donate(memoized, days("memoized"), 1, "7")
    memoized.leaving(kept)
    assert donate(memoized, days("memoized"), 1, "8").index == 1


def donate(device: Device, periods: CollectionPeriods, day: int, answer: str = "7", **more: Any) -> PeriodDonation:
    return device.donate("s", MANY, periods, answer, now=START + (day - 1) * DAY + 60, **more)


def test_fresh_coins_draw_anew_up_to_the_limit(device: Device) -> None:
    periods, reports = days("fresh"), set()
    for day in (1, 2, 3):
        for index in (0, 1):
            given = donate(device, periods, day)
            assert (given.number, given.index, given.left) == (day, index, 1 - index)
            again = donate(device, periods, day)  # it has not arrived: the same bytes, under the same id
            assert again.donation.repeated and again.donation.report == given.donation.report
            assert again.donation.id == given.donation.id and again.donation.lifetime == given.donation.lifetime
            device.arrived(given)
            reports.add(given.donation.report[2:])
        with pytest.raises(BudgetExceeded, match="2 donations to this survey for this day") as refused:
            donate(device, periods, day)
        hint = "the next day begins on" if day < 3 else "this was the survey's last day"
        assert hint in str(refused.value.hint)
    assert len(reports) == 6 and given.donation.lifetime == 6 * MANY.epsilon == given.loss.survey
    with pytest.raises(Refused, match="is over"):
        donate(device, periods, 4)
    with pytest.raises(Refused, match="begins on 2025-11-18"):
        donate(device, periods, 0)


def test_memoized_coins_are_flipped_once(device: Device) -> None:
    periods = days("memoized")
    given = [donate(device, periods, day) for day in (1, 1, 2, 3)]
    assert len({each.donation.report[2:] for each in given}) == 1 and given[-1].donation.lifetime == MANY.epsilon
    assert given[0].donation.id == given[1].donation.id and len({each.donation.id for each in given}) == 3
    other = donate(device, periods, 3, "8")
    assert other.donation.report[2:] != given[0].donation.report[2:] and (other.index, other.left) == (1, 0)
    assert other.donation.lifetime == 2 * MANY.epsilon
    with pytest.raises(BudgetExceeded):
        donate(device, periods, 3, "9")
    assert donate(device, periods, 3, "8").donation.repeated


def test_a_donation_that_did_not_arrive_takes_its_place(device: Device) -> None:
    """Who changes the answer before sending has drawn twice: both count."""
    periods = days("fresh")
    first, second = donate(device, periods, 1, "7"), donate(device, periods, 1, "8")
    assert (first.index, second.index) == (0, 1)
    with pytest.raises(BudgetExceeded):
        donate(device, periods, 1, "9")
    assert donate(device, periods, 1, "7").donation.report == first.donation.report


def test_a_clock_that_is_set_back_gives_no_new_donations(device: Device) -> None:
    periods = days("fresh", donations=1)
    for day in (1, 2, 3):
        device.arrived(donate(device, periods, day))
    for day in (3, 2, 1):
        with pytest.raises(BudgetExceeded):
            donate(device, periods, day)


def test_a_survey_that_changes_its_terms_is_refused(device: Device) -> None:
    periods = days("fresh")
    donate(device, periods, 1)
    for other in (replace(periods, donations=100), replace(periods, periods=9), replace(periods, coins="memoized")):
        with pytest.raises(Refused, match="first agreed to"):
            donate(device, other, 1)
    with pytest.raises(Refused, match="first agreed to"):
        device.donate("s", COINS, periods, "yes", now=START)
    with pytest.raises(Refused, match="first agreed to"):  # its periods are gone: another draw beside what was shown
        device.answer("s", MANY, "7")
    assert device.answer("another", MANY, "7").report


def test_devices_that_donate_at_once_keep_the_limit(device: Device) -> None:
    periods = days("fresh", donations=3)

    def one(answer: int) -> bool:
        try:
            donate(device, periods, 1, str(answer))
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(8))) == 3
    with closing(sqlite3.connect(device.folder / "device.sqlite")) as store:
        assert store.execute("SELECT count(*) FROM donations").fetchone() == (3,)


def test_the_device_s_own_limits_hold_too(device: Device) -> None:
    periods = days("fresh")
    device.arrived(donate(device, periods, 1, lifetime="4"))
    device.arrived(donate(device, periods, 2, lifetime="4"))
    with pytest.raises(BudgetExceeded, match="lifetime limit"):
        donate(device, periods, 3, lifetime="4")
    with pytest.raises(BudgetExceeded, match="limit of 1 new report"):
        donate(device, periods, 3, limit=1, period=timedelta(days=30))


def test_rappor_sends_a_fresh_report_of_its_kept_bits_in_each_period(device: Device) -> None:
    made = BasicRappor([str(code) for code in range(200)], epsilon="2", once="0.7")
    periods = days("memoized", periods=5, donations=1)
    given = [device.donate("s", made, periods, "7", now=START + day * DAY) for day in range(5)]
    assert len({each.donation.report[2:] for each in given}) == 5
    spent = [min((day + 1) * made.once, made.epsilon) for day in range(5)]
    assert [each.donation.lifetime for each in given] == spent and given[-1].loss.unchanged == spent[-1]


def _limit_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    original: Callable[..., Any] = device_module._find_slot

    def unlimited(*arguments: Any) -> Any:
        return original(*arguments[:-1], replace(arguments[-1], donations=1000))

    monkeypatch.setattr(device_module, "_find_slot", unlimited)


def _memo_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    original: Callable[..., Any] = device_module._DrawnReport.find

    def redrawn(*arguments: Any, fresh: bool) -> Any:
        return original(*arguments, fresh=True)

    monkeypatch.setattr(device_module._DrawnReport, "find", redrawn)


@pytest.mark.parametrize(
    ("mutant", "coins"), [(_limit_ignored, "fresh"), (_memo_redrawn, "memoized")], ids=["limit", "memo"]
)
def test_a_broken_device_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Callable[[pytest.MonkeyPatch], None], coins: str
) -> None:
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        test_the_device_keeps_the_rules_that_the_bound_was_computed_from(tmp_path, coins)
