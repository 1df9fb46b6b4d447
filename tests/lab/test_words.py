"""What the lab says where there is nothing, one, or more than fits: calm, in the right number, and never cut silently."""

import pyarrow as pa
import pytest

from discreet.lab.attacks import background, homogeneity, intersection, linkage, minimality, ratings, sampling
from discreet.lab.attacks.rating_records import index_ratings
from discreet.lab.attacks.synthetic import attack
from discreet.lab.evidence import Evidence
from discreet.lab.phrases import count_phrase, shorten_list

FOUR = pa.table({"a": [1, 1, 2, 2], "s": ["p", "q", "p", "q"]})
ABOUT = {"quasi": ["a"], "sensitive": "s"}


def said(found):
    return " ".join(found.lines())


def test_numbers_and_lists():
    assert [count_phrase(number, "fact", "facts") for number in (0, 1, 1_200)] == ["no facts", "1 fact", "1,200 facts"]
    assert shorten_list(["a", "b"], 2) == "a, b" and shorten_list(["a", "b", "c"], 1) == "a and 2 more"


@pytest.mark.parametrize(
    ("found", "calm", "alarm"),
    [
        (lambda: homogeneity.homogeneity(FOUR, **ABOUT), "no class has the same", "recognises"),
        (lambda: intersection.intersection(FOUR, FOUR, FOUR, **ABOUT), "for nobody", "only one value"),
        (lambda: sampling.expose(FOUR, FOUR, on=["a"]), "Nobody is unique", "Of these"),
        (lambda: minimality.minimality(pa.table({"a": [1] * 6, "b": ["x"] * 6, "s": list("pqqqqq")}),
            quasi=["a", "b"], sensitive="s", protect="p"), "no cases to try", "succeeds"),
        (lambda: ratings.attack(index_ratings(pa.table({"user": [0, 0, 1, 1], "item": [0, 1, 0, 1], "stars": [1] * 4,
            "day": [1] * 4})), count=1, wrong=0), "1 rating of", "can read everything"),
        (lambda: background.background(FOUR, **ABOUT, facts=1), "1 fact would", "1 facts"),
    ],
)  # fmt: skip
def test_nothing_found_is_no_alarm(found, calm, alarm):
    told = said(found())
    assert calm in told and alarm not in told


def test_one_person_is_one_person():
    alone = pa.table({"a": [1, 2, 2], "s": ["p", "p", "q"]})
    told = said(homogeneity.homogeneity(alone, **ABOUT))
    assert "alone in their class" in told and "1 of 3 people is in a class" in told


def test_what_is_left_out_of_a_list_or_a_picture_is_told():
    wide = pa.table({f"c{place}": [0, 1, 2, 3] for place in range(25)})
    assert "c19 and 5 more." in said(attack(wide, wide, attacks=4))
    shared = pa.table({name: [1, 1, 1, 1, 1, 1] for name in "abc"})
    found = linkage.search(shared, shared.append_column("name", pa.array(list("uvwxyz"))), among=list("abc"))
    assert "best 6 of 7 sets of columns" in found.picture()


def test_what_cannot_be_judged_is_neither():
    found = Evidence(attack="x", success=1.0, chance=0.0, n=9, seconds=0.0, interval=(0.9, 1.0), judged=False)
    assert not found.breaks and found.to_data()["breaks"] is None and "cannot be judged" in said(found)
