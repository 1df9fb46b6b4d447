"""How far statistics of a graph move: every graph of up to six nodes, and builds that are broken on purpose.

Edges as the unit: every graph, with and without every edge. Nodes as the unit: every graph in every order of its edges
for up to four nodes, in many orders for five and six, with and without every node. No move may exceed the claim, and
some move must reach it.
"""

import itertools

import numpy as np
import pytest

from discreet.graph.graph_statistics import (
    AtLeast,
    Edges,
    LargestCommon,
    LargestDegrees,
    Mixing,
    TouchedNodes,
    Triangles,
    Wedges,
    apply_statistics,
    degrees,
)
from graph.every import at_least, edges_of, exact_graph, graphs, pairs, projected, shapes, without
from tiers import size

CODES = np.array([0, 1, 2, 0, 1, 0])


class Moves:
    """The largest move of a vector that was seen, in each norm."""

    def __init__(self):
        self.l0 = self.l1 = self.l2_squared = self.linf = 0

    def see(self, one, other):
        moved = np.abs(one - other)
        self.l0 = max(self.l0, int(np.count_nonzero(moved)))
        self.l1 = max(self.l1, int(moved.sum()))
        self.l2_squared = max(self.l2_squared, int((moved**2).sum()))
        self.linf = max(self.linf, int(moved.max(initial=0)))

    def assert_is(self, claim):
        """As far as is claimed, in every norm, and no further."""
        seen = (self.l0, self.l1, self.l2_squared, self.linf)
        assert seen == (claim.l0, claim.l1, claim.l2_squared, claim.linf)


def with_and_without_an_edge(nodes, kinds, *, directed=False, stride=1):
    """Every graph of up to five nodes, and every shape of six: its values, and those with one more edge.

    In the fast tier every shape of five too.
    """
    every = graphs(nodes, directed=directed) if nodes < size(5, 6) else shapes(nodes)
    for edges in itertools.islice(every, 0, None, stride):
        here = [kind.apply(exact_graph(edges, nodes, directed=directed)) for kind in kinds]
        for more in pairs(nodes, directed=directed):
            if more not in edges:
                graph = exact_graph([*edges, more], nodes, directed=directed)
                yield here, [kind.apply(graph) for kind in kinds]


class TestEdgesAsTheUnit:
    def test_statistics(self):
        kinds = [
            Edges(),
            AtLeast(thresholds=(1, 2, 3, 4, 5)),
            AtLeast(thresholds=(2, 4)),
            TouchedNodes(),
            LargestCommon(),
            LargestDegrees(),
        ]
        moves = [Moves() for _ in kinds]
        for nodes in (2, 3, 4, 5, 6):
            for here, there in with_and_without_an_edge(nodes, kinds):
                for move, one, other in zip(moves, here, there, strict=True):
                    move.see(one, other)
        for kind, move in zip(kinds, moves, strict=True):
            move.assert_is(kind.sensitivity("edge"))

    @pytest.mark.parametrize("nodes", [4, 6])
    def test_public_groups(self, nodes):
        codes = CODES[:nodes]
        kinds = [Mixing(codes=codes, groups=3), AtLeast(thresholds=(1, 2, 4), codes=codes, groups=3)]
        moves = [Moves() for _ in kinds]
        for here, there in with_and_without_an_edge(nodes, kinds):
            for move, one, other in zip(moves, here, there, strict=True):
                move.see(one, other)
        for kind, move in zip(kinds, moves, strict=True):
            move.assert_is(kind.sensitivity("edge"))

    def test_directed(self):
        kinds = [
            Edges(),
            AtLeast(thresholds=(1, 2, 3), direction="in"),
            AtLeast(thresholds=(1, 2, 3), direction="out"),
            AtLeast(thresholds=(1, 2, 3)),
            Mixing(codes=CODES[:4], groups=3, directed=True),
            TouchedNodes(),
            LargestCommon(),
        ]
        moves = [Moves() for _ in kinds]
        for nodes in (3, 4):
            chosen = kinds if nodes == 4 else [kind for kind in kinds if not isinstance(kind, Mixing)]
            found = [move for kind, move in zip(kinds, moves, strict=True) if kind in chosen]
            stride = 1 if nodes == 3 else size(35, 7)
            for here, there in with_and_without_an_edge(nodes, chosen, directed=True, stride=stride):
                for move, one, other in zip(found, here, there, strict=True):
                    move.see(one, other)
        for kind, move in zip(kinds, moves, strict=True):
            move.assert_is(kind.sensitivity("edge"))

    @pytest.mark.parametrize("kind", [Triangles(), Wedges()], ids=["triangles", "wedges"])
    @pytest.mark.parametrize("directed", [False, True])
    def test_what_a_ladder_asks_for(self, kind, directed):
        """The value moves by at most the smaller first rung, which moves by at most a step. Both are reached."""
        slack, steps = [], set()
        for nodes in (3,) if directed else (3, 4, 5, 6):
            for here, there in with_and_without_an_edge(nodes, [kind], directed=directed):
                (value, first), (other, other_first) = here[0].tolist(), there[0].tolist()
                slack.append(min(first, other_first) - abs(value - other))
                steps.add(abs(first - other_first))
        assert min(slack) == 0
        assert max(steps) == kind.step

    def test_common_neighbours_of_the_ends_of_edges_alone_are_too_few(self):
        """A mutant: two nodes without an edge count too, for it may come."""
        path = [(0, 1), (1, 2)]
        assert Triangles().apply(exact_graph(path, 3)).tolist() == [0, 1]
        assert Triangles().apply(exact_graph([*path, (0, 2)], 3)).tolist() == [1, 1]


def orders(edges, rng):
    """Every order of up to six edges; else some."""
    if len(edges) <= 6:
        return list(itertools.permutations(edges))
    return [[edges[place] for place in rng.permutation(len(edges))] for _ in range(12)]


def with_and_without_a_node(limit, rng, values):
    """Every shape of up to six nodes in its orders: `values` of it, and without each node.

    Fewer orders in the fast tier: a move as large as any is among them.
    """
    for nodes in (2, 3, 4, 5, 6):
        for shape in shapes(nodes):
            some = orders(shape, rng)
            places = rng.integers(0, len(some), size(3, 12))
            for order in some[:: size(5, 1)] if nodes < 5 else [some[place] for place in places]:
                here = values(list(order), limit, nodes)
                for node in range(nodes):
                    yield here, values(without(order, node), limit, nodes)


def released(edges, limit, nodes):
    """What is counted under node privacy, by the code that counts it."""
    kinds = [Edges(limit=limit), AtLeast(thresholds=tuple(range(1, limit + 1)), limit=limit)]
    return apply_statistics(kinds, exact_graph(edges, nodes))


class TestNodesAsTheUnit:
    @pytest.mark.thin(1)
    @pytest.mark.parametrize("limit", [2, 1, 3])
    def test_the_projection(self, limit):
        edges, entries = Moves(), Moves()
        single = [Moves() for _ in range(limit)]
        for here, there in with_and_without_a_node(limit, np.random.default_rng(limit), released):
            edges.see(here[0], there[0])
            entries.see(here[1], there[1])
            for place, move in enumerate(single):
                move.see(here[1][[place]], there[1][[place]])
        edges.assert_is(Edges(limit=limit).sensitivity("node"))
        entries.assert_is(AtLeast(thresholds=tuple(range(1, limit + 1)), limit=limit).sensitivity("node"))
        for place, move in enumerate(single):
            claim = AtLeast(thresholds=(place + 1,), limit=limit).sensitivity("node")
            assert move.l1 <= claim.l1 == limit + 1
        single[0].assert_is(AtLeast(thresholds=(1,), limit=limit).sensitivity("node"))

    @pytest.mark.thin(1)
    @pytest.mark.parametrize("limit", [1, 2])
    def test_directed(self, limit):
        """An edge and the one back are two. Every graph on three nodes, in every order (the fast tier: a third)."""
        kinds = [Edges(limit=limit), AtLeast(thresholds=tuple(range(1, limit + 1)), limit=limit)]
        moves = [Moves(), Moves()]
        for edges in graphs(3, directed=True):
            for order in itertools.islice(itertools.permutations(edges), 0, None, size(3, 1)):
                here = apply_statistics(kinds, exact_graph(order, 3, directed=True))
                for node in range(3):
                    there = apply_statistics(kinds, exact_graph(without(order, node), 3, directed=True))
                    for move, one, other in zip(moves, here, there, strict=True):
                        move.see(one, other)
        for kind, move in zip(kinds, moves, strict=True):
            claim = kind.sensitivity("node")
            assert (move.l1, move.l2_squared) == (claim.l1, claim.l2_squared)

    @pytest.mark.parametrize("limit", [1, 2, 5, 40])
    def test_a_star_reaches_the_claims(self, limit):
        """So no smaller one is true: neither limit - 1 edges nor 2 limit - 1 entries."""
        star = [(0, leaf) for leaf in range(1, limit + 1)]
        (edges, entries), (no_edges, no_entries) = (released(some, limit, limit + 1) for some in (star, []))
        assert (edges - no_edges).sum() == limit == Edges(limit=limit).sensitivity("node").l1
        claim = AtLeast(thresholds=tuple(range(1, limit + 1)), limit=limit).sensitivity("node")
        assert (entries - no_entries).sum() == 2 * limit == claim.l1
        assert ((entries - no_entries) ** 2).sum() == claim.l2_squared


class TestMutants:
    """Projections that look alike and break the bound."""

    def worst(self, values, limit):
        edges, entries = Moves(), Moves()
        for here, there in with_and_without_a_node(limit, np.random.default_rng(7), values):
            edges.see(here[0], there[0])
            entries.see(here[1], there[1])
        return edges.l1, entries.l1

    def test_the_twin_itself_is_within(self):
        assert self.worst(lambda edges, limit, nodes: _numbers(projected(edges, limit), limit, nodes), 2) == (2, 4)

    def test_truncation_node_by_node(self):
        """Each node keeps its first edge, and an edge is kept where both ends keep it: one node takes away all others'."""
        matching = [(node, node + 1) for node in range(1, 9, 2)]
        hub = [(0, node) for node in range(1, 9)]

        def truncated(edges):
            first = [next((edge for edge in edges if node in edge), None) for node in range(9)]
            return _numbers([edge for edge in edges if all(first[end] == edge for end in edge)], 1, 9)

        (edges, entries), (fewer, fewer_entries) = truncated([*hub, *matching]), truncated(matching)
        assert abs(edges - fewer) == 3 > Edges(limit=1).sensitivity("node").l1
        assert abs(entries - fewer_entries) == 6 > AtLeast(thresholds=(1,), limit=1).sensitivity("node").l1

    def test_an_order_by_position(self):
        """Edges in an order that depends on where they stand among all, so that a node shifts the others."""

        def shifted(edges, limit, nodes):
            keys = np.random.default_rng(3).permutation(64)  # the same at every call: one for each position
            order = sorted(range(len(edges)), key=lambda position: keys[position])
            return _numbers(projected([edges[position] for position in order], limit), limit, nodes)

        edges, entries = self.worst(shifted, 1)
        assert edges > 1
        assert entries > 2

    def test_persons_erased_from_a_projection(self):
        """Who is forgotten must be gone before the projection, not after it.

        Two persons, 3 and 6, are erased from kept edges; then person 0 moves the entries by 6, where 4 is claimed.
        """
        first = [(1, 9), (2, 10), (6, 4), (6, 5)]
        edges = [*first, (0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 7), (5, 8)]
        claim = AtLeast(thresholds=(1, 2), limit=2).sensitivity("node")

        def erased(some):
            return at_least(without(without(projected(some, 2), 3), 6), 2, 11)

        def forgotten(some):
            return at_least(projected(without(without(some, 3), 6), 2), 2, 11)

        assert np.abs(erased(edges) - erased(without(edges, 0))).sum() == 6 > claim.l1
        assert np.abs(forgotten(edges) - forgotten(without(edges, 0))).sum() <= claim.l1

    def test_the_set_of_kept_edges_is_not_stable(self):
        """On a path of 41 edges with a limit of 1, one more node replaces every kept edge."""
        path = [(node, node + 1) for node in range(41)]
        kept = projected(path, 1)
        more = projected([(42, 0), *path], 1)
        assert len(kept) == len(more) == 21
        assert not set(kept) & set(more)
        codes = np.arange(43) // 2 % 2  # kept edges lie within a group, or between two: all entries move
        mixing = [Mixing(codes=codes, groups=2).apply(exact_graph(some, 43)) for some in (kept, more)]
        assert np.abs(mixing[0] - mixing[1]).sum() > 40


def _numbers(kept, limit, nodes):
    """Their number, and how many nodes have k of them or more."""
    return np.array([len(kept)]), at_least(kept, limit, nodes)


class TestWhatIsRefused:
    """No claim where there is no proof."""

    CODES = np.array([0, 1])

    @pytest.mark.parametrize(
        ("statistic", "unit"),
        [
            (Edges(), "node"),
            (AtLeast(thresholds=(1,)), "node"),
            (AtLeast(thresholds=(1,), limit=2, direction="in"), "node"),
            (AtLeast(thresholds=(1,), limit=2, codes=CODES, groups=2), "node"),
            (Mixing(codes=CODES, groups=2), "node"),
            (TouchedNodes(), "node"),
            (LargestCommon(), "node"),
            (LargestDegrees(), "node"),
            (Edges(limit=3), "edge"),
            (AtLeast(thresholds=(1,), limit=3), "edge"),
        ],
    )
    def test_units(self, statistic, unit):
        with pytest.raises(ValueError):
            statistic.sensitivity(unit)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: Edges(limit=0),
            lambda: AtLeast(thresholds=()),
            lambda: AtLeast(thresholds=(0, 1)),
            lambda: AtLeast(thresholds=(2, 2)),
            lambda: AtLeast(thresholds=(1, 4), limit=3),
            lambda: AtLeast(thresholds=(1,), groups=2),
            lambda: Mixing(codes=np.array([0, 2]), groups=2),
            lambda: Mixing(codes=np.array([-1, 0]), groups=2),
        ],
    )
    def test_statistics_that_make_no_sense(self, make):
        with pytest.raises(ValueError):
            make()

    def test_graphs_that_do_not_fit(self):
        graph = exact_graph([(0, 1)], 3)
        with pytest.raises(ValueError):
            Mixing(codes=self.CODES, groups=2).apply(graph)
        with pytest.raises(ValueError):
            Mixing(codes=np.zeros(3, dtype=np.int64), groups=1, directed=True).apply(graph)
        with pytest.raises(ValueError):
            degrees(graph, "in")


class TestValues:
    EDGES = ((0, 1), (1, 0), (1, 2), (3, 1))

    def test_degrees(self):
        graph = exact_graph(self.EDGES, 5, directed=True)
        assert degrees(graph).tolist() == [2, 4, 1, 1, 0]
        assert degrees(graph, "in").tolist() == [1, 2, 1, 0, 0]
        assert degrees(graph, "out").tolist() == [1, 2, 0, 1, 0]
        assert AtLeast(thresholds=(1, 2, 4, 9)).apply(graph).tolist() == [4, 2, 1, 0]
        assert TouchedNodes().apply(graph).tolist() == [4]
        grouped = AtLeast(thresholds=(1, 2), codes=np.array([0, 1, 0, 0, 1]), groups=2).apply(graph)
        assert grouped.tolist() == [3, 1, 1, 1]

    def test_mixing(self):
        graph = exact_graph(self.EDGES, 5, directed=True)
        codes = np.array([0, 1, 2, 0, 1])
        one_way = Mixing(codes=codes, groups=3, directed=True)
        assert dict(zip(one_way.pairs, one_way.apply(graph).tolist(), strict=True)) == {
            **dict.fromkeys(itertools.product(range(3), repeat=2), 0),
            (0, 1): 2,
            (1, 0): 1,
            (1, 2): 1,
        }
        both = Mixing(codes=codes, groups=3)
        assert both.pairs == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        assert both.apply(graph).tolist() == [0, 3, 0, 0, 1, 0]

    def test_a_projection_is_made_once(self):
        graph = exact_graph([(0, 1), (0, 2), (0, 3), (2, 3)], 4)
        kinds = [Edges(limit=1), Edges(limit=2), AtLeast(thresholds=(1,), limit=1)]
        assert [values.tolist() for values in apply_statistics(kinds, graph)] == [[2], [3], [4]]
        assert [values.tolist() for values in (kind.apply(graph) for kind in kinds)] == [[2], [3], [4]]
        assert edges_of(graph)[0] == (0, 1)

    def test_data_tell_statistics_apart(self):
        codes = np.array([0, 1])
        found = [
            Edges(),
            Edges(limit=2),
            AtLeast(thresholds=(1,)),
            AtLeast(thresholds=(1,), limit=2),
            AtLeast(thresholds=(1,), direction="in"),
            AtLeast(thresholds=(1,), codes=codes, groups=2),
            AtLeast(thresholds=(1,), codes=codes[::-1], groups=2),
            Mixing(codes=codes, groups=2),
            Mixing(codes=codes[::-1], groups=2),
            Mixing(codes=codes, groups=2, directed=True),
            TouchedNodes(),
            LargestCommon(),
            LargestDegrees(),
            Triangles(),
            Wedges(),
        ]
        data = [str(statistic.to_data()) for statistic in found]
        assert len(set(data)) == len(data)
