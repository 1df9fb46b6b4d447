"""A question whose process is killed between charge and answer is answered under that charge; never is one used twice."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet
from clinic import make
from crash.harness import Life, Outcome, torture
from crash.resumer import POINTS
from tiers import size

RESUMER = Path(__file__).with_name("resumer.py")

#: Deaths from here on leave a charge, and from there on an answer.
CHARGED, ANSWERED = "after the charge's commit", "after the answer's commit"

#: One point for each state that a death leaves on disk; the other points are between these, and deep.
STATES = (
    "before the charge's lock", "before the charge's commit", CHARGED, "after the draw", "before the answer's commit",
    ANSWERED, "before the lock is let go",
)  # fmt: skip


def folders(tmp_path: Path, count: int, *, budget: str = "{ epsilon = 1.0 }") -> list[Path]:
    found = [tmp_path / str(number) for number in range(count)]
    for folder in found:
        folder.mkdir()
        make(folder, budget=budget).version("patients")
    return found


def run(lives: list[list[str]]) -> Outcome:
    outcome = torture(RESUMER, [Life(arguments=arguments) for arguments in lives], environment={})
    assert outcome.faults == []
    return outcome


def charges(folder: Path) -> dict[str, bool]:
    """All charges, and whether they are answered."""
    project = discreet.open(folder)
    assert project.verify().sound
    state = project.ledger.refresh()
    assert set(state.answers) <= set(state.charges)
    return {id_: id_ in state.answers for id_ in state.charges}


def test_a_death_at_every_point_is_paid_once(tmp_path: Path):
    points = [point for point in POINTS if point in size(STATES, POINTS)]
    (place,) = folders(tmp_path, 1)
    lives = []
    for number, point in enumerate(points):
        lives += [[str(place), f"question={number}", f"die={point}"], [str(place), f"question={number}"]]
    outcome = run(lives)
    assert outcome.codes == [9, 0] * len(points)
    ids = []
    for number, point in enumerate(points):
        first, (second,) = outcome.said[2 * number], outcome.said[2 * number + 1]
        assert first == [], f"{point}: an answer left before it was over"
        id_, resumed, _ = second.split(maxsplit=2)
        ids.append(id_)
        assert (resumed == "True") == (points.index(CHARGED) <= points.index(point) < points.index(ANSWERED)), point
    assert charges(place) == dict.fromkeys(ids, True), "one charge for each question, and its answer"


def test_two_deaths_and_a_budget_for_one(tmp_path: Path):
    """The second one dies under the charge of the first; and nothing is left to be charged anew."""
    (place,) = folders(tmp_path, 1, budget="{ epsilon = 0.01 }")
    outcome = run([[str(place), "die=before the answer's commit"], [str(place), "die=after the draw"], [str(place)]])
    assert outcome.codes == [9, 9, 0]
    (id_, resumed, _) = outcome.said[2][0].split(maxsplit=2)
    assert (charges(place), resumed) == ({id_: True}, "True")


def test_what_was_before_is_seen(tmp_path: Path):
    (place,) = folders(tmp_path, 1)
    run([[str(place), "die=after the draw"], [str(place), "mutant=never_resumed"]])
    assert sorted(charges(place).values()) == [False, True]


@pytest.mark.parametrize("mutant", [None, "nobody_is_waited_for"])
def test_of_many_who_ask_again_one_goes_on(tmp_path: Path, mutant: str | None):
    count, times = size(3, 4), size(1, 6)
    places = folders(tmp_path, times)
    for place in places:
        options = [] if mutant is None else [f"mutant={mutant}"]
        outcome = run([[str(place), "die=before the store"], [str(place), f"race={count}", *options]])
        said = [line.split(maxsplit=2) for line in outcome.said[1]]
        assert len(said) == count
        ids = [id_ for id_, _, _ in said]
        if mutant is None:
            assert len(set(ids)) == count == len(charges(place)), "each answer has a charge of its own"
            assert [resumed for _, resumed, _ in said].count("True") == 1
        else:
            assert len(set(ids)) < count, "the lock is what keeps them apart"
            rows = {}
            for id_, _, numbers in said:
                assert rows.setdefault(id_, numbers) == numbers, "even so one answer leaves under a charge"
