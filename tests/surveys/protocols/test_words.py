"""Unknown words letter by letter: the epsilon from the exact law, what is found, and honest counts."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.hash_functions import CodedWords
from discreet.surveys.protocols.prefix_words import PrefixWords
from discreet.surveys.protocols.randomizer import randomizer_from_parameters
from discreet.surveys.protocols.word_bytes import WordSpelling
from surveys.protocols.every import NoBits, largest_ratio, law
from surveys.protocols.sources import Fixed

LATIN = "abcdefghijklmnopqrstuvwxyz"
TOP = {"holiday": 0.2, "🎉": 0.15, "the": 0.12, "then": 0.1, "naïve": 0.08, "👩‍🚀": 0.08}


def _people(shares: dict[str, float], n: int, number: int) -> list[str]:
    """n people's words: those listed, and words that hardly anybody shares."""
    drawn = np.random.Generator(np.random.PCG64(number)).random(n)
    places = np.searchsorted(np.cumsum(list(shares.values())), drawn)
    names = list(shares)
    return [names[place] if place < len(names) else f"w{lane % 5000}" for lane, place in enumerate(places.tolist())]


# Spelling


def test_what_is_padded_is_read_again() -> None:
    spelling = WordSpelling(length=16)
    for word in ("a", "🎉", "naïve", "e\u0301", "x" * 16, "👩‍🚀"):
        padded = spelling.padded(word)
        assert len(padded) == 16
        assert spelling.padded(spelling.read(padded)) == padded
        assert all(spelling.is_prefix(padded[:end]) for end in range(1, 17))
    for word in ("", "x" * 17, "a\0b", "a\0", "\0", None, 3, "\ud800"):
        with pytest.raises(UsageError):
            spelling.padded(word)


def test_only_what_can_become_a_word_is_pursued() -> None:
    spelling = WordSpelling(length=4, alphabet="aé🎉")
    first = spelling.extend_prefixes([b""], 1)
    assert sorted(first) == [b"a", b"\xc3", b"\xf0"]
    assert sorted(spelling.extend_prefixes([b"\xc3", b"a"], 1)) == [b"a\0", b"aa", b"a\xc3", b"a\xf0", b"\xc3\xa9"]
    assert spelling.extend_prefixes([b"a\0"], 2) == [b"a\0\0\0"]
    words = {spelling.read(padded) for padded in spelling.extend_prefixes([b""], 4)} - {None}
    assert words == {"a", "aa", "aaa", "aaaa", "é", "éa", "aé", "éé", "aaé", "aéa", "éaa", "🎉"}
    assert spelling.read(b"\xf0\x9f\x8e\0") is None and spelling.read(b"b\0\0\0") is None
    with pytest.raises(UsageError, match="alphabet"):
        spelling.padded("b")
    for length, alphabet in ((0, None), (65, None), ("8", None), (8, ""), (8, "a\0")):
        with pytest.raises(UsageError):
            WordSpelling(length=length, alphabet=alphabet)  # type: ignore[arg-type]


def test_bytes_are_enough_for_every_character() -> None:
    spelling = WordSpelling(length=4)
    letters = set(spelling.letters)
    for point in [*range(1, 0xD800, 97), *range(0xE000, 0x110000, 4099), 0x10FFFF]:
        assert set(chr(point).encode()) <= letters


# The epsilon


@pytest.mark.parametrize("epsilon", ["0.1", "1.1", "8"])
def test_the_epsilon_is_that_of_the_exact_law(epsilon: str) -> None:
    made = PrefixWords(epsilon=epsilon, length=2, alphabet="ab", groups=2, functions=2, wide=4)
    ratio = largest_ratio([law(made, word) for word in ("a", "b", "ab", "bb")])
    assert coins.epsilon_of(ratio) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)


def test_a_group_that_depends_on_the_word_is_caught() -> None:
    class Telling(PrefixWords):
        def draw_reports(self, values, *, bits):
            made = super().draw_reports(values, bits=bits)
            made[:, 0] = [len(value) for value in values]
            return made

    made = Telling(epsilon=1, length=2, alphabet="ab", groups=2, functions=2, wide=4)
    with pytest.raises(AssertionError, match="another cannot"):
        largest_ratio([law(made, word) for word in ("a", "ab")])


def test_the_report_is_the_sketch_of_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """At full width: given the group, all that depends on the word is a sketch's report of its beginning."""
    made = PrefixWords(epsilon=2, length=8)
    words = ["holiday", "holidays", "🎉"]
    real = uniform.whole_below
    for group, end in enumerate((*made.cuts, 8)):
        sketch = made.counting if group == len(made.cuts) else made.finding
        begun = [made.spelling.padded(word)[:end] for word in words]

        def drawn(limit, size, *, bits, group=group):
            return np.full(size, group) if limit == len(made.cuts) + 1 else real(limit, size, bits=bits)

        with monkeypatch.context() as patch:
            patch.setattr(uniform, "whole_below", drawn)
            reports = made.draw_reports(words, bits=Fixed(group))
        assert (reports[:, 0] == group).all()
        assert (reports[:, 1:] == sketch.draw_sketch_reports(CodedWords(begun, np.arange(3)), bits=Fixed(group))).all()


# What is found


def test_frequent_words_are_found_whatever_they_are() -> None:
    people = _people(TOP, 150_000, 1)
    made = PrefixWords(epsilon=5, length=12)
    found = made.estimate(made.randomize_all(people, bits=Fixed(1)))
    assert found.n == len(people)
    assert set(found.labels) == set(TOP)
    truth = np.array([people.count(word) for word in found.labels])
    assert (np.abs(found.counts - truth) < 4 * np.sqrt(found.variances)).all()


def test_an_alphabet_needs_fewer_groups() -> None:
    people = [word if word.isascii() and word.isalpha() else "other" for word in _people(TOP, 40_000, 2)]
    made = PrefixWords(epsilon=4, length=8, alphabet=LATIN)
    assert made.cuts == (2, 4, 6, 8) and PrefixWords(epsilon=4, length=8).cuts == (1, 2, 3, 4, 5, 6, 7, 8)
    found = made.estimate(made.randomize_all(people, bits=Fixed(2)))
    assert set(found.labels) == {"holiday", "the", "then", "other"}


def test_where_nothing_is_frequent_nothing_is_found() -> None:
    made = PrefixWords(epsilon=1, length=8)
    people = [chr(0x4E00 + lane) for lane in range(2_000)]
    found = made.estimate(made.randomize_all(people, bits=Fixed(3)))
    assert found.labels == () and found.n == 2_000
    assert made.estimate([]).n == 0


def test_counts_are_as_good_as_if_the_words_had_been_listed() -> None:
    scores, shown = [], []
    for run in range(25):
        people = _people({"ab": 0.3, "ba": 0.1, "b": 0.05}, 8_000, run)
        people = [word if len(word) < 3 and "w" not in word else "aa" for word in people]
        made = PrefixWords(epsilon=3, length=2, alphabet="ab", functions=16, wide=256, salt=str(run))
        found = made.estimate(made.randomize_all(people, bits=Fixed(run)))
        truth = np.array([people.count(word) for word in found.labels])
        scores += ((found.counts - truth) ** 2 / found.variances).tolist()
        shown += list(found.labels)
    assert shown.count("aa") == shown.count("ab") == 25 and len(scores) > 70
    assert 0.7 < np.mean(scores) < 1.35  # 75 or more scores of variance 2; fixed bits


# Bad input


def test_what_is_no_word_or_no_report_is_refused() -> None:
    made = PrefixWords(epsilon=2, length=8)
    for answer in ("", None, 3, ["a"], "\ud800", "x" * 9, "a\0b"):
        with pytest.raises(UsageError):
            made.draw_reports([answer], bits=NoBits())
    with pytest.raises(UsageError, match="cannot have made"):
        made.estimate([b"\xff" * made.width])
    wrong = [
        {"groups": 0},
        {"groups": 9},
        {"groups": 4},
        {"length": 0},
        {"epsilon": 0},
        {"epsilon": "nan"},
        {"wide": 5},
    ]
    for options in wrong:
        with pytest.raises(UsageError):
            PrefixWords(**{"epsilon": 2, "length": 8, **options})


def test_parameters_make_it_again() -> None:
    made = PrefixWords(epsilon="0.7", length=6, alphabet="abcé", groups=3, salt="🧂")
    parameters = json.loads(json.dumps(made.parameters()))
    again = randomizer_from_parameters(parameters, {made.protocol: PrefixWords})
    assert (
        again.draw_reports(["abc", "é"], bits=Fixed(3)).tolist()
        == made.draw_reports(["abc", "é"], bits=Fixed(3)).tolist()
    )


# Liars


def _lies(made: PrefixWords, raw: bytes, many: int) -> np.ndarray:
    """Reports as a device would make them that took `raw`, which is no word, for one."""
    groups = uniform.whole_below(len(made.cuts) + 1, many, bits=Fixed(9))
    rows = np.empty((many, made.width), dtype=np.uint8)
    rows[:, 0] = groups
    for group, end in enumerate((*made.cuts, made.spelling.length)):
        lanes = np.flatnonzero(groups == group)
        sketch = made.counting if group == len(made.cuts) else made.finding
        rows[lanes, 1:] = sketch.draw_sketch_reports(
            CodedWords([raw[:end]], np.zeros(lanes.size, dtype=np.int64)), bits=Fixed(group)
        )
    return rows


@pytest.mark.parametrize(("word", "lie", "length"), [("cat", "\u0958", 3), ("\u00e9", "e\u0301\0", 4)])
def test_liars_with_spellings_that_no_word_has_spoil_nothing(word: str, lie: str, length: int) -> None:
    """U+0958 is longer once composed; e and an accent are a word that is spelled otherwise."""
    made = PrefixWords(epsilon=4, length=length)
    honest = made.randomize_all([word] * 20_000, bits=Fixed(3))
    reports = np.vstack([honest, _lies(made, lie.encode(), 5_000)])
    assert made.valid(reports).all()
    assert made.estimate(reports).labels == (word,)


def test_only_composed_spellings_are_words() -> None:
    spelling = WordSpelling(length=8)
    for text in ("e\u0301", "\u0958", "\u1100\u1161", "\u212b", "a\u0323\u0307\u0301x"):
        assert not spelling.is_prefix(text.encode()) or text == "a\u0323\u0307\u0301x"
        assert spelling.read(text.encode().ljust(8, b"\0")) is None
    assert spelling.read("\u00e9".encode().ljust(8, b"\0")) == "\u00e9"
    assert spelling.read(b"a" * 9) is None  # longer than any word
    assert WordSpelling(length=4, alphabet="e\u0301").letters == (0, 0x65, 0x81, 0xCC)


def test_a_group_that_is_not_there_is_refused() -> None:
    made = PrefixWords(epsilon=2, length=8)
    report = made.draw_reports(["a"], bits=Fixed(1))
    for group in range(256):
        report[0, 0] = group
        assert made.valid(report)[0] == (group <= len(made.cuts))


def test_a_liar_moves_a_count_by_the_reach_of_its_group_scaled_up() -> None:
    made = PrefixWords(epsilon=4, length=2, alphabet="ab", groups=1, functions=4, wide=16)
    reports = made.randomize_all(["ab"] * 4_000, bits=Fixed(5))
    found = made.estimate(reports)
    lane = int(np.flatnonzero(reports[:, 0] == 1)[0])
    moved = 0.0
    for said in range(2 * 4 * 16):
        liar = reports.copy()
        liar[lane, 1:] = said
        told = made.estimate(liar)
        if told.labels == found.labels:
            moved = max(moved, float(np.abs(told.counts - found.counts).max()))
    assert 1.5 * made.counting.reach < moved <= found.reach
