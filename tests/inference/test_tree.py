"""Calibrated trees: marginals and conditionals against the full joint table."""

import itertools

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.inference import axes as axes_module
from discreet.inference.calibrated_tree import CalibratedTree, Clique, condition
from discreet.inference.junction_tree import build_junction_tree
from inference.small_models import joint_of, marginal_of, random_allowed, random_sets, random_sizes


def model(seed):
    """A random model and its joint table; every third has structural zeros, several are disconnected."""
    generator = np.random.default_rng(seed)
    sizes = random_sizes(generator)
    factors = random_sets(generator, sizes, generator.integers(0, 8))
    allowed = random_allowed(generator, sizes, 2) if seed % 3 == 0 else []
    potentials = [(axes, generator.normal(size=[sizes[held] for held in axes])) for axes in factors]
    _, joint = joint_of(sizes, potentials, allowed)
    return calibrated_from(sizes, [*factors, *(axes for axes, _ in allowed)], joint * 50), joint * 50


def calibrated_from(sizes, factors, joint):
    tree = build_junction_tree(sizes, factors)
    return CalibratedTree(
        sizes=sizes,
        total=float(joint.sum()),
        cliques=tuple(
            Clique(attributes=clique, separator=separator, parent=parent, table=marginal_of(joint, clique))
            for clique, separator, parent in zip(tree.cliques, tree.separators, tree.parents, strict=True)
        ),
    )


@pytest.mark.thin(6)
@pytest.mark.parametrize("seed", range(40))
def test_every_marginal_in_and_out_of_cliques(seed):
    calibrated, joint = model(seed)
    for length in range(4):
        for asked in itertools.permutations(range(joint.ndim), length):
            assert calibrated.project(asked) == pytest.approx(marginal_of(joint, asked), abs=1e-12)
    everything = tuple(range(joint.ndim))
    assert calibrated.project(everything) == pytest.approx(joint, abs=1e-12)


@pytest.mark.thin(15)
@pytest.mark.parametrize("seed", range(40))
def test_conditioning_is_exact(seed):
    calibrated, joint = model(seed)
    generator = np.random.default_rng(seed)
    given = {
        0: generator.random(joint.shape[0]) < 0.6,
        joint.ndim - 1: generator.random(joint.shape[-1]) * 3,
    }
    for attribute, weights in given.items():
        shape = [-1 if axis == attribute else 1 for axis in range(joint.ndim)]
        joint = joint * np.asarray(weights, dtype=float).reshape(shape)
    found = condition(calibrated, given)
    assert found.total == pytest.approx(joint.sum(), abs=1e-12)
    for length in range(4):
        for asked in itertools.combinations(range(joint.ndim), length):
            assert found.project(asked) == pytest.approx(marginal_of(joint, asked), abs=1e-12)


def test_conditioning_on_the_impossible_leaves_nothing():
    calibrated = calibrated_from((2, 2), [(0, 1)], np.array([[3.0, 4.0], [0.0, 0.0]]))
    nothing = condition(calibrated, {0: [False, True]})
    assert nothing.total == 0 and (nothing.project((0, 1)) == 0).all()


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf]])
def test_evidence_is_checked(weights):
    calibrated = calibrated_from((2,), [], np.array([1.0, 1.0]))
    with pytest.raises(ValueError, match="evidence"):
        condition(calibrated, {0: weights})


def test_evidence_about_nobody_is_refused():
    with pytest.raises(ValueError, match="distinct"):
        condition(calibrated_from((2,), [], np.array([1.0, 1.0])), {1: [1.0, 1.0]})


def test_no_attributes_at_all():
    empty = CalibratedTree(sizes=(), total=7.0, cliques=())
    assert empty.project(()) == 7.0 and empty.cells == 0 and condition(empty, {}).total == 7.0


def test_a_table_that_is_too_large_is_refused_before_it_is_made(monkeypatch):
    calibrated = calibrated_from((4, 4, 4), [(0, 1), (1, 2)], np.ones((4, 4, 4)))
    monkeypatch.setattr(axes_module, "MOST_CELLS", 63)
    assert calibrated.project((0, 2)).shape == (4, 4)
    with pytest.raises(UsageError, match="64 cells"):
        calibrated.project((0, 1, 2))


@pytest.mark.deep
def test_a_long_chain_needs_no_deep_stack():
    length = 3000
    table = np.array([[3.0, 1.0], [2.0, 2.0]])  # both margins of the chain's stationary law, one after the other
    table = table / table.sum(axis=1, keepdims=True) * np.array([[2 / 3], [1 / 3]])
    cliques = [Clique(attributes=(0, 1), separator=0, parent=-1, table=table)]
    cliques += [Clique(attributes=(n, n + 1), separator=1, parent=n - 1, table=table) for n in range(1, length)]
    calibrated = CalibratedTree(sizes=(2,) * (length + 1), total=1.0, cliques=tuple(cliques))
    assert calibrated.project((0, length)) == pytest.approx(np.outer([2 / 3, 1 / 3], [2 / 3, 1 / 3]))


def clique(attributes=(0, 1), separator=0, parent=-1, table=((1.0, 1.0), (1.0, 1.0))):
    return Clique(attributes=attributes, separator=separator, parent=parent, table=np.array(table))


@pytest.mark.parametrize(
    "wrong",
    [
        {"attributes": (0, 0)},
        {"attributes": (0,)},
        {"separator": 2},
        {"separator": -1},
        {"parent": -2},
        {"table": ((1.0, np.nan), (1.0, 1.0))},
        {"table": ((1.0, -1.0), (1.0, 1.0))},
        {"table": ((1.0, np.inf), (1.0, 1.0))},
    ],
)
def test_a_wrong_clique_is_not_born(wrong):
    with pytest.raises(ValueError, match="clique"):
        clique(**wrong)


def test_a_cliques_table_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        clique().table[0, 0] = 5


CHILD = {"attributes": (1, 2), "separator": 1, "parent": 0}


@pytest.mark.parametrize(
    ("sizes", "total", "cliques"),
    [
        ((2, 2), 5.0, [clique()]),  # another total
        ((2, 2), np.nan, [clique()]),
        ((2, 2), -4.0, [clique()]),
        ((2, 3), 4.0, [clique()]),  # another size
        ((2, 2, 2), 4.0, [clique()]),  # an attribute without a home
        ((2, 2, 2), 4.0, [clique(), clique(**CHILD, table=((1.0, 1.0), (2.0, 1.0)))]),  # they do not agree
        ((2, 2, 2), 4.0, [clique(), clique(**CHILD | {"parent": 1})]),
        ((2, 2, 2), 4.0, [clique(), clique(**CHILD | {"attributes": (2, 1)})]),  # shares what the parent does not hold
    ],
)
def test_a_wrong_tree_is_not_born(sizes, total, cliques):
    with pytest.raises(ValueError, match=r"clique|total|root"):
        CalibratedTree(sizes=sizes, total=total, cliques=tuple(cliques))


def test_a_right_tree_is_born():
    found = CalibratedTree(sizes=(2, 2, 2), total=4.0, cliques=(clique(), clique(**CHILD)))
    assert found.cells == 8 and [each.new for each in found.cliques] == [(0, 1), (2,)]
