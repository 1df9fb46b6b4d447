import numpy as np
import pytest

from discreet.inference.calibrated_tree import CalibratedTree, Clique
from discreet.inference.cell_sampler import sample_cells
from discreet.inference.sample_check import SampleMismatch, check
from inference.sample_models import independent_rows, model_of, random_model

SIZES = (4, 3, 5, 6, 2)


@pytest.fixture
def generator():
    return np.random.default_rng()


@pytest.fixture
def calibrated(generator):
    edges = [((0, 1), (), -1), ((2,), (1,), 0), ((3,), (1,), 0), ((4,), (2,), 1)]
    return model_of(SIZES, edges, generator, concentration=1.0)


def test_independent_rows_pass(generator):
    for n in (1, 2, 10, 1000, 100_000):
        for width in (1, 2):
            calibrated = random_model(generator, sizes=SIZES, width=width, zeros=0.2)
            check(calibrated, independent_rows(calibrated, n, generator))


def test_a_shuffled_column_does_not(generator, calibrated):
    codes = sample_cells(calibrated, 50_000, generator).copy()
    codes[:, 2] = generator.permutation(codes[:, 2])
    with pytest.raises(SampleMismatch):
        check(calibrated, codes)


def test_siblings_sorted_alike_do_not(generator, calibrated):
    """Every clique's counts are right: only pairs across separators tell."""
    codes = sample_cells(calibrated, 50_000, generator).copy()
    for value in range(3):
        rows = np.flatnonzero(codes[:, 1] == value)
        codes[rows, 3] = np.sort(codes[rows, 3])
        codes[rows[:, None], [2, 4]] = codes[rows[:, None], [2, 4]][np.argsort(codes[rows, 2])]
    with pytest.raises(SampleMismatch, match=r"\(3, 2\)"):
        check(calibrated, codes)


def test_one_percent_of_wrong_rows_does_not(generator, calibrated):
    codes = sample_cells(calibrated, 200_000, generator).copy()
    codes[:4000] = 0
    with pytest.raises(SampleMismatch):
        check(calibrated, codes)


def test_one_excluded_row_does_not(generator):
    calibrated = random_model(generator, sizes=SIZES, width=1, zeros=0.5)
    clique = next(each for each in calibrated.cliques if (each.table == 0).any())
    codes = sample_cells(calibrated, 10_000, generator).copy()
    codes[17, list(clique.attributes)] = np.argwhere(clique.table == 0)[0]
    with pytest.raises(SampleMismatch, match="excludes"):
        check(calibrated, codes)


def single(shares):
    clique = Clique(attributes=(0,), separator=0, parent=-1, table=shares)
    return CalibratedTree(sizes=(len(shares),), total=1.0, cliques=(clique,))


def test_one_cell_too_many_does_not():
    """20 rows are expected and 300 found: nothing for the table as a whole, impossible for the cell."""
    shares = np.array([1e-4, 0.4, 0.5999])
    codes = np.repeat(np.arange(3), [300, 79_720, 119_980]).astype(np.uint8)[:, None]
    with pytest.raises(SampleMismatch, match="count is not"):
        check(single(shares), codes)


def test_many_cells_a_little_away_do_not():
    """10 rows are expected of each of 10,000 values, 2 and 18 found: possible for a cell, impossible for the table."""
    codes = np.repeat(np.arange(10_000), np.tile([2, 18], 5000)).astype(np.uint16)[:, None]
    with pytest.raises(SampleMismatch, match="table is not"):
        check(single(np.full(10_000, 1e-4)), codes)


def test_a_missing_column_does_not(calibrated):
    with pytest.raises(SampleMismatch, match="one column"):
        check(calibrated, np.zeros((3, 4), dtype=np.uint8))
