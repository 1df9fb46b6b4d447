import itertools

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.inference import cell_sampler as sampling
from discreet.inference.calibrated_tree import CalibratedTree, Clique
from discreet.inference.cell_sampler import sample_cells, sample_cells_in_parts
from discreet.inference.sample_totals import SampleTotal, drawing_priority, move_units
from inference.sample_models import counts_of, independent_rows, joint, model_of
from tiers import size


@pytest.fixture
def generator():
    return np.random.default_rng()


SIZES = (4, 3, 5, 6, 4, 2)
EDGES = [((0, 1), (), -1), ((2,), (1,), 0), ((3,), (1, 2), 1), ((4,), (0,), 0), ((5,), (3,), 2)]


def with_totals(generator, keep, n, **options):
    """A random model raked to whole counts of these sets, each within a clique: so it stays a model of this tree."""
    random = model_of(SIZES, EDGES, generator, total=float(n), concentration=2.0, **options)
    table = joint(random) * n
    rows = independent_rows(random, n, generator)
    wanted = {attributes: counts_of(rows, attributes, SIZES) for attributes in keep}
    axes = list(range(6))
    for _ in range(1000):
        away = 0.0
        for attributes, counts in wanted.items():
            now = np.einsum(table, axes, list(attributes))
            away = max(away, float(np.abs(now - counts).max()))
            factor = np.divide(counts, now, out=np.zeros_like(now), where=now > 0)
            table = np.einsum(table, axes, factor, list(attributes), axes)
        if away < 1e-9 * n:
            break
    cliques = tuple(
        Clique(
            attributes=each.attributes,
            separator=each.separator,
            parent=each.parent,
            table=np.einsum(table, axes, list(each.attributes)),
        )
        for each in random.cliques
    )
    return CalibratedTree(sizes=SIZES, total=float(table.sum()), cliques=cliques), wanted


@pytest.mark.parametrize(
    "keep",
    [
        [(0,)],
        [(0, 1)],
        [(3,)],
        [(1, 2, 3)],
        [(5,)],
        [(0,), (3,)],
        [(0, 1), (2,), (4,)],
        [(5,), (4,), (2,), (1,)],
        [(1, 2), (2, 3)],
        [(3, 5), (0, 4)],
    ],
)
def test_totals_come_out_exactly(generator, keep):
    for n in (60, 5000):
        calibrated, wanted = with_totals(generator, keep, n)
        codes = sample_cells(calibrated, n, generator, keep=keep)
        for attributes, counts in wanted.items():
            assert np.array_equal(counts_of(codes, attributes, SIZES), counts)


def test_totals_with_excluded_cells(generator):
    """The first kept set is exact whatever is excluded, and nothing that is excluded appears."""
    for _ in range(20):
        calibrated, wanted = with_totals(generator, [(2, 3)], 400, zeros=0.5)
        codes = sample_cells(calibrated, 400, generator, keep=[(2, 3)])
        assert np.array_equal(counts_of(codes, (2, 3), SIZES), wanted[2, 3])
        for clique in calibrated.cliques:
            assert (counts_of(codes, clique.attributes, SIZES)[clique.table == 0] == 0).all()


def test_a_kept_sample_is_still_of_the_model(generator):
    calibrated, _ = with_totals(generator, [(0,), (3,)], 5000)
    found = sum(
        counts_of(sample_cells(calibrated, 5000, generator, keep=[(0,), (3,)]), (1, 4), SIZES) for _ in range(5)
    )
    assert np.abs(found / 25_000 - calibrated.project((1, 4)) / 5000).sum() / 2 < 0.03


def test_parts_together_keep_totals(generator):
    keep = [(0,), (3,)]
    calibrated, wanted = with_totals(generator, keep, 5000)
    codes = np.concatenate(list(sample_cells_in_parts(calibrated, 5000, generator, rows=700, keep=keep)))
    for attributes, counts in wanted.items():
        assert np.array_equal(counts_of(codes, attributes, SIZES), counts)
    with pytest.raises(UsageError, match="overlap"):
        sample_cells_in_parts(calibrated, 5000, generator, keep=[(0,), (0, 1)])


def test_what_cannot_be_kept_is_refused(generator):
    calibrated, _ = with_totals(generator, [(0,)], 500)
    with pytest.raises(UsageError, match="whole numbers"):
        sample_cells(calibrated, 501, generator, keep=[(0,)])
    with pytest.raises(UsageError, match="whole numbers"):
        sample_cells(calibrated, 500, generator, keep=[(3,)])
    whole = CalibratedTree(
        sizes=(2, 2, 2),
        total=8.0,
        cliques=(
            Clique(attributes=(0, 1), separator=0, parent=-1, table=np.full((2, 2), 2.0)),
            Clique(attributes=(1, 2), separator=1, parent=0, table=np.full((2, 2), 2.0)),
        ),
    )
    with pytest.raises(UsageError, match="no single clique"):
        sample_cells(whole, 8, generator, keep=[(0, 2)])


def test_a_triangle_of_totals_is_refused(generator):
    """Three pairs of one clique: no order of drawing settles each of them alone."""
    table = np.full((2, 2, 2), 2.0)
    clique = Clique(attributes=(0, 1, 2), separator=0, parent=-1, table=table)
    calibrated = CalibratedTree(sizes=(2, 2, 2), total=16.0, cliques=(clique,))
    with pytest.raises(UsageError, match="cannot both be kept"):
        sample_cells(calibrated, 16, generator, keep=[(0, 1), (1, 2), (0, 2)])
    assert (counts_of(sample_cells(calibrated, 16, generator, keep=[(0, 1, 2)]), (0, 1, 2), (2, 2, 2)) == 2).all()


def dependent(generator, *, doubled):
    """0 - 1 - 2, where 2 is the last bit of 1, and 0 the one before it if doubled: 50 of 100 rows have each bit."""
    last, before = np.arange(40) % 2, np.arange(40) // 2 % 2
    counts = generator.random(40)
    for _ in range(200):
        for bit in (last, before):
            counts *= (50 / np.bincount(bit, weights=counts))[bit]
    first = np.eye(2)[before] if doubled else np.full((40, 2), 0.5)
    return CalibratedTree(
        sizes=(2, 40, 2),
        total=100.0,
        cliques=(
            Clique(attributes=(0, 1), separator=0, parent=-1, table=(first * counts[:, None]).T),
            Clique(attributes=(1, 2), separator=1, parent=0, table=np.eye(2)[last] * counts[:, None]),
        ),
    )


@pytest.mark.parametrize("keep", [[(0,), (2,)], [(2,), (0,)]])
def test_a_total_that_depends_on_what_is_drawn_before_it(generator, monkeypatch, keep):
    """From 0 the last bit of 1 comes out as it likes, and 2 cannot be settled any more; from 2 all is well."""
    monkeypatch.setattr(sampling, "ATTEMPTS", 1)
    for _ in range(30):
        codes = sample_cells(dependent(generator, doubled=False), 100, generator, keep=keep)
        assert list(np.bincount(codes[:, 0])) == [50, 50] and list(np.bincount(codes[:, 2])) == [50, 50]
        assert (codes[:, 1] % 2 == codes[:, 2]).all()


def test_totals_are_kept_or_refused(generator, monkeypatch):
    """Both 0 and 2 depend on 1: whichever comes first, the other is kept by luck or the sample is refused: one of six is."""
    refused = 0
    monkeypatch.setattr(sampling, "ATTEMPTS", 1)
    for _ in range(size(90, 150)):
        try:
            codes = sample_cells(dependent(generator, doubled=True), 100, generator, keep=[(0,), (2,)])
        except UsageError as error:
            assert "cannot be kept exactly together" in str(error)
            refused += 1
        else:
            assert list(np.bincount(codes[:, 0])) == [50, 50] and list(np.bincount(codes[:, 2])) == [50, 50]
    assert refused


def test_attributes_of_several_totals_are_drawn_first(generator):
    """{0, 2} and {1, 2} can both be kept only if 2 is drawn before 0 and 1."""
    counts = generator.integers(1, 9, size=(3, 4, 5))
    first, second = counts.sum(axis=1), counts.sum(axis=0)
    table = first[:, None, :] * second[None, :, :] / counts.sum(axis=(0, 1))
    clique = Clique(attributes=(0, 1, 2), separator=0, parent=-1, table=table)
    calibrated = CalibratedTree(sizes=(3, 4, 5), total=float(counts.sum()), cliques=(clique,))
    codes = sample_cells(calibrated, int(counts.sum()), generator, keep=[(0, 2), (1, 2)])
    assert np.array_equal(counts_of(codes, (0, 2), (3, 4, 5)), first)
    assert np.array_equal(counts_of(codes, (1, 2), (3, 4, 5)), second)


def test_the_first_set_is_drawn_first():
    one, two, three = (
        SampleTotal(attributes=each, counts=np.ones((2,) * len(each), dtype=np.int64))
        for each in ((4,), (1, 2), (2, 3))
    )
    assert drawing_priority([one, two, three]) == {4: 3, 1: 1, 2: 2, 3: 1}


def test_settling_finds_what_there_is(generator):
    """Against every table of 3 x 3 with the same margins."""
    solved = 0
    for _ in range(150):
        weights = (generator.random((3, 3)) < 0.6).astype(float)
        counts = generator.integers(0, 3, size=(3, 3)) * (weights > 0)
        wanted = generator.permutation(counts.sum(axis=0))
        settled = move_units(counts, weights, wanted)
        assert (settled is not None) == _possible(counts.sum(axis=1), wanted, weights > 0)
        if settled is not None:
            solved += 1
            assert np.array_equal(settled.sum(axis=1), counts.sum(axis=1))
            assert np.array_equal(settled.sum(axis=0), wanted)
            assert (settled >= 0).all() and (settled[weights == 0] == 0).all()
    assert 0 < solved < 150


def _possible(rows, columns, allowed):
    choices = [
        [
            row
            for row in itertools.product(range(total + 1), repeat=3)
            if sum(row) == total and not np.any(np.array(row)[~may])
        ]
        for total, may in zip(rows, allowed, strict=True)
    ]
    return any(np.array_equal(np.sum(table, axis=0), columns) for table in itertools.product(*choices))
