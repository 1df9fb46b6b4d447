"""Apple's sketches: their epsilon, bias and variance, exactly where the outputs are few, and the hashes."""

from __future__ import annotations

import hashlib
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.group_tally import tally_bits
from discreet.surveys.protocols.hash_functions import HashFunctions, code_words
from discreet.surveys.protocols.randomizer import randomizer_from_parameters
from discreet.surveys.protocols.sketch import CountMeanSketch, HadamardSketch, Sketch
from discreet.surveys.protocols.walsh import signs, transform
from surveys.protocols.every import NoBits, largest_ratio, law
from surveys.protocols.sources import Fixed, zipf
from tiers import size

KINDS: list[type[Sketch]] = [CountMeanSketch, HadamardSketch]
WORDS = ["a", "b", "🎉"]


def _made(kind: type[Sketch], **options) -> Sketch:
    return kind(**{"epsilon": "1.1", "functions": 2, "wide": 4, **options})  # type: ignore[call-arg]


# Hashes and the transform


def test_a_place_is_the_low_bits_of_its_word_of_the_digest() -> None:
    functions = HashFunctions(salt="sälz", many=20, wide=512)
    salt = "sälz".encode()
    for function in range(20):
        message = len(salt).to_bytes(4, "big") + salt + (function // 8).to_bytes(4, "big") + "🎉".encode()
        digest = hashlib.sha256(message).digest()[4 * (function % 8) :][:4]
        assert functions.table(["🎉".encode()])[0, function] == int.from_bytes(digest, "big") % 512


def test_few_words_and_many_fall_on_the_same_places() -> None:
    functions = HashFunctions(salt="s", many=100, wide=64)
    keys = [f"word {number}".encode() for number in range(50)]
    chosen = np.arange(50) * 7 % 100
    one_by_one = functions.places(code_words([key.decode() for key in keys]), chosen)  # by digests of their own
    assert one_by_one.tolist() == functions.table(keys)[np.arange(50), chosen].tolist()
    again = functions.places(code_words(["word 3"] * 100), np.arange(100))  # by a table
    assert again.tolist() == functions.table([b"word 3"])[0].tolist()


def test_places_are_even_and_functions_differ() -> None:
    table = HashFunctions(salt="s", many=64, wide=16).table([str(number).encode() for number in range(500)])
    counts = np.bincount(table.ravel(), minlength=16)
    assert np.sum((counts - 2000) ** 2 / 2000) < 45  # chi-square, 15 degrees: 1 in 10,000; fixed numbers
    meets = np.mean(table[:, :, None] == table[:, None, :], axis=0)[~np.eye(64, dtype=bool)]
    assert abs(meets.mean() - 1 / 16) < 0.002
    assert (HashFunctions(salt="t", many=64, wide=16).table([b"1"]) != table[1]).any()


def test_one_spelling_of_a_letter_is_as_good_as_another() -> None:
    composed, apart = code_words(["\u00e9"]), code_words(["e\u0301"])
    assert composed.keys == apart.keys == ["é".encode()]


@pytest.mark.parametrize("length", [1, 2, 8, 64])
def test_the_transform_is_the_matrix_of_signs(length: int) -> None:
    rows, columns = np.divmod(np.arange(length**2), length)
    matrix = (1 - 2 * signs(rows, columns).astype(np.int64)).reshape(length, length)
    values = np.arange(3 * length).reshape(3, length) ** 2
    assert (transform(values) == values @ matrix).all()
    assert (transform(values.T, axis=0) == matrix @ values.T).all()
    assert (values == np.arange(3 * length).reshape(3, length) ** 2).all()  # and leaves what it was given
    with pytest.raises(ValueError, match="power of two"):
        transform(np.zeros(3))


@pytest.mark.parametrize(("rows", "width"), [(0, 3), (1, 1), (700, 3), (9000, 17)])
def test_bits_are_counted_by_group(rows: int, width: int) -> None:
    reports = Fixed(1).words(rows * width).astype(np.uint8).reshape(rows, width)
    reports[: rows // 2] = 255  # counters that are full
    groups = np.minimum(np.arange(rows) // 300, 2)
    found = tally_bits(groups, reports, 4, 8 * width - 3)
    expected = [np.unpackbits(reports[groups == group], axis=1).sum(axis=0, dtype=np.int64) for group in range(4)]
    assert found.users.tolist() == [np.sum(groups == group) for group in range(4)]
    assert (found.sums == np.array(expected)[:, :-3]).all()


# The epsilon


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", ["0.1", "1.1", "8"])
def test_the_epsilon_is_that_of_the_exact_law(kind: type[Sketch], epsilon: str) -> None:
    made = _made(kind, epsilon=epsilon)
    ratio = largest_ratio([law(made, word) for word in WORDS])
    assert coins.epsilon_of(ratio) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)


@pytest.mark.parametrize("kind", KINDS)
def test_too_little_noise_is_caught(kind: type[Sketch]) -> None:
    made = _made(kind)
    made.lie = Coin(heads=made.lie.heads * 9 // 10)
    assert coins.epsilon_of(largest_ratio([law(made, word) for word in WORDS])) > made.epsilon


def test_a_bit_flipped_for_one_difference_only_is_caught() -> None:
    """Flipping with 1 / (1 + e^epsilon), as if two words differed in one place."""
    made = _made(CountMeanSketch)
    made.lie = _made(HadamardSketch).lie
    assert coins.epsilon_of(largest_ratio([law(made, word) for word in WORDS])) > 2 * made.epsilon * Fraction(99, 100)


def _flipped(made: Sketch, word: str, flips: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """The report's bits when function 7 is drawn and the coins fall so; each coin is `lie`."""

    def fall(coin: Coin, size: int, *, bits: object) -> np.ndarray:
        assert coin == made.lie and size == flips.size
        return flips.copy()

    with monkeypatch.context() as patch:
        patch.setattr(Coin, "flips", fall)
        patch.setattr(uniform, "whole_below", lambda limit, size, bits: np.full(size, 7))
        report = made.draw_reports([word], bits=NoBits())[0]
    assert report[0] == 7
    return np.unpackbits(report[1:]).astype(bool)


def test_the_wide_sketch_factorises_over_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^1024 outputs: each bit is the word's own bit and one coin, that no other bit uses. So the likelihood of a
    report is a product over places, and the ratio for two words is a product over the two places where they differ.
    """
    made = CountMeanSketch(epsilon=2)
    none = np.zeros(made.wide, dtype=bool)
    true = {word: _flipped(made, word, none, monkeypatch) for word in WORDS}
    assert all(bits.sum() == 1 for bits in true.values())
    for place in range(made.wide):
        one = none.copy()
        one[place] = True
        for word in WORDS[:2]:
            assert (_flipped(made, word, one, monkeypatch) ^ true[word] == one).all()
    fallen = Fixed(1).words(made.wide) % np.uint64(2) == 1
    assert (_flipped(made, "a", fallen, monkeypatch) ^ true["a"] == fallen).all()
    assert (true["a"] ^ true["b"]).sum() == 2
    lie = made.lie.chance
    assert made.epsilon == coins.epsilon_of(((1 - lie) / lie) ** 2) <= 2


# The estimate


def _check(kind: type[Sketch], monkeypatch: pytest.MonkeyPatch) -> None:
    """Over all families of hash functions, rows and coins: the mean is the truth, the variance is the stated one.

    Counts add up over reports, and given the hash functions people are independent.
    """
    made = _made(kind, wide=2)
    people = np.array([3, 2, 1])
    keys = [word.encode() for word in WORDS]
    means, spreads = [], []
    for places in itertools.product(range(2), repeat=6):
        table = dict(zip(keys, np.array(places, dtype=np.uint32).reshape(3, 2), strict=True))
        monkeypatch.setattr(
            HashFunctions, "table", lambda self, keys, table=table: np.array([table[key] for key in keys])
        )
        laws = [law(made, word) for word in WORDS]
        single = {report: made.estimate([report], WORDS).counts for report in set().union(*laws)}
        moments = []
        for found in laws:
            chances = np.array([float(chance) for chance in found.values()])
            values = np.array([single[report] for report in found])
            mean = chances @ values
            moments.append((mean, chances @ values**2 - mean**2))
        means.append(people @ np.array([mean for mean, _ in moments]))
        spreads.append(people @ np.array([spread for _, spread in moments]))
        reach = max(np.ptp([counts[place] for counts in single.values()]) for place in range(3))
        assert reach <= made.reach * (1 + 1e-9)
    np.testing.assert_allclose(np.mean(means, axis=0), people, atol=1e-9)
    stated = made.variances(people.astype(float), 6, float(np.sum(people**2)))
    np.testing.assert_allclose(np.mean(spreads, axis=0) + np.var(means, axis=0), stated, rtol=1e-9)


@pytest.mark.thin(1)
@pytest.mark.parametrize("kind", KINDS)
def test_unbiased_with_the_stated_variance_over_all_hash_functions(kind: type[Sketch], monkeypatch) -> None:
    _check(kind, monkeypatch)


def test_forgetting_the_words_that_fall_together_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def counts(self, levels, keys, n):
        return levels[np.arange(self.functions), self._hashes.table(keys)].sum(axis=1)

    monkeypatch.setattr(HadamardSketch, "counts", counts)
    with pytest.raises(AssertionError):
        _check(HadamardSketch, monkeypatch)


@pytest.mark.thin(1)
@pytest.mark.parametrize("kind", KINDS)
def test_the_measured_error_is_the_stated_one(kind: type[Sketch]) -> None:
    """Twenty runs with a salt each: mean squared error over stated variance, and coverage. Fixed bits."""
    names = [f"word {code}" for code in range(100)]
    ratios, inside = [], []
    for run in range(20):
        codes = zipf(100, 10_000, run)
        made = kind(epsilon=2, functions=16, wide=256, salt=f"run {run}")  # type: ignore[call-arg]
        found = made.estimate(made.randomize_all([names[code] for code in codes], bits=Fixed(run)), names)
        scores = (found.counts - np.bincount(codes, minlength=100)) ** 2 / found.variances
        ratios.append(scores.mean())
        inside.append(np.mean(scores < 1.96**2))
    assert 0.9 < np.mean(ratios) < 1.1
    assert 0.93 < np.mean(inside) < 0.97


def test_the_collision_term_is_needed_and_estimated() -> None:
    """Few functions and a word that half hold: the others' errors are made by it, and the interval knows."""
    names = ["half", *(f"word {code}" for code in range(200))]
    with_term, without = [], []
    for run in range(size(4, 10)):
        made = HadamardSketch(epsilon=8, functions=4, wide=64, salt=f"run {run}")
        values = ["half"] * 10_000 + [names[1 + code] for code in zipf(200, 10_000, run)]
        tally = made.tally(made.randomize_all(values, bits=Fixed(run)))
        truth = np.array([values.count(name) for name in names])
        assert made.second_moment(tally) == pytest.approx(np.sum(truth.astype(float) ** 2), rel=0.1)
        found = made.from_tally(tally, names)
        with_term.append(np.mean((found.counts - truth) ** 2 / found.variances))
        without.append(np.mean((found.counts - truth) ** 2 / made.variances(found.counts, 20_000, 20_000)))
    assert 0.8 < np.mean(with_term) < 1.2
    assert np.mean(without) > 5


@pytest.mark.parametrize("kind", KINDS)
def test_tallies_add_up(kind: type[Sketch]) -> None:
    made = _made(kind, wide=64, functions=size(60, 300))
    reports = made.randomize_all(WORDS * 200, bits=Fixed(2))
    parts = made.tally(reports[:100]) + made.tally(reports[100:])
    whole = made.tally(reports)
    assert (parts.users == whole.users).all() and (parts.sums == whole.sums).all() and whole.n == 600
    few = made.from_tally(parts, WORDS)
    np.testing.assert_allclose(few.counts, made.estimate([bytes(row) for row in reports], WORDS).counts)


# Bad input


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_word_or_no_report_is_refused(kind: type[Sketch]) -> None:
    made = _made(kind)
    for answer in ("", None, 3, ["a"], b"a", "\ud800", "x" * 1025, float("nan")):
        with pytest.raises(UsageError):
            made.draw_reports([answer], bits=NoBits())  # before any coin
    with pytest.raises(UsageError, match="bytes"):
        made.estimate([bytes(made.width + 1)], WORDS)
    with pytest.raises(UsageError, match="cannot have made"):
        made.estimate([b"\xff" * made.width], WORDS)
    for words in ([], "ab", ["a", "a"], ["\u00e9", "e\u0301"], [""]):
        with pytest.raises(UsageError):
            made.estimate([], words)
    wrong = [{"epsilon": text} for text in ("0", "nan", "100", "-1", None)]
    wrong += [{"wide": 3}, {"wide": 1}, {"wide": 1 << 21}, {"functions": 0}, {"functions": 1 << 17}, {"wide": 4.0}]
    wrong += [{"salt": "x" * 201}, {"salt": 3}, {"salt": "\udcff"}, {"functions": 1 << 16, "wide": 2048}]
    for options in wrong:
        with pytest.raises(UsageError):
            _made(kind, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_make_it_again(kind: type[Sketch]) -> None:
    made = _made(kind, epsilon="0.7", salt="🧂")
    parameters = json.loads(json.dumps(made.parameters()))
    again = randomizer_from_parameters(parameters, {kind.protocol: kind})
    assert again.draw_reports(WORDS, bits=Fixed(3)).tolist() == made.draw_reports(WORDS, bits=Fixed(3)).tolist()
    parameters["numbers"]["lie"] -= 1
    with pytest.raises(UsageError, match="numbers"):
        randomizer_from_parameters(parameters, {kind.protocol: kind})


def test_an_epsilon_whose_coin_would_be_fair_is_refused() -> None:
    with pytest.raises(UsageError, match="say nothing"):
        CountMeanSketch(epsilon="1e-9")


def test_nobody_answered() -> None:
    found = HadamardSketch(epsilon=1).estimate([], WORDS)
    assert found.n == 0 and not found.counts.any() and not found.variances.any()
