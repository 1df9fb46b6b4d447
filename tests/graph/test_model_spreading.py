"""Rumours: against a slow twin, against distances, and where they never arrive."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.graph.model import rumours
from discreet.graph.model.graph_model import GraphModel
from discreet.graph.model.graph_sampler import SampledGraph
from discreet.graph.model.network_measurements import NetworkMeasurements, NoisyNumbers
from discreet.graph.model.rumour_spread import AdjacencyList, RumourHistory, spread_rumour
from discreet.graph.model.rumours import _interval
from discreet.mechanisms.laplace import DiscreteLaplace
from graph.networks import CARD, blocky, measured, model
from tiers import size


def graph(pairs, nodes):
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return SampledGraph(ends=ends, blocks=np.zeros(nodes, dtype=np.int64))


def slow(pairs, nodes, *, seeds, rate, reach, generator):
    """Step by step, edge by edge, as it is said in words."""
    knows = set(generator.choice(nodes, size=seeds, replace=False).tolist())
    step = 0
    while len(knows) < reach * nodes:
        step += 1
        heard = set()
        for one, other in pairs:
            if (one in knows) != (other in knows) and generator.random() < rate:
                heard |= {one, other}
        knows |= heard
    return step


def test_it_is_as_fast_as_in_a_slow_twin():
    one, other, _ = blocky(sizes=(15, 15), inside=0.4, outside=0.03)
    pairs = list(zip(one.tolist(), other.tolist(), strict=True))
    neighbours, generator = AdjacencyList.of(graph(pairs, 30)), np.random.default_rng(1)
    times = size(600, 1200)
    fast = [spread_rumour(neighbours, seeds=2, rate=0.2, generator=generator).time_to(20) for _ in range(times)]
    twin = [slow(pairs, 30, seeds=2, rate=0.2, reach=2 / 3, generator=generator) for _ in range(times)]
    error = (np.var(fast) / times + np.var(twin) / times) ** 0.5
    assert abs(np.mean(fast) - np.mean(twin)) < 4 * error
    assert np.var(fast) == pytest.approx(np.var(twin), rel=0.3)
    assert error < 0.13 * (1200 / times) ** 0.5  # of about 9 steps: a rate of 0.22 would be seen, by 600 one of 0.23


def test_at_rate_one_it_takes_the_distance():
    path = [(place, place + 1) for place in range(9)]
    generator = np.random.default_rng(2)
    for _ in range(20):
        found = spread_rumour(AdjacencyList.of(graph(path, 10)), seeds=1, rate=1.0, generator=generator)
        last = int(found.steps[-1])
        assert 5 <= last <= 9 and found.informed[0] == 1 and found.informed[-1] == 10
        assert found.time_to(10) == last and found.time_to(1) == 0 and found.time_to(11) == float("inf")
        assert found.at(np.array([0, last, 10**6])).tolist() == [1, 10, 10]
        assert (np.diff(found.informed) <= 2).all()


def test_one_edge_waits_a_geometric_time():
    generator, pair = np.random.default_rng(3), AdjacencyList.of(graph([(0, 1)], 2))
    waits = np.array(
        [spread_rumour(pair, seeds=1, rate=0.25, generator=generator).time_to(2) for _ in range(size(2500, 5000))]
    )
    assert waits.min() == 1 and waits.mean() == pytest.approx(4, rel=0.05)
    assert (waits == 1).mean() == pytest.approx(0.25, abs=0.03)


def test_where_it_cannot_go_it_ends():
    apart = AdjacencyList.of(graph([(0, 1), (2, 3)], 6))
    generator = np.random.default_rng(4)
    found = spread_rumour(apart, seeds=1, rate=0.5, generator=generator)
    assert found.informed[-1] <= 2 and found.time_to(3) == float("inf")
    assert spread_rumour(apart, seeds=6, rate=0.0, generator=generator).informed.tolist() == [6]
    lonely = spread_rumour(AdjacencyList.of(graph([], 3)), seeds=2, rate=0.5, generator=generator)
    assert lonely.informed.tolist() == [2]


def test_a_rare_rumour_is_no_longer_work():
    found = spread_rumour(
        AdjacencyList.of(graph([(0, 1), (1, 2)], 3)), seeds=1, rate=1e-6, generator=np.random.default_rng(5)
    )
    assert found.informed[-1] == 3 and found.steps[-1] > 1000 and len(found.steps) <= 3


def test_a_spread_tells_time_interval_and_curve():
    found = model().spread(seeds=5, rate="0.2", runs=20, seed=1)
    low, high = found.interval
    assert low <= found.time <= high and found.arrived == 1 and found.confidence == 0.904
    steps, shares = [row[0] for row in found.curve], [row[1] for row in found.curve]
    assert steps[0] == 0 and shares[0] == 0.05 and shares == sorted(shares) and shares[-1] > 0.9
    assert all(low <= share <= high for _, share, low, high in found.curve)
    data = found.to_data()
    assert data["time"] == found.time and data["interval"] == [low, high] and "after" in data["sentence"]
    assert found.to_data() == model().spread(seeds=5, rate="0.2", runs=20, seed=1).to_data()
    faster = model().spread(seeds=5, rate="0.8", runs=4, seed=1)
    assert faster.time < found.time


def test_never_is_a_sentence():
    still = model().spread(seeds=5, rate=0, runs=2)
    assert still.time is None and still.interval == (None, None) and "at rate 0 no edge passes it on" in still.sentence
    assert "stops at about 5%" in still.sentence
    apart = model().spread(seeds=1, rate=1, reach=1, runs=2, seed=1)
    if apart.time is None:
        assert "no path leads" in apart.sentence


def test_the_interval_is_of_noise_drawn_anew_and_the_time_is_not(monkeypatch):
    def nothing(told, found, generator):
        return replace(told, edges=replace(told.edges, values=(0,) * len(told.edges.values)))

    monkeypatch.setattr(rumours, "simulate_measurements", nothing)
    found = model().spread(seeds=5, rate="0.5", runs=4, seed=2)
    assert found.time is not None and found.interval[1] is None and found.arrived == 1
    assert "and never with" in found.sentence


def test_where_noise_may_leave_nobody_nobody_may_know():
    law, rising = DiscreteLaplace(scale=Fraction(15)), (1, 2, 3, 4)
    degrees, edges = NoisyNumbers(values=(28, 28, 25, 20), law=law), NoisyNumbers(values=(60,), law=law)
    told = NetworkMeasurements(unit="edge", thresholds=rising, degrees=degrees, edges=edges)
    found = GraphModel(card=CARD, measured=told)
    assert 20 <= found.nodes <= 30
    assert found.spread(seeds=2, rate=1, runs=40, seed=1).interval[1] is None


@pytest.mark.deep
def test_more_noise_is_a_wider_interval():
    def width(scale):
        told = measured(*blocky(sizes=size((150, 50), (300, 100)), inside=size(0.04, 0.02), outside=size(0.004, 0.002)))
        law = DiscreteLaplace(scale=Fraction(scale))
        noisy = {name: replace(getattr(told, name), law=law) for name in ("edges", "degrees", "by_block")}
        found = GraphModel(card=CARD, measured=replace(told, **noisy)).spread(rate="0.01", runs=size(20, 40), seed=1)
        return found.interval[1] - found.interval[0]

    assert width(60) > 1.3 * width(1)  # the same numbers, and more noise upon them


def test_intervals_go_by_rank():
    assert _interval([float(number) for number in range(1, 40)]) == (1.0, 39.0, 0.95)
    assert _interval([float(number) for number in range(1, 80)]) == (2.0, 78.0, 0.95)
    assert _interval([float(number) for number in range(1, 79)]) == (1.0, 78.0, 0.974)  # not 2 of 79 on each side
    assert _interval([1.0, float("inf")]) == (1.0, None, 0.333)
    assert _interval([1.0, 2.0], 3.0) == (1.0, 3.0, 0.333)


@pytest.mark.parametrize(
    "runs", [2, 4, pytest.param(20, marks=pytest.mark.deep), 39, pytest.param(80, marks=pytest.mark.deep)]
)
def test_the_confidence_counts_draws_of_noise_and_not_rumours(monkeypatch, runs):
    """Each is a measurement of its own; several rumours of one graph are not."""
    drawn, whole = [], rumours.simulate_measurements
    monkeypatch.setattr(rumours, "simulate_measurements", lambda *given: drawn.append(1) or whole(*given))
    found = model().spread(seeds=5, rate="0.5", runs=runs, seed=1)
    outside = 2 * max(1, (len(drawn) + 1) // 40)
    assert found.confidence == math.floor(1000 * (1 - Fraction(outside, len(drawn) + 1))) / 1000
    assert len(drawn) == runs and (found.confidence >= 0.95) == (runs >= 39)


@pytest.mark.parametrize("runs", [4, 20])
def test_the_interval_holds_the_next_rumour_where_noise_decides_all(monkeypatch, runs):
    """Rumours of a graph are all alike here, so that more than one of each would tell nothing more."""
    most, middle, now, found = 10**6, 5 * 10**5, {}, model()

    def noisy(told, fitted, generator):
        now["time"] = int(generator.integers(1, most + 1))
        return told

    def at_once(neighbours, *, seeds, rate, generator):
        knows = np.array([seeds, neighbours.nodes])
        return RumourHistory(steps=np.array([0, now["time"]]), informed=knows)

    pair = graph([(0, 1)], 100)
    monkeypatch.setattr(rumours, "simulate_measurements", noisy)
    monkeypatch.setattr(rumours, "fit_network", lambda told: found.fitted)
    monkeypatch.setattr(rumours, "sample_graph", lambda source, generator: pair)
    monkeypatch.setattr(rumours, "spread_rumour", at_once)
    held, times = [], size(120, 300)
    for seed in range(times):
        now["time"] = middle
        spread = found.spread(seeds=5, rate="0.5", runs=runs, seed=seed)
        low, high = spread.interval
        held.append((high - low + 1) / most)  # the chance of the next one to be inside
    assert np.mean(held) > spread.confidence - 5 * np.std(held) / times**0.5
    assert np.mean(held) < spread.confidence + 0.1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seeds": 0}, "seeds must be a whole number"),
        ({"seeds": "2.5"}, "seeds must be a whole number"),
        ({"seeds": 101}, "the model has 100 nodes"),
        ({"rate": -1}, "rate must be 0, or from 1e-06 to 1"),
        ({"rate": "1.5"}, "rate must be"),
        ({"rate": "1e-9"}, "rate must be"),
        ({"rate": "fast"}, "plain finite number"),
        ({"reach": 0}, "reach must be above 0"),
        ({"reach": 2}, "reach must be above 0"),
        ({"runs": 1}, "runs must be a whole number from 2"),
        ({"runs": 10**6}, "runs must be"),
        ({"seed": -1}, "the seed must be a whole number"),
        ({"seed": 1.5}, "the seed must be a whole number"),
    ],
)
def test_nonsense_is_a_sentence(wrong, said):
    with pytest.raises(UsageError, match=said):
        model().spread(**wrong)


def test_progress_is_told():
    seen = []
    model().spread(runs=3, progress=lambda word, done: seen.append((word, done)))
    assert [done for _, done in seen] == [pytest.approx(number / 5) for number in (1, 2, 3, 4, 5)]
