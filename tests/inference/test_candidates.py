import itertools

import numpy as np
import pytest

from discreet.inference import candidates
from discreet.inference.candidates import projections
from discreet.inference.fit import fit
from discreet.inference.tree import condition
from inference.small_models import noisy_marginals, random_allowed, random_joint, random_sets


def model(seed):
    """Models over eight attributes: chains, stars, loops and loose parts; some with zeros."""
    generator = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in generator.integers(1, 4, size=8))
    measurements = noisy_marginals(
        generator, random_joint(generator, sizes, 100.0), random_sets(generator, sizes, 3 + seed % 9), 3.0
    )
    allowed = random_allowed(generator, sizes, 2) if seed % 3 == 0 else []
    return fit(sizes, measurements, 100.0, allowed=allowed, iterations=20).calibrated


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


@pytest.mark.parametrize("limit", ["MOST_AT_ONCE", "MOST_BETWEEN"])
@pytest.mark.parametrize("most", [1, 10, 50])
def test_groups_that_are_made_in_parts(monkeypatch, most, limit):
    calibrated = model(7)
    asked = list(itertools.combinations(range(8), 3))
    monkeypatch.setattr(candidates, limit, most)
    found = dict(projections(calibrated, asked))
    assert found.keys() == set(asked)
    for axes, table in found.items():
        assert table == pytest.approx(calibrated.project(axes), abs=1e-10)


def test_nothing_between_two_products_is_larger_than_allowed(monkeypatch):
    """A pair whose attributes lie behind two edges of a large clique: no table of all that is ever made."""
    calibrated = model(7)
    asked = list(itertools.combinations(range(8), 3))
    made, plain = [], candidates.product

    def product(*given):
        found = plain(*given)
        made.append(found[0].size)
        return found

    monkeypatch.setattr(candidates, "product", product)
    list(projections(calibrated, asked))
    largest = max(made)
    made.clear()
    monkeypatch.setattr(candidates, "MOST_BETWEEN", 1)
    list(projections(calibrated, asked))
    assert max(made) < largest


@pytest.mark.parametrize("copy", [0, 1e9])
def test_stacks_are_right_whether_narrowed_or_not(monkeypatch, copy):
    calibrated = model(8)
    asked = random_sets(np.random.default_rng(0), calibrated.sizes, 25)
    monkeypatch.setattr(candidates, "COPY", copy)
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
