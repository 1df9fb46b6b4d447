"""Shuffled reports: the bound against the exact divergence, the exact value of randomized response, and its own closed form."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from discreet import exact
from discreet.errors import UsageError
from discreet.surveys.protocols import shuffle_amplification
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.shuffle_amplification import (
    amplification_sentence,
    amplified,
    divergence,
    ln_mass,
    local_for,
)
from surveys.protocols.every import law
from tiers import size


def closed_form(epsilon: str, n: int, delta: str) -> float | None:
    """The bound of Feldman, McMillan and Talwar in one line (theorem 3.1), where its condition holds: never better."""
    local, allowed = float(epsilon), float(delta)
    if local > math.log(max(n / (16 * math.log(2 / allowed)), 1)):
        return None
    spread = 8 * math.sqrt(math.exp(local) * math.log(4 / allowed) / n) + 8 * math.exp(local) / n
    return math.log1p(math.tanh(local / 2) * spread)


def _binomial(many: int, chance: Fraction) -> list[Fraction]:
    return [math.comb(many, k) * chance**k * (1 - chance) ** (many - k) for k in range(many + 1)]


def _apart(first: dict[object, Fraction], second: dict[object, Fraction], ratio: Fraction) -> Fraction:
    """The hockey-stick divergence, both ways."""
    outcomes = first.keys() | second.keys()
    ways = [
        sum(
            (max(p.get(out, Fraction(0)) - ratio * q.get(out, Fraction(0)), Fraction(0)) for out in outcomes),
            Fraction(0),
        )
        for p, q in ((first, second), (second, first))
    ]
    return max(ways)


def _pair(local: Fraction, n: int) -> list[dict[object, Fraction]]:
    """The two laws of the theorem: (heads, tails) with a respondent who falls on heads with e^local / (1 + e^local)."""
    growth = exact.exp(local, up=True)
    found: list[dict[object, Fraction]] = []
    for own in (growth / (1 + growth), 1 / (1 + growth)):
        told: dict[object, Fraction] = defaultdict(Fraction)
        for clones, chance in enumerate(_binomial(n - 1, exact.exp(-local, up=False))):
            for heads, coin in enumerate(_binomial(clones, Fraction(1, 2))):
                told[heads + 1, clones - heads] += chance * coin * own
                told[heads, clones - heads + 1] += chance * coin * (1 - own)
        found.append(told)
    return found


@pytest.mark.parametrize("local", ["0.2", "1", "3"])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_the_divergence_is_that_of_the_two_laws_and_not_below(n: int, local: str) -> None:
    pair = _pair(Fraction(local), n)
    for share in (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        central = share * Fraction(local)
        truth = _apart(*pair, exact.exp(central, up=False))
        found = divergence(Fraction(local), central, n)
        assert float(truth) <= found <= float(truth) * (1 + 1e-5) + 2e-18


def _shuffled(local: RandomizedResponse, others: tuple[str, ...]) -> list[dict[object, Fraction]]:
    """The exact law of how often each choice is said, for each answer of the one respondent."""
    found = []
    laws = {answer: law(local, answer) for answer in local.choices}
    for own in local.choices:
        told: dict[object, Fraction] = {(0,) * len(local.choices): Fraction(1)}
        for answer in (own, *others):
            grown: dict[object, Fraction] = defaultdict(Fraction)
            for before, weight in told.items():
                for report, chance in laws[answer].items():
                    after = list(before)  # type: ignore[call-overload]
                    after[report[0]] += 1
                    grown[tuple(after)] += weight * chance
            told = grown
        found.append(told)
    return found


@pytest.mark.thin(3)
@pytest.mark.parametrize("epsilon", ["0.3", "1", "2.5"])
@pytest.mark.parametrize(("choices", "n"), [("ab", 2), ("ab", 7), ("abc", 5)])
def test_it_is_never_below_what_shuffled_responses_cost(choices: str, n: int, epsilon: str) -> None:
    """All answers of the others, by brute force from the law of the code that ships."""
    made = RandomizedResponse([*choices], epsilon=epsilon)
    for delta in ("1e-2", "1e-4"):
        central = amplified(epsilon, n, delta)
        for others in itertools.combinations_with_replacement(made.choices, n - 1):
            laws = _shuffled(made, others)
            for first, second in itertools.combinations(laws, 2):
                assert _apart(first, second, exact.exp(central, up=False)) <= Fraction(delta)


def _two_sided(local: float, n: int, ones: int) -> tuple[np.ndarray, np.ndarray]:
    """The number of ones said by n people of whom `ones` of the others hold 1, if the respondent holds 1, and if not."""
    truth = math.exp(local) / (1 + math.exp(local))
    told = np.array([1.0])
    for holds in [1] * ones + [0] * (n - 1 - ones):
        told = np.convolve(told, [1 - truth, truth] if holds else [truth, 1 - truth])
    return np.convolve(told, [1 - truth, truth]), np.convolve(told, [truth, 1 - truth])


def _exact_delta(local: float, central: float, n: int) -> float:
    worst = 0.0
    for ones in range(n):
        first, second = _two_sided(local, n, ones)
        for p, q in ((first, second), (second, first)):
            worst = max(worst, float(np.maximum(p - math.exp(central) * q, 0).sum()))
    return worst


@pytest.mark.thin(4)
@pytest.mark.parametrize("n", [3, 10, 20, 30])
@pytest.mark.parametrize("local", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_it_is_never_below_the_exact_value_of_two_choices(local: float, n: int) -> None:
    for delta in ("0.05", "1e-3", "1e-6", "1e-9"):
        central = amplified(local, n, delta)
        assert _exact_delta(local, float(central), n) <= float(delta) * (1 + 1e-9)
        assert central <= Fraction(str(local))


def test_too_many_clones_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant: all but one in twenty of the others are taken for clones; then it is below the exact value."""
    chance = 0.95
    monkeypatch.setattr(
        shuffle_amplification.exact, "exp", lambda value, *, up: Fraction(math.exp(value) if value >= 0 else chance)
    )
    shuffle_amplification._clone_blocks.cache_clear()
    below = divergence(Fraction(1), Fraction(1, 10), 30)
    shuffle_amplification._clone_blocks.cache_clear()
    monkeypatch.undo()
    assert below < _exact_delta(1.0, 0.1, 30) < divergence(Fraction(1), Fraction(1, 10), 30)


@pytest.mark.thin(2)
@pytest.mark.parametrize("delta", ["1e-5", "1e-9"])
@pytest.mark.parametrize("n", [1000, 10**5, 10**7, 10**9])
def test_it_is_never_above_the_closed_form_or_the_local_epsilon(n: int, delta: str) -> None:
    applied = 0
    for local in ("0.1", "1", "3", "6"):
        central, simple = amplified(local, n, delta), closed_form(local, n, delta)
        assert 0 <= central <= Fraction(local)
        if simple is not None:
            applied += 1
            assert central <= simple
    assert applied >= (2 if n > 1000 else 0)


def test_a_known_value() -> None:
    """Summed by another way: all clones, both tails by cumulative sums, bisection."""
    local, n, delta = 1.0, 2000, 1e-5
    clones = np.arange(n)
    weights = np.exp(ln_mass(float(n - 1), clones.astype(float), math.exp(-local)))
    own = math.e / (1 + math.e)
    low, high = 0.0, 1.0
    rows = []
    for many in range(400, 1100):  # beyond 15 standard deviations
        half = np.exp(ln_mass(float(many), np.arange(many + 1.0), 0.5))
        heads, tails = np.append(0.0, half), np.append(half, 0.0)
        rows.append((weights[many], own * heads + (1 - own) * tails, own * tails + (1 - own) * heads))
    for _ in range(30):
        middle = (low + high) / 2
        found = sum(weight * np.maximum(p - math.exp(middle) * q, 0).sum() for weight, p, q in rows)
        low, high = (low, middle) if found <= delta else (middle, high)
    assert high <= amplified(1, n, "1e-5") <= high * 1.001


def test_more_people_a_larger_delta_or_a_smaller_epsilon_never_cost_more() -> None:
    values = [
        amplified("1.5", n, "1e-6")
        for n in size((10, 1000, 10**4, 10**15), (10, 100, 1000, 10**4, 10**6, 10**9, 10**10, 10**15))
    ]
    assert values == sorted(values, reverse=True)
    values = [
        amplified("1.5", 5000, delta)
        for delta in size(("0", "1e-9", "1e-3", "0.1"), ("0", "1e-12", "1e-9", "1e-6", "1e-3", "0.1"))
    ]
    assert values == sorted(values, reverse=True) and values[0] == Fraction("1.5")
    values = [amplified(local, 5000, "1e-6") for local in size(("0.1", "1", "8"), ("0.1", "0.5", "1", "2", "4", "8"))]
    assert values == sorted(values)


@pytest.mark.thin(2)
@pytest.mark.parametrize(("central", "n"), [("0.1", 1000), ("0.5", 10**6), ("1", 50), ("0.01", 10**8)])
def test_the_inverse_is_safe_and_near(central: str, n: int) -> None:
    local = local_for(central, n, "1e-6")
    assert local >= Fraction(central)
    assert divergence(local, Fraction(central), n, left_out=1e-10) <= 1e-6
    assert divergence(local * Fraction(10001, 10000), Fraction(central), n) > 1e-6
    assert local_for(central, n, 0) == Fraction(central)


def test_logarithms_of_binomial_probabilities_are_as_exact_as_the_margin_says() -> None:
    getcontext().prec = 40
    for many, chance in ((1, 0.3), (17, 0.5), (1000, 0.5), (20_000, 0.37), (20_000, 0.001)):
        deviation = math.sqrt(many * chance * (1 - chance))
        centre = many * chance
        places = {0, 1, many} | {round(centre + far * deviation) for far in (-9, -3, -0.5, 0, 2, 8)}
        heads = np.array(sorted(place for place in places if 0 <= place <= many), dtype=float)
        found = ln_mass(float(many), heads, chance)
        for place, ln in zip(heads.astype(int).tolist(), found.tolist(), strict=True):
            truth = (
                Decimal(math.comb(many, place)).ln()
                + place * Decimal(chance).ln()
                + (many - place) * (1 - Decimal(chance)).ln()
            )
            assert abs(float(truth) - ln) < 1e-9 * max(1, abs(float(truth)) / 690)
    assert ln_mass(5.0, np.array([-1.0, 6.0]), 0.5).tolist() == [-math.inf, -math.inf]


@pytest.mark.parametrize(("many", "chance"), [(10**6, 0.37), (10**9, 0.5), (10**10, 0.9), (10**10, 1e-4)])
def test_they_sum_to_one_and_their_ratios_are_right(many: int, chance: float) -> None:
    deviation = math.sqrt(many * chance * (1 - chance))
    heads = np.arange(math.floor(many * chance - 9 * deviation), math.ceil(many * chance + 9 * deviation), dtype=float)
    ln = ln_mass(float(many), heads, chance)
    assert np.exp(ln).sum() == pytest.approx(1, abs=1e-8)
    ratio = np.log((many - heads[:-1]) / (heads[:-1] + 1)) + math.log(chance / (1 - chance))
    assert np.abs(np.diff(ln) - ratio).max() < 1e-8


def test_a_tail_is_not_above_the_truth_and_hardly_below() -> None:
    for many, far in itertools.product((30, 1000, 40_000, 10**6), (0.5, 2.0, 6.0)):
        start = min(many, math.ceil(many / 2 + far * math.sqrt(many) / 2))
        truth = np.exp(ln_mass(float(many), np.arange(start, many + 1.0), 0.5)).sum()
        found = shuffle_amplification._tail_below(np.array([float(many)]), np.array([float(start)]))[0]
        assert truth * (1 - 1e-3) < found < truth * (1 - 1e-8)


def test_what_makes_no_sense_is_refused_and_both_epsilons_are_told() -> None:
    for wrong in (
        (0, 10, "1e-6"),
        (1, 0, "1e-6"),
        (1, 10, 1),
        (1, 10, -1),
        (1, 2.5, "1e-6"),
        (1, True, 0),
        (100, 10, 0),
    ):
        with pytest.raises(UsageError):
            amplified(*wrong)  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            local_for(*wrong)  # type: ignore[arg-type]
    sentence = amplification_sentence(2, 100_000, "1e-6")
    assert "epsilon 2 per report against the collector" in sentence and "only the 100,000 shuffled reports" in sentence


# Each margin on its own


@pytest.mark.parametrize("part", range(1, 60))
def test_the_chance_of_a_clone_is_rounded_down(part: int) -> None:
    local = Fraction(part, 7)
    assert Fraction(shuffle_amplification.clone_chance(local)) < exact.exp(-local, up=False)
    assert shuffle_amplification.clone_chance(local) > float(exact.exp(-local, up=False)) * (1 - 1e-15)


def _exactly(many: int, chance: Fraction, below: int) -> Fraction:
    return sum(_binomial(many, chance)[:below], Fraction(0))


@pytest.mark.thin(2)
@pytest.mark.parametrize("left_out", [1e-2, 1e-4, 1e-8])
@pytest.mark.parametrize(("local", "n"), [("0.1", 60), ("1", 200), ("2", 300), ("3", 150)])
def test_fewer_clones_than_the_first_block_and_more_than_the_last_are_as_rare_as_stated(
    local: str, n: int, left_out: float
) -> None:
    numbers, chances, beyond = shuffle_amplification._clone_blocks(Fraction(local), n, left_out)
    chance = Fraction(shuffle_amplification.clone_chance(Fraction(local)))
    assert _exactly(n - 1, chance, int(numbers[0])) <= Fraction(left_out)
    # Blocks are from one least number to the next: each is at least as likely as is true.
    law_ = _binomial(n - 1, chance)
    for place, start in enumerate(numbers.astype(int).tolist()):
        end = int(numbers[place + 1]) if place + 1 < numbers.size else None
        if end is not None:
            assert sum(law_[start:end]) <= Fraction(float(chances[place]))
    last = sum(law_[int(numbers[-1]) :], Fraction(0))
    assert last <= Fraction(float(chances[-1])) + Fraction(beyond)


def test_numbers_of_clones_beyond_the_last_are_counted() -> None:
    _, chances, beyond = shuffle_amplification._clone_blocks(Fraction(1), 10**6, 1e-10)
    assert beyond == 1e-9
    assert float(chances.sum()) + beyond + 1e-10 >= 1
    assert shuffle_amplification._clone_blocks(Fraction(1), 5, 1e-10)[2] == 0  # all of them are in the blocks


def test_what_is_left_out_is_added() -> None:
    for left_out in (0.01, 0.2):
        found = divergence(Fraction(1), Fraction(1, 2), 12, left_out=left_out)
        assert found >= float(_apart(*_pair(Fraction(1), 12), exact.exp(Fraction(1, 2), up=False)))
        assert divergence(Fraction(1), Fraction(99, 100), 400, left_out=left_out) >= left_out


def test_a_probability_too_small_for_its_logarithm_is_taken_as_larger() -> None:
    _, chances, _ = shuffle_amplification._clone_blocks(Fraction(1, 10**9), 500, 1e-290)
    assert chances.min() >= math.exp(-690)


def test_the_largest_is_found_from_either_side_of_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The place is a rounded product; it may be off by one, and the three candidates still hold it."""
    real = shuffle_amplification._coefficients
    for many in (9, 40, 400):
        clones = np.array([float(many)])
        for central in (Fraction(1, 10), Fraction(1, 2)):
            truth = shuffle_amplification._divergence_given_clones(clones, Fraction(1), central)[0]
            for off in (-0.999, 0.999):

                def moved(
                    local: Fraction, at: Fraction, off: float = off, many: int = many
                ) -> tuple[float, float, float]:
                    rise, fall, turn = real(local, at)
                    place = math.floor(turn * (many + 1)) + 0.5
                    return rise, fall, (place + off) / (many + 1)

                monkeypatch.setattr(shuffle_amplification, "_coefficients", moved)
                found = shuffle_amplification._divergence_given_clones(clones, Fraction(1), central)[0]
                monkeypatch.setattr(shuffle_amplification, "_coefficients", real)
                assert found == pytest.approx(truth, rel=1e-5)
