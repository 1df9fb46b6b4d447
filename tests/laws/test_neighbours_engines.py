"""The law of neighbours where the data lives elsewhere: PostgreSQL one pair after the other, Spark many in one job."""

from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

from discreet.errors import Refused
from laws.joined import JoinAsker
from laws.neighbours import Law, Pair
from laws.packed import everybody, pairs
from laws.questions import Asker
from laws.test_neighbours import run
from laws.worlds import loud_worlds, person_worlds

pytestmark = pytest.mark.timeout(600)

on_postgres = pytest.mark.parametrize("ground", ["postgres"], indirect=True)
on_spark = pytest.mark.parametrize("ground", [pytest.param("spark", marks=pytest.mark.xdist_group("spark"))], indirect=True)  # fmt: skip


@on_postgres
@pytest.mark.parametrize("part", range(2))
def test_neighbours_in_postgresql(tmp_path, ground, part):
    seen = run(tmp_path, ground, pairs=80, seed=40 + part, worlds=loud_worlds)
    assert seen["inside"] and seen["outside"], seen
    assert seen["keys"] and seen["Sum person l1"], seen


@on_postgres
@pytest.mark.fuzz
@pytest.mark.timeout(7200)
def test_five_thousand_pairs_in_postgresql(tmp_path, ground):
    run(tmp_path, ground, pairs=5000, seed=None)


def packed(folder, ground, *, questions: int, number: int, law: Law) -> None:
    """Questions about one world of loud persons, each of whom comes and goes."""

    @seeded(number)
    @settings(max_examples=8, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(world=person_worlds(loud=True))
    def draw(world):
        people = everybody(world)
        if len(people) < 4 or law.seen["worlds"] >= 1 + number:
            return
        law.seen["worlds"] = 1 + number
        whole = Pair.make(world, folder, ground, both=False)
        beside = pairs(whole, people, folder / f"packed {number}")
        for turn in range(questions):
            text = (JoinAsker if turn % 3 == 2 else Asker)(world, Random(f"{number} {turn}")).question()
            for pair in beside:
                try:
                    law.ask(pair, text, gaussian=turn % 5 == 0)
                    law.seen["asked"] += 1
                except Refused:
                    break
                except Exception as problem:
                    raise AssertionError(f"{problem}\nin {text}\nof {world}") from problem

    draw()


@on_spark
def test_neighbours_in_spark(tmp_path, ground):
    law = Law()
    packed(tmp_path, ground, questions=16, number=0, law=law)
    assert law.seen["asked"] >= 40 and law.seen["Rows person l1"], law.seen


@on_spark
@pytest.mark.fuzz
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("number", range(1, 11))
def test_many_neighbours_in_spark(tmp_path, ground, number):
    law = Law()
    law.seen["worlds"] = number
    packed(tmp_path, ground, questions=200, number=number, law=law)
    assert law.seen["asked"]
