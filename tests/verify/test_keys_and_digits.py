"""Columns of keys and last digits: neither holds an exact number that is called proved; what Discreet makes is sound."""

import importlib
from fractions import Fraction

import pytest

from discreet.bundle.verify import verify
from verify import world
from verify.forger import forged, opened, rules
from verify.forging import checker, verdicts
from verify.test_check_bundle import NAMES

#: Bundles are made once for all tests of this folder, by whichever comes first.
pytestmark = pytest.mark.timeout(300)

#: Bundles whose tables show all keys that they have.
GROUPED = [
    "rows: sets apart",
    "rows: grouping",
    "rows: grouping of one set",
    "rows: key again",
    "rows: keys again",
    "rows: sets",
    "rows: histogram",
    "rows: discovered",
]


@pytest.mark.parametrize("name", [*NAMES, "persons: public"])
def test_what_the_product_makes_is_sound_to_the_product(name, bundles, tmp_path):
    """Without the project: cards and chart are made anew, too, but where a public table is not here."""
    report = verify(world.written(bundles[name], tmp_path / "out"))
    assert report.sound and report.open == (("proof", "noise", "data") if name == "persons: public" else ())
    (card,) = [check for check in report.checks if check.name == "card"]
    assert card.words.endswith("they were not made anew" if name == "persons: public" else "follow from plan and data")


def column(*values):
    """One more column that is said to be a key, of these values over and over."""

    def more(documents):
        (table,) = documents["data"]["tables"]
        table["columns"].append({"name": "more", "kind": "key"})
        for place, (row, intervals) in enumerate(zip(table["rows"], table["intervals"], strict=True)):
            row.append(values[place % len(values)])
            intervals.append(None)

    return more


def bits(documents):
    """A number in columns of 0 and 1, each of which has one value in all rows."""
    for place in range(8):
        column(200 >> place & 1)(documents)


LIES = {
    "numbers": column(*range(1000, 1100)),
    "one number": column(200),
    "a boolean": column(True),
    "a decimal": column(0.0),
    "0 and 1": column(1, 0),
    "bits": bits,
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
@pytest.mark.parametrize("name", GROUPED)
def test_an_exact_number_is_no_key(name, lie, bundles):
    assert verdicts(bundles[name])["numbers"] == "proved"
    found = verdicts(forged(bundles[name], lie))["numbers"]
    assert found == "broken" or (found == "open" and name in ("rows: sets", "rows: grouping"))


def test_grouping_is_what_the_sets_say(bundles):
    """0 in rows of a set that has the key, else 1: more of that, for any key, says nothing; its opposite would."""
    files, (_, measured) = bundles["rows: sets"], rules()
    proof = opened(files)["proof"]
    sets = sorted(proof["question"]["sets"], key=measured.text)
    (two,) = [axes for axes in sets if len(axes) == 2]
    for axis in two:
        right = [int(axis not in sets[place]) for place, _ in proof["shown"][0]["cells"]]
        assert set(right) == {0, 1}
        assert verdicts(forged(files, column(*right)))["numbers"] == "proved"
        assert verdicts(forged(files, column(*(1 - each for each in right))))["numbers"] == "broken"


def test_a_table_of_keys_alone_has_no_more_than_there_are(bundles):
    files = bundles["rows: distinct"]
    assert opened(files)["proof"]["shown"] == [None]
    assert verdicts(forged(files, column(200)))["numbers"] == "broken"


@pytest.mark.parametrize("name", ["rows: count", "rows: histogram", "rows: sum", "persons: constant"])
@pytest.mark.parametrize("tail", [2e-11, 2e-10, 1e-9, 0.0])
def test_no_exact_count_stands_in_the_last_digits(name, tail, bundles):
    """205, with 200 behind it: 205.0000000000200. A count is a whole number."""
    counts = [place for place, _, times in opened(bundles[name])["proof"]["shown"][0]["columns"] if times == "1/1"]

    def low(documents):
        for row in documents["data"]["tables"][0]["rows"]:
            for place in counts:
                row[place] = row[place] + tail

    assert counts and verdicts(forged(bundles[name], low))["numbers"] == "broken"


@pytest.mark.parametrize("tail", [1e-9, 2.0**-20, 1e-4])
def test_nor_in_those_of_a_sum_of_decimals(tail, bundles):
    """Cents have two digits, so that no rounding of theirs gives these."""
    sums = [place for place, _, times in opened(bundles["persons: constant"])["proof"]["shown"][0]["columns"]
            if times == "1/100"]  # fmt: skip

    def low(documents):
        for row in documents["data"]["tables"][0]["rows"]:
            for place in sums:
                assert isinstance(row[place], float)
                row[place] += tail

    assert sums and verdicts(forged(bundles["persons: constant"], low))["numbers"] == "broken"


def test_rounding_is_to_one_power_and_half_way_to_either_side():
    def rounded(shown, exact, size):
        checker()
        return importlib.import_module("shown").rounded(shown, [Fraction(each) for each in exact], size)

    assert rounded([205], [205], 9) and rounded([200], [205], 10) and rounded([210], [205], 10)
    assert not rounded([205.00000000002], [205], 9) and not rounded([220], [205], 10)
    assert not rounded([204], [205], 1000) and not rounded([200, 206], [204, 206], 10)
    assert not rounded([200], [205], 9) and not rounded([205], [205, 205], 9)
    assert rounded([1.02], ["1.015"], 1) and rounded([1.01], ["1.015"], 1) and not rounded([1.02], ["1.014"], 1)
    assert rounded([0.33], ["1/3"], 1) and not rounded([0.34], ["1/3"], 1)
    large = 10**17 + 35
    assert rounded([large + 5], [large], 10) and rounded([large - 5], [large], 10)
    assert not rounded([large - 15], [large], 10) and not rounded([large + 1], [large], 10)
    assert not rounded([large + 4], [large - 1], 10) and rounded([large - 5], [large - 1], 10)
