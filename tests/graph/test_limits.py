"""The private choice of a limit: how far one node moves its scores, and whether it chooses well."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.network.exact_graph import ExactGraph
from discreet.graph import degree_limit
from discreet.graph.degree_limit import CANDIDATES, DegreeLimitChoice
from discreet.mechanisms.bits import system
from tiers import size

FEW = (1, 2, 3)


def graph_of(edges, nodes):
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return ExactGraph(ends[:, 0].copy(), ends[:, 1].copy(), exact_nodes=nodes)


def neighbours(nodes=5, orders=size(1, 3)):
    """Every graph of so many nodes, in some orders of all pairs, and the same without its last node."""
    pairs = list(itertools.combinations(range(nodes), 2))
    generator = np.random.default_rng(3)
    for _ in range(orders):
        order = [pairs[place] for place in generator.permutation(len(pairs))]
        for chosen in itertools.product((False, True), repeat=len(pairs)):
            edges = [pair for pair, is_in in zip(order, chosen, strict=True) if is_in]
            yield graph_of(edges, nodes), graph_of([pair for pair in edges if nodes - 1 not in pair], nodes)


def most_moved(choice):
    """How far one node moves a score at most, in units of the sensitivity."""
    far = max(
        int(np.abs(choice.exact_scores(with_) - choice.exact_scores(without)).max()) for with_, without in neighbours()
    )
    return far / choice.mechanism().sensitivity


@pytest.mark.thin(1)
@pytest.mark.parametrize("price", [1, 3])
def test_one_node_moves_a_score_by_no_more_than_its_sensitivity(price):
    assert 0.2 < most_moved(DegreeLimitChoice(epsilon=Fraction(1), price=price, candidates=FEW)) <= 1


def test_scores_that_are_not_weighed_move_further(monkeypatch):
    """The mutant that forgets what each limit's count moves by."""

    def behind(self, place, exact_worth):
        return max(degree_limit._PARTS * (worth - exact_worth[place]) for worth in exact_worth)

    monkeypatch.setattr(DegreeLimitChoice, "_behind", behind)
    assert most_moved(DegreeLimitChoice(epsilon=Fraction(1), price=1, candidates=FEW)) > 1


def test_the_shortcut_changes_nothing():
    """Projections that cut nothing off are not made; each count is as if they were."""
    graph = graph_of([(0, other) for other in range(1, 40)], 40)
    found = DegreeLimitChoice.of(Fraction(1))._counts(graph)
    assert found == [min(limit, 39) for limit in CANDIDATES]


def test_a_limit_near_the_largest_degree_is_chosen():
    """A ring with chords, in which everybody has 6 edges: 8 cuts none, and larger ones bring noise for nothing."""
    people = size(5_000, 20_000)
    edges = [(place, (place + step) % people) for place in range(people) for step in (1, 2, 3)]
    graph = graph_of([(min(pair), max(pair)) for pair in edges], people)
    choice, bits = DegreeLimitChoice.of(Fraction(1, 2)), system()
    scores = choice.exact_scores(graph)
    found = [CANDIDATES[choice.mechanism().choose(scores, bits=bits)[0]] for _ in range(200)]
    chances = choice.mechanism().probabilities(scores)
    near = sum(float(low) for (low, _), limit in zip(chances, CANDIDATES, strict=True) if limit in (8, 16))
    assert near > 0.9
    assert sum(limit in (8, 16) for limit in found) > 150


def test_scores_are_whole_and_the_best_has_none_behind():
    scores = DegreeLimitChoice.of(Fraction(1)).exact_scores(graph_of([(0, 1), (1, 2)], 3))
    assert scores.dtype == np.int64 and scores.max() == 0 and np.count_nonzero(scores == 0) == 1
