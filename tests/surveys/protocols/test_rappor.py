"""RAPPOR: both epsilons from the exact law, what a thousand reports of one person tell, and the least squares."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import exact
from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.surveys.protocols import coins, rappor_fit
from discreet.surveys.protocols.coins import Coin
from discreet.surveys.protocols.group_tally import GroupTally
from discreet.surveys.protocols.noise_layers import NoiseLayers
from discreet.surveys.protocols.randomizer import Reports, randomizer_from_parameters
from discreet.surveys.protocols.rappor import BasicRappor, Rappor
from discreet.surveys.protocols.unary import OptimisedUnary
from surveys.protocols.every import NoBits, largest_ratio, law
from surveys.protocols.sources import Fixed, zipf
from tiers import size

NAMES = [f"word {code}" for code in range(60)]


class _Acts:
    """What a device does with an answer, in the form that `law` enumerates: what it keeps, or all it sends."""

    def __init__(self, made: Any, *, sends: int | None) -> None:
        self.made, self.sends = made, sends

    def draw_reports(self, values: list[str], *, bits: Any) -> Reports:
        kept = self.made.permanent(values[0], bits=bits)
        sent = [kept] if self.sends is None else [self.made.instant(kept, bits=bits) for _ in range(self.sends)]
        return np.frombuffer(b"".join(sent), dtype=np.uint8)[None]


def _apart(made: Rappor) -> list[str]:
    """Two words that set no bit together in the first cohort, and as many as there are functions each."""
    table = made._hashes.table([name.encode() for name in NAMES])[:, : made.functions]
    found = [
        (NAMES[one], NAMES[two])
        for one in range(len(NAMES))
        for two in range(one)
        if len({*table[one].tolist(), *table[two].tolist()}) == 2 * made.functions
    ]
    return list(found[0])


def _small(functions: int, epsilon: str, once: str) -> Rappor:
    wide = 2 * functions
    return Rappor(epsilon=epsilon, once=once, functions=functions, wide=wide, cohorts=3 - functions)


CASES = [(1, "2", "1"), (1, "2", "2"), (1, "8", "0.5"), (1, "4", "3"), (2, "3", "1")]


@pytest.mark.parametrize(
    ("functions", "epsilon", "once"), [*CASES[:-1], pytest.param(*CASES[-1], marks=pytest.mark.deep)]
)
def test_both_epsilons_are_those_of_the_exact_law(functions: int, epsilon: str, once: str) -> None:
    made = _small(functions, epsilon, once)
    words = _apart(made)
    kept = largest_ratio([law(_Acts(made, sends=None), word) for word in words])  # type: ignore[arg-type]
    assert coins.epsilon_of(kept) == made.epsilon <= Fraction(epsilon)
    sent = largest_ratio([law(made, word) for word in words])
    assert coins.epsilon_of(sent) == made.once <= Fraction(once)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100) and made.once > Fraction(once) * Fraction(99, 100)


def test_two_reports_cost_more_than_one_and_never_more_than_the_permanent_answer() -> None:
    made = BasicRappor(["yes", "no"], epsilon=2, once=1)
    two = largest_ratio([law(_Acts(made, sends=2), choice) for choice in made.choices])  # type: ignore[arg-type]
    assert made.once * Fraction(101, 100) < coins.epsilon_of(two) < made.epsilon


@pytest.mark.parametrize(("layer", "epsilon"), [("lie", "epsilon"), ("zero", "once")])
def test_too_little_noise_is_caught(layer: str, epsilon: str) -> None:
    made = _small(1, "2", "1")
    noise = {name: getattr(made.layers, name) for name in ("lie", "one", "zero")}
    noise[layer] = Coin(heads=noise[layer].heads * 9 // 10)
    made.layers = NoiseLayers(**noise)
    subject = _Acts(made, sends=None) if layer == "lie" else made
    ratio = largest_ratio([law(subject, word) for word in _apart(made)])  # type: ignore[arg-type]
    assert coins.epsilon_of(ratio) > getattr(made, epsilon)


def test_an_epsilon_converted_as_if_there_were_one_function_is_caught() -> None:
    made = _small(2, "3", "1")
    made.layers = _small(1, "3", "1").layers
    ratio = largest_ratio([law(_Acts(made, sends=None), word) for word in _apart(made)])  # type: ignore[arg-type]
    assert coins.epsilon_of(ratio) > Fraction(59, 10)  # 6 instead of 3


@pytest.mark.parametrize(("epsilon", "once"), [("2", "1"), ("2", "2"), ("6", "1"), ("3", "2.9"), ("0.1", "0.05")])
def test_the_second_noise_is_the_best_for_its_epsilon(epsilon: str, once: str) -> None:
    """No other chance of a kept 1 does with less variance for a rare bit; and OptimisedUnary's is reached if it can."""
    made = NoiseLayers.of(Fraction(epsilon), Fraction(once), functions=1, planes=4)

    def variance(layers: NoiseLayers) -> float:
        one, zero = layers.chances
        return float(zero * (1 - zero) / (one - zero) ** 2)

    grown = coins.likelihood_bound(Fraction(once))
    for heads in np.linspace(2, made.one.sides, 60).astype(int).tolist():
        one = Coin(heads=heads)

        def fits(zero: int, one: Coin = one) -> bool:
            sent, other = NoiseLayers(lie=made.lie, one=one, zero=Coin(heads=zero)).chances
            return sent * (1 - other) <= grown * other * (1 - sent)

        zero = coins.least_heads(fits, one.heads)
        if zero < one.heads:
            assert variance(NoiseLayers(lie=made.lie, one=one, zero=Coin(heads=zero))) > variance(made) * (1 - 1e-6)
    if Fraction(once) * 2 <= Fraction(epsilon):
        truth, other = OptimisedUnary(["a", "b"], epsilon=once).chances
        assert variance(made) == pytest.approx(float(other * (1 - other) / (truth - other) ** 2), rel=1e-6)


# Many reports of one person


def _averaged(made: Any, send: Any, runs: int) -> float:
    """The share of people whose true bit is guessed right from the average of 1,000 reports."""
    one, zero = float(made.layers.one.chance), float(made.layers.zero.chance)
    right = 0
    for run in range(runs):
        answer = made.choices[run % 2]
        reports = send(answer, Fixed(run))
        mean = np.mean([report[0] >> 7 for report in reports])
        right += (mean > (one + zero) / 2) == (answer == made.choices[0])
    return right / runs


def test_a_thousand_reports_of_one_person_tell_the_kept_bits_and_no_more() -> None:
    made = BasicRappor(["yes", "no"], epsilon=2, once=1)
    kept = made.permanent("yes", bits=Fixed(1))
    bits, stream = np.unpackbits(np.frombuffer(kept, dtype=np.uint8))[:2], Fixed(2)
    sent = np.array([np.unpackbits(np.frombuffer(made.instant(kept, bits=stream), np.uint8))[:2] for _ in range(1000)])
    chance = np.where(bits, float(made.layers.one.chance), float(made.layers.zero.chance))
    assert (np.abs(sent.mean(axis=0) - chance) < 0.08).all()  # five standard deviations; fixed bits

    def memoised(answer: str, source: Fixed) -> list[bytes]:
        permanent = made.permanent(answer, bits=source)
        return [made.instant(permanent, bits=source) for _ in range(1000)]

    # All reports together name the kept bit, which is the true one with probability 1 - lie, 0.73; and no better.
    assert abs(_averaged(made, memoised, size(10, 40)) - (1 - float(made.layers.lie.chance))) < 0.2


def test_a_device_that_forgets_its_permanent_answer_is_caught() -> None:
    made = BasicRappor(["yes", "no"], epsilon=2, once="1.9")

    def forgetful(answer: str, source: Fixed) -> np.ndarray:
        return made.randomize_all([answer] * 1000, bits=source)

    one, zero = (float(chance) for chance in made.chances)
    means = [np.mean(forgetful("yes", Fixed(run))[:, 0] >> 7) for run in range(10)]
    assert all(abs(mean - one) < abs(mean - zero) for mean in means)  # the truth, every time: no lifetime epsilon holds


# The estimate


def test_basic_rappor_is_unbiased_with_the_stated_variance() -> None:
    made = BasicRappor(["a", "b", "c"], epsilon="2.2", once="1.1")
    for code, choice in enumerate(made.choices):
        found = law(made, choice)
        counts = np.array([made.estimate([report]).counts for report in found])
        chances = np.array([float(chance) for chance in found.values()])
        truth = np.eye(3)[code]
        np.testing.assert_allclose(chances @ counts, truth, atol=1e-7)
        np.testing.assert_allclose(chances @ counts**2 - truth, made.variances(truth, 1), rtol=1e-7)


def _expected(made: Rappor, truth: np.ndarray, users: np.ndarray, names: list[str]) -> GroupTally:
    """The tally that reports have on average, in parts of 2^20, when so many are in each cohort."""
    table = made._hashes.table([name.encode() for name in names]).astype(np.int64)
    bloom = rappor_fit.bloom_filters(table.reshape(len(names), made.cohorts, made.functions), made.wide)
    one, zero = (float(chance) for chance in made.layers.chances)
    held = (bloom @ truth) * (users / users.sum())[:, None]
    sums = held * one + (users[:, None] - held) * zero
    return GroupTally(users=users << 20, sums=np.round(sums * 2**20).astype(np.int64))


@pytest.mark.parametrize("functions", [1, 2, 3])
def test_the_least_squares_are_unbiased_whatever_the_hash_functions(functions: int) -> None:
    made = Rappor(epsilon=3, functions=functions, wide=16, cohorts=8)
    truth = zipf(40, 800, functions)[:40] * 10.0
    users = np.arange(8) + 5
    truth *= users.sum() / truth.sum()
    found = made.from_tally(_expected(made, truth, users, NAMES[:40]), NAMES[:40])
    np.testing.assert_allclose(found.counts / 2**20, truth, atol=1e-3)


def _scores(made: Rappor, run: int, listed: slice, distinct: int = 60, n: int = 20_000) -> np.ndarray:
    codes = zipf(distinct, n, run)
    reports = made.randomize_all([NAMES[code] for code in codes], bits=Fixed(run))
    found = made.estimate(reports, NAMES[listed])
    return (found.counts - np.bincount(codes, minlength=distinct)[listed]) ** 2 / found.variances


@pytest.mark.thin(1)
@pytest.mark.parametrize(("functions", "listed", "slack"), [(1, 60, 0.1), (2, 60, 0.1), (1, 30, 0.2), (2, 30, 0.2)])
def test_the_measured_error_is_the_stated_one(functions: int, listed: int, slack: float) -> None:
    """Twenty runs with a salt each, at an epsilon at which who is in which cohort matters too. Fixed bits.

    Where half the words are not listed, the variance is itself estimated from few residuals.
    """
    scores = [
        _scores(Rappor(epsilon=8, once=6, functions=functions, wide=32, cohorts=8, salt=str(run)), run, slice(listed))
        for run in range(20)
    ]
    assert 1 - slack < np.mean(scores) < 1 + slack


def test_leaving_out_who_is_in_which_cohort_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rappor_fit._Noise, "of_cohorts", lambda self, hands, centred, held: np.zeros(held.size))
    scores = [
        _scores(Rappor(epsilon=8, once=6, wide=32, cohorts=8, salt=str(run)), run, slice(None)) for run in range(10)
    ]
    assert np.mean(scores) > 1.15


def test_a_frequent_word_that_is_not_listed_widens_the_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    def mean() -> float:
        made = [Rappor(epsilon=8, once=6, wide=32, cohorts=16, salt=str(run)) for run in range(12)]
        return float(np.mean([_scores(each, run, slice(1, 40)) for run, each in enumerate(made)]))

    assert 0.8 < mean() < 1.2
    monkeypatch.setattr(rappor_fit._Noise, "excess", lambda self, left, spare, set_share: 0.0)
    assert mean() > 3


def test_no_report_moves_a_count_further_than_the_reach() -> None:
    made = Rappor(epsilon=2, wide=8, cohorts=4)
    reports = made.randomize_all(NAMES[:8] * 500, bits=Fixed(4))
    found = made.estimate(reports, NAMES[:8])
    moved = 0.0
    for cohort in range(4):
        for bits in range(0, 256, size(15, 1)):
            liar = reports.copy()
            liar[0] = [cohort, bits]
            moved = max(moved, float(np.abs(made.estimate(liar, NAMES[:8]).counts - found.counts).max()))
    assert found.reach / 3 < moved < found.reach * 1.01


def test_the_wide_filter_factorises_over_its_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """2^128 outputs: a kept bit is the true bit and one coin, a sent bit the kept bit and two, that no other bit uses.
    So likelihoods are products over bits, and two words differ in two of them."""
    made, width = Rappor(epsilon=2), 128
    assert made.wide == width
    fallen: dict[Coin, np.ndarray] = {}
    monkeypatch.setattr(Coin, "flips", lambda coin, size, *, bits: fallen[coin].copy())
    monkeypatch.setattr(uniform, "whole_below", lambda limit, size, *, bits: np.full(size, 5))

    def bits(report: bytes) -> np.ndarray:
        assert report[0] == 5
        return np.unpackbits(np.frombuffer(report, dtype=np.uint8)[1:]).astype(bool)

    none = np.zeros(width, dtype=bool)
    fallen[made.layers.lie] = none
    true = {word: bits(made.permanent(word, bits=NoBits())) for word in NAMES[:2]}
    assert [true[word].sum() for word in true] == [1, 1] and (true[NAMES[0]] ^ true[NAMES[1]]).sum() == 2
    for place in range(width):
        one = np.arange(width) == place
        fallen.update({made.layers.lie: one, made.layers.one: none, made.layers.zero: none})
        kept = made.permanent(NAMES[0], bits=NoBits())
        assert (bits(kept) ^ true[NAMES[0]] == one).all()
        assert not bits(made.instant(kept, bits=NoBits())).any()
        fallen.update({made.layers.one: one})
        assert (bits(made.instant(kept, bits=NoBits())) == one & bits(kept)).all()
        fallen.update({made.layers.one: none, made.layers.zero: one})
        assert (bits(made.instant(kept, bits=NoBits())) == one & ~bits(kept)).all()


# Bad input


def test_words_that_the_bits_cannot_tell_apart_are_refused() -> None:
    made = Rappor(epsilon=2, wide=8, cohorts=2)
    reports = made.randomize_all(NAMES[:10], bits=Fixed(1))
    with pytest.raises(UsageError, match="distinguish that many words"):
        made.estimate(reports, NAMES[:20])  # 16 bits
    with pytest.raises(UsageError, match="distinguish that many words"):
        made.estimate(reports[:0], NAMES[:2])  # nobody answered
    same = Rappor(epsilon=2, wide=2, cohorts=2)
    table = same._hashes.table([name.encode() for name in NAMES])
    twins = np.flatnonzero((table == table[0]).all(axis=1))[:2]
    with pytest.raises(UsageError, match="distinguish that many words"):
        same.estimate(same.randomize_all(NAMES, bits=Fixed(1)), [NAMES[twin] for twin in twins])
    with pytest.raises(UsageError, match="too many"):
        Rappor(epsilon=2, wide=1024, cohorts=1024).estimate([], NAMES * 1 + [str(number) for number in range(200)])


@pytest.mark.parametrize("made", [Rappor(epsilon=2), BasicRappor(["a", "b"], epsilon=2)])
def test_what_is_no_answer_or_no_report_is_refused(made: Any) -> None:
    for answer in ("", None, 3, ["a"], "\ud800"):
        with pytest.raises(UsageError):
            made.draw_reports([answer], bits=NoBits())
    with pytest.raises(UsageError, match="bytes"):
        made.matrix([bytes(made.width + 1)])
    with pytest.raises(UsageError, match="cannot have made"):
        made.matrix([b"\xff" * made.width])
    with pytest.raises(UsageError, match="cannot have made"):
        made.instant(b"\xff" * made.width, bits=Fixed(1))


@pytest.mark.parametrize(
    "options",
    [
        *({"epsilon": text} for text in ("0", "nan", "100", "1e-9", None)),
        *({"once": text} for text in ("0", "3", "-1", "nan", "1/0", "x/y")),
        {"functions": 0},
        {"functions": 17},
        {"cohorts": 0},
        {"cohorts": 1025},
        {"wide": 3},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Rappor(**{"epsilon": 2, **options})


@pytest.mark.parametrize("made", [Rappor(epsilon="0.7", salt="🧂"), BasicRappor(["a", "b"], epsilon="0.7", once="0.3")])
def test_parameters_make_it_again(made: Any) -> None:
    parameters = json.loads(json.dumps(made.parameters()))
    again = randomizer_from_parameters(parameters, {made.protocol: type(made)})
    assert (
        again.draw_reports(["a", "b"], bits=Fixed(3)).tolist() == made.draw_reports(["a", "b"], bits=Fixed(3)).tolist()
    )
    parameters["numbers"]["zero"] -= 1
    with pytest.raises(UsageError, match="numbers"):
        randomizer_from_parameters(parameters, {made.protocol: type(made)})


@pytest.mark.parametrize("reports", [2, 3, 5])
def test_several_reports_cost_at_most_their_number_times_once(reports: int) -> None:
    for once in ("0.3", "1", "1.9"):
        made = BasicRappor(["yes", "no"], epsilon=2, once=once)
        one, zero, lie = (coin.chance for coin in (made.layers.one, made.layers.zero, made.layers.lie))
        ratios = []
        for ones in range(reports + 1):  # of one bit: only how many of its reports are 1 matters
            kept = [chance**ones * (1 - chance) ** (reports - ones) for chance in (one, zero)]
            ratios.append(((1 - lie) * kept[0] + lie * kept[1]) / (lie * kept[0] + (1 - lie) * kept[1]))
        both = max(ratios) / min(ratios)  # two answers: a bit each way
        assert both <= exact.exp(min(made.epsilon, reports * made.once), up=True)
        assert both > exact.exp(made.once, up=False)


def test_a_single_report_that_says_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="say nothing"):
        BasicRappor(["yes", "no"], epsilon=1, once="0.001", planes=1)
