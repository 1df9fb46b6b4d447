"""Linkage: counts that an obvious double loop confirms, the generated state, and which columns do the damage."""

import random
from collections import Counter
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from discreet.errors import UsageError
from discreet.lab.attacks import linkage
from discreet.lab.attacks.table_match import match_tables
from discreet.lab.worlds import state as world


@pytest.fixture(scope="module")
def state():
    return world.make_state()


def obvious(bare, named, on, truth):
    """Row by row, as one would do it by hand."""
    found = Counter()
    for row in bare.to_pylist():
        same = [
            other
            for other in named.to_pylist()
            if all(row[name] is not None and row[name] == other[name] for name in on)
        ]
        found["matched"] += bool(same)
        found["unique"] += len(same) == 1
        found["correct"] += len(same) == 1 and row[truth] == same[0][truth]
    return found


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_those_of_a_double_loop(seed):
    draw = random.Random(seed)

    def rows(number):
        return pa.table(
            {
                "id": [draw.randrange(60) for _ in range(number)],
                "a": [draw.choice([1, 2, 3, None]) for _ in range(number)],
                "b": [draw.choice(["x", "y", "z", "w", None]) for _ in range(number)],
                "c": [draw.choice([0.5, 1.5, 2.5]) for _ in range(number)],
            }
        )

    bare, named = rows(70), rows(40)
    for on in (["a"], ["a", "b"], ["a", "b", "c"]):
        details = linkage.link(bare, named, on=on, truth="id").details
        wanted = obvious(bare, named, on, "id")
        assert {key: details[key] for key in ("matched", "unique", "correct")} == {
            key: wanted[key] for key in ("matched", "unique", "correct")
        }
        assert details["unmatched"] + details["ambiguous"] + details["unique"] == 70


def test_many_columns_of_many_values_do_not_overflow():
    """Sixteen columns of 100 values have 10^32 combinations: more than 64 bits hold."""
    draw = random.Random(3)
    rows = [[draw.randrange(100) for _ in range(16)] for _ in range(300)]
    names = [f"c{place}" for place in range(16)]
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    once = [tuple(row) for row in rows]
    details = linkage.link(table, pa.concat_tables([table, table.slice(0, 50)]), on=names).details
    assert len(set(once)) == 300
    assert (details["unique"], details["ambiguous"]) == (250, 50)


def test_types_are_compared_by_what_they_mean():
    bare = pa.table({"n": pa.array([1, 2**52], pa.int64()), "d": [date(2000, 1, 1), date(2000, 1, 2)]})
    named = pa.table(
        {"n": pa.array([2.0**52, 3.0]), "d": pa.array([date(2000, 1, 2), date(2000, 1, 1)]).cast(pa.timestamp("s"))}
    )
    assert linkage.link(bare, named, on=["n", "d"]).details["unique"] == 1
    long = pa.table(
        {"n": pa.array([2**53 + 1, 7], pa.int64())}
    )  # a float does not hold it: nothing may match by rounding
    assert linkage.link(long, pa.table({"n": [2.0**53, 7.0]}), on=["n"]).details["unique"] == 1
    text = pa.table({"n": ["1", "9"]})
    assert linkage.link(bare, text, on=["n"]).details["unique"] == 1


def test_the_generated_state(state):
    voters = state.voters
    him = voters.filter(pc.equal(voters["person"], state.governor)).to_pylist()[0]
    assert him["name"] == world.GOVERNOR
    born = [row for row in voters.to_pylist() if row["birth"] == him["birth"]]
    men = [row for row in born if row["sex"] == "M"]
    assert len(born) == 6 and len(men) == 3
    assert [row["name"] for row in men if row["zip"] == him["zip"]] == [world.GOVERNOR]
    assert state.governor in state.hospital["person"].to_pylist()


@pytest.mark.thin(1)
@pytest.mark.parametrize("seed", [1997, 1, 2])
def test_about_87_percent_are_alone_with_zip_birth_and_sex(state, seed):
    people = (state if seed == 1997 else world.make_state(seed=seed)).people
    counts = Counter(zip(*(people[name].to_pylist() for name in ("zip", "birth", "sex")), strict=True))
    share = sum(count == 1 for count in counts.values()) / people.num_rows
    # A seed moves it by a point; another number of people to a ZIP code by more.
    assert 0.85 < share < 0.89


def test_the_governor_is_found(state):
    found = linkage.demo()
    assert found.details["governor"] == {"same_birth": 6, "of_them_men": 3, "of_them_in_his_zip": 1}
    assert 0.85 < found.details["unique_in_state"] < 0.89
    assert found.breaks and found.success > 0.5
    assert found.details["correct"] < found.details["unique"]  # a voter's double who does not vote
    assert found.picture().startswith("<svg")


def test_the_search_finds_the_columns_that_do_the_damage():
    rows = 400
    draw = random.Random(5)
    table = pa.table(
        {
            "colour": [draw.choice("rgb") for _ in range(rows)],
            "left": [place // 20 for place in range(rows)],
            "right": [place % 20 for place in range(rows)],
            "same": ["x"] * rows,
        }
    )
    found = linkage.search(table, table)
    assert found.details["on"] == ["left", "right"] and found.success == 1
    assert len(found.details["sets"]) == 4 + 6 + 1  # ones, pairs, and all
    assert "No smaller set" in found.story[0]


def test_a_search_that_finds_nothing_says_so():
    table = pa.table({"a": [1, 1, 2, 2], "b": [1, 1, 2, 2]})
    found = linkage.search(table, table)
    assert found.success == 0 and "No set names more than half" in found.story[0]


def test_too_many_sets_are_refused():
    table = pa.table({f"c{place}": [1, 1] for place in range(30)})
    with pytest.raises(UsageError, match="too many subsets"):
        linkage.search(table, table)


@pytest.mark.parametrize(
    ("bare", "named", "on", "truth", "told"),
    [
        ({"a": [1]}, {"b": [1]}, None, None, "no column in common"),
        ({"a": [1, 3]}, {"a": [2]}, ["a"], None, "no value of 'a' is in both"),
        ({"a": [1]}, {"a": [1]}, ["b"], None, "has no column 'b'"),
        ({"a": [1], "p": [1]}, {"a": [1]}, ["a"], "p", "has no column 'p'"),
        ({"a": [1]}, {"a": [1]}, ["a"], "a", "identifies the person"),
        ({"a": pa.array([None], pa.int64())}, {"a": [1]}, ["a"], None, "only NULL"),
        ({"a": [[1]]}, {"a": [[1]]}, ["a"], None, "cannot be compared"),
        ({"a": pa.array([], pa.int64())}, {"a": [1]}, ["a"], None, "has no rows"),
    ],
)
def test_bad_input(bare, named, on, truth, told):
    with pytest.raises(UsageError, match=told):
        linkage.link(pa.table(bare), pa.table(named), on=on, truth=truth)


def test_a_null_agrees_with_nothing():
    table = pa.table({"a": [None, 1, None], "b": [1, 1, 2]})
    mine, theirs = match_tables(table, table, on=["a", "b"], truth=None, called=("x", "y")).codes(["a", "b"])
    assert mine.tolist() == [-1, 0, -1] == theirs.tolist()


def test_values_without_a_counterpart_are_told():
    bare = pa.table({"zip": ["02138", "2139", "2140"], "sex": ["M", "F", "F"]})
    named = pa.table({"zip": ["02138", "02139", "02140"], "sex": ["M", "F", "F"], "name": ["a", "b", "c"]})
    found = linkage.link(bare, named)
    assert found.details["no_counterpart"] == pytest.approx({"zip": 2 / 3, "sex": 0})
    assert "'zip' (66.7%)" in " ".join(found.story)


def test_one_row_that_is_nowhere_is_an_answer():
    found = linkage.link(pa.table({"zip": ["x"], "ill": ["flu"]}), pa.table({"zip": ["y", "z"], "name": ["a", "b"]}))
    assert found.success == 0
    assert "Of 1 row without a name, 0%" in found.story[0]
    assert not any("the attacker learns" in sentence for sentence in found.story)


def test_the_governor_is_found_by_all_three_columns_only():
    assert not any("governor" in sentence for sentence in linkage.demo(on=("zip",)).story)
