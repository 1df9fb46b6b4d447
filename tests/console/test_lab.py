"""The lab: attacks in line, within their limits, kept by what was chosen; and nothing of it is anybody's."""

import json
import re
import subprocess
import sys
import threading
import time
from xml.etree import ElementTree

import pytest

from console.house import world
from discreet.console.jobs import attack_queue, attack_trial
from discreet.console.jobs.attack_queue import AttackQueue, TrialFailed, TrialKey
from discreet.console.pages import attack_descriptions, lab
from discreet.console.responses import RequestDenied
from discreet.errors import UsageError
from discreet.lab import pictures
from discreet.lab.evidence import best_under
from discreet.lab.registry import ATTACKS

FOUND = {
    "attack": "averaging", "success": 0.995, "chance": 0.5, "bound": 0.731, "breaks": True, "n": 1000, "seconds": 0.4,
    "confidence_interval": [0.99, 0.999], "confidence": 0.95, "details": {}, "story": ["It averages <b>away</b>."],
    "protected": 0.6, "allowed": 0.731, "falls_too": False, "picture": "",
}  # fmt: skip


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("lab") / "clinic")
    yield made
    made.house.handle.close()


@pytest.fixture
def ran(monkeypatch):
    """A bench on which nothing takes time; what was run, in order."""
    done = []

    def run(key, limit_s):
        done.append((key, limit_s))
        return {**FOUND, "attack": key.attack}

    monkeypatch.setattr(lab, "ATTACK_QUEUE", AttackQueue(run))
    return done


def wait_for(condition, timeout_s=10):
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


# The pages.


def test_all_attacks_that_were_run_stand_in_pairs(clinic, ran):
    browser = clinic.browser("analyst")
    assert "No attack has run yet" in browser.text("/lab") and browser.get("/lab.json").json()["chart"] is None
    browser.post("/lab")
    wait_for(lambda: not browser.get("/lab.json").json()["running"])
    pairs = browser.get("/lab.json").json()["chart"]["pairs"]
    assert [each["label"] for each in pairs] == [each.title for each in ATTACKS]
    assert {name: pairs[0][name] for name in ("first", "second", "chance", "bound")} == pytest.approx(
        {"first": 99.5, "second": 60, "chance": 50, "bound": 73.1}
    )
    assert "chart-pair-bound" in browser.get("/lab").text


def test_the_lab_is_for_analysts(clinic, ran):
    public, analyst = clinic.browser("public"), clinic.browser("analyst")
    assert public.get("/lab").headers["location"] == "/login?next=/lab"
    assert public.post("/lab/floats").status_code in (401, 403)
    assert not ran
    shown = analyst.text("/lab")
    for listed in ATTACKS:
        assert listed.title in shown
    assert shown.count("not run yet") == len(ATTACKS) + 1
    assert "made 5-anonymous" in shown


def test_an_attack_is_run_shown_and_told_to_programs(clinic, ran):
    browser = clinic.browser("analyst")
    sent = browser.post("/lab/homogeneity")
    assert (sent.status_code, sent.headers["location"]) == (303, "/lab/homogeneity#found")
    assert ran == [(TrialKey(attack="homogeneity"), clinic.house.settings.deadline_s)]
    shown = browser.text("/lab/homogeneity")
    for said in (
        *attack_descriptions.ATTACK_DESCRIPTIONS["homogeneity"],
        "99.5%",
        "99.0% to 99.9%",
        "50.0%",
        "60.0%",
        "73.1%",
        "1,000",
        "0.40",
    ):
        assert said in shown
    told = browser.get("/lab/homogeneity.json").json()
    assert told["state"] == "done" and told["found"]["success"] == 0.995
    assert "success without protection,99.5%" in browser.get("/lab/homogeneity.csv").text
    assert "homogeneity,done,0.995,0.6,0.5,0.731" in browser.get("/lab.csv").text


def test_what_was_found_is_escaped(clinic, ran):
    browser = clinic.browser("analyst")
    browser.post("/lab/homogeneity")
    page = browser.get("/lab/homogeneity").text
    assert "&lt;b&gt;away" in page and "<b>away" not in page
    assert not re.search(r"\sstyle=|<style|\son[a-z]+=", page)


def test_results_are_kept_by_what_was_chosen(clinic, ran):
    browser = clinic.browser("analyst")
    for form in ({}, {"noise": "0.25"}, {"noise": "1"}, {"noise": "1"}):
        browser.post("/lab/reconstruction", form)
    assert [dict(key.chosen)["noise"] for key, _ in ran] == ["0.25", "1"]
    browser.post("/lab/reconstruction", {"noise": "1", "again": "yes"})
    assert len(ran) == 3
    assert browser.get("/lab/reconstruction.json?noise=1").json()["state"] == "done"
    assert browser.get("/lab/reconstruction.json?noise=4").json()["state"] == "new"
    assert "selected>1</option>" in browser.get("/lab/reconstruction?noise=1").text


def test_all_are_run_once(clinic, ran):
    browser = clinic.browser("analyst")
    browser.post("/lab/floats")
    assert browser.post("/lab").headers["location"] == "/lab"
    wait_for(
        lambda: (
            len(ran) == len(ATTACKS) and lab.ATTACK_QUEUE.current_trial(lab._default_key(ATTACKS[-1])).state == "done"
        )
    )
    assert sorted(key.attack for key, _ in ran) == sorted(listed.name for listed in ATTACKS)
    assert not browser.get("/lab.json").json()["running"]


def test_what_cannot_be_chosen_is_refused(clinic, ran):
    browser = clinic.browser("analyst")
    assert browser.get("/lab/nothing").status_code == 404
    assert browser.post("/lab/nothing").status_code == 404
    for wrong in ({"noise": "1e9"}, {"people": "100000000"}, {"noise": ["1", "2"]}, {"noise": "<script>"}):
        refused = browser.post("/lab/reconstruction", wrong)
        assert refused.status_code == 400 and "<script>" not in refused.text
    assert browser.get("/lab/reconstruction?noise=x").status_code == 400
    assert not ran


def test_one_that_waits_says_so(clinic, monkeypatch):
    go = threading.Event()
    slow = AttackQueue(lambda key, limit_s: go.wait(20) and FOUND)
    monkeypatch.setattr(lab, "ATTACK_QUEUE", slow)
    monkeypatch.setattr(lab, "PATIENCE_S", 0.01)
    browser = clinic.browser("analyst")
    try:
        browser.post("/lab/floats")
        browser.post("/lab/census")
        wait_for(lambda: slow.current_trial(TrialKey(attack="floats")).state == "running")
        page = browser.get("/lab/floats").text
        assert """data-stands='"running"'""" in page, "what the script compares with what it is told"
        assert "<h2>Running</h2>" in page and "/lab.js" in page and "<button disabled>" in page
        assert "<h2>Waiting</h2>" in browser.get("/lab/census").text
        browser.post("/lab/sampling", {"share": "0.1"})
        assert 'href="/lab/sampling?share=0.1">Refresh' in browser.get("/lab/sampling?share=0.1").text
        (stands,) = re.findall("data-stands='([^']*)'", browser.get("/lab").text)
        told = browser.get("/lab.json").json()
        assert told["running"] and json.loads(stands) == [each["state"] for each in told["attacks"]]
    finally:
        go.set()
    wait_for(lambda: slow.current_trial(TrialKey(attack="census")).state == "done")
    assert "/lab.js" not in browser.get("/lab/floats").text


def test_one_that_breaks_down_tells_nothing_of_it(clinic, monkeypatch):
    def broken(key, limit_s):
        raise OSError("/secret/place")

    monkeypatch.setattr(lab, "ATTACK_QUEUE", AttackQueue(broken))
    browser = clinic.browser("analyst")
    browser.post("/lab/floats")
    page = browser.get("/lab/floats")
    assert page.status_code == 200 and "ended with an error" in page.text and "secret" not in page.text
    assert "secret" not in browser.get("/lab/floats.json").text


# The bench.


def test_one_at_a_time_in_order_and_not_too_many():
    go, running, order = threading.Event(), [], []

    def run(key, limit_s):
        running.append(key)
        assert len(running) == 1
        assert go.wait(20)
        order.append(key.attack)
        running.remove(key)
        return FOUND

    made = AttackQueue(run)
    keys = [TrialKey(attack=f"a{place}") for place in range(attack_queue.MOST_WAITING + 2)]
    made.start(keys[:1], limit_s=1)
    wait_for(lambda: running)
    made.start(keys[1:-1], limit_s=1)
    made.start(keys[1:-1], limit_s=1)  # they wait already
    with pytest.raises(RequestDenied) as refused:
        made.start(keys[-1:], limit_s=1)
    assert refused.value.status == 429 and refused.value.wait_s
    go.set()
    assert made.wait(keys[-2], 20).state == "done"
    assert order == [key.attack for key in keys[:-1]]
    assert made.current_trial(keys[-1]).state == "new"


def test_only_the_last_results_are_kept(monkeypatch):
    monkeypatch.setattr(attack_queue, "MOST_KEPT", 3)
    made = AttackQueue(lambda key, limit_s: FOUND)
    for place in range(5):
        made.start([TrialKey(attack=f"a{place}")], limit_s=1)
        made.wait(TrialKey(attack=f"a{place}"), 10)
    assert [made.current_trial(TrialKey(attack=f"a{place}")).state for place in range(5)] == [
        "new",
        "new",
        "done",
        "done",
        "done",
    ]


def test_a_failure_is_told_and_tried_again():
    tries = []

    def run(key, limit_s):
        tries.append(key)
        raise TrialFailed("It took too long.")

    made = AttackQueue(run)
    for _ in range(2):
        made.start([TrialKey(attack="a")], limit_s=1)
        assert made.wait(TrialKey(attack="a"), 10).problem == "It took too long."
    assert len(tries) == 2


# A trial, in a process of its own.


def test_a_trial_runs_in_its_own_process():
    found = attack_queue.run_in_process(TrialKey.of("floats", {}), 50)
    assert found["attack"] == "floats" and found["breaks"] and found["success"] > 0.8
    assert found["protected"] < 0.6 and not found["falls_too"]
    assert found["allowed"] == pytest.approx(best_under(0.1))


def test_a_trial_past_its_time_is_ended():
    began = time.monotonic()
    with pytest.raises(TrialFailed, match=r"longer than 0\.2 seconds"):
        attack_queue.run_in_process(TrialKey.of("synthetic", {}), 0.2)
    with pytest.raises(TrialFailed, match=r"longer than 0\.2 seconds"):
        attack_queue.output_of([sys.executable, "-c", "import time; time.sleep(50)"], 0.2)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("program", ["raise SystemExit(3)", "pass"])
def test_a_trial_that_says_nothing_broke_down(program):
    with pytest.raises(TrialFailed, match="ended with an error"):
        attack_queue.output_of([sys.executable, "-c", program], 50)


def test_a_trial_ends_with_the_one_who_waits_for_it():
    command = [sys.executable, "-m", "discreet.console.jobs.attack_trial", "synthetic"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.close()
        assert process.wait(40) == 1
        assert process.stdout.read() == b""


def test_a_refusal_of_the_lab_is_told(monkeypatch, capsys):
    def refuse(name, chosen):
        raise UsageError("scipy is not installed", hint="pip install 'discreet[lab]'")

    monkeypatch.setattr(attack_trial, "run", refuse)
    monkeypatch.setattr(attack_trial.os, "nice", lambda _: 0)
    monkeypatch.setattr(attack_trial, "_leave_with_the_server", lambda: None)
    monkeypatch.setattr(sys, "argv", ["trial", "census"])
    attack_trial.main()
    assert json.loads(capsys.readouterr().out) == {
        "error": "scipy is not installed",
        "hint": "pip install 'discreet[lab]'",
    }


@pytest.mark.deep
def test_what_is_chosen_reaches_the_attack():
    found = attack_trial.run("reconstruction", {"people": "40", "questions": "2", "noise": "0"})
    assert (found["n"], found["details"]["queries"], found["details"]["noise"]) == (40, 80, 0)
    assert found["protected"] is not None and found["allowed"] == pytest.approx(best_under(1.0))
    found = attack_trial.run("averaging", {"repeats": "10", "epsilon": "0.5"})
    assert (found["details"]["repeats"], found["details"]["epsilon"]) == (10, 0.5)
    assert found["allowed"] == found["bound"] == pytest.approx(best_under(2 * 0.5)) and not found["falls_too"]


@pytest.mark.deep  # the attack itself is in tests/lab/test_census_noised.py
def test_the_census_is_attacked_with_noise_too():
    found = attack_trial.run("census", {})
    assert found["success"] == 1 and found["protected"] < 0.05 and found["allowed"] is None
    assert "noise for epsilon 1" in " ".join(found["story"])


def test_pictures_are_in_the_colours_of_the_page():
    drawn = pictures.inline_picture(
        pictures.bars_with_marks("A <title>", {"one": (0.5, 0.2)}, mark="chance", bounds={"one": 0.7})
    )
    root = ElementTree.fromstring(drawn)
    assert root.get("class") == "picture" and "style" not in drawn and pictures.COLOURS[0] not in drawn
    assert 'fill="var(--chart-0)"' in drawn and 'stroke="var(--chart-1)"' in drawn


# Words and choices.


def test_every_attack_is_told_in_three_sentences():
    assert list(attack_descriptions.ATTACK_DESCRIPTIONS) == [listed.name for listed in ATTACKS]
    for sentences in attack_descriptions.ATTACK_DESCRIPTIONS.values():
        assert len(sentences) == 3 and all(each.endswith(".") and "\n" not in each for each in sentences)


def test_choices_are_few_and_usual_ones_among_them():
    for attack, those in attack_descriptions.CHOICES.items():
        assert attack in attack_descriptions.ATTACK_DESCRIPTIONS
        combinations = 1
        for each in those:
            combinations *= len(each.values)
        assert combinations <= attack_queue.MOST_KEPT
    with pytest.raises(ValueError, match="not a value"):
        attack_descriptions.AttackChoice(name="a", words="A", values=("1",), usual="2")
    with pytest.raises(UsageError, match="is not a setting"):
        attack_descriptions.check_choices("floats", {"epsilon": "1"})
