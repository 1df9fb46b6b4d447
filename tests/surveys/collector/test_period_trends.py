"""The trend of a survey with periods: least squares, and how often its interval holds the slope of the truths.

What the coins can do is summed exactly: the noise of a slope is a sum of independent two-valued terms with whole
weights, so its law is a convolution.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from discreet.surveys.collector.period_results import PeriodTallies, period_summary
from discreet.surveys.collector.period_trends import TrendWeights, trend_interval
from discreet.surveys.protocols.collection_periods import COINS, FRESH, MEMOIZED, CollectionPeriods, head_bytes
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.hadamard import HadamardResponse
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from discreet.surveys.protocols.local_hash import FastHashing, LocalHashing
from discreet.surveys.protocols.randomized_response import RandomizedResponse, TwoCoins
from discreet.surveys.protocols.rappor import BasicRappor
from discreet.surveys.protocols.report_noise import report_noise
from discreet.surveys.protocols.subset_selection import SubsetSelection
from discreet.surveys.protocols.unary import OptimisedUnary
from discreet.surveys.protocols.window_mechanism import Hybrid, Piecewise, SquareWave
from surveys.collector.asked import survey

START = 20_410 * 86_400
TWO_COINS = TwoCoins(["yes", "no"])
NOISE = report_noise(TWO_COINS)
CHOICES = [str(each) for each in range(12)]


def days(coins: str, *, donations: int = 1, periods: int = 30) -> CollectionPeriods:
    return CollectionPeriods(every="day", donations=donations, periods=periods, coins=coins, start=START)


def summarized(randomizer, coins: str, reports: dict[int, list[bytes]], **more) -> dict:
    of = survey(None, randomizer=randomizer, minimum=1, periods=days(coins))
    tallies = PeriodTallies(randomizer)
    for number, each in reports.items():
        joined = [head_bytes(number) + bytes(report) for report in each]
        tallies.add(np.frombuffer(b"".join(joined), dtype=np.uint8).reshape(len(joined), -1))
    return period_summary(of, tallies, now=START + 20 * 86_400, **more)


# ---------------------------------------------------------------- the slope


def test_the_slope_is_that_of_least_squares():
    numbers, values = (1, 2, 5, 9), [0.3, -0.1, 0.4, 0.2]
    trend = TrendWeights(numbers=numbers, reports=(1,) * 4)
    assert trend.slope(values) == pytest.approx(np.polyfit(numbers, values, 1)[0])


def test_an_interval_from_intervals_is_the_range_over_all_their_corners():
    trend, ends = TrendWeights(numbers=(2, 3, 7), reports=(1,) * 3), [(0.1, 0.4), (-0.2, 0.1), (0.3, 0.3)]
    slopes = [trend.slope(corner) for corner in itertools.product(*ends)]
    assert trend.from_intervals(ends) == pytest.approx((min(slopes), max(slopes)))


def test_pairs_of_periods_share_no_more_than_the_smaller_one():
    trend = TrendWeights(numbers=(1, 2, 3, 4), reports=(50, 7, 20, 20))
    sizes = np.array([0.5, 0.1, 0.0, 0.7])
    pairs = itertools.product(range(4), repeat=2)
    plain = sum(sizes[s] * sizes[t] / max(trend.reports[s], trend.reports[t]) for s, t in pairs)
    assert trend._shared_squares(sizes) == pytest.approx(plain)


def test_no_interval_goes_beyond_what_a_slope_can_be():
    trend = TrendWeights(numbers=(1, 2, 3), reports=(1, 1, 1))
    assert trend_interval(trend, 0.1, 9.0, answers=1.0) == (-0.5, 0.5)
    assert trend_interval(trend, 0.7, 9.0, answers=1.0) == (-0.5, 0.7)


# ---------------------------------------------------------------- the noise of one report


def _cumulants_are_bounded(law: dict[float, float], noise) -> bool:
    """Whether the variable with these probabilities stays below both bounds, on a grid of u of either sign."""
    mean = sum(value * chance for value, chance in law.items())
    for u in np.concatenate([np.geomspace(1e-3, 0.999, 60), -np.geomspace(1e-3, 0.999, 60)]) / noise.scale:
        # Minus the mean in the exponent: no sum of large terms is left.
        cumulant = math.log(sum(chance * math.exp(u * (value - mean)) for value, chance in law.items()))
        if cumulant > noise.variance * u**2 / 2 / (1 - noise.scale * abs(u)) * (1 + 1e-9):
            return False
        if noise.width is not None and cumulant > noise.width**2 * u**2 / 8 * (1 + 1e-9):
            return False
    return True


def _laws(randomizer):
    """The exact law of what one report adds to the estimate of the first choice, or to the mean, for every answer."""
    if isinstance(randomizer, HadamardResponse):
        total = randomizer.blocks * randomizer.length
        high, low = (float(each) for each in randomizer._levels)
        reports = np.frombuffer(
            b"".join(each.to_bytes(randomizer.width, "big") for each in range(total)), dtype=np.uint8
        ).reshape(total, -1)
        counted = [randomizer.supports(reports[each : each + 1]) for each in range(total)]
        sets = np.array([2 * rows[0] - rows[1] for rows in counted])  # report x choice: 1, -1 or 0
        for answer in range(len(randomizer.choices)):
            law: Counter[float] = Counter()
            for place in range(total):
                own = sets[place][answer] > 0
                law[sets[place][0] / float(randomizer.gap)] += high if own else low
            yield dict(law)
    elif isinstance(randomizer, LaplaceRecord):
        scale = float(randomizer.noise.scale)
        far = range(-randomizer.far, randomizer.far + 1)
        weights = [math.exp(-abs(each) / scale) for each in far]
        yield {each * float(randomizer.step): weight / sum(weights) for each, weight in zip(far, weights, strict=True)}
    else:
        for chance in map(float, randomizer.chances):
            gap = float(randomizer.chances[0] - randomizer.chances[1])
            yield {1 / gap: chance, 0.0: 1 - chance}


@pytest.mark.parametrize(
    "randomizer",
    [
        TWO_COINS,
        RandomizedResponse(CHOICES, epsilon=1),
        OptimisedUnary(CHOICES, epsilon=3),
        SubsetSelection(CHOICES, epsilon=2),
        LocalHashing(CHOICES, epsilon=1),
        BasicRappor(CHOICES, epsilon=3),
        HadamardResponse(CHOICES, epsilon=1),
        HadamardResponse(CHOICES, epsilon=5),
        LaplaceRecord(low=0, high=2, step=1, epsilon=1),
        LaplaceRecord(low=0, high=10, step=1, epsilon="0.5"),
    ],
    ids=lambda each: f"{each.protocol}-{float(each.epsilon):.2g}",
)
def test_the_noise_of_a_report_is_within_its_bounds(randomizer):
    noise = report_noise(randomizer)
    laws = list(_laws(randomizer))
    assert laws and all(sum(law.values()) == pytest.approx(1) for law in laws)
    assert all(_cumulants_are_bounded(law, noise) for law in laws)
    # A variance or a width that is a fifth too small is seen.
    assert not all(_cumulants_are_bounded(law, replace(noise, variance=0.8 * noise.variance)) for law in laws)


@pytest.mark.parametrize("method", [Duchi, Piecewise, SquareWave, Hybrid])
@pytest.mark.parametrize("epsilon", ["0.5", 4])
def test_the_variance_of_a_mean_s_report_is_the_largest_of_all_answers(method, epsilon):
    randomizer = method(low=0, high=20, step="0.5", epsilon=epsilon)
    noise, step = report_noise(randomizer), 0.5
    variances = [step**2 * randomizer.variance_at(code) for code in range(randomizer.steps + 1)]
    assert max(variances) <= noise.variance <= 1.01 * max(variances) and noise.answers == 20
    assert noise.variance <= noise.width**2 / 4 * (1 + 1e-9) and noise.scale == noise.width / 3


def test_reports_that_share_their_randomness_have_no_noise_of_their_own():
    assert report_noise(FastHashing(CHOICES, epsilon=1)) is None


# ---------------------------------------------------------------- how often the interval holds the slope


def _exact_law(terms: Counter[tuple[int, bool]]) -> dict[int, float]:
    """The law of a sum of whole weights: a term (weight, yes) is sent as a yes with 3/4, else with 1/4."""
    low = sum(min(weight, 0) * many for (weight, _), many in terms.items())
    law = np.ones(1)
    for (weight, is_yes), many in terms.items():
        chance = 0.75 if is_yes else 0.25
        size = abs(weight)
        if not size:
            continue
        step = np.zeros(size * many + 1)
        step[::size] = [math.comb(many, k) * chance**k * (1 - chance) ** (many - k) for k in range(many + 1)]
        law = np.convolve(law, step if weight > 0 else step[::-1])
    return {low + place: float(chance) for place, chance in enumerate(law)}


def _missed(history: list[list[bool]], coins: str, doubt: float, *, as_coins: str | None = None) -> float:
    """How likely the interval misses, where person d answers history[d][t] in period t; by exact sums.

    `as_coins`: the rule that the interval is made by, if it is not the survey's.
    """
    people, periods = len(history), len(history[0])
    trend = TrendWeights(numbers=tuple(range(1, periods + 1)), reports=(people,) * periods)
    whole = [2 * t - periods + 1 for t in range(periods)]
    unit = trend.weights[-1] / whole[-1]
    terms: Counter[tuple[int, bool]] = Counter()
    for answers in history:
        if coins == FRESH:
            terms.update(zip(whole, answers, strict=True))
        else:  # one report for each answer, with the weights of all periods in which it is sent
            for answer in set(answers):
                terms[sum(w for w, each in zip(whole, answers, strict=True) if each == answer), answer] += 1
    mean = sum(weight * many * (0.75 if is_yes else 0.25) for (weight, is_yes), many in terms.items())
    half = trend.half_width(NOISE, days(as_coins or coins), doubt=doubt)
    reach = half * people / unit / 2  # a yes counts for 2 = 1 / (p - q)
    return sum(chance for value, chance in _exact_law(terms).items() if abs(value - mean) > reach * (1 + 1e-12))


def _histories(people: int, periods: int) -> dict[str, list[list[bool]]]:
    half = periods // 2
    return {
        "constant": [[d % 2 == 0] * periods for d in range(people)],
        "all no": [[False] * periods] * people,
        "half and half": [[t >= half for t in range(periods)]] * people,
        "both ways": [[(t >= half) != (d % 2 == 0) for t in range(periods)] for d in range(people)],
        "alternating": [[(t + d) % 2 == 0 for t in range(periods)] for d in range(people)],
    }


@pytest.mark.parametrize("coins", COINS)
@pytest.mark.parametrize(("people", "periods"), [(1, 3), (5, 3), (20, 4), (40, 9), (200, 6)])
@pytest.mark.parametrize("doubt", [0.5, 0.05, 0.001])
def test_the_interval_holds_the_slope_as_often_as_it_says(coins, people, periods, doubt):
    for name, history in _histories(people, periods).items():
        assert _missed(history, coins, doubt) <= doubt, name


@pytest.mark.parametrize("people", [1, 2])
@pytest.mark.parametrize("periods", [3, 4])
def test_all_histories_of_one_and_of_two_people(people, periods):
    """Every answer in every period."""
    rows = [list(each) for each in itertools.product([False, True], repeat=periods)]
    for history in itertools.combinations_with_replacement(rows, people):
        for doubt in (0.8, 0.5, 0.2, 0.05):
            assert _missed(list(history), MEMOIZED, doubt) <= doubt
            assert _missed(list(history), FRESH, doubt) <= doubt


def test_memoized_coins_with_the_rule_for_fresh_ones_would_be_seen():
    """The same report in several periods: independent noise is not there, and the narrow interval misses."""
    history = _histories(40, 9)["half and half"]
    assert _missed(history, MEMOIZED, 0.05) < 0.05 < _missed(history, MEMOIZED, 0.05, as_coins=FRESH)
    history = _histories(40, 9)["constant"]  # the errors of an answer that never changes cancel
    assert _missed(history, MEMOIZED, 1e-3) < 1e-12


def test_the_interval_of_memoized_coins_is_not_much_wider_than_it_must_be():
    """Whoever answers no in the first half and yes in the second attains the bound of the variance."""
    people, periods = 2_000, 8
    trend = TrendWeights(numbers=tuple(range(1, periods + 1)), reports=(people,) * periods)
    half = trend.half_width(NOISE, days(MEMOIZED), doubt=0.05)
    rising = trend.weights[trend.weights > 0].sum()
    attained = math.sqrt(2 * people * (rising / people) ** 2 * 0.1875 * 4)
    assert 2.7 < half / attained < 2.85  # sqrt(2 log 40) = 2.716; 1.96 would be a normal law's
    bonferroni = 2 * rising * 2.734 * math.sqrt(0.1875 * 4 / people)  # from intervals that hold together
    assert half < 0.75 * bonferroni


@pytest.mark.parametrize("coins", COINS)
def test_a_population_s_trend_is_held_when_its_sample_comes_again_each_day(coins):
    """400 surveys of 150 people who are drawn anew for each survey and change their answer as they like.

    Their coins hide little, so that most of what is random is who is drawn. An interval that missed 1 time in 20 would
    have more than 50 misses with a chance of 1.4e-9.
    """
    generator, periods, people, misses = random.Random(), 6, 150, 0
    randomizer = RandomizedResponse(["yes", "no"], epsilon=5)
    own, other = map(float, randomizer.chances)
    noise = report_noise(randomizer)
    of, trend = days(coins, periods=periods), TrendWeights(numbers=tuple(range(1, 7)), reports=(people,) * periods)
    kinds = [[t >= 3 for t in range(periods)], [t < 2 for t in range(periods)], [False] * periods]
    truth = trend.slope([sum(kind[t] for kind in kinds) / 3 for t in range(periods)])
    half = trend.half_width(noise, of, doubt=0.05, sampled=True)
    for _ in range(400):
        shares = np.zeros(periods)
        for _ in range(people):
            kind, kept = generator.choice(kinds), {}
            for t, answer in enumerate(kind):
                flipped = generator.random() < (own if answer else other)
                shares[t] += kept.setdefault(answer, flipped) if coins == MEMOIZED else flipped
        misses += abs(trend.slope(((shares / people - other) / (own - other)).tolist()) - truth) > half
    assert misses <= 50


def test_donations_of_one_person_widen_the_interval_for_a_population():
    trend = TrendWeights(numbers=(1, 2, 3), reports=(30, 30, 30))
    widths = [trend.half_width(NOISE, days(FRESH, donations=each), doubt=0.05, sampled=True) for each in (1, 5)]
    assert widths[0] < widths[1]
    assert trend.half_width(NOISE, days(FRESH, donations=5), doubt=0.05) < widths[0]


# ---------------------------------------------------------------- what is shown


def test_trends_begin_with_three_periods_and_leave_out_those_that_wait():
    yes, no = b"\1", b"\0"
    if TWO_COINS.estimate([yes] * 4).shares["yes"] < 0:
        yes, no = no, yes
    two = summarized(TWO_COINS, FRESH, {1: [yes] * 10, 2: [yes, no] * 5})
    assert two["trends"] == []
    four = summarized(TWO_COINS, FRESH, {1: [yes] * 600 + [no] * 200, 2: [yes] * 500 + [no] * 300, 4: [yes, no] * 400})
    yes_trend, no_trend = four["trends"]
    shares = [each["estimates"][0]["share"] for each in four["periods"] if not each["waiting"]]
    assert yes_trend["slope"] == pytest.approx(np.polyfit([1, 2, 4], shares, 1)[0])
    assert no_trend["slope"] == pytest.approx(-yes_trend["slope"])
    assert (yes_trend["choice"], yes_trend["first"], yes_trend["last"]) == ("yes", 1, 4)
    inner, outer = yes_trend["interval"], yes_trend["population"]
    assert outer[0] < inner[0] < yes_trend["slope"] < inner[1] < 0 and outer[1] > inner[1]
    more = {1: [yes] * 600 + [no] * 200, 2: [yes, no] * 400, 4: [yes, no] * 400}
    wider = summarized(TWO_COINS, FRESH, more, confidence=0.99)
    assert wider["trends"][0]["interval"][1] - wider["trends"][0]["interval"][0] > inner[1] - inner[0]


@pytest.mark.parametrize("coins", COINS)
def test_means_have_a_trend_too(coins):
    randomizer = Duchi(low=0, high=10, step=1, epsilon=2)
    shown = summarized(randomizer, coins, {t: list(randomizer.randomize_all([t] * 300)) for t in (1, 2, 3)})
    (trend,) = shown["trends"]
    assert "choice" not in trend and trend["interval"][0] <= trend["slope"] <= trend["interval"][1]
    assert trend["population"][0] <= trend["interval"][0]


def test_where_reports_are_not_independent_the_trend_follows_from_the_periods_intervals():
    randomizer = FastHashing(["a", "b"], epsilon=3)
    shown = summarized(randomizer, FRESH, {t: list(randomizer.randomize_all(["a", "b"] * 50)) for t in (1, 2, 3)})
    first, second = shown["trends"]
    ends = [each["estimates"][0]["interval"] for each in shown["periods"][:3]]
    assert first["interval"] == pytest.approx([(ends[2][0] - ends[0][1]) / 2, (ends[2][1] - ends[0][0]) / 2])
    assert first["population"] is None and second["population"] is None
