"""A limit by rank: its law by summation, what one unit moves, and that a looser one would be caught."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet import exact
from discreet.accounting import events
from discreet.mechanisms import rank_choice
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.rank_choice import RankChoice
from noise.divergence import hockey_stick
from noise.source import FixedBits
from tiers import size

NOTHING = Fraction(1, 10**35)
DISLIKES = (Fraction(0), Fraction(1, 2), Fraction(3))
FRACTIONS = [Fraction(0), Fraction(1, 200), Fraction(1, 3), Fraction(3, 4)]


def choice(**more):
    return RankChoice(**{"dislikes": DISLIKES, "spare": 1, "epsilon": Fraction(1), **more})


def lines(bins, most):
    return (np.array(counts) for counts in itertools.product(range(most + 1), repeat=bins))


def additions(bins, rows):
    """Every way to put up to `rows` rows into bins."""
    return (np.array(more) for more in itertools.product(range(rows + 1), repeat=bins) if sum(more) <= rows)


def pairs(mechanism):
    """The law on every small histogram, and on it with a unit more."""
    laws = {}
    for line in lines(mechanism.bins, 3 + mechanism.rows):
        laws[tuple(line)] = mechanism.mechanism.probabilities(mechanism.scores(line))
    for line in lines(mechanism.bins, 3):
        for more in additions(mechanism.bins, mechanism.rows):
            yield laws[tuple(line)], laws[tuple(line + more)]


def worst(mechanism, epsilon):
    return max(max(hockey_stick(a, b, epsilon)[0], hockey_stick(b, a, epsilon)[0]) for a, b in pairs(mechanism))


@pytest.mark.thin(2)
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize(("rows", "descending"), [(1, False), (1, True), (2, False)])
def test_the_loss_is_at_most_epsilon(fraction, rows, descending):
    mechanism = choice(fraction=fraction, rows=rows, descending=descending)
    for here, there in pairs(mechanism):
        assert hockey_stick(here, there, mechanism.epsilon)[1] < NOTHING
        assert hockey_stick(there, here, mechanism.epsilon)[1] < NOTHING


def test_the_loss_comes_near_to_epsilon():
    """The first bin is hardly ever chosen, and a person beyond it makes it rarer by all of e^epsilon."""
    mechanism = choice(dislikes=(Fraction(8), Fraction(0)), spare=0)
    (alone, _), _ = mechanism.mechanism.probabilities(mechanism.scores(np.array([3, 0])))
    (joined, _), _ = mechanism.mechanism.probabilities(mechanism.scores(np.array([3, 1])))
    assert Fraction(99, 100) < alone / joined / exact.exp(mechanism.epsilon, up=True) < 1


@pytest.mark.parametrize("wrong", [2, Fraction(4, 3)])
def test_a_looser_sensitivity_is_caught(monkeypatch, wrong):
    """Scores that weigh more than they may, as if a person moved them by less."""

    def loose(self):
        sensitivity = self.rows * self.fraction.denominator * rank_choice._FINE
        return ExponentialMechanism(epsilon=self.epsilon * wrong, sensitivity=sensitivity)

    monkeypatch.setattr(RankChoice, "mechanism", property(loose))
    mechanism = choice(dislikes=(Fraction(4), Fraction(0)), spare=0)
    assert worst(mechanism, Fraction(1)) > Fraction(1, 10**6)


@pytest.mark.thin(4)
@pytest.mark.parametrize("fraction", FRACTIONS, ids=str)
@pytest.mark.parametrize("rows", [1, 3])
def test_scores_move_one_way(fraction, rows):
    """With the proof's constant added, a unit moves every score by at most the sensitivity; and one so far."""
    mechanism = choice(fraction=fraction, rows=rows)
    a, b = fraction.numerator, fraction.denominator
    most = 0
    for line in lines(3, 4):
        for more in additions(3, rows):
            centre = rank_choice._FINE * (b - 2 * a) * int(more.sum())
            moved = mechanism.scores(line + more) - mechanism.scores(line) + centre
            most = max(most, *map(abs, moved.tolist()))
    assert most == mechanism.mechanism.sensitivity


def test_scores_by_hand():
    """Ten rows, a fifth may lie beyond and one more: 3 may. Beyond the bins lie 9, 4, 2 and 0."""
    mechanism = choice(dislikes=tuple(map(Fraction, range(4))), fraction=Fraction(1, 5), epsilon=Fraction(1, 2))
    line = np.array([1, 5, 2, 2])
    per_row, per_nat = 2 * 5 * rank_choice._FINE, 2 * 5 * rank_choice._FINE * 2
    assert mechanism.scores(line).tolist() == [-6 * per_row, -per_row - per_nat, -2 * per_nat, -3 * per_nat]
    below = choice(
        dislikes=tuple(map(Fraction, range(4))), fraction=Fraction(1, 5), epsilon=Fraction(1, 2), descending=True
    )
    assert below.scores(line[::-1]).tolist() == mechanism.scores(line).tolist()[::-1]


def test_the_law_is_the_one_stated():
    mechanism = choice(epsilon=Fraction(1, 3), rows=2, fraction=Fraction(1, 10), spare=2)
    line = np.array([20, 9, 1])
    weights = [np.exp(-max(0, beyond - 3 - 2) / 6 - float(d)) for beyond, d in zip([10, 1, 0], DISLIKES, strict=True)]
    assert mechanism.chances(line) == pytest.approx([weight / sum(weights) for weight in weights], abs=1e-3)


def test_choose_draws_from_it_and_says_what_it_cost():
    mechanism = choice(epsilon=Fraction(1, 5))
    line = np.array([10, 5, 5])
    bits = FixedBits(1)
    drawn = [mechanism.choose(line.reshape(1, -1), bits=bits)[0][0] for _ in range(size(2_500, 20_000))]
    assert all(low == middle == high for low, middle, high in drawn)
    seen = np.bincount([bin_ for bin_, *_ in drawn], minlength=3) / len(drawn)
    assert seen == pytest.approx(mechanism.chances(line), abs=size(0.05, 0.02))
    _, event = mechanism.choose(line.reshape(1, -1), bits=bits)
    assert event == mechanism.event() == events.ExponentialEvent(epsilon=Fraction(1, 5))


def test_huge_and_empty_histograms():
    mechanism = choice(epsilon=Fraction(1, 10**6), rows=10**6, fraction=Fraction(1, 200))
    for line in (np.zeros(3, np.int64), np.array([0, 0, 2**61]), np.array([2**70, 0, 2**70], dtype=object)):
        (chosen, *_), _ = mechanism.choose(line.reshape(1, -1), bits=FixedBits(2))
        assert 0 <= chosen[0] < 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"dislikes": ()},
        {"dislikes": (Fraction(-1),)},
        {"spare": -1},
        {"rows": 0},
        {"fraction": Fraction(1)},
        {"fraction": 0.5},
        {"epsilon": Fraction(0)},
    ],
    ids=str,
)
def test_nonsense_is_refused(wrong):
    with pytest.raises(ValueError):
        choice(**wrong)


def test_another_number_of_bins_is_refused():
    with pytest.raises(ValueError, match="bins"):
        choice().choose(np.zeros((1, 4), np.int64), bits=FixedBits())
