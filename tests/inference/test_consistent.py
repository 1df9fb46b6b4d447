import numpy as np
import pytest

from discreet.inference.axes import broadcast_over
from discreet.inference.consistency import make_consistent
from inference.small_models import marginal_of, random_sets


@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_tables_that_agree(seed):
    """Against ordinary least squares over all signed joint tables of the total."""
    generator = np.random.default_rng(seed)
    sizes = (2, 3, 2, 3)
    sets = random_sets(generator, sizes, 6)
    noisy = {
        axes: (generator.normal(10, 5, [sizes[held] for held in axes]), float(generator.uniform(0.5, 9)))
        for axes in sets
    }
    total = 40.0
    cells = int(np.prod(sizes))
    rows, values = [], []
    for axes, (table, variance) in noisy.items():
        for place in np.ndindex(table.shape):
            chosen = np.zeros(table.shape)
            chosen[place] = 1
            row = np.broadcast_to(broadcast_over(chosen, axes, (0, 1, 2, 3)), sizes).ravel()
            rows.append(row / np.sqrt(variance))
            values.append(table[place] / np.sqrt(variance))
    # Signed tables of this total: an even spread, and any table that sums to 0.
    even = np.full(cells, total / cells)
    free = np.eye(cells) - 1 / cells
    design, target = np.array(rows) @ free, np.array(values) - np.array(rows) @ even
    joint = (even + free @ np.linalg.lstsq(design, target, rcond=None)[0]).reshape(sizes)
    found = make_consistent(noisy, {}, total)
    for axes in sets:
        assert found[axes] == pytest.approx(marginal_of(joint, axes), abs=1e-8)


def test_what_is_known_overrides_what_was_measured():
    known = {(0, 1): np.array([[1.0, 2.0], [3.0, 4.0]])}
    noisy = {(0,): (np.array([9.0, 9.0]), 1.0), (1, 2): (np.ones((2, 2)), 1.0)}
    found = make_consistent(noisy, known, 10.0)
    assert found[0,] == pytest.approx([3, 7])
    assert found[1, 2].sum(axis=1) == pytest.approx([4, 6])
    assert (found[0, 1] == known[0, 1]).all()
