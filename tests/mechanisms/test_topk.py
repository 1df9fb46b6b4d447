"""Top-k of unknown keys: its whole law on small tables, by summation; what shows, what it costs."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc

from discreet import exact
from discreet.accounting import events
from discreet.errors import LedgerFault
from discreet.mechanisms.bits import system
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.topk import TopKChoice, delta_of, joining_delta, topk_is_cheaper
from noise.divergence import UNIT
from noise.source import FixedBits
from tiers import size

NOTHING = Fraction(1, 10**35)
MILLIONTH = Fraction(1, 10**6)


@functools.cache
def probabilities(epsilon, scores):
    return ExponentialMechanism(epsilon=epsilon, sensitivity=1).probabilities(np.array(scores))


def law(mechanism, counts):
    """P(output) for every sequence of positions, from the mechanism's own candidates and scores."""
    found = {}

    def follow(positions, scores, output, chance):
        if len(output) == mechanism.k:
            found[output] = chance
            return
        chances = probabilities(mechanism.epsilon, tuple((scores - max(scores)).tolist()))
        stop = [chances[place] for place in range(len(positions), len(scores))]
        found[(*output, "stop")] = tuple(chance[end] * sum(part[end] for part in stop) for end in (0, 1))
        for place, position in enumerate(positions):
            step = tuple(chance[end] * chances[place][end] for end in (0, 1))
            follow(np.delete(positions, place), np.delete(scores, place), (*output, int(position)), step)

    positions, scores = mechanism._candidates(np.array(counts))
    follow(positions, scores, (), (Fraction(1), Fraction(1)))
    return found


def whole(found):
    """A law in whole multiples of 1e-60, rounded outward: integers add a hundred times faster than Fractions."""
    return {output: (math.floor(low * UNIT), math.ceil(high * UNIT)) for output, (low, high) in found.items()}


@functools.cache
def factors(epsilon):
    return math.floor(exact.exp(epsilon, up=False) * UNIT), math.ceil(exact.exp(epsilon, up=True) * UNIT)


def excess(here, there, epsilon):
    """At least, and at most, the hockey-stick divergence of two whole laws."""
    least, most = factors(epsilon)
    low = high = 0
    for output, (down, up) in here.items():
        other_down, other_up = there.get(output, (0, 0))
        low += max(0, down * UNIT - most * other_up)
        high += max(0, up * UNIT - least * other_down)
    return Fraction(low, UNIT**2), Fraction(high, UNIT**2)


def neighbours(keys, most):
    """Every table of `keys` keys with up to `most` persons each, and every set of keys that a person may be in."""
    for counts in itertools.product(range(most + 1), repeat=keys):
        for joined in itertools.product((0, 1), repeat=keys):
            yield counts, tuple(count + more for count, more in zip(counts, joined, strict=True)), sum(joined)


def worst(mechanism, pairs):
    """The largest divergence at the claimed epsilon over pairs of neighbours, and the claimed loss."""
    laws = {}
    claim = events.loss(mechanism.event())
    most = Fraction(0)
    for before, after, _ in pairs:
        for counts in (before, after):
            if counts not in laws:
                laws[counts] = whole(law(mechanism, counts))
        here, there = laws[before], laws[after]
        most = max(most, excess(here, there, claim.epsilon)[1], excess(there, here, claim.epsilon)[1])
    return most, claim


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    ("k", "candidates", "epsilon", "margin"),
    [(1, 1, Fraction(1), 3), (2, 2, Fraction(1, 2), 2), (2, 3, Fraction(2), 2), (1, 4, Fraction(1), 1)],
)
def test_every_small_table_keeps_the_promise(k, candidates, epsilon, margin):
    """All tables of 4 keys with up to 4 persons, all persons that may join: divergence at most delta, both ways."""
    mechanism = TopKChoice(k=k, epsilon=epsilon, margin=margin, candidates=candidates)
    found, claim = worst(mechanism, neighbours(4, 4))
    assert claim.epsilon == k * epsilon
    assert found <= claim.delta + NOTHING


def test_three_choices():
    mechanism = TopKChoice(k=3, epsilon=Fraction(1), margin=2, candidates=3)
    found, claim = worst(mechanism, neighbours(4, 2))
    assert found <= claim.delta + NOTHING


@pytest.mark.thin(1)
@pytest.mark.parametrize("keys", [1, 2])
def test_few_keys_a_person(keys):
    """A bound on the keys of a person lowers delta, and it holds for such persons."""
    mechanism = TopKChoice(k=2, epsilon=Fraction(1), margin=2, candidates=3, keys_per_person=keys)
    pairs = [pair for pair in neighbours(4, 3) if pair[2] <= keys]
    found, claim = worst(mechanism, pairs)
    assert found <= claim.delta + NOTHING
    assert claim.delta < events.loss(TopKChoice(k=2, epsilon=Fraction(1), margin=2, candidates=3).event()).delta


def test_delta_is_attained():
    """A person in all keys, on an empty table: exactly delta, and no smaller claim would be true."""
    for candidates in (1, 2, 3):
        mechanism = TopKChoice(k=1, epsilon=Fraction(1, 2), margin=5, candidates=candidates)
        claim = events.loss(mechanism.event())
        after = (1,) * candidates
        low, _ = excess(whole(law(mechanism, after)), whole(law(mechanism, (0,) * candidates)), claim.epsilon)
        assert claim.delta * Fraction(999999, 1000000) < low <= claim.delta


def test_epsilon_is_attained():
    """Two rare keys, twice passing over a common one that the person joined: the loss is nearly k * epsilon."""
    mechanism = TopKChoice(k=2, epsilon=Fraction(1), margin=3, candidates=3)
    here, there = (law(mechanism, counts)[1, 2] for counts in ((60, 20, 20), (61, 20, 20)))
    assert math.log(here[0] / there[1]) > 0.999 * float(events.loss(mechanism.event()).epsilon)


def changes(keys, most, each=None):
    """Every table with one person's keys taken out and another's put in; `each`: keys that a person may have."""
    sets = [one for one in itertools.product((0, 1), repeat=keys) if each is None or sum(one) <= each]
    for counts in itertools.product(range(most + 1), repeat=keys):
        for one, other in itertools.combinations(sets, 2):
            yield tuple(
                tuple(count + more for count, more in zip(counts, person, strict=True)) for person in (one, other)
            )


def worst_change(mechanism, keys, most):
    """The largest divergence at twice the claimed epsilon over tables that differ by a changed person; twice delta."""
    claim, worst_found, laws = events.loss(mechanism.event()), Fraction(0), {}
    for here, there in set(changes(keys, most, mechanism.keys_per_person)):
        one, two = (
            laws.get(counts) or laws.setdefault(counts, whole(law(mechanism, counts))) for counts in (here, there)
        )
        far = (excess(one, two, 2 * claim.epsilon)[1], excess(two, one, 2 * claim.epsilon)[1])
        worst_found = max(worst_found, *far)
    return worst_found, 2 * claim.delta


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    ("k", "candidates", "epsilon", "margin", "most"),
    [
        (1, 2, Fraction(2), 3, None),
        (1, 2, Fraction(2), 4, 1),
        (2, 2, Fraction(1, 2), 2, None),
        (1, 1, Fraction(3), 2, 1),
    ],
)
def test_changing_a_person_loses_at_most_twice_as_much(k, candidates, epsilon, margin, most):
    """As where an exact total was published: all tables of 4 keys, all pairs of persons of whom either may be there."""
    mechanism = TopKChoice(k=k, epsilon=epsilon, margin=margin, candidates=candidates, keys_per_person=most)
    found, claimed = worst_change(mechanism, 4, size(2, 3))
    assert found <= claimed + NOTHING


def test_twice_the_delta_of_joining_is_too_little_for_a_change(monkeypatch):
    """Two keys that one person leaves fall below the two that another joins: exp(epsilon) times as likely as one alone."""
    mechanism = TopKChoice(k=1, epsilon=Fraction(2), margin=4, candidates=2)
    true = worst_change(mechanism, 4, 2)
    assert true[1] * Fraction(3, 4) < true[0] <= true[1] + NOTHING
    monkeypatch.setattr("discreet.mechanisms.topk.delta_of", joining_delta)
    found, claimed = worst_change(mechanism, 4, 2)
    assert found > claimed * 3


@pytest.mark.parametrize("mutant", ["no margin", "blind to keys left out", "twice the rate"])
def test_mutants_break_the_promise(mutant, monkeypatch):
    def broken(self, exact_persons, true=TopKChoice._candidates):
        positions, scores = true(self, exact_persons)
        if mutant == "no margin":
            scores[positions.size] -= 2 * self.margin
        if mutant == "blind to keys left out":
            scores[positions.size] = 2 * self.margin
        return positions, scores * 2 if mutant == "twice the rate" else scores

    monkeypatch.setattr(TopKChoice, "_candidates", broken)
    found, claim = worst(TopKChoice(k=2, epsilon=Fraction(1), margin=4, candidates=2), neighbours(3, 6))
    assert found > claim.delta * Fraction(101, 100)


def test_the_decomposition_of_the_proof(monkeypatch):
    """It stands on the places of absent keys: without them a choice among the common keys loses more than epsilon."""
    mechanisms = [TopKChoice(k=2, epsilon=Fraction(1, 4), margin=2, candidates=number) for number in (2, 3)]
    assert all(decomposes(mechanism) for mechanism in mechanisms)

    def unpadded(self, exact_persons, true=TopKChoice._candidates):
        positions, scores = true(self, exact_persons)
        return positions, scores[: positions.size + 1]

    monkeypatch.setattr(TopKChoice, "_candidates", unpadded)
    assert not decomposes(mechanisms[1])


def decomposes(mechanism):
    """Whether each law is (1 - delta) times one on the common candidates plus the rest, and those lose what is claimed."""
    claim = events.loss(mechanism.event())
    for before, after, _ in neighbours(3, 3):
        sides = [mechanism._candidates(np.array(counts)) for counts in (before, after)]
        common = sorted(set(sides[0][0].tolist()) & set(sides[1][0].tolist()))
        ideals = []
        for counts, (positions, scores) in zip((before, after), sides, strict=True):
            ideal = ideal_law(mechanism, positions.tolist(), scores.tolist(), common)
            true = law(mechanism, counts)
            if any(float(true[o][1]) < (1 - float(claim.delta)) * chance * (1 - 1e-12) for o, chance in ideal.items()):
                return False
            ideals.append(ideal)
        if not (loses_no_more(*ideals, claim) and loses_no_more(*ideals[::-1], claim)):
            return False
    return True


def loses_no_more(left, right, claim):
    if max(math.log(left[o] / right[o]) for o in left) > float(claim.epsilon) + 1e-12:
        return False
    for alpha in (1.01, 2, 8):
        total = math.fsum(left[o] ** alpha * right[o] ** (1 - alpha) for o in left)
        if math.log(total) / (alpha - 1) > alpha * float(claim.rho) + 1e-9:
            return False
    return True


def ideal_law(mechanism, positions, scores, common):
    """Peeling over the common keys; everything else counts to the stop."""
    rate = float(mechanism.epsilon) / 2
    weights = {position: math.exp(rate * scores[place]) for place, position in enumerate(positions)}
    stop = math.fsum(math.exp(rate * score) for score in scores[len(positions) :])
    stop += math.fsum(value for position, value in weights.items() if position not in common)
    found = {}

    def follow(left, output, chance):
        if len(output) == mechanism.k:
            found[output] = chance
            return
        total = stop + math.fsum(weights[position] for position in left)
        found[(*output, "stop")] = chance * stop / total
        for position in left:
            follow(
                [other for other in left if other != position], (*output, position), chance * weights[position] / total
            )

    follow(common, (), 1.0)
    return found


def test_frequencies_follow_the_law():
    mechanism = TopKChoice(k=2, epsilon=Fraction(1), margin=2, candidates=3)
    counts = (3, 0, 2, 4, 1)
    true = law(mechanism, counts)
    n, bits, seen = size(1_800, 8_000), FixedBits(1), dict.fromkeys(true, 0)
    for _ in range(n):
        chosen = tuple(mechanism.choose(np.array(counts), bits=bits)[0].tolist())
        seen[chosen if len(chosen) == 2 else (*chosen, "stop")] += 1
    expected = {output: n * float(sum(chance) / 2) for output, chance in true.items()}
    statistic = sum((seen[output] - mean) ** 2 / mean for output, mean in expected.items())
    assert abs(sum(expected.values()) - n) < 1e-6
    assert chdtrc(len(true) - 1, statistic) > 1e-8
    wrong = law(TopKChoice(k=2, epsilon=Fraction(3, 2), margin=2, candidates=3), counts)
    statistic = sum((seen[o] - n * float(c[0])) ** 2 / (n * float(c[0])) for o, c in wrong.items())
    assert chdtrc(len(true) - 1, statistic) < 1e-8


def test_the_most_common_come_first():
    counts = np.array([5, 10**6, 0, 7, 3 * 10**6, 2 * 10**6])
    mechanism = TopKChoice.within(k=3, epsilon=Fraction(1), delta=MILLIONTH)
    chosen, event = mechanism.choose(counts, bits=system())
    assert chosen.tolist() == [4, 5, 1]
    assert event == mechanism.event()


def test_rare_keys_stay_hidden_and_absent_keys_do_not_exist():
    mechanism = TopKChoice.within(k=5, epsilon=Fraction(1), delta=Fraction(1, 10**12))
    assert mechanism.choose(np.ones(3000, np.int64), bits=FixedBits(1))[0].size == 0
    assert mechanism.choose(np.zeros(5, np.int64), bits=FixedBits(1))[0].size == 0
    assert mechanism.choose(np.zeros(0, np.int64), bits=FixedBits(1))[0].size == 0
    sure = TopKChoice(k=5, epsilon=Fraction(500), margin=1, candidates=5)
    assert sure.choose(np.array([0, 9, 0, 8]), bits=FixedBits(1))[0].tolist() == [1, 3]


def test_the_stop_stands_above_the_first_key_left_out():
    mechanism = TopKChoice(k=2, epsilon=Fraction(500), margin=10, candidates=2)
    assert mechanism.choose(np.array([100, 50, 99, 80]), bits=FixedBits(1))[0].tolist() == [0, 2]
    assert mechanism.choose(np.array([100, 95, 99, 80]), bits=FixedBits(1))[0].size == 0


def test_counts_of_any_width():
    mechanism = TopKChoice(k=1, epsilon=Fraction(1), margin=10, candidates=2)
    counts = np.array([10**30, 3, 10**30 + 10**4], dtype=object)
    assert mechanism.choose(counts, bits=FixedBits(1))[0].tolist() == [2]


def test_equal_counts_are_told_apart_by_position_alone():
    mechanism = TopKChoice(k=2, epsilon=Fraction(1), margin=2, candidates=2)
    positions, scores = mechanism._candidates(np.array([4, 7, 4, 4]))
    assert positions.tolist() == [1, 0]
    assert scores.tolist() == [14, 8, 12]
    mechanism = TopKChoice(k=2, epsilon=Fraction(1), margin=2, candidates=6)
    counts = np.random.default_rng(1).integers(1, 4, 5000)
    assert mechanism._candidates(counts)[0].tolist() == np.flatnonzero(counts == 3)[:6].tolist()


@pytest.mark.parametrize("keys", [None, 1, 7, 5000])
@pytest.mark.parametrize("delta", [Fraction(1, 10**12), MILLIONTH, Fraction(9, 10)], ids=str)
def test_within_takes_the_least_margin(keys, delta):
    mechanism = TopKChoice.within(k=4, epsilon=Fraction(2), delta=delta, keys_per_person=keys, candidates=100)
    loss = events.loss(mechanism.event())
    assert loss.epsilon == 2
    assert loss.rho == Fraction(1, 8 * 4) * 2**2
    assert loss.delta <= delta
    assert len(str(loss.delta.denominator)) < 60
    if mechanism.margin > 1:
        strangers = min(100, keys or 100)
        assert delta_of(mechanism.epsilon, margin=mechanism.margin - 1, strangers=strangers) > delta


def test_far_margins_are_no_overflow():
    assert delta_of(Fraction(1000), margin=10**9, strangers=10) == Fraction(1, 10**40)


def test_slack():
    """At half of the slack a worse key is chosen sometimes, beyond it nearly never."""
    mechanism = TopKChoice(k=1, epsilon=Fraction(1), margin=1, candidates=50)
    slack = mechanism.slack(Fraction(95, 100))
    counts = np.array([1000] + [1000 - slack] * 49)
    bits = FixedBits(5)
    wrong = sum(mechanism.choose(counts, bits=bits)[0].tolist() != [0] for _ in range(2000))
    assert wrong <= 2000 * 0.05
    counts = np.array([1000] + [1000 - slack // 2] * 49)
    assert sum(mechanism.choose(counts, bits=bits)[0].tolist() != [0] for _ in range(500)) > 500 * 0.05


def test_which_is_cheaper():
    price = {"epsilon": Fraction(1), "delta": MILLIONTH}
    assert not topk_is_cheaper(keys_per_person=1, k=1, **price)
    assert topk_is_cheaper(keys_per_person=100, k=10, **price)
    assert not topk_is_cheaper(keys_per_person=100, k=500, **price)
    assert topk_is_cheaper(keys_per_person=10**15, k=10, **price)


@pytest.mark.parametrize(
    "bad",
    [{"k": 0}, {"k": 3}, {"margin": 0}, {"epsilon": Fraction(0)}, {"epsilon": 1.0}, {"keys_per_person": 0}],
)
def test_what_is_no_choice(bad):
    with pytest.raises(ValueError):
        TopKChoice(**({"k": 1, "epsilon": Fraction(1), "margin": 2, "candidates": 2} | bad))


@pytest.mark.parametrize("bad", [{"k": 0}, {"delta": Fraction(0)}, {"delta": Fraction(1)}, {"epsilon": Fraction(0)}])
def test_what_has_no_margin(bad):
    with pytest.raises(ValueError):
        TopKChoice.within(**({"k": 1, "epsilon": Fraction(1), "delta": MILLIONTH} | bad))


def test_its_event_is_stored():
    event = TopKChoice.within(k=3, epsilon=Fraction(1), delta=MILLIONTH).event()
    assert events.from_data(events.to_data(event)) == event
    lost = events.loss(event)
    assert (lost.epsilon, lost.rho, lost.delta) == (Fraction(1), Fraction(1, 24), event.delta)
    for bad in ({"choices": 0}, {"epsilon": "0/1"}, {"delta": "1/1"}, {"delta": "0/1"}):
        with pytest.raises(LedgerFault):
            events.from_data(events.to_data(event) | bad)
