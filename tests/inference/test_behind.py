"""Stacks: bounded together whatever the model, exact as long as there is room."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.inference import separator_conditionals
from discreet.inference.calibrated_tree import CalibratedTree, Clique
from discreet.inference.fit import FitSearch, fit
from discreet.inference.projections import projections
from discreet.inference.separator_conditionals import EdgeConditionals, has_approximate_conditionals
from inference.small_models import noisy_marginals, random_joint, random_sets


def chain(seed=3):
    """Eight attributes, three to a clique: separators of two."""
    generator = np.random.default_rng(seed)
    sizes = (3, 2, 4, 3, 2, 4, 3, 2)
    sets = [(place, place + 1, place + 2) for place in range(6)]
    measured = noisy_marginals(generator, random_joint(generator, sizes, 100.0), sets, 3.0)
    return fit(sizes, measured, 100.0, search=FitSearch(iterations=20)).calibrated


def all_stacks(surroundings):
    return [
        surroundings.stack(place, number)
        for place, near in enumerate(surroundings.edges)
        for number in range(len(near))
    ]


@pytest.mark.parametrize("most", [10_000, 300, 200, 120, 1])
def test_stacks_have_no_more_cells_than_there_is_room_for(monkeypatch, most):
    calibrated = chain()
    monkeypatch.setattr(separator_conditionals, "MOST_BEHIND", most)
    surroundings = EdgeConditionals(calibrated)
    cells = sum(stack.table.size for stack in all_stacks(surroundings))
    least = sum(
        sum(calibrated.sizes) - sum(calibrated.sizes[held] for held in clique.attributes)
        for clique in calibrated.cliques
    )  # of stacks that depend on nothing, an attribute has as many as there are cliques that do not hold it
    assert cells <= max(most, least)
    for stack in all_stacks(surroundings):
        axis = len(stack.separator)
        for attribute, start in stack.starts.items():
            sums = stack.table[..., start : stack.stops[attribute]].sum(axis=axis)
            assert sums == pytest.approx(np.ones(sums.shape)), attribute  # a distribution, given whatever is left


@pytest.mark.parametrize("most", [300, 120, 1])
def test_what_is_left_out_leaves_margins_exact(monkeypatch, most):
    calibrated = chain()
    assert not has_approximate_conditionals(calibrated)
    monkeypatch.setattr(separator_conditionals, "MOST_BEHIND", most)
    assert has_approximate_conditionals(calibrated)
    moved = 0.0
    asked = [axes for length in (1, 2, 3) for axes in itertools.combinations(range(8), length)]
    for axes, table in projections(calibrated, asked):
        exact = calibrated.project(axes)
        moved = max(moved, np.abs(table - exact).sum())
        assert table.min() >= 0 and table.sum() == pytest.approx(100)
        for place in range(len(axes)):
            others = tuple(each for each in range(len(axes)) if each != place)
            assert table.sum(axis=others) == pytest.approx(exact.sum(axis=others), abs=1e-9)
    assert 0.01 < moved < 100  # an approximation, and nearer than what has nothing in common


def test_a_wide_separator_is_no_obstacle():
    """What hangs behind a separator of a million cells would fill a gigabyte and a half, and more is not made at all."""
    generator = np.random.default_rng(1)
    sizes = (100, 100, 100, 2, 2, 200, 200)
    shared = generator.random((100, 100, 100))
    split, other = generator.random((100, 100, 100)), generator.random((100, 100, 100))
    left = np.stack([shared * split, shared * (1 - split)], axis=-1)
    right = np.stack([shared * other, shared * (1 - other)], axis=-1)
    first, last = (
        table.sum(axis=(0, 1, 2))[:, None] * generator.dirichlet(np.ones(200), size=2) for table in (left, right)
    )
    calibrated = CalibratedTree(
        sizes=sizes,
        total=float(left.sum()),
        cliques=(
            Clique(attributes=(0, 1, 2, 3), separator=0, parent=-1, table=left),
            Clique(attributes=(0, 1, 2, 4), separator=3, parent=0, table=right),
            Clique(attributes=(4, 5), separator=1, parent=1, table=last),
            Clique(attributes=(3, 6), separator=1, parent=0, table=first),
        ),
    )
    asked = [(3, 5), (0, 5), (3, 4), (0, 4), (5, 6)]
    found = dict(projections(calibrated, asked))
    assert found.keys() == set(asked)
    for axes, table in found.items():
        assert table.sum() == pytest.approx(calibrated.total)
        assert table.sum(axis=1) == pytest.approx(calibrated.project(axes[:1]))


def test_random_models_are_exact_where_there_is_room():
    for seed in range(5):
        generator = np.random.default_rng(seed)
        sizes = tuple(int(size) for size in generator.integers(2, 4, size=7))
        sets = random_sets(generator, sizes, 6)
        calibrated = fit(
            sizes,
            noisy_marginals(generator, random_joint(generator, sizes, 50.0), sets, 2.0),
            50.0,
            search=FitSearch(iterations=10),
        ).calibrated
        for axes, table in projections(calibrated, list(itertools.combinations(range(7), 3))):
            assert table == pytest.approx(calibrated.project(axes), abs=1e-10)
