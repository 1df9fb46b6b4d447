"""The browser's device: its key, its limits, its rounds, and what makes a new question."""

from __future__ import annotations

import pytest

from discreet.surveys.protocols.rappor import BasicRappor
from surveys.protocols.test_client import LONG, run, survey


def test_a_lost_or_spoilt_key_or_report_is_a_fault() -> None:
    step = {"survey": survey(choices=LONG), "value": "choice 7"}
    lost = run("device", {"steps": [step, {**step, "forget": "discreet.key"}]})["answers"]
    assert "report" in lost[0] and "lost the key" in lost[1]["refused"]
    for text in ("{}", '{"key":""}', "5", "null", '"x"', '{"key":"' + "0" * 62 + '"}', '{"key":"' + "G" * 64 + '"}'):
        (found,) = run("device", {"steps": [step], "entries": {"discreet.key": text}})["answers"]
        assert "cannot be read" in found["refused"], text
    kept = run("device", {"steps": [step]})["stored"]
    for text in ('{"report":"00","epsilon":"x","time":0}', '{"report":"00","epsilon":1}', '{"report":"00"}', "5",
                 '{"report":"00","epsilon":-5,"time":0}'):  # fmt: skip
        entries = {**kept, "discreet.report.zz": text}
        (found,) = run("device", {"steps": [{**step, "value": "choice 8"}], "entries": entries})["answers"]
        assert "cannot be read" in found["refused"], text


def test_what_else_a_survey_says_makes_no_new_question() -> None:
    """The same coins under another claim, and in another order: the same report."""
    asked = survey(choices=LONG)
    turned = {"survey": "s1", "randomizer": dict(reversed(asked["randomizer"].items()))}
    turned["randomizer"]["numbers"] = dict(reversed(asked["randomizer"]["numbers"].items()))
    claimed = {"survey": "s1", "randomizer": {**asked["randomizer"], "epsilon": "3/2", "costs": "3/2"}}
    steps = [{"survey": each, "value": "choice 7"} for each in (asked, turned, claimed)]
    found = run("device", {"steps": steps})["answers"]
    assert len({each["report"] for each in found}) == 1 and [each["repeated"] for each in found] == [False, True, True]


def test_surveys_whose_names_run_together_are_two() -> None:
    """The words that are hashed are framed: ("s", round "1") is not ("s1", no round)."""
    made = BasicRappor(LONG, epsilon=2).parameters()
    steps = [{"survey": {"survey": name, "randomizer": made}, "value": "choice 7", "round": round_}
             for name, round_ in (("s", "1"), ("s1", ""))]  # fmt: skip
    one, two = run("device", {"steps": steps})["answers"]
    assert one["id"] != two["id"] and not two["repeated"]


def test_a_limit_of_new_reports_in_a_period() -> None:
    asked = survey(choices=LONG)
    times = [(1, 100), (2, 200), (3, 300), (1, 400), (3, 100 + 3601), (4, 50)]
    steps = [{"survey": asked, "value": f"choice {number}", "time": time} for number, time in times]
    found = run("device", {"steps": steps, "settings": {"limit": 2, "period": 3600}})["answers"]
    assert ["refused" in each for each in found] == [False, False, True, False, False, True]
    assert "2 new answers in this period" in found[2]["refused"] and found[3]["repeated"]
    assert found[4]["period"] == pytest.approx(2 * found[0]["epsilon"])
    assert found[4]["lifetime"] == pytest.approx(3 * found[0]["epsilon"])


def test_rounds_of_one_answer_cost_no_more_than_what_is_kept() -> None:
    made = BasicRappor(LONG, epsilon="2", once="0.7")
    asked = {"survey": "mood", "randomizer": made.parameters()}
    steps = [{"survey": asked, "value": "choice 7", "round": day} for day in [*range(1, 50), 1]]
    found = run("device", {"steps": steps})
    answers, last = found["answers"][:-1], found["answers"][-1]
    once, most = float(made.once), float(made.epsilon)
    assert [each["lifetime"] for each in answers] == pytest.approx([min(day * once, most) for day in range(1, 50)])
    assert len({each["report"] for each in answers}) == len({each["id"] for each in answers}) == 49
    assert last["repeated"] and last["report"] == answers[0]["report"]
    assert sum(place.startswith("discreet.kept.") for place in found["stored"]) == 1
    plain = survey(choices=LONG)
    one, two = run("device", {"steps": [{"survey": plain, "value": "choice 7", "round": day} for day in (1, 2)]})[
        "answers"
    ]
    assert one["report"] == two["report"] and two["repeated"] and one["id"] != two["id"]
