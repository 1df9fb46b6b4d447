"""Attacks on anonymized tables: by hand on small ones, by brute force, and on the generated worlds."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import UsageError
from discreet.lab.anonymize import anonymize
from discreet.lab.attacks import background, homogeneity, intersection, minimality
from discreet.lab.attacks.disclosure import possible_values
from lab.anonymity_tables import QUASI, people

#: Three classes of four: three values, three values, one value.
WARD = pa.table(
    {
        "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
        "age": ["<30"] * 4 + [">=40"] * 4 + ["30-39"] * 4,
        "ill": ["heart", "heart", "flu", "mumps", "cancer", "heart", "flu", "flu"] + ["cancer"] * 4,
    }
)


def test_a_class_with_one_value_tells_it():
    found = homogeneity.homogeneity(WARD, quasi=["zip", "age"], sensitive="ill")
    assert found.success == pytest.approx(1 / 3)
    assert (found.chance, found.n, found.details["k"], found.details["exposed"]) == (0, 12, 4, 4)
    assert found.details["guessed_with"] == pytest.approx((2 + 2 + 4) / 12)
    assert found.details["guessed_without"] == pytest.approx(5 / 12)
    assert found.interval[0] < 1 / 3 < found.interval[1]


def test_where_everybody_has_the_same_value_nothing_is_learned():
    found = homogeneity.homogeneity(pa.table({"q": [1, 1], "s": [3, 3]}), quasi=["q"], sensitive="s")
    assert (found.success, found.chance, found.breaks) == (1, 1, False)


@pytest.mark.parametrize(("facts", "success"), [(0, 1 / 3), (1, 1 / 3), (2, 1), (3, 1)])
def test_facts_rule_values_out(facts, success):
    found = background.background(WARD, quasi=["zip", "age"], sensitive="ill", facts=facts)
    assert found.success == pytest.approx(success)
    assert found.chance == (1 if facts == 3 else 0)


@pytest.mark.parametrize("facts", range(6))
def test_random_facts_by_counting_them(facts):
    """A person with value 0 of 6 values in a class of the first `distinct`."""
    for distinct in range(1, 7):
        draws = list(itertools.combinations(range(1, 6), facts))
        right = sum(set(range(1, distinct)) <= set(draw) for draw in draws)
        assert background._chance_of_certainty(np.array([distinct]), 6, facts)[0] == pytest.approx(right / len(draws))


def test_facts_are_counted_from_zero():
    with pytest.raises(UsageError, match="number of facts"):
        background.background(WARD, quasi=["zip"], sensitive="ill", facts=-1)


def believed(sizes, having, least):
    """Every way to spread the value over the people, one by one."""
    bounds = np.cumsum([0, *sizes])
    totals, ways = np.zeros(len(sizes)), 0
    for chosen in itertools.combinations(range(sum(sizes)), having):
        counts = np.histogram(chosen, bins=bounds - 0.5)[0]
        if (counts * least > sizes).any():
            totals, ways = totals + counts / sizes, ways + 1
    return totals / ways


@pytest.mark.parametrize(
    ("sizes", "having", "least"),
    [((2, 3), 2, 2), ((3, 8), 3, 2), ((2, 2, 6), 3, 2), ((4, 5, 6), 4, 3), ((3, 4, 7), 2, 4)],
)
def test_credibility_is_what_counting_gives(sizes, having, least):
    found = minimality.credibility(np.array(sizes), having, l=least)
    assert found == pytest.approx(believed(np.array(sizes), having, least))


def test_credibility_of_large_classes_stays_a_probability():
    found = minimality.credibility(np.array([1500, 4000, 30]), 1200, l=2)
    assert np.isfinite(found).all() and (found >= 0).all() and (found <= 1).all()
    assert (found * [1500, 4000, 30]).sum() == pytest.approx(1200)


def test_two_of_two_nurses_are_named():
    rows = [("v", "nurse", "yes")] * 2 + [("v", "other", "no")] * 4 + [("w", "nurse", "no")] * 2
    rows += [("w", "other", "yes")] + [("w", "other", "no")] * 3
    table = pa.table(dict(zip(("place", "job", "test"), map(list, zip(*rows, strict=True)), strict=True)))
    found = minimality.minimality(table, quasi=["place", "job"], sensitive="test", protect="yes")
    assert (found.success, found.n, found.bound) == (1, 2, 0.5)
    assert found.chance == pytest.approx(2 / 6)
    # three people at least in a class explain the joining as well: it says nothing
    assert minimality.minimality(table, quasi=["place", "job"], sensitive="test", protect="yes", k=3).n == 0
    with pytest.raises(UsageError, match="value to protect"):
        minimality.minimality(table, quasi=["place", "job"], sensitive="test", protect="perhaps")


def test_two_releases_leave_one_value():
    first = pa.table({"age": ["20-29"] * 2 + ["30-39"] * 2, "ill": ["flu", "gout", "flu", "mumps"]})
    second = pa.table({"age": ["[25, 35]"] * 2 + ["*"] * 2, "ill": ["gout", "measles", "angina", "measles"]})
    someone = pa.table({"age": [27, 33], "ill": ["gout", "flu"]})
    found = intersection.intersection(first, second, someone, quasi=["age"], sensitive="ill")
    assert (found.success, found.n, found.chance) == (0.5, 2, 0)
    assert found.details["contradictory"] == 1  # nothing is common to the classes of the second
    blind = intersection.intersection(first, second, someone.select(["age"]), quasi=["age"], sensitive="ill")
    assert (blind.success, blind.details["checked"]) == (0.5, False)
    wrong = pa.table({"age": [27], "ill": ["flu"]})
    assert intersection.intersection(first, second, wrong, quasi=["age"], sensitive="ill").success == 0
    with pytest.raises(UsageError, match="no person fits"):
        intersection.intersection(first, second, pa.table({"age": [99]}), quasi=["age"], sensitive="ill")


def test_chance_is_what_the_better_release_tells_alone():
    first = pa.table({"age": ["20-29"] * 2 + ["30-39"] * 2, "ill": ["gout", "gout", "flu", "mumps"]})
    second = pa.table({"age": ["*"] * 3, "ill": ["gout", "flu", "angina"]})
    someone = pa.table({"age": [27, 33], "ill": ["gout", "flu"]})
    for releases in ((first, second), (second, first)):
        found = intersection.intersection(*releases, someone, quasi=["age"], sensitive="ill")
        assert {found.details["first_alone"], found.details["second_alone"]} == {0.0, 0.5}
        assert (found.chance, found.success) == (0.5, 1.0)


@pytest.mark.parametrize("method", ["mondrian", "lattice"])
def test_a_persons_own_value_is_always_among_those_held(method):
    table = people(400, 6, 1)
    made = anonymize(
        table,
        quasi=QUASI,
        sensitive=["illness"],
        k=7,
        method=method,
        **({"suppress": 0.0} if method == "lattice" else {}),
    )
    held, texts = possible_values(made.table, table, quasi=QUASI, sensitive="illness")
    for row, value in enumerate(table["illness"].to_pylist()):
        assert held[row, texts.index(value)]


@pytest.mark.parametrize("attack", [homogeneity, background, intersection, minimality], ids=lambda one: one.__name__)
def test_the_generated_world_falls(attack):
    found = attack.demo()
    assert found.breaks
    assert found.story and found.picture().startswith("<svg")
    assert found.to_data()["attack"] == attack.__name__.rpartition(".")[2]


def test_l_diversity_ends_homogeneity_and_nothing_else():
    table = people(3000, 60, 5)
    made = anonymize(table, quasi=QUASI, sensitive=["illness"], k=5, l=2).table
    assert homogeneity.homogeneity(made, quasi=QUASI, sensitive="illness").success == 0
    assert background.background(made, quasi=QUASI, sensitive="illness", facts=1).success > 0.1
