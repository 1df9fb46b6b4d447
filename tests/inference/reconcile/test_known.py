"""Identities, least squares and standard errors against brute force over every possible record."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.region import ANYTHING, Box, Region, ValueSet
from discreet.errors import Refused
from discreet.inference.reconcile import (
    ColumnDomains,
    MeasuredNumber,
    Reconciliation,
    geometry,
    is_reconcilable,
    reconcile,
)
from discreet.inference.reconcile import region_factor as factoring
from discreet.schema.column import BooleanColumn, CategoryColumn, NumberColumn, TextColumn
from inference.reconcile.question_log import DOMAIN, People, QuestionLog, measured
from inference.reconcile.small_worlds import brute_force, regions_like, small_world
from tiers import size

MALE, FEMALE = (Region((Box({"sex": ValueSet.of([code])}),)) for code in (0, 1))


def determined(found, index):
    """Whether the other measured numbers determine this one."""
    return any(index == place for identity in found.identities for place, _ in identity.terms)


def sexes(*, closed: bool) -> ColumnDomains:
    return ColumnDomains.of([CategoryColumn(name="sex", values=("Male", "Female"), closed=closed)])


def lecture() -> list[MeasuredNumber]:
    asked = [(Region.whole(), 2005), (MALE, 1001), (FEMALE, 995)]
    return [MeasuredNumber(region=region, value=value, variance=3.0) for region, value in asked]


def arrays(numbers: list[MeasuredNumber]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([float(number.value) for number in numbers]), np.array([number.variance for number in numbers])


def test_the_lecture_with_sex_closed() -> None:
    found = reconcile(lecture(), sexes(closed=True))
    assert found.values == pytest.approx((2002.0, 1004.0, 998.0), abs=1e-9)
    assert found.standard_errors == pytest.approx((2**0.5,) * 3, abs=1e-12)
    assert found.chi_square == pytest.approx(9.0)
    (identity,) = found.identities
    signs = dict(identity.terms)
    assert {place: amount / signs[0] for place, amount in signs.items()} == {0: 1, 1: -1, 2: -1}
    assert all(determined(found, place) for place in range(3))


def test_the_lecture_with_sex_open() -> None:
    """NULL may stand there, so nothing contradicts anything."""
    found = reconcile(lecture(), sexes(closed=False))
    assert found.values == (2005.0, 1001.0, 995.0)
    assert found.identities == () and found.chi_square == 0.0 and not determined(found, 0)
    null = MeasuredNumber(region=Region((Box({"sex": ValueSet((), null=True)}),)), value=3, variance=3.0)
    assert len(reconcile([*lecture(), null], sexes(closed=False)).identities) == 1


def test_what_a_declaration_says() -> None:
    declared = ColumnDomains.of(
        [
            NumberColumn(name="age", type="integer", low=0, high=99),
            NumberColumn(name="pay", type="integer", low=0),
            BooleanColumn(name="smoker", closed=True),
            TextColumn(name="note"),
        ]
    )
    assert declared.possible("age") == ValueSet(((0, 100),), True)
    assert declared.possible("pay") == ANYTHING
    assert declared.possible("smoker") == ValueSet(((0, 2),), False)
    assert declared.possible("note") == ValueSet((("", None),), True)
    assert declared.possible("unheard") == ANYTHING


def test_bounds_have_no_cell_outside() -> None:
    age = ColumnDomains.of([NumberColumn(name="age", type="integer", low=0, high=99)])
    sides = [ValueSet.interval(None, 50), ValueSet.interval(50, None), ValueSet((), null=True)]
    parts = [MeasuredNumber(region=Region((Box({"age": side}),)), value=10, variance=1.0) for side in sides]
    known = Reconciliation(parts, age)
    assert known.estimate_of(Region.whole()).value == pytest.approx(30.0)
    assert known.estimate_of(Region((Box({"age": ValueSet.interval(0, 100)}),))).value == pytest.approx(20.0)
    assert known.estimate_of(Region((Box({"age": ValueSet.interval(100, None)}),))).variance == 0.0
    assert known.estimate_of(Region((Box({"age": ValueSet.interval(0, 49)}),))) is None
    assert (
        Reconciliation(parts, ColumnDomains()).estimate_of(Region((Box({"age": ValueSet.interval(0, 100)}),))) is None
    )


@pytest.mark.parametrize("seeds", [range(size(40, 300)), range(300, size(340, 600))], ids=str)
def test_small_worlds_against_all_atoms(seeds: range) -> None:
    check_small_worlds(seeds)


@pytest.mark.fuzz
@pytest.mark.parametrize("seeds", [range(start, start + 500) for start in range(600, 4600, 500)], ids=str)
def test_many_small_worlds_against_all_atoms(seeds: range) -> None:
    check_small_worlds(seeds)


def check_small_worlds(seeds: range) -> None:
    identities = 0
    for seed in seeds:
        world = small_world(seed)
        found = Reconciliation(world.measured, world.domain).reconciled
        noisy, variances = arrays(world.measured)
        rank, values, covariance = brute_force(
            world.matrix([number.region for number in world.measured]), noisy, variances
        )
        assert len(noisy) - len(found.identities) == rank, seed
        assert (np.abs(np.array(found.values) - values) <= 1e-9 * np.sqrt(variances)).all(), seed
        stated = np.array(found.standard_errors) ** 2
        assert (np.abs(stated - np.diagonal(covariance)) <= 1e-9 * variances).all(), seed
        assert found.chi_square == pytest.approx(((noisy - values) ** 2 / variances).sum(), abs=1e-6, rel=1e-9)
        identities += len(found.identities)
    assert identities > 2.5 * len(seeds)


def test_identities_hold_on_any_data() -> None:
    rng = random.Random("any data")
    for seed in range(size(80, 300)):
        world = small_world(seed)
        people = [rng.randint(-5, 5) for _ in world.records]
        exact = [
            sum(amount for record, amount in zip(world.records, people, strict=True) if record in number.region)
            for number in world.measured
        ]
        for identity in reconcile(world.measured, world.domain).identities:
            assert sum(amount * exact[place] for place, amount in identity.terms) == 0, seed


def test_further_questions_against_all_atoms() -> None:
    """Determined exactly if its row does not raise the rank; then the estimate is that of brute force."""
    determined, seeds = 0, size(40, 120)
    for seed in range(seeds):
        world = small_world(seed)
        known = Reconciliation(world.measured, world.domain)
        noisy, variances = arrays(world.measured)
        rows = world.matrix([number.region for number in world.measured])
        _, values, covariance = brute_force(rows, noisy, variances)
        for region in regions_like(world, seed, 4):
            row = world.matrix([region])[0]
            amounts, *_ = np.linalg.lstsq(rows.T, row, rcond=None)
            found = known.estimate_of(region)
            assert (found is not None) == bool(np.abs(rows.T @ amounts - row).max() < 1e-9), (seed, region)
            if found is not None:
                spread = np.sqrt(variances.max())
                assert found.value == pytest.approx(amounts @ values, abs=1e-8 * spread)
                assert found.variance == pytest.approx(amounts @ covariance @ amounts, abs=1e-9 * spread**2)
                weights = np.array([found.weights.get(place, 0.0) for place in range(len(noisy))])
                assert weights @ noisy == pytest.approx(found.value, abs=1e-7 * spread)
                assert weights**2 @ variances == pytest.approx(found.variance, abs=1e-8 * spread**2)
                determined += row.any()
    assert determined > 0.6 * seeds


def test_a_cut_that_a_question_does_not_need() -> None:
    """[0, 40) or [40, 100), and any sex or none: the union is everybody known, though nobody ever cut there."""
    domain = ColumnDomains(columns={"age": ValueSet.interval(0, 100), "sex": ValueSet(((0, 2),), True)})
    known = Reconciliation([MeasuredNumber(region=Region.whole(), value=7, variance=2.0)], domain)
    left, right = (Box({"age": ValueSet.interval(*ends)}) for ends in ((0, 40), (40, 100)))
    male, other = (Box({"sex": side}) for side in (ValueSet.of([0]), ValueSet.of([0]).complement()))
    assert known.estimate_of(Region((left & male, left & other, right))).value == pytest.approx(7.0)
    assert known.estimate_of(Region((left & male, left & other))) is None


def test_missing_precision() -> None:
    known = Reconciliation(lecture(), sexes(closed=True))
    whole = known.estimate_of(Region.whole())
    assert whole.variance == pytest.approx(2.0)
    assert whole.missing(1.0) == pytest.approx(2.0) and whole.with_another(2.0) == pytest.approx(1.0)
    assert whole.missing(2.5) is None and whole.share(2.0) == pytest.approx(0.5)
    again = [*lecture(), MeasuredNumber(region=Region.whole(), value=2000, variance=2.0)]
    assert Reconciliation(again, sexes(closed=True)).estimate_of(Region.whole()).variance == pytest.approx(1.0)


def test_repeats_nobody_and_families() -> None:
    nobody = Region((Box({"sex": ValueSet.of([5])}),))
    numbers = [
        MeasuredNumber(region=MALE, value=10, variance=1.0),
        MeasuredNumber(region=MALE, value=20, variance=4.0),
        MeasuredNumber(region=nobody, value=3, variance=1.0),
        MeasuredNumber(region=MALE, value=1000, variance=1.0, family="sum(pay)"),
        MeasuredNumber(region=MALE, value=Fraction(1001, 1), variance=1.0, family="sum(pay)"),
    ]
    known = Reconciliation(numbers, sexes(closed=True))
    assert known.reconciled.values == pytest.approx((12.0, 12.0, 0.0, 1000.5, 1000.5))
    assert known.reconciled.standard_errors == pytest.approx((0.8**0.5, 0.8**0.5, 0.0, 0.5**0.5, 0.5**0.5))
    assert known.reconciled.degrees == 3
    assert known.estimate(1).weights == pytest.approx({0: 0.8, 1: 0.2})
    assert known.estimate(2).weights == {} and known.estimate_of(nobody, "sum(age)").variance == 0.0
    assert known.estimate_of(FEMALE) is None and known.estimate_of(MALE, "sum(age)") is None
    assert known.estimate_of(MALE, "sum(pay)").value == pytest.approx(1000.5)


def test_nothing_measured() -> None:
    known = Reconciliation([], ColumnDomains())
    assert known.reconciled.values == () and known.estimate_of(Region.whole()) is None
    assert Reconciliation(
        [MeasuredNumber(region=Region(()), value=4, variance=1.0)], ColumnDomains()
    ).reconciled.values == (0.0,)


@pytest.mark.parametrize(("value", "variance"), [(1.0, 0.0), (1.0, -1.0), (1.0, float("inf")), (float("nan"), 1.0)])
def test_numbers_that_make_no_sense(value: float, variance: float) -> None:
    with pytest.raises(ValueError):
        MeasuredNumber(region=Region.whole(), value=value, variance=variance)


def test_regions_with_too_many_parts_are_refused() -> None:
    rng = random.Random("parts")
    names = [f"c{number}" for number in range(8)]
    boxes = [
        Box({name: ValueSet.interval(rng.randint(0, 3), rng.randint(5, 9)) for name in rng.sample(names, 4)})
        for _ in range(64)
    ]
    domain = ColumnDomains(columns={name: ValueSet.interval(0, 10) for name in names})
    assert not is_reconcilable(Region(tuple(boxes)), domain)
    assert Reconciliation(lecture(), domain).estimate_of(Region(tuple(boxes))) is None
    with pytest.raises(Refused, match="disjoint parts"):
        reconcile([MeasuredNumber(region=Region(tuple(boxes)), value=1, variance=1.0)], domain)


def thin() -> tuple[ColumnDomains, list[MeasuredNumber]]:
    """Everybody but one possible record of 40^12: floats cannot tell it from everybody."""
    names = [f"c{number}" for number in range(12)]
    domain = ColumnDomains(columns={name: ValueSet.interval(0, 40) for name in names})
    cuts = [Region((Box({name: ValueSet.of([code])}),)) for name in names for code in range(40)]
    point = Region(tuple(Box({name: ValueSet.interval(1, 40)}) for name in names))
    numbers = [MeasuredNumber(region=region, value=5, variance=1.0) for region in [Region.whole(), point, *cuts]]
    return domain, numbers


def test_a_thin_difference_is_a_difference() -> None:
    domain, numbers = thin()
    known = Reconciliation(numbers, domain)
    shape = known.families["rows"].geometry
    assert shape.unproved == [1] or shape.unproved == [0]
    assert len(known.reconciled.identities) == 12
    assert known.estimate_of(numbers[1].region).weights == {1: 1.0}
    assert known.reconciled.values[1] == 5.0
    within = shape.containments()  # for floats each lies within the other
    assert within[1, 0] and not within[0, 1]


def test_without_the_proof_it_would_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factoring, "PRIME", 1)  # everything is 0 modulo 1: every relation passes
    domain, numbers = thin()
    assert len(reconcile(numbers, domain).identities) == 13


def test_no_broken_relation_passes() -> None:
    """Every proved relation of a log, with one coefficient off by one, or one region for another."""
    shape = geometry.region_geometry(QuestionLog(3).regions(400), DOMAIN)
    rng = random.Random("broken")
    assert len(shape.relations) > 20
    for found in shape.relations:
        places = np.array([place for place, _ in found.numerators])
        amounts = np.array([numerator / found.denominator for _, numerator in found.numerators])
        own = shape.prints[found.dependent]
        assert factoring.find_relation(found.dependent, own, places, amounts, shape.prints.__getitem__) == found
        amounts[rng.randrange(len(amounts))] += rng.choice([-1.0, 1.0])
        assert factoring.find_relation(found.dependent, own, places, amounts, shape.prints.__getitem__) is None


def test_the_hull_would_be_wrong() -> None:
    """A widened region in place of the exact one makes an identity that data break."""
    domain = ColumnDomains(columns={"a": ValueSet.interval(0, 3), "b": ValueSet.interval(0, 3)})
    boxes = [Box({"a": ValueSet.of([code]), "b": ValueSet.of([code])}) for code in range(3)]
    exact, whole = Region(tuple(boxes)), Region.whole()
    numbers = [MeasuredNumber(region=region, value=1, variance=1.0) for region in (exact, whole)]
    assert reconcile(numbers, domain).identities == ()
    hull = MeasuredNumber(
        region=Region((Box({"a": ValueSet.interval(0, 3), "b": ValueSet.interval(0, 3)}),)), value=1, variance=1.0
    )
    assert len(reconcile([hull, numbers[1]], domain).identities) == 1


@pytest.fixture(scope="module")
def log() -> tuple[Reconciliation, np.ndarray]:
    regions, people = QuestionLog(1).regions(120), People(3000, 1)
    exact = np.array([people.count(region) for region in regions], dtype=float)
    return Reconciliation(measured(regions, exact, 1), DOMAIN), exact


def test_standard_errors_over_20000_draws(log: tuple[Reconciliation, np.ndarray]) -> None:
    """Values are fixed combinations of the noisy numbers, so 20,000 draws are one product. Laplace noise."""
    known, exact = log
    size, draws = len(exact), 20_000
    weights = np.zeros((size, size))
    for place in range(size):
        for other, weight in known.estimate(place).weights.items():
            weights[place, other] = weight
    _, variances = arrays(known.measured)
    noise = np.random.default_rng(7).laplace(0, np.sqrt(variances / 2.0), (draws, size))
    assert np.abs(weights @ exact - exact).max() < 1e-6  # unbiased: the true numbers agree already
    errors = noise @ weights.T
    stated = np.array(known.reconciled.standard_errors)
    there = stated > 0.0
    ratio = (errors[:, there] ** 2 / stated[there] ** 2).mean(axis=0)
    # A square of unit variance and kurtosis at most 6 varies by at most 5: 7 deviations, a few hundred numbers.
    hair = 7.0 * np.sqrt(5.0 / draws)
    assert np.abs(ratio - 1.0).max() < hair
    assert np.abs(ratio / 0.93**2 - 1.0).min() > hair / 2.0  # errors stated 7% too small would show
    left = ((noise - errors) ** 2 / variances).sum(axis=1)
    assert abs(left.mean() - known.reconciled.degrees) < 7.0 * left.std() / np.sqrt(draws)


def test_agreeing_never_raises_the_total_weighted_error(log: tuple[Reconciliation, np.ndarray]) -> None:
    """A projection on a space that holds the truth: error falls by exactly the distance moved."""
    known, exact = log
    noisy, variances = arrays(known.measured)
    values = np.array(known.reconciled.values)
    before, after = (((found - exact) ** 2 / variances).sum() for found in (noisy, values))
    assert before - after == pytest.approx(known.reconciled.chi_square)
    for place, error in enumerate(known.reconciled.standard_errors):
        assert error <= np.sqrt(variances[place]) * (1 + 1e-12)


def test_relations_with_large_denominators_are_not_used() -> None:
    """Random ranges in two dimensions are dependent by combinations that no small fractions write: safe, not used."""
    rng = random.Random("ranges")
    domain = ColumnDomains(columns={"x": ValueSet.interval(0, 8), "y": ValueSet.interval(0, 8)})
    ends = [[sorted(rng.sample(range(9), 2)) for _ in "xy"] for _ in range(140)]
    regions = [Region((Box({"x": ValueSet.interval(*a), "y": ValueSet.interval(*b)}),)) for a, b in ends]
    cells = np.array([[(a[0] <= x < a[1]) * (b[0] <= y < b[1]) for x in range(8) for y in range(8)] for a, b in ends])
    known = Reconciliation([MeasuredNumber(region=region, value=3, variance=1.0) for region in regions], domain)
    assert len(known.reconciled.identities) <= 140 - np.linalg.matrix_rank(cells)
    for identity in known.reconciled.identities:
        assert not any(sum(amount * int(cells[place, cell]) for place, amount in identity.terms) for cell in range(64))


def test_very_different_variances_and_very_large_numbers() -> None:
    domain = ColumnDomains(columns={"x": ValueSet.interval(0, 12)})
    ends = [(low, high) for low in range(12) for high in range(low + 1, 13)]
    regions = [Region((Box({"x": ValueSet.interval(*pair)}),)) for pair in ends]
    rng = np.random.default_rng(3)
    variances = 10.0 ** rng.uniform(-6, 6, len(ends))
    cells = np.array([[low <= cell < high for cell in range(12)] for low, high in ends], dtype=float)
    exact = cells @ rng.integers(0, 10**14, 12)
    numbers = [
        MeasuredNumber(region=region, value=float(value), variance=float(variance))
        for region, value, variance in zip(regions, exact + rng.normal(0, 1e-3, len(ends)), variances, strict=True)
    ]
    found = reconcile(numbers, domain)
    half = cells / np.sqrt(variances)[:, None]
    covariance = cells @ np.linalg.inv(half.T @ half) @ cells.T
    assert np.array(found.standard_errors) ** 2 == pytest.approx(np.diagonal(covariance), rel=1e-6)
    assert np.array(found.values) == pytest.approx(exact, abs=2.0)  # the numbers themselves carry 0.1


def test_the_same_numbers_give_the_same() -> None:
    regions = QuestionLog(5).regions(200)
    numbers = measured(regions, np.zeros(200), 5)
    assert Reconciliation(numbers, DOMAIN).reconciled == Reconciliation(numbers, DOMAIN).reconciled
