"""The three primitives, byte by byte: every tape that they can be given, and what they read of it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.coins import Coin
from tiers import size


class Tape:
    """Bytes that are read once, a whole word at a time, as a device's generator gives them."""

    def __init__(self, *draws: bytes) -> None:
        """Each draw is filled up to whole words with bytes that nobody may look at."""
        self._draws = [draw + b"\xa5" * (-len(draw) % 8) for draw in draws]
        self.read = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        if not count:
            return np.empty(0, dtype=np.uint64)
        draw = self._draws[self.read]
        assert len(draw) == 8 * count, "more or less was drawn than the contract says"
        self.read += 1
        return np.frombuffer(draw, dtype="<u8").astype(np.uint64)

    def all_read(self) -> bool:
        return self.read == len(self._draws)


def test_a_coin_of_one_byte_is_right_on_all_its_tapes() -> None:
    for heads in size((0, 1, 2, 127, 128, 129, 200, 255, 256), range(257)):
        coin = Coin(heads=heads, planes=1)
        fallen = [bool(coin.flips(1, bits=Tape(bytes([byte])))[0]) for byte in range(256)]
        assert fallen == [byte < heads for byte in range(256)]


#: Of two bytes: none, all, whole first bytes, one more, one less, and what has nothing of either.
TWO = [0, 1, 255, 256, 257, 0x7F80, 0x8000, 0xC3D7, 65_280, 65_535, 65_536]


@pytest.mark.parametrize("heads", TWO)
def test_a_coin_of_two_bytes_is_right_on_all_its_tapes(heads: int) -> None:
    lanes = np.arange(65_536)
    second = [bytes(range(256))] if heads % 256 else []  # the lanes whose first byte decides nothing, in their order
    tape = Tape((lanes >> 8).astype(np.uint8).tobytes(), *second)
    fallen = Coin(heads=heads, planes=2).flips(lanes.size, bits=tape)
    np.testing.assert_array_equal(fallen, lanes < heads)
    assert int(fallen.sum()) == heads and tape.all_read()


@pytest.mark.parametrize("heads", [1, 0x7F81, 65_535])
def test_one_flip_reads_no_further_than_it_must(heads: int) -> None:
    coin = Coin(heads=heads, planes=2)
    for first in range(256):
        if first == heads >> 8:
            for second in range(0, 256, 5):
                tape = Tape(bytes([first]), bytes([second]))
                assert coin.flips(1, bits=tape)[0] == (256 * first + second < heads) and tape.all_read()
        else:
            assert coin.flips(1, bits=Tape(bytes([first])))[0] == (256 * first < heads)


def test_the_four_bytes_that_ship_are_read_from_the_highest_on() -> None:
    coin = Coin(heads=0x01020304)
    for last, falls in ((3, True), (4, False)):
        tape = Tape(b"\x01", b"\x02", b"\x03", bytes([last]))
        assert coin.flips(1, bits=tape)[0] == falls and tape.all_read()
    assert coin.flips(1, bits=Tape(b"\x01", b"\x01"))[0] and not coin.flips(1, bits=Tape(b"\x01", b"\x03"))[0]
    one = coins.flips_of(np.array([coin.heads] * 2), bits=Tape(b"\x01\x01", b"\x01\x03"))
    assert one.tolist() == [True, False]
    assert not Coin(heads=0x01020000).flips(1, bits=Tape(b"\x01", b"\x02"))[0]  # no more is needed
    assert coin.chance == Fraction(0x01020304, 2**32)


@pytest.mark.parametrize("planes", [1, 2, 4, 6])
def test_never_and_always(planes: int) -> None:
    every = bytes(range(256))
    assert not Coin(heads=0, planes=planes).flips(256, bits=Tape(every)).any()
    assert Coin(heads=256**planes, planes=planes).flips(256, bits=Tape(every)).all()
    ends = np.array([0, 256**planes] * 128)
    np.testing.assert_array_equal(coins.flips_of(ends, planes=planes, bits=Tape(every)), ends > 0)


def test_many_flips_are_made_in_pieces_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coins, "_LANES", 3)
    tape = Tape(b"\x01\x00\x01", b"\x01\x02", b"\x02\x01", b"\x01")
    fallen = Coin(heads=0x0102, planes=2).flips(5, bits=tape)
    assert fallen.tolist() == [True, True, False, False, True] and tape.all_read()


def test_a_coin_for_each_lane_is_right_on_all_tapes_of_one_byte() -> None:
    heads, drawn = (side.ravel() for side in np.meshgrid(np.arange(257), np.arange(256)))
    fallen = coins.flips_of(heads, planes=1, bits=Tape(drawn.astype(np.uint8).tobytes()))
    np.testing.assert_array_equal(fallen, drawn < heads)


@pytest.mark.parametrize("heads", TWO)
def test_a_coin_for_each_lane_reads_as_a_coin_does(heads: int) -> None:
    """With every lane's first bytes, and its neighbours' coins all around it."""
    lanes = np.arange(65_536)
    mixed = np.where(lanes % 3 == 0, heads, (lanes * 7919 + heads) % 65_537)
    open_ = (lanes >> 8 == mixed >> 8) & (mixed & 255 > 0)
    second = [(lanes[open_] & 255).astype(np.uint8).tobytes()] if open_.any() else []
    tape = Tape((lanes >> 8).astype(np.uint8).tobytes(), *second)
    np.testing.assert_array_equal(coins.flips_of(mixed, planes=2, bits=tape), lanes < mixed)
    assert tape.all_read()


def test_bytes_are_drawn_in_whole_words_and_in_their_order() -> None:
    tape = Tape(b"abc", bytes(range(9)))
    assert coins.random_bytes(3, bits=tape).tobytes() == b"abc"
    assert coins.random_bytes(9, bits=tape).tobytes() == bytes(range(9))


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 8])
def test_a_whole_number_takes_the_low_bits_and_draws_again_what_is_too_large(limit: int) -> None:
    mask = (1 << (limit - 1).bit_length()) - 1
    for word in range(16):
        low = word & mask
        again = [] if low < limit else [bytes([0])]
        tape = Tape(bytes([word, 1, 2, 3, 4, 5, 6, 7]), *again)
        assert uniform.whole_below(limit, 1, bits=tape)[0] == (low if low < limit else 0)
        assert tape.all_read()


def test_a_coin_that_takes_one_side_too_many_is_caught() -> None:
    class Crooked(Coin):
        __slots__ = ()

        def _fill(self, fallen: NDArray[np.bool_], bits: Tape) -> None:  # type: ignore[override]
            fallen[:] = coins.random_bytes(fallen.size, bits=bits) <= self.heads

    lanes = bytes(range(256))
    assert Coin(heads=100, planes=1).flips(256, bits=Tape(lanes)).sum() == 100
    assert Crooked(heads=100, planes=1).flips(256, bits=Tape(lanes)).sum() != 100


def test_what_is_no_coin_is_refused() -> None:
    for heads, planes in ((-1, 1), (257, 1), (1, 0), (1, 7)):
        with pytest.raises(ValueError, match="not a coin"):
            Coin(heads=heads, planes=planes)


def test_heads_for_is_the_least_number_that_is_enough() -> None:
    for top in range(1, 400):
        chance = Fraction(top, 400)
        heads = coins.heads_for(chance, planes=1)
        assert Fraction(heads, 256) >= chance > Fraction(heads - 1, 256)
    assert coins.heads_for(Fraction(1, 4)) == 1 << 30


def test_least_finds_the_first_that_fits() -> None:
    for first in range(1, 65):
        assert coins.least_heads(lambda heads, first=first: heads >= first, 64) == first  # type: ignore[misc]
    with pytest.raises(ValueError, match="no coin"):
        coins.least_heads(lambda heads: False, 64)


@pytest.mark.parametrize("ratio", [Fraction(3), Fraction(10**9 + 1, 10**9), Fraction(2**32 - 1), Fraction(7, 3)])
def test_an_epsilon_is_rounded_up_and_hardly(ratio: Fraction) -> None:
    epsilon = coins.epsilon_of(ratio)
    assert exact.exp(epsilon, up=False) >= ratio
    assert exact.exp(epsilon - Fraction(2, 10**12), up=True) < ratio
    assert coins.epsilon_of(Fraction(1)) == 0
    with pytest.raises(ValueError, match="at least 1"):
        coins.epsilon_of(1 / ratio)


def test_growth_is_never_above_the_exponential() -> None:
    for epsilon in (Fraction(1, 10**9), Fraction(1, 10), Fraction(1), Fraction(20)):
        assert exact.ln(coins.likelihood_bound(epsilon), up=True) <= epsilon + Fraction(1, 10**40)
        assert coins.likelihood_bound(epsilon) < exact.exp(epsilon, up=True)


def test_an_epsilon_that_nobody_means_is_refused() -> None:
    assert coins.check_epsilon("0.1") == coins.check_epsilon(0.1) == Fraction(1, 10)
    for epsilon in (
        0,
        "0",
        -1,
        "nan",
        "inf",
        "ln 1",
        "ln 0.5",
        "ln",
        "ln -3",
        "ln x",
        "0 ln 3",
        "ln 3 ln 3",
        "2**ln 3",
        "19 ln 3",
        20.5,
        100,
        None,
        True,
        "1e-10",
    ):
        with pytest.raises(UsageError):
            coins.check_epsilon(epsilon)


@pytest.mark.parametrize(
    ("written", "ratio", "times"),
    [
        ("ln 3", "3", 1),
        (" ln(3) ", "3", 1),
        ("ln( 1.5 )", "1.5", 1),
        ("2 ln 3", "3", 2),
        ("2*ln(3)", "3", 2),
        ("2 * ln 3", "3", 2),
        ("ln3", "3", 1),
    ],
)
def test_a_logarithm_is_read_as_the_least_unit_above_it(written: str, ratio: str, times: int) -> None:
    once = coins.epsilon_of(Fraction(ratio))
    assert coins.check_epsilon(written) == times * once
    assert 0 < once - exact.ln(Fraction(ratio), up=False) < Fraction(1, 10**12)


@pytest.mark.parametrize("units", [1, 7, 10**9, 10**12, 3 * 10**12 + 1])
def test_a_ratio_just_above_a_unit_costs_the_next_one(units: int) -> None:
    """e^(units / 10^12), rounded up in the fiftieth digit: its logarithm is above `units`, if hardly."""
    ratio = exact.exp(Fraction(units, 10**12), up=True)
    assert coins.epsilon_of(ratio) == Fraction(units + 1, 10**12)


def test_a_cost_is_never_more_than_was_asked_for_nor_less_than_the_logarithm() -> None:
    for part in range(1, 200):
        asked = Fraction(part, 1001)  # no whole number of units
        for times in (1, 2, 6):
            ratio = coins.likelihood_bound(asked / times)
            assert coins.epsilon_of(ratio**times) > asked == coins.cost(ratio, asked, times=times)
            assert exact.exp(coins.cost(ratio, asked, times=times), up=True) >= ratio**times
            with pytest.raises(ValueError, match="more than the requested epsilon"):
                coins.cost(exact.exp(asked / times, up=True), asked, times=times)
    for ratio in (Fraction(1), Fraction(9, 10)):
        with pytest.raises(UsageError, match="say nothing"):
            coins.cost(ratio, Fraction(1))
