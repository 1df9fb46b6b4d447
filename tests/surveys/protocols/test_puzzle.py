"""The fragment puzzle: fragments that no two share a number, the epsilon of both parts, and words put together."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.surveys.protocols import coins, fragment_puzzle
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.fragment_puzzle import FragmentPuzzle
from discreet.surveys.protocols.randomizer import randomizer_from_parameters
from surveys.protocols.every import NoBits, largest_ratio, law
from surveys.protocols.sources import Fixed

LATIN = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def few_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fragment_puzzle, "TAGS", 4)


def _small(epsilon: str, share: str = "1/2") -> FragmentPuzzle:
    """Of two words, whose places in the sketch differ as well as their fragments."""
    for salt in ("s", "t", "u", "v", "w", "x"):
        made = FragmentPuzzle(epsilon=epsilon, share=share, length=2, alphabet="a", functions=1, wide=2, salt=salt)
        places = made.whole._hashes.table([b"a\0", b"aa"])[:, 0]
        if places[0] != places[1]:
            return made
    raise AssertionError("all salts let the two fall together")


# The epsilon


def _ratio(made: FragmentPuzzle) -> Fraction:
    return largest_ratio([law(made, word) for word in ("a", "aa")])


@pytest.mark.usefixtures("few_tags")
@pytest.mark.parametrize(("epsilon", "share"), [("0.1", "1/2"), ("1.1", "1/3"), ("8", "0.7")])
def test_the_epsilon_of_both_parts_is_that_of_the_exact_law(epsilon: str, share: str) -> None:
    made = _small(epsilon, share)
    assert coins.epsilon_of(_ratio(made)) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)


@pytest.mark.usefixtures("few_tags")
@pytest.mark.parametrize("part", ["fragment", "word"])
def test_too_little_noise_in_either_part_is_caught(part: str) -> None:
    made = _small("2")
    owner = made if part == "fragment" else made.whole
    owner.lie = Coin(heads=owner.lie.heads * 9 // 10)
    assert coins.epsilon_of(_ratio(made)) > made.epsilon


# Fragments


def _all_numbers(made: FragmentPuzzle, numbered) -> list[int]:
    """The numbers of all fragments under all tags, at one position."""
    letters = [bytes(pair) for pair in itertools.product(made.spelling.letters, repeat=made.size)]
    return [number for tag in range(256) for number in numbered(tag, letters)]


@pytest.mark.parametrize("alphabet", [None, "ab", LATIN])
def test_no_two_tagged_fragments_share_a_number(alphabet: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = FragmentPuzzle(epsilon=1, length=2 if alphabet else 1, alphabet=alphabet)

    def numbered(tag: int, letters: list[bytes]) -> list[int]:
        monkeypatch.setattr(type(made.tags), "table", lambda self, keys: np.full((len(keys), 1), tag))
        return made.fragment_numbers(letters)[:, 0].tolist()

    numbers = _all_numbers(made, numbered)
    assert len(set(numbers)) == len(numbers) == 256 * made.fragments
    assert min(numbers) >= 0 and max(numbers) < made.rows
    letters = [bytes(pair) for pair in itertools.product(made.spelling.letters, repeat=made.size)]
    assert [made.fragment(number % made.fragments) for number in numbered(3, letters)] == letters

    def product(tag: int, letters: list[bytes]) -> list[int]:
        return [tag * (place + 1) for place in range(len(letters))]

    assert len(set(_all_numbers(made, product))) < len(numbers)  # as a peer numbers them


# Words put together


def _people(words: list[str], each: int) -> list[str]:
    return [word for word in words for _ in range(each)] + [f"w{lane}" for lane in range(2 * each)]


def test_frequent_words_are_put_together_whatever_they_are() -> None:
    words = ["holiday", "🎉", "the", "then", "naïve"]
    people = _people(words, 12_000)
    made = FragmentPuzzle(epsilon=6, length=8)
    found = made.estimate(made.randomize_all(people, bits=Fixed(1)))
    assert set(found.labels) == set(words) and found.n == len(people)
    assert (np.abs(found.counts - 12_000) < 4 * np.sqrt(found.variances)).all()


def test_two_words_of_one_tag_are_told_apart() -> None:
    made = FragmentPuzzle(epsilon=6, length=6, alphabet=LATIN)
    names = ["".join(letters) for letters in itertools.islice(itertools.product(LATIN, repeat=6), 0, 200_000, 613)]
    tags = made.tags.table([name.encode() for name in names])[:, 0]
    twins = [names[place] for place in np.flatnonzero(tags == np.bincount(tags).argmax())[:2]]
    people = [word for word in twins for _ in range(15_000)]
    reports = made.randomize_all(people, bits=Fixed(2))
    assert set(made.estimate(reports).labels) == set(twins)


def test_what_does_not_bear_its_own_tag_is_dropped() -> None:
    """Fragments of two words of one tag make four words of two fragments; two at most have the tag by right."""
    made = FragmentPuzzle(epsilon=20, length=4, alphabet=LATIN)
    names = ["".join(letters) for letters in itertools.islice(itertools.product(LATIN, repeat=4), 0, 400_000, 613)]
    tags = made.tags.table([name.encode() for name in names])[:, 0]
    twins = [names[place] for place in np.flatnonzero(tags == np.bincount(tags).argmax())[:2]]
    reports = made.randomize_all([word for word in twins for _ in range(4_000)], bits=Fixed(3))
    joined = made.join_fragments(reports)
    assert {word.decode() for word in joined} >= set(twins) and len(joined) < 4


def test_where_nothing_is_frequent_nothing_is_found() -> None:
    made = FragmentPuzzle(epsilon=1, length=8)
    people = [chr(0x4E00 + lane) for lane in range(2_000)]
    assert made.estimate(made.randomize_all(people, bits=Fixed(3))).labels == ()
    assert made.estimate([]).n == 0


# Bad input


def test_what_is_no_word_or_no_report_is_refused() -> None:
    made = FragmentPuzzle(epsilon=2, length=8)
    for answer in ("", None, 3, ["a"], "\ud800", "x" * 9, "a\0b"):
        with pytest.raises(UsageError):
            made.draw_reports([answer], bits=NoBits())
    for report in (b"\xff" * made.width, b"\x08" + bytes(made.width - 1), b"\0\xff\xff\xff" + bytes(made.width - 4)):
        with pytest.raises(UsageError, match="cannot have made"):
            made.estimate([report])
    for options in ({"share": 0}, {"share": 1}, {"share": "1/0"}, {"length": 65}, {"epsilon": 0}, {"epsilon": "nan"}):
        with pytest.raises(UsageError):
            FragmentPuzzle(**{"epsilon": 2, **options})


def test_parameters_make_it_again() -> None:
    made = FragmentPuzzle(epsilon="0.7", length=6, alphabet="abcé", share="1/3", salt="🧂")
    parameters = json.loads(json.dumps(made.parameters()))
    again = randomizer_from_parameters(parameters, {made.protocol: FragmentPuzzle})
    assert (
        again.draw_reports(["abc", "é"], bits=Fixed(3)).tolist()
        == made.draw_reports(["abc", "é"], bits=Fixed(3)).tolist()
    )
