"""Columns of keys and last digits: neither holds an exact number that is called proved; what Discreet makes is sound."""

import importlib
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.bundle.verification import verify
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan import formula
from verify import world
from verify.forger import forged, opened, rules
from verify.forging import checker, verdicts
from verify.test_check_bundle import NAMES

#: Bundles are made once for all tests of this folder, by whichever comes first.

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


@pytest.mark.thin(10)
@pytest.mark.parametrize("name", [*NAMES, "persons: public"])
def test_what_the_product_makes_is_sound_to_the_product(name, bundles, tmp_path):
    """Without the project: cards and chart are made anew, too, but where a public table is not here."""
    report = verify(world.written(bundles[name], tmp_path / "out"))
    assert report.sound and report.open == (("proof", "noise", "data") if name == "persons: public" else ())
    (card,) = [check for check in report.checks if check.name == "card"]
    assert card.words.endswith("they were not made again" if name == "persons: public" else "follow from plan and data")


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


@pytest.mark.thin(10)
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


@pytest.fixture
def widths():
    checker()
    return importlib.import_module("widths")


def test_half_widths_are_those_of_discreet(widths):
    """Of either law, of all sizes, near and beyond where the tail is computed in another way."""
    sizes = [Fraction(1, 7), Fraction(3, 4), Fraction(63, 1), Fraction(64, 1), Fraction(65, 1), Fraction(12345, 7)]
    sizes += [Fraction(10**6), Fraction(10**12, 3), Fraction(10**15 + 1, 2)]
    for doubt in (Fraction(1, 20), Fraction(1, 40)):
        for size in sizes:
            told = f"{size.numerator}/{size.denominator}"
            gaussian = {"kind": "discrete-gaussian", "sigma2": told}
            assert widths.half_widths(gaussian, doubt) == [DiscreteGaussian(sigma2=size).half_width(1 - doubt)]
            if size <= 10**12:
                laplace = {"kind": "discrete-laplace", "scale": told}
                assert widths.half_widths(laplace, doubt) == [DiscreteLaplace(scale=size).half_width(1 - doubt)]


def test_shown_numbers_are_those_of_discreet(widths):
    """Rounding, ends and their floats, over many numbers and multiples: as `answers` computes them."""
    for scale in (Fraction(1, 3), Fraction(29, 3), Fraction(100, 3), Fraction(4321)):
        law = DiscreteLaplace(scale=scale)
        told = {"kind": "discrete-laplace", "scale": f"{scale.numerator}/{scale.denominator}"}
        noisy = np.array([*range(-60, 61), 12345, 99995, 10**9 + 5, -(10**6) - 5, 2**53 + 1])
        far = law.half_width(Fraction(95, 100))
        shown = formula.meaningful_whole(noisy, far).tolist()
        assert widths.is_shown([(one, int(two), told) for one, two in zip(shown, noisy, strict=True)], Fraction(1))
        for times in (Fraction(1, 100), Fraction(1, 8), Fraction(-1, 100), Fraction(3), Fraction(1, 3)):
            of = formula.Arithmetic("*", formula.FormulaConstant(times), formula.StatisticRef(0))
            low, high = formula.interval(of, [noisy], [law], Fraction(95, 100))
            values = formula.meaningful_within(formula.evaluate(of, [noisy]), low, high).tolist()
            assert widths.is_shown([(one, int(two), told) for one, two in zip(values, noisy, strict=True)], times)
            for one, two, *ends in zip(values, noisy.tolist(), low.tolist(), high.tolist(), strict=True):
                assert widths.is_interval(ends, one, widths.ends_of(two, far, times, None))


def test_nothing_is_chosen_in_a_shown_number(widths):
    """Two digits of the half width and no others; half way to the even side; ends to the last place."""
    law = {"kind": "discrete-laplace", "scale": "100/1"}
    (far,) = widths.half_widths(law, Fraction(1, 20))
    assert 100 <= far < 1000
    for shown, noisy in ((1230, 1225), (1250, 1245), (1225, 1225), (1224, 1225), (1200, 1225), (1220.0, 1225)):
        assert widths.is_shown([(shown, noisy, law)], Fraction(1)) is False
    assert widths.is_shown([(1220, 1225, law), (1240, 1235, law)], Fraction(1))
    ends = widths.ends_of(1225, far, Fraction(1), None)
    for low, high in ((0, 1), (1, 0), (-1, 0), (0.0, 0), (0.25, 0)):
        assert not widths.is_interval([ends[0] + low, ends[1] + high], 1220, ends)
    cents = Fraction(1, 100)
    ends = widths.ends_of(1225, far, cents, None)
    assert widths.is_interval(list(ends), 12.2, ends)
    assert not widths.is_interval([math.nextafter(ends[0], 0), ends[1]], 12.2, ends)
    assert widths.is_shown([(12.2, 1225, law)], cents) is not False
    assert widths.is_shown([(12.3, 1225, law)], cents) is None  # half way: in which order, only the text says
    for shown in (12.25, 12.4, 12, math.nextafter(12.2, 13)):
        assert widths.is_shown([(shown, 1225, law)], cents) is False
