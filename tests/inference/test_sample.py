import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.inference import cell_sampler as sampling
from discreet.inference.calibrated_tree import CalibratedTree, Clique, condition
from discreet.inference.cell_sampler import sample_cells, sample_cells_in_parts
from discreet.inference.sample_check import SampleMismatch
from inference.sample_models import (
    counts_of,
    independent_bits,
    independent_rows,
    joint,
    mean_variation,
    model_of,
    random_model,
)
from tiers import size

SIZES = (4, 2, 7, 1, 3, 5)


@pytest.fixture
def generator():
    return np.random.default_rng()


def test_shape_and_type(generator):
    calibrated = random_model(generator, sizes=SIZES, width=2)
    codes = sample_cells(calibrated, 1000, generator)
    assert codes.shape == (1000, 6) and codes.dtype == np.uint8
    assert (codes.max(axis=0) < np.array(SIZES)).all()


@pytest.mark.parametrize(("size", "dtype"), [(1, np.uint8), (256, np.uint8), (257, np.uint16), (70_000, np.uint32)])
def test_smallest_type_that_fits(generator, size, dtype):
    table = np.full(size, 1 / size)
    clique = Clique(attributes=(0,), separator=0, parent=-1, table=table)
    codes = sample_cells(CalibratedTree(sizes=(size,), total=float(table.sum()), cliques=(clique,)), size, generator)
    assert codes.dtype == dtype
    assert np.array_equal(np.sort(codes[:, 0]), np.arange(size))


def test_no_rows_one_row_no_attributes(generator):
    calibrated = random_model(generator, sizes=SIZES, width=2)
    assert sample_cells(calibrated, 0, generator).shape == (0, 6)
    assert sample_cells(calibrated, 1, generator).shape == (1, 6)
    assert sample_cells(CalibratedTree(sizes=(), total=3.0, cliques=()), 5, generator).shape == (5, 0)


def test_refusals(generator):
    calibrated = random_model(generator, sizes=SIZES, width=1)
    with pytest.raises(UsageError, match="0 to"):
        sample_cells(calibrated, -1, generator)
    with pytest.raises(UsageError, match="0 to"):
        sample_cells(calibrated, 2**40, generator)
    empty = condition(calibrated, {0: np.zeros(4)})
    with pytest.raises(UsageError, match="probability 0"):
        sample_cells(empty, 1, generator)
    assert sample_cells(empty, 0, generator).shape == (0, 6)
    with pytest.raises(UsageError, match="a part must have 1"):
        sample_cells_in_parts(calibrated, 10, generator, rows=0)


def test_a_seed_repeats_a_sample():
    calibrated = random_model(np.random.default_rng(), sizes=SIZES, width=2)
    one, two, other = (sample_cells(calibrated, 500, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, two) and not np.array_equal(one, other)


def test_rounding_does_not_correlate_columns(generator):
    """b and c are independent given a. A known sampler has total variation .417 here, where .011 is right."""
    calibrated = model_of((5, 20, 20), [((0, 1), (), -1), ((2,), (0,), 0)], generator, concentration=1.0)
    codes = sample_cells(calibrated, 50_000, generator)
    found = counts_of(codes, (1, 2), calibrated.sizes) / 50_000
    # Independent rows are at most sum(sqrt(p / n)) / 2 <= 20 / 2 / sqrt(50,000) = .045 away on average; ours are near .004.
    assert np.abs(found - calibrated.project((1, 2))).sum() / 2 < 0.02


def test_values_handed_out_in_order_are_caught(generator, monkeypatch):
    """The fault of that sampler: right counts in every clique, given to rows in the order of their other columns."""

    def in_order(grouped, owner, counts, generator):
        return grouped.rows, np.repeat(np.arange(len(counts)), counts)

    monkeypatch.setattr(sampling, "spread_evenly", in_order)
    calibrated = model_of((5, 20, 20), [((0, 1), (), -1), ((2,), (0,), 0)], generator)
    with pytest.raises(SampleMismatch, match="attributes"):
        sample_cells(calibrated, 10_000, generator)


def test_fair_bits_stay_independent(generator):
    """Nothing falls in step: over many samples no pair of 12 bits is correlated more than chance allows.

    C^2 / n has mean 1 for independent rows and at most 2 where rows are balanced in couples that an earlier column
    splits; the mean over 150 samples then has a deviation of at most .25, over 60 .4. Values spread with a common offset have 64.
    """
    calibrated = independent_bits(12)
    squares = np.zeros((12, 12))
    times = size(60, 150)
    for _ in range(times):
        signs = sample_cells(calibrated, 64, generator).astype(float) * 2 - 1
        squares += (signs.T @ signs) ** 2 / 64
    assert (squares / times)[np.triu_indices(12, 1)].max() < 5


def test_a_fine_uniform_table_keeps_its_second_column(generator):
    """1,000 x 2 cells of half a row each: one random offset for all would put every row on one side."""
    table = np.full((1000, 2), 1 / 2000)
    clique = Clique(attributes=(0, 1), separator=0, parent=-1, table=table)
    codes = sample_cells(CalibratedTree(sizes=(1000, 2), total=float(table.sum()), cliques=(clique,)), 1000, generator)
    assert (np.bincount(codes[:, 0], minlength=1000) == 1).all()
    assert abs(int(codes[:, 1].sum()) - 500) <= 1


def test_every_row_has_the_law_of_the_model(generator):
    """Over 1,500 samples of 6 rows (150 in the fast tier) each joint cell is as frequent as the model says: within 7
    deviations.

    Rows of one sample vary together, so the deviation is bounded by that of samples, each cell at most 6 times.
    """
    calibrated = random_model(generator, sizes=(3, 2, 2, 3), width=1, concentration=1.0)
    found = np.zeros(calibrated.sizes)
    times = size(150, 1500)
    for _ in range(times):
        found += counts_of(sample_cells(calibrated, 6, generator), range(4), calibrated.sizes)
    expected = joint(calibrated) * 6 * times
    assert (np.abs(found - expected) < 7 * np.sqrt(2 * expected) + 15).all()


def test_first_attribute_of_the_root_is_rounded_down_or_up(generator):
    calibrated = random_model(generator, sizes=SIZES, width=2)
    first = calibrated.cliques[0].attributes[0]
    expected = calibrated.project((first,)) * 777
    found = counts_of(sample_cells(calibrated, 777, generator), (first,), SIZES)
    assert (np.abs(found - expected) < 1).all()


def test_cliques_are_within_rounding(generator):
    """Along a chain each clique is rounded given the one before it: all counts within a few units of n p."""
    sizes = (8,) * 6
    edges = [((0, 1), (), -1)] + [((each,), (each - 1,), each - 2) for each in range(2, 6)]
    calibrated = model_of(sizes, edges, generator, concentration=1.0)
    codes = sample_cells(calibrated, 100_000, generator)
    for clique in calibrated.cliques:
        away = counts_of(codes, clique.attributes, sizes) - clique.table * 100_000
        # Independent rows would be about 40 away in a typical cell, and 130 in the worst.
        assert np.abs(away).max() < 8


def test_closer_to_the_model_than_independent_rows(generator):
    calibrated = random_model(generator, sizes=(6, 5, 4, 7, 3, 8), width=2)
    ours, theirs = sample_cells(calibrated, 20_000, generator), independent_rows(calibrated, 20_000, generator)
    assert mean_variation(calibrated, ours, 1) < mean_variation(calibrated, theirs, 1) / 4
    assert mean_variation(calibrated, ours, 2) < mean_variation(calibrated, theirs, 2) / 2


def test_what_is_excluded_does_not_appear(generator):
    for _ in range(30):
        calibrated = random_model(generator, sizes=(4, 5, 3, 6, 2, 9), width=2, zeros=0.6)
        codes = sample_cells(calibrated, 2000, generator)
        for clique in calibrated.cliques:
            assert (counts_of(codes, clique.attributes, calibrated.sizes)[clique.table == 0] == 0).all()


def test_rows_come_in_random_order(generator):
    """Neighbours are equal in a column as often as in a random order: 25,000 of 50,000, deviation 112."""
    codes = sample_cells(independent_bits(4), 50_000, generator)
    for column in codes.T:
        assert abs(int((column[1:] == column[:-1]).sum()) - 25_000) < 6 * 112
    assert abs(int(codes[:25_000, 0].sum()) - 12_500) < 6 * 56


def test_sampling_given_evidence(generator):
    calibrated = random_model(generator, sizes=SIZES, width=2)
    only = condition(calibrated, {0: np.array([0, 1, 0, 1]), 2: np.array([1, 1, 1, 0, 0, 0, 0])})
    codes = sample_cells(only, 5000, generator)
    assert set(codes[:, 0]) <= {1, 3} and set(codes[:, 2]) <= {0, 1, 2}
    whole = joint(calibrated)
    whole[[0, 2]] = 0
    whole[:, :, 3:] = 0
    expected = whole.sum(axis=(0, 1, 2, 3, 5)) / whole.sum()
    assert np.abs(counts_of(codes, (4,), SIZES) / 5000 - expected).max() < 0.05


def test_parts_are_even_and_add_up(generator):
    calibrated = random_model(generator, sizes=SIZES, width=2)
    parts = list(sample_cells_in_parts(calibrated, 10_001, generator, rows=3000))
    assert [len(part) for part in parts] == [2500, 2500, 2500, 2501]
    assert mean_variation(calibrated, np.concatenate(parts), 1) < 0.005
    assert not np.array_equal(parts[0], parts[1])
    assert list(sample_cells_in_parts(calibrated, 0, generator)) == []
