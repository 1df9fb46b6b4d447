"""How often intervals hold the exact number: at least as often as they say, by real noise. Thresholds of 1e-9."""

import itertools
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from scipy.stats import binom

from discreet.accounting.events import ReservationEvent
from discreet.engines.network.exact_graph import ExactGraph
from discreet.engines.network.projection import project
from discreet.engines.network.triangles import triangles, wedges
from discreet.graph import graph_estimates as refining
from discreet.graph import mixing_matrix, statistics_release
from discreet.graph.graph_shape import NAMES, shape_of
from discreet.graph.graph_source import GraphSource
from discreet.graph.graph_statistics import Mixing
from discreet.graph.mixing_matrix import assortativity, coefficient, simulate_noise
from discreet.graph.public_nodes import PublicNodes
from discreet.graph.statistic_parts import draw, statistic
from discreet.graph.statistics_release import estimates
from discreet.kernel.curator import Version
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from graph.friends import Bare
from tiers import size

#: By 200 too, intervals of a third of the width are missed in fewer than one of a thousand million runs.
TIMES = size(200, 400)
#: A correct build has fewer than this in one of a thousand million runs.
FEWEST = int(binom.ppf(1e-9, TIMES, 0.95))
PURE = ReservationEvent(epsilon=Fraction(2), rho=Fraction(2), delta=Fraction(0))
GAUSSIAN = ReservationEvent(epsilon=None, rho=Fraction(1, 2), delta=Fraction(0))
#: For ladders, whose intervals take long to work out: with little noise there are few different ones.
MUCH = ReservationEvent(epsilon=Fraction(20), rho=Fraction(200), delta=Fraction(0))
MUCH_GAUSSIAN = ReservationEvent(epsilon=None, rho=Fraction(30), delta=Fraction(0))
LADDERS = ("triangles", "wedges", "clustering")
OTHERS = tuple(name for name in NAMES if name not in (*LADDERS, "assortativity"))


def random_graph(nodes=60, links=240, *, directed=False):
    """One of groups that keep to themselves, with a hub."""
    generator = np.random.default_rng(7)
    found = {(0, other) for other in range(1, 30)}
    while len(found) < links:
        one, other = (int(each) for each in generator.integers(0, nodes, 2))
        if one != other and (one % 3 == other % 3 or generator.random() < 0.3):
            found.add((one, other) if directed else (min(one, other), max(one, other)))
    ends = np.array(sorted(found), dtype=np.int64)
    generator.shuffle(ends)
    return ExactGraph(ends[:, 0].copy(), ends[:, 1].copy(), exact_nodes=nodes, directed=directed)


def asked(graph, *, unit="edge", known=True, limit=None, only=None, counted=False):
    rows = 50_000_000 if limit is None else limit
    own = PrivacyUnit() if unit == "edge" else PrivacyUnit(ends=("from", "to"), rows=rows)
    schema = Schema(table="friends", columns=(), unit=own, directed=graph.directed)
    version = Version(table="friends", number=1, population="friends", schema=schema, file="")
    source = GraphSource(version=version, ends=("from", "to") if unit == "edge" else None, directed=graph.directed)
    groups = tuple(place % 3 for place in range(graph.exact_nodes))
    nodes = PublicNodes(
        table="people", key="id", keys=(), count=graph.exact_nodes, by="kind", labels=("a", "b", "c"), groups=groups
    )
    return shape_of(only, source, nodes if known and unit == "edge" else None, counted=counted), nodes.codes


def exact_numbers(graph, shape, codes, *, persons=None):
    """What is told, exactly: of the projection under node privacy."""
    kept = graph if shape.limit is None else project(graph, shape.limit)
    nodes, edges = graph.exact_nodes, kept.exact_from.size
    degrees = np.bincount(np.concatenate([kept.exact_from, kept.exact_to]), minlength=nodes)
    nodes = nodes if shape.nodes is not None else persons or int(np.count_nonzero(degrees))
    pairs = nodes * (nodes - 1) / (1 if graph.directed else 2)
    found = {"nodes": nodes, "edges": edges, "density": edges / pairs}
    found["mean_degree"] = edges * (1 if graph.directed else 2) / nodes
    if shape.unit == "edge":
        found |= {"triangles": triangles(graph), "wedges": wedges(graph)}
        found["clustering"] = 3 * found["triangles"] / found["wedges"]
        entries = Mixing(codes=codes, groups=3, directed=graph.directed).apply(graph)
        found["homophily"] = float(np.mean(codes[graph.exact_from] == codes[graph.exact_to]))
        found["assortativity"] = float(coefficient(entries.astype(float), 3, directed=graph.directed))
    return found


def holds(told, exact):
    return told.interval[0] - 1e-12 <= exact <= told.interval[1] + 1e-12


def covered(graph, shape, codes, event, *, times=TIMES, persons=None):
    """How many times each interval held."""
    exact = exact_numbers(graph, shape, codes, persons=persons)
    found = dict.fromkeys([*(name for name in exact if name in shape.statistics), "curves", "mixing"], 0)
    for _ in range(times):
        told = estimates(shape, draw(Bare(graph, event, persons=persons or 0), shape, codes))
        for name in found:
            if name in exact:
                found[name] += holds(told[name], exact[name])
        found["curves"] += all(inside(told[part], graph, shape, codes, part) for part in told if "degrees" in part)
        if "mixing" in told:
            entries = Mixing(codes=codes, groups=3, directed=graph.directed).apply(graph)
            found["mixing"] += holds(told["mixing"].edges[0][1], entries[1])
        else:
            found["mixing"] += 1
    return found


def inside(curve, graph, shape, codes, part):
    if part == "mean_degree":
        return True
    exact = statistic(part, shape, shape.limit, codes).apply(graph)
    assert all(one >= other for one, other in itertools.pairwise(curve.values))
    return bool(np.all(exact >= curve.lows) and np.all(exact <= curve.highs))


@pytest.mark.thin(2)
@pytest.mark.parametrize("event", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("directed", [False, True])
def test_of_edges_with_public_nodes(event, directed):
    graph = random_graph(directed=directed)
    shape, codes = asked(graph, only=OTHERS)
    found = covered(graph, shape, codes, event)
    assert min(found.values()) >= FEWEST, found


def test_of_edges_without_nodes():
    graph = random_graph()
    shape, codes = asked(graph, known=False, only=[name for name in OTHERS if name not in ("mixing", "homophily")])
    found = covered(graph, shape, codes, PURE)
    assert min(found.values()) >= FEWEST, found


@pytest.mark.deep  # those with public nodes stay
@pytest.mark.parametrize("event", [MUCH, MUCH_GAUSSIAN], ids=["laplace", "gaussian"])
def test_of_ladders(event):
    graph = random_graph()
    shape, codes = asked(graph, known=False, only=LADDERS)
    found = covered(graph, shape, codes, event)
    assert min(found.values()) >= FEWEST, found


def full(nodes=41):
    """Where an edge moves as many triangles, and wedges, as it ever can."""
    return joined(itertools.combinations(range(nodes), 2), nodes)


def star(nodes=41):
    return joined(((0, other) for other in range(1, nodes)), nodes)


def joined(pairs, nodes):
    ends = np.array(list(pairs), dtype=np.int64)
    return ExactGraph(ends[:, 0].copy(), ends[:, 1].copy(), exact_nodes=nodes)


@pytest.mark.thin(2)
@pytest.mark.parametrize("event", [MUCH, MUCH_GAUSSIAN], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("graph", [full(), star()], ids=["full", "star"])
def test_of_ladders_with_public_nodes(graph, event):
    """How far an edge moves a count is then known to be at most something, which these graphs come up to."""
    shape, codes = asked(graph, only=LADDERS)
    found = covered(graph, shape, codes, event)
    assert min(found.values()) >= FEWEST, found


def test_how_far_an_edge_moves_a_count_at_most(monkeypatch):
    """No further than public nodes allow, and so far in a full graph."""
    graph, told = full(), []
    whole = statistics_release.estimate_ladder_count
    monkeypatch.setattr(
        statistics_release,
        "estimate_ladder_count",
        lambda *given, **more: told.append(more["widest"]) or whole(*given, **more),
    )
    for known in (True, False):
        shape, codes = asked(graph, known=known, only=["triangles", "wedges"])
        estimates(shape, draw(Bare(graph, MUCH), shape, codes))
    widths = [int(statistic(f"{name}_width", shape, None, codes).apply(graph)[0]) for name in ("triangles", "wedges")]
    assert told == [*widths, None, None]


@pytest.mark.parametrize(
    ("name", "known", "noisy"),
    [
        ("clustering", True, 2),
        ("clustering", False, 2),
        ("density", False, 2),
        ("mean_degree", False, 2),
        ("density", True, 1),
        ("mean_degree", True, 1),
        ("edges", False, 1),
        ("wedges", False, 1),
    ],
)
def test_the_doubts_of_all_parts_of_a_number_add_to_its_own(monkeypatch, name, known, noisy):
    """A ratio holds where both its parts do: each has half of the doubt."""
    graph, told = random_graph(), []
    for part in ("estimate_ladder_count", "estimate_count"):
        whole = getattr(statistics_release, part)
        monkeypatch.setattr(
            statistics_release,
            part,
            lambda *given, whole=whole, **more: told.append(more["confidence"]) or whole(*given, **more),
        )
    shape, codes = asked(graph, known=known, only=[name])
    estimates(shape, draw(Bare(graph, MUCH), shape, codes))
    assert len(told) == noisy and sum(1 - each for each in told) == Fraction(1, 20) == 1 - refining.CONFIDENCE


@pytest.mark.thin(1)
@pytest.mark.parametrize("event", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_of_persons(event):
    graph = random_graph()
    for counted in (False, True):
        shape, codes = asked(graph, unit="node", limit=10, counted=counted)
        found = covered(graph, shape, codes, event, persons=70 if counted else None)
        assert min(found.values()) >= FEWEST, found


LAPLACE, NORMAL = DiscreteLaplace(scale=Fraction(12)), DiscreteGaussian(sigma2=Fraction(150))


@pytest.mark.parametrize(
    ("law", "alike", "edges"),
    [
        pytest.param(LAPLACE, 0.4, 20_000, marks=pytest.mark.deep),
        pytest.param(NORMAL, 0.999, 20_000, marks=pytest.mark.deep),
        pytest.param(LAPLACE, 0.02, 2_000, marks=pytest.mark.deep),
        (NORMAL, 0.4, 600),
        (LAPLACE, 0.999, 300),
    ],
)
def test_assortativity(monkeypatch, law, alike, edges):
    """With edges that drown in noise, and that do not; groups that mix, that do not, that only meet others.

    By 100 times too an interval of a third of the width is seen. The draws of an interval are kept: they are the same.
    """
    monkeypatch.setattr(mixing_matrix, "_NEAR", 2.0**-16)
    monkeypatch.setattr(mixing_matrix, "simulate_noise", lru_cache(maxsize=1)(mixing_matrix.simulate_noise))
    groups, bits, times = 4, system(), size(100, 250)
    within = np.eye(groups) * alike / groups + (1 - np.eye(groups)) * (1 - alike) / (groups * (groups - 1))
    square = np.rint(edges * within).astype(np.int64)
    entries = (square + square.T - np.diag(np.diag(square)))[np.triu_indices(groups)]
    exact = float(coefficient(entries.astype(float), groups, directed=False))
    draws = [entries + law.draw(entries.size, bits=bits) for _ in range(times)]
    held = sum(holds(assortativity(noisy, law, groups, directed=False), exact) for noisy in draws)
    assert held >= binom.ppf(1e-9, times, 0.95), held


def test_narrower_intervals_are_noticed(monkeypatch):
    """The tests above can fail: by intervals of a third of the width."""
    graph = random_graph()
    shape, codes = asked(graph, only=OTHERS)
    whole = refining.within
    monkeypatch.setattr(refining, "within", lambda value, half_width, **more: whole(value, half_width // 3, **more))
    found = covered(graph, shape, codes, PURE)
    assert found["edges"] < FEWEST and found["density"] < FEWEST
    monkeypatch.setattr("discreet.graph.mixing_matrix._DRAWS", 400)
    monkeypatch.setattr("discreet.graph.mixing_matrix.simulate_noise", lambda law, size: simulate_noise(law, size) / 3)
    with pytest.raises(AssertionError):
        test_assortativity(monkeypatch, LAPLACE, 0.4, 20_000)


def test_a_band_for_single_entries_is_too_narrow_for_a_curve(monkeypatch):
    graph = random_graph()
    shape, codes = asked(graph, only=["degrees"])
    exact = statistic("degrees", shape, None, codes).apply(graph)
    held = 0
    for _ in range(TIMES):
        drawn_ = draw(Bare(graph, PURE), shape, codes)
        held += bool(
            np.abs(drawn_.noisy["degrees"] - exact).max() <= drawn_.laws["degrees"].half_width(Fraction(95, 100))
        )
    assert held < FEWEST
