"""Every graph of up to six nodes, in every order of its edges: how far one edge, one person and one label move things.

Why this is all of them. Every graph in every order of its edges is the beginning of an order of the edges of the
complete graph: so a walk over the orders of that one graph, which stops anywhere, meets them all. Of two orders that lead
to the same counts, and leave the same edges to come, one is enough: so the walk has few places. Nodes have no names, so
one node that goes stands for any. Traits: the graph of each entry is counted by itself, and orders of two entries mix in
any way, so what one node moves at most is the sum over entries of what it moves at most in each. These walks leave names
out as well, so they reach six nodes with edges in both directions in either tier.

That the code counts what is walked over here is a test of its own: one graph of each shape and colouring, by its code.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.graph.graph_statistics import AtLeast, Edges, LabelMixing, TraitMixing, Triangles, Wedges
from discreet.mechanisms.ladder_plan import LadderPlan
from graph.every import coloured_shapes, exact_graph, pairs, projected, shapes, without
from graph.test_edge_labels import graph_of, rows_of
from graph.test_private_trait import Worst, with_traits
from mechanisms.test_floored_ladder import worst_loss
from tiers import size

#: Nodes of the largest graphs.
MOST = size(5, 6)


class Walk:
    """All graphs of some edges, in all orders: what a projection keeps with one node, and without it.

    `places` are pairs of kept degrees, with and without; `gaps` how many more edges are kept with the node.
    """

    def __init__(self, edges, limit, node, nodes, *, ends=slice(2)):
        start = (0, (0,) * nodes, (0,) * nodes, 0)
        seen, open_ = {start}, [start]
        while open_:
            used, more, less, gap = open_.pop()
            for number, edge in enumerate(edges):
                kept = all(more[end] < limit for end in edge[ends])
                kept_less = node not in edge and all(less[end] < limit for end in edge[ends])
                # one that neither run keeps now is kept by neither later: degrees only grow
                if used >> number & 1 or not (kept or kept_less):
                    continue
                state = (
                    used | 1 << number,
                    _raised(more, *edge) if kept else more,
                    _raised(less, *edge) if kept_less else less,
                    gap + kept - kept_less,
                )
                if state not in seen:
                    seen.add(state)
                    open_.append(state)
        self.gaps = {gap for *_, gap in seen}
        self.places = {(more, less) for _, more, less, _ in seen}

    @property
    def most(self):
        return max(abs(gap) for gap in self.gaps)


def places_without_names(edges, limit, node, colours):
    """The `places` of `Walk(edges, limit, node, len(colours))`, one of those that differ by names alone. Far fewer steps.

    Because: an edge that neither run would keep now never is kept again, so whether it came is of no matter, and the two
    directions of a pair do the same. So what matters is both runs' degrees, and how often each pair has come that
    either run would still keep. Nodes of one colour have the same edges to come, so their names are of no matter, but
    for the node that goes: of places that differ by names, one is enough. (`_named` finds the same names for most of
    them; that it misses some costs time alone.) `edges` are all of some pairs of colours; colours are in order.
    """
    times = Counter(tuple(sorted(edge)) for edge in edges)
    kinds = [(colour, place != node) for place, colour in enumerate(colours)]
    start = ((0,) * len(colours), (0,) * len(colours), ())
    seen, open_ = {start}, [start]
    while open_:
        more, less, came = open_.pop()
        came = dict(came)
        for pair, ways in times.items():
            kept = all(more[end] < limit for end in pair)
            kept_less = node not in pair and all(less[end] < limit for end in pair)
            if came.get(pair, 0) == ways or not (kept or kept_less):
                continue
            degrees = (_raised(more, *pair) if kept else more, _raised(less, *pair) if kept_less else less)
            state = _named(*degrees, came | {pair: came.get(pair, 0) + 1}, limit, node, kinds)
            if state not in seen:
                seen.add(state)
                open_.append(state)
    return {(more, less) for more, less, _ in seen}


def most_moved(places):
    """How many more edges one run keeps: half of what its degrees are more."""
    return max(abs(sum(more) - sum(less)) // 2 for more, less in places)


def _named(more, less, came, limit, node, kinds):
    """A place with its nodes in an order of what is known of each, and without the pairs that neither run would keep."""
    room = [(more[each] < limit, less[each] < limit) for each in range(len(kinds))]
    live = {
        (a, b): times
        for (a, b), times in came.items()
        if (room[a][0] and room[b][0]) or (node not in (a, b) and room[a][1] and room[b][1])
    }
    marks = [(kind, more[each], less[each]) for each, kind in enumerate(kinds)]
    for _ in range(2):
        around = [[] for _ in kinds]
        for (a, b), times in live.items():
            around[a].append((times, marks[b]))
            around[b].append((times, marks[a]))
        marks = [(mark, tuple(sorted(near))) for mark, near in zip(marks, around, strict=True)]
    # kinds come first in a mark: as nodes of one kind are neighbours in numbers, each gets a place of its own kind
    order = sorted(range(len(kinds)), key=marks.__getitem__)
    name = {each: place for place, each in enumerate(order)}
    renamed = sorted((*sorted((name[a], name[b])), times) for (a, b), times in live.items())
    return (
        tuple(more[each] for each in order),
        tuple(less[each] for each in order),
        tuple(((a, b), times) for a, b, times in renamed),
    )


def _raised(degrees, one, other):
    return tuple(degree + (node in (one, other)) for node, degree in enumerate(degrees))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_one_person_and_the_projection(limit):
    """Edges and degrees: the claims hold in every order of every graph, and are reached."""
    edges, curve = Worst(), Worst()
    for nodes in range(2, MOST + 1):
        walk = Walk(pairs(nodes), limit, 0, nodes)
        for gap in walk.gaps:
            edges.see(np.array([gap]), np.array([0]))
        for more, less in walk.places:
            counts = (np.array([sum(d >= k for d in each) for k in range(1, limit + 1)]) for each in (more, less))
            curve.see(*counts)
    for worst, kind in ((edges, Edges(limit=limit)), (curve, AtLeast(thresholds=range(1, limit + 1), limit=limit))):
        claim = kind.sensitivity("node")
        assert worst.within(claim) and (worst.l1, worst.l2_squared) == (claim.l1, claim.l2_squared)


def colourings(nodes, groups):
    """How many nodes each group has: nodes of one group are alike."""
    return [
        counts for counts in itertools.product(range(nodes + 1), repeat=groups) if sum(counts) == nodes and counts[0]
    ]


@pytest.mark.parametrize("alike", [False, True], ids=["matrix", "alike"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("limit", [1, 2])
def test_one_person_and_a_private_trait(limit, groups, directed, alike):
    """Node 0 goes, and is of the first group: groups are alike. Directed edges go both ways, and are of two entries.

    A node of unknown trait has no edge in any entry: that is a graph of one node less.
    """
    kind = TraitMixing(groups=groups, limit=limit, directed=directed and not alike, alike=alike)
    reached, claim = Worst(), kind.sensitivity("node")
    for counts in colourings(6, groups):
        traits, entries = entries_of(counts, directed=directed, alike=alike)
        moved = [most_moved(places_without_names(edges, limit, 0, traits)) for edges in entries]
        reached.see(np.array(moved), np.zeros(len(moved), dtype=np.int64))
    assert reached.within(claim) and reached.linf == limit
    assert reached.l1 == claim.l1 or (limit, groups, directed) != (1, 2, False)


@pytest.mark.parametrize("alike", [False, True], ids=["matrix", "alike"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_places_without_names_are_all_places(limit, directed, alike):
    """On the graphs that the walk with names can do, too: the same places, but for names."""
    for nodes, groups in itertools.product(range(2, 5 if directed else 6), (1, 2, 3)):
        for counts in colourings(nodes, groups):
            traits, entries = entries_of(counts, directed=directed, alike=alike)
            for edges in entries:
                walk, places = Walk(edges, limit, 0, nodes), places_without_names(edges, limit, 0, traits)
                named = [{_nameless(traits, *place) for place in each} for each in (walk.places, places)]
                assert named[0] == named[1] and walk.most == most_moved(places)


def _nameless(traits, more, less):
    return tuple(sorted((trait, node == 0, more[node], less[node]) for node, trait in enumerate(traits)))


def entries_of(counts, *, directed, alike):
    """The traits of nodes, and the edges that each entry counts."""
    traits = [group for group, count in enumerate(counts) for _ in range(count)]
    entries = {}
    for edge in pairs(len(traits), directed=directed):
        ends = tuple(traits[end] for end in edge)
        entry = ends[0] == ends[1] if alike else ends if directed else tuple(sorted(ends))
        entries.setdefault(entry, []).append(edge)
    return traits, list(entries.values())


class TestTheCode:
    """What the code counts is what the walks are over: each shape with each colouring once, in some orders."""

    @pytest.mark.parametrize("limit", [1, 2])
    def test_traits(self, limit):
        rng = np.random.default_rng(limit)
        kinds = [TraitMixing(groups=2, limit=limit, alike=alike) for alike in (False, True)]
        worst = [Worst() for _ in kinds]
        for traits, shape in _coloured((0, 1), stride=size(29, 1)):
            order = [shape[place] for place in rng.permutation(len(shape))]
            here = [kind.apply(with_traits(order, traits)) for kind in kinds]
            assert [each.tolist() for each in here] == [_kept(order, traits, limit, alike) for alike in (False, True)]
            for node in range(len(traits)):
                less = [-1 if place == node else trait for place, trait in enumerate(traits)]
                for kind, values, move in zip(kinds, here, worst, strict=True):
                    move.see(values, kind.apply(with_traits(without(order, node), less)))
                    # an unknown trait is a node without edges
                    assert (
                        kind.apply(with_traits(order, less)) == kind.apply(with_traits(without(order, node), less))
                    ).all()
        for kind, move in zip(kinds, worst, strict=True):
            assert move.within(kind.sensitivity("node")) and move.linf == limit

    def test_labels(self):
        """The label of one node is another in all its rows, or unknown: every shape and colouring, unknown ones too."""
        kinds = [LabelMixing(groups=2, limit=limit, alike=alike) for limit in (1, 2) for alike in (False, True)]
        worst = [Worst() for _ in kinds]
        for traits, shape in _coloured((-1, 0, 1), stride=size(701, 1)):
            if traits.count(0) > traits.count(1):  # the same with its groups exchanged
                continue
            graph = graph_of(rows_of(shape, traits), len(traits))
            here = [kind.apply(graph) for kind in kinds]
            for node, label in itertools.product(range(len(traits)), (0, 1)):
                if label > traits[node]:  # the other way round is the same two
                    other = [label if place == node else trait for place, trait in enumerate(traits)]
                    there = graph_of(rows_of(shape, other), len(traits))
                    for kind, values, move in zip(kinds, here, worst, strict=True):
                        move.see(values, kind.apply(there))
        for kind, move in zip(kinds, worst, strict=True):
            assert move.within(kind.sensitivity("edge"))
            assert move.l1 == 2 * kind.limit or size(True, False)


def _coloured(colours, *, stride):
    """Every colouring of up to six nodes with every shape."""
    found = 0
    for nodes in range(2, 7):
        for traits in itertools.combinations_with_replacement(colours, nodes):
            if nodes == 6 and size(traits.count(0) != 3, False):  # making shapes of six nodes takes a while
                continue
            for shape in coloured_shapes(traits):
                found += 1
                if found % stride == 0:
                    yield list(traits), shape


def _kept(order, traits, limit, alike):
    """How many edges of each entry are kept, as it is written in the paper."""
    cells = Counter()
    entries = {}
    for one, other in order:
        ends = tuple(sorted((traits[one], traits[other])))
        entries.setdefault(ends[0] != ends[1] if alike else ends, []).append((one, other))
    for entry, edges in entries.items():
        cells[entry] = len(projected(edges, limit))
    return [cells[entry] for entry in ((False, True) if alike else ((0, 0), (0, 1), (1, 1)))]


class LabelWalk:
    """All graphs of some nodes in all orders, with and without the edge 0-1: which edges count among the first of both
    their ends. `moves`: how many edges count with it alone, and how many without it alone.
    """

    def __init__(self, nodes, limit):
        edges, start = pairs(nodes), (0, (0,) * nodes, (0,) * nodes, (0, 0))
        seen, open_ = {start}, [start]
        while open_:
            used, more, less, (came, went) = open_.pop()
            for number, (one, other) in enumerate(edges):
                if used >> number & 1 or min(less[one], less[other], more[one], more[other]) >= limit:
                    continue
                own = (one, other) == (0, 1)
                counts = max(more[one], more[other]) < limit
                counts_less = not own and max(less[one], less[other]) < limit
                state = (
                    used | 1 << number,
                    tuple(min(degree, limit) for degree in _raised(more, one, other)),
                    less if own else tuple(min(degree, limit) for degree in _raised(less, one, other)),
                    (came + (counts and not counts_less), went + (counts_less and not counts)),
                )
                if state not in seen:
                    seen.add(state)
                    open_.append(state)
        self.moves = {moves for *_, moves in seen}


@pytest.mark.parametrize("limit", [1, 2])
def test_one_row_more_among_labelled_rows(limit):
    """At most the new edge comes and one goes at either end; then whatever labels these three have, the claim holds.

    A row that changes the labels of an edge that is there moves no other: labels have no part in the order.
    """
    walk = LabelWalk(size(4, 6), limit)
    assert max(came for came, _ in walk.moves) == 1 and max(went for _, went in walk.moves) == 2
    worst = Worst()
    entries = [None, (0, 0), (0, 1), (1, 1)]
    for (came, went), new, *old in itertools.product(walk.moves, entries, entries, entries):
        moved = Counter({new: came})
        moved.subtract(Counter(old[:went]))
        values = np.array([moved[entry] for entry in entries[1:]])
        worst.see(values, np.zeros(3, dtype=np.int64))
    assert worst.within(LabelMixing(groups=2, limit=limit).sensitivity("edge"))
    assert (worst.l1, worst.l2_squared) == (3, 5)


def moves_of(counts):
    """All that one edge more does to a number and its width, on every graph: one of each shape is enough."""
    found = set()
    for nodes in range(2, 7):
        for shape in shapes(nodes):
            here = tuple(counts(exact_graph(shape, nodes)))
            for more in itertools.islice(pairs(nodes), 0, None, size(2, 1)):
                if more not in shape:
                    there = tuple(counts(exact_graph([*shape, more], nodes)))
                    found |= {(here, there), (there, here)}
    return found


def worst_of(moves, *, step, epsilon=Fraction(1), width_share=Fraction(1, 5)):
    """The loss of both draws together: a noisy width by Laplace noise, and the ladder that follows from it."""
    plan = LadderPlan(epsilon=epsilon * (1 - width_share), step=step, is_pure=True)
    widths = range(-3, 14)  # further below the floor is the same; further above both widths the noise loses the same
    return max(
        float(epsilon * width_share) / step * (abs(noisy - there[1]) - abs(noisy - here[1]))
        + worst_loss(plan.above(noisy), *((*each, plan.above(noisy).floor) for each in (here, there)))
        for here, there in moves
        for noisy in itertools.islice(widths, 0, None, size(4, 1))
    )


@pytest.mark.parametrize("kind", [Triangles(), Wedges()], ids=["triangles", "wedges"])
def test_both_draws_of_a_ladder(kind):
    """On all graphs of up to six nodes: no output of the two draws is more than exp(epsilon) times likelier.

    At epsilon 8 the public part of the floor is so small that the widths of small graphs matter.
    """
    moves = moves_of(lambda graph: kind.apply(graph).tolist())
    assert len(moves) > 20
    for epsilon in (Fraction(1), Fraction(8)):
        worst = worst_of(moves, step=kind.step, epsilon=epsilon)
        assert 0.8 < worst / float(epsilon) <= 1 + 1e-9


def test_clustering_is_both_ladders():
    """Triangles and wedges from one epsilon: the losses add, and are at most all of it."""
    parts = [(Triangles(), Fraction(15, 19)), (Wedges(), Fraction(4, 19))]
    worst = [
        worst_of(moves_of(lambda graph, kind=kind: kind.apply(graph).tolist()), step=kind.step, epsilon=epsilon)
        for kind, epsilon in parts
    ]
    assert sum(worst) <= 1 + 1e-9


class TestMutants:
    """Builds that are broken on purpose, seen by the same walks."""

    def test_a_width_of_linked_nodes_alone(self):
        def counts(graph):
            value, _ = Triangles().apply(graph).tolist()
            ends = list(zip(graph.exact_from.tolist(), graph.exact_to.tolist(), strict=True))
            near = [{b if a == node else a for a, b in ends if node in (a, b)} for node in range(graph.exact_nodes)]
            return value, max((len(near[a] & near[b]) for a, b in ends), default=0)

        assert worst_of(moves_of(counts), step=1, epsilon=Fraction(8)) > 8.4

    def test_wedges_by_the_largest_degree_alone(self):
        def counts(graph):
            value, width = Wedges().apply(graph).tolist()
            return value, math.ceil(width / 2)

        assert worst_of(moves_of(counts), step=1, epsilon=Fraction(8)) > 8.4

    def test_a_limit_on_one_end(self):
        """Edges that are kept while their first end has room: somebody who is the last end of many moves them all."""
        assert Walk(pairs(4), 1, 3, 4).most == 1
        assert Walk(pairs(4), 1, 3, 4, ends=slice(1)).most > 1
