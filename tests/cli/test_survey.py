"""`discreet survey`, end to end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
import yaml

from clinic import run, say
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.collector.survey_store import ReportBatch
from discreet.surveys.device import report_sender
from discreet.surveys.protocols.collection_periods import head_bytes
from surveys.collector.asked import line, lines, sent
from surveys.collector.serving import ask, served
from surveys.midnight import stay_within_a_day

DRINKING = ("survey", "new", "Did you go out drinking?", "--choices", "yes,no", "--epsilon", "1.1")


@pytest.fixture
def asked(tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, *DRINKING)
    assert code == 0
    return told["survey"]


def fill(folder, id_, reports):
    store = open_survey_store(None, folder)
    store.add([ReportBatch(id_, tuple(sent(report) for report in reports))])
    store.close()


def test_new_says_what_was_picked_and_why(tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, *DRINKING)
    assert code == 0
    assert (told["protocol"], told["bytes"], told["minimum"], told["tokens"]) == ("response", 1, 20, False)
    assert told["epsilon"] <= 1.1
    assert told["epsilon"] == pytest.approx(1.1, abs=1e-6)
    assert "response" in told["because"]
    code, out, _ = say(capsys, tmp_path, *DRINKING)
    assert code == 0
    assert "epsilon 1.1" in out and "discreet survey serve" in out


@pytest.mark.parametrize(("epsilon", "odds"), [("8", "e^epsilon = 2,981"), ("3.1", "e^epsilon = 22"), ("2.9", "")])
def test_an_epsilon_that_protects_little_is_noted(tmp_path, capsys, epsilon, odds):
    """It is no error: who asks may have a reason. What it means is said in a number."""
    code, out, err = say(capsys, tmp_path, *DRINKING[:-1], epsilon)
    told = " ".join(err.split())
    assert code == 0 and "created survey" in out and "note:" not in out
    assert (f"note: epsilon {epsilon} gives a respondent little protection" in told and odds in told) == bool(odds)


def test_two_coins_and_ln_3_are_understood(tmp_path, capsys):
    code, told, _ = run(capsys, tmp_path, *DRINKING[:-2], "--protocol", "two-coins")
    assert code == 0 and (told["protocol"], told["epsilon"], told["browser"]) == ("two-coins", 1.098612289, True)
    code, same, _ = run(capsys, tmp_path, *DRINKING[:-1], "ln 3", "--protocol", "two-coins")
    assert code == 0 and same["epsilon"] == told["epsilon"]
    code, response, _ = run(capsys, tmp_path, *DRINKING[:-1], "ln 3")
    assert code == 0 and (response["protocol"], response["epsilon"]) == ("response", told["epsilon"])
    device = ("--device", str(tmp_path / "phone"))
    code, given, _ = run(
        capsys, tmp_path, "survey", "answer", told["survey"], "yes", *device, "--lifetime", "ln 3", "--dry-run"
    )
    assert code == 0 and given["epsilon"] == told["epsilon"]
    for wrong in (("--epsilon", "1"), ("--epsilon", "ln 2")):
        code, _, err = say(capsys, tmp_path, *DRINKING[:-2], "--protocol", "two-coins", *wrong)
        assert code == 2 and "Two fair coins cost epsilon ln 3 = 1.09862" in " ".join(err.split())
    for epsilon, says in (("2", True), ("1.1", False)):
        code, out, _ = say(capsys, tmp_path, *DRINKING[:-1], epsilon, "--protocol", "two-coins")
        assert code == 0 and ("so the rest of 2 is not used" in " ".join(out.split())) is says
    code, _, err = say(capsys, tmp_path, "survey", "new", "?", "--choices", "a,b,c", "--protocol", "two-coins")
    assert code == 2 and "Two coins choose between two answers" in err


DAILY = ("--protocol", "two-coins", "--every", "day", "--donations", "2", "--periods", "3", "--minimum", "1")


def test_a_survey_is_collected_every_day(tmp_path, capsys):
    stay_within_a_day()
    code, told, _ = run(capsys, tmp_path, *DRINKING[:-2], *DAILY)
    assert code == 0
    assert (told["every"], told["donations"], told["periods"], told["coins"]) == ("day", 2, 3, "memoized")
    loss = {"donation": 1.098612289, "per_period": 2.197224578, "over_survey": 2.197224578, "unchanged": 1.098612289}
    assert told["loss"] == loss and told["bytes"] == 3
    id_, device = told["survey"], ("--device", str(tmp_path / "phone"))
    code, terms, _ = run(capsys, tmp_path, "survey", "answer", id_)  # what it costs, before anything is answered
    assert code == 0 and terms["loss"] == loss and terms["sent"] is False and "report" not in terms
    code, out, _ = say(capsys, tmp_path, "survey", "answer", id_)
    assert code == 0 and "over 3 days, 1.09862 while the answer stays the same" in " ".join(out.split())
    given = [run(capsys, tmp_path, "survey", "answer", id_, answer, *device)[1] for answer in ("yes", "yes", "no")]
    assert [(each["accepted"], each["repeated"], each["left"]) for each in given] == [(1, 0, 1), (0, 1, 1), (1, 0, 0)]
    assert given[0]["report"] == given[1]["report"] and given[2]["lifetime"] == loss["over_survey"]
    assert given[0]["says"] in (["yes"], ["no"])
    for by in ((), ("--by", "period")):
        code, found, _ = run(capsys, tmp_path, "survey", "estimate", id_, *by)
        assert code == 0 and found["by"] == "period" and found["periods"][0]["n"] == 2 and found["changes"] == []
    code, out, _ = say(capsys, tmp_path, "survey", "estimate", id_)
    assert code == 0 and "all intervals of days and changes hold together" in " ".join(out.split())


def test_fresh_donations_beyond_the_limit_are_refused_and_a_large_total_needs_agreement(tmp_path, capsys):
    stay_within_a_day()
    code, told, _ = run(capsys, tmp_path, *DRINKING[:-2], *DAILY, "--coins", "fresh")
    assert code == 0 and told["loss"]["over_survey"] == 6.591673733
    answer = ("survey", "answer", told["survey"], "yes", "--device", str(tmp_path / "phone"))
    code, _, err = say(capsys, tmp_path, *answer)
    assert code == 2 and "Over its 3 periods this survey can cost this device epsilon 6.59168" in " ".join(err.split())
    agreed = (*answer, "--lifetime", "6 ln 3")
    assert [run(capsys, tmp_path, *agreed)[1]["left"] for _ in range(2)] == [1, 0]
    code, _, err = say(capsys, tmp_path, *agreed)
    assert code == 4 and "made its 2 donations to this survey for this day" in " ".join(err.split())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--every", "month"), "every hour, day or week"),
        (("--donations", "2"), "collected again and again"),
        (("--coins", "fresh"), "collected again and again"),
        (("--periods", "2"), "collected again and again"),
        (("--every", "day", "--coins", "old"), "memoized or fresh"),
        (("--every", "day", "--donations", "0"), "1 to 1,000 donations"),
        (("--every", "day", "--periods", "0"), "1 to 10,000 periods"),
        (("--every", "day", "--coins", "fresh", "--protocol", "basic-rappor"), "needs memoized coins"),
    ],
)
def test_periods_that_nobody_means_are_refused(tmp_path, capsys, more, words):
    code, _, err = say(capsys, tmp_path, *DRINKING, *more)
    assert code == 2 and words in " ".join(err.split())


def test_estimates_by_what_there_is_not_are_refused(tmp_path, capsys, asked):
    for by, words in (("period", "has no periods"), ("sex", "can be by period, not by 'sex'")):
        code, _, err = say(capsys, tmp_path, "survey", "estimate", asked, "--by", by)
        assert code == 2 and words in err
    code, told, _ = run(capsys, tmp_path, *DRINKING, "--every", "day")
    assert code == 0 and told["periods"] == 30
    code, _, err = say(capsys, tmp_path, "survey", "estimate", told["survey"])
    assert code == 3 and "No period has enough reports yet: each needs 20" in " ".join(err.split())


def test_respondents_are_told_who_asks(tmp_path, capsys, asked):
    code, told, _ = run(capsys, tmp_path, *DRINKING, "--asker", " The city clinic ")
    assert code == 0 and told["asker"] == "The city clinic"
    store = open_survey_store(None, tmp_path)
    with served(store) as port:
        found = [ask(port, f"/surveys/{id_}.json")[2]["asker"] for id_ in (told["survey"], asked)]
    store.close()
    assert found == ["The city clinic", ""]
    code, out, _ = say(capsys, tmp_path, *DRINKING, "--asker", "The city clinic")
    assert code == 0 and "\n  respondents read: The city clinic asks.\n" in out
    assert "asks." not in say(capsys, tmp_path, *DRINKING)[1]
    for wrong in ("x" * 121, "two\nlines", "a\x1b[31mred"):
        code, told, _ = run(capsys, tmp_path, *DRINKING, "--asker", wrong)
        assert code == 2 and "The asker must be one line" in told["reason"]


@pytest.mark.parametrize(
    ("flags", "protocol"),
    [
        (("--choices", ",".join(f"c{number}" for number in range(500)), "--epsilon", "2"), "hashing"),
        (("--choices", "a,b,c", "--epsilon", "1", "--protocol", "unary"), "unary"),
        (("--low", "0", "--high", "100", "--step", "0.5", "--epsilon", "1"), "hybrid"),
        (("--low", "-10", "--high", "10", "--step", "1", "--epsilon", "1", "--protocol", "duchi"), "duchi"),
        (("--words", "--epsilon", "4"), "hadamard-sketch"),
        (("--words", "--epsilon", "4", "--protocol", "sketch"), "sketch"),
    ],
)
def test_every_sort_of_answer_from_new_to_estimate(tmp_path, capsys, flags, protocol):
    code, told, _ = run(capsys, tmp_path, "survey", "new", "What?", *flags, "--minimum", "2")
    assert code == 0
    assert told["protocol"] == protocol
    id_ = told["survey"]
    answer = {"--choices": "c7" if "c7" in flags[1] else "a", "--low": "7", "--words": "naïve 🙂"}[flags[0]]
    for number in range(2):
        device = ("--device", str(tmp_path / f"device {number}"))
        code, told, _ = run(capsys, tmp_path, "survey", "answer", id_, answer, *device)
        assert (code, told["accepted"]) == (0, 1)
    (tmp_path / "words").write_text("naïve 🙂\nother\n\n")
    asking = ("--words", str(tmp_path / "words")) if flags[0] == "--words" else ()
    code, told, _ = run(capsys, tmp_path, "survey", "estimate", id_, *asking)
    assert (code, told["n"]) == (0, 2)
    if flags[0] == "--low":
        assert len(told["interval"]) == 2 and isinstance(told["mean"], float)
    else:
        assert answer in [each["choice"] for each in told["estimates"]]
    code, out, _ = say(capsys, tmp_path, "survey", "estimate", id_, *asking)
    assert code == 0 and "would halve" in out


def test_an_answer_is_the_same_bytes_dry_or_not_and_counts_once(tmp_path, capsys, asked):
    first = run(capsys, tmp_path, "survey", "answer", asked, "yes", "--dry-run")
    assert first[1]["sent"] is False
    code, told, _ = run(capsys, tmp_path, "survey", "answer", asked, "yes")
    assert (code, told["sent"], told["accepted"], told["repeated"]) == (0, True, 1, 0)
    again = run(capsys, tmp_path, "survey", "answer", asked, "yes")[1]
    assert (again["accepted"], again["repeated"]) == (0, 1)
    assert {each["report"] for each in (first[1], told, again)} == {told["report"]}
    assert {each["id"] for each in (first[1], told, again)} == {told["id"]}
    assert told["says"] in (["yes"], ["no"])
    other = run(capsys, tmp_path, "survey", "answer", asked, "no")[1]
    assert (other["id"], other["repeated"]) == (told["id"], 1)  # the same person: the first stays
    assert other["lifetime"] == pytest.approx(2 * told["lifetime"])
    assert open_survey_store(None, tmp_path).count(asked) == 1


def test_an_answer_in_words(tmp_path, capsys, asked):
    code, out, _ = say(capsys, tmp_path, "survey", "answer", asked, "yes", "--dry-run")
    assert code == 0
    assert "would send" in out and "33.3 times" in out and "nothing was sent" in out
    code, out, _ = say(capsys, tmp_path, "survey", "answer", asked, "yes")
    assert "sent" in out
    code, out, _ = say(capsys, tmp_path, "survey", "answer", asked, "yes")
    assert "counts once" in out


def test_a_persons_own_limits(tmp_path, capsys, asked):
    other = run(capsys, tmp_path, *DRINKING)[1]["survey"]
    assert run(capsys, tmp_path, "survey", "answer", asked, "yes", "--lifetime", "2")[0] == 0
    code, told, _ = run(capsys, tmp_path, "survey", "answer", other, "yes", "--lifetime", "2")
    assert (code, told["accepted"]) == (4, False)
    code, told, _ = run(capsys, tmp_path, "survey", "answer", other, "yes", "--limit", "1", "--period", "7")
    assert code == 4
    assert run(capsys, tmp_path, "survey", "answer", asked, "yes", "--limit", "1")[0] == 0  # a repeat is free


def test_an_estimate(tmp_path, capsys, asked):
    fill(tmp_path, asked, [b"\0"] * 30 + [b"\1"] * 10)
    code, told, _ = run(capsys, tmp_path, "survey", "estimate", asked, "--confidence", "0.5", "--fakes", "3")
    assert (code, told["n"], told["confidence"], told["fakes"]["reports"]) == (0, 40, 0.5, 3)
    yes, no = told["estimates"]
    assert (yes["choice"], no["choice"]) == ("yes", "no")
    assert yes["share"] + no["share"] == pytest.approx(1)
    assert yes["interval"][0] <= yes["share"] <= yes["interval"][1]
    code, out, _ = say(capsys, tmp_path, "survey", "estimate", asked)
    assert "Did you go out drinking?" in out and "fake reports" in out


def test_too_few_reports_are_refused(tmp_path, capsys, asked):
    fill(tmp_path, asked, [b"\0"] * 19)
    code, told, _ = run(capsys, tmp_path, "survey", "estimate", asked)
    assert (code, told["accepted"]) == (3, False)
    assert "19 reports" in told["reason"]


def test_closing_is_for_good(tmp_path, capsys, asked):
    fill(tmp_path, asked, [b"\0"] * 25)
    assert run(capsys, tmp_path, "survey", "close", asked)[1] == {"survey": asked, "closed": True, "n": 25}
    assert run(capsys, tmp_path, "survey", "close", asked)[0] == 0
    code, told, _ = run(capsys, tmp_path, "survey", "answer", asked, "yes")
    assert (code, told["reason"]) == (3, "This survey is closed.")
    assert run(capsys, tmp_path, "survey", "estimate", asked)[1]["closed"] is True
    (listed,) = run(capsys, tmp_path, "survey", "list")[1]["surveys"]
    assert (listed["n"], listed["closed"]) == (25, True)
    assert "closed" in say(capsys, tmp_path, "survey", "list")[1]


def test_tokens(tmp_path, capsys):
    id_ = run(capsys, tmp_path, *DRINKING, "--tokens")[1]["survey"]
    code, told, _ = run(capsys, tmp_path, "survey", "tokens", id_, "-n", "3")
    assert code == 0
    assert len({*told["tokens"]}) == 3
    code, out, _ = say(capsys, tmp_path, "survey", "tokens", id_, "-n", "1", "--url", "https://ask.example/")
    assert out.startswith(f"https://ask.example/s/{id_}#token=")
    code, told, _ = run(capsys, tmp_path, "survey", "answer", id_, "yes")
    assert (code, "token" in told["reason"]) == (2, True)
    token = out.strip().partition("=")[2]
    assert run(capsys, tmp_path, "survey", "answer", id_, "yes", "--token", token)[0] == 0
    plain = run(capsys, tmp_path, *DRINKING)[1]["survey"]
    assert run(capsys, tmp_path, "survey", "tokens", plain, "-n", "1")[0] == 2


@pytest.mark.thin(16)
@pytest.mark.parametrize(
    "words",
    [
        ("new", "?", "--epsilon", "1"),
        ("new", "?", "--choices", "a,b"),
        ("new", "?", "--choices", "a", "--epsilon", "1"),
        ("new", "?", "--choices", "a,,b", "--epsilon", "1"),
        ("new", "?", "--choices", "a,a", "--epsilon", "1"),
        ("new", "?", "--choices", "a,b", "--words", "--epsilon", "1"),
        ("new", "?", "--low", "1", "--epsilon", "1"),
        ("new", "?", "--low", "1", "--high", "0", "--step", "1", "--epsilon", "1"),
        ("new", "?", "--choices", "a,b", "--epsilon", "0"),
        ("new", "?", "--choices", "a,b", "--epsilon", "nan"),
        ("new", "?", "--choices", "a,b", "--epsilon", "100"),
        ("new", "?", "--choices", "a,b", "--epsilon", "-1"),
        ("new", "?", "--choices", "a,b", "--epsilon", "1", "--minimum", "0"),
        ("new", "?", "--choices", "a,b", "--epsilon", "1", "--protocol", "magic"),
        ("new", "?", "--choices", "a,b", "--epsilon", "1", "--protocol", "duchi"),
        ("new", "?", "--words", "--epsilon", "1", "--protocol", "unary"),
        ("new", "?", "--words", "--epsilon", "1", "--protocol", "sampled"),
        ("new", "", "--choices", "a,b", "--epsilon", "1"),
        ("answer", "aaaaaaaaaa", "yes"),
        ("answer", "ID", "maybe"),
        ("answer", "ID", "yes", "--url", "ftp://x"),
        ("estimate", "aaaaaaaaaa"),
        ("estimate", "ID", "--confidence", "1"),
        ("estimate", "ID", "--confidence", "x"),
        ("estimate", "ID", "--fakes", "-1"),
        ("estimate", "ID", "--words", "nowhere.txt"),
        ("close", "aaaaaaaaaa"),
        ("tokens", "aaaaaaaaaa", "-n", "1"),
        ("tokens", "ID", "-n", "0"),
        ("serve", "--port", "70000"),
        ("serve", "--host", "no such host"),
        ("list", "--store", "mysql://x"),
    ],
)
def test_wrong_usage_is_one_sentence(tmp_path, capsys, asked, words):
    fill(tmp_path, asked, [b"\0"] * 25)
    code, told, err = run(capsys, tmp_path, "survey", *(asked if word == "ID" else word for word in words))
    assert code == 2
    assert told["reason"] and "\n" not in told["reason"]
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", [("list",), ("estimate", "aaaaaaaaaa"), ("close", "aaaaaaaaaa")])
def test_nothing_is_made_where_there_are_no_surveys(tmp_path, capsys, verb):
    code, _, _ = run(capsys, tmp_path, "survey", *verb)
    assert code == 2
    assert os.listdir(tmp_path) == []


def test_a_store_by_name_or_environment(tmp_path, capsys, monkeypatch):
    place = str(tmp_path / "elsewhere.sqlite")
    id_ = run(capsys, tmp_path, *DRINKING, "--store", place)[1]["survey"]
    monkeypatch.setenv("DISCREET_SURVEYS", place)
    assert [each["survey"] for each in run(capsys, tmp_path, "survey", "list")[1]["surveys"]] == [id_]


def test_answering_a_collector_at_an_address(tmp_path, capsys, asked):
    store = open_survey_store(None, tmp_path)
    empty = tmp_path / "somewhere else"
    empty.mkdir()
    with served(store) as port:
        there = ("--url", f"http://127.0.0.1:{port}/")
        dry = run(capsys, empty, "survey", "answer", asked, "yes", *there, "--dry-run")[1]
        code, told, _ = run(capsys, empty, "survey", "answer", asked, "yes", *there)
        assert (code, told["accepted"], told["report"]) == (0, 1, dry["report"])
        assert run(capsys, empty, "survey", "answer", "aaaaaaaaaa", "yes", *there)[0] == 2
        store.end(asked)
        assert run(capsys, empty, "survey", "answer", asked, "yes", *there)[0] == 3
    code, told, _ = run(capsys, empty, "survey", "answer", asked, "yes", *there)
    assert code == 5
    assert "reached" in told["reason"] and "same bytes" in told["hint"]
    assert os.listdir(empty) == []
    store.close()


def test_a_collector_that_is_none_or_lies(tmp_path, capsys, asked, monkeypatch):
    store = open_survey_store(None, tmp_path)
    honest = Survey.to_data
    with served(store) as port:
        for lie in ({"randomizer": {"protocol": "response"}}, {"version": 7}, {"survey": "b" * 10}):
            monkeypatch.setattr(Survey, "to_data", lambda survey, lie=lie: honest(survey) | lie)
            code, _, _ = run(capsys, tmp_path, "survey", "answer", asked, "yes", "--url", f"http://127.0.0.1:{port}")
            assert code == 2
        monkeypatch.undo()
        monkeypatch.setattr(report_sender, "MOST_RESPONSE_BYTES", 10)
        assert run(capsys, tmp_path, "survey", "answer", asked, "yes", "--url", f"http://127.0.0.1:{port}")[0] == 2
    assert store.count(asked) == 0
    store.close()


def test_serve_until_interrupted(tmp_path, asked):
    words = ["survey", "serve", "--port", "0", "--project", str(tmp_path), "--json"]
    command = [sys.executable, "-c", "from discreet.cli import run; run()", *words]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = json.loads(server.stdout.readline())
    (listed,) = told["surveys"]
    assert listed == {
        "survey": asked,
        "url": f"{told['url']}/s/{asked}",
        "results": f"{told['url']}/s/{asked}/results",
    }
    port = int(told["url"].rpartition(":")[2])
    survey = open_survey_store(None, tmp_path).survey(asked)
    assert ask(port, f"/collect/{asked}", lines(line(survey)))[0] == 200
    with urllib.request.urlopen(listed["url"]) as page:
        assert b"<html" in page.read()
    server.send_signal(signal.SIGINT)
    out, err = server.communicate(timeout=30)
    assert (server.returncode, out) == (0, "")
    assert err.strip() == "stopped; every acknowledged report is stored"
    assert open_survey_store(None, tmp_path).count(asked) == 1


def test_a_port_in_use_is_one_sentence(tmp_path, capsys, asked):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, told, _ = run(capsys, tmp_path, "survey", "serve", "--port", str(port))
    assert code == 2
    assert told["reason"] == f"Port {port} of 127.0.0.1 cannot be used: address already in use."
    assert "--port" in told["hint"]


def test_a_card_is_the_same_in_yaml_and_in_json(tmp_path, capsys):
    code, told, _ = run(
        capsys, tmp_path, *DRINKING, "--asker", 'The "city": no', "--every", "day", "--periods", "7", "--coins", "fresh"
    )
    id_ = told["survey"]
    (tmp_path / "about.toml").write_text('region = "North"\nname = "Drinks"\n')
    flags = ("survey", "card", id_, "--about", str(tmp_path / "about.toml"), "--intended-use", "health")
    code, card, _ = run(capsys, tmp_path, *flags)
    assert code == 0 and card["url_slug"] == id_
    product = card["deployment"]["product"]
    assert (product["name"], product["data_product_region"], product["intended_use"]) == ("Drinks", "North", "health")
    assert product["data_curators"] == ['The "city": no'] and len(product["publication_date"]) == 10
    assert card["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"] == pytest.approx(7.7, rel=1e-5)
    code, out, _ = say(capsys, tmp_path, *flags)
    assert code == 0 and yaml.safe_load(out) == card


def test_a_card_is_named_by_its_question_and_bad_input_is_a_sentence(asked, tmp_path, capsys):
    code, card, _ = run(capsys, tmp_path, "survey", "card", asked)
    assert code == 0 and card["deployment"]["product"]["name"] == "Did you go out drinking?"
    assert card["deployment"]["product"]["data_curators"] == ["not stated"]
    code, _, err = say(capsys, tmp_path, "release", "card", asked)
    assert code == 2 and f"discreet survey card {asked}" in " ".join(err.split())
    code, _, err = say(capsys, tmp_path, "survey", "card", "zzzzzzzzzz")
    assert code == 2 and "Traceback" not in err


def test_a_trend_is_shown_from_three_days_on(tmp_path, capsys):
    _, told, _ = run(
        capsys, tmp_path, "survey", "new", "Bad night?", "--choices", "yes,no", "--protocol", "two-coins",
        "--every", "day", "--coins", "fresh",
    )  # fmt: skip
    for day, yes in ((1, 600), (2, 500)):
        fill(tmp_path, told["survey"], [head_bytes(day) + bytes([each >= yes]) for each in range(800)])
    estimate = ("survey", "estimate", told["survey"], "--by", "period")
    code, out, _ = say(capsys, tmp_path, *estimate)
    assert code == 0 and "trend" not in out
    fill(tmp_path, told["survey"], [head_bytes(4) + bytes([each >= 400]) for each in range(800)])
    code, out, _ = say(capsys, tmp_path, *estimate)
    assert code == 0 and "interval for a population" in out and "each of its intervals holds by itself" in out
    code, shown, _ = run(capsys, tmp_path, *estimate)
    slopes = {each["choice"]: each["slope"] for each in shown["trends"]}
    assert slopes == {"yes": pytest.approx(-0.160714, abs=1e-6), "no": pytest.approx(0.160714, abs=1e-6)}
    assert f"{slopes['yes']:+.2%}" in out
