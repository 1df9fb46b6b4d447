"""Results: the same piece by piece as all at once, told rarely, and with how far to trust them."""

from __future__ import annotations

import re
import sqlite3
import threading

import numpy as np
import pytest

from discreet.errors import StoreFault, UsageError
from discreet.surveys.collector import live_results as module
from discreet.surveys.collector.app import CLIENT
from discreet.surveys.collector.live_results import LiveResults
from discreet.surveys.collector.randomizer_design import NOT_IN_BROWSERS, AnswerDomain, design_randomizer
from discreet.surveys.collector.results import (
    SurveyTally,
    summary,
    takes_words,
    tally_survey,
    tree_intervals,
)
from discreet.surveys.collector.survey_definition import SEVERAL_QUESTION_PROTOCOLS, protocol_classes
from discreet.surveys.protocols.estimate import Mean
from surveys.collector.asked import NO, YES, batch, sent, survey

CHOICES = AnswerDomain(choices=tuple("abcdefg"))
PAIR = AnswerDomain(choices=("a", "b"))
NUMBER = AnswerDomain(low="0", high="10", step="1")
WORDS = AnswerDomain(words=True)


def every_kind():
    """Each protocol that the command line can make, with answers for it."""
    for protocol in protocol_classes():
        for answers, values in (
            (CHOICES, list("abacab") * 50),
            (PAIR, list("ab") * 150),
            (NUMBER, [1, 2, 9] * 100),
            (WORDS, ["x", "y"] * 150),
        ):
            try:
                if answers is PAIR and protocol != "two-coins":
                    continue
                yield design_randomizer(answers, epsilon=2, protocol=protocol).randomizer, values
            except UsageError:
                continue


KINDS = list(every_kind())


def test_every_protocol_is_among_these():
    assert {randomizer.protocol for randomizer, _ in KINDS} == set(protocol_classes()) - set(SEVERAL_QUESTION_PROTOCOLS)


@pytest.mark.thin(10)
@pytest.mark.parametrize(("randomizer", "values"), KINDS, ids=[each.protocol for each, _ in KINDS])
def test_in_pieces_as_all_at_once(randomizer, values):
    reports = randomizer.randomize_all(values)
    tally = SurveyTally(randomizer)
    for start in (0, 1, 100):
        tally.add(reports[start : {0: 1, 1: 100, 100: None}[start]])
    tally.add(reports[:0])
    words = ["x", "y"] if takes_words(randomizer) else None
    found = tally.estimate(words)
    whole = randomizer.estimate(reports, words) if words else randomizer.estimate(reports)
    if randomizer.protocol == "tree":
        whole = whole.ranges(tree_intervals(randomizer))
    assert tally.n == found.n == len(values)
    if isinstance(found, Mean):
        assert (found.value, found.variance) == pytest.approx((whole.value, whole.variance))
    else:
        np.testing.assert_allclose(found.counts, whole.counts)
        np.testing.assert_allclose(found.variances, whole.variances)
    if words:
        assert tally.estimate() is None


def answered(store, yes: int, no: int, **more):
    asked = survey(store, **more)
    store.add([batch(asked, *(sent(YES) for _ in range(yes)), *(sent(NO) for _ in range(no)))])
    return asked


def test_the_figures(file_store):
    asked = answered(file_store, 300, 100)
    told = summary(asked, tally_survey(file_store, asked), confidence=0.9)
    estimate = asked.randomizer.estimate([YES] * 300 + [NO] * 100)
    assert (told["n"], told["minimum"], told["closed"], told["epsilon"]) == (400, 20, False, pytest.approx(1))
    yes = told["estimates"][0]
    assert yes["choice"] == "yes"
    assert yes["share"] == pytest.approx(estimate.shares["yes"])
    assert yes["interval"] == pytest.approx(list(estimate.interval(0.9)["yes"]))
    assert told["plus_minus"] == pytest.approx((yes["interval"][1] - yes["interval"][0]) / 2)
    assert told["fakes"] == {"reports": 4, "could_move": pytest.approx(estimate.moved_by(4))}


def test_so_many_more_answers_halve_the_interval(file_store):
    asked = answered(file_store, 60, 40)
    told = summary(asked, tally_survey(file_store, asked))
    more = answered(file_store, 60 + told["halve"] * 3 // 5, 40 + told["halve"] * 2 // 5)
    assert summary(more, tally_survey(file_store, more))["plus_minus"] == pytest.approx(
        told["plus_minus"] / 2, rel=0.05
    )


def test_fakes_move_a_share_as_far_as_is_said_and_no_further(file_store):
    told, moved = {}, {}
    for fakes in (0, 5):
        asked = answered(file_store, 50 + fakes, 50 - fakes)
        told[fakes] = summary(asked, tally_survey(file_store, asked), fakes=5)
        moved[fakes] = told[fakes]["estimates"][0]["share"]
    assert moved[5] - moved[0] == pytest.approx(told[0]["fakes"]["could_move"])


def test_too_few_wait(file_store):
    asked = answered(file_store, 19, 0)
    told = summary(asked, tally_survey(file_store, asked))
    assert told["waiting"] is True and told["n"] == 19
    assert "estimates" not in told and "mean" not in told
    file_store.add([batch(asked)])
    assert "waiting" not in summary(asked, tally_survey(file_store, asked))


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, float("nan")])
def test_a_confidence_is_between_0_and_1(file_store, confidence):
    asked = answered(file_store, 1, 1)
    with pytest.raises(UsageError, match="confidence"):
        summary(asked, tally_survey(file_store, asked), confidence=confidence)


def test_a_report_that_cannot_have_come_in_is_a_fault(file_store):
    asked = answered(file_store, 30, 0)
    raw = sqlite3.connect(file_store.path, isolation_level=None)
    raw.execute("UPDATE reports SET report = x'07' WHERE place = 3")
    raw.close()
    with pytest.raises(StoreFault, match="another program"):
        tally_survey(file_store, asked)


class Clock:
    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


def test_live_results_read_what_is_new_at_most_once_a_second(file_store, monkeypatch):
    clock, asked = Clock(monkeypatch), answered(file_store, 30, 0, minimum=1)
    reads, real = [], file_store.reports
    monkeypatch.setattr(file_store, "reports", lambda of, after: reads.append(after) or real(of, after=after))
    live = LiveResults(file_store)
    assert live.cached_results(asked.id) is None
    assert live.current_results(asked.id)["n"] == 30
    file_store.add([batch(asked)])
    assert live.current_results(asked.id)["n"] == live.cached_results(asked.id)["n"] == 30
    clock.now += 1.01
    assert live.cached_results(asked.id) is None
    assert live.current_results(asked.id)["n"] == 31
    assert reads == [0, 30]
    file_store.end(asked.id)
    clock.now += 1.01
    assert live.current_results(asked.id)["closed"] is True


def test_a_costly_look_is_taken_more_rarely(file_store, monkeypatch):
    clock, asked = Clock(monkeypatch), answered(file_store, 30, 0, minimum=1)
    real = file_store.reports

    def slow(of, after):
        clock.now += 3
        return real(of, after=after)

    monkeypatch.setattr(file_store, "reports", slow)
    live = LiveResults(file_store)
    live.current_results(asked.id)
    clock.now += 29
    assert live.cached_results(asked.id) is not None
    clock.now += 2
    assert live.cached_results(asked.id) is None


def test_while_one_computes_the_others_get_what_was_there(file_store, monkeypatch):
    clock, asked = Clock(monkeypatch), answered(file_store, 30, 0, minimum=1)
    live = LiveResults(file_store)
    live.current_results(asked.id)
    file_store.add([batch(asked)])
    clock.now += 2
    entered, go, real = threading.Event(), threading.Event(), file_store.reports

    def slow(of, after):
        entered.set()
        assert go.wait(20)
        return real(of, after=after)

    monkeypatch.setattr(file_store, "reports", slow)
    found = []
    thread = threading.Thread(target=lambda: found.append(live.current_results(asked.id)["n"]))
    thread.start()
    assert entered.wait(20)
    assert live.current_results(asked.id)["n"] == 30
    go.set()
    thread.join()
    assert found == [31]


def test_live_results_move_in_steps_so_that_no_single_report_shows(file_store, monkeypatch):
    """The difference of two looks is never one report; what is left over shows when the survey is closed."""
    clock, asked = Clock(monkeypatch), answered(file_store, 15, 0, minimum=20)
    live, seen = LiveResults(file_store), []
    for _ in range(50):
        clock.now += 2
        told = live.current_results(asked.id)
        seen.append((told["received"], None if told.get("waiting") else told["n"], str(told.get("estimates"))))
        file_store.add([batch(asked, sent(NO))])
    assert [n for _, n, _ in seen] == [None] * 5 + [20] * 20 + [40] * 20 + [60] * 5
    assert len({estimates for _, n, estimates in seen if n}) == 3
    file_store.end(asked.id)
    clock.now += 2
    assert live.current_results(asked.id)["n"] == 65


def test_a_tree_is_shown_in_ten_parts(file_store):
    tree = design_randomizer(AnswerDomain(low="0", high="100", step="0.5"), epsilon=4, protocol="tree").randomizer
    asked = survey(file_store, randomizer=tree, minimum=1)
    reports = tree.randomize_all([10] * 3000)
    file_store.add([batch(asked, *(sent(bytes(row)) for row in reports))])
    told = summary(asked, tally_survey(file_store, asked))
    assert [each["choice"] for each in told["estimates"]][:2] == ["0..10", "10.5..20.5"]
    assert len(told["estimates"]) == 10
    assert sum(each["share"] for each in told["estimates"]) == pytest.approx(1)
    few = survey(file_store, randomizer=tree, minimum=1)
    file_store.add([batch(few, sent(bytes(reports[0])))])
    assert summary(few, tally_survey(file_store, few))["waiting"] is True


def test_the_protocols_of_browsers_are_those_of_the_client():
    known = re.findall(r'^  \["([a-z-]+)", \w+\],$', CLIENT.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(protocol_classes()) - set(SEVERAL_QUESTION_PROTOCOLS) - set(known) == NOT_IN_BROWSERS


def test_of_words_that_are_found_no_bound_on_fakes_is_claimed(file_store):
    words = design_randomizer(AnswerDomain(words=True), epsilon=4, protocol="puzzle").randomizer
    asked = survey(file_store, randomizer=words, minimum=1)
    file_store.add([batch(asked, *(sent(bytes(row)) for row in words.randomize_all(["hello"] * 300)))])
    assert summary(asked, tally_survey(file_store, asked))["fakes"] == {"reports": 3, "could_move": 1.0}
    assert summary(asked, tally_survey(file_store, asked), fakes=0)["fakes"]["could_move"] == 0
