"""A survey with periods at its collector: which reports are taken, what each period says, and what changed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.surveys.collector import live_results
from discreet.surveys.collector.intake import CLOCK_SLACK_S, RequestRefusal, read_body
from discreet.surveys.collector.live_results import LiveResults
from discreet.surveys.collector.period_results import (
    PeriodTallies,
    change_interval,
    final_periods,
    period_summary,
    periods_lines,
)
from discreet.surveys.collector.results import tally_new_reports
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.device.report_sender import StoreTarget, report_document
from discreet.surveys.device.respondent_device import Device
from discreet.surveys.protocols.collection_periods import CollectionPeriods, head_bytes
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.randomized_response import TwoCoins
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor
from discreet.surveys.protocols.sketch import HadamardSketch
from surveys.collector.asked import NO, YES, batch, line, lines, sent, survey

DAY = 86_400
START = 20_410 * DAY
COINS = TwoCoins(["yes", "no"])


def days(coins: str = "fresh", *, donations: int = 2, periods: int = 4) -> CollectionPeriods:
    return CollectionPeriods(every="day", donations=donations, periods=periods, coins=coins, start=START)


def asked(store=None, *, randomizer: Randomizer = COINS, minimum: int = 1, coins: str = "fresh") -> Survey:
    return survey(store, randomizer=randomizer, minimum=minimum, periods=days(coins))


def fill(store, of: Survey, day: int, reports) -> None:
    store.add([batch(of, *(sent(head_bytes(day) + bytes(report)) for report in reports))])


def tallied(store, of: Survey) -> PeriodTallies:
    tallies = PeriodTallies(of.randomizer)
    tally_new_reports(store, of, tallies)
    return tallies


@pytest.mark.parametrize(("every", "words"), [("hour", "an hour"), ("day", "a day"), ("week", "a week")])
def test_terms_say_an_hour_and_a_day(every, words):
    periods = CollectionPeriods.beginning(START, every=every, donations=2, periods=4, coins="fresh")
    first, loss = periods_lines(survey(None, randomizer=COINS, minimum=1, periods=periods))
    assert first.endswith(f"at most 2 times {words}") and f"2.19723 {words} and" in loss


# ---------------------------------------------------------------- what is taken


def test_periods_come_back_from_every_store(store):
    made = asked(store, coins="memoized")
    plain = survey(store)
    assert [each.periods for each in store.surveys()] == [made.periods, None]
    assert Survey.from_data(made.to_data()).periods == made.periods and "periods" not in plain.to_data()
    fill(store, made, 258, [YES, NO])
    assert store.reports(made).tolist() == [[1, 2, 0], [1, 2, 1]]


def test_a_store_from_before_there_were_periods_is_used_as_it_is(tmp_path):
    import sqlite3

    from discreet.surveys.collector.sqlite_surveys import open_survey_file

    path = tmp_path / "surveys.sqlite"
    first = open_survey_file(path, make=True)
    old = survey(first)
    first.close()
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE surveys DROP COLUMN periods")
    connection.close()
    again = open_survey_file(path)
    assert again.survey(old.id).periods is None
    made = asked(again)
    assert again.survey(made.id).periods == made.periods
    again.close()


@pytest.mark.parametrize(
    ("day", "now", "taken"),
    [
        (1, START, True),
        (1, START + DAY, True),
        (1, START + 2 * DAY - 1, True),
        (1, START + 2 * DAY, False),
        (2, START + DAY - CLOCK_SLACK_S, True),
        (2, START + DAY - CLOCK_SLACK_S - 1, False),
        (0, START, False),
        (5, START + 4 * DAY, False),
        (4, START + 4 * DAY, True),
        (1, START - DAY, False),
    ],
)
def test_a_report_is_taken_in_its_period_and_the_next(day, now, taken):
    of = asked()
    body = lines(line(of, report=head_bytes(day) + YES))
    if taken:
        assert read_body(body, of, now=now).batch.reports[0].report == head_bytes(day) + YES
        return
    with pytest.raises(RequestRefusal, match=f"This report is for day {day};") as refused:
        read_body(body, of, now=now)
    assert refused.value.status == 400


def test_what_else_is_no_report_of_a_period():
    of = asked()
    for report in (YES, head_bytes(1), head_bytes(1) + b"\x02", head_bytes(1) + YES + YES):
        with pytest.raises(RequestRefusal):
            read_body(lines(line(of, report=report)), of, now=START)
    with pytest.raises(RequestRefusal, match="day 9") as refused:
        read_body(lines(line(of, report=head_bytes(1) + YES), line(of, report=head_bytes(9) + YES)), of, now=START)
    assert refused.value.line == 2


def test_a_donation_that_is_sent_twice_counts_once(file_store, tmp_path):
    of, phone = asked(file_store), Device(tmp_path / "phone")
    told = []
    for day in (1, 1, 2):
        now = START + (day - 1) * DAY
        given = phone.donate(of.id, of.randomizer, of.periods, "yes", now=now)
        for _ in range(2):
            document = report_document(of, given.donation.id, given.donation.report)
            told.append(StoreTarget(file_store, now=now).send(of, document)["accepted"])
        phone.arrived(given)
    assert told == [1, 0] * 3 and file_store.count(of.id) == 3
    assert {number: tally.n for number, tally in tallied(file_store, of).periods.items()} == {1: 2, 2: 1}


# ---------------------------------------------------------------- what it says


def test_each_period_has_its_own_estimate_and_changes_have_intervals(file_store):
    of = asked(file_store, minimum=20)
    counts = {1: (300, 100), 2: (200, 200), 3: (5, 5)}
    for day, (yes, no) in counts.items():
        fill(file_store, of, day, [YES] * yes + [NO] * no)
    told = period_summary(of, tallied(file_store, of), now=START + 2 * DAY)
    assert [(each["period"], each["begin"], each["n"], each["waiting"]) for each in told["periods"]] == [
        (1, "2025-11-18", 400, False), (2, "2025-11-19", 400, False), (3, "2025-11-20", 10, True),
    ]  # fmt: skip
    shares = [each["estimates"][0]["share"] for each in told["periods"][:2]]
    assert shares == pytest.approx([2 * 0.75 - 0.5, 2 * 0.5 - 0.5])
    yes, no = told["changes"]
    assert (yes["first"], yes["last"], yes["choice"], yes["change"]) == (1, 2, "yes", pytest.approx(-0.5))
    assert yes["interval"][0] < -0.5 < yes["interval"][1] < 0 and no["change"] == pytest.approx(0.5)
    # Two periods: each interval has half the doubt.
    alone = COINS.estimate([YES] * 300 + [NO] * 100).interval(0.975)["yes"]
    assert told["periods"][0]["estimates"][0]["interval"] == pytest.approx(list(alone))
    assert told["loss"] == {
        "donation": 1.098612289,
        "per_period": 2.197224578,
        "over_survey": 8.78889831,
        "unchanged": 8.78889831,
    }


def test_many_periods_share_the_doubt(file_store):
    of = asked(file_store)
    for day in (1, 2, 3, 4):
        fill(file_store, of, day, [YES] * 30 + [NO] * 30)
    told = period_summary(of, tallied(file_store, of), now=START + 9 * DAY, confidence=0.9)
    level = COINS.estimate([YES] * 30 + [NO] * 30).interval(1 - 0.1 / 4)["yes"]
    assert {tuple(each["estimates"][0]["interval"]) for each in told["periods"]} == {level}
    assert [(each["first"], each["last"]) for each in told["changes"][::2]] == [(1, 2), (2, 3), (3, 4), (1, 4)]
    ends = COINS.estimate([YES] * 30 + [NO] * 30).interval(1 - 0.1 / 4)["yes"]
    assert told["changes"][0]["interval"] == pytest.approx([ends[0] - ends[1], ends[1] - ends[0]])


@pytest.mark.parametrize(
    ("randomizer", "values"),
    [(Duchi(low=0, high=10, step=1, epsilon=2), [3] * 60), (BasicRappor(["a", "b"], epsilon=3), ["a", "b"] * 30)],
    ids=["mean", "rappor"],
)
def test_numbers_and_rappor_have_periods_too(file_store, randomizer, values):
    of = asked(file_store, randomizer=randomizer, coins="memoized")
    for day in (1, 2):
        fill(file_store, of, day, randomizer.randomize_all(values))
    told = period_summary(of, tallied(file_store, of), now=START + DAY)
    assert len(told["changes"]) == (1 if isinstance(randomizer, Duchi) else 2)
    assert all(low <= each["change"] <= high for each in told["changes"] for low, high in [each["interval"]])


def test_words_are_estimated_once_they_are_named(file_store):
    randomizer = HadamardSketch(epsilon=4)
    of = asked(file_store, randomizer=randomizer)
    fill(file_store, of, 1, randomizer.randomize_all(["🎉"] * 200))
    waiting = period_summary(of, tallied(file_store, of), now=START)
    assert waiting["words"] and waiting["periods"][0]["waiting"]
    told = period_summary(of, tallied(file_store, of), now=START, words=["🎉", "x"])
    assert [each["choice"] for each in told["periods"][0]["estimates"]] == ["🎉", "x"]


def test_the_public_page_shows_a_period_once_it_is_final(file_store, monkeypatch):
    of = asked(file_store)
    for day in (1, 2, 3):
        fill(file_store, of, day, [YES] * 30)
    monkeypatch.setattr(live_results, "REST_S", 0.0)
    monkeypatch.setattr(live_results, "SHARE", 1e9)
    shown = []
    for now in (START, START + 2 * DAY - 1, START + 2 * DAY, START + 3 * DAY, START + 99 * DAY):
        monkeypatch.setattr("discreet.surveys.collector.period_results.time.time", lambda now=now: now)
        told = LiveResults(file_store).current_results(of.id)
        shown.append([each["period"] for each in told["periods"]])
        assert told["waiting"] is (len(shown[-1]) == 0) and told["received"] == 90
    assert shown == [[], [], [1], [1, 2], [1, 2, 3, 4]]
    assert [final_periods(days(), START + day * DAY) for day in range(-1, 8)] == [0, 0, 0, 1, 2, 3, 4, 4, 4]


def test_what_no_confidence_is_is_refused():
    with pytest.raises(UsageError):
        period_summary(asked(), PeriodTallies(COINS), confidence=1.5)


# ---------------------------------------------------------------- how far a change's interval can be trusted


def _law(people: int, yes: int) -> list[float]:
    """The chance of each number of reports that say yes, where so many of the people do."""
    own = [math.comb(yes, k) * 0.75**k * 0.25 ** (yes - k) for k in range(yes + 1)]
    other = [math.comb(people - yes, k) * 0.25**k * 0.75 ** (people - yes - k) for k in range(people - yes + 1)]
    return np.convolve(own, other).tolist()


@pytest.mark.parametrize("people", [10, 40])
def test_intervals_of_changes_cover_the_change(people):
    """By exact sums over all reports of two periods; with memoized coins also for people who send the same again."""
    ends = {
        said: COINS.estimate([YES] * said + [NO] * (people - said)).interval(0.975)["yes"] for said in range(people + 1)
    }
    intervals = {
        (one, two): change_interval(ends[one], ends[two]) for one, two in itertools.product(range(people + 1), repeat=2)
    }
    worst = 1.0
    for first, last in itertools.product(range(0, people + 1, people // 5), repeat=2):
        truth, laws = Fraction(last - first, people), (_law(people, first), _law(people, last))
        covered = sum(
            laws[0][one] * laws[1][two] for (one, two), (low, high) in intervals.items() if low <= truth <= high
        )
        worst = min(worst, covered)
    assert worst >= 0.95
    # The same people send the same reports: nothing changes, and 0 is always within.
    assert all(intervals[said, said][0] <= 0 <= intervals[said, said][1] for said in range(people + 1))
