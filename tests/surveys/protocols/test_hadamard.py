"""Hadamard response: sets that share half, blocks that share nothing, and any number of choices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.hadamard import HadamardResponse, best_blocks, block_length, numbers_at_places
from surveys.protocols.every import largest_ratio, law
from surveys.protocols.test_coins import Tape

NAMES = [str(code) for code in range(3000)]


def _members(made: HadamardResponse, code: int) -> set[int]:
    half = np.arange(made.length // 2)
    block, column = code % made.blocks, code // made.blocks + 1
    return set((block * made.length + numbers_at_places(half, np.full(half.size, column), odd=False)).tolist())


def test_places_are_one_to_one_with_each_half_of_a_block() -> None:
    half = np.arange(16)
    for column in range(1, 32):
        even = numbers_at_places(half, np.full(16, column), odd=False)
        odd = numbers_at_places(half, np.full(16, column), odd=True)
        assert sorted([*even.tolist(), *odd.tolist()]) == list(range(32))
        assert all((number & column).bit_count() % 2 == 0 for number in even.tolist())


@pytest.mark.parametrize(("many", "epsilon", "blocks"), [(3, "1", 1), (7, "2.5", 4), (12, "4", 8), (12, "1.7", 2)])
def test_the_law_is_two_levels_over_all_numbers(many: int, epsilon: str, blocks: int) -> None:
    made = HadamardResponse(NAMES[:many], epsilon=epsilon)
    assert made.blocks == blocks
    total, half = made.blocks * made.length, made.length // 2
    for code in range(many):
        members = _members(made, code)
        found = {int.from_bytes(report, "big"): chance for report, chance in law(made, NAMES[code]).items()}
        high, low = (1 - made.without.chance) / half, made.without.chance / (total - half)
        assert found == {number: high if number in members else low for number in range(total)}
    assert coins.epsilon_of(high / low) == made.epsilon <= Fraction(epsilon)


def test_too_little_noise_is_caught() -> None:
    made = HadamardResponse(NAMES[:5], epsilon="2")
    made.without = Coin(heads=made.without.heads * 99 // 100)
    assert coins.epsilon_of(largest_ratio([law(made, choice) for choice in made.choices])) > made.epsilon


@pytest.mark.parametrize("epsilon", ["1", "3"])
@pytest.mark.parametrize("many", [2, 7, 8, 1000, 1023, 1024, 1025])
def test_any_number_of_choices_is_counted_as_the_sets_say(many: int, epsilon: str) -> None:
    made = HadamardResponse(NAMES[:many], epsilon=epsilon)
    numbers = np.random.default_rng(3).integers(0, made.blocks * made.length, size=500)
    inside, within = made.supports(made.matrix([int(each).to_bytes(made.width, "big") for each in numbers]))
    for code in {0, 1, many // 2, many - 1}:
        members = _members(made, code)
        assert inside[code] == sum(int(each) in members for each in numbers)
        assert within[code] == sum(int(each) // made.length == code % made.blocks for each in numbers)


@pytest.mark.parametrize(("many", "epsilon"), [(7, "2.5"), (12, "4")])
def test_blocks_that_are_not_equally_popular(many: int, epsilon: str) -> None:
    """Exactly unbiased, and of the variance that is stated, for people who all sit in one block but one."""
    made = HadamardResponse(NAMES[:many], epsilon=epsilon)
    people = np.zeros(many)
    people[[0, made.blocks, 1]] = [4, 3, 1]
    mean, variance = np.zeros(many), np.zeros(many)
    for code in np.flatnonzero(people):
        found = law(made, NAMES[code])
        counts = np.array([made.estimate([report]).counts for report in found])
        chances = np.array([float(chance) for chance in found.values()])
        mean += people[code] * (chances @ counts)
        variance += people[code] * (chances @ counts**2 - (chances @ counts) ** 2)
    np.testing.assert_allclose(mean, people, atol=1e-6)
    np.testing.assert_allclose(variance, made.variances(people, 8), rtol=1e-7)


def test_an_estimator_without_blocks_is_caught() -> None:
    """Support against p and q, as if all choices were of one block: biased for those of another."""
    made = HadamardResponse(NAMES[:12], epsilon="4")
    truth, other = (float(chance) for chance in made.chances)
    found = law(made, "1")
    inside = np.array([made.supports(made.matrix([report]))[0] for report in found])
    mean = np.array([float(chance) for chance in found.values()]) @ (inside - other) / (truth - other)
    assert abs(mean[0]) > 0.01  # nobody said 0


def test_the_stated_variance_follows_the_popular_block() -> None:
    made = HadamardResponse(NAMES[:1000], epsilon="3")
    assert made.blocks > 1
    people = np.zeros(1000)
    people[0] = 100_000
    found = made.estimate(made.randomize_all(np.zeros(100_000, dtype=np.int64)))
    np.testing.assert_allclose(found.variances, made.variances(people, 100_000), rtol=0.2)
    assert found.variances[made.blocks] > 1.5 * found.variances[1]


@pytest.mark.parametrize("epsilon", ["0.1", "1", "2", "4", "8"])
@pytest.mark.parametrize("many", [2, 5, 100, 1000])
def test_no_other_number_of_blocks_varies_less(many: int, epsilon: str) -> None:
    growth = float(coins.likelihood_bound(Fraction(epsilon)))

    def theory(blocks: int) -> float:
        half = block_length(blocks, many) / 2
        low = 1 / (half * growth + 2 * half * blocks - half)
        gap = half * low * (growth - 1)
        return half * low * ((growth + 1) / blocks + 2 * (1 - 1 / blocks)) / gap**2

    least = min(theory(1 << power) for power in range(many.bit_length()))
    assert theory(best_blocks(coins.likelihood_bound(Fraction(epsilon)), many)) == pytest.approx(least)


def test_one_report_reads_its_tape_in_order() -> None:
    made = HadamardResponse(NAMES[:7], epsilon="2.5")
    assert (made.blocks, made.length) == (4, 4)
    # Choice 5: block 1, column 2, whose set is 4 and 5.
    inside = Tape(b"\xff", b"\x01")
    assert made.randomize("5", bits=inside) == b"\x05" and inside.all_read()
    told = []
    for drawn in range(14):
        tape = Tape(b"\x00", bytes([drawn]))
        told.append(made.randomize("5", bits=tape)[0])
        assert tape.all_read()
    assert told == [6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]


def test_what_is_no_number_of_it_is_refused() -> None:
    made = HadamardResponse(NAMES[:7], epsilon="2.5")
    for report in (b"", b"\x10", b"\x00\x00"):
        with pytest.raises(UsageError):
            made.estimate([report])
