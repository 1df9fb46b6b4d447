"""Non-negative, whole, and with a real table behind: against brute force, and refused where not proved."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.accounting.region import Box, Region, ValueSet
from discreet.errors import Refused
from discreet.inference.reconcile import (
    ColumnDomains,
    MeasuredNumber,
    Reconciliation,
    fit_table,
    make_nonnegative,
    round_answers,
)
from discreet.inference.reconcile.atom_pricing import AtomPricing
from discreet.inference.reconcile.complementarity import solve_complementarity
from discreet.inference.reconcile.nonnegative_least_squares import nonnegative_least_squares
from discreet.inference.reconcile.part_constraints import PartConstraints
from discreet.inference.reconcile.record_atoms import Atoms
from inference.reconcile.question_log import DOMAIN, People, QuestionLog, measured
from inference.reconcile.small_worlds import SmallWorld, small_world
from tiers import size


def least_distance(world: SmallWorld, values: np.ndarray) -> float:
    """A lower bound on the distance of every non-negative table, from these numbers and all atoms.

    For g at most 0 on every atom, sum(2 g z - g^2 v) is one; g is the gradient, with the little that is above 0 on
    some atom taken off a combination of regions that holds all atoms which a region holds.
    """
    rows = world.matrix([number.region for number in world.measured])
    noisy = np.array([float(number.value) for number in world.measured])
    variances = np.array([number.variance for number in world.measured])
    gradient = (noisy - values) / variances
    gradient -= max(0.0, float((gradient @ rows).max()))
    assert (gradient @ rows).max() <= 1e-12 * np.abs(gradient).max(initial=1.0)
    return float((2.0 * gradient * noisy - gradient**2 * variances).sum())


def side(name: str, *codes: int) -> Region:
    return Region((Box({name: ValueSet.of(codes)}),))


@pytest.mark.parametrize("seeds", [range(size(30, 200)), range(200, size(230, 400))], ids=str)
def test_tables_against_all_atoms(seeds: range) -> None:
    check_tables(seeds)


@pytest.mark.fuzz
@pytest.mark.parametrize("seeds", [range(start, start + 500) for start in range(400, 4400, 500)], ids=str)
def test_many_tables_against_all_atoms(seeds: range) -> None:
    check_tables(seeds)


def check_tables(seeds: range) -> None:
    """The nearest table's distance is proved by looking at every atom; that of numbers alone is below, mostly equal."""
    tight = 0
    for seed in seeds:
        world = small_world(seed)
        known = Reconciliation(world.measured, world.domain)
        found = fit_table(known, near=1e-9)
        best = least_distance(world, np.array(found.values))
        assert best <= found.distance * (1.0 + 1e-12) + 1e-12, seed
        assert found.distance == pytest.approx(best, rel=1e-9, abs=1e-9), seed
        bound = make_nonnegative(known).bound
        assert bound <= found.distance + 1e-9 * (1.0 + best), seed
        tight += bound >= best - 1e-9 * (1.0 + best)
    assert tight > 0.9 * len(seeds)


def test_a_table_gives_its_numbers() -> None:
    for seed in range(size(60, 200)):
        world = small_world(seed)
        found = fit_table(Reconciliation(world.measured, world.domain), near=1e-9)
        for number, value in zip(world.measured, found.values, strict=True):
            counted = sum(amount for record, amount in found.records if record in number.region)
            assert counted == pytest.approx(value, abs=1e-7)
        assert all(amount > 0.0 for _, amount in found.records)


def test_positive_numbers_satisfy_everything() -> None:
    for seed in range(size(80, 300)):
        world = small_world(seed)
        known = Reconciliation(world.measured, world.domain)
        found = make_nonnegative(known)
        values = np.array(found.values)
        slack = 1e-6 * max(number.variance for number in world.measured) ** 0.5
        assert values.min() >= 0.0
        rows = world.matrix([number.region for number in world.measured]).astype(bool)
        for one, other in itertools.permutations(range(len(values)), 2):
            if (rows[one] <= rows[other]).all():
                assert values[one] <= values[other] + slack, (seed, one, other)
        for identity in known.reconciled.identities:
            assert abs(sum(float(amount) * values[place] for place, amount in identity.terms)) <= slack
        assert found.bound <= found.distance + 1e-6 * (1.0 + found.distance)
        assert found.distance >= known.reconciled.chi_square - 1e-6


def test_containments_and_exclusions_are_those_of_the_atoms() -> None:
    seen, seeds = 0, size(120, 400)
    for seed in range(seeds):
        world = small_world(seed)
        shape = Reconciliation(world.measured, world.domain).families["rows"].geometry
        firsts = {int(number): place for place, number in reversed(list(enumerate(shape.number))) if number >= 0}
        rows = world.matrix([world.measured[firsts[number]].region for number in range(len(shape.pieces))]).astype(bool)
        within = shape.containments()
        for one, other in itertools.permutations(range(len(rows)), 2):
            assert within[one, other] == (rows[one] <= rows[other]).all(), seed
            assert (shape.shared[one, other] == 0.0) == (not (rows[one] & rows[other]).any()), seed
            seen += int(within[one, other])
    assert seen > 0.75 * seeds


def test_an_unfinished_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [
        MeasuredNumber(region=side("a", 0), value=-8, variance=4.0),
        MeasuredNumber(region=side("a", 1), value=9, variance=4.0),
    ]
    known = Reconciliation(numbers, ColumnDomains(columns={"a": ValueSet.interval(0, 3)}))
    assert make_nonnegative(known).values == pytest.approx((0.0, 9.0))

    def halfway(*given):
        x, free = solve_complementarity(*given)
        return x / 2.0, free

    def too_far(*given):
        x, free = solve_complementarity(*given)
        return x * 1.5, free

    for broken, words in ((halfway, "lost numerical precision"), (too_far, "not proved")):
        monkeypatch.setattr("discreet.inference.reconcile.nonnegative_answers.solve_complementarity", broken)
        with pytest.raises(Refused, match=words):
            make_nonnegative(known)


def test_an_unfinished_table_is_refused() -> None:
    regions, people = QuestionLog(2).regions(60), People(2000, 2)
    exact = np.array([people.count(region) for region in regions], dtype=float)
    known = Reconciliation(measured(regions, exact, 2), DOMAIN)
    with pytest.raises(Refused, match="close to the best"):
        fit_table(known, rounds=3)
    found = fit_table(known)
    assert found.bound <= found.distance <= found.bound + 0.01 * len(regions) + 1e-6


def test_pricing_is_the_best_record() -> None:
    rng = np.random.default_rng(5)
    for seed in range(size(50, 150)):
        world = small_world(seed)
        shape = Reconciliation(world.measured, world.domain).families["rows"].geometry
        if not shape.pieces:
            continue
        atoms = Atoms(shape)
        worth = rng.normal(size=len(shape.pieces))
        firsts = {int(number): place for place, number in reversed(list(enumerate(shape.number))) if number >= 0}
        rows = world.matrix([world.measured[firsts[number]].region for number in range(len(shape.pieces))])
        best = float((worth @ rows).max())
        priced = AtomPricing(shape, atoms).best(worth, floor=-100.0, nodes=10_000)
        assert priced.upper == pytest.approx(best, abs=1e-9)
        assert worth @ atoms.regions_holding(priced.atom) == pytest.approx(best, abs=1e-9)


def test_small_quadratic_programs() -> None:
    rng = np.random.default_rng(11)
    for _ in range(300):
        rows, columns = rng.integers(2, 9, 2)
        matrix = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.8)
        matrix = np.concatenate((matrix, matrix[:, :1]), axis=1)  # a constraint twice: singular
        matrix = matrix[:, np.abs(matrix).sum(axis=0) > 0.0]
        matrix /= np.linalg.norm(matrix, axis=0)
        target = rng.normal(size=rows)
        start = np.zeros(matrix.shape[1], dtype=bool)
        x, _ = solve_complementarity(matrix.T @ matrix, -matrix.T @ target, start)
        again = nonnegative_least_squares(matrix, target, np.zeros(matrix.shape[1]))
        for found, hair in ((x, 1e-8), (again, 1e-11)):
            slope = matrix.T @ (target - matrix @ found)  # the optimum: no way up, level where it is positive
            assert found.min(initial=0.0) >= 0.0 and slope.max(initial=0.0) < hair
            assert np.abs(slope[found > 0.0]).max(initial=0.0) < hair


@pytest.fixture(scope="module", params=[1, pytest.param(4, marks=pytest.mark.deep)])
def log(request: pytest.FixtureRequest) -> tuple[Reconciliation, np.ndarray]:
    regions, people = QuestionLog(request.param).regions(600), People(10_000, request.param)
    exact = np.array([people.count(region) for region in regions], dtype=float)
    return Reconciliation(measured(regions, exact, request.param), DOMAIN), exact


def test_each_step_comes_nearer_to_the_truth(log: tuple[Reconciliation, np.ndarray]) -> None:
    """The truth is in both sets, and both steps project in one metric: the weighted error cannot rise. Here it halves."""
    known, exact = log
    variances = np.array([number.variance for number in known.measured])
    raw = np.array([float(number.value) for number in known.measured])
    fitted, nearest = np.array(known.reconciled.values), np.array(make_nonnegative(known).values)
    errors = [float(((found - exact) ** 2 / variances).mean()) for found in (raw, fitted, nearest)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.52 * errors[0]


def test_whole_numbers_agree_exactly(log: tuple[Reconciliation, np.ndarray]) -> None:
    known, _ = log
    nearest = make_nonnegative(known).values
    found = round_answers(known, nearest)
    assert all(found.rounded) and all(value == int(value) >= 0 for value in found.values)
    for identity in known.reconciled.identities:
        assert sum(amount * int(found.values[place]) for place, amount in identity.terms) == 0
    shape = known.families["rows"].geometry
    values = np.zeros(len(shape.pieces))
    there = shape.number >= 0
    values[shape.number[there]] = np.array(found.values)[there]
    assert PartConstraints(shape).violated_by(values) == []
    assert np.abs(np.array(found.values) - np.array(nearest)).max() < 10.0
    naive = np.rint(nearest)
    broken = [
        identity
        for identity in known.reconciled.identities
        if sum(float(amount) * naive[place] for place, amount in identity.terms)
    ]
    assert broken  # rounding each number apart does break identities here


def test_whole_numbers_of_small_worlds() -> None:
    for seed in range(size(100, 400)):
        world = small_world(seed)
        known = Reconciliation(world.measured, world.domain)
        found = round_answers(known, make_nonnegative(known).values)
        for identity in known.reconciled.identities:
            if all(found.rounded[place] for place, _ in identity.terms):
                assert sum(amount * int(found.values[place]) for place, amount in identity.terms) == 0
        assert min(found.values) >= 0.0


def test_relations_in_halves_are_left_unrounded() -> None:
    """Each of three people-groups in two of three unions: the three unions are twice everybody."""
    domain = ColumnDomains(columns={"a": ValueSet.interval(0, 3), "b": ValueSet.interval(0, 2)})
    unions = [side("a", 0, 1), side("a", 1, 2), side("a", 0, 2), side("a", 0, 1, 2)]
    numbers = [
        MeasuredNumber(region=region, value=value, variance=1.0)
        for region, value in zip(unions, (5, 6, 8, 9), strict=True)
    ]
    apart = MeasuredNumber(region=side("b", 1), value=3, variance=1.0)
    known = Reconciliation([*numbers, apart], domain)
    assert any(amount.denominator == 2 for identity in known.reconciled.identities for _, amount in identity.terms)
    found = round_answers(known, known.reconciled.values)
    assert found.rounded == (False, False, False, False, True)
    assert found.values[:4] == known.reconciled.values[:4]


def test_constraints_that_say_the_same_twice() -> None:
    """Prefixes and cells: every prefix in the next says the same as a cell that is not negative. And a bad misfit."""
    domain = ColumnDomains(columns={"x": ValueSet.interval(0, 80)})
    ends = [(0, stop) for stop in range(1, 81)] + [(cell, cell + 1) for cell in range(80)]
    regions = [Region((Box({"x": ValueSet.interval(*pair)}),)) for pair in ends]
    noisy = np.random.default_rng(1).normal(50, 30, len(ends))
    known = Reconciliation(
        [
            MeasuredNumber(region=region, value=float(value), variance=100.0)
            for region, value in zip(regions, noisy, strict=True)
        ],
        domain,
    )
    found = make_nonnegative(known)
    prefixes, cells = np.array(found.values[:80]), np.array(found.values[80:])
    assert np.cumsum(cells) == pytest.approx(prefixes, abs=1e-5) and cells.min() >= 0.0
    # The best non-negative cells, by the conditions that only they satisfy.
    slope = (noisy[80:] - cells) + np.cumsum((noisy[:80] - prefixes)[::-1])[::-1]
    assert slope.max() < 1e-4 and np.abs(slope[cells > 1e-3]).max() < 1e-4
    assert all(round_answers(known, found.values).rounded)


def test_a_table_of_two_columns_with_margins() -> None:
    rng = np.random.default_rng(3)
    cells = rng.poisson(rng.exponential(20, (12, 12)))
    domain = ColumnDomains(columns={"x": ValueSet.interval(0, 12), "y": ValueSet.interval(0, 12)})
    regions = [Region((Box({"x": ValueSet.of([x]), "y": ValueSet.of([y])}),)) for x in range(12) for y in range(12)]
    regions += [side("x", code) for code in range(12)] + [side("y", code) for code in range(12)] + [Region.whole()]
    exact = np.concatenate((cells.ravel(), cells.sum(axis=1), cells.sum(axis=0), [cells.sum()]))
    numbers = measured(regions, exact.astype(float), 3)
    known = Reconciliation(numbers, domain)
    assert len(known.reconciled.identities) == 25
    found = round_answers(known, make_nonnegative(known).values)
    inner = np.array(found.values[:144]).reshape(12, 12)
    assert all(found.rounded) and inner.min() >= 0.0
    assert (inner.sum(axis=1) == found.values[144:156]).all() and (inner.sum(axis=0) == found.values[156:168]).all()
    assert inner.sum() == found.values[168]


def test_sums_may_be_negative_unless_said_otherwise() -> None:
    domain = ColumnDomains(columns={"a": ValueSet.interval(0, 2)})
    numbers = [MeasuredNumber(region=side("a", 0), value=-8, variance=4.0, family="sum(x)")]
    known = Reconciliation(numbers, domain)
    assert make_nonnegative(known).values == (-8.0,)
    assert make_nonnegative(known, ["sum(x)"]).values == (0.0,)
    assert round_answers(known, (-8.4,), families=["sum(x)"]).values == (-8.0,)
    assert round_answers(known, (-8.4,)).rounded == (False,)


def test_parts_that_exclude_each_other_are_no_more_than_their_whole() -> None:
    """Not all wards were asked about, so there is no identity, and yet 60 + 60 cannot be among 100."""
    domain = ColumnDomains(columns={"ward": ValueSet.interval(0, 9)})
    asked = [(Region.whole(), 100), (side("ward", 0), 60), (side("ward", 1), 60)]
    known = Reconciliation(
        [MeasuredNumber(region=region, value=value, variance=1.0) for region, value in asked], domain
    )
    assert known.reconciled.identities == ()
    assert make_nonnegative(known).values == pytest.approx((100 + 20 / 3, 60 - 20 / 3, 60 - 20 / 3))
    rounded = round_answers(known, make_nonnegative(known).values)
    assert rounded.values[0] >= rounded.values[1] + rounded.values[2]
