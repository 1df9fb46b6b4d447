"""The census attack: the lecture's block, by its known counts, and every tiny block against trying all worlds."""

import random
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest

from discreet.errors import UsageError
from discreet.lab.attacks import census
from discreet.lab.attacks.census import (
    BlockColumn,
    BlockFact,
    CensusBlock,
    GroupCondition,
    PublishedRange,
    PublishedStatistic,
    find_certain,
    find_conflict,
    find_worlds,
    seven_people,
)
from discreet.lab.attacks.census.conflict import _restrict_block
from lab.census_brute import common, fits, fitting, random_block

SUPPRESSED = ["3A", "4B", "4C", "4D", "5A", "5B", "5C"]
TRUTH = ((8, 0, 0, 0), (18, 1, 1, 0), (24, 0, 1, 0), (30, 1, 1, 1), (36, 0, 0, 1), (66, 0, 0, 1), (84, 1, 0, 1))


@pytest.mark.thin(5)
@pytest.mark.parametrize(
    ("block", "ways"),
    [
        (seven_people(), 1),
        (seven_people().without(SUPPRESSED), 1),
        *((seven_people().without([name]), 1) for name in ("1A", "2A", "2B", "2C", "2D")),
        (seven_people().without(["4A"]), 2),
        (seven_people().without(["3B"]), 22),
        (seven_people().without([*SUPPRESSED, "3B"]), 64),
        (seven_people().without(["3B", "4A"]), 76),
        (seven_people(mean_rounding=Fraction(1)), 26),
    ],
)
def test_the_block_of_seven_has_so_many_ways(block, ways):
    found = find_worlds(block)
    assert found.complete and len(found.worlds) == ways
    assert TRUTH in found.worlds
    assert all(fits(block, world) for world in found.worlds)


def test_the_one_way_is_the_known_one():
    assert find_worlds(seven_people()).worlds == (TRUTH,)


@cache
def tiny(seed):
    """A block, and all worlds that fit it: three tests below ask for the same ones."""
    block = random_block(random.Random(seed))
    return block, frozenset(fitting(block))


@pytest.mark.thin(20)
@pytest.mark.parametrize("seed", range(150))
def test_tiny_blocks_against_trying_every_world(seed):
    block, fitted = tiny(seed)
    found = find_worlds(block, most=100_000)
    assert found.complete
    assert set(found.worlds) == fitted
    assert len(set(found.worlds)) == len(found.worlds)


@pytest.mark.deep
def test_tiny_blocks_are_of_all_sorts():
    """The check above would be empty if all blocks were impossible, or all free."""
    ways = [len(tiny(seed)[1]) for seed in range(150)]
    assert sum(count == 0 for count in ways) > 10
    assert sum(count == 1 for count in ways) > 10
    assert sum(count > 20 for count in ways) > 10


@pytest.mark.thin(12)
@pytest.mark.parametrize("seed", range(60))
def test_what_is_certain_against_trying_every_world(seed):
    """Found by asking the solver, from one world only, as where there are too many to list."""
    block = random_block(random.Random(seed))
    ways = fitting(block)
    if not ways:
        return
    few = find_worlds(block, most=1)
    assert few.stopped == ("most" if len(ways) > 1 else None)
    for sure in (find_certain(block, few), find_certain(block, find_worlds(block, most=100_000))):
        records, cells = common(ways)
        assert sure.proved and sure.records == records
        seen = {(person, place): code for person, row in enumerate(sure.people) for place, code in enumerate(row)}
        assert {where: code for where, code in seen.items() if code is not None} == cells


def test_nothing_is_certain_of_somebody_who_may_not_be_there():
    """One or two people, all of age 0: the first is certain, the second is not, whichever world was met first."""
    held = (GroupCondition(column="age", intervals=((0, 0),)),)
    block = CensusBlock(
        columns=(BlockColumn(name="age", low=0, high=5), BlockColumn(name="sex", values=("f", "m"))),
        people=(1, 2),
        statistics=(),
        facts=(BlockFact(name="fact", when=(), then=held),),
    )
    met = census.FittingWorlds(worlds=(((0, 0), (0, 0)), ((0, 1), (0, 1))), stopped="most")
    sure = find_certain(block, met)
    assert sure.proved and sure.records == () and sure.people == ((0, None),)


@pytest.mark.thin(20)
@pytest.mark.parametrize("seed", range(150))
def test_a_conflict_is_one_and_nothing_in_it_can_be_spared(seed):
    block, fitted = tiny(seed)
    found = find_conflict(block)
    assert (found is None) == bool(fitted)
    if found is not None:
        assert found.minimal
        assert not fitting(_restrict_block(block, found.parts))
        for part in found.parts:
            assert fitting(_restrict_block(block, [other for other in found.parts if other != part]))


def test_three_counts_that_conflict_are_named():
    wrong = [
        replace(one, count=PublishedRange.rounded(Fraction(9)), median=None, mean=None) if one.name == "1A" else one
        for one in seven_people().statistics
    ]
    block = replace(seven_people(), statistics=tuple(wrong))
    found = find_conflict(block)
    assert found is not None and found.minimal
    assert len(found.parts) == 3 and {measure for _, measure in found.parts} == {"count"}
    assert "1A" in {name for name, _ in found.parts}
    with pytest.raises(UsageError, match="cannot be true together") as problem:
        census.attack(block)
    assert "1A (everybody): count 9" in problem.value.reason


def test_no_more_than_asked_for_and_honest_about_it():
    block = seven_people().without(["3B", "4A"])
    cut = find_worlds(block, most=20)
    assert len(cut.worlds) == 20 and cut.stopped == "most" and cut.show() == "at least 20"
    assert find_worlds(block, most=76).complete
    assert find_worlds(block, most=75).stopped == "most"


def test_out_of_time_is_told_and_nothing_is_called_certain():
    block = CensusBlock(columns=(BlockColumn(name="age", low=0, high=125),), people=(40, 40), statistics=(_mean(),))
    cut = find_worlds(block, most=10**6, seconds=0.05)
    assert cut.stopped == "seconds" and cut.show().startswith("at least")
    sure = find_certain(block, cut, seconds=1e-9)
    assert not sure.proved and sure.records == ()


def _mean():
    return PublishedStatistic(name="a", of="age", mean=PublishedRange.rounded(Fraction(38), Fraction(1, 10)))


def test_the_evidence_of_the_block():
    found = census.demo()
    assert found.success == 1.0 and found.n == 7 and found.breaks
    assert found.details["solutions"] == 1 and found.details["complete"]
    assert found.details["certain"]["records"][0] == {"age": 8, "sex": "female", "race": "black", "marital": "single"}
    assert len(found.details["certain"]["people"]) == 7
    assert found.details["possible_records"] == 126 * 8 - 15 * 4
    assert found.picture is not None and found.picture().startswith("<svg")


def test_what_all_ways_have_in_common_without_3b():
    found = census.attack(seven_people(), without=["3B"])
    ways = find_worlds(seven_people().without(["3B"])).worlds
    records, cells = common(ways)
    assert found.success == len(records) / 7 < 1
    told = found.details["certain"]["people"]
    assert sum(value is not None for person in told for value in person.values()) == len(cells)


def test_a_block_says_what_is_wrong_with_it():
    age, sex = BlockColumn(name="age", low=0, high=9), BlockColumn(name="sex", values=("f", "m"))
    count = PublishedRange(low=Fraction(1))
    said = PublishedStatistic(name="a", count=count)
    for wrong in (
        lambda: BlockColumn(name="age", low=3, high=2),
        lambda: BlockColumn(name="sex", values=("f", "f")),
        lambda: GroupCondition(column="age", intervals=()),
        lambda: PublishedRange(low=Fraction(2), high=Fraction(1)),
        lambda: PublishedStatistic(name="a"),
        lambda: PublishedStatistic(name="a", mean=count),
        lambda: CensusBlock(columns=(age,), people=(1, 10_000), statistics=()),
        lambda: CensusBlock(columns=(age,), people=(3, 2), statistics=()),
        lambda: CensusBlock(columns=(), people=(1, 2), statistics=()),
        lambda: CensusBlock(columns=(age, age), people=(1, 2), statistics=()),
        lambda: CensusBlock(columns=(age,), people=(1, 2), statistics=(said, said)),
        lambda: CensusBlock(
            columns=(sex,), people=(1, 2), statistics=(PublishedStatistic(name="a", of="sex", sum=count),)
        ),
        lambda: CensusBlock(columns=(age,), people=(1, 2), statistics=(), facts=(_fact("sex"),)),
        lambda: CensusBlock(columns=(BlockColumn(name="id", low=0, high=1 << 41),), people=(1, 2), statistics=()),
        lambda: seven_people().without(["9Z"]),
        lambda: find_worlds(seven_people(), most=0),
        lambda: find_worlds(seven_people(), seconds=float("nan")),
        lambda: census.attack(seven_people(), epsilon=0),
    ):
        with pytest.raises(UsageError):
            wrong()


def _fact(column):
    held = (GroupCondition(column=column, intervals=((0, 0),)),)
    return BlockFact(name="fact", when=(), then=held)


def test_numbers_beyond_the_solver_are_refused():
    block = CensusBlock(
        columns=(BlockColumn(name="age", low=0, high=9),),
        people=(1, 2),
        statistics=(PublishedStatistic(name="a", count=PublishedRange(low=Fraction(10**30))),),
    )
    with pytest.raises(UsageError, match="too large"):
        find_worlds(block)


def test_without_the_solver_it_says_how_to_get_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(UsageError) as problem:
        find_worlds(seven_people())
    assert "discreet[lab]" in problem.value.hint
