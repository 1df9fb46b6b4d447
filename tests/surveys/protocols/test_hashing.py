"""Local hashing: exact over all functions of a small word, given the function over all coins, and as shipped."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.surveys.protocols import coins, local_hash
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.local_hash import FastHashing, LocalHashing, best_buckets, collision
from surveys.protocols.every import largest_ratio, law
from surveys.protocols.test_coins import Tape

ABC = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]
#: Every function of a word of eight bits: 256 multipliers and 256 addends.
ALL = np.stack([side.ravel() for side in np.meshgrid(np.arange(256), np.arange(256))], axis=1).astype(np.uint8)


class Given(LocalHashing):
    """Local hashing whose function was drawn already."""

    __slots__ = ("function",)

    function: tuple[int, int]

    def draw_functions(self, size: int, *, bits: Any) -> NDArray[Any]:
        return np.array([self.function] * size, dtype=self._type)


def _small(size: int, epsilon: str) -> LocalHashing:
    return LocalHashing(ABC[:size], epsilon=epsilon, word=8)


# --- the functions


@pytest.mark.parametrize(("size", "epsilon"), [(2, "1"), (3, "2"), (5, "0.1"), (8, "1.5"), (12, "2.4")])
def test_buckets_of_two_choices_are_independent_over_all_functions(size: int, epsilon: str) -> None:
    made = _small(size, epsilon)
    assert _independent(made)
    shares = np.bincount(made.buckets_of(ALL, np.zeros(65_536, dtype=np.int64)), minlength=made.buckets)
    assert Fraction(int((shares**2).sum()), 65_536**2) == made.collision


def _independent(made: LocalHashing) -> bool:
    g = made.buckets
    found = [made.buckets_of(ALL, np.full(65_536, code)) for code in range(len(made.choices))]
    alone = [np.bincount(each, minlength=g) for each in found]
    return all(
        np.array_equal(
            np.bincount(found[one] * g + found[two], minlength=g * g) * 65_536, np.outer(alone[one], alone[two]).ravel()
        )
        for one in range(len(found))
        for two in range(one)
    )


def test_one_bit_more_than_the_theorem_allows_is_caught() -> None:
    made = _small(12, "2.4")
    made.kept += 1
    assert not _independent(made)


@pytest.mark.parametrize("span", [7, 64, 101])
def test_the_probability_of_a_collision(span: int) -> None:
    for buckets in range(2, span):
        shares = np.bincount(np.arange(span) * buckets // span)
        assert collision(span, buckets) == Fraction(int((shares**2).sum()), span**2)


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1.1", "2", "3.3", "4.6"])
def test_no_other_number_of_buckets_varies_less(epsilon: str) -> None:
    growth = float(coins.likelihood_bound(Fraction(epsilon)))
    # q (1 - q) / (p - q)^2 with p = e / (e + g - 1) and q = 1 / g
    theory = {g: (growth + g - 1) ** 2 / ((g - 1) * (growth - 1) ** 2) for g in range(2, 300)}
    assert best_buckets(coins.likelihood_bound(Fraction(epsilon)), span=1 << 32, most=1 << 16) == min(
        theory, key=theory.__getitem__
    )


# --- the noise


@pytest.mark.parametrize(("size", "epsilon"), [(2, "1.1"), (3, "0.1"), (5, "2"), (12, "3")])
def test_the_epsilon_is_that_of_the_exact_law_given_any_function(size: int, epsilon: str) -> None:
    made = Given(ABC[:size], epsilon=epsilon)
    most = Fraction(1)
    for function in [(0, 0), (1, 0), (2**32 - 1, 2**32 - 1), (0x9E3779B1, 77), (0x80000000, 3), (0x31415926, 2**31)]:
        made.function = function
        most = max(most, largest_ratio([law(made, choice) for choice in made.choices]))
    assert coins.epsilon_of(most) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)


def test_too_little_noise_is_caught() -> None:
    made = Given(ABC[:5], epsilon="2")
    made.function = (0x9E3779B1, 77)
    made.lie = Coin(heads=made.lie.heads * 99 // 100)
    assert coins.epsilon_of(largest_ratio([law(made, choice) for choice in made.choices])) > made.epsilon


@pytest.mark.parametrize(
    ("size", "epsilon"), [(2, "1"), (3, "2"), (5, "0.1"), (8, "1.5"), pytest.param(12, "2.4", marks=pytest.mark.deep)]
)
def test_supports_have_exactly_the_chances_that_are_stated(size: int, epsilon: str) -> None:
    """Over all functions and all buckets that can be told (a report supports or not: p and q are its law)."""
    made = _small(size, epsilon)
    for code in range(size):
        for other, chance in enumerate(_chances(made, code)):
            assert chance == made.chances[0 if other == code else 1]


def test_buckets_taken_for_equal_that_are_not_are_caught() -> None:
    made = _small(5, "0.6")
    assert made.buckets == 3 and made.collision != Fraction(1, 3)
    made.collision = Fraction(1, 3)
    assert _chances(made, 0)[1] != made.chances[1]


def _chances(made: LocalHashing, code: int) -> list[Fraction]:
    true = made.buckets_of(ALL, np.full(65_536, code))
    found = np.zeros(len(made.choices), dtype=object)
    for shift in range(made.buckets):
        told = ((true + shift) % made.buckets).astype(np.uint8)
        chance = made.lie.chance / (made.buckets - 1) if shift else 1 - made.lie.chance
        found += made.supports(made.matrix(np.column_stack([ALL, told]))).astype(object) * chance
    return [Fraction(each) / 65_536 for each in found]


@pytest.mark.parametrize("epsilon", ["0.5", "2", "9", "20"])
def test_what_the_server_counts_is_what_the_device_hashes(epsilon: str) -> None:
    rng = np.random.default_rng(5)
    made = LocalHashing([str(code) for code in range(50)], epsilon=epsilon)
    functions = rng.integers(0, 2**32, size=(local_hash._PIECE + 50, 2), dtype=np.uint32)
    functions[:4] = [[0, 0], [2**32 - 1, 2**32 - 1], [2**31, 0], [1, 2**32 - 1]]
    told = rng.integers(0, made.buckets, size=len(functions))
    told[4:2000] = made.buckets_of(functions[4:2000], np.full(1996, 17))
    reports = np.hstack([functions.astype(">u4").view(np.uint8), local_hash.numbers_to_bytes(told, made.width - 8)])
    slow = [np.count_nonzero(made.buckets_of(functions, np.full(told.size, code)) == told) for code in range(50)]
    assert made.supports(reports).tolist() == slow


def test_one_report_reads_its_tape_in_order() -> None:
    made = LocalHashing(ABC[:5], epsilon="2")
    assert made.buckets == 8 and made.width == 9
    # Words as a generator gives them: the low 32 bits are the number, the rest is not looked at.
    seed = (0x9E3779B1).to_bytes(4, "little") + b"\xff" * 4 + (12345).to_bytes(4, "little") + b"\xff" * 4
    tape = Tape(seed, b"\xff")
    bucket = ((0x9E3779B1 * 2 + 12345) % 2**32 >> 2) * 8 >> 30
    told = bytes.fromhex("9e3779b1") + (12345).to_bytes(4, "big")
    assert made.kept == 30 and made.randomize("c", bits=tape) == told + bytes([bucket]) and tape.all_read()
    lies = Tape(seed, b"\x00", b"\x06")
    assert made.randomize("c", bits=lies) == told + bytes([(bucket + 1 + 6) % 8]) and lies.all_read()


def test_what_is_no_report_is_refused() -> None:
    made = LocalHashing(ABC[:5], epsilon="2")
    for report in (b"", bytes(8), bytes(10), bytes(8) + b"\x08", b"\xff" * 9):
        with pytest.raises(UsageError):
            made.estimate([report])
    with pytest.raises(UsageError):
        made.randomize("z")


# --- the fast variant


@pytest.fixture
def five(monkeypatch: pytest.MonkeyPatch) -> NDArray[np.int64]:
    """All polynomials over the field of five: a list with every function in it once."""
    every = np.stack([side.ravel() for side in np.meshgrid(*[np.arange(5)] * 3)])
    monkeypatch.setattr(local_hash, "PRIME", 5)
    monkeypatch.setattr(local_hash, "public_coefficients", lambda label, functions: every[:, :functions])
    return every


@pytest.mark.thin(1)
@pytest.mark.parametrize("epsilon", ["0.3", "1.1", "2"])
@pytest.mark.usefixtures("five")
def test_the_fast_law_over_a_list_of_all_functions(epsilon: str) -> None:
    made = FastHashing(ABC[:4], epsilon=epsilon, functions=125)
    laws = [law(made, choice) for choice in made.choices]
    assert coins.epsilon_of(largest_ratio(laws)) == made.epsilon <= Fraction(epsilon)
    for code, found in enumerate(laws):
        counts = np.array([made.estimate([report]).counts for report in found])
        chances = np.array([float(chance) for chance in found.values()])
        truth = np.eye(4)[code]
        np.testing.assert_allclose(chances @ counts, truth, atol=1e-7)
        np.testing.assert_allclose(chances @ counts**2 - truth, made.variances(truth, 1), rtol=1e-7, atol=1e-9)


def test_what_a_shared_list_adds_to_the_variance(five: NDArray[np.int64]) -> None:
    """Over all lists of one function: the variance of the coins, and of what the list makes of the people."""
    made = FastHashing(ABC[:4], epsilon="1.1", functions=1)
    people = np.array([5.0, 3.0, 0.0, 7.0])
    truth, other = (float(chance) for chance in made.chances)
    wrong = float(made.lie.chance) / (made.buckets - 1)
    means, within = [], []
    for index in range(125):
        made._coefficients = five[:, index : index + 1]
        buckets = np.array([made.buckets_of(np.zeros(1, dtype=np.int64), code)[0] for code in range(4)])
        support = np.where(buckets[:, None] == buckets[None, :], truth, wrong)
        means.append((people @ support - people.sum() * other) / (truth - other))
        within.append(people @ (support * (1 - support)) / (truth - other) ** 2)
    np.testing.assert_allclose(np.mean(means, axis=0), people, atol=1e-9)
    measured = np.var(means, axis=0) + np.mean(within, axis=0)
    stated = made.variances(people, 15) + _thirds(made, people)
    np.testing.assert_allclose(measured, stated, rtol=1e-9)
    alone = made.variances(people, 15) - made.shared_variances(people)
    assert (measured > 1.1 * alone).all()


def _thirds(made: FastHashing, people: NDArray[np.float64]) -> NDArray[np.float64]:
    """What buckets of unequal size add: next to nothing for the prime that ships, and not for five."""
    shares = np.bincount(np.arange(5) * made.buckets // 5) / 5
    both = ((shares**3).sum() - (shares**2).sum() ** 2) / (1 - (shares**2).sum()) ** 2
    others = people.sum() - people
    return np.asarray(both * (others**2 - ((people**2).sum() - people**2)))


def test_the_public_list_is_the_one_that_every_device_computes() -> None:
    made = FastHashing(ABC, epsilon="1", functions=3, label="x")
    digest = hashlib.sha256(b"x/1").digest()
    square, slope, constant = (int.from_bytes(digest[at : at + 8], "big") % (2**31 - 1) for at in (0, 8, 16))
    value = (square * 121 + slope * 11 + constant) % (2**31 - 1)
    assert made.buckets_of(np.array([1]), np.array([11]))[0] == value * made.buckets // (2**31 - 1)
    assert FastHashing(ABC, epsilon="1", label="y")._coefficients[0, 0] != made._coefficients[0, 0]


def test_what_the_fast_server_counts_is_what_the_device_hashes() -> None:
    rng = np.random.default_rng(6)
    made = FastHashing([str(code) for code in range(40)], epsilon="2", functions=local_hash._PIECE + 1000)
    drawn = rng.integers(0, made.functions, size=5000)
    told = rng.integers(0, made.buckets, size=5000)
    told[:1000] = made.buckets_of(drawn[:1000], np.full(1000, 9))
    reports = np.hstack([local_hash.numbers_to_bytes(drawn, 2), local_hash.numbers_to_bytes(told, 1)])
    slow = [np.count_nonzero(made.buckets_of(drawn, np.full(5000, code)) == told) for code in range(40)]
    assert made.supports(made.matrix(reports)).tolist() == slow


def test_one_fast_report_reads_its_tape_in_order() -> None:
    made = FastHashing(ABC[:5], epsilon="2")
    bucket = made.buckets_of(np.array([513]), np.array([3]))[0]
    tape = Tape(b"\x01\x02\xff\xff", b"\xff")
    assert made.randomize("d", bits=tape) == bytes([2, 1, bucket]) and tape.all_read()


@pytest.mark.parametrize("functions", [0, -1, 1 << 21, "5", 2.0])
def test_a_list_of_no_sense_is_refused(functions: Any) -> None:
    with pytest.raises(UsageError, match="functions"):
        FastHashing(ABC, epsilon=1, functions=functions)


def test_what_is_no_fast_report_is_refused() -> None:
    made = FastHashing(ABC[:5], epsilon="2", functions=1000)
    for report in (b"", bytes(2), b"\x00\x00\x08", (1000).to_bytes(2, "big") + b"\x00"):
        with pytest.raises(UsageError):
            made.estimate([report])


def test_the_servers_table_stays_small_and_hours_of_counting_are_refused() -> None:
    assert 2 <= FastHashing(["a", "b"], epsilon=20).buckets * (1 << 16) <= 1 << 23
    with pytest.raises(UsageError, match="hours"):
        FastHashing([str(code) for code in range(1 << 16)], epsilon=1)
    for wrong in ({"label": None}, {"label": "\ud800"}, {"label": "x" * 201}, {"functions": True}, {"functions": 1.0}):
        with pytest.raises(UsageError):
            FastHashing(["a", "b"], epsilon=1, **wrong)
    for word in (-1, 0, 24, 64, 128, "32"):
        with pytest.raises(UsageError, match="32 bits"):
            LocalHashing(["a", "b"], epsilon=1, word=word)
