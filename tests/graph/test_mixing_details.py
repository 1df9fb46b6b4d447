"""Mixing by a private trait or by labels, where small graphs by chance do not look: orders, unknown ends, worst rows."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.accounting.events import ReservationEvent
from discreet.engines.network.edge_labels import edge_labels, label_pairs
from discreet.engines.network.exact_graph import ExactGraph
from discreet.errors import UsageError
from discreet.graph.graph_estimates import CONFIDENCE
from discreet.graph.graph_shape import GraphShape
from discreet.graph.graph_statistics import Edges, LabelMixing, TraitMixing, apply_statistics
from discreet.graph.statistic_parts import DrawnStatistics, laws
from discreet.graph.statistics_release import estimates
from discreet.mechanisms.laplace import DiscreteLaplace
from graph.test_private_trait import NODES, project_of


def graph_with(edges, traits, *, directed=False):
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return ExactGraph(
        ends[:, 0].copy(),
        ends[:, 1].copy(),
        exact_nodes=len(traits),
        directed=directed,
        exact_traits=np.array(traits, dtype=np.int64),
    )


def kept_by_entry(edges, traits, limit, entry):
    """Edges taken one by one in their order, those of each entry by themselves."""
    taken, kept = {}, {}
    for one, other in edges:
        here = entry(traits[one], traits[other])
        if here is None or max(taken.get((here, one), 0), taken.get((here, other), 0)) >= limit:
            continue
        for end in (one, other):
            taken[here, end] = taken.get((here, end), 0) + 1
        kept[here] = kept.get(here, 0) + 1
    return kept


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("alike", [False, True], ids=["matrix", "alike"])
def test_edges_of_an_entry_are_taken_in_their_order(directed, alike):
    """The proof needs the order that the table has: any other one follows from who else is there."""
    rng = np.random.default_rng(3)
    by_pair = directed and not alike
    cells = [(one, other) for one in range(3) for other in range(3) if by_pair or one <= other]

    def entry(one, other):
        if one < 0 or other < 0:
            return None
        if alike:
            return int(one != other)
        return (one, other) if directed else (min(one, other), max(one, other))

    for _ in range(60):
        every = list((itertools.permutations if directed else itertools.combinations)(range(8), 2))
        listed = [every[place] for place in rng.permutation(len(every))[: rng.integers(4, 28)]]
        traits, limit = rng.integers(-1, 3, 8).tolist(), int(rng.integers(1, 4))
        expected = kept_by_entry(listed, traits, limit, entry)
        kind = TraitMixing(groups=3, limit=limit, directed=by_pair, alike=alike)
        found = kind.apply(graph_with(listed, traits, directed=directed))
        assert found.tolist() == [expected.get(cell, 0) for cell in ([0, 1] if alike else cells)]


def test_a_release_of_edges_and_groups_does_not_project_the_groups_first():
    """Were the kept edges of all groups sorted, one person could replace every one of them."""
    star = [(0, leaf) for leaf in range(1, 7)]
    graph = graph_with(star, [0, 0, 0, 1, 1, 2, 2])
    mixing = TraitMixing(groups=3, limit=1)
    both = apply_statistics([Edges(limit=1), mixing], graph)
    assert both[0].tolist() == [1] and both[1].tolist() == mixing.apply(graph).tolist() == [1, 1, 1, 0, 0, 0]


def test_a_directed_network_of_persons(tmp_path):
    """Both directions have entries of their own, and noise for all that a person is part of."""
    rows = [("p0", "p1"), ("p1", "p0"), ("p0", "p2"), ("p4", "p3"), ("p6", "p5"), ("p8", "stranger")]
    project = project_of(tmp_path / "p", rows=rows, limit="rows_per_person = 8\ndirected = true", nodes=NODES)
    network = project.graph("ties", nodes="members", by="colour")
    assert network.plan(epsilon=1, only="mixing").laws["mixing"].scale == 5 * 8
    found = network.stats(epsilon=1000, only="mixing,homophily")
    assert [[each.value for each in row] for row in found.mixing.edges] == [[1, 3, 0], [1, 0, 0], [0, 0, 0]]
    assert found.homophily.value == 0.2


def labelled(rows, hashes):
    """A graph of rows (from < to, label, label) under hashes of its nodes that were drawn."""
    first, second, one, other = (np.array(each, dtype=np.int64) for each in zip(*rows, strict=True))
    first, second, one, other = label_pairs(first, second, (one, other), len(hashes))
    return ExactGraph(
        first, second, exact_nodes=len(hashes), exact_labels=edge_labels(first, second, one, other, hashes)
    )


def orders(nodes, count):
    generator = np.random.default_rng(11)
    return generator.integers(0, 2**63, (count, nodes)).astype(np.uint64)


@pytest.mark.parametrize("alike", [False, True], ids=["matrix", "alike"])
def test_a_new_edge_that_comes_first_at_both_its_ends(alike):
    """It drives out two of one entry and stands in another: 3 in sum and 5 in squares, no matter how small the limit."""
    kind, worst = LabelMixing(groups=2, limit=1, alike=alike), [0, 0]
    rows = [(0, 2, 0, 0), (1, 3, 0, 0)]
    for hashes in orders(4, 40):
        gap = np.abs(kind.apply(labelled(rows, hashes)) - kind.apply(labelled([*rows, (0, 1, 0, 1)], hashes)))
        worst = [max(worst[0], int(gap.sum())), max(worst[1], int((gap**2).sum()))]
    claim = kind.sensitivity("edge")
    assert worst == [claim.l1, claim.l2_squared] == [3, 5]


def test_a_label_that_is_taken_back_leaves_the_order_as_it_is():
    """Edges without labels have their places, too: were they last, a label of one node would let others in elsewhere."""
    leaves = range(1, 9)
    for limit, hashes in itertools.product((1, 2), orders(17, 20)):
        kind = LabelMixing(groups=2, limit=limit)
        known, unknown = (
            kind.apply(
                labelled(
                    [*((0, leaf, label, 0) for leaf in leaves), *((leaf, leaf + 8, 0, 1) for leaf in leaves)], hashes
                )
            )
            for label in (1, -1)
        )
        assert np.abs(known - unknown).sum() <= limit


def test_a_row_that_says_nothing_beside_one_that_does():
    """Rows are of one mind only if all of them say the same."""
    rows = [(0, 1, 0, 1), (0, 1, -1, 1), (1, 2, 0, 0), (1, 2, 0, 0), (2, 3, -1, -1)]
    assert LabelMixing(groups=2).apply(labelled(rows, orders(4, 1)[0])).tolist() == [1, 0, 0]


def test_the_interval_of_homophily_holds_whenever_both_counts_do():
    """At the corners of the box of 97.5% each, which together are 95%."""
    event = ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0))
    shape = GraphShape(
        statistics=("homophily",), unit="node", directed=False, shares={"homophily": Fraction(1)}, limit=2, by="c", labels=("a", "b")
    )  # fmt: skip
    law = laws(shape, event, 2, None)["homophily"]
    assert isinstance(law, DiscreteLaplace) and law.scale == 4
    far = law.half_width(1 - (1 - CONFIDENCE) / 2)
    for same, different in ((40, 60), (3, 200), (0, 9), (1_000, 0), (70, 71)):
        for signs in itertools.product((-far, 0, far), repeat=2):
            noisy = np.array([same + signs[0], different + signs[1]], dtype=np.int64)
            drawn = DrawnStatistics(limit=2, noisy={"homophily": noisy}, laws={"homophily": law}, ladders={})
            low, high = estimates(shape, drawn)["homophily"].interval
            assert low - 1e-12 <= same / (same + different) <= high + 1e-12


def test_an_attribute_on_a_server_that_is_gone_is_refused_before_it_is_paid_for(tmp_path):
    """What nodes are may lie elsewhere; if nobody can be reached there, a draw would fail after its charge."""
    project = project_of(tmp_path / "p")
    toml = tmp_path / "p" / "discreet.toml"
    elsewhere = 'person = "id"\nengine = "postgresql://nobody@localhost:1/none"'
    toml.write_text(toml.read_text().replace('person = "id"', elsewhere))
    project = discreet.open(tmp_path / "p")
    entries = len(list(project.ledger.entries()))
    network = project.graph("ties", nodes="members", by="colour")
    assert network.plan(epsilon=1, only="mixing")
    with pytest.raises(UsageError, match=r"cannot be reached|could not be made"):
        network.stats(epsilon=1, only="mixing")
    assert len(list(project.ledger.entries())) == entries
