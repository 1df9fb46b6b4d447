import itertools
import math

import numpy as np
import pytest

from discreet.inference import elimination
from discreet.inference.junction_tree import build_junction_tree, model_cells
from inference.small_models import random_sets, random_sizes


def problem(seed):
    generator = np.random.default_rng(seed)
    sizes = random_sizes(generator, most=9)
    return sizes, random_sets(generator, sizes, generator.integers(0, 12))


@pytest.mark.parametrize("seed", range(60))
def test_every_factor_has_a_clique_and_attributes_hang_together(seed):
    sizes, factors = problem(seed)
    tree = build_junction_tree(sizes, factors)
    for factor in factors:
        assert set(factor) <= set(tree.cliques[tree.smallest_clique_with(factor)])
    assert set().union(*tree.cliques) == set(range(len(sizes)))
    for place, (clique, separator, parent) in enumerate(zip(tree.cliques, tree.separators, tree.parents, strict=True)):
        assert (parent == -1) == (place == 0) and parent < place
        above = set().union(*tree.cliques[:place])
        assert set(clique[:separator]) == set(clique) & above  # the running intersection, parents first
        if place:
            assert set(clique[:separator]) <= set(tree.cliques[parent])
            assert clique[:separator] == tuple(held for held in tree.cliques[parent] if held in clique[:separator])
        assert [sizes[held] for held in clique[separator:]] == sorted(sizes[held] for held in clique[separator:])
    assert not any(set(a) <= set(b) for a, b in itertools.permutations(tree.cliques, 2))


@pytest.mark.parametrize("seed", range(20))
def test_cells_are_those_of_the_tree(seed):
    sizes, factors = problem(seed)
    tree = build_junction_tree(sizes, factors)
    assert model_cells(sizes, factors) == sum(math.prod(sizes[held] for held in clique) for clique in tree.cliques)


def test_a_large_attribute_is_kept_out_of_the_middle():
    """A ring of five, one of them large: the chords must not end at it."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
    assert model_cells((100, 2, 2, 2, 2), ring) == 100 * 2 * 2 + 2 * 2 * 2 + 2 * 2 * 2


@pytest.mark.parametrize("heuristic", ["weight", "fill"])
def test_both_orders_are_needed(heuristic):
    """Least weight beats least fill somewhere, and least fill beats least weight somewhere else."""
    generator = np.random.default_rng(3)
    wins = 0
    for _ in range(60):
        sizes = tuple(int(size) for size in generator.integers(2, 40, size=15))
        graph = elimination.EliminationGraph(sizes, random_sets(generator, sizes, 25))._graph
        table = elimination.CliqueSizes(sizes)
        orders = (elimination.eliminate_by_weight, elimination.eliminate_by_fill)
        weights = [table.of(order(table, graph, math.inf)) for order in orders]
        wins += weights[0] < weights[1] if heuristic == "weight" else weights[1] < weights[0]
    assert wins > 0


def test_a_tree_of_pairs_stays_a_tree_of_pairs():
    pairs = [(0, 1), (1, 2), (1, 3), (3, 4)]
    assert sorted(tuple(sorted(clique)) for clique in build_junction_tree((2, 3, 4, 5, 6), pairs).cliques) == pairs


def test_no_attributes_and_no_factors():
    assert build_junction_tree((), []).cliques == ()
    assert model_cells((), []) == 0
    assert build_junction_tree((3, 4), []).separators == (0, 0)


@pytest.mark.parametrize("factor", [(0, 0), (2,), (-1,)])
def test_wrong_attributes_are_refused(factor):
    with pytest.raises(ValueError, match="distinct"):
        model_cells((2, 2), [factor])


@pytest.mark.parametrize("seed", range(40))
def test_a_factor_fits_where_the_model_with_it_is_small_enough(seed):
    sizes, factors = problem(seed)
    if not factors:
        return
    shape = elimination.EliminationGraph(sizes, factors[:-1])
    after = model_cells(sizes, factors)
    assert shape.with_factor(factors[-1]).cells() == after
    assert not shape.holds(factors[-1]) or after == shape.cells()
    assert shape.fits(factors[-1], after - 1) == shape.holds(factors[-1])  # one cell short, and asked again with more
    assert shape.fits(factors[-1], after)


def test_what_did_not_fit_is_not_tried_again_for_less(monkeypatch):
    shape = elimination.EliminationGraph((5, 6, 7), [(0, 1), (1, 2)])
    assert not shape.fits((0, 2), 100)
    monkeypatch.setattr(elimination, "eliminate_by_weight", None)
    assert not shape.with_factor((0, 1)).fits((0, 2), 150)
    with pytest.raises(TypeError):
        shape.fits((0, 2), 210)
