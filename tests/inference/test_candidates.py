import itertools

import numpy as np
import pytest

from discreet.inference import projection_groups
from discreet.inference.calibrated_tree import condition
from discreet.inference.fit import FitSearch, MeasuredMarginal, fit
from discreet.inference.projections import projections
from inference.small_models import noisy_marginals, random_allowed, random_joint, random_sets


def model(seed):
    """Models over eight attributes: chains, stars, loops and loose parts; some with zeros."""
    generator = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in generator.integers(1, 4, size=8))
    measurements = noisy_marginals(
        generator, random_joint(generator, sizes, 100.0), random_sets(generator, sizes, 3 + seed % 9), 3.0
    )
    allowed = random_allowed(generator, sizes, 2) if seed % 3 == 0 else []
    return fit(sizes, measurements, 100.0, allowed=allowed, search=FitSearch(iterations=20)).calibrated


@pytest.mark.thin(3)  # with and without facts
@pytest.mark.parametrize("seed", range(30))
def test_all_marginals_of_up_to_four_attributes(seed):
    calibrated = model(seed)
    asked = [axes for length in range(5) for axes in itertools.combinations(range(8), length)]
    found = dict(projections(calibrated, asked))
    assert found.keys() == set(asked)
    for axes, table in found.items():
        assert table == pytest.approx(calibrated.project(axes), abs=1e-10), axes


def test_axes_come_in_the_order_asked():
    calibrated = model(1)
    for axes, table in projections(calibrated, list(itertools.permutations((6, 1, 4)))):
        assert table == pytest.approx(calibrated.project(axes), abs=1e-10)


@pytest.mark.thin(3)
@pytest.mark.parametrize("limit", ["MOST_AT_ONCE", "MOST_BETWEEN"])
@pytest.mark.parametrize("most", [1, 10, 50])
def test_groups_that_are_made_in_parts(monkeypatch, most, limit):
    calibrated = model(7)
    asked = list(itertools.combinations(range(8), 3))
    monkeypatch.setattr(projection_groups, limit, most)
    found = dict(projections(calibrated, asked))
    assert found.keys() == set(asked)
    for axes, table in found.items():
        assert table == pytest.approx(calibrated.project(axes), abs=1e-10)


def work(monkeypatch, calibrated, asked):
    """How many cells each product made, and the tables."""
    made, plain = [], projection_groups.product

    def product(*given):
        found = plain(*given)
        made.append(found[0].size)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(projection_groups, "product", product)
        found = {axes: table.copy() for axes, table in projections(calibrated, asked)}
    return made, found


def star(*, size, leaves):
    """A clique of three attributes; behind each one attribute that leaves of these sizes lean on."""
    generator = np.random.default_rng(5)
    sizes = (*[size] * 6, *leaves * 3)
    pairs = [(hub, hub + 3) for hub in range(3)]
    pairs += [(hub + 3, 6 + hub * len(leaves) + place) for hub in range(3) for place in range(len(leaves))]
    measured = [
        MeasuredMarginal(attributes=axes, values=generator.random([sizes[held] for held in axes]) * 10, variance=1.0)
        for axes in [(0, 1, 2), *pairs]
    ]
    return fit(sizes, measured, 1000.0, search=FitSearch(iterations=5)).calibrated


def test_nothing_between_two_products_is_larger_than_allowed(monkeypatch):
    """What stands between is larger than any result here: the hub has more values than the leaves."""
    calibrated = star(size=9, leaves=(2,))
    made, plain = work(monkeypatch, calibrated, [(6, 7, 8)])
    monkeypatch.setattr(projection_groups, "MOST_BETWEEN", 1)
    sliced, found = work(monkeypatch, calibrated, [(6, 7, 8)])
    assert max(made) > 2 * 2 * 2 and max(sliced) < max(made)
    assert found[6, 7, 8] == pytest.approx(plain[6, 7, 8])


def test_what_nobody_wants_together_is_not_made(monkeypatch):
    """Large attributes are wanted only with small ones: a group of all would make 54**3 cells, most of them in vain."""
    calibrated = star(size=2, leaves=(2, 2, 50))
    asked = list(itertools.product((6, 7, 8), (9, 10, 11), (12, 13, 14)))
    asked = [own for own in asked if len({8, 11, 14} & set(own)) < 2]
    together, plain = work(monkeypatch, calibrated, asked)
    monkeypatch.setattr(projection_groups, "PART", 0)
    apart, found = work(monkeypatch, calibrated, asked)
    assert sum(apart) < sum(together) / 5
    for own in asked:
        assert found[own] == pytest.approx(calibrated.project(own)) and plain[own] == pytest.approx(found[own])


@pytest.mark.thin(4)
@pytest.mark.parametrize("seed", range(10))
def test_groups_that_are_split_wherever_it_saves(monkeypatch, seed):
    monkeypatch.setattr(projection_groups, "PART", 0)
    monkeypatch.setattr(projection_groups, "SAVED", 1e-9)
    calibrated = model(seed)
    asked = random_sets(np.random.default_rng(seed), calibrated.sizes, 60)
    for axes, table in projections(calibrated, asked):
        assert table == pytest.approx(calibrated.project(axes), abs=1e-10)


@pytest.mark.parametrize("copy", [0, 1e9])
def test_stacks_are_right_whether_narrowed_or_not(monkeypatch, copy):
    calibrated = model(8)
    asked = random_sets(np.random.default_rng(0), calibrated.sizes, 25)
    monkeypatch.setattr(projection_groups, "COPY", copy)
    for axes, table in projections(calibrated, asked):
        assert table == pytest.approx(calibrated.project(axes), abs=1e-10)


def test_a_set_asked_twice_comes_once_and_none_is_fine():
    calibrated = model(2)
    assert [axes for axes, _ in projections(calibrated, [(1, 0), (1, 0)])] == [(1, 0)]
    assert list(projections(calibrated, [])) == []


def test_a_model_of_nothing():
    nothing = condition(model(4), {0: np.zeros(model(4).sizes[0])})
    assert all((table == 0).all() for _, table in projections(nothing, list(itertools.combinations(range(8), 3))))


def test_wrong_attributes_are_refused():
    with pytest.raises(ValueError, match="distinct"):
        list(projections(model(1), [(0, 8)]))
