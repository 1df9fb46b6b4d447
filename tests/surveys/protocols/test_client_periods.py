"""The browser's device in a survey with periods: its limits, its coins, and the loss that its page shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from discreet.surveys.protocols.collection_periods import CollectionPeriods
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.local_hash import LocalHashing
from discreet.surveys.protocols.randomized_response import TwoCoins
from discreet.surveys.protocols.randomizer import Randomizer
from discreet.surveys.protocols.rappor import BasicRappor
from discreet.surveys.protocols.sketch import HadamardSketch
from surveys.protocols.test_client import CLIENT, LONG, run
from surveys.protocols.test_periods import DAY, START, days

MANY = LocalHashing(LONG, epsilon="2")


def step(
    periods: CollectionPeriods, day: int, answer: str = LONG[7], *, randomizer: Randomizer = MANY, **more: Any
) -> dict[str, Any]:
    asked = {"survey": "s1", "randomizer": randomizer.parameters(), "periods": periods.to_data()}
    return {"survey": asked, "value": answer, "time": START + (day - 1) * DAY + 60, **more}


def donations(*steps: dict[str, Any], client: Path = CLIENT, **settings: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run("periods", {"steps": steps, "settings": settings}, client)["donations"]
    return found


def six_fresh(client: Path = CLIENT) -> list[dict[str, Any]]:
    return donations(*(step(days("fresh"), day, arrived=True) for day in (1, 1, 1, 2, 2, 3, 3, 4)), client=client)


def four_kept(client: Path = CLIENT) -> list[dict[str, Any]]:
    kept = days("memoized")
    return donations(*(step(kept, day, arrived=True) for day in (1, 1, 2, 3)), step(kept, 3, LONG[8]), client=client)


def check_fresh(given: list[dict[str, Any]]) -> None:
    assert ["refused" in each for each in given] == [False, False, True, False, False, False, False, True]
    assert "2 donations to this survey for this day" in given[2]["refused"] and "is over" in given[-1]["refused"]
    sent = [each for each in given if "report" in each]
    assert len({each["report"][4:] for each in sent}) == len({each["id"] for each in sent}) == 6
    assert [each["report"][:4] for each in sent] == ["0001", "0001", "0002", "0002", "0003", "0003"]
    assert sent[-1]["lifetime"] == pytest.approx(6 * float(MANY.epsilon)) == sent[-1]["loss"]["survey"]
    assert [each["donated"]["left"] for each in sent] == [1, 0] * 3


def check_kept(given: list[dict[str, Any]]) -> None:
    same, other = given[:4], given[4]
    assert len({each["report"][4:] for each in same}) == 1 and len({each["id"] for each in same}) == 3
    assert same[-1]["lifetime"] == pytest.approx(float(MANY.epsilon)) == same[-1]["loss"]["unchanged"]
    assert other["report"][4:] != same[0]["report"][4:] and (other["index"], other["left"]) == (1, 0)
    assert other["lifetime"] == pytest.approx(2 * float(MANY.epsilon))


def test_fresh_coins_draw_anew_up_to_the_limit() -> None:
    check_fresh(six_fresh())


def test_memoized_coins_are_flipped_once() -> None:
    check_kept(four_kept())


def test_a_donation_that_did_not_arrive_is_sent_again_and_keeps_its_place() -> None:
    fresh = days("fresh")
    first, again, other, third = donations(
        step(fresh, 1), step(fresh, 1), step(fresh, 1, LONG[8]), step(fresh, 1, LONG[9])
    )
    assert first["report"] == again["report"] and first["id"] == again["id"] and again["repeated"]
    assert other["index"] == 1 and "refused" in third


def unacknowledged(client: Path = CLIENT) -> list[dict[str, Any]]:
    fresh = days("fresh")
    return donations(
        step(fresh, 1, leaving=True), step(fresh, 1, LONG[8], leaving=True, arrived=True), step(fresh, 1, LONG[8]),
        client=client,
    )  # fmt: skip


def check_unacknowledged(given: list[dict[str, Any]]) -> None:
    first, again, second = given
    assert again["pending"] and (again["id"], again["report"]) == (first["id"], first["report"])
    assert not second["pending"] and second["index"] == 1 and second["report"] != first["report"]
    assert again["left"] == 1 and second["left"] == 0


def test_an_unacknowledged_donation_is_sent_first_whatever_the_answer() -> None:
    """Else a collector that acknowledges nothing would see whether the answer changed."""
    check_unacknowledged(unacknowledged())


def test_a_browser_that_is_interrupted_never_sends_one_answer_as_another() -> None:
    """The storage is full after so many writes; then there is room again, and the answer is another."""
    fresh = days("fresh")
    for writes in range(4):
        broken, other = donations(step(fresh, 1, writes=writes), step(fresh, 1, LONG[8]))
        assert "refused" in broken and not other["repeated"], writes
        assert other["lifetime"] == pytest.approx(float(MANY.epsilon))


def test_a_survey_that_changes_its_terms_is_refused() -> None:
    fresh = days("fresh")
    given = donations(
        step(fresh, 1),
        step(replace(fresh, donations=9), 1),
        step(replace(fresh, coins="memoized"), 1),
        step(fresh, 1, "yes", randomizer=TwoCoins(["yes", "no"])),
        {**step(fresh, 1), "survey": {"survey": "s1", "randomizer": MANY.parameters()}},  # its periods are gone
    )
    assert len(given) == 5
    assert all("first agreed to" in each["refused"] for each in given[1:])


def test_its_own_limits_hold_too() -> None:
    given = donations(*(step(days("fresh"), day, arrived=True) for day in (1, 2, 3)), lifetime=4)
    assert "limit of 4" in given[2]["refused"]


@pytest.mark.parametrize("coins", ["fresh", "memoized"])
def test_the_loss_is_that_of_python(coins: str) -> None:
    made: list[Randomizer] = [
        TwoCoins(["yes", "no"]), MANY, HadamardSketch(epsilon=1), Duchi(low=0, high=4, step=1, epsilon=1),
    ]  # fmt: skip
    if coins == "memoized":
        made.append(BasicRappor(["a", "b"], epsilon="2", once="0.5"))
    cases = [(each, days(coins, donations=many, periods=9)) for each in made for many in (1, 3)]
    found = run("losses", [{"parameters": each.parameters(), "periods": of.to_data()} for each, of in cases])
    for (each, of), loss in zip(cases, found, strict=True):
        shown = of.loss(each)
        for name in ("donation", "period", "survey", "unchanged"):
            assert loss[name] == pytest.approx(float(getattr(shown, name)), rel=1e-8), (each, name)


def test_periods_that_do_not_fit_are_refused() -> None:
    right = days("fresh").to_data()
    wrong = [
        {"every": "month"},
        {"coins": "old"},
        {"donations": 0},
        {"periods": 10_001},
        {"start": START + 1},
        {"x": 1},
    ]
    cases = [{"parameters": MANY.parameters(), "periods": {**right, **each}} for each in wrong]
    layered = BasicRappor(["a", "b"], epsilon="2").parameters()
    found = run("losses", [*cases, {"parameters": layered, "periods": right}])
    assert all("refused" in each for each in found)


#: What is written, what would be written instead, and the test that must see it.
MUTANTS = [
    ("taken.indexOf(null)", "Math.max(0, taken.indexOf(null))", "limit"),
    ('["answer", ...question];', '["answer", String(number), ...question];', "memo"),
    ("const same = pending ? waiting", "const same = false ? waiting", "pending"),
    ("survey: all * once", "survey: this.donations * once", "loss"),
]


@pytest.mark.parametrize(("right", "wrong", "what"), MUTANTS, ids=[each[2] for each in MUTANTS])
def test_a_faulty_browser_is_caught(tmp_path: Path, right: str, wrong: str, what: str) -> None:
    source = CLIENT.read_text(encoding="utf-8")
    assert source.count(right) == 1
    faulty = tmp_path / "faulty.mjs"
    faulty.write_text(source.replace(right, wrong), encoding="utf-8")
    checks = {"memo": (check_kept, four_kept), "pending": (check_unacknowledged, unacknowledged)}
    check, give = checks.get(what, (check_fresh, six_fresh))
    with pytest.raises(AssertionError):
        check(give(faulty))


def test_two_tabs_go_one_after_the_other_where_the_browser_has_locks() -> None:
    assert run("tabs", {"locks": True}) == 100
    assert run("tabs", {"locks": False}) < 100  # as without `alone`: each tab reads what the other is about to change
