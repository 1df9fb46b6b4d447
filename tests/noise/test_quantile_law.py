"""Private quantiles, by summation: how far a unit moves the scores, what is lost, how often the interval misses."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc

from discreet.accounting import events
from discreet.lab.privacy_audit.noise_laws import choice_masses
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.quantile import QuantileChoice
from noise.divergence import hockey_stick
from noise.source import FixedBits
from tiers import size

NOTHING = Fraction(1, 10**35)
FRACTIONS = [Fraction(0), Fraction(1, 200), Fraction(1, 3), Fraction(1, 2), Fraction(3, 4), Fraction(1)]


def choice(fraction, *, bins=3, rows=1, epsilon=Fraction(1), **more):
    return QuantileChoice(fraction=fraction, bins=bins, rows=rows, epsilon=epsilon, **more)


def lines(bins, most):
    return (np.array(counts) for counts in itertools.product(range(most + 1), repeat=bins))


def additions(bins, rows):
    """Every way to put up to `rows` rows into bins."""
    return (np.array(more) for more in itertools.product(range(rows + 1), repeat=bins) if sum(more) <= rows)


@pytest.mark.thin(2)
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_a_unit_moves_no_score_further_than_claimed(fraction, rows):
    """And some unit moves one so far."""
    mechanism = choice(fraction, rows=rows)
    most = 0
    for line in lines(3, 3):
        for more in additions(3, rows):
            for shift in (0, -mechanism.margin, mechanism.margin, -3, 5):
                moved = np.abs(mechanism.scores(line + more, shift) - mechanism.scores(line, shift))
                most = max(most, int(moved.max()))
    assert most == mechanism.end.sensitivity == mechanism.estimate.sensitivity


def test_a_score_by_hand():
    """Ten rows, the third quartile: rank 7.5, which bin 2 holds (ranks 6 to 8), in quarters of a row."""
    mechanism = choice(Fraction(3, 4), bins=5)
    line = np.array([1, 5, 2, 0, 2])
    assert mechanism.scores(line, 0).tolist() == [-(30 - 4), -(30 - 24), 0, -(32 - 30), -(32 - 30)]
    assert mechanism.scores(line, -100).tolist() == [0, -74, -94, -102, -102]
    assert mechanism.scores(line, 100).tolist() == [-126, -106, -98, -98, 0]
    assert mechanism.scores(np.zeros(5, np.int64), -100).tolist() == [0, -100, -100, -100, -100]


@pytest.mark.thin(2)
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("flips", [False, True])
def test_the_loss_of_each_choice(fraction, flips):
    mechanism = choice(fraction, rows=2, epsilon=Fraction(3, 2), flips=flips)
    for part, shift in ((mechanism.estimate, 0), (mechanism.end, -mechanism.margin), (mechanism.end, mechanism.margin)):
        for line in lines(3, 2):
            here = part.probabilities(mechanism.scores(line, shift))
            for more in additions(3, 2):
                there = part.probabilities(mechanism.scores(line + more, shift))
                assert hockey_stick(here, there, part.epsilon)[1] < NOTHING
                assert hockey_stick(there, here, part.epsilon)[1] < NOTHING


def largest_loss(mechanism):
    """Of the estimate, where many empty bins are all medians (or q-quantiles) until one row comes: they fall back
    together, while a far bin comes nearer."""
    a, b = mechanism.fraction.numerator, mechanism.fraction.denominator
    line = np.zeros(mechanism.bins, np.int64)
    line[0], line[1], line[-1] = 1, 10 * a - 1, 10 * (b - a)
    joined = 0
    if 2 * a > b:
        line = np.zeros(mechanism.bins, np.int64)
        line[0], line[-2], line[-1] = 10 * a, 10 * (b - a) - 1, 1
        joined = -1
    here = mechanism.estimate.probabilities(mechanism.scores(line, 0))
    line[joined] += 1
    there = mechanism.estimate.probabilities(mechanism.scores(line, 0))
    pairs = zip(here, there, strict=True)
    return max(max(math.log(p[0] / q[1]), math.log(q[0] / p[1])) for p, q in pairs if p[0] and q[0])


@pytest.mark.thin(1)
@pytest.mark.parametrize("fraction", FRACTIONS[1:-1], ids=str)
def test_the_loss_is_attained(fraction, monkeypatch):
    """Nearly all of epsilon is lost; were the sensitivity believed to be smaller by a tenth, more would be."""
    mechanism = choice(fraction, bins=800)
    claimed = float(mechanism.estimate.epsilon)
    assert 0.98 * claimed < largest_loss(mechanism) <= claimed
    monkeypatch.setattr(
        QuantileChoice, "estimate", property(lambda self, true=QuantileChoice.estimate: sharper(true.fget(self)))
    )
    assert largest_loss(mechanism) > claimed * 1.05


def sharper(part):
    return ExponentialMechanism(epsilon=part.epsilon * Fraction(10, 9), sensitivity=part.sensitivity)


def test_flips_lose_all_of_epsilon_and_no_more():
    """And a planted bug: were a unit of two rows taken for one of one row, twice as much would be lost."""
    mechanism = choice(Fraction(1, 2), bins=100, rows=2, epsilon=Fraction(2), flips=True)
    claimed = float(mechanism.estimate.epsilon)
    line = np.zeros(100, np.int64)
    line[0], line[1], line[-1] = 1, 9, 10

    def worst(sensitivity):
        masses = []
        for more in (0, 2):
            line[0] = 1 + more
            gaps = mechanism.scores(line, 0).astype(np.float64)
            masses.append(choice_masses(np.exp((gaps - gaps.max()) * claimed / (2 * sensitivity)), flips=True))
        return np.abs(np.log(np.divide(*masses))).max()

    assert mechanism.estimate.sensitivity == 2
    assert 0.95 * claimed < worst(2) <= claimed
    assert worst(1) > 1.9 * claimed


@pytest.mark.parametrize("flips", [False, True])
def test_groups_share_one_price(flips):
    """Two groups and a unit with two rows in either or both: the pair of choices loses what one choice may."""
    mechanism = choice(Fraction(1, 3), bins=2, rows=2, epsilon=Fraction(2), flips=flips)
    part = mechanism.estimate
    claim = events.loss(part.event())

    def pair(both):
        sides = [part.probabilities(mechanism.scores(line, 0)) for line in both]
        return [(p[0] * q[0], p[1] * q[1]) for p in sides[0] for q in sides[1]]

    for counts in itertools.islice(itertools.product(range(3), repeat=4), 0, None, size(4, 1)):
        both = np.array(counts).reshape(2, 2)
        here = pair(both)
        for more in additions(4, 2):
            there = pair(both + more.reshape(2, 2))
            for left, right in ((here, there), (there, here)):
                assert hockey_stick(left, right, claim.epsilon)[1] < NOTHING
                p, q = ([float(low) for low, _ in side] for side in (left, right))
                for alpha in (1.01, 4, 50):
                    total = math.fsum(a**alpha * b ** (1 - alpha) for a, b in zip(p, q, strict=True))
                    assert math.log(total) / (alpha - 1) <= alpha * float(claim.rho) + 1e-9


def misses(mechanism, line):
    """The chance that the low end lies above the first row of the quantile, and the high end below the last."""
    n = int(line.sum())
    position = mechanism.fraction * (n - 1)
    rows = np.repeat(np.arange(line.size), line)
    first, last = int(rows[math.floor(position)]), int(rows[math.ceil(position)])
    rate = float(mechanism.end.epsilon) / (2 * mechanism.end.sensitivity)
    found = []
    for shift, out in ((-mechanism.margin, slice(first + 1, None)), (mechanism.margin, slice(0, last))):
        weights = np.exp(rate * mechanism.scores(line, shift))
        found.append(sum(choice_masses(weights, flips=mechanism.flips)[out]))
    return found


@pytest.mark.thin(2)
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(30)], ids=str)
@pytest.mark.parametrize("flips", [False, True])
def test_the_interval_misses_no_more_often_than_claimed(fraction, epsilon, flips):
    """Whatever the rows: few, none but one, all alike, at the ends, spread."""
    mechanism = choice(fraction, bins=5, epsilon=epsilon, flips=flips)
    allowed = float(1 - mechanism.confidence) / 2
    worst = 0.0
    for line in lines(5, 2):
        if line.sum():
            for scale in (1, 7, 100, 4001):
                worst = max(worst, *misses(mechanism, line * scale))
    assert worst <= allowed + 1e-12
    assert worst > allowed / 8 or epsilon > 1  # and the interval is not merely huge


@pytest.mark.parametrize("flips", [False, True])
def test_an_interval_without_its_margin_misses(monkeypatch, flips):
    mechanism = choice(Fraction(1, 2), bins=6, flips=flips)
    monkeypatch.setattr(QuantileChoice, "margin", mechanism.margin // 3)
    assert max(max(misses(mechanism, line * 100)) for line in lines(6, 2) if line.sum()) > 0.1


@pytest.mark.thin(1)
@pytest.mark.parametrize("flips", [False, True])
def test_draws_follow_the_law(flips):
    """Three independent choices a group, then put in order."""
    mechanism = choice(Fraction(1, 3), epsilon=Fraction(4), confidence=Fraction(1, 2), flips=flips)
    line = np.array([4, 3, 5])
    parts = ((mechanism.end, -mechanism.margin), (mechanism.estimate, 0), (mechanism.end, mechanism.margin))
    laws = [[float(low) for low, _ in part.probabilities(mechanism.scores(line, shift))] for part, shift in parts]
    n = size(2_500, 4_000)
    drawn, event = mechanism.choose(np.tile(line, (n, 1)), bits=FixedBits(1))
    assert event == mechanism.event()
    expected = np.zeros((3, 3, 3))
    for low, middle, high in itertools.product(range(3), repeat=3):
        chance = laws[0][low] * laws[1][middle] * laws[2][high]
        expected[min(low, middle, high), middle, max(low, middle, high)] += n * chance
    seen = np.zeros((3, 3, 3))
    np.add.at(seen, tuple(drawn.T), 1)
    assert not seen[expected == 0].any()
    mask = expected > 0
    statistic = ((seen - expected)[mask] ** 2 / expected[mask]).sum()
    assert chdtrc(mask.sum() - 1, statistic) > 1e-8
    skewed = expected * 1.0
    skewed[0, 0, 2], skewed[0, 1, 2] = skewed[0, 0, 2] * 1.25, skewed[0, 1, 2] * 0.8
    assert chdtrc(mask.sum() - 1, ((seen - skewed)[mask] ** 2 / skewed[mask]).sum()) < 1e-8
