"""Belief propagation against the full joint table."""

import math

import numpy as np
import pytest

from discreet.inference import triangle_sums
from discreet.inference.axes import shape_of
from discreet.inference.belief_propagation import BeliefPropagation
from discreet.inference.junction_tree import build_junction_tree
from discreet.inference.summation_tree import marginal, plan_sums
from inference.small_models import joint_of, marginal_of, random_allowed, random_sets, random_sizes


def problem(seed):
    generator = np.random.default_rng(seed)
    sizes = random_sizes(generator)
    factors = random_sets(generator, sizes, generator.integers(0, 9))
    allowed = random_allowed(generator, sizes, 2) if seed % 3 == 0 else []
    tree = build_junction_tree(sizes, [*factors, *(axes for axes, _ in allowed)])
    return generator, sizes, BeliefPropagation(tree, factors, allowed), allowed


def potentials(beliefs, theta):
    shape = beliefs.tree.sizes
    return [
        (place.axes, theta[place.start : place.stop].reshape(shape_of(shape, place.axes)))
        for place in beliefs.factor_slices
    ]


@pytest.mark.thin(20)
@pytest.mark.parametrize("seed", range(60))
def test_log_partition_marginals_and_tables(seed):
    """Small potentials, large ones, and huge ones straight after each other: the shifts have to be found again."""
    generator, sizes, beliefs, allowed = problem(seed)
    for spread in (1, 30, 3000, 0.1, 1e5):
        theta = generator.normal(size=len(beliefs.theta)) * spread
        log_partition, joint = joint_of(sizes, potentials(beliefs, theta), allowed)
        assert beliefs.run(theta) == pytest.approx(log_partition, rel=1e-12, abs=1e-12)
        for place in beliefs.factor_slices:
            found = beliefs.marginals[place.start : place.stop].reshape(shape_of(sizes, place.axes))
            assert found == pytest.approx(marginal_of(joint, place.axes), abs=1e-9)
        for clique, table in zip(beliefs.tree.cliques, beliefs.tables(), strict=True):
            assert table == pytest.approx(marginal_of(joint, clique), abs=1e-9)
            assert (table[marginal_of(joint_of(sizes, [], allowed)[1], clique) == 0] == 0).all()


CIRCLES = {
    "three pairs": ((6, 7, 8), [(0, 1), (1, 2), (0, 2), (1,)]),
    "with batches": ((5, 2, 7, 8), [(0, 1, 2), (1, 2, 3), (0, 3), (1,), (0, 1)]),
    "of all": ((2, 6, 7, 8), [(0, 1, 2), (0, 2, 3), (0, 1, 3)]),
    "of one value": ((6, 1, 7, 8), [(0, 1, 2), (2, 3), (0, 3)]),
    "with a leaf": ((9, 8, 7, 3), [(0, 1), (1, 2), (2, 0), (2, 3)]),
}


@pytest.mark.parametrize("circle", CIRCLES)
def test_a_circle_of_three_is_summed_without_its_table(circle, monkeypatch):
    """Also where potentials are too large for a product, and where cells or all of a row are ruled out."""
    monkeypatch.setattr(triangle_sums, "LEAST_CELLS", 0)
    monkeypatch.setattr(triangle_sums, "LEAST_MULTIPLICATIONS", 0)
    sizes, factors = CIRCLES[circle]
    generator = np.random.default_rng(len(circle))
    for allowed in ([], [(factors[0], generator.random(shape_of(sizes, factors[0])) < 0.6)]):
        beliefs = BeliefPropagation(build_junction_tree(sizes, factors), factors, allowed)
        root = beliefs._buffers[0]
        for spread in (1, 30, 3000, 0.1):
            theta = generator.uniform(-1, 1, size=len(beliefs.theta)) * spread
            log_partition, joint = joint_of(sizes, potentials(beliefs, theta), allowed)
            assert beliefs.run(theta) == pytest.approx(log_partition, rel=1e-12, abs=1e-12)
            if not allowed and spread != 0.1:  # after large potentials, and with ruled out cells, either may be
                assert root._written == (spread == 3000)
            for place in beliefs.factor_slices:
                summed = beliefs.marginals[place.start : place.stop].reshape(shape_of(sizes, place.axes))
                assert summed == pytest.approx(marginal_of(joint, place.axes), abs=1e-9)
            for _ in range(2):
                for clique, table in zip(beliefs.tree.cliques, beliefs.tables(), strict=True):
                    assert table == pytest.approx(marginal_of(joint, clique), abs=1e-9)


def test_small_tables_and_small_products_are_written():
    def factor(*axes):
        return triangle_sums.TriangleFactor(
            axes=axes, table=np.ones([60] * len(axes)), marginal=np.ones([60] * len(axes))
        )

    circle = [factor(0, 1), factor(1, 2), factor(0, 2)]
    assert triangle_sums.plan_triangle(60**3, circle) is not None
    assert triangle_sums.plan_triangle(10_000, circle) is None
    assert triangle_sums.plan_triangle(60**3, circle[:2]) is None
    assert triangle_sums.plan_triangle(60**3, [factor(0, 1, 2)] * 3) is None  # a matrix product of 1 x 1 for each cell


@pytest.mark.parametrize("seed", range(10))
def test_marginals_are_the_gradient_of_log_partition(seed):
    generator, _, beliefs, _ = problem(seed)
    theta = generator.normal(size=len(beliefs.theta))
    beliefs.run(theta)
    expected = beliefs.marginals.copy()
    for number in range(len(theta)):
        step = np.zeros(len(theta))
        step[number] = 1e-5
        slope = (beliefs.run(theta + step) - beliefs.run(theta - step)) / 2e-5
        assert slope == pytest.approx(expected[number], abs=1e-8)


def test_nothing_is_remembered_but_scratch():
    generator, _, beliefs, _ = problem(4)
    theta = generator.normal(size=len(beliefs.theta))
    once, marginals = beliefs.run(theta), beliefs.marginals.copy()
    for other in (np.nan, 1e200, -1e6, np.inf, 1e8):
        found = beliefs.run(np.full(len(theta), other) * generator.normal(size=len(theta)))
        assert math.isnan(found) == (not abs(other) < 1e9)
    assert beliefs.run(theta) == pytest.approx(once, rel=1e-12)
    assert beliefs.marginals == pytest.approx(marginals, abs=1e-12)


def test_everything_ruled_out():
    beliefs = BeliefPropagation(build_junction_tree((2, 2), [(0, 1)]), [(0,)], [((0, 1), np.zeros((2, 2), dtype=bool))])
    assert beliefs.run(np.zeros(2)) == -math.inf


def test_zeros_that_follow_from_two_tables():
    """a = 0 needs b = 0 needs c = 0; and a = 0 with c = 1 is out, though no table says so."""
    same = np.eye(2, dtype=bool)
    beliefs = BeliefPropagation(
        build_junction_tree((2, 2, 2), [(0, 1), (1, 2)]), [(0, 1), (1, 2)], [((0, 1), same), ((2, 1), same)]
    )
    beliefs.run(np.arange(8.0))
    assert ((beliefs.marginals.reshape(2, 2, 2) > 0) == same).all()


@pytest.mark.thin(10)
@pytest.mark.parametrize("seed", range(30))
def test_a_summation_tree_holds_what_is_wanted(seed):
    generator = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in generator.integers(1, 14, size=5))
    top = tuple(int(axis) for axis in generator.permutation(5))
    wanted = [*random_sets(generator, sizes, 7), ()]
    nodes = plan_sums(sizes, top, wanted)
    assert nodes[0].axes == top and nodes[0].parent == -1
    assert {frozenset(axes) for axes in wanted} <= {frozenset(node.axes) for node in nodes}
    table = generator.random(shape_of(sizes, top))
    for place, node in enumerate(nodes[1:], 1):
        assert node.parent < place and set(node.axes) < set(nodes[node.parent].axes)
        assert marginal(table, top, node.axes) == pytest.approx(
            table.sum(axis=tuple(axis for axis, held in enumerate(top) if held not in node.axes))
        )


def test_a_summation_tree_reads_a_large_table_once():
    nodes = plan_sums((50, 50, 50, 50), (0, 1, 2, 3), [(0, 1), (1, 2), (0, 2), ()])
    assert [node.axes for node in nodes if node.parent == 0] == [(0, 1, 2)]
