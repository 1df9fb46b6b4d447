"""Attacks on what Discreet publishes instead: the number beside people who are not in it, and a leak that is seen."""

import numpy as np
import pytest

from discreet.lab.attacks import protected_demos, protected_release
from discreet.lab.attacks.protected_release import codes_of, compare_people, noisy_counts
from discreet.lab.registry import ATTACKS
from discreet.lab.worlds import wards

LISTED = {listed.name: listed for listed in ATTACKS}


def exact_counts(table, domains, *, epsilon=1):
    """A planted fault: the counts without noise."""
    counts = np.zeros([len(values) for values in domains.values()], dtype=np.int64)
    np.add.at(counts, codes_of(table, domains), 1)
    return counts


@pytest.mark.parametrize("name", ["intersection", "minimality", "sampling"])
def test_the_same_attack_does_no_better_than_about_outsiders(name):
    """The chance that a correct release looks broken is below one in a million: that is what DOUBT says."""
    evidence = LISTED[name].run()
    protected = evidence.details["protected"]
    assert LISTED[name].protected_success(evidence) == protected["success"] < evidence.success
    assert not LISTED[name].falls_too(evidence)
    assert "never in it" in evidence.story[-1]


def test_counts_without_noise_are_seen_to_fall(monkeypatch):
    monkeypatch.setattr(protected_demos, "noisy_counts", exact_counts)
    evidence = protected_demos.intersection()
    protected = evidence.details["protected"]
    assert protected["success"] > 0.2 > protected["allowed"]
    assert LISTED["intersection"].falls_too(evidence)


def test_noisy_counts_are_those_of_the_table():
    """Each of 80 counts has noise of scale 1: 40 away is rarer than one in 10^15."""
    people = wards.patients(2_000)
    domains = {"sex": ("F", "M"), wards.SENSITIVE: wards.CONDITIONS}
    noisy = noisy_counts(people, domains)
    assert noisy.shape == (2, 10)
    assert np.abs(noisy - exact_counts(people, domains)).max() < 40


def test_people_are_compared():
    right, inside = np.array([1, 1, 0, 0, 1, 0], bool), np.array([1, 1, 1, 0, 0, 0], bool)
    outcome = compare_people(right, inside)
    assert (outcome.success, outcome.outsiders, outcome.n) == (2 / 3, 1 / 3, 3)
    named = compare_people(right, inside, named=np.array([1, 0, 0, 0, 0, 0], bool))
    assert (named.success, named.outsiders, named.n, named.to_data()["allowed"]) == (1, 0, 1, 1)
    assert protected_release.EPSILON == 1


def test_invented_rows_are_as_many_as_the_counts_say():
    counts = np.zeros((2, 10, 2), dtype=np.int64)
    counts[1, 4, 0], counts[0, 0, 0] = 3, -2
    keys, more = protected_demos._invent_rows(counts)
    assert len(keys) == 3 and more == ()
    days = keys // 2 % 100_000 - 50_000
    first = (np.datetime64("1940-01-01") - np.datetime64("1970-01-01")).astype(int)
    assert ((first <= days) & (days < first + 3_653)).all()
    assert protected_demos._named_once(np.array([5, 6, 7]), np.array([6, 5, 5])).tolist() == [-1, 0, -1]


def test_what_protects_has_its_own_bound():
    """Minimality breaks a rule that promises 1/2; what protects promises something else, and is compared with that."""
    evidence = LISTED["minimality"].run()
    own = evidence.details["protected"]["allowed"]
    assert LISTED["minimality"].allowed_success(evidence) == own != evidence.bound
