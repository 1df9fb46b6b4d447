"""Published tables as TOML files."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import UsageError
from discreet.lab.attacks.census import PublishedRange, find_worlds, read, seven_people
from discreet.lab.attacks.census.published_range import round_half_up

PAGE = Path(__file__).parents[2] / "docs" / "lab" / "census.md"

HEAD = """
people = { high = 12 }
[columns.age]
low = 0
high = 125
[columns.sex]
values = ["female", "male"]
[columns.race]
values = ["black", "white"]
[columns.marital]
values = ["single", "married"]
[rounding]
mean = 0.1
way = "half-up"
[[facts]]
name = "married people are 15 or over"
when = { marital = "married" }
then = { age = { low = 15 } }
"""

ROWS = [
    ("1A", "", "count = 7\nmedian = 30\nmean = 38"),
    ("2A", 'sex = "female"', "count = 4\nmedian = 30\nmean = 33.5"),
    ("2B", 'sex = "male"', "count = 3\nmedian = 30\nmean = 44"),
    ("2C", 'race = ["black"]', "count = 4\nmedian = 51\nmean = 48.5"),
    ("2D", 'race = "white"', "count = 3\nmedian = 24\nmean = 24"),
    ("3A", 'marital = "single", age = { low = 18 }', "suppressed = true"),
    ("3B", 'marital = "married", age = { low = 18 }', "count = 4\nmedian = 51\nmean = 54"),
    ("4A", 'race = "black", sex = "female"', "count = 3\nmedian = 36\nmean = 36.7"),
    ("4B", 'race = "black", sex = "male"', "suppressed = true"),
    ("4C", 'race = "white", sex = "male"', "suppressed = 3"),
    ("4D", 'race = "white", sex = "female"', "count = { low = 0, high = 2 }"),
    ("5A", "age = { high = 4 }", "suppressed = true"),
    ("5B", "age = { high = 17 }", "suppressed = true"),
    ("5C", "age = { low = 64 }", "suppressed = true"),
]


def text(rows=ROWS, head=HEAD):
    return head + "".join(
        f'[[statistics]]\nname = "{name}"\nwhere = {{ {where} }}\n{said}\n' for name, where, said in rows
    )


def written(tmp_path, content):
    path = tmp_path / "block.toml"
    path.write_text(content)
    return path


def test_the_block_of_seven_as_a_file(tmp_path):
    block = read(written(tmp_path, text()))
    assert find_worlds(block).worlds == find_worlds(seven_people()).worlds
    for left_out, ways in ((["3B"], 22), (["4A"], 2), (["3B", "4A"], 76)):
        assert len(find_worlds(block.without(left_out)).worlds) == ways


def test_numbers_are_read_as_they_are_written(tmp_path):
    block = read(written(tmp_path, text()))
    mean = next(one.mean for one in block.statistics if one.name == "4A")
    assert mean == PublishedRange(
        low=Fraction(3665, 100), high=Fraction(3675, 100), excludes_high=True, published_text="36.7"
    )


@pytest.mark.parametrize(
    ("way", "holds"),
    [
        ("nearest", {Fraction(1, 2), 1, Fraction(3, 2)}),
        ("half-up", {Fraction(1, 2), 1}),
        ("half-even", {1}),
        ("down", {1, Fraction(3, 2)}),
    ],
)
def test_ways_to_round(way, holds):
    tried = {Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2)}
    span = PublishedRange.rounded(Fraction(1), Fraction(1), way=way)
    assert {value for value in tried if span.holds(value)} == holds
    even = PublishedRange.rounded(Fraction(2), Fraction(1), way="half-even")
    assert even.holds(Fraction(3, 2)) and even.holds(Fraction(5, 2))


@pytest.mark.thin(40)
@pytest.mark.parametrize("seed", range(200))
def test_rounding_and_its_span_agree(seed):
    value, unit = Fraction(seed, 7), Fraction(1, 2)
    assert PublishedRange.rounded(round_half_up(value, unit), unit, way="half-up").holds(value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("people = { high = 12 }", ""), "how many people"),
        (("people = { high = 12 }", "people = true"), "how many people"),
        (("people = { high = 12 }", "people = 5000"), "at most 300"),
        (("people = { high", "peoples = { high"), "unknown key 'peoples'"),
        (("mean = 0.1\n", ""), "how means were rounded"),
        (('way = "half-up"', 'way = "up"'), "way cannot be 'up'"),
        (("low = 0\nhigh = 125", "low = 0"), "needs low and high"),
        (("low = 0\nhigh = 125", "low = 0.5\nhigh = 125"), "whole numbers"),
        (('values = ["female", "male"]', "values = [1, 2]"), "values in quotes"),
        (('sex = "female"', 'sex = "woman"'), "no value 'woman'"),
        (('sex = "female"', 'gender = "woman"'), "no column 'gender'"),
        (("age = { low = 64 }", "age = { from = 64 }"), "unknown key 'from'"),
        (("age = { low = 64 }", "age = { low = 200 }"), "can never hold"),
        (("count = 7", 'count = "seven"'), "plain finite number"),
        (("count = 7", "count = nan"), "plain finite number"),
        (("count = 7", "count = 1e400"), "count is too large"),
        (("count = 7", "count = 1e-400"), "too many digits"),
        (("count = 7", "count = { low = 1e400, high = 7 }"), "count is too large"),
        (("mean = 0.1\n", "mean = 1e400\n"), "mean is too large"),
        (("age = { low = 64 }", "age = 99999999999999999999"), "age is too large"),
        (("count = 7", "count = { low = 8, high = 7 }"), "above high"),
        (("count = 7", "total = 7"), "unknown key 'total'"),
        (("count = 7", "count = 7\nsuppressed = true"), "suppressed but also gives"),
        (("suppressed = 3", "suppressed = 0"), "at least 1"),
        (('name = "2A"', 'name = "1A"'), "twice"),
        (('name = "2A"', ""), "no name"),
        (("then = { age = { low = 15 } }", ""), "is empty"),
        (("[rounding]", "[rounding"), "not valid TOML"),
        (("[[facts]]", "[facts]"), "list of tables"),
    ],
)
def test_a_wrong_file_is_told_in_one_sentence(tmp_path, change, said):
    content = text()
    assert change[0] in content
    with pytest.raises(UsageError) as problem:
        read(written(tmp_path, content.replace(*change, 1)))
    assert said in problem.value.reason
    assert "\n" not in problem.value.reason


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UsageError):
            read(path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b'title = "\xff"')
    with pytest.raises(UsageError, match="not valid TOML"):
        read(path)


def test_of_which_column_must_be_said_where_there_are_two(tmp_path):
    head = HEAD + "[columns.rooms]\nlow = 1\nhigh = 9\n"
    with pytest.raises(UsageError, match="does not name its column"):
        read(written(tmp_path, text(head=head)))
    rows = [("r", "", 'of = "rooms"\ncount = 2\nsum = 3')]
    block = read(written(tmp_path, text(rows, head=head)))
    place = block.place("rooms")
    assert all(sorted(one[place] for one in world) == [1, 2] for world in find_worlds(block, most=50).worlds)


def test_the_file_of_the_page_is_read(tmp_path):
    block = read(written(tmp_path, re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]))
    found = find_worlds(block)
    assert found.complete and found.worlds == (((30, 0), (40, 0), (80, 1)),)
