"""What public facts say of an estimate: no more edges, triangles or digits than there can be; nodes there have to be."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.network.exact_graph import ExactGraph
from discreet.engines.network.triangles import triangles, wedges
from discreet.errors import UsageError
from discreet.graph import statistics_release
from discreet.graph.graph_card import warnings_of
from discreet.graph.graph_estimates import GraphEstimate, ratio, rounded, within
from discreet.graph.graph_statistics import Mixing
from discreet.graph.statistic_parts import DrawnStatistics, draw, ladders, laws
from discreet.graph.statistics_release import estimates
from graph.friends import Bare, make, make_persons
from graph.test_coverage import GAUSSIAN, PURE, asked, random_graph


def complete(nodes, *, directed=False):
    """The network that has everything it can."""
    one, other = np.nonzero(~np.eye(nodes, dtype=bool)) if directed else np.triu_indices(nodes, 1)
    return ExactGraph(one.astype(np.int64), other.astype(np.int64), exact_nodes=nodes, directed=directed)


def told(graph, shape, codes, *, beyond):
    """What is told of noisy numbers that went far beyond all there can be."""
    found = laws(shape, PURE, None, codes)
    noisy = {name: np.full(9, beyond, dtype=np.int64) for name in (*found, "triangles", "wedges")}
    size = Mixing(codes=codes, groups=3, directed=graph.directed).apply(graph).size
    noisy["mixing"] = np.full(size, beyond, dtype=np.int64)
    plans = ladders(shape, PURE)
    climbed = {part: plan.above(beyond) for part, plan in plans.items()}
    drawn = DrawnStatistics(limit=None, noisy=noisy, laws=found, ladders=climbed, plans=plans)
    return estimates(shape, drawn, codes)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("nodes", [1, 2, 3, 7])
def test_no_more_than_public_nodes_can_have(nodes, directed):
    graph = complete(nodes, directed=directed)
    shape, codes = asked(graph, only=["mixing", "triangles", "wedges"])
    found = told(graph, shape, codes, beyond=10**9)
    assert found["triangles"].interval[1] == found["triangles"].value == triangles(graph)
    assert found["wedges"].interval[1] == found["wedges"].value == wedges(graph)
    exact = np.zeros((3, 3), dtype=int)
    np.add.at(exact, (codes[graph.exact_from], codes[graph.exact_to]), 1)
    exact = exact if directed else exact + exact.T - np.diag(np.diag(exact))
    assert [[each.interval for each in row] for row in found["mixing"].edges] == [
        [(n, n) for n in row] for row in exact
    ]
    assert [[each.value for each in row] for row in found["mixing"].edges] == exact.tolist()


def test_without_public_nodes_there_is_no_such_limit():
    graph = complete(3)
    shape, codes = asked(graph, known=False, only=["triangles", "wedges"])
    found = told(graph, shape, codes, beyond=10**9)
    assert found["triangles"].value == found["wedges"].value == 10**9


@pytest.mark.parametrize("planned", [True, False])
def test_the_doubts_of_both_counts_of_clustering_add_up_to_its_own(monkeypatch, planned):
    doubts, estimate = [], statistics_release.estimate_ladder_count

    def seen(*given, confidence, **more):
        doubts.append(1 - confidence)
        return estimate(*given, confidence=confidence, **more)

    monkeypatch.setattr(statistics_release, "estimate_ladder_count", seen)
    shape, codes = asked(complete(7), only=["mixing", "clustering"])
    told(complete(7), replace(shape, planned=planned), codes, beyond=10)
    assert sum(doubts) == Fraction(1, 20) and doubts[0] == (3 if planned else 1) * doubts[1]  # triangles, then wedges


@pytest.mark.parametrize("event", [PURE, GAUSSIAN], ids=["laplace", "gaussian"])
def test_a_full_network_is_held_as_often_as_before(event):
    """Where everything is at its limit, cutting an interval there loses nothing."""
    graph = complete(12)
    shape, codes = asked(graph, only=["mixing"])
    exact = Mixing(codes=codes, groups=3).apply(graph)
    for _ in range(200):
        drawn = draw(Bare(graph, event), shape, codes)
        whole, cut = estimates(shape, drawn)["mixing"].edges, estimates(shape, drawn, codes)["mixing"].edges
        for one in range(3):
            for other in range(3):
                before, after = whole[one][other].interval, cut[one][other].interval
                true = exact[Mixing(codes=codes, groups=3).pairs.index((min(one, other), max(one, other)))]
                assert after[0] <= true <= after[1] or not before[0] <= true <= before[1]
                assert after[1] <= true <= 16


def test_a_value_is_not_rounded_away():
    found = ratio(
        GraphEstimate(value=809, interval=(489, 1129)), GraphEstimate(value=222, interval=(0, 474)), times=2.0
    )
    assert found.value == 7.3
    assert found.interval[0] <= 2 * 489 / 474 and found.interval[1] >= 2 * 1129


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (0.0, 0.0, 31.7, 0.0),
        (0.4, 0.0, 2400.0, 0.4),
        (1.0, 0.25, 1.0, 1.0),
        (0.999996, 0.5, 1.0, 1.0),  # no seven digits because 1 is near
        (0.123456, 0.1234559999, 1.0, 0.1235),
        (-0.41237, -1.0, -0.38, -0.412),
        (123456.0, 123455.5, 123456.5, 123456.0),
        (3.0, 3.0, 3.0, 3.0),
    ],
)
def test_digits_come_from_the_nearer_end(value, low, high, shown):
    found = rounded(value, low, high)
    assert found.value == shown
    assert found.interval[0] <= low + 1e-9 and found.interval[1] >= high - 1e-9
    assert len(str(found.interval[0])) < 12 and len(str(found.interval[1])) < 12


def test_rounding_keeps_the_interval():
    generator = np.random.default_rng(5)
    for _ in range(2000):
        low, value, high = sorted(float(each) for each in generator.standard_cauchy(3))
        found = rounded(value, low, high)
        slack = 1e-8 * (high - low)
        assert found.interval[0] <= low + slack and high - slack <= found.interval[1]
        assert abs(found.value - value) <= max(abs(value) / 1000, high - low)


def test_counts_are_cut_to_the_limit():
    assert within(40, 10, most=21) == GraphEstimate(value=21, interval=(21, 21))
    assert within(20, 10, most=21) == GraphEstimate(value=20, interval=(10, 21))


def test_an_empty_public_table_is_named(tmp_path):
    project = make(tmp_path, nodes=[])
    for key in (None, "id"):
        with pytest.raises(UsageError, match="public table 'people' has no rows") as caught:
            project.graph("friends", nodes="people", key=key)
        assert "--nodes" in caught.value.hint


def test_whom_the_limit_leaves_an_edge(tmp_path):
    """A star: of 40 persons a limit of 2 leaves 3 an edge, and nodes are those."""
    project = make_persons(tmp_path, rows=[("hub", f"p{place}") for place in range(40)], limit="rows_per_person = 2")
    found = project.graph("ties").stats(epsilon=60, only="nodes")
    assert abs(found.nodes.value - 3) <= 3
    assert any("left without one by the limit, are not counted" in each for each in found.warnings)
    of_all = project.graph("ties", nodes="members").stats(epsilon=60, only="nodes,edges")
    assert not any("are not counted: to count them" in each for each in of_all.warnings)
    graph = random_graph()
    shape, _ = asked(graph, known=False, only=["nodes"])
    assert any(each.startswith("nodes without an edge are not counted") for each in warnings_of(shape, None, None))
